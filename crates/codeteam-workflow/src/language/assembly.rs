//! Assembles a workflow before it is compiled: merges it with what it extends, applies its changes
//! and removes the steps it disables. This works on YAML trees, so that every part keeps its
//! position in the file it was written in.

use super::file::FileRebound;
use super::graft::{self, StepSection, graft, remove_step};
use crate::format_version::version_fault;
use crate::misplaced_file::DocumentKind;
use crate::yaml::{Diagnostic, YamlNode, YamlScalar, YamlValue, deserialize_node, merge};

/// The longest allowed chain of `extends`.
const MAX_DEPTH: usize = 8;

/// Looks up a workflow by name. The number says how many layers to skip below the topmost layer
/// that has a workflow of that name.
pub type WorkflowLookup<'a> =
    dyn FnMut(&str, usize) -> Result<Option<YamlNode>, Vec<Diagnostic>> + 'a;

/// A workflow merged from all files that contribute to it.
#[derive(Debug)]
pub struct AssembledWorkflow {
    /// The merged tree, without `extends`, `overrides` and `disable`.
    pub node: YamlNode,
    /// The name of the workflow and of those it extends. Its roles are looked up in these scopes.
    pub scopes: Vec<String>,
}

/// Assembles a workflow from its own tree and everything it extends.
pub fn assemble(
    name: &str,
    node: YamlNode,
    find: &mut WorkflowLookup<'_>,
) -> Result<AssembledWorkflow, Vec<Diagnostic>> {
    assemble_chain(name, node, find, &mut Vec::new())
}

fn assemble_chain(
    name: &str,
    node: YamlNode,
    find: &mut WorkflowLookup<'_>,
    chain: &mut Vec<String>,
) -> Result<AssembledWorkflow, Vec<Diagnostic>> {
    let mut own = unwrap_workflow(node)?;
    let mut misplaced = DocumentKind::Workflow.find_misplaced(&own);
    misplaced.extend(version_fault(&own));
    if !misplaced.is_empty() {
        return Err(misplaced);
    }
    chain.push(name.to_owned());
    let extends = own.take("extends");
    let template = own.take("template");
    if let (Some(_), Some(template)) = (&extends, &template) {
        let message = "`template` and `extends` say the same thing";
        return Err(vec![
            Diagnostic::at(template.place, message).with_hint("keep one"),
        ]);
    }
    let Some(parent) = extends.or(template) else {
        let mut shape = AssembledWorkflow {
            node: YamlNode::empty(own.place),
            scopes: vec![name.to_owned()],
        };
        // Overrides and positions are allowed within a single file as well.
        merge_over(&mut shape.node, own)?;
        return Ok(shape);
    };
    let Some(parent_name) = parent.as_text().map(str::to_owned) else {
        let message = format!("expected the name of a workflow, found {}", parent.kind());
        return Err(vec![Diagnostic::at(parent.place, message)]);
    };
    if chain.len() > MAX_DEPTH {
        let message = format!("more than {MAX_DEPTH} workflows extend each other");
        return Err(vec![Diagnostic::at(parent.place, message)]);
    }
    // A workflow that extends its own name means the one in the layer below.
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
        let fault = Diagnostic::at(parent.place, message);
        return Err(vec![match above {
            0 => fault.with_hint("`codeteam workflow list` lists all of them"),
            _ => fault.with_hint("let one of them extend another workflow, or none"),
        }]);
    };
    let mut shape = assemble_chain(&parent_name, below, find, chain)?;
    shape.scopes.insert(0, name.to_owned());
    shape.scopes.dedup();
    // A name and a description are not inherited.
    shape.node.take("name");
    shape.node.take("description");
    merge_over(&mut shape.node, own)?;
    Ok(shape)
}

/// Unwraps files that put everything below `workflow:`.
fn unwrap_workflow(mut node: YamlNode) -> Result<YamlNode, Vec<Diagnostic>> {
    let place = node.place;
    if node.as_map().is_none() {
        let message = format!("expected a workflow, found {}", node.kind());
        return Err(vec![Diagnostic::at(place, message)]);
    }
    let Some(inner) = node.take("workflow") else {
        return Ok(node);
    };
    if inner.as_map().is_none() {
        let message = format!("expected a workflow, found {}", inner.kind());
        return Err(vec![Diagnostic::at(inner.place, message)]);
    }
    Ok(merge(node, inner))
}

/// Groups of keys with the same meaning, as paths.
const SYNONYMS: [&[&[&str]]; 2] = [
    &[
        &["max_iterations"],
        &["max_rounds"],
        &["limits", "max_rounds"],
    ],
    &[&["on_max_iterations"], &["on_exhausted"]],
];
/// A bound that follows from the bound on rounds unless it is configured next to it.
const STAGNANT_ROUNDS: &[&str] = &["limits", "max_stagnant_rounds"];

/// Removes a value from the workflow below if this file sets the same thing under a synonym.
fn replace_synonyms(below: &mut YamlNode, own: &YamlNode) -> Result<(), Vec<Diagnostic>> {
    for (group, words) in SYNONYMS.iter().enumerate() {
        let said: Vec<(&[&str], &YamlNode)> = words
            .iter()
            .filter_map(|path| Some((*path, node_at(own, path)?)))
            .collect();
        if let [(first, _), (second, node), ..] = said.as_slice() {
            let message = format!(
                "`{}` and `{}` say the same thing",
                first.join("."),
                second.join(".")
            );
            return Err(vec![
                Diagnostic::at(node.place, message).with_hint("keep one"),
            ]);
        }
        let [(word, _)] = said.as_slice() else {
            continue;
        };
        for other in words.iter().filter(|other| *other != word) {
            remove_at(below, other);
        }
        if group == 0 && node_at(own, STAGNANT_ROUNDS).is_none() {
            remove_at(below, STAGNANT_ROUNDS);
        }
    }
    Ok(())
}

fn node_at<'a>(node: &'a YamlNode, path: &[&str]) -> Option<&'a YamlNode> {
    path.iter().try_fold(node, |node, key| node.get(key))
}

fn remove_at(node: &mut YamlNode, path: &[&str]) {
    match path {
        [] => {}
        [key] => {
            node.take(key);
        }
        [first, rest @ ..] => {
            if let Some(inner) = node.get_mut(first) {
                remove_at(inner, rest);
            }
        }
    }
}

/// Applies a `rebound` next to `extends`: it changes after how many rejections the inherited steps
/// offer another approach.
fn change_rebounds(below: &mut YamlNode, own: &mut YamlNode) -> Result<(), Vec<Diagnostic>> {
    let is_sequence = own.get("sequence").is_some() || below.get("sequence").is_some();
    if is_sequence {
        return Ok(());
    }
    let Some(said) = own.take("rebound") else {
        return Ok(());
    };
    let rebound: FileRebound = deserialize_node(&said)?;
    if let Some(fault) = rebound.fault(said.place) {
        return Err(vec![fault]);
    }
    let after = YamlValue::Scalar(YamlScalar::plain(rebound.after_failures.to_string()));
    let mut changed = false;
    if let Some(steps) = below.get_mut("steps") {
        graft::each_step(steps, &mut |step| {
            if let Some(rebound) = step.get_mut("rebound") {
                rebound.take("after_failures");
                rebound.set("after", YamlNode::at(said.place, after.clone()));
                changed = true;
            }
        });
    }
    if changed {
        return Ok(());
    }
    let message = "no step of the workflow that is extended offers another approach";
    let hint = "`rebound` is for a `sequence`, or beside the `extends` of a workflow whose steps have one; \
                a step of your own says `rebound: { after: 3, to: STEP }`";
    Err(vec![Diagnostic::at(said.place, message).with_hint(hint)])
}

/// Merges a workflow over the one it extends.
fn merge_over(below: &mut YamlNode, mut own: YamlNode) -> Result<(), Vec<Diagnostic>> {
    replace_synonyms(below, &own)?;
    change_rebounds(below, &mut own)?;
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
            Diagnostic::at(steps.place, message).with_hint("write your own `sequence`"),
        ]);
    }
    let merged = merge(std::mem::replace(below, YamlNode::empty(own.place)), own);
    *below = merged;
    let mut graph = below
        .take("steps")
        .unwrap_or_else(|| YamlNode::empty(below.place));
    let mut unplaced = Vec::new();
    for (steps, said) in [
        (steps, StepSection::Steps),
        (overrides, StepSection::Overrides),
    ] {
        if let Some(steps) = steps {
            unplaced.extend(graft::unplaced_steps(&graph, &steps, said));
            graft(below, &mut graph, steps)?;
        }
    }
    let unplaced = unplaced.iter();
    let strays =
        unplaced.filter_map(|(key, said)| graft::unreachable_step(below, &graph, key, *said));
    let strays: Vec<Diagnostic> = strays.collect();
    if !strays.is_empty() {
        return Err(strays);
    }
    if let Some(list) = &disable {
        let Some(names) = list.as_list() else {
            let message = format!("expected a list of steps, found {}", list.kind());
            return Err(vec![Diagnostic::at(list.place, message)]);
        };
        for name in names {
            remove_step(below, &mut graph, name)?;
        }
    }
    if graph.as_map().is_some_and(|entries| !entries.is_empty()) {
        below.set("steps", graph);
    }
    Ok(())
}
