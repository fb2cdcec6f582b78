//! Contributions: what roles have brought forth in a task, for those whose tasks depend on it.

use serde::{Deserialize, Serialize};

use crate::ids::{BodyId, RoleName};

/// The number of characters from which on a task's contributions are summarised, unless the
/// workflow or the configuration says otherwise.
pub(crate) const DIGEST_FROM_CHARS: u32 = 500;

/// What a role has brought forth in a task: its own words, and the files it has really changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// The role.
    pub role: RoleName,
    /// Its own summary.
    pub summary: String,
    /// What it wants those to know who build on its work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The files of the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The transcript of the attempt, which has every word of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<BodyId>,
}

impl Contribution {
    /// Returns the number of characters of its words.
    fn chars(&self) -> usize {
        let notes = self.notes.iter().map(|note| note.chars().count());
        self.summary.chars().count() + notes.sum::<usize>()
    }
}

/// Returns the number of characters of all contributions.
pub(crate) fn total_chars(contributions: &[Contribution]) -> usize {
    contributions.iter().map(Contribution::chars).sum()
}
