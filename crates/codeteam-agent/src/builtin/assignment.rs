//! What the built-in worker reads of its assignment.
//!
//! Everything it has no use for is ignored, so that an assignment may grow.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Error;

/// No file of any use to this worker is bigger.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// How a worker changes files.
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
    /// What the answer must look like.
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
    /// How many tokens may be read and written in all.
    #[serde(default)]
    pub(super) max_tokens: Option<u64>,
    /// What may be spent, in millionths of a US dollar.
    #[serde(default)]
    pub(super) max_cost_microusd: Option<u64>,
    /// How long one request may go without an answer, in milliseconds.
    #[serde(default)]
    pub(super) stall_ms: u64,
    /// In which form the answer is owed.
    #[serde(default)]
    contract: String,
}

/// What the model is told.
#[derive(Debug, Deserialize)]
pub(super) struct AssignmentInstructions {
    #[serde(default)]
    pub(super) system: String,
    pub(super) prompt: String,
}

impl BuiltinAssignment {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = read(path)?;
        serde_json::from_str(&text).map_err(|source| Error::Assignment {
            path: path.to_owned(),
            source,
        })
    }

    /// Whether an answer must stand by itself: some contracts have no fence round it.
    pub(super) fn is_bare(&self) -> bool {
        self.contract == "strict"
    }

    /// The schema of the answer: any object, if the assignment does not say.
    pub(super) fn schema(&self) -> Value {
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
pub(super) fn read(path: &Path) -> Result<String, Error> {
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
