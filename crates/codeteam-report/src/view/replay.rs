//! A run that is rebuilt event by event, for whoever tells its history.

use std::sync::Arc;

use codeteam_core::ids::{AttemptId, FramePath, RoleName, RunId};
use codeteam_core::role::RoleKind;
use codeteam_core::{Event, Run, apply};

use super::LoadedRun;
use crate::describe;

/// A run as of the last event that was read.
///
/// Whoever reads a log, and needs to know how the run stood at each event, applies the events to
/// this one by one.
#[derive(Clone, Debug, Default)]
pub struct RunReplay {
    run: Arc<Run>,
}

impl RunReplay {
    /// Applies the next event.
    pub fn apply_event(&mut self, event: &Event) {
        apply(Arc::make_mut(&mut self.run), event);
    }

    /// Returns the run's id; empty before its first event.
    pub fn id(&self) -> &RunId {
        &self.run.id
    }

    /// Returns the number of the last event applied.
    pub fn seq(&self) -> u64 {
        self.run.seq
    }

    /// Returns true once the run's first event was applied.
    pub fn has_started(&self) -> bool {
        self.run.has_started()
    }

    /// Describes the event that was applied last; `None` if only the machine needs to know of it.
    pub fn describe_event(&self, event: &Event) -> Option<String> {
        describe::event_line(&self.run, event)
    }

    /// Returns the round that a frame is in, if it is under way.
    pub fn round_of(&self, frame: &FramePath) -> Option<u32> {
        self.run.frames.get(frame).map(|frame| frame.round)
    }

    /// Returns the role that makes an attempt, and what such a role owes.
    pub fn attempt_role(&self, id: &AttemptId) -> Option<(RoleName, Option<RoleKind>)> {
        let role = super::session::attempt_role(&self.run, id)?;
        let kind = self.run.roles.get(&role).map(|role| role.kind);
        Some((role, kind))
    }

    /// Returns the run as it is now.
    pub fn snapshot(&self) -> LoadedRun {
        LoadedRun::new(Arc::clone(&self.run))
    }
}
