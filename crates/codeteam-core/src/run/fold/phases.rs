//! Applies events that change what a phase consists of, and what it has locked.

use std::sync::Arc;

use super::attempts::settle_usage;
use super::tasks::set_plan;
use super::{finish_slot, judge_again, revise_plan, update_any_frame, update_frame};
use crate::budget::Usage;
use crate::event::Event;
use crate::frame::Frame;
use crate::ids::{FramePath, PhaseId};
use crate::locks::{InterfaceRevision, LockedFile};
use crate::loop_detection::SubmittedPatches;
use crate::plan::Interface;
use crate::run::Run;

pub(super) fn apply_to_phase(run: &mut Run, event: &Event) {
    match event {
        Event::PhasePlanned {
            phase,
            tasks,
            interfaces,
            rejudged,
            ..
        } => {
            if let Some(plan) = run.plan.clone() {
                revise_plan(run, &plan.with_phase(phase, tasks, interfaces));
                judge_again(run, rejudged);
            }
        }
        Event::InterfacesLocked {
            id,
            tree,
            change,
            files,
        } => {
            settle_usage(run, id, Usage::default());
            update_frame(run, &id.frame, |f| {
                f.tree = tree.clone();
                f.change = change.as_deref().cloned();
                f.judgements.change_round = f.round;
                f.acceptance.by = None;
                f.locked.clone_from(files);
                finish_slot(f, id);
            });
        }
        Event::InterfaceChangeRequested {
            id,
            request,
            feedback,
        } => update_frame(run, &id.frame, |f| {
            f.interface_request = Some(request.clone());
            f.counts.interface_requests += 1;
            put_work_aside(f);
            f.feedback.extend(feedback.iter().cloned());
        }),
        Event::InterfaceChanged {
            id,
            phase,
            interface,
            file,
            notice,
            told,
        } => {
            replace_interface(run, phase, interface, file);
            update_frame(run, &id.frame, |f| {
                close_request(f);
                forget_patches(f);
            });
            for frame in told {
                update_any_frame(run, frame, |f| {
                    f.notices.push(notice.clone());
                    forget_patches(f);
                });
            }
            judge_again(run, told);
        }
        _ => {}
    }
}

/// Ends a frame's request to change an interface: it was decided, or is out of date.
pub(super) fn close_request(frame: &mut Frame) {
    if frame.interface_request.take().is_some() {
        frame.locked.clear();
        put_work_aside(frame);
    }
}

/// Forgets what a frame has submitted: a change that did not fit the interface as it was may fit the
/// new one, and is no loop.
fn forget_patches(frame: &mut Frame) {
    frame.counts.submitted_patches = SubmittedPatches::default();
}

/// Puts a frame back to its base. What was judged of its change counts no longer.
fn put_work_aside(frame: &mut Frame) {
    frame.tree = frame.base.tree.clone();
    frame.change = None;
    frame.verdicts.clear();
    frame.acceptance.by = None;
    frame.outputs.change = None;
    frame.outputs.text = None;
}

/// Replaces an interface of a phase, and its locked file.
fn replace_interface(run: &mut Run, phase: &PhaseId, interface: &Interface, file: &LockedFile) {
    let Some(plan) = run.plan.clone() else {
        return;
    };
    let known = plan.phase(phase);
    let mut known = known.into_iter().flat_map(|phase| &phase.interfaces);
    if let Some(before) = known.find(|known| known.name == interface.name) {
        let locks = run.interface_locks().into_iter();
        let mut locks = locks.filter(|lock| lock.phase == *phase && lock.file.path == file.path);
        let revision = InterfaceRevision {
            seq: run.seq,
            phase: phase.clone(),
            before: before.clone(),
            file: locks.next().map(|lock| lock.file),
        };
        run.interface_revisions.push(Arc::new(revision));
    }
    revise_plan(run, &plan.with_interface(phase, interface));
    relock_file(run, phase, file);
}

/// Puts the interfaces back that were changed after a moment to which the run is taken back.
pub(super) fn undo_interface_changes(run: &mut Run, moment: u64) {
    let revisions = run.interface_revisions.iter();
    let kept = revisions.take_while(|r| r.seq <= moment).count();
    let undone = run.interface_revisions.split_off(kept);
    for revision in undone.into_iter().rev() {
        if let Some(plan) = run.plan.clone() {
            set_plan(run, &plan.with_interface(&revision.phase, &revision.before));
        }
        if let Some(file) = &revision.file {
            relock_file(run, &revision.phase, file);
        }
    }
}

fn relock_file(run: &mut Run, phase: &PhaseId, file: &LockedFile) {
    let path = FramePath::root().child(phase.as_str());
    update_any_frame(run, &path, |f| {
        let mut locked = f.locked.iter_mut();
        if let Some(known) = locked.find(|known| known.path == file.path) {
            known.clone_from(file);
        }
    });
}
