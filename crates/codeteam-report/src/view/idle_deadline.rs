//! The deadline of an approval in a run that no process drives.

use codeteam_core::approval::MIN_WAIT_AFTER_RESTART_MS;
use codeteam_core::ids::{EpochMillis, RunId};
use serde::Serialize;

use super::ApprovalView;
use crate::describe;

/// The next deadline of an approval while no process drives its run. Time passes only while
/// codeteam runs, so nothing happens at this deadline, and whoever looks has to be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdleDeadline {
    /// The deadline, in milliseconds since the epoch.
    pub at: EpochMillis,
    /// Whether it has passed.
    pub is_over: bool,
    /// What happens once a process drives the run again, in words.
    pub text: String,
    /// The command that drives the run and waits for its people and deadlines.
    pub command: String,
}

impl IdleDeadline {
    /// Returns the next deadline of an approval, if it has one. The caller knows that no process
    /// drives the run.
    pub fn of_approval(run: &RunId, approval: &ApprovalView, now: EpochMillis) -> Option<Self> {
        let minutes = MIN_WAIT_AFTER_RESTART_MS / 60_000;
        let timeout = approval.timeout.as_ref().map(|timeout| {
            let text = match timeout.action {
                "reject" => format!(
                    "it counts as rejected if nobody approves it within {minutes} minutes after that"
                ),
                _ => timeout.text.clone(),
            };
            (timeout.at, text)
        });
        let goes_on = approval.goes_on_at.map(|at| {
            let text = format!(
                "people are notified again, and it goes on unless somebody rejects it within \
                 {minutes} minutes after that"
            );
            (at, text)
        });
        let notice = approval
            .notified_again_at
            .map(|at| (at, "people are notified".to_owned()));
        let deadlines = timeout.into_iter().chain(goes_on).chain(notice);
        let (at, text) = deadlines.min_by_key(|(at, _)| *at)?;
        Some(Self {
            at,
            is_over: at <= now,
            text,
            command: format!("codeteam resume {run} --wait"),
        })
    }

    /// Describes it in one line, which ends with the command.
    pub fn to_line(&self) -> String {
        let Self { text, command, .. } = self;
        if self.is_over {
            let at = describe::format_future_time(self.at);
            format!("overdue since {at}; once codeteam runs again, {text}: `{command}`")
        } else {
            format!("nobody drives the run, and time passes only while codeteam runs: `{command}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use codeteam_core::ids::Tree;
    use codeteam_core::risk::RiskLevel;

    use super::super::TimeoutView;
    use super::*;

    fn approval() -> ApprovalView {
        ApprovalView {
            risk: RiskLevel::High,
            reasons: Vec::new(),
            requirements: Vec::new(),
            missing: Vec::new(),
            votes: Vec::new(),
            tree: Tree::from("t"),
            asked_at: EpochMillis(0),
            goes_on_at: None,
            nobody_notified: false,
            notified_again_at: None,
            delegations: Vec::new(),
            timeout: None,
        }
    }

    fn of(approval: &ApprovalView) -> Option<IdleDeadline> {
        IdleDeadline::of_approval(&"r1".into(), approval, EpochMillis(100))
    }

    #[test]
    fn the_first_deadline_counts() {
        assert_eq!(of(&approval()), None);
        let timeout = |at, action, text: &str| {
            Some(TimeoutView {
                at: EpochMillis(at),
                action,
                text: text.to_owned(),
            })
        };
        let mut both = approval();
        both.goes_on_at = Some(EpochMillis(90));
        both.timeout = timeout(80, "escalate", "ben may approve it too");
        let found = of(&both).unwrap();
        assert_eq!((found.at, found.is_over), (EpochMillis(80), true));
        let line = found.to_line();
        assert!(
            line.ends_with("runs again, ben may approve it too: `codeteam resume r1 --wait`"),
            "{line}"
        );
        both.timeout = timeout(95, "reject", "it counts as rejected");
        let line = of(&both).unwrap().to_line();
        assert!(line.contains("within 10 minutes after that"), "{line}");
    }

    #[test]
    fn before_its_time_the_line_says_what_keeps_it() {
        let mut later = approval();
        later.notified_again_at = Some(EpochMillis(101));
        let found = of(&later).unwrap();
        assert!(!found.is_over);
        assert_eq!(
            found.to_line(),
            "nobody drives the run, and time passes only while codeteam runs: \
             `codeteam resume r1 --wait`"
        );
    }
}
