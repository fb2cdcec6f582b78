//! The state that every dialect's fold collects, and how a fold ends: with one answer, or the
//! reason why there is none.

use std::collections::BTreeMap;

use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage, ReachedQuota};
use codeteam_core::input::WorkerOutcome;

use super::calls::CallLog;
use super::{FoldSettings, WorkerEvent, answer, exit_facts};
use codeteam_host::process::{CommandExit, ExitReason, OutputLine};

/// The most characters of a message that are kept as the reason of a failure.
const MAX_REASON: usize = 2_000;

/// The most messages and unanswered calls that are remembered one by one. The output of a worker is
/// unlimited, so what is remembered of it must be limited.
pub(super) const OPEN_MESSAGES: usize = 10_000;

/// The same limit for answers that wait to be accepted, which are long.
pub(super) const OPEN_SUBMISSIONS: usize = 8;

/// Removes the first entries until at most `most` are left.
pub(super) fn drop_first(entries: &mut BTreeMap<String, String>, most: usize) {
    while entries.len() > most {
        entries.pop_first();
    }
}

/// The state of a fold: everything a worker has reported so far.
#[derive(Debug, Default)]
pub(super) struct FoldState {
    pub(super) usage: Usage,
    pub(super) model: Option<String>,
    pub(super) session: Option<String>,
    /// The CLI's own structured output.
    pub(super) structured: Option<String>,
    /// The first accepted call of the `submit` tool.
    submitted: Option<String>,
    /// The number of such calls.
    submissions: usize,
    /// The last message.
    pub(super) message: Option<String>,
    /// The failure with which it gave up, if it reported one.
    pub(super) failure: Option<FailureFacts>,
    /// The last problem on the way, used if there is no better explanation.
    pub(super) trouble: Option<FailureFacts>,
    /// A usage limit that was reached.
    pub(super) quota: Option<ReachedQuota>,
    /// Its tool calls.
    pub(super) calls: CallLog,
    /// Its own message about a write that failed.
    pub(super) failed_write: Option<String>,
    /// The last line on the error stream.
    last_words: String,
    /// The first line on the error stream that is about an error.
    complaint: String,
    /// Whether an event was longer than what is read of a line.
    cut: bool,
    /// Whether its message must consist of the answer only.
    bare: bool,
}

impl FoldState {
    /// Creates the state before any output.
    pub(super) fn new(listening: &FoldSettings) -> Self {
        Self {
            bare: listening.bare,
            ..Self::default()
        }
    }

    /// Returns the text of an event to parse, or the events for a line that is not one.
    pub(super) fn extract_event<'l>(
        &mut self,
        line: &'l OutputLine<'_>,
    ) -> Result<&'l str, Vec<WorkerEvent>> {
        let text = line.text.trim();
        let is_event =
            line.stream == codeteam_host::process::OutputStream::Stdout && text.starts_with('{');
        if is_event && !line.truncated {
            return Ok(text);
        }
        self.cut |= is_event;
        if text.is_empty() {
            return Err(Vec::new());
        }
        if line.stream == codeteam_host::process::OutputStream::Stderr {
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

    /// Records a submitted answer. More than one is an error, so only the first is kept.
    pub(super) fn submit(&mut self, answer: String) {
        self.submissions += 1;
        self.submitted.get_or_insert(answer);
    }

    /// Records a problem on the way; the attempt may still succeed.
    pub(super) fn note_trouble(&mut self, message: &str, status: Option<u16>) -> WorkerEvent {
        let message = clipped(message);
        self.trouble = Some(FailureFacts {
            message: message.clone(),
            http_status: status,
            ..FailureFacts::default()
        });
        WorkerEvent::Error { message }
    }

    /// Records a message and returns the events to show: none, if the message is the answer.
    pub(super) fn message(&mut self, text: String) -> Vec<WorkerEvent> {
        let is_answer = answer::find_answer(&text, false).is_some();
        self.message = Some(text.clone());
        if is_answer || text.trim().is_empty() {
            return Vec::new();
        }
        vec![WorkerEvent::Text { text }]
    }

    /// Determines the outcome of the attempt.
    pub(super) fn finish(&mut self, exit: &CommandExit) -> WorkerOutcome {
        let cause = self.failure.take();
        let is_done = cause.is_none() && exit.status == ExitReason::Exited(0) && self.has_answer();
        // A limit that the worker got past does not count: it continued with another model, or at
        // another price.
        if let Some(quota) = self.quota.take().filter(|_| !is_done) {
            let words = cause.map(|facts| facts.message);
            let words = words.unwrap_or_else(|| "its usage limit is reached".to_owned());
            let mut facts = exit_facts(exit, FailureStage::Worker, words);
            facts.quota = Some(quota);
            return WorkerOutcome::Failed(facts);
        }
        let ExitReason::Exited(code) = exit.status else {
            let words = self.failure_text(exit.status);
            return WorkerOutcome::Failed(exit_facts(exit, FailureStage::Worker, words));
        };
        if let Some(mut facts) = cause {
            facts.exit = Some(code);
            return WorkerOutcome::Failed(facts);
        }
        if code != 0 {
            let trouble = self.trouble.take();
            let mut facts = exit_facts(exit, FailureStage::Worker, self.failure_text(exit.status));
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
            // It is unclear which of several answers would count.
            n => {
                let words = format!("it submitted more than once ({n} times)");
                return WorkerOutcome::Failed(exit_facts(exit, FailureStage::BadAnswer, words));
            }
        }
        let message = self.message.take().unwrap_or_default();
        // If something went wrong, that explains more than a message that is no answer.
        let bare = self.bare && self.trouble.is_none();
        if let Some(answer) = answer::find_answer(&message, bare) {
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
        WorkerOutcome::Failed(exit_facts(exit, FailureStage::NoAnswer, words.to_owned()))
    }

    fn has_answer(&self) -> bool {
        let message = self.message.as_deref();
        let message = message.and_then(|text| answer::find_answer(text, false));
        self.structured.is_some() || self.submitted.is_some() || message.is_some()
    }

    fn failure_text(&mut self, status: ExitReason) -> String {
        let last_words = std::mem::take(&mut self.last_words);
        let words = if self.complaint.is_empty() {
            last_words
        } else {
            std::mem::take(&mut self.complaint)
        };
        match status {
            // Whatever was printed last, the signal is what ended it.
            ExitReason::Signalled(signal) if words.is_empty() => killed_by(signal),
            ExitReason::Signalled(signal) => {
                format!("{}; its last words: {words}", killed_by(signal))
            }
            _ if !words.is_empty() => words,
            ExitReason::Exited(code) => format!("it ended with {code} and printed nothing"),
            _ => "it ended badly and printed nothing".to_owned(),
        }
    }
}

/// Returns the message for a worker that was ended by a signal.
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

/// The beginnings of lines about an error.
const COMPLAINTS: &[&str] = &["error", "unknown argument", "fatal"];

/// Returns true if a program complains about its arguments: then it is not a version that codeteam
/// knows.
fn is_usage(message: &str) -> bool {
    const WORDS: &[&str] = &["unknown option", "unknown argument", "unexpected argument"];
    let lower = message.to_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}

/// Returns the beginning of a text that may be long.
pub(super) fn clipped(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MAX_REASON {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MAX_REASON)])
}

/// Returns the first line of a text, to show what a tool is used for.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or("").trim();
    let cut = line.floor_char_boundary(120);
    let more = cut < line.len() || text.trim().lines().nth(1).is_some();
    format!("{}{}", &line[..cut], if more { " …" } else { "" })
}
