//! Notifies the user of what needs them: by the terminal, the desktop, webhooks, chats, ntfy, or a
//! command of theirs.
//!
//! Only the user's own configuration has channels (`notify`); a repository cannot add any. A
//! notification says which project, goal and task it is about, what is asked, what the risk is, and
//! which commands answer it: no diff, no prompt, and no secret. Nothing here can hold a run up: every channel is served on a thread of its
//! own and for a limited time, and a channel that fails is reported and otherwise ignored. Where an
//! approval policy lets a change go on by time, the result is reported to the kernel, which counts
//! the time from the delivery.

mod body;
mod channel;
mod history;
mod http;
mod message;
mod queue;
mod signature;

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::history::{ChannelHistory, ChannelStatus, inspect_channels};
pub(crate) use self::message::{NotificationWords, approval_commands};
pub(crate) use self::queue::NotificationQueue;
use crate::env::Env;

/// How long a channel may take, with all its tries.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the user is notified.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NotifyConfig {
    /// The channels, by a name of your choice.
    pub channels: BTreeMap<String, ChannelConfig>,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    /// What it is.
    pub kind: ChannelKind,
    /// Where messages are posted, with `webhook`, `slack`, `discord` and `ntfy` (there with the
    /// topic at its end).
    pub url: Option<String>,
    /// The environment variable that has the URL, if the URL itself is a secret.
    pub url_env: Option<String>,
    /// The environment variable that has the secret: the key of a `webhook` (`whsec_…`), or the
    /// token of `ntfy`.
    pub secret_env: Option<String>,
    /// The program and its arguments, with `command`. It gets the message as JSON on its standard
    /// input, and runs on your machine with your rights.
    #[serde(default)]
    pub command: Vec<String>,
    /// The occasions on which it is used. If left out, all except `done`.
    pub when: Option<Vec<NotificationKind>>,
}

/// The kind of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// The terminal in which codeteam runs: a bell, and a message that most terminals show.
    Terminal,
    /// The desktop, by `notify-send` or `osascript`.
    Desktop,
    /// A URL that gets a signed JSON message (Standard Webhooks).
    Webhook,
    /// An incoming webhook of Slack.
    Slack,
    /// A webhook of Discord.
    Discord,
    /// A topic of ntfy.
    Ntfy,
    /// A program of yours.
    Command,
}

impl ChannelKind {
    /// Returns the word for it in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Desktop => "desktop",
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Discord => "discord",
            Self::Ntfy => "ntfy",
            Self::Command => "command",
        }
    }

    fn posts(self) -> bool {
        matches!(
            self,
            Self::Webhook | Self::Slack | Self::Discord | Self::Ntfy
        )
    }
}

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationKind {
    /// A person has to decide something.
    NeedsYou,
    /// A run has failed.
    Failed,
    /// A limit is reached, or nearly.
    Limit,
    /// A run is done.
    Done,
}

/// A notification. It contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// Its id, by which a receiver recognises a repetition.
    pub id: String,
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: NotificationKind,
    /// When it was made, in milliseconds since the epoch.
    pub at: u64,
    /// The path of the project; empty if it is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The run.
    pub run: String,
    /// The goal of the run, in one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub goal: String,
    /// One line.
    pub title: String,
    /// What there is to say besides, in a few lines.
    pub text: String,
    /// The level of risk, where it is about a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<&'static str>,
    /// The command that shows it.
    pub command: String,
    /// The commands that answer it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
}

/// What became of a notification at one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelReport {
    /// The channel's name.
    pub channel: String,
    /// Why it was not delivered, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl NotifyConfig {
    /// Returns the channels that are used for a kind of notification.
    pub(crate) fn channels_for(
        &self,
        kind: NotificationKind,
    ) -> impl Iterator<Item = (&String, &ChannelConfig)> {
        self.channels.iter().filter(move |(_, channel)| {
            let when = channel.when.as_ref();
            when.map_or(kind != NotificationKind::Done, |when| when.contains(&kind))
        })
    }

    /// Returns what is wrong with the channels: the path of a key, and the message.
    pub(crate) fn faults(&self) -> Vec<(String, String)> {
        let channels = self.channels.iter();
        let found = channels.filter_map(|(name, channel)| {
            let problem = channel.problem()?;
            let key = format!("notify.channels.{name}");
            Some((key.clone(), format!("`{key}` {problem}")))
        });
        found.collect()
    }
}

impl ChannelConfig {
    /// Returns true if the channel is meant by a name in an approval policy.
    pub(crate) fn is_meant_by(&self, own: &str, name: &str) -> bool {
        own == name || self.kind.as_str() == name
    }

    fn problem(&self) -> Option<&'static str> {
        let has_url = self.url.is_some() || self.url_env.is_some();
        if self.kind.posts() != has_url {
            return Some(if has_url {
                "posts nothing, so it has no `url`"
            } else {
                "needs a `url`, or a `url_env` that names the variable that has it"
            });
        }
        if self.url.is_some() && self.url_env.is_some() {
            return Some("has a `url` and a `url_env`: leave one of them out");
        }
        let url = self.url.as_deref().unwrap_or("https://");
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Some("has a `url` that does not begin with `https://` or `http://`");
        }
        if (self.kind == ChannelKind::Command) == self.command.is_empty() {
            return Some(if self.command.is_empty() {
                "needs a `command`: the program and its arguments"
            } else {
                "runs nothing, so it has no `command`"
            });
        }
        if self.kind == ChannelKind::Webhook && self.secret_env.is_none() {
            return Some(
                "needs a `secret_env`: the variable that has the key by which the receiver knows \
                 that a message is from you (`whsec_…`)",
            );
        }
        None
    }
}

/// Delivers a notification by these channels, each on a thread of its own, and waits for a limited
/// time.
pub fn deliver<'a>(
    env: &Env,
    channels: impl Iterator<Item = (&'a String, &'a ChannelConfig)>,
    notification: &Notification,
) -> Vec<ChannelReport> {
    let (sender, results) = channel();
    let mut names = Vec::new();
    for (at, (name, config)) in channels.enumerate() {
        names.push(name.clone());
        let (sender, config) = (sender.clone(), config.clone());
        let (env, notification) = (env.clone(), notification.clone());
        let send = move || {
            let done = self::channel::send(&config, &env, &notification);
            // Nobody may be waiting any more.
            let _ = sender.send((at, done));
        };
        // A thread that cannot be started sends nothing, which is reported below.
        let _ = std::thread::Builder::new()
            .name(format!("notify {name}"))
            .spawn(send);
    }
    drop(sender);
    let mut ended: BTreeMap<usize, Result<(), String>> = BTreeMap::new();
    let until = std::time::Instant::now() + PATIENCE;
    while ended.len() < names.len() {
        let left = until.saturating_duration_since(std::time::Instant::now());
        match results.recv_timeout(left) {
            Ok((at, done)) => drop(ended.insert(at, done)),
            Err(_) => break,
        }
    }
    let reports = names.into_iter().enumerate().map(|(at, channel)| {
        let done = ended.remove(&at);
        let done =
            done.unwrap_or_else(|| Err(format!("it took longer than {} s", PATIENCE.as_secs())));
        ChannelReport {
            channel,
            problem: done.err(),
        }
    });
    let reports: Vec<ChannelReport> = reports.collect();
    self::history::record_reports(env, &reports, crate::clock::now());
    reports
}
