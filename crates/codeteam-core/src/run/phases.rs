//! What a run knows about the phases of its plan.

use std::collections::BTreeMap;

use super::Run;
use crate::fork::ForkOrigin;
use crate::frame::{Frame, FrameItem};
use crate::ids::{FramePath, RoleName};
use crate::locks::{InterfaceFile, InterfaceLock};
use crate::plan::Interface;
use crate::role::{Role, RoleKind};
use crate::workflow::{EachItem, StepKind, Workflow};

impl Run {
    /// Returns true if the workflow has a designer for each phase, whose components become the
    /// phase's tasks.
    pub fn breaks_down_phases(&self) -> bool {
        breaks_down_phases(&self.workflow, &self.roles)
    }

    /// Returns the files that the interfaces of a frame's phase are to be written to; for a task, that
    /// of the interface whose change it has asked for.
    pub fn interface_files(&self, frame: &Frame) -> Vec<InterfaceFile> {
        let file = |interface: &Interface| InterfaceFile {
            name: interface.name.clone(),
            path: interface.path(),
            content: interface.content(),
        };
        match &frame.item {
            FrameItem::Phase(phase) => {
                let phase = self.plan.as_ref().and_then(|plan| plan.phase(phase));
                let interfaces = phase.into_iter().flat_map(|phase| &phase.interfaces);
                interfaces.map(file).collect()
            }
            FrameItem::Task(_) => {
                let request = frame.interface_request.iter();
                request.map(|request| file(&request.after())).collect()
            }
            FrameItem::Run => Vec::new(),
        }
    }

    /// Returns the locks that a frame's change has to keep to: all of them, with the interface that
    /// the frame itself is about to change as it is to become.
    pub fn interface_locks_for(&self, frame: &Frame) -> Vec<InterfaceLock> {
        let mut locks = self.interface_locks();
        let Some(request) = &frame.interface_request else {
            return locks;
        };
        for lock in locks.iter_mut().filter(|lock| lock.phase == request.phase) {
            let mut written = frame.locked.iter();
            if let Some(file) = written.find(|file| file.path == lock.file.path) {
                lock.file = file.clone();
            }
        }
        locks
    }

    /// Returns the files that are locked now: those of the phases that have locked their interfaces
    /// and have not ended.
    pub fn interface_locks(&self) -> Vec<InterfaceLock> {
        let frames = self.frames.values().chain(self.failed_frames.values());
        let locks = frames.flat_map(|frame| {
            let phase = match &frame.item {
                FrameItem::Phase(phase) => Some(phase.clone()),
                FrameItem::Run | FrameItem::Task(_) => None,
            };
            frame.locked.iter().filter_map(move |file| {
                Some(InterfaceLock {
                    phase: phase.clone()?,
                    file: file.clone(),
                })
            })
        });
        locks.collect()
    }

    /// Returns what another run takes over from this one, as it is after an event. `None` if it has
    /// not begun.
    pub fn fork_origin(&self, event: u64) -> Option<ForkOrigin> {
        let root = self.frames.get(&FramePath::root())?;
        let ended = self.ended_phases.values().map(AsRef::as_ref);
        let stopped = self.failed_frames.values();
        let frames = ended.chain(stopped).chain(self.frames.values());
        let phases = frames.filter_map(|frame| match &frame.item {
            FrameItem::Phase(phase) => Some((phase.clone(), &frame.outputs)),
            FrameItem::Run | FrameItem::Task(_) => None,
        });
        let run = self.id.clone();
        Some(ForkOrigin::new(run, event, &root.outputs, phases))
    }
}

/// Returns true if a workflow has a designer for each phase, whose components become the phase's
/// tasks. A plan for it needs no tasks.
pub fn breaks_down_phases(workflow: &Workflow, roles: &BTreeMap<RoleName, Role>) -> bool {
    let goes_over_phases = |step| {
        let kind = workflow.steps.get(step).map(|step| &step.kind);
        matches!(kind, Some(StepKind::Each { over, .. }) if *over == EachItem::Phase)
    };
    let mut steps = workflow.steps.values();
    steps.any(|step| match &step.kind {
        StepKind::Role(role) => {
            let mut played = role.slots.iter().filter_map(|name| roles.get(name));
            step.scope.as_ref().is_some_and(goes_over_phases)
                && played.any(|role| role.kind == RoleKind::Designer)
        }
        _ => false,
    })
}

/// Returns true if a workflow goes through its plan phase by phase.
pub fn goes_by_phase(workflow: &Workflow) -> bool {
    let mut steps = workflow.steps.values();
    steps.any(|step| matches!(step.kind, StepKind::Each { over, .. } if over == EachItem::Phase))
}
