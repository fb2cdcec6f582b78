//! Steps into a graph that another workflow has, and steps out of it. Every step that stays is
//! reached as before. Works on trees, so that every part keeps the place it was written at.

use crate::yaml::{Diagnostic, YamlKey, YamlNode, YamlValue, meant, merge, nearest};

/// How many steps a workflow may have.
pub(super) const MAX_STEPS: usize = 1_000;

/// Puts steps into a graph: over a step of the same name wherever it stands, after or before the
/// step that `position` names, or at the end of the graph that leads to it.
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
                Diagnostic::at(place, message).hint("divide it into several"),
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
            return Err(vec![Diagnostic::at(position.place, message).hint(hint)]);
        }
        if let Some(known) = step_mut(graph, &key.name) {
            let old = std::mem::replace(known, YamlNode::empty(step.place));
            *known = over_step(old, step);
        }
    }
    for (key, mut step) in new {
        if let Some(position) = step.take("position") {
            insert(workflow, graph, key, step, &position)?;
        } else if let Some(home) = home_of(graph, &key.name).and_then(YamlNode::as_map_mut) {
            home.push((key, step));
        }
    }
    enter_by_owner(graph);
    Ok(())
}

/// How steps are said in a workflow that extends another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepSection {
    /// Under `steps`: new ones, and changes.
    Steps,
    /// Under `overrides`: changes, as a rule.
    Overrides,
}

/// The new steps among those that are said which nothing will lead to unless another step does: as
/// a rule their names are misspelt.
pub(super) fn unplaced(
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

/// What is wrong with a new step that nothing leads to, in the graph that it has become part of.
pub(super) fn stray(
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
            "`codeteam workflow graph` draws those there are",
        ),
        // Steps that say nowhere where they lead are gone through in their order.
        StepSection::Steps if !says_next(graph) => return None,
        StepSection::Steps => (
            format!("nothing leads to the step `{}`", key.name),
            "`position: after X` puts it behind another one",
        ),
    };
    Some(Diagnostic::at(key.place, message).hint(near.unwrap_or_else(|| hint.to_owned())))
}

/// Whether any step leads to a name.
fn is_reached(graph: &YamlNode, name: &str) -> bool {
    let is = |node: Option<&YamlNode>| node.and_then(YamlNode::as_text) == Some(name);
    let mut entries = graph.as_map().unwrap_or_default().iter();
    entries.any(|(_, step)| {
        leads(step, name)
            || is(step.get("on_conflict"))
            || is(step.get("start"))
            || step
                .get("steps")
                .is_some_and(|inner| is_reached(inner, name))
    })
}

/// Whether any step says where it leads.
fn says_next(graph: &YamlNode) -> bool {
    let mut entries = graph.as_map().unwrap_or_default().iter();
    entries.any(|(_, step)| {
        let says = step.get("next").is_some() || step.get("answers").is_some();
        says || step.get("steps").is_some_and(says_next)
    })
}

/// The graph that a new step belongs to: the innermost with a step that leads to it, or this one.
fn home_of<'a>(graph: &'a mut YamlNode, name: &str) -> Option<&'a mut YamlNode> {
    let entries = graph.as_map()?;
    let inside = entries.iter().position(|(_, step)| {
        let inner = step.get("steps").and_then(YamlNode::as_map);
        inner.is_some_and(|_| leads_inside(step, name))
    });
    match inside {
        None => Some(graph),
        Some(index) => {
            let (_, step) = graph.as_map_mut()?.get_mut(index)?;
            home_of(step.get_mut("steps")?, name)
        }
    }
}

/// Whether a step of a sub-graph leads to a name.
fn leads_inside(owner: &YamlNode, name: &str) -> bool {
    let inner = owner
        .get("steps")
        .and_then(YamlNode::as_map)
        .unwrap_or_default();
    inner
        .iter()
        .any(|(_, step)| leads(step, name) || leads_inside(step, name))
}

/// Whether a step leads to a name.
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

/// What leads from outside to the first step of a sub-graph leads to the step that has it.
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

/// A step over the one it changes. What it does itself takes the place of what that did.
fn over_step(mut below: YamlNode, mut above: YamlNode) -> YamlNode {
    const WORK: &[&str] = &[
        "role",
        "roles",
        "small_change",
        "instances",
        "parallel",
        "join",
    ];
    const GATES: &[&str] = &["command", "type", "gate_type"];
    const REST: &[&str] = &["person", "answers", "commit", "publish", "each"];
    // `type: orchestrator_gate` alone says who does it, and what it does is said below.
    let does = |step: &YamlNode| {
        let keys = ["command", "gate", "commit", "publish"];
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
        // Who names reviewers of their own wants them for every change, unless they say otherwise.
        [&["role", "roles", "small_change"], GATES, REST].concat()
    } else if says(&[
        "command",
        "type",
        "gate_type",
        "person",
        "commit",
        "publish",
        "each",
    ]) {
        [WORK, GATES, REST, &["gate"]].concat()
    } else {
        Vec::new()
    };
    // A gate's checks are one thing, not a list that grows.
    let replaced = replaced
        .into_iter()
        .chain(says(&["gate"]).then_some("gate"));
    for key in replaced {
        below.take(key);
    }
    merge(below, above)
}

/// `after X` or `before X`.
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
        let message = format!("there is no step `{anchor}` to stand {side}");
        let hint = meant(&anchor, known.iter().map(String::as_str));
        return Err(vec![Diagnostic::at(position.place, message).maybe(hint)]);
    };
    say_order(entries);
    let Some(index) = entries.iter().position(|(k, _)| k.name == anchor) else {
        return Ok(());
    };
    let name = key.name.clone();
    if side == "after" {
        let before = onward(&entries[index].1);
        if let (None, Some(next)) = (step.get("next"), before) {
            step.set("next", next);
        }
        let terminal = entries[index].1.take("terminal");
        if let Some(terminal) = terminal.filter(|_| step.get("next").is_none()) {
            step.set("terminal", terminal);
        }
        lead_on(&mut entries[index].1, &name);
        entries.insert(index + 1, (key, step));
        return Ok(());
    }
    if step.get("next").is_none() {
        step.set("next", YamlNode::text(anchor.clone()));
    }
    let mut led = false;
    for (_, other) in entries.iter_mut() {
        let leads = onward(other).is_some_and(|next| next.as_text() == Some(anchor.as_str()));
        if leads {
            lead_on(other, &name);
        }
        led |= leads;
    }
    if !led {
        // Only rejections and failures lead there, or it comes first.
        for (_, other) in entries.iter_mut() {
            relink(other, &anchor, &name);
        }
    }
    entries.insert(index, (key, step));
    restart(workflow, graph, &anchor, &name);
    Ok(())
}

/// Says where steps lead that are gone through in their order.
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

/// Where a step leads when all is well: its `next`, or what the first answer leads to.
fn onward(step: &YamlNode) -> Option<YamlNode> {
    let answers = step.get("answers").and_then(YamlNode::as_map);
    match answers.and_then(|answers| answers.first()) {
        Some((_, answer)) => answer.get("next").or(Some(answer)).cloned(),
        None => step.get("next").cloned(),
    }
}

/// Lets a step lead somewhere else when all is well.
fn lead_on(step: &mut YamlNode, to: &str) {
    let answers = step.get_mut("answers").and_then(YamlNode::as_map_mut);
    match answers.and_then(|answers| answers.first_mut()) {
        Some((_, answer)) if answer.as_map().is_some() => answer.set("next", YamlNode::text(to)),
        Some((_, answer)) => *answer = YamlNode::text(to),
        None => step.set("next", YamlNode::text(to)),
    }
}

/// Says that a graph starts with a step, where that is so only because it comes first.
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

/// What started with one step starts with another.
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

/// Takes a step out; what led to it leads to what follows it.
pub(super) fn leave_out(
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
        let hint = meant(step, known.iter().map(String::as_str));
        return Err(vec![Diagnostic::at(name.place, message).maybe(hint)]);
    };
    let Some(index) = entries.iter().position(|(key, _)| key.name == step) else {
        return Ok(());
    };
    let removed = &entries[index].1;
    if removed.get("required").and_then(YamlNode::as_bool) == Some(true) {
        let message = format!("the step `{step}` is required and cannot be left out");
        return Err(vec![Diagnostic::at(name.place, message)]);
    }
    let follows = onward(removed).and_then(|next| next.as_text().map(str::to_owned));
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

/// Every way out of a step that led to one step leads to another.
fn relink(step: &mut YamlNode, from: &str, to: &str) {
    for key in ["next", "on_fail", "on_reject", "on_conflict"] {
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

/// The entries of the graph that has a step.
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

/// Every step of a graph, those of sub-graphs too.
pub(super) fn each_step(graph: &mut YamlNode, f: &mut dyn FnMut(&mut YamlNode)) {
    for (_, step) in graph.as_map_mut().into_iter().flatten() {
        f(step);
        if let Some(inner) = step.get_mut("steps") {
            each_step(inner, f);
        }
    }
}

/// The names of all steps, those of sub-graphs too.
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
