//! What a worker is told of its own tries that came to nothing. The schema and an example of the
//! answer stand in every prompt, so they are not repeated here.

use serde::{Deserialize, Serialize};

use crate::failure::FailureCategory;

/// A try that failed in a way its worker can mend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    /// What kind of failure it was.
    pub category: FailureCategory,
    /// What exactly.
    pub message: String,
}

impl AttemptFailure {
    /// What the worker is told.
    pub fn words(&self) -> String {
        let Self { category, message } = self;
        match category {
            FailureCategory::Validation => format!(
                "Your last answer did not fit what was asked for: {message}\n\
                 Answer again, with one JSON object that fits the schema."
            ),
            FailureCategory::Parsing => format!(
                "Your last try ended without an answer that could be read: {message}\n\
                 End with exactly one JSON object like the example, and nothing round it."
            ),
            FailureCategory::Logic => format!(
                "Your last try was not accepted: {message}\n\
                 Mend this. If you cannot go on, answer `{{\"blocked\": \"<why>\"}}`."
            ),
            FailureCategory::Network | FailureCategory::Cli | FailureCategory::Resource => {
                format!("Your last try failed: {message}")
            }
        }
    }
}
