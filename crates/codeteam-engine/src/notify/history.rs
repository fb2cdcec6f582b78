//! What became of the last notifications of each channel, kept in the user's state so that
//! `codeteam doctor` can show it. Nothing depends on it: what cannot be written is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use codeteam_core::ids::EpochMillis;
use serde::{Deserialize, Serialize};

use super::{ChannelConfig, ChannelKind, ChannelReport, NotifyConfig};
use crate::env::Env;

/// The folder of these files, in codeteam's state. Each channel has a file of its own, because
/// several processes notify at the same time.
const FOLDER: &str = "codeteam/.notifications";

/// What became of the last notifications of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelHistory {
    /// When one was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<EpochMillis>,
    /// When one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<EpochMillis>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
}

/// A channel, as `codeteam doctor` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelStatus {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ChannelKind,
    /// The environment variables that it needs and that are not set here.
    pub unset: Vec<String>,
    /// What became of its last notifications.
    pub history: ChannelHistory,
}

impl ChannelHistory {
    /// Returns true if the last notification failed.
    pub fn ends_in_failure(&self) -> bool {
        self.failed_at.is_some() && self.failed_at > self.delivered_at
    }
}

/// Says of every channel whether it can be used, and what became of its last notifications.
pub fn inspect_channels(config: &NotifyConfig, env: &Env) -> Vec<ChannelStatus> {
    let channels = config.channels.iter();
    let statuses = channels.map(|(name, channel)| ChannelStatus {
        name: name.clone(),
        kind: channel.kind,
        unset: unset_variables(channel, env),
        history: read_history(env, name),
    });
    statuses.collect()
}

fn unset_variables(channel: &ChannelConfig, env: &Env) -> Vec<String> {
    let named = channel.url_env.iter().chain(&channel.secret_env);
    let unset = named.filter(|name| env.variable(name).is_none());
    unset.cloned().collect()
}

/// Keeps what became of a notification.
pub(super) fn record_reports(env: &Env, reports: &[ChannelReport], at: EpochMillis) {
    for report in reports {
        let Some(file) = file(env, &report.channel) else {
            return;
        };
        let mut history = read_history(env, &report.channel);
        match &report.problem {
            None => history.delivered_at = Some(at),
            Some(problem) => {
                history.failed_at = Some(at);
                history.problem.clone_from(problem);
            }
        }
        let named = BTreeMap::from([(&report.channel, history)]);
        let written = serde_json::to_string(&named).ok().and_then(|text| {
            fs::create_dir_all(file.parent()?).ok()?;
            fs::write(&file, text).ok()
        });
        if written.is_none() {
            tracing::debug!(file = %file.display(), "could not keep what became of a notification");
        }
    }
}

fn read_history(env: &Env, channel: &str) -> ChannelHistory {
    let text = file(env, channel).and_then(|file| fs::read_to_string(file).ok());
    let named: Option<BTreeMap<String, ChannelHistory>> =
        text.and_then(|text| serde_json::from_str(&text).ok());
    let history = named.and_then(|mut named| named.remove(channel));
    history.unwrap_or_default()
}

fn file(env: &Env, channel: &str) -> Option<PathBuf> {
    let name = blake3::hash(channel.as_bytes()).to_hex()[..16].to_owned();
    let folder = env.state_home.as_ref()?.join(FOLDER);
    Some(folder.join(format!("{name}.json")))
}
