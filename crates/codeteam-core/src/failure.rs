//! What went wrong with an attempt, and what to do about it.
//!
//! Structured facts decide first (how the process ended, the HTTP status, where the trouble was
//! noticed); words in a message only when no fact does.

use serde::{Deserialize, Serialize};

use crate::ids::{Account, Time};

/// The six categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Time-outs, name resolution, lost connections, an overloaded service.
    Network,
    /// The worker's program failed: a crash, a bad exit, a flag it does not know, no login.
    Cli,
    /// The answer does not fit its schema.
    Validation,
    /// No answer could be found in the output.
    Parsing,
    /// The answer is there and wrong: blocked, nothing changed, tests fail.
    Logic,
    /// Memory, disk, quota.
    Resource,
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Try the same again after a wait.
    RetrySame,
    /// Try again and say what was wrong.
    RetryWithFeedback,
    /// Try the same once more, then give up.
    RetryOnce,
    /// Wait until the account's quota resets, or its API takes requests again; uses up no retry.
    Park,
    /// Wait until the model API answers again; uses up no retry.
    WaitOut,
    /// Trying again will not help: a person, or the workflow's way out.
    Escalate,
}

impl Action {
    /// Whether an account or its API is waited for, which says nothing of the work itself.
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Park | Self::WaitOut)
    }
}

/// What is known of a failed attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Facts {
    /// Where the trouble was noticed.
    pub stage: Stage,
    /// The exit code, if the process exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal, if one ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The HTTP status its model API answered with, if the worker told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// What the trouble is, if the worker or its program told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// How long to wait before the next try, if the worker told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The account whose usage limit was reached, and in how many milliseconds it resets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// What the worker or the system said, cut to a sensible length.
    pub message: String,
}

/// A usage limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Whose limit.
    pub account: Account,
    /// In how many milliseconds it resets, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_in_ms: Option<u64>,
    /// When it resets, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Time>,
}

impl Quota {
    /// Until when the account should rest, if its limit was reached at `now`.
    pub fn until(&self, now: Time) -> Time {
        let at = self.resets_at.filter(|at| *at > now);
        // What resets at once and is reached all the same was reckoned by another clock.
        let after = self.resets_in_ms.filter(|ms| *ms > 0);
        let after = after.map(|ms| now.plus(ms));
        at.or(after)
            .unwrap_or_else(|| now.plus(crate::park::UNKNOWN_RESET_MS))
            .min(now.plus(crate::park::MAX_REST_MS))
    }
}

/// Troubles that are told apart by facts, not by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The worker's program is not there.
    Missing,
    /// It is a version that codeteam cannot drive, or it lacks a flag that is needed.
    Version,
    /// It is not logged in, or its key is not accepted.
    Login,
    /// There is no such model.
    Model,
    /// The model refuses to do this.
    Refusal,
    /// It has used up its turns.
    Turns,
    /// It has used up its money.
    Cost,
    /// It has used up its tokens.
    Tokens,
    /// It made the same calls again and again.
    Loop,
    /// The account is not paid for; waiting does not help.
    Billing,
    /// More was said than the model can take in.
    Length,
    /// Its API could not be reached, or broke off.
    Unreachable,
    /// What answered is not a model API, or one that cannot do what is needed.
    Protocol,
    /// The sandbox does not let it reach its API: waiting does not help.
    Confined,
    /// What codeteam itself does on this machine failed: a worktree, git, a sandbox, a file.
    Machine,
}

/// Where the trouble was noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The worktree or the process could not be set up.
    Spawn,
    /// The worker ended badly.
    #[default]
    Worker,
    /// It ran longer than it may.
    TimedOut,
    /// It said nothing for longer than it may.
    Stalled,
    /// It ended without an answer.
    NoAnswer,
    /// Its answer is not JSON or does not fit the contract.
    BadAnswer,
    /// Its answer fits and is not acceptable.
    Refused,
    /// It changed what it must not change.
    Forbidden,
    /// It answered `blocked`.
    Blocked,
}

/// Sorts a failure into its category and says what to do.
pub fn classify(facts: &Facts) -> (Category, Action) {
    if facts.quota.is_some() {
        return (Category::Resource, Action::Park);
    }
    match facts.stage {
        Stage::BadAnswer => return (Category::Validation, Action::RetryWithFeedback),
        Stage::Refused | Stage::Forbidden => return (Category::Logic, Action::RetryWithFeedback),
        Stage::Blocked => return (Category::Logic, Action::Escalate),
        Stage::TimedOut | Stage::Stalled => return (Category::Network, Action::RetrySame),
        Stage::Spawn | Stage::Worker | Stage::NoAnswer => {}
    }
    if let Some(trouble) = facts.trouble {
        return by_trouble(trouble);
    }
    if let Some(by_status) = facts.http_status.and_then(by_status) {
        return by_status;
    }
    if let Some(by_words) = by_words(&facts.message) {
        return by_words;
    }
    match (facts.stage, facts.exit, facts.signal) {
        // 126 and 127 are the shell's "cannot execute" and "not found"; 2 is bad usage.
        (Stage::Spawn, ..) | (_, Some(2 | 126 | 127), _) => (Category::Cli, Action::Escalate),
        (Stage::NoAnswer, Some(0), _) => (Category::Parsing, Action::RetryWithFeedback),
        (_, _, Some(_)) => (Category::Cli, Action::RetrySame),
        _ => (Category::Cli, Action::RetryOnce),
    }
}

fn by_trouble(trouble: Trouble) -> (Category, Action) {
    match trouble {
        Trouble::Missing | Trouble::Version | Trouble::Login | Trouble::Model => {
            (Category::Cli, Action::Escalate)
        }
        Trouble::Unreachable => (Category::Network, Action::WaitOut),
        Trouble::Machine => (Category::Resource, Action::RetrySame),
        Trouble::Refusal => (Category::Logic, Action::Escalate),
        Trouble::Protocol | Trouble::Confined => (Category::Cli, Action::Escalate),
        Trouble::Turns | Trouble::Loop => (Category::Logic, Action::RetryWithFeedback),
        Trouble::Cost | Trouble::Tokens | Trouble::Billing | Trouble::Length => {
            (Category::Resource, Action::Escalate)
        }
    }
}

fn by_status(status: u16) -> Option<(Category, Action)> {
    Some(match status {
        401 | 403 | 404 => (Category::Cli, Action::Escalate),
        400 | 413 | 422 => (Category::Validation, Action::RetryOnce),
        // Too many requests at once: the account rests for as long as the API asks for.
        429 => (Category::Resource, Action::Park),
        500..=599 => (Category::Network, Action::WaitOut),
        408 | 409 | 425 => (Category::Network, Action::RetrySame),
        _ => return None,
    })
}

/// The last resort: words in a message. The list is short on purpose.
fn by_words(message: &str) -> Option<(Category, Action)> {
    const WORDS: &[(&str, Category, Action)] = &[
        ("out of memory", Category::Resource, Action::Escalate),
        ("no space left", Category::Resource, Action::Escalate),
        ("disk full", Category::Resource, Action::Escalate),
        ("permission denied", Category::Cli, Action::Escalate),
        ("authentication", Category::Cli, Action::Escalate),
        ("not logged in", Category::Cli, Action::Escalate),
        ("unknown option", Category::Cli, Action::Escalate),
        ("unexpected argument", Category::Cli, Action::Escalate),
        ("rate limit", Category::Network, Action::RetrySame),
        ("overloaded", Category::Network, Action::RetrySame),
        ("timed out", Category::Network, Action::RetrySame),
        ("timeout", Category::Network, Action::RetrySame),
        ("connection re", Category::Network, Action::RetrySame),
        ("connection closed", Category::Network, Action::RetrySame),
        ("temporary failure", Category::Network, Action::RetrySame),
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

    fn facts(stage: Stage, message: &str) -> Facts {
        Facts {
            stage,
            message: message.into(),
            ..Facts::default()
        }
    }

    #[test]
    fn a_limit_rests_for_a_while_and_not_for_ever() {
        let until = |resets_in_ms, resets_at: Option<u64>| {
            let quota = Quota {
                account: "a".into(),
                resets_in_ms,
                resets_at: resets_at.map(Time),
            };
            quota.until(Time(1_000)).0 - 1_000
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
        let mut overloaded = facts(Stage::Worker, "permission denied");
        overloaded.http_status = Some(529);
        assert_eq!(classify(&overloaded), (Category::Network, Action::WaitOut));

        let bad = facts(Stage::BadAnswer, "connection reset");
        assert_eq!(
            classify(&bad),
            (Category::Validation, Action::RetryWithFeedback)
        );
    }

    #[test]
    fn an_api_that_is_busy_or_out_is_waited_for() {
        let by_status = |status| {
            let http_status = Some(status);
            classify(&Facts {
                http_status,
                ..facts(Stage::Worker, "")
            })
        };
        assert_eq!(by_status(429), (Category::Resource, Action::Park));
        for out in [500, 502, 503, 529] {
            assert_eq!(by_status(out), (Category::Network, Action::WaitOut));
        }
        let cut_off = Facts {
            trouble: Some(Trouble::Unreachable),
            ..facts(Stage::Worker, "")
        };
        assert_eq!(classify(&cut_off), (Category::Network, Action::WaitOut));
        // The sandbox will say no the next time as well.
        let confined = Facts {
            trouble: Some(Trouble::Confined),
            ..facts(Stage::Worker, "connection refused")
        };
        assert_eq!(classify(&confined), (Category::Cli, Action::Escalate));
    }

    #[test]
    fn a_usage_limit_parks_whatever_else_is_said() {
        let mut limited = facts(Stage::Worker, "authentication failed");
        limited.quota = Some(Quota {
            account: "claude".into(),
            resets_in_ms: None,
            resets_at: None,
        });
        assert_eq!(classify(&limited), (Category::Resource, Action::Park));
    }

    #[test]
    fn each_kind_of_end_has_its_action() {
        let table = [
            (
                facts(Stage::Blocked, "needs a key"),
                Category::Logic,
                Action::Escalate,
            ),
            (
                facts(Stage::TimedOut, ""),
                Category::Network,
                Action::RetrySame,
            ),
            (
                facts(Stage::Spawn, "no such program"),
                Category::Cli,
                Action::Escalate,
            ),
            (
                facts(Stage::Worker, "No space left on device"),
                Category::Resource,
                Action::Escalate,
            ),
            (
                facts(Stage::Worker, "something odd"),
                Category::Cli,
                Action::RetryOnce,
            ),
            (
                Facts {
                    exit: Some(0),
                    ..facts(Stage::NoAnswer, "")
                },
                Category::Parsing,
                Action::RetryWithFeedback,
            ),
            (
                Facts {
                    signal: Some(6),
                    ..facts(Stage::Worker, "")
                },
                Category::Cli,
                Action::RetrySame,
            ),
            (
                Facts {
                    exit: Some(127),
                    ..facts(Stage::Worker, "")
                },
                Category::Cli,
                Action::Escalate,
            ),
        ];
        for (facts, category, action) in table {
            assert_eq!(classify(&facts), (category, action), "{facts:?}");
        }
    }
}
