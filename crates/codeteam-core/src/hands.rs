//! In whose hands a run is: of workers that codeteam starts, or of a session that asks for its
//! assignments one at a time. Everything else about a run is the same.

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, WorkerName};
use crate::run::Run;

/// The worker that is not started: whoever asks codeteam carries the assignment out.
pub const SESSION: &str = "session";

/// Who carries assignments out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operator {
    /// Workers, each started for one attempt.
    #[default]
    Workers,
    /// A session. Its checkout is the workspace, so that one frame is worked on at a time.
    Session,
}

impl Operator {
    /// Whether it is the usual way.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(crate) fn is_workers(&self) -> bool {
        *self == Self::Workers
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workers => "workers",
            Self::Session => SESSION,
        }
    }
}

/// Whether an attempt is carried out by a session.
pub fn is_session(worker: &WorkerName) -> bool {
    worker.0 == SESSION
}

/// Whether an attempt that is under way is a session's.
pub(crate) fn is_in_session(run: &Run, id: &AttemptId) -> bool {
    let slot = run.frames.get(&id.frame).and_then(|f| f.slot(id));
    let slot = slot.filter(|_| run.hands == Operator::Session);
    slot.and_then(|slot| slot.worker.as_ref())
        .is_some_and(is_session)
}
