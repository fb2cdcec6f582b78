//! Why a file was found, in words.

use serde::Serialize;

/// Why a file was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The task names it.
    Named,
}
