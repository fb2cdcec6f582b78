//! What a workflow is made of before it is compiled: what it extends, what it changes there, which
//! steps it leaves out. Works on trees, so that every part keeps the place it was written at.

use crate::misplaced::Document;
use crate::yaml::{Fault, Key, Node, Value, meant, merge};

/// How long a chain of `extends` may be.
const MAX_DEPTH: usize = 8;

/// How many steps a workflow may have.
pub(super) const MAX_STEPS: usize = 1_000;

/// Finds what a workflow of a name says, that many layers below the topmost that has one.
pub type Find<'a> = dyn FnMut(&str, usize) -> Result<Option<Node>, Vec<Fault>> + 'a;

/// What all files say of a workflow together.
#[derive(Debug)]
pub struct Shape {
    /// All of it, without `extends`, `overrides` and `disable`.
    pub node: Node,
    /// Its name and those of the workflows it extends: where its roles are looked for.
    pub scopes: Vec<String>,
}

/// Puts a workflow together with everything it extends.
pub fn assemble(name: &str, node: Node, find: &mut Find<'_>) -> Result<Shape, Vec<Fault>> {
    chained(name, node, find, &mut Vec::new())
}

fn chained(
    name: &str,
    node: Node,
    find: &mut Find<'_>,
    chain: &mut Vec<String>,
) -> Result<Shape, Vec<Fault>> {
    let mut own = unwrapped(node)?;
    let misplaced = Document::Workflow.misplaced(&own);
    if !misplaced.is_empty() {
        return Err(misplaced);
    }
    chain.push(name.to_owned());
    let extends = own.take("extends");
    let template = own.take("template");
    if let (Some(_), Some(template)) = (&extends, &template) {
        let message = "`template` and `extends` say the same thing";
        return Err(vec![Fault::at(template.place, message).hint("keep one")]);
    }
    let Some(parent) = extends.or(template) else {
        let mut shape = Shape {
            node: Node::empty(own.place),
            scopes: vec![name.to_owned()],
        };
        // Overrides and positions make sense within one file as well.
        lay_over(&mut shape.node, own)?;
        return Ok(shape);
    };
    let Some(parent_name) = parent.as_text().map(str::to_owned) else {
        let message = format!("expected the name of a workflow, found {}", parent.kind());
        return Err(vec![Fault::at(parent.place, message)]);
    };
    if chain.len() > MAX_DEPTH {
        let message = format!("more than {MAX_DEPTH} workflows extend each other");
        return Err(vec![Fault::at(parent.place, message)]);
    }
    // A workflow that extends its own name means the one of the layer below.
    let above = chain.iter().filter(|known| **known == parent_name).count();
    let Some(below) = find(&parent_name, above)? else {
        let message = if above > 0 {
            let names: Vec<String> = chain.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "workflows extend each other in a circle: {} → `{parent_name}`",
                names.join(" → ")
            )
        } else {
            format!("there is no workflow `{parent_name}`")
        };
        let fault = Fault::at(parent.place, message);
        return Err(vec![match above {
            0 => fault.hint("`codeteam workflow list` names those there are"),
            _ => fault.hint("let one of them extend another workflow, or none"),
        }]);
    };
    let mut shape = chained(&parent_name, below, find, chain)?;
    shape.scopes.insert(0, name.to_owned());
    shape.scopes.dedup();
    // A name and a description are the file's own.
    shape.node.take("name");
    shape.node.take("description");
    lay_over(&mut shape.node, own)?;
    Ok(shape)
}

/// Some files have everything below `workflow:`.
fn unwrapped(mut node: Node) -> Result<Node, Vec<Fault>> {
    let place = node.place;
    if node.as_map().is_none() {
        let message = format!("expected a workflow, found {}", node.kind());
        return Err(vec![Fault::at(place, message)]);
    }
    let Some(inner) = node.take("workflow") else {
        return Ok(node);
    };
    if inner.as_map().is_none() {
        let message = format!("expected a workflow, found {}", inner.kind());
        return Err(vec![Fault::at(inner.place, message)]);
    }
    Ok(merge(node, inner))
}

/// A workflow over the one it extends.
fn lay_over(below: &mut Node, mut own: Node) -> Result<(), Vec<Fault>> {
    let steps = own.take("steps");
    let overrides = own.take("overrides");
    let disable = own.take("disable");
    if own.get("sequence").is_some() {
        below.take("steps");
    } else if let Some(steps) = steps.as_ref().or(overrides.as_ref())
        && below.get("sequence").is_some()
    {
        let message = "steps cannot be changed in a workflow that is a `sequence`";
        return Err(vec![
            Fault::at(steps.place, message).hint("write your own `sequence`"),
        ]);
    }
    let merged = merge(std::mem::replace(below, Node::empty(own.place)), own);
    *below = merged;
    let mut graph = below
        .take("steps")
        .unwrap_or_else(|| Node::empty(below.place));
    for steps in [steps, overrides].into_iter().flatten() {
        graft(&mut graph, steps)?;
    }
    if let Some(list) = &disable {
        let Some(names) = list.as_list() else {
            let message = format!("expected a list of steps, found {}", list.kind());
            return Err(vec![Fault::at(list.place, message)]);
        };
        for name in names {
            leave_out(below, &mut graph, name)?;
        }
    }
    if graph.as_map().is_some_and(|entries| !entries.is_empty()) {
        below.set("steps", graph);
    }
    Ok(())
}

/// Puts steps into a graph: over a step of the same name wherever it stands, after or before the
/// step that `position` names, or at the end of the graph that leads to it.
fn graft(graph: &mut Node, steps: Node) -> Result<(), Vec<Fault>> {
    let place = steps.place;
    let kind = steps.kind();
    let Value::Map(steps) = steps.value else {
        let message = format!("expected steps by name, found {kind}");
        return Err(vec![Fault::at(place, message)]);
    };
    let (known, new): (Vec<_>, Vec<_>) = {
        let names = names(graph);
        if names.len() + steps.len() > MAX_STEPS {
            let message = format!("a workflow has at most {MAX_STEPS} steps");
            return Err(vec![
                Fault::at(place, message).hint("divide it into several"),
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
            return Err(vec![Fault::at(position.place, message).hint(hint)]);
        }
        if let Some(known) = step_mut(graph, &key.name) {
            let old = std::mem::replace(known, Node::empty(step.place));
            *known = over_step(old, step);
        }
    }
    for (key, mut step) in new {
        match step.take("position") {
            Some(position) => insert(graph, key, step, &position)?,
            None => {
                let home = home_of(graph, &key.name).and_then(Node::as_map_mut);
                home.into_iter()
                    .for_each(|entries| entries.push((key.clone(), step.clone())));
            }
        }
    }
    enter_by_owner(graph);
    Ok(())
}

/// The graph that a new step belongs to: the innermost with a step that leads to it, or this one.
fn home_of<'a>(graph: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    let entries = graph.as_map()?;
    let inside = entries.iter().position(|(_, step)| {
        let inner = step.get("steps").and_then(Node::as_map);
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
fn leads_inside(owner: &Node, name: &str) -> bool {
    let inner = owner
        .get("steps")
        .and_then(Node::as_map)
        .unwrap_or_default();
    inner
        .iter()
        .any(|(_, step)| leads(step, name) || leads_inside(step, name))
}

/// Whether a step leads to a name.
fn leads(step: &Node, name: &str) -> bool {
    let is = |node: Option<&Node>| node.and_then(Node::as_text) == Some(name);
    let keys = ["next", "on_fail", "on_reject"];
    let rebound = step.get("rebound").and_then(|node| node.get("to"));
    let answers = step.get("answers").and_then(Node::as_map);
    keys.iter().any(|key| is(step.get(key)))
        || is(rebound)
        || answers
            .unwrap_or_default()
            .iter()
            .any(|(_, answer)| is(Some(answer)) || is(answer.get("next")))
}

/// What leads from outside to the first step of a sub-graph leads to the step that has it.
fn enter_by_owner(graph: &mut Node) {
    let mut doors: Vec<(String, String)> = Vec::new();
    for (key, step) in graph.as_map_mut().into_iter().flatten() {
        let said = step.get("start").and_then(Node::as_text).map(str::to_owned);
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
fn over_step(mut below: Node, mut above: Node) -> Node {
    // `type: orchestrator_gate` alone says who does it, and what it does is said below.
    let does = |step: &Node| {
        let keys = ["command", "gate", "commit", "publish"];
        keys.iter().any(|key| step.get(key).is_some())
    };
    for key in ["type", "gate_type"] {
        let word = above.get(key).and_then(Node::as_text);
        let is_ours = matches!(word, Some("orchestrator_gate" | "orchestrator"));
        if is_ours && does(&below) && !does(&above) {
            above.take(key);
        }
    }
    const WORK: &[&str] = &["role", "roles", "instances", "parallel", "join"];
    const GATES: &[&str] = &["command", "type", "gate_type"];
    const REST: &[&str] = &["person", "answers", "commit", "publish", "each"];
    let says = |keys: &[&str]| keys.iter().any(|key| above.get(key).is_some());
    let replaced: Vec<&str> = if says(&["role", "roles"]) {
        [&["role", "roles"], GATES, REST].concat()
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
fn insert(graph: &mut Node, key: Key, mut step: Node, position: &Node) -> Result<(), Vec<Fault>> {
    let words: Vec<&str> = position
        .as_text()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let (side, anchor) = match words.as_slice() {
        [side @ ("after" | "before"), anchor] => (*side, (*anchor).to_owned()),
        _ => {
            let message = format!(
                "expected `after` or `before` and a step, found {}",
                position.kind()
            );
            return Err(vec![Fault::at(position.place, message)]);
        }
    };
    let known = names(graph);
    let Some(entries) = graph_of(graph, &anchor) else {
        let message = format!("there is no step `{anchor}` to stand {side}");
        let hint = meant(&anchor, known.iter().map(String::as_str));
        return Err(vec![Fault::at(position.place, message).maybe(hint)]);
    };
    let Some(index) = entries.iter().position(|(k, _)| k.name == anchor) else {
        return Ok(());
    };
    if side == "after" {
        let name = key.name.clone();
        let before = entries[index].1.take("next");
        if step.get("next").is_none()
            && let Some(next) = before
        {
            step.set("next", next);
        }
        let terminal = entries[index].1.take("terminal");
        if let Some(terminal) = terminal.filter(|_| step.get("next").is_none()) {
            step.set("terminal", terminal);
        }
        entries[index].1.set("next", Node::text(name));
        entries.insert(index + 1, (key, step));
    } else {
        for (_, other) in entries.iter_mut() {
            if other.get("next").and_then(Node::as_text) == Some(anchor.as_str()) {
                other.set("next", Node::text(key.name.clone()));
            }
        }
        if step.get("next").is_none() {
            step.set("next", Node::text(anchor));
        }
        entries.insert(index, (key, step));
    }
    Ok(())
}

/// Takes a step out; what led to it leads to what follows it.
fn leave_out(workflow: &mut Node, graph: &mut Node, name: &Node) -> Result<(), Vec<Fault>> {
    let known = names(graph);
    let Some(step) = name.as_text() else {
        let message = format!("expected the name of a step, found {}", name.kind());
        return Err(vec![Fault::at(name.place, message)]);
    };
    let Some(entries) = graph_of(graph, step) else {
        let message = format!("there is no step `{step}` to leave out");
        let hint = meant(step, known.iter().map(String::as_str));
        return Err(vec![Fault::at(name.place, message).maybe(hint)]);
    };
    let Some(index) = entries.iter().position(|(key, _)| key.name == step) else {
        return Ok(());
    };
    let removed = &entries[index].1;
    if removed.get("required").and_then(Node::as_bool) == Some(true) {
        let message = format!("the step `{step}` is required and cannot be left out");
        return Err(vec![Fault::at(name.place, message)]);
    }
    let follows = removed
        .get("next")
        .and_then(Node::as_text)
        .map(str::to_owned);
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
    // The start of the graph, which its owner names.
    for key in ["start", "initial_step"] {
        let is = |node: &Node| node.get(key).and_then(Node::as_text) == Some(step);
        if is(workflow) {
            workflow.set(key, Node::text(follows.clone()));
        }
        each_step(graph, &mut |owner| {
            if is(owner) {
                owner.set(key, Node::text(follows.clone()));
            }
        });
    }
    Ok(())
}

/// Every way out of a step that led to one step leads to another.
fn relink(step: &mut Node, from: &str, to: &str) {
    for key in ["next", "on_fail", "on_reject", "on_conflict"] {
        if step.get(key).and_then(Node::as_text) == Some(from) {
            step.set(key, Node::text(to));
        }
    }
    let rebound = step.get_mut("rebound").and_then(|node| node.get_mut("to"));
    if let Some(node) = rebound.filter(|node| node.as_text() == Some(from)) {
        *node = Node::text(to);
    }
    let answers = step.get_mut("answers").and_then(Node::as_map_mut);
    for (_, answer) in answers.into_iter().flatten() {
        if answer.as_text() == Some(from) {
            *answer = Node::text(to);
        } else if answer.get("next").and_then(Node::as_text) == Some(from) {
            answer.set("next", Node::text(to));
        }
    }
}

/// The entries of the graph that has a step.
fn graph_of<'a>(graph: &'a mut Node, name: &str) -> Option<&'a mut Vec<(Key, Node)>> {
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

fn step_mut<'a>(graph: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    let entries = graph_of(graph, name)?;
    let found = entries.iter_mut().find(|(key, _)| key.name == name);
    found.map(|(_, step)| step)
}

fn each_step(graph: &mut Node, f: &mut dyn FnMut(&mut Node)) {
    for (_, step) in graph.as_map_mut().into_iter().flatten() {
        f(step);
        if let Some(inner) = step.get_mut("steps") {
            each_step(inner, f);
        }
    }
}

/// The names of all steps, those of sub-graphs too.
fn names(graph: &Node) -> Vec<String> {
    let entries = graph.as_map().unwrap_or_default();
    let mut known = Vec::new();
    for (key, step) in entries {
        known.push(key.name.clone());
        known.extend(step.get("steps").map(names).unwrap_or_default());
    }
    known
}
