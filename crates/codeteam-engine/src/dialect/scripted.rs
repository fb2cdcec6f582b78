//! The scripted worker: `codeteam agent`, playing a script.

use std::path::PathBuf;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::failure::{Quota, Stage};
use codeteam_core::input::WorkerEnd;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Dialect, Fold, Program, Surroundings, argument, facts_of};
use crate::process::{Exit, Line, Status, Stream};

/// Speaks to `codeteam agent`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripted;

impl Dialect for Scripted {
    fn command(&self, assignment: &Assignment, around: &Surroundings) -> Program {
        let mut args = vec![
            "agent".into(),
            "--assignment".into(),
            argument(&around.assignment),
        ];
        // What a model is to others, the script is to this one.
        if let Some(script) = &assignment.model {
            args.extend(["--script".into(), script.into()]);
        }
        Program {
            program: argument(&around.codeteam),
            args,
            env: Vec::new(),
            reads: [around.codeteam.clone()]
                .into_iter()
                .chain(assignment.model.iter().map(PathBuf::from))
                .collect(),
        }
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(Folding::default())
    }
}

#[derive(Default)]
struct Folding {
    usage: Usage,
    submission: Option<String>,
    /// A second submission takes the first one's place away: which one would count?
    several: bool,
    error: Option<(String, Option<u16>)>,
    quota: Option<Quota>,
    /// The last thing said on the error stream, for want of anything better.
    last_words: String,
}

/// One line of what the worker says. Flat, because a submission must be kept to the letter: core
/// refuses doubled keys, and any buffering in between would lose them.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    text: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    cost_microusd: Option<u64>,
    #[serde(default)]
    message: String,
    status: Option<u16>,
    #[serde(default)]
    account: String,
    resets_in_ms: Option<u64>,
    #[serde(borrow)]
    submission: Option<&'a RawValue>,
}

impl Fold for Folding {
    fn line(&mut self, line: &Line<'_>) -> Option<String> {
        if line.stream == Stream::Stderr || line.truncated {
            if !line.text.trim().is_empty() {
                self.last_words = line.text.trim().chars().take(400).collect();
            }
            return Some(line.text.to_string());
        }
        let Ok(said) = serde_json::from_str::<Said<'_>>(&line.text) else {
            // Noise is kept in the transcript; it never becomes an answer.
            return Some(line.text.to_string());
        };
        match said.kind {
            "started" => None,
            "text" => Some(said.text),
            "tool" => Some(format!("[{}] {}", said.name, said.detail)),
            "usage" => {
                self.usage.input_tokens += said.input_tokens;
                self.usage.output_tokens += said.output_tokens;
                if let Some(cost) = said.cost_microusd {
                    *self.usage.cost_microusd.get_or_insert(0) += cost;
                }
                None
            }
            "error" => {
                let shown = format!("error: {}", said.message);
                self.error = Some((said.message, said.status));
                Some(shown)
            }
            "rate_limit" => {
                let (account, resets_in_ms) = (said.account.into(), said.resets_in_ms);
                self.quota = Some(Quota {
                    account,
                    resets_in_ms,
                });
                Some("its usage limit is reached".to_owned())
            }
            "submission" => {
                self.several |= self.submission.is_some();
                self.submission = said.submission.map(|json| json.get().to_owned());
                None
            }
            other => Some(format!("(an event codeteam does not know: {other})")),
        }
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(&mut self, exit: &Exit) -> WorkerEnd {
        let fail = |stage, message: String| WorkerEnd::Failed(facts_of(exit, stage, message));
        if let Some(quota) = self.quota.take() {
            let mut facts = facts_of(exit, Stage::Worker, "its usage limit is reached".to_owned());
            facts.quota = Some(quota);
            return WorkerEnd::Failed(facts);
        }
        match exit.status {
            Status::Exited(0) if self.several => {
                fail(Stage::BadAnswer, "it submitted more than once".to_owned())
            }
            Status::Exited(0) => match (self.submission.take(), self.error.take()) {
                (Some(submission), _) => WorkerEnd::Answered(submission),
                (None, Some((message, status))) => {
                    let mut facts = facts_of(exit, Stage::Worker, message);
                    facts.http_status = status;
                    WorkerEnd::Failed(facts)
                }
                (None, None) => fail(Stage::NoAnswer, "it ended without an answer".to_owned()),
            },
            _ => {
                let (message, status) = self.error.take().unwrap_or_else(|| {
                    let words = std::mem::take(&mut self.last_words);
                    let fallback = "it ended badly and said nothing".to_owned();
                    (if words.is_empty() { fallback } else { words }, None)
                });
                let mut facts = facts_of(exit, Stage::Worker, message);
                facts.http_status = status;
                WorkerEnd::Failed(facts)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::time::Duration;

    use codeteam_core::failure::{Action, classify};

    use super::*;

    fn play(lines: &[&str], status: Status) -> (WorkerEnd, Usage) {
        let mut fold = Scripted.fold();
        for text in lines {
            let line = Line {
                stream: Stream::Stdout,
                raw: text.as_bytes(),
                text: Cow::Borrowed(text),
                truncated: false,
            };
            fold.line(&line);
        }
        let exit = Exit {
            status,
            stdout_bytes: 0,
            stderr_bytes: 0,
            dropped_bytes: 0,
            wall: Duration::from_secs(1),
        };
        (fold.finish(&exit), fold.usage())
    }

    fn action(end: &WorkerEnd) -> Action {
        match end {
            WorkerEnd::Failed(facts) => classify(facts).1,
            WorkerEnd::Answered(text) => panic!("answered {text}"),
        }
    }

    #[test]
    fn the_answer_is_the_submission_to_the_letter() {
        let doubled =
            r#"{"type":"submission","submission":{"verdict":"reject","verdict":"approve"}}"#;
        let (end, usage) = play(
            &[
                r#"{"type":"usage","input_tokens":5,"output_tokens":2,"cost_microusd":7}"#,
                doubled,
            ],
            Status::Exited(0),
        );
        let kept = r#"{"verdict":"reject","verdict":"approve"}"#;
        assert_eq!(
            end,
            WorkerEnd::Answered(kept.to_owned()),
            "so that core can refuse it"
        );
        assert_eq!(usage.cost_microusd, Some(7));
    }

    #[test]
    fn an_answer_before_a_bad_end_does_not_count() {
        let answer = r#"{"type":"submission","submission":{"message":"x"}}"#;
        assert_eq!(
            action(&play(&[answer], Status::Exited(1)).0),
            Action::RetryOnce
        );
        assert_eq!(
            action(&play(&[answer], Status::Signalled(6)).0),
            Action::RetrySame
        );
        assert_eq!(
            action(&play(&[answer, answer], Status::Exited(0)).0),
            Action::RetryWithFeedback
        );
    }

    #[test]
    fn noise_is_no_answer() {
        let (end, _) = play(
            &["APPROVED", "{\"verdict\":\"approve\"}", ""],
            Status::Exited(0),
        );
        assert_eq!(action(&end), Action::RetryWithFeedback);
    }

    #[test]
    fn a_usage_limit_parks() {
        let limit = r#"{"type":"rate_limit","account":"scripted","resets_in_ms":500}"#;
        assert_eq!(action(&play(&[limit], Status::Exited(1)).0), Action::Park);
        let error = r#"{"type":"error","message":"overloaded","status":529}"#;
        assert_eq!(
            action(&play(&[error], Status::Exited(1)).0),
            Action::RetrySame
        );
    }
}
