//! Requests to change locked interfaces: whether one may be made, what it leads to, and who is told
//! when an interface has been changed.
//!
//! A request is decided in the frame of the task that makes it, by the steps that its workflow names
//! for that. Several tasks may ask for a change of the same interface; the first change that is
//! committed ends the other requests, which were made against an interface that is gone.

use super::Decider;
use crate::assignment::builds_on_phase;
use crate::event::{EntryReason, Event};
use crate::failure::FailureStage;
use crate::feedback::Feedback;
use crate::frame::{Frame, FrameItem, FrameStage};
use crate::ids::{AttemptId, FramePath, PhaseId, StepId};
use crate::input::WorkerReport;
use crate::locks::{InterfaceLock, RequestedInterface};
use crate::submission::{ProposedInterface, Submission};
use crate::workflow::{ExitTarget, Step, StepKind};

/// How often a task may ask for changes of interfaces before a person says to continue.
const MAX_REQUESTS: u32 = 3;

impl Decider {
    /// Takes a request in: the frame goes where the workflow lets it be decided.
    pub(super) fn request_interface_change(
        &mut self,
        id: &AttemptId,
        submission: Submission,
        report: &WorkerReport,
    ) {
        let Submission::InterfaceChange(wanted) = &submission else {
            return;
        };
        let (request, target) = match self.read_request(id, &wanted.interface_change) {
            Ok(found) => found,
            Err(wrong) => {
                return self.refuse_submission(id, FailureStage::Refused, wrong, report);
            }
        };
        let feedback = self.unfinished_work(id, report).into_iter().collect();
        self.record_submission(id, submission, report, None);
        self.emit(Event::InterfaceChangeRequested {
            id: id.clone(),
            request: Box::new(request),
            feedback,
        });
        self.transition(&id.frame, &ExitTarget::Step(target), EntryReason::Next);
    }

    /// Returns the request that a worker makes, and the step that decides about it; or why it cannot
    /// be made, in words for the worker.
    fn read_request(
        &self,
        id: &AttemptId,
        wanted: &ProposedInterface,
    ) -> Result<(RequestedInterface, StepId), String> {
        let frame = self.run.frames.get(&id.frame);
        let frame = frame.ok_or("the task is over")?;
        let target = match self.run.step(&id.step).map(|step| &step.kind) {
            Some(StepKind::Role(role)) => role.on_interface_change.clone(),
            _ => None,
        };
        let target = target.ok_or(
            "nobody decides about changes of interfaces here: build against them as they are, or \
             answer `blocked` and say why that is impossible",
        )?;
        if frame.counts.interface_requests >= MAX_REQUESTS {
            return Err(format!(
                "{MAX_REQUESTS} changes of interfaces were asked for already: build against them as \
                 they are, or answer `blocked` and say why that is impossible"
            ));
        }
        let locks = self.run.interface_locks();
        let lock = self.requested_lock(frame, &locks, wanted)?;
        let phase = self
            .run
            .plan
            .as_ref()
            .and_then(|plan| plan.phase(&lock.phase));
        let mut interfaces = phase.into_iter().flat_map(|phase| &phase.interfaces);
        let before = interfaces.find(|interface| interface.name == lock.file.name);
        let before = before.ok_or_else(|| format!("there is no interface `{}`", lock.file.name))?;
        if before.definition.trim() == wanted.definition.trim() {
            return Err(format!(
                "this is the interface `{}` as it is: nothing would change",
                before.name
            ));
        }
        let request = RequestedInterface {
            step: id.step.clone(),
            phase: lock.phase.clone(),
            before: before.clone(),
            definition: wanted.definition.clone(),
            reason: wanted.reason.trim().to_owned(),
        };
        Ok((request, target))
    }

    /// Returns the lock of the interface that a worker names: if several phases have one of that name,
    /// that of its own phase.
    fn requested_lock<'a>(
        &self,
        frame: &Frame,
        locks: &'a [InterfaceLock],
        wanted: &ProposedInterface,
    ) -> Result<&'a InterfaceLock, String> {
        let own = self
            .run
            .frame_task(frame)
            .and_then(|task| task.phase.as_ref());
        let name = &wanted.interface;
        let is_named = |lock: &&InterfaceLock| {
            let is_of_phase = wanted
                .phase
                .as_ref()
                .is_none_or(|phase| *phase == lock.phase);
            lock.file.name == *name && is_of_phase
        };
        let named: Vec<&InterfaceLock> = locks.iter().filter(is_named).collect();
        let of_own_phase = || named.iter().find(|lock| Some(&lock.phase) == own);
        match named.as_slice() {
            [] => {
                let known = locks.iter().map(|lock| format!("`{}`", lock.file.name));
                let known = match known.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "none is locked".to_owned(),
                    known => format!("locked are {known}"),
                };
                Err(format!("no locked interface is called `{name}`: {known}"))
            }
            [one] => Ok(*one),
            _ => of_own_phase().copied().ok_or_else(|| {
                format!("several phases have an interface `{name}`: say which `phase` is meant")
            }),
        }
    }

    /// Returns what the worker has done so far, for it to continue from once the request is decided.
    fn unfinished_work(&self, id: &AttemptId, report: &WorkerReport) -> Option<Feedback> {
        let frame = self.run.frames.get(&id.frame)?;
        let made = report.change.as_ref();
        let made = made.filter(|(tree, _)| *tree != frame.base.tree);
        let change = made.map(|(_, change)| change).or(frame.change.as_ref())?;
        Some(Feedback {
            from: id.step.clone(),
            text: "Your work on the task was put aside while the change of the interface was decided; \
                   its diff is attached. Make it again on the tree that is there now."
                .to_owned(),
            body: Some(change.diff.clone()),
        })
    }

    /// Returns the step that a frame returns to because the interface whose change it asks for has
    /// been changed, or is no longer there.
    pub(super) fn outdated_request(&self, path: &FramePath) -> Option<StepId> {
        let request = self.run.frames.get(path)?.interface_request.as_ref()?;
        let phase = self
            .run
            .plan
            .as_ref()
            .and_then(|plan| plan.phase(&request.phase));
        let mut interfaces = phase.into_iter().flat_map(|phase| &phase.interfaces);
        let is_as_before = interfaces.any(|interface| *interface == request.before);
        (!is_as_before).then(|| request.step.clone())
    }

    /// Describes the change of an interface that a frame asks for, to the person who decides.
    pub(super) fn request_points(&self, path: &FramePath) -> Vec<String> {
        let frame = self.run.frames.get(path);
        let Some(request) = frame.and_then(|frame| frame.interface_request.as_ref()) else {
            return Vec::new();
        };
        let (name, file) = (&request.before.name, request.before.path());
        vec![
            format!(
                "`{}` asks for another interface `{name}` of phase `{}` (`{file}`): {}",
                path.name(),
                request.phase,
                request.reason
            ),
            format!("as it is:\n{}", request.before.definition.trim_end()),
            format!("as it would be:\n{}", request.definition.trim_end()),
        ]
    }

    /// Records that the interface which a frame has just committed has changed, and tells those who
    /// build on it.
    pub(super) fn announce_interface_change(&mut self, id: &AttemptId) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let (Some(request), Some(file)) = (&frame.interface_request, frame.locked.first()) else {
            return;
        };
        let (phase, interface, file) = (request.phase.clone(), request.after(), file.clone());
        let text = format!(
            "The interface `{}` of phase `{phase}` was changed, because `{}` asked for it: {}\nIts file \
             `{}` on the run's branch has the new definition, and your change must fit that. If the \
             file in your work tree still has the old one, leave it: your change is replayed on the \
             branch.",
            interface.name,
            id.frame.name(),
            request.reason,
            file.path,
        );
        let told = self.frames_that_build_on(&phase);
        self.emit(Event::InterfaceChanged {
            id: id.clone(),
            phase,
            interface,
            file,
            notice: Feedback {
                from: id.step.clone(),
                text,
                body: None,
            },
            told,
        });
    }

    /// Returns the frames, under way or to be resumed, whose work rests on the interfaces of a phase.
    fn frames_that_build_on(&self, phase: &PhaseId) -> Vec<FramePath> {
        let under_way = self.run.frames.values();
        let frames = under_way.chain(self.run.failed_frames.values());
        let told = frames.filter(|frame| {
            frame.stage != FrameStage::Each && builds_on_phase(&self.run, frame, phase)
        });
        told.map(|frame| frame.path.clone()).collect()
    }
}

/// Returns true if a step writes an interface for a task that has not asked for a change of one.
pub(super) fn writes_nothing(frame: &Frame, step: &Step) -> bool {
    let is_task = matches!(frame.item, FrameItem::Task(_));
    step.kind == StepKind::Lock && is_task && frame.interface_request.is_none()
}
