//! The part of an assignment that the built-in worker reads.
//!
//! Other keys are ignored, so that assignments may grow.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Error;

/// The largest file that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The way in which a worker changes files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EditMode {
    /// With tools.
    #[default]
    Tools,
    /// With whole files in its answer; it has no tools.
    Edits,
}

/// An assignment, as far as this worker cares.
#[derive(Debug, Deserialize)]
pub(super) struct BuiltinAssignment {
    pub(super) instructions: AssignmentInstructions,
    /// The JSON Schema of the answer.
    #[serde(default)]
    pub(super) schema: Option<Value>,
    /// An answer, for the model to see.
    #[serde(default)]
    pub(super) example: Option<Value>,
    #[serde(default)]
    pub(super) mode: EditMode,
    /// The tools that may be used; empty for all.
    #[serde(default)]
    pub(super) tools: Vec<String>,
    /// Whether files may be changed.
    #[serde(default)]
    pub(super) writable: bool,
    #[serde(default)]
    pub(super) max_turns: Option<u32>,
    /// The most tokens that may be read and written in all.
    #[serde(default)]
    pub(super) max_tokens: Option<u64>,
    /// The most that may be spent, in millionths of a US dollar.
    #[serde(default)]
    pub(super) max_cost_microusd: Option<u64>,
    /// The longest time that a request may go without an answer, in milliseconds.
    #[serde(default)]
    pub(super) stall_ms: u64,
    /// The contract, which is the form of the answer.
    #[serde(default)]
    contract: String,
}

/// The prompts for the model.
#[derive(Debug, Deserialize)]
pub(super) struct AssignmentInstructions {
    #[serde(default)]
    pub(super) system: String,
    pub(super) prompt: String,
}

impl BuiltinAssignment {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = read_limited(path)?;
        serde_json::from_str(&text).map_err(|source| Error::Assignment {
            path: path.to_owned(),
            source,
        })
    }

    /// Returns true if the answer must be the whole message: some contracts allow no code fence.
    pub(super) fn wants_bare_answer(&self) -> bool {
        self.contract == "strict"
    }

    /// The schema of the answer: any object, if the assignment does not say.
    pub(super) fn answer_schema(&self) -> Value {
        let any = || json!({"type": "object"});
        let mut schema = self.schema.clone().unwrap_or_else(any);
        if let Some(fields) = schema.as_object_mut() {
            // Not every API takes a schema that says of which draft it is.
            fields.remove("$schema");
            fields.entry("type").or_insert_with(|| "object".into());
        } else {
            schema = any();
        }
        schema
    }
}

/// Reads a file of a sensible size.
pub(super) fn read_limited(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        let length = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if length as u64 > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(text)
    });
    read.map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}
