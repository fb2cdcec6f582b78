//! Feedback for workers: on their own failed attempts, and on the change as others judged it. The
//! schema and an example of the answer are part of every prompt, so they are not repeated here.

use serde::{Deserialize, Serialize};

use crate::failure::FailureCategory;
use crate::ids::{BodyId, StepId};

/// A message that a worker must be given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The step it comes from.
    pub from: StepId,
    /// The message itself.
    pub text: String,
    /// The full text, where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyId>,
}

/// An attempt that failed in a way its worker can correct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    /// The kind of failure.
    pub category: FailureCategory,
    /// The exact problem.
    pub message: String,
}

impl AttemptFailure {
    /// Returns the feedback for the worker.
    pub fn feedback_text(&self) -> String {
        let Self { category, message } = self;
        match category {
            FailureCategory::Validation => format!(
                "Your last answer does not match the schema: {message}\n\
                 Answer again, with one JSON object that matches it."
            ),
            FailureCategory::Parsing => format!(
                "Your last attempt ended without an answer that could be parsed: {message}\n\
                 End with exactly one JSON object like the example, and nothing around it."
            ),
            FailureCategory::Logic => format!(
                "Your last attempt was not accepted: {message}\n\
                 Fix this. If you cannot continue, answer `{{\"blocked\": \"<why>\"}}`."
            ),
            FailureCategory::Network | FailureCategory::Cli | FailureCategory::Resource => {
                format!("Your last attempt failed: {message}")
            }
        }
    }
}
