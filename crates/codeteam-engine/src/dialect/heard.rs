//! What every fold gathers, and how it ends: one answer, or why there is none.

use std::collections::BTreeMap;

use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage, ReachedQuota};
use codeteam_core::input::WorkerOutcome;

use super::calls::CallLog;
use super::{FoldSettings, WorkerEvent, answer, facts_of};
use crate::process::{CommandExit, ExitReason, OutputLine};

/// How much of a message is kept as the reason of a failure.
const MAX_REASON: usize = 2_000;

/// How many messages and calls without a result are remembered one by one. What a worker says has no
/// end that codeteam sets, so what is remembered of it has one.
pub(super) const OPEN_MESSAGES: usize = 10_000;

/// The same for answers that wait to be accepted, which are long.
pub(super) const OPEN_SUBMISSIONS: usize = 8;

/// Keeps no more than so many entries.
pub(super) fn drop_first(entries: &mut BTreeMap<String, String>, most: usize) {
    while entries.len() > most {
        entries.pop_first();
    }
}

/// What a worker has told so far.
#[derive(Debug, Default)]
pub(super) struct FoldState {
    pub(super) usage: Usage,
    pub(super) model: Option<String>,
    pub(super) session: Option<String>,
    /// The CLI's own structured output.
    pub(super) structured: Option<String>,
    /// The first call of the `submit` tool that was accepted.
    submitted: Option<String>,
    /// How many of them there were.
    submissions: usize,
    /// The last message.
    pub(super) message: Option<String>,
    /// Why it gave up, if it said so.
    pub(super) failure: Option<FailureFacts>,
    /// The last thing that went wrong on the way, for want of anything better.
    pub(super) trouble: Option<FailureFacts>,
    /// A usage limit that was reached.
    pub(super) quota: Option<ReachedQuota>,
    /// The calls of tools it has made.
    pub(super) calls: CallLog,
    /// What it could not write, in its own words.
    pub(super) failed_write: Option<String>,
    /// The last thing said on the error stream.
    last_words: String,
    /// The first thing said there that is about an error.
    complaint: String,
    /// An event was longer than what is read of a line.
    cut: bool,
    /// Whether its answer must be nothing but the answer.
    bare: bool,
}

impl FoldState {
    /// Has heard nothing yet.
    pub(super) fn new(listening: &FoldSettings) -> Self {
        Self {
            bare: listening.bare,
            ..Self::default()
        }
    }

    /// What is to be done with a line: an event to read, or what it tells already.
    pub(super) fn event<'l>(
        &mut self,
        line: &'l OutputLine<'_>,
    ) -> Result<&'l str, Vec<WorkerEvent>> {
        let text = line.text.trim();
        let is_event = line.stream == crate::process::OutputStream::Stdout && text.starts_with('{');
        if is_event && !line.truncated {
            return Ok(text);
        }
        self.cut |= is_event;
        if text.is_empty() {
            return Err(Vec::new());
        }
        if line.stream == crate::process::OutputStream::Stderr {
            self.last_words = clipped(text);
            let lower = text.to_lowercase();
            if self.complaint.is_empty() && COMPLAINTS.iter().any(|words| lower.starts_with(words))
            {
                self.complaint = clipped(text);
            }
        }
        let text = line.text.to_string();
        Err(vec![WorkerEvent::Noise { text }])
    }

    /// Notes an answer that was handed in. More than one is a fault, so only the first is kept.
    pub(super) fn submit(&mut self, answer: String) {
        self.submissions += 1;
        self.submitted.get_or_insert(answer);
    }

    /// Notes what went wrong on the way; it may still end well.
    pub(super) fn stumbled(&mut self, message: &str, status: Option<u16>) -> WorkerEvent {
        let message = clipped(message);
        self.trouble = Some(FailureFacts {
            message: message.clone(),
            http_status: status,
            ..FailureFacts::default()
        });
        WorkerEvent::Error { message }
    }

    /// What a message tells a person: nothing, if it is the answer.
    pub(super) fn message(&mut self, text: String) -> Vec<WorkerEvent> {
        let is_answer = answer::of(&text, false).is_some();
        self.message = Some(text.clone());
        if is_answer || text.trim().is_empty() {
            return Vec::new();
        }
        vec![WorkerEvent::Text { text }]
    }

    /// What became of it.
    pub(super) fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome {
        let cause = self.failure.take();
        let is_done = cause.is_none() && exit.status == ExitReason::Exited(0) && self.has_answer();
        // A limit that it got over is none: it went on with another model, or at another price.
        if let Some(quota) = self.quota.take().filter(|_| !is_done) {
            let words = cause.map(|facts| facts.message);
            let words = words.unwrap_or_else(|| "its usage limit is reached".to_owned());
            let mut facts = facts_of(exit, FailureStage::Worker, words);
            facts.quota = Some(quota);
            return WorkerOutcome::Failed(facts);
        }
        let ExitReason::Exited(code) = exit.status else {
            let words = self.words(exit.status);
            return WorkerOutcome::Failed(facts_of(exit, FailureStage::Worker, words));
        };
        if let Some(mut facts) = cause {
            facts.exit = Some(code);
            return WorkerOutcome::Failed(facts);
        }
        if code != 0 {
            let trouble = self.trouble.take();
            let mut facts = facts_of(exit, FailureStage::Worker, self.words(exit.status));
            if let Some(trouble) = trouble {
                facts = FailureFacts {
                    exit: Some(code),
                    ..trouble
                };
            } else if is_usage(&facts.message) {
                facts.trouble = Some(FailureCause::Version);
            }
            return WorkerOutcome::Failed(facts);
        }
        if let Some(answer) = self.structured.take() {
            return WorkerOutcome::Answered(answer);
        }
        match self.submissions {
            0 => {}
            1 => return WorkerOutcome::Answered(self.submitted.take().unwrap_or_default()),
            // Which one would count?
            n => {
                let words = format!("it submitted more than once ({n} times)");
                return WorkerOutcome::Failed(facts_of(exit, FailureStage::BadAnswer, words));
            }
        }
        let message = self.message.take().unwrap_or_default();
        // What only stands where an answer should be is less telling than what went wrong.
        let bare = self.bare && self.trouble.is_none();
        if let Some(answer) = answer::of(&message, bare) {
            let answer = if self.bare { message.trim() } else { answer };
            return WorkerOutcome::Answered(answer.to_owned());
        }
        if let Some(trouble) = self.trouble.take() {
            return WorkerOutcome::Failed(FailureFacts {
                exit: Some(code),
                ..trouble
            });
        }
        let words = if self.cut {
            "its answer is longer than what is read of one line"
        } else if message.trim().is_empty() {
            "it ended without an answer"
        } else {
            "its last message is not exactly one JSON object"
        };
        WorkerOutcome::Failed(facts_of(exit, FailureStage::NoAnswer, words.to_owned()))
    }

    fn has_answer(&self) -> bool {
        let message = self.message.as_deref();
        let message = message.and_then(|text| answer::of(text, false));
        self.structured.is_some() || self.submitted.is_some() || message.is_some()
    }

    fn words(&mut self, status: ExitReason) -> String {
        let last_words = std::mem::take(&mut self.last_words);
        let words = if self.complaint.is_empty() {
            last_words
        } else {
            std::mem::take(&mut self.complaint)
        };
        match status {
            // Whatever it said last, this is what ended it.
            ExitReason::Signalled(signal) if words.is_empty() => killed_by(signal),
            ExitReason::Signalled(signal) => {
                format!("{}; its last words: {words}", killed_by(signal))
            }
            _ if !words.is_empty() => words,
            ExitReason::Exited(code) => format!("it ended with {code} and said nothing"),
            _ => "it ended badly and said nothing".to_owned(),
        }
    }
}

/// Which signal ended a worker that did not end by itself.
fn killed_by(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("it was ended by signal {signal}"),
    };
    format!("it was ended by signal {signal} ({name})")
}

/// What a line about an error begins with.
const COMPLAINTS: &[&str] = &["error", "unknown argument", "fatal"];

/// Whether a program complains about how it was called: it is not the one that codeteam knows.
fn is_usage(message: &str) -> bool {
    const WORDS: &[&str] = &["unknown option", "unknown argument", "unexpected argument"];
    let lower = message.to_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}

/// The beginning of a text that may be long.
pub(super) fn clipped(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MAX_REASON {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_REASON)])
}

/// One line, for a person to see what a tool is used for.
pub(super) fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or("").trim();
    let cut = line.floor_char_boundary(120);
    let more = cut < line.len() || text.trim().lines().nth(1).is_some();
    format!("{}{}", &line[..cut], if more { " …" } else { "" })
}
