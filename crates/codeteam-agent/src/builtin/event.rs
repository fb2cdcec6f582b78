//! The JSON lines the built-in worker speaks.
//!
//! The engine's dialect for this worker reads them; the two change together.

use std::io::Write;

use codeteam_core::failure::FailureCause;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Error;
use super::plan::PlanStep;

/// A key shorter than this is a placeholder, and may well be a common word.
const KEY_LENGTH: usize = 16;

/// One line of output.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BuiltinEvent<'a> {
    Started {
        worker: &'a str,
        version: &'a str,
        model: &'a str,
    },
    Text {
        text: &'a str,
    },
    Tool {
        name: &'a str,
        detail: &'a str,
    },
    ToolResult {
        name: &'a str,
        ok: bool,
        detail: &'a str,
    },
    /// A file was written.
    File {
        path: &'a str,
    },
    /// The usage of one request.
    Usage {
        /// Everything that was read, including what came from the cache.
        input_tokens: u64,
        output_tokens: u64,
        /// The part of the input that came from the cache.
        cached_input_tokens: u64,
        model: &'a str,
    },
    Trace(TraceEvent<'a>),
    Error {
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        trouble: Option<FailureCause>,
        /// The time that the API asks to be left alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    RateLimit {
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        resets_in_ms: Option<u64>,
    },
}

/// Events for people who want to know how the model worked.
#[derive(Debug, Serialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub(super) enum TraceEvent<'a> {
    Planner {
        steps: &'a [PlanStep],
        duration_ms: u64,
    },
    /// One tool call, or a turn without one.
    Executor {
        iteration: u32,
        #[serde(skip_serializing_if = "str::is_empty")]
        thought: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ok: Option<bool>,
        result_bytes: usize,
        duration_ms: u64,
    },
    Quality(QualityReport),
}

/// Figures about the work as a whole.
#[derive(Debug, Default, Serialize)]
pub(super) struct QualityReport {
    pub(super) iterations: u32,
    pub(super) tool_calls: u32,
    pub(super) tool_errors: u32,
    /// How many times an answer was sent back to the model.
    pub(super) mended: u32,
    /// The model's own score of its work, from 0 to 100; missing if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) issues: Vec<String>,
}

/// The last line. Apart from the others because nothing may be put between the
/// model's own text and this.
#[derive(Serialize)]
struct SubmissionLine<'a> {
    r#type: &'static str,
    submission: &'a RawValue,
}

impl<'a> BuiltinEvent<'a> {
    pub(super) fn started(model: &'a str) -> Self {
        Self::Started {
            worker: "builtin",
            version: env!("CARGO_PKG_VERSION"),
            model,
        }
    }

    pub(super) fn error(
        message: &'a str,
        status: Option<u16>,
        trouble: Option<FailureCause>,
    ) -> Self {
        Self::Error {
            message,
            status,
            trouble,
            retry_after_ms: None,
        }
    }
}

/// Writes events as JSON lines.
pub(super) struct EventSink<'a> {
    out: &'a mut dyn Write,
    /// The key as it would appear in a line, if there is one.
    key: Option<String>,
}

impl<'a> EventSink<'a> {
    pub(super) fn new(out: &'a mut dyn Write, key: &str) -> Self {
        let quoted = serde_json::to_string(key).unwrap_or_default();
        let key = quoted.trim_matches('"').to_owned();
        Self {
            out,
            key: (key.len() >= KEY_LENGTH).then_some(key),
        }
    }

    /// Writes the event as a line, immediately and without the key.
    pub(super) fn emit(&mut self, event: &BuiltinEvent<'_>) -> Result<(), Error> {
        let line = serde_json::to_string(event).map_err(|error| Error::Output(error.into()))?;
        let line = match &self.key {
            Some(key) if line.contains(key) => line.replace(key, "[key]"),
            _ => line,
        };
        self.write_line(line)
    }

    /// Writes the answer verbatim.
    pub(super) fn emit_submission(&mut self, submission: &RawValue) -> Result<(), Error> {
        let line = SubmissionLine {
            r#type: "submission",
            submission,
        };
        let line = serde_json::to_string(&line).map_err(|error| Error::Output(error.into()))?;
        // Only between the parts of the JSON can there be line ends: inside a
        // string they are escaped.
        self.write_line(line.replace(['\n', '\r'], " "))
    }

    fn write_line(&mut self, mut line: String) -> Result<(), Error> {
        line.push('\n');
        self.out
            .write_all(line.as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(Error::Output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(key: &str, act: impl FnOnce(&mut EventSink<'_>)) -> String {
        let mut out = Vec::new();
        act(&mut EventSink::new(&mut out, key));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_key_is_not_told_and_a_placeholder_is_a_word() {
        let tell = |sink: &mut EventSink<'_>| {
            let text = "the key sk-0123456789abcdef";
            sink.emit(&BuiltinEvent::Text { text }).unwrap();
        };
        let hidden = told("sk-0123456789abcdef", tell);
        assert_eq!(hidden, "{\"type\":\"text\",\"text\":\"the key [key]\"}\n");
        assert!(told("key", tell).contains("the key sk-"));
    }

    #[test]
    fn a_submission_is_one_line_and_otherwise_untouched() {
        let raw = "{\n  \"a\": 1.0,\r\n  \"a\": \"x\\ny\" }";
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        let line = told("", |sink| sink.emit_submission(&raw).unwrap());
        assert_eq!(
            line,
            "{\"type\":\"submission\",\"submission\":{   \"a\": 1.0,    \"a\": \"x\\ny\" }}\n"
        );
    }
}
