//! Applies what a team decides: who carries out which task, and what a leader does about results.

use std::sync::Arc;

use super::update_frame;
use crate::event::Event;
use crate::failure::{FailureAction, FailureCategory};
use crate::frame::SlotWork;
use crate::ids::{AttemptId, TaskId};
use crate::plan::Task;
use crate::role::{Contract, RoleKind};
use crate::run::Run;
use crate::team::{InterventionRecord, RoleAssignment, WorkFailure};

/// Writes the chosen roles into the plan, and keeps who else could help.
pub(super) fn assign_roles(run: &mut Run, assignments: &[RoleAssignment]) {
    for assignment in assignments {
        change_plan_task(run, &assignment.task, |task| {
            task.roles.clone_from(&assignment.roles);
        });
        let alternatives = Arc::make_mut(&mut run.alternatives);
        alternatives.insert(assignment.task.clone(), assignment.alternatives.clone());
    }
}

fn change_plan_task(run: &mut Run, id: &TaskId, change: impl FnOnce(&mut Task)) {
    let position = run.task_positions.get(id).copied();
    if let (Some(plan), Some(position)) = (&mut run.plan, position)
        && let Some(task) = Arc::make_mut(plan).tasks.get_mut(position)
    {
        change(task);
    }
}

/// Records an intervention, and the refined task if there is one.
pub(super) fn record_intervention(run: &mut Run, event: &Event) {
    let Event::Intervened {
        id,
        intervention,
        reason,
        by_rule,
        round,
        refined,
        help,
        feedback,
        turns,
        unscored,
        ..
    } = event
    else {
        return;
    };
    if let Some(refined) = refined {
        change_plan_task(run, &refined.task, |task| {
            task.description.clone_from(&refined.description);
            task.acceptance.clone_from(&refined.acceptance);
        });
    }
    update_frame(run, &id.frame, |f| {
        f.counts.interventions.record(*intervention);
        f.verdicts.retain(|step, _| !unscored.contains(step));
        f.team.history.push(InterventionRecord {
            intervention: *intervention,
            reason: reason.clone(),
            by_rule: *by_rule,
            round: *round,
        });
        if help.is_some() {
            f.team.help.clone_from(help);
        }
        if !turns.is_empty() {
            f.team.turns.clone_from(turns);
        }
        if let Some(refined) = refined {
            let dropped = &mut f.team.dropped_criteria;
            dropped.extend(refined.dropped_criteria().cloned());
            dropped.retain(|criterion| !refined.acceptance.contains(criterion));
        }
        f.feedback.extend(feedback.iter().cloned());
    });
}

/// Keeps the reason why whoever had to score a result gave up, for whoever decides about it.
pub(super) fn note_missing_score(run: &mut Run, id: &AttemptId, reason: &str) {
    let slot = run.frames.get(&id.frame).and_then(|frame| frame.slot(id));
    let role = match slot.map(|slot| &slot.work) {
        Some(SlotWork::Role(name)) => run.roles.get(name),
        _ => None,
    };
    if role.is_some_and(|role| role.contract == Contract::Quality) {
        update_frame(run, &id.frame, |f| {
            f.team.unscored = Some(reason.to_owned());
        });
    }
}

/// Keeps the last failure of an implementer, for whoever decides what happens next.
pub(super) fn note_failed_work(
    run: &mut Run,
    id: &AttemptId,
    action: FailureAction,
    (category, message): (FailureCategory, &str),
) {
    let slot = run.frames.get(&id.frame).and_then(|frame| frame.slot(id));
    let role = match slot.map(|slot| &slot.work) {
        Some(SlotWork::Role(name)) => run.roles.get(name),
        _ => None,
    };
    if action.is_waiting() || role.is_none_or(|role| role.kind != RoleKind::Implementer) {
        return;
    }
    update_frame(run, &id.frame, |f| {
        f.team.failure = Some(WorkFailure {
            step: id.step.clone(),
            category,
            message: message.to_owned(),
        });
    });
}
