//! What makes a workflow valid beyond its syntax: every exit leads somewhere, every step can be
//! reached, every loop has an end.

use std::collections::{BTreeMap, BTreeSet};

use super::{EachItem, ExitTarget, Step, StepKind, Workflow};
use crate::ids::{RoleName, StepId};
use crate::role::{Role, RoleKind};
use crate::yaml::{Diagnostic, SourcePosition, nearest};

/// Everything that is wrong with a compiled workflow.
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
            let problem = at(&step.id, message).hint(hint);
            let place = exact.unwrap_or(problem.place);
            problems.push(Diagnostic { place, ..problem });
        }
        let hinted = kinds(step, roles).into_iter();
        problems.extend(hinted.map(|(message, hint)| {
            let problem = at(&step.id, message);
            match hint {
                Some(hint) => problem.hint(hint),
                None => problem,
            }
        }));
        problems.extend(
            place(workflow, step)
                .into_iter()
                .map(|message| at(&step.id, message)),
        );
    }
    if problems.is_empty() {
        for step in unreachable(workflow) {
            problems.push(at(&step, format!("no step leads to `{step}`")).hint(
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
                .hint("give one of its steps `max_rounds`, set `limits`, or put a person in it"),
            );
        }
    }
    problems.sort_by_key(|p| p.place);
    problems
}

/// Where the file says where a step leads, by the step and the key.
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
                let message = format!("`{key}` of `{}` leads to `{to}`, which is no step", step.id);
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
        if let Some(gap) = role.form().gap() {
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
    if role_step.on_reject.is_some() && !judges {
        let message = format!(
            "`{}` has `on_reject`, but its role is no gatekeeper",
            step.id
        );
        wrong.push((message, None));
    }
    wrong
}

fn place(workflow: &Workflow, step: &Step) -> Vec<String> {
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
    if matches!(step.kind, StepKind::Publish { .. }) {
        // Not where a person's step leads when it is left out.
        let is_answer =
            |s: &Step, key: &str| matches!(s.kind, StepKind::Person { .. }) && key == "answers";
        let decided = workflow.steps.values().all(|s| {
            let mut exits = s.exits().into_iter();
            exits.all(|(key, to)| is_answer(s, key) || !to.is(&step.id))
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

fn unreachable(workflow: &Workflow) -> Vec<StepId> {
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

/// A loop without a bound of its own, a default limit or a person in it.
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

/// Where a step can lead any number of times: not where a person says, nor where rejections go
/// that are counted. Steps that fail or are left out are not counted as rejections.
fn unbounded_exits(workflow: &Workflow, step: &Step) -> Vec<StepId> {
    let counted = step.max_rounds.is_some() || workflow.max_rounds.is_some();
    let rejection = |key: &str| match &step.kind {
        StepKind::Gate { .. } => key == "on_fail",
        StepKind::Commit { .. } => key == "on_conflict",
        _ => key == "on_reject" || key == "rebound",
    };
    let mut exits = step.exits();
    exits.retain(|(key, _)| *key != "answers" && !(counted && rejection(key)));
    let targets = exits.into_iter().filter_map(|(_, target)| match target {
        ExitTarget::Step(to) => Some(to),
        ExitTarget::Done | ExitTarget::Fail => None,
    });
    targets.collect()
}

#[cfg(test)]
mod tests;
