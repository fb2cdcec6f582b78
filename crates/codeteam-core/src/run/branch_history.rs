//! What a run remembers of its past, so that it can be taken back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::BaselineFailure;
use crate::frame::Tip;
use crate::ids::FramePath;

/// A move of the run's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchMove {
    /// The number of the event that recorded it.
    pub seq: u64,
    /// Where the branch was after it.
    pub tip: Tip,
    /// The frame that committed; `None` if somebody else moved the branch.
    pub frame: Option<FramePath>,
    /// The attempt that made the change.
    pub by: String,
    /// The failures from before the run that were tolerated until then, if it changed them.
    pub baseline: Option<Arc<Vec<BaselineFailure>>>,
}

/// A frame that was completed or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedFrame {
    /// The number of the event with which it ended.
    pub seq: u64,
    /// The largest number of visits to one of its steps. Another frame for the same task counts its
    /// visits from there, so that no two attempts share an id.
    pub visits: u32,
}

/// Events that no longer count, because the run was taken back to before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBackEvents {
    /// The last event before them.
    pub after: u64,
    /// The event that recorded the rollback.
    pub until: u64,
}
