//! Classifies failed attempts: what went wrong, and what to do about it.
//!
//! Structured facts decide first (how the process ended, the HTTP status, the stage at which it was
//! noticed); words in a message decide only when no fact does.

use serde::{Deserialize, Serialize};

use crate::ids::{Account, EpochMillis};

/// The six categories of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureCategory {
    /// Time-outs, name resolution, lost connections, an overloaded service.
    Network,
    /// The worker's program failed: a crash, a bad exit, an unknown flag, no login.
    Cli,
    /// The answer does not fit its schema.
    Validation,
    /// No answer could be found in the output.
    Parsing,
    /// There is an answer, but it is wrong: blocked, nothing changed, tests fail.
    Logic,
    /// Memory, disk, quota.
    Resource,
}

/// The reaction to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    /// Retry the same after a delay.
    RetrySame,
    /// Retry and say what was wrong.
    RetryWithFeedback,
    /// Retry the same once, then give up.
    RetryOnce,
    /// Wait until the account's quota resets, or its API accepts requests again; uses up no retry.
    Park,
    /// Wait until the model API answers again; uses up no retry.
    WaitOut,
    /// A retry will not help: a person decides, or the workflow's exit is taken.
    Escalate,
}

impl FailureAction {
    /// Returns true if the action is to wait for an account or its API, which says nothing about
    /// the work itself.
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Park | Self::WaitOut)
    }
}

/// The known facts about a failed attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FailureFacts {
    /// The stage at which the failure was noticed.
    pub stage: FailureStage,
    /// The exit code, if the process exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal, if one ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The HTTP status that its model API returned, if the worker reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The cause, if the worker or its program reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<FailureCause>,
    /// How long to wait before the next attempt, if the worker reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The account whose usage limit was reached, and when it resets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<ReachedQuota>,
    /// The error message of the worker or the system, cut to a sensible length.
    pub message: String,
}

/// A usage limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReachedQuota {
    /// The account whose limit it is.
    pub account: Account,
    /// The milliseconds until it resets, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_in_ms: Option<u64>,
    /// The time at which it resets, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<EpochMillis>,
}

impl ReachedQuota {
    /// Returns until when the account should be parked, if its limit was reached at `now`.
    pub fn rests_until(&self, now: EpochMillis) -> EpochMillis {
        let at = self.resets_at.filter(|at| *at > now);
        // A limit that claims to reset at once although it is reached was computed by another
        // clock.
        let after = self.resets_in_ms.filter(|ms| *ms > 0);
        let after = after.map(|ms| now.plus(ms));
        at.or(after)
            .unwrap_or_else(|| now.plus(crate::park::UNKNOWN_RESET_MS))
            .min(now.plus(crate::park::MAX_REST_MS))
    }
}

/// Causes of failures that are recognised by facts, not by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The worker's program does not exist.
    Missing,
    /// The program has a version that codeteam cannot drive, or lacks a required flag.
    Version,
    /// The worker is not logged in, or its key is not accepted.
    Login,
    /// There is no such model.
    Model,
    /// The model refuses to do this.
    Refusal,
    /// The worker has used up its turns.
    Turns,
    /// The worker has used up its money.
    Cost,
    /// The worker has used up its tokens.
    Tokens,
    /// The worker made the same calls again and again.
    Loop,
    /// The account is not paid for; waiting does not help.
    Billing,
    /// The input is longer than the model accepts.
    Length,
    /// The API could not be reached, or the connection broke.
    Unreachable,
    /// What answered is not a model API, or one that cannot do what is needed.
    Protocol,
    /// The sandbox keeps the worker from reaching its API; waiting does not help.
    Confined,
    /// codeteam's own work on this machine failed: a worktree, git, a sandbox, a file.
    Machine,
}

/// The stage at which a failure was noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureStage {
    /// The worktree or the process could not be set up.
    Spawn,
    /// The worker ended with an error.
    #[default]
    Worker,
    /// It exceeded its time limit.
    TimedOut,
    /// It was silent for longer than it may be.
    Stalled,
    /// It ended without an answer.
    NoAnswer,
    /// Its answer is not JSON or does not fit the contract.
    BadAnswer,
    /// Its answer fits but is not acceptable.
    Refused,
    /// It changed what it must not change.
    Forbidden,
    /// It answered `blocked`.
    Blocked,
}

/// Returns the category of a failure and what to do about it.
pub fn classify(facts: &FailureFacts) -> (FailureCategory, FailureAction) {
    if facts.quota.is_some() {
        return (FailureCategory::Resource, FailureAction::Park);
    }
    match facts.stage {
        FailureStage::BadAnswer => {
            return (
                FailureCategory::Validation,
                FailureAction::RetryWithFeedback,
            );
        }
        FailureStage::Refused | FailureStage::Forbidden => {
            return (FailureCategory::Logic, FailureAction::RetryWithFeedback);
        }
        FailureStage::Blocked => return (FailureCategory::Logic, FailureAction::Escalate),
        FailureStage::TimedOut | FailureStage::Stalled => {
            return (FailureCategory::Network, FailureAction::RetrySame);
        }
        FailureStage::Spawn | FailureStage::Worker | FailureStage::NoAnswer => {}
    }
    if let Some(trouble) = facts.trouble {
        return classify_by_cause(trouble);
    }
    if let Some(by_status) = facts.http_status.and_then(classify_by_status) {
        return by_status;
    }
    if let Some(by_words) = classify_by_message(&facts.message) {
        return by_words;
    }
    match (facts.stage, facts.exit, facts.signal) {
        // 126 and 127 are the shell's "cannot execute" and "not found"; 2 is bad usage.
        (FailureStage::Spawn, ..) | (_, Some(2 | 126 | 127), _) => {
            (FailureCategory::Cli, FailureAction::Escalate)
        }
        (FailureStage::NoAnswer, Some(0), _) => {
            (FailureCategory::Parsing, FailureAction::RetryWithFeedback)
        }
        (_, _, Some(_)) => (FailureCategory::Cli, FailureAction::RetrySame),
        _ => (FailureCategory::Cli, FailureAction::RetryOnce),
    }
}

fn classify_by_cause(trouble: FailureCause) -> (FailureCategory, FailureAction) {
    match trouble {
        FailureCause::Missing
        | FailureCause::Version
        | FailureCause::Login
        | FailureCause::Model => (FailureCategory::Cli, FailureAction::Escalate),
        FailureCause::Unreachable => (FailureCategory::Network, FailureAction::WaitOut),
        FailureCause::Machine => (FailureCategory::Resource, FailureAction::RetrySame),
        FailureCause::Refusal => (FailureCategory::Logic, FailureAction::Escalate),
        FailureCause::Protocol | FailureCause::Confined => {
            (FailureCategory::Cli, FailureAction::Escalate)
        }
        FailureCause::Turns | FailureCause::Loop => {
            (FailureCategory::Logic, FailureAction::RetryWithFeedback)
        }
        FailureCause::Cost
        | FailureCause::Tokens
        | FailureCause::Billing
        | FailureCause::Length => (FailureCategory::Resource, FailureAction::Escalate),
    }
}

fn classify_by_status(status: u16) -> Option<(FailureCategory, FailureAction)> {
    Some(match status {
        401 | 403 | 404 => (FailureCategory::Cli, FailureAction::Escalate),
        400 | 413 | 422 => (FailureCategory::Validation, FailureAction::RetryOnce),
        // Too many requests at once: the account is parked for as long as the API asks for.
        429 => (FailureCategory::Resource, FailureAction::Park),
        500..=599 => (FailureCategory::Network, FailureAction::WaitOut),
        408 | 409 | 425 => (FailureCategory::Network, FailureAction::RetrySame),
        _ => return None,
    })
}

/// Classifies by words in a message, as a last resort. The list is short on purpose.
fn classify_by_message(message: &str) -> Option<(FailureCategory, FailureAction)> {
    const WORDS: &[(&str, FailureCategory, FailureAction)] = &[
        (
            "out of memory",
            FailureCategory::Resource,
            FailureAction::Escalate,
        ),
        (
            "no space left",
            FailureCategory::Resource,
            FailureAction::Escalate,
        ),
        (
            "disk full",
            FailureCategory::Resource,
            FailureAction::Escalate,
        ),
        (
            "permission denied",
            FailureCategory::Cli,
            FailureAction::Escalate,
        ),
        (
            "authentication",
            FailureCategory::Cli,
            FailureAction::Escalate,
        ),
        (
            "not logged in",
            FailureCategory::Cli,
            FailureAction::Escalate,
        ),
        (
            "unknown option",
            FailureCategory::Cli,
            FailureAction::Escalate,
        ),
        (
            "unexpected argument",
            FailureCategory::Cli,
            FailureAction::Escalate,
        ),
        (
            "rate limit",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
        (
            "overloaded",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
        (
            "timed out",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
        (
            "timeout",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
        (
            "connection re",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
        (
            "connection closed",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
        (
            "temporary failure",
            FailureCategory::Network,
            FailureAction::RetrySame,
        ),
    ];
    let message = message.to_lowercase();
    WORDS
        .iter()
        .find(|(word, ..)| message.contains(word))
        .map(|(_, category, action)| (*category, *action))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(stage: FailureStage, message: &str) -> FailureFacts {
        FailureFacts {
            stage,
            message: message.into(),
            ..FailureFacts::default()
        }
    }

    #[test]
    fn a_limit_rests_for_a_while_and_not_for_ever() {
        let until = |resets_in_ms, resets_at: Option<u64>| {
            let quota = ReachedQuota {
                account: "a".into(),
                resets_in_ms,
                resets_at: resets_at.map(EpochMillis),
            };
            quota.rests_until(EpochMillis(1_000)).0 - 1_000
        };
        assert_eq!(until(Some(500), None), 500);
        assert_eq!(until(None, Some(1_700)), 700);
        for (after, at) in [(None, None), (Some(0), None), (None, Some(900))] {
            assert_eq!(until(after, at), crate::park::UNKNOWN_RESET_MS);
        }
        for (after, at) in [(Some(u64::MAX), None), (None, Some(u64::MAX))] {
            assert_eq!(until(after, at), crate::park::MAX_REST_MS);
        }
    }

    #[test]
    fn facts_come_before_words() {
        let mut overloaded = facts(FailureStage::Worker, "permission denied");
        overloaded.http_status = Some(529);
        assert_eq!(
            classify(&overloaded),
            (FailureCategory::Network, FailureAction::WaitOut)
        );

        let bad = facts(FailureStage::BadAnswer, "connection reset");
        assert_eq!(
            classify(&bad),
            (
                FailureCategory::Validation,
                FailureAction::RetryWithFeedback
            )
        );
    }

    #[test]
    fn an_api_that_is_busy_or_out_is_waited_for() {
        let by_status = |status| {
            let http_status = Some(status);
            classify(&FailureFacts {
                http_status,
                ..facts(FailureStage::Worker, "")
            })
        };
        assert_eq!(
            by_status(429),
            (FailureCategory::Resource, FailureAction::Park)
        );
        for out in [500, 502, 503, 529] {
            assert_eq!(
                by_status(out),
                (FailureCategory::Network, FailureAction::WaitOut)
            );
        }
        let cut_off = FailureFacts {
            trouble: Some(FailureCause::Unreachable),
            ..facts(FailureStage::Worker, "")
        };
        assert_eq!(
            classify(&cut_off),
            (FailureCategory::Network, FailureAction::WaitOut)
        );
        // The sandbox will say no the next time as well.
        let confined = FailureFacts {
            trouble: Some(FailureCause::Confined),
            ..facts(FailureStage::Worker, "connection refused")
        };
        assert_eq!(
            classify(&confined),
            (FailureCategory::Cli, FailureAction::Escalate)
        );
    }

    #[test]
    fn a_usage_limit_parks_whatever_else_is_said() {
        let mut limited = facts(FailureStage::Worker, "authentication failed");
        limited.quota = Some(ReachedQuota {
            account: "claude".into(),
            resets_in_ms: None,
            resets_at: None,
        });
        assert_eq!(
            classify(&limited),
            (FailureCategory::Resource, FailureAction::Park)
        );
    }

    #[test]
    fn each_kind_of_end_has_its_action() {
        let table = [
            (
                facts(FailureStage::Blocked, "needs a key"),
                FailureCategory::Logic,
                FailureAction::Escalate,
            ),
            (
                facts(FailureStage::TimedOut, ""),
                FailureCategory::Network,
                FailureAction::RetrySame,
            ),
            (
                facts(FailureStage::Spawn, "no such program"),
                FailureCategory::Cli,
                FailureAction::Escalate,
            ),
            (
                facts(FailureStage::Worker, "No space left on device"),
                FailureCategory::Resource,
                FailureAction::Escalate,
            ),
            (
                facts(FailureStage::Worker, "something odd"),
                FailureCategory::Cli,
                FailureAction::RetryOnce,
            ),
            (
                FailureFacts {
                    exit: Some(0),
                    ..facts(FailureStage::NoAnswer, "")
                },
                FailureCategory::Parsing,
                FailureAction::RetryWithFeedback,
            ),
            (
                FailureFacts {
                    signal: Some(6),
                    ..facts(FailureStage::Worker, "")
                },
                FailureCategory::Cli,
                FailureAction::RetrySame,
            ),
            (
                FailureFacts {
                    exit: Some(127),
                    ..facts(FailureStage::Worker, "")
                },
                FailureCategory::Cli,
                FailureAction::Escalate,
            ),
        ];
        for (facts, category, action) in table {
            assert_eq!(classify(&facts), (category, action), "{facts:?}");
        }
    }
}
