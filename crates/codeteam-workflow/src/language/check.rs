//! Checks what makes a workflow valid beyond its syntax: every exit leads somewhere, every step can
//! be reached, and every loop has an end.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::ids::{RoleName, StepId};
use codeteam_core::role::{Contract, Role, RoleKind};
use codeteam_core::spelling::nearest;
use codeteam_core::workflow::{EachItem, ExitTarget, RoleStep, Step, StepKind, Workflow};

use crate::yaml::{Diagnostic, SourcePosition};

/// Returns everything that is wrong with a compiled workflow.
pub(super) fn check(
    workflow: &Workflow,
    roles: &BTreeMap<RoleName, Role>,
    lines: &BTreeMap<StepId, SourcePosition>,
    exits_at: &ExitPositions,
) -> Vec<Diagnostic> {
    let at = |step: &StepId, message: String| {
        Diagnostic::at(lines.get(step).copied().unwrap_or_default(), message)
    };
    let mut problems = Vec::new();
    for step in workflow.steps.values() {
        for (key, message, hint) in exits(workflow, step) {
            let exact = exits_at.get(&(step.id.0.clone(), key)).copied();
            let problem = at(&step.id, message).with_hint(hint);
            let place = exact.unwrap_or(problem.place);
            problems.push(Diagnostic { place, ..problem });
        }
        let hinted = kinds(step, roles).into_iter();
        problems.extend(hinted.map(|(message, hint)| {
            let problem = at(&step.id, message);
            match hint {
                Some(hint) => problem.with_hint(hint),
                None => problem,
            }
        }));
        problems.extend(
            check_placement(workflow, step)
                .into_iter()
                .map(|message| at(&step.id, message)),
        );
    }
    if problems.is_empty() {
        for step in unreachable_steps(workflow) {
            problems.push(at(&step, format!("no step leads to `{step}`")).with_hint(
                "name it in a `next`, `on_fail`, `on_reject` or an answer; or remove it, \
                     with `disable` if it is another workflow's",
            ));
        }
        if let Some(cycle) = unbounded_loop(workflow) {
            let names: Vec<String> = cycle.iter().map(|s| format!("`{s}`")).collect();
            problems.push(
                at(
                    &cycle[0],
                    format!("the loop {} may never end", names.join(" → ")),
                )
                .with_hint(
                    "give one of its steps `max_rounds`, set `limits`, or put a person in it",
                ),
            );
        }
    }
    problems.sort_by_key(|p| p.place);
    problems
}

/// The positions in the file where exits are written, by step and key.
pub(super) type ExitPositions = BTreeMap<(String, &'static str), SourcePosition>;

fn exits(workflow: &Workflow, step: &Step) -> Vec<(&'static str, String, String)> {
    let mut wrong = Vec::new();
    for (key, target) in step.exits() {
        let ExitTarget::Step(to) = target else {
            continue;
        };
        match workflow.steps.get(&to) {
            None => {
                let known = workflow.steps.keys().map(StepId::as_str);
                let hint = match nearest(to.as_str(), known) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("add a step `{to}`, or name another one, `done` or `fail`"),
                };
                let message = format!(
                    "`{key}` of `{}` leads to `{to}`, which is not a step",
                    step.id
                );
                wrong.push((key, message, hint));
            }
            Some(other) if other.scope != step.scope => wrong.push((
                key,
                format!(
                    "`{key}` of `{}` leads to `{to}`, which is in another graph",
                    step.id
                ),
                "a sub-graph ends with `done` or `fail`".to_owned(),
            )),
            Some(_) => {}
        }
    }
    wrong
}

fn kinds(step: &Step, roles: &BTreeMap<RoleName, Role>) -> Vec<(String, Option<String>)> {
    let StepKind::Role(role_step) = &step.kind else {
        return Vec::new();
    };
    let named: BTreeMap<&RoleName, &Role> = role_step
        .slots
        .iter()
        .filter_map(|name| roles.get_key_value(name))
        .collect();
    let kinds: BTreeSet<RoleKind> = named.values().map(|role| role.kind).collect();
    let mut wrong = Vec::new();
    for (name, role) in named {
        if let Some(gap) = role.answer_form().missing_form() {
            let message = format!(
                "`{}` cannot use the role `{name}`: {}",
                step.id, gap.message
            );
            wrong.push((message, Some(gap.hint)));
        }
    }
    if kinds.len() > 1 {
        let message = format!("the roles of `{}` are of different kinds", step.id);
        wrong.push((message, None));
    }
    let judges = kinds.contains(&RoleKind::Gatekeeper);
    if role_step.slots.len() > 1 && !judges {
        let message = format!(
            "`{}` has several roles side by side, but only gatekeepers can share a step",
            step.id
        );
        wrong.push((message, None));
    }
    if role_step.small_from.is_some() && !judges {
        let message = format!(
            "`{}` has `small_change`, but only gatekeepers judge changes",
            step.id
        );
        wrong.push((message, None));
    }
    let leads = named_contracts(role_step, roles).any(|own| own == Contract::Intervention);
    if leads && role_step.slots.len() > 1 {
        let message = format!("`{}` has several leaders, but only one can decide", step.id);
        wrong.push((message, None));
    }
    if leads && role_step.on_reject.is_none() {
        let message = format!("the leader at `{}` has no `on_reject`", step.id);
        let hint = "name the step at which the work is tried again";
        wrong.push((message, Some(hint.to_owned())));
    }
    if role_step.on_reject.is_some() && !judges {
        let message = format!(
            "`{}` has `on_reject`, but its role is not a gatekeeper",
            step.id
        );
        wrong.push((message, None));
    }
    if role_step.on_interface_change.is_some() && !kinds.contains(&RoleKind::Implementer) {
        let message = format!(
            "`{}` has `on_interface_change`, but its role is not an implementer",
            step.id
        );
        wrong.push((message, None));
    }
    wrong
}

/// Returns the contracts of a step's roles.
fn named_contracts<'a>(
    step: &'a RoleStep,
    roles: &'a BTreeMap<RoleName, Role>,
) -> impl Iterator<Item = Contract> {
    let named = step.slots.iter().filter_map(|name| roles.get(name));
    named.map(|role| role.contract)
}

/// Interfaces belong to a phase, somebody has to commit them, and the tasks that are built on them have
/// to be checked.
fn check_lock(workflow: &Workflow, step: &Step) -> Vec<String> {
    let over = |scope: &StepId| match workflow.steps.get(scope).map(|step| &step.kind) {
        Some(StepKind::Each { over, .. }) => Some(*over),
        _ => None,
    };
    let mut wrong = Vec::new();
    let asks = |other: &Step| match &other.kind {
        StepKind::Role(role) => other.scope == step.scope && role.on_interface_change.is_some(),
        _ => false,
    };
    let is_for_task = step.scope.as_ref().and_then(over) == Some(EachItem::Task)
        && workflow.steps.values().any(asks);
    if !is_for_task && step.scope.as_ref().and_then(over) != Some(EachItem::Phase) {
        wrong.push(format!(
            "`{}` locks interfaces, which belong to a phase: put it among the steps of an `each: phase`; \
             among those of a task, it writes the interface that a step with `on_interface_change` asks for",
            step.id
        ));
        return wrong;
    }
    let mut steps = workflow.steps.values();
    let commits = |other: &Step| other.scope == step.scope;
    if !steps.any(|other| matches!(other.kind, StepKind::Commit { .. }) && commits(other)) {
        wrong.push(format!(
            "`{}` writes interfaces, but no step of its graph commits them: put a `commit: branch` after it",
            step.id
        ));
    }
    let is_gate_of_tasks = |other: &Step| {
        let scope = other.scope.as_ref();
        matches!(other.kind, StepKind::Gate { .. }) && scope.and_then(over) == Some(EachItem::Task)
    };
    if !workflow.steps.values().any(is_gate_of_tasks) {
        wrong.push(format!(
            "`{}` locks interfaces, but nothing checks whether the tasks leave them as they are: give \
             the tasks a `gate`",
            step.id
        ));
    }
    wrong
}

fn check_placement(workflow: &Workflow, step: &Step) -> Vec<String> {
    let mut wrong = Vec::new();
    if let StepKind::Each { over, start, .. } = &step.kind {
        let depth = std::iter::successors(step.scope.as_ref(), |s| {
            workflow.steps.get(*s).and_then(|s| s.scope.as_ref())
        });
        let outer: Vec<Option<EachItem>> = depth
            .map(|s| match workflow.steps.get(s).map(|s| &s.kind) {
                Some(StepKind::Each { over, .. }) => Some(*over),
                _ => None,
            })
            .collect();
        if outer.contains(&Some(EachItem::Task)) || (*over == EachItem::Phase && !outer.is_empty())
        {
            wrong.push(format!(
                "`{}` cannot stand inside another `each` of its kind",
                step.id
            ));
        }
        if workflow
            .steps
            .get(start)
            .is_none_or(|s| s.scope.as_ref() != Some(&step.id))
        {
            wrong.push(format!(
                "`{}` starts with `{start}`, which is not one of its steps",
                step.id
            ));
        }
    }
    if step.kind == StepKind::Lock {
        wrong.extend(check_lock(workflow, step));
    }
    if matches!(step.kind, StepKind::Publish { .. }) {
        // The exit of a person's step that is left out does not count as an answer.
        let is_answer =
            |s: &Step, key: &str| matches!(s.kind, StepKind::Person { .. }) && key == "answers";
        let decided = workflow.steps.values().all(|s| {
            let mut exits = s.exits().into_iter();
            exits.all(|(key, to)| is_answer(s, key) || !to.is_step(&step.id))
        });
        let first = workflow
            .steps
            .values()
            .any(|s| matches!(&s.kind, StepKind::Each { start, .. } if *start == step.id));
        if !decided || first || workflow.start == step.id {
            wrong.push(format!(
                "`{}` publishes, so only an answer of a `person` step may lead to it",
                step.id
            ));
        }
    }
    wrong
}

fn unreachable_steps(workflow: &Workflow) -> Vec<StepId> {
    let mut seen = BTreeSet::new();
    let mut stack = vec![workflow.start.clone()];
    while let Some(id) = stack.pop() {
        let Some(step) = workflow.steps.get(&id) else {
            continue;
        };
        if !seen.insert(id) {
            continue;
        }
        if let StepKind::Each { start, .. } = &step.kind {
            stack.push(start.clone());
        }
        for (_, target) in step.exits() {
            if let ExitTarget::Step(to) = target {
                stack.push(to);
            }
        }
    }
    workflow
        .steps
        .keys()
        .filter(|id| !seen.contains(*id))
        .cloned()
        .collect()
}

/// Finds a loop that has no bound of its own, no default limit and no person in it.
fn unbounded_loop(workflow: &Workflow) -> Option<Vec<StepId>> {
    if workflow.max_steps.is_some() {
        return None;
    }
    let mut done: BTreeSet<&StepId> = BTreeSet::new();
    for root in workflow.steps.keys() {
        let mut path: Vec<(&StepId, usize)> = vec![(root, 0)];
        while let Some((id, edge)) = path.pop() {
            let Some(step) = workflow.steps.get(id) else {
                continue;
            };
            if edge == 0 && done.contains(id) {
                continue;
            }
            let exits = unbounded_exits(workflow, step);
            let Some(to) = exits.get(edge) else {
                done.insert(id);
                continue;
            };
            path.push((id, edge + 1));
            if let Some(start) = path.iter().position(|(s, _)| *s == to) {
                let mut cycle: Vec<StepId> =
                    path[start..].iter().map(|(s, _)| (*s).clone()).collect();
                cycle.push(to.clone());
                return Some(cycle);
            }
            if let Some((key, _)) = workflow.steps.get_key_value(to) {
                path.push((key, 0));
            }
        }
    }
    None
}

/// Returns the targets that a step can lead to any number of times. A person's answers do not
/// count, nor do rejections that have a bound, and requests to change an interface. Failures and skipped steps do count, because no
/// bound on rejections covers them.
fn unbounded_exits(workflow: &Workflow, step: &Step) -> Vec<StepId> {
    let counted = step.max_rounds.is_some() || workflow.max_rounds.is_some();
    let rejection = |key: &str| match &step.kind {
        StepKind::Gate { .. } => key == "on_fail",
        StepKind::Commit { .. } => key == "on_conflict",
        _ => key == "on_reject" || key == "rebound",
    };
    let mut exits = step.exits();
    // A task may ask for changes of interfaces a few times only.
    let bounded = ["answers", "on_interface_change"];
    exits.retain(|(key, _)| !(bounded.contains(key) || (counted && rejection(key))));
    let targets = exits.into_iter().filter_map(|(_, target)| match target {
        ExitTarget::Step(to) => Some(to),
        ExitTarget::Done | ExitTarget::Fail => None,
    });
    targets.collect()
}

#[cfg(test)]
mod tests;
