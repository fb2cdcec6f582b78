//! Lists the verdicts on a frame's current change.

use crate::frame::Frame;
use crate::ids::{RoleName, StepId};
use crate::run::Run;
use crate::workflow::{ExitTarget, StepKind};

/// Returns the roles that have judged a frame's current change, in the order of the workflow, each
/// with whether it approved.
pub fn current_verdicts(run: &Run, frame: &Frame) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    for step in steps_in_order(run) {
        let judged = frame.judged_step(&step);
        let current = judged.filter(|j| !j.verdict.by_checks && j.is_about_change());
        let Some(verdict) = current.map(|judged| judged.verdict) else {
            continue;
        };
        let Some(StepKind::Role(role)) = run.step(&step).map(|s| &s.kind) else {
            continue;
        };
        let asked = frame.judgements.ballots.get(&step).into_iter().flatten();
        let mut asked: Vec<&RoleName> = asked.map(|ballot| &ballot.role).collect();
        if asked.is_empty() {
            asked.extend(role.roles_for(None));
        }
        for name in asked {
            if !found.iter().any(|(known, _)| *known == name.0) {
                found.push((name.0.clone(), verdict.approved));
            }
        }
    }
    found
}

/// Returns the steps of a workflow in the order of their successful course, then all others.
fn steps_in_order(run: &Run) -> Vec<StepId> {
    let mut order = Vec::new();
    let mut at = Some(run.workflow.start.clone());
    while let Some(step) = at {
        if order.contains(&step) {
            break;
        }
        at = match run.step(&step).map(|s| &s.next) {
            Some(ExitTarget::Step(next)) => Some(next.clone()),
            _ => None,
        };
        order.push(step);
    }
    let others = run.workflow.steps.keys().filter(|s| !order.contains(s));
    let others: Vec<StepId> = others.cloned().collect();
    order.extend(others);
    order
}
