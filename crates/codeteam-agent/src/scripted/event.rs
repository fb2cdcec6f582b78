//! The JSON lines the scripted worker speaks.
//!
//! The engine's dialect for this worker reads them; the two change together.

use std::io::Write;

use serde::Serialize;
use serde_json::Value;

use super::Error;

/// One line of output.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ScriptedEvent<'a> {
    Started {
        worker: &'a str,
        version: &'a str,
    },
    Text {
        text: &'a str,
    },
    Tool {
        name: &'a str,
        detail: &'a str,
    },
    Usage {
        input_tokens: u64,
        output_tokens: u64,
        /// Missing if the cost is unknown, which is not zero.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_microusd: Option<u64>,
    },
    Error {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        category: Option<&'a str>,
    },
    RateLimit {
        resets_in_ms: u64,
    },
    Submission {
        submission: &'a Value,
    },
}

impl ScriptedEvent<'_> {
    pub(super) fn started() -> Self {
        Self::Started {
            worker: "scripted",
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// An error of the script itself.
    pub(super) fn failure(message: String) -> Self {
        Self::Error {
            message,
            status: None,
            category: None,
        }
    }
}

/// Writes the event as a line, immediately.
pub(super) fn write_event(out: &mut dyn Write, event: &ScriptedEvent<'_>) -> Result<(), Error> {
    let mut line = serde_json::to_vec(event).map_err(|error| Error::Output(error.into()))?;
    line.push(b'\n');
    write_raw(out, &line)
}

/// Writes bytes that need not be an event, immediately.
pub(super) fn write_raw(out: &mut dyn Write, bytes: &[u8]) -> Result<(), Error> {
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(Error::Output)
}
