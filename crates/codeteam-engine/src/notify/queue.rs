//! Sends notifications in the background: the first at once, and what comes within 30 s after it as
//! one.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{ChannelReport, Notification, NotifyConfig, deliver};
use crate::env::Env;
use codeteam_report::view::command_in_project;

/// What comes within this time after a notification is sent together.
const WINDOW: Duration = Duration::from_secs(30);

/// Reports a channel that failed.
type FailureObserver = Arc<dyn Fn(&ChannelReport) + Send + Sync>;

/// Notifications on their way. Dropping it sends what is left, and waits for a limited time.
pub(crate) struct NotificationQueue {
    sender: Option<Sender<Notification>>,
    thread: Option<JoinHandle<()>>,
}

impl NotificationQueue {
    /// Starts a queue; `None` if there are no channels.
    pub(crate) fn start(
        config: &NotifyConfig,
        env: &Env,
        on_failure: FailureObserver,
    ) -> Option<Self> {
        if config.channels.is_empty() {
            return None;
        }
        let (sender, notifications) = channel();
        let (config, env) = (config.clone(), env.clone());
        let thread = std::thread::Builder::new().name("notifications".to_owned());
        let thread = thread.spawn(move || {
            send_all(&notifications, WINDOW, &mut |notification| {
                let channels = config.channels_for(notification.kind);
                for report in deliver(&env, channels, notification) {
                    if report.problem.is_some() {
                        on_failure(&report);
                    }
                }
            });
        });
        Some(Self {
            sender: Some(sender),
            thread: Some(thread.ok()?),
        })
    }

    /// Sends a notification when its time has come.
    pub(crate) fn push(&self, notification: Notification) {
        if let Some(sender) = &self.sender {
            // Without the thread, nothing can be sent.
            let _ = sender.send(notification);
        }
    }
}

impl Drop for NotificationQueue {
    fn drop(&mut self) {
        // The thread sends what is left and ends. Each channel has a limited time.
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends notifications until their source is gone.
fn send_all(
    source: &Receiver<Notification>,
    window: Duration,
    send: &mut dyn FnMut(&Notification),
) {
    while let Ok(first) = source.recv() {
        send(&first);
        let until = Instant::now() + window;
        let mut more = Vec::new();
        let left = || until.saturating_duration_since(Instant::now());
        // Until the window is over, or nothing more will come.
        while let Ok(next) = source.recv_timeout(left()) {
            more.push(next);
        }
        if let Some(together) = combine(more) {
            send(&together);
        }
    }
}

/// Makes one notification of several.
fn combine(mut several: Vec<Notification>) -> Option<Notification> {
    let last = several.pop()?;
    if several.is_empty() {
        return Some(last);
    }
    several.push(last.clone());
    let lines: Vec<String> = several
        .iter()
        .map(|one| {
            let command = one.answers.first().unwrap_or(&one.command);
            format!("{} ({command})", one.title)
        })
        .collect();
    // The most urgent kind decides which channels are used.
    let first = several.iter().min_by_key(|one| one.kind as u8);
    let project = Path::new(&last.project).file_name();
    let project = project.map(|name| format!("{}: ", name.to_string_lossy()));
    let inbox = match last.project.as_str() {
        "" => "codeteam inbox".to_owned(),
        project => command_in_project("codeteam inbox", project),
    };
    Some(Notification {
        kind: first.map_or(last.kind, |one| one.kind),
        title: format!(
            "{}{} things happened in your runs",
            project.unwrap_or_default(),
            several.len()
        ),
        text: lines.join("\n"),
        risk: several.iter().find_map(|one| one.risk),
        command: inbox,
        answers: Vec::new(),
        ..last
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::NotificationKind;

    fn notification(title: &str, kind: NotificationKind) -> Notification {
        Notification {
            id: title.to_owned(),
            kind,
            at: 0,
            project: "/home/ada/shop".to_owned(),
            run: "r".to_owned(),
            goal: "Pay".to_owned(),
            title: title.to_owned(),
            text: String::new(),
            risk: None,
            command: "codeteam show r".to_owned(),
            answers: Vec::new(),
        }
    }

    fn sent(titles: &[(&str, NotificationKind)]) -> Vec<(String, NotificationKind)> {
        let (sender, source) = channel();
        for (title, kind) in titles {
            sender.send(notification(title, *kind)).unwrap();
        }
        drop(sender);
        let mut sent = Vec::new();
        send_all(&source, WINDOW, &mut |one| {
            sent.push((one.title.clone(), one.kind));
        });
        sent
    }

    #[test]
    fn the_first_is_sent_at_once_and_what_follows_as_one() {
        use NotificationKind::{Done, Failed, NeedsYou};
        assert_eq!(sent(&[]), []);
        let one = sent(&[("a", Done)]);
        assert_eq!(one, [("a".to_owned(), Done)]);
        let two = sent(&[("a", Done), ("b", Failed)]);
        assert_eq!(two[1], ("b".to_owned(), Failed));
        let many = sent(&[("a", Done), ("b", Failed), ("c", NeedsYou), ("d", Done)]);
        assert_eq!(many.len(), 2);
        let together = ("shop: 3 things happened in your runs".to_owned(), NeedsYou);
        assert_eq!(many[1], together);
    }
}
