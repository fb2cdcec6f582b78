//! Inserts steps into the graph of another workflow, and removes steps from it. Every step that
//! stays is reached as before. This works on YAML trees, so that every part keeps its position in
//! the file it was written in.

use codeteam_core::spelling::{nearest, suggest_word};

use super::file::EXIT_KEYS;
use crate::yaml::{Diagnostic, YamlKey, YamlNode, YamlValue, merge};

/// The largest number of steps in a workflow.
pub(super) const MAX_STEPS: usize = 1_000;

/// Puts steps into a graph. A step with the name of an existing one is merged over it, at any
/// depth; otherwise it goes after or before the step that `position` names, or else to the end of
/// the graph that leads to it.
pub(super) fn graft(
    workflow: &mut YamlNode,
    graph: &mut YamlNode,
    steps: YamlNode,
) -> Result<(), Vec<Diagnostic>> {
    let place = steps.place;
    let kind = steps.kind();
    let YamlValue::Map(steps) = steps.value else {
        let message = format!("expected steps by name, found {kind}");
        return Err(vec![Diagnostic::at(place, message)]);
    };
    let (known, new): (Vec<_>, Vec<_>) = {
        let names = names(graph);
        if names.len() + steps.len() > MAX_STEPS {
            let message = format!("a workflow has at most {MAX_STEPS} steps");
            return Err(vec![
                Diagnostic::at(place, message).with_hint("divide it into several"),
            ]);
        }
        steps
            .into_iter()
            .partition(|(key, _)| names.contains(&key.name))
    };
    for (key, mut step) in known {
        if let Some(position) = step.take("position") {
            let message = format!("the step `{}` has its place already", key.name);
            let hint = "leave `position` out to change it";
            return Err(vec![
                Diagnostic::at(position.place, message).with_hint(hint),
            ]);
        }
        if let Some(known) = step_mut(graph, &key.name) {
            let old = std::mem::replace(known, YamlNode::empty(step.place));
            *known = merge_step(old, step);
        }
    }
    for (key, mut step) in new {
        if let Some(position) = step.take("position") {
            insert(workflow, graph, key, step, &position)?;
        } else if let Some(home) = owning_graph(graph, &key.name).and_then(YamlNode::as_map_mut) {
            home.push((key, step));
        }
    }
    enter_by_owner(graph);
    Ok(())
}

/// The section in which a workflow that extends another lists steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepSection {
    /// The section `steps`, for new steps and changes.
    Steps,
    /// The section `overrides`, which normally has only changes.
    Overrides,
}

/// Returns the new steps without a `position`. Nothing leads to them unless another step does;
/// usually their names are misspelt.
pub(super) fn unplaced_steps(
    graph: &YamlNode,
    steps: &YamlNode,
    said: StepSection,
) -> Vec<(YamlKey, StepSection)> {
    let known = names(graph);
    if known.is_empty() {
        return Vec::new();
    }
    let entries = steps.as_map().unwrap_or_default().iter();
    let new =
        entries.filter(|(key, step)| !known.contains(&key.name) && step.get("position").is_none());
    new.map(|(key, _)| (key.clone(), said)).collect()
}

/// Returns a diagnostic if nothing leads to a new step in the graph that it has become part of.
pub(super) fn unreachable_step(
    workflow: &YamlNode,
    graph: &YamlNode,
    key: &YamlKey,
    said: StepSection,
) -> Option<Diagnostic> {
    let starts = ["start", "initial_step"].iter();
    let mut starts = starts.filter_map(|key| workflow.get(key)?.as_text());
    if starts.any(|start| start == key.name) || is_reached(graph, &key.name) {
        return None;
    }
    let known = names(graph);
    let others = known.iter().filter(|name| **name != key.name);
    let near = nearest(&key.name, others.map(String::as_str));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    let (message, hint) = match said {
        StepSection::Overrides => (
            format!("there is no step `{}` to change", key.name),
            "`codeteam workflow graph` draws all of them",
        ),
        // Steps that never say where they lead run in their order.
        StepSection::Steps if !says_next(graph) => return None,
        StepSection::Steps => (
            format!("nothing leads to the step `{}`", key.name),
            "`position: after X` puts it behind another one",
        ),
    };
    Some(Diagnostic::at(key.place, message).with_hint(near.unwrap_or_else(|| hint.to_owned())))
}

/// Returns true if any step leads to a name.
fn is_reached(graph: &YamlNode, name: &str) -> bool {
    let is = |node: Option<&YamlNode>| node.and_then(YamlNode::as_text) == Some(name);
    let mut entries = graph.as_map().unwrap_or_default().iter();
    entries.any(|(_, step)| {
        leads(step, name)
            || is(step.get("on_conflict"))
            || is(step.get("on_interface_change"))
            || is(step.get("start"))
            || step
                .get("steps")
                .is_some_and(|inner| is_reached(inner, name))
    })
}

/// Returns true if any step says where it leads.
fn says_next(graph: &YamlNode) -> bool {
    let mut entries = graph.as_map().unwrap_or_default().iter();
    entries.any(|(_, step)| {
        let says = step.get("next").is_some() || step.get("answers").is_some();
        says || step.get("steps").is_some_and(says_next)
    })
}

/// Finds the graph that a new step belongs to: the innermost one with a step that leads to it, or
/// else this one.
fn owning_graph<'a>(graph: &'a mut YamlNode, name: &str) -> Option<&'a mut YamlNode> {
    let entries = graph.as_map()?;
    let inside = entries.iter().position(|(_, step)| {
        let inner = step.get("steps").and_then(YamlNode::as_map);
        inner.is_some_and(|_| leads_inside(step, name))
    });
    match inside {
        None => Some(graph),
        Some(index) => {
            let (_, step) = graph.as_map_mut()?.get_mut(index)?;
            owning_graph(step.get_mut("steps")?, name)
        }
    }
}

/// Returns true if a step of a sub-graph leads to a name.
fn leads_inside(owner: &YamlNode, name: &str) -> bool {
    let inner = owner
        .get("steps")
        .and_then(YamlNode::as_map)
        .unwrap_or_default();
    inner
        .iter()
        .any(|(_, step)| leads(step, name) || leads_inside(step, name))
}

/// Returns true if a step leads to a name.
fn leads(step: &YamlNode, name: &str) -> bool {
    let is = |node: Option<&YamlNode>| node.and_then(YamlNode::as_text) == Some(name);
    let keys = ["next", "on_fail", "on_reject"];
    let rebound = step.get("rebound").and_then(|node| node.get("to"));
    let answers = step.get("answers").and_then(YamlNode::as_map);
    keys.iter().any(|key| is(step.get(key)))
        || is(rebound)
        || answers
            .unwrap_or_default()
            .iter()
            .any(|(_, answer)| is(Some(answer)) || is(answer.get("next")))
}

/// Redirects edges that lead from outside to the first step of a sub-graph to the step that owns
/// the sub-graph.
fn enter_by_owner(graph: &mut YamlNode) {
    let mut doors: Vec<(String, String)> = Vec::new();
    for (key, step) in graph.as_map_mut().into_iter().flatten() {
        let said = step
            .get("start")
            .and_then(YamlNode::as_text)
            .map(str::to_owned);
        let Some(inner) = step.get_mut("steps") else {
            continue;
        };
        enter_by_owner(inner);
        let first = inner.as_map().and_then(|entries| entries.first());
        let first = said.or_else(|| first.map(|(key, _)| key.name.clone()));
        doors.extend(first.map(|first| (first, key.name.clone())));
    }
    for (first, owner) in doors {
        for (_, step) in graph.as_map_mut().into_iter().flatten() {
            relink(step, &first, &owner);
        }
    }
}

/// Merges a step over the one it changes. If it defines its own work, that replaces the work below.
fn merge_step(mut below: YamlNode, mut above: YamlNode) -> YamlNode {
    const WORK: &[&str] = &[
        "role",
        "default_role",
        "roles",
        "small_change",
        "instances",
        "parallel",
        "join",
    ];
    const GATES: &[&str] = &["command", "type", "gate_type"];
    const REST: &[&str] = &["person", "answers", "lock", "commit", "publish", "each"];
    // `type: orchestrator_gate` alone only says who runs the check; the step below says what is
    // run.
    let does = |step: &YamlNode| {
        let keys = ["command", "gate", "lock", "commit", "publish"];
        keys.iter().any(|key| step.get(key).is_some())
    };
    for key in ["type", "gate_type"] {
        let word = above.get(key).and_then(YamlNode::as_text);
        let is_ours = matches!(word, Some("orchestrator_gate" | "orchestrator"));
        if is_ours && does(&below) && !does(&above) {
            above.take(key);
        }
    }
    let says = |keys: &[&str]| keys.iter().any(|key| above.get(key).is_some());
    let replaced: Vec<&str> = if says(&["role", "roles"]) {
        // Somebody who names their own reviewers wants them for every change, unless they say
        // otherwise.
        [
            &["role", "default_role", "roles", "small_change"],
            GATES,
            REST,
        ]
        .concat()
    } else if says(&[
        "command",
        "type",
        "gate_type",
        "person",
        "lock",
        "commit",
        "publish",
        "each",
    ]) {
        [WORK, GATES, REST, &["gate"]].concat()
    } else {
        Vec::new()
    };
    // The checks of a gate are replaced as a whole, not merged into one list.
    let replaced = replaced
        .into_iter()
        .chain(says(&["gate"]).then_some("gate"));
    for key in replaced {
        below.take(key);
    }
    merge(below, above)
}

/// Inserts a step with `position: after X` or `before X`.
fn insert(
    workflow: &mut YamlNode,
    graph: &mut YamlNode,
    key: YamlKey,
    mut step: YamlNode,
    position: &YamlNode,
) -> Result<(), Vec<Diagnostic>> {
    let words: Vec<&str> = position
        .as_text()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let [side @ ("after" | "before"), anchor] = words.as_slice() else {
        let message = format!(
            "expected `after` or `before` and a step, found {}",
            position.kind()
        );
        return Err(vec![Diagnostic::at(position.place, message)]);
    };
    let (side, anchor) = (*side, (*anchor).to_owned());
    let known = names(graph);
    let Some(entries) = graph_of(graph, &anchor) else {
        let message = format!("there is no step `{anchor}` to be placed {side}");
        let hint = suggest_word(&anchor, known.iter().map(String::as_str));
        return Err(vec![
            Diagnostic::at(position.place, message).with_optional_hint(hint),
        ]);
    };
    say_order(entries);
    let Some(index) = entries.iter().position(|(k, _)| k.name == anchor) else {
        return Ok(());
    };
    let name = key.name.clone();
    if side == "after" {
        let before = next_target(&entries[index].1);
        if let (None, Some(next)) = (step.get("next"), before) {
            step.set("next", next);
        }
        let terminal = entries[index].1.take("terminal");
        if let Some(terminal) = terminal.filter(|_| step.get("next").is_none()) {
            step.set("terminal", terminal);
        }
        set_next(&mut entries[index].1, &name);
        entries.insert(index + 1, (key, step));
        return Ok(());
    }
    if step.get("next").is_none() {
        step.set("next", YamlNode::text(anchor.clone()));
    }
    let mut led = false;
    for (_, other) in entries.iter_mut() {
        let leads = next_target(other).is_some_and(|next| next.as_text() == Some(anchor.as_str()));
        if leads {
            set_next(other, &name);
        }
        led |= leads;
    }
    if !led {
        // Only rejections and failures lead to the anchor, or it is the first step.
        for (_, other) in entries.iter_mut() {
            relink(other, &anchor, &name);
        }
    }
    entries.insert(index, (key, step));
    restart(workflow, graph, &anchor, &name);
    Ok(())
}

/// Makes the implicit order of steps explicit by setting their `next`.
fn say_order(entries: &mut [(YamlKey, YamlNode)]) {
    let says = |step: &YamlNode| {
        ["next", "answers"]
            .iter()
            .any(|key| step.get(key).is_some())
    };
    if entries.iter().any(|(_, step)| says(step)) {
        return;
    }
    let names: Vec<String> = entries.iter().map(|(key, _)| key.name.clone()).collect();
    for (index, (_, step)) in entries.iter_mut().enumerate() {
        let next = names.get(index + 1).map_or("done", String::as_str);
        step.set("next", YamlNode::text(next));
    }
}

/// Returns where a step leads on success: its `next`, or the target of its first answer.
fn next_target(step: &YamlNode) -> Option<YamlNode> {
    let answers = step.get("answers").and_then(YamlNode::as_map);
    match answers.and_then(|answers| answers.first()) {
        Some((_, answer)) => answer.get("next").or(Some(answer)).cloned(),
        None => step.get("next").cloned(),
    }
}

/// Changes where a step leads on success.
fn set_next(step: &mut YamlNode, to: &str) {
    let answers = step.get_mut("answers").and_then(YamlNode::as_map_mut);
    match answers.and_then(|answers| answers.first_mut()) {
        Some((_, answer)) if answer.as_map().is_some() => answer.set("next", YamlNode::text(to)),
        Some((_, answer)) => *answer = YamlNode::text(to),
        None => step.set("next", YamlNode::text(to)),
    }
}

/// Makes the start of a graph explicit if `first` is the start only because it comes first.
fn say_start(workflow: &mut YamlNode, graph: &mut YamlNode, first: &str) {
    let comes_first = |graph: &YamlNode| {
        let entries = graph.as_map().unwrap_or_default();
        entries.first().is_some_and(|(key, _)| key.name == first)
    };
    let unsaid = |owner: &YamlNode| {
        let keys = ["start", "initial_step"];
        keys.iter().all(|key| owner.get(key).is_none())
    };
    if comes_first(graph) && unsaid(workflow) {
        workflow.set("start", YamlNode::text(first));
    }
    each_step(graph, &mut |owner| {
        if owner.get("steps").is_some_and(comes_first) && unsaid(owner) {
            owner.set("start", YamlNode::text(first));
        }
    });
}

/// Changes the start of every graph that starts with `from` to `to`.
fn restart(workflow: &mut YamlNode, graph: &mut YamlNode, from: &str, to: &str) {
    for key in ["start", "initial_step"] {
        let is = |node: &YamlNode| node.get(key).and_then(YamlNode::as_text) == Some(from);
        if is(workflow) {
            workflow.set(key, YamlNode::text(to));
        }
        each_step(graph, &mut |owner| {
            if is(owner) {
                owner.set(key, YamlNode::text(to));
            }
        });
    }
}

/// Removes a step; everything that led to it now leads to its successor.
pub(super) fn remove_step(
    workflow: &mut YamlNode,
    graph: &mut YamlNode,
    name: &YamlNode,
) -> Result<(), Vec<Diagnostic>> {
    let known = names(graph);
    let Some(step) = name.as_text() else {
        let message = format!("expected the name of a step, found {}", name.kind());
        return Err(vec![Diagnostic::at(name.place, message)]);
    };
    say_start(workflow, graph, step);
    let Some(entries) = graph_of(graph, step) else {
        let message = format!("there is no step `{step}` to leave out");
        let hint = suggest_word(step, known.iter().map(String::as_str));
        return Err(vec![
            Diagnostic::at(name.place, message).with_optional_hint(hint),
        ]);
    };
    let Some(index) = entries.iter().position(|(key, _)| key.name == step) else {
        return Ok(());
    };
    let removed = &entries[index].1;
    if removed.get("required").and_then(YamlNode::as_bool) == Some(true) {
        let message = format!("the step `{step}` is required and cannot be left out");
        return Err(vec![Diagnostic::at(name.place, message)]);
    }
    let follows = next_target(removed).and_then(|next| next.as_text().map(str::to_owned));
    let follows = follows.or_else(|| {
        let plain = entries.iter().all(|(_, step)| step.get("next").is_none());
        let after = entries.get(index + 1).filter(|_| plain);
        after.map(|(key, _)| key.name.clone())
    });
    let follows = follows.unwrap_or_else(|| "done".to_owned());
    entries.remove(index);
    for (_, other) in entries.iter_mut() {
        relink(other, step, &follows);
    }
    restart(workflow, graph, step, &follows);
    Ok(())
}

/// Redirects every exit of a step from one target to another.
fn relink(step: &mut YamlNode, from: &str, to: &str) {
    for key in EXIT_KEYS {
        if step.get(key).and_then(YamlNode::as_text) == Some(from) {
            step.set(key, YamlNode::text(to));
        }
    }
    let rebound = step.get_mut("rebound").and_then(|node| node.get_mut("to"));
    if let Some(node) = rebound.filter(|node| node.as_text() == Some(from)) {
        *node = YamlNode::text(to);
    }
    let answers = step.get_mut("answers").and_then(YamlNode::as_map_mut);
    for (_, answer) in answers.into_iter().flatten() {
        if answer.as_text() == Some(from) {
            *answer = YamlNode::text(to);
        } else if answer.get("next").and_then(YamlNode::as_text) == Some(from) {
            answer.set("next", YamlNode::text(to));
        }
    }
}

/// Returns the entries of the graph that contains a step.
fn graph_of<'a>(graph: &'a mut YamlNode, name: &str) -> Option<&'a mut Vec<(YamlKey, YamlNode)>> {
    let entries = graph.as_map()?;
    if entries.iter().any(|(key, _)| key.name == name) {
        return graph.as_map_mut();
    }
    let inside = entries.iter().position(|(_, step)| {
        let inner = step.get("steps");
        inner.is_some_and(|inner| names(inner).iter().any(|known| known == name))
    })?;
    let (_, step) = graph.as_map_mut()?.get_mut(inside)?;
    graph_of(step.get_mut("steps")?, name)
}

fn step_mut<'a>(graph: &'a mut YamlNode, name: &str) -> Option<&'a mut YamlNode> {
    let entries = graph_of(graph, name)?;
    let found = entries.iter_mut().find(|(key, _)| key.name == name);
    found.map(|(_, step)| step)
}

/// Calls `f` for every step of a graph, including those of sub-graphs.
pub(super) fn each_step(graph: &mut YamlNode, f: &mut dyn FnMut(&mut YamlNode)) {
    for (_, step) in graph.as_map_mut().into_iter().flatten() {
        f(step);
        if let Some(inner) = step.get_mut("steps") {
            each_step(inner, f);
        }
    }
}

/// Collects the names of all steps, including those of sub-graphs.
fn names(graph: &YamlNode) -> Vec<String> {
    let entries = graph.as_map().unwrap_or_default();
    let mut known = Vec::new();
    for (key, step) in entries {
        known.push(key.name.clone());
        known.extend(step.get("steps").map(names).unwrap_or_default());
    }
    known
}

#[cfg(test)]
mod tests;
