//! The operator of a run: workers that codeteam starts, or a session that asks for its assignments
//! one at a time. Everything else about a run is the same.

use serde::{Deserialize, Serialize};

use crate::ids::WorkerName;

/// The name of the worker that is not started: whoever calls codeteam carries out the assignment.
pub const SESSION: &str = "session";

/// Who carries out assignments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// Workers, each started for one attempt.
    #[default]
    Workers,
    /// A session. Its checkout is the workspace, so one frame is worked on at a time.
    Session,
}

impl Operator {
    /// Returns true for the usual operator, which logs leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(crate) fn is_workers(&self) -> bool {
        *self == Self::Workers
    }

    /// Returns the operator as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workers => "workers",
            Self::Session => SESSION,
        }
    }
}

/// Returns true if this worker is a session.
pub fn is_session_worker(worker: &WorkerName) -> bool {
    worker.0 == SESSION
}
