//! A workflow as a picture: text for a terminal, a Mermaid flowchart, an SVG.
//!
//! All three draw the same [`WorkflowGraph`]: the steps of each scope in the order in which work flows
//! through them, and the edges between them, those that lead back told apart. Names and texts of a
//! workflow are a stranger's; each writer escapes what it writes.

mod layers;
mod mermaid;
mod order;
mod sides;
mod svg;
mod text;

use std::collections::BTreeMap;

use super::{
    ChangeSize, Check, CompiledWorkflow, DeliveryMethod, EachItem, ExhaustionPolicy, GoalBreadth,
    JoinRule, LogLength, PlanPresence, RoleStep, Step, StepCondition, StepKind, TaskDetail,
    Workflow,
};
use crate::ids::{RoleName, StepId};
use crate::role::Role;

/// A compiled workflow, ready to be drawn.
#[derive(Clone, Debug)]
pub struct WorkflowGraph {
    name: String,
    about: String,
    limits: String,
    root: ScopeGraph,
}

impl WorkflowGraph {
    /// The graph of a workflow.
    pub fn of(compiled: &CompiledWorkflow) -> Self {
        let workflow = &compiled.workflow;
        Self {
            name: clean(&workflow.name),
            about: clean(&compiled.description),
            limits: limits(workflow),
            root: ScopeGraph::of(workflow, &compiled.roles, None, &workflow.start),
        }
    }

    /// Text for a terminal, at most 80 columns wide where names allow it.
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// A Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        mermaid::write(self)
    }

    /// An SVG that needs nothing else and goes with light and dark. `None` if there is so much of
    /// it that nobody could read it, and that laying it out would take all memory there is.
    pub fn svg(&self) -> Option<String> {
        let (steps, ways) = self.root.count();
        (steps <= MAX_STEPS && ways <= MAX_WAYS).then(|| svg::write(self))
    }
}

/// How many steps a picture may have.
const MAX_STEPS: usize = 300;
/// How many ways between them.
const MAX_WAYS: usize = 1_000;

/// The run's own steps, or those of an `each` step.
#[derive(Clone, Debug)]
struct ScopeGraph {
    /// In the order of the flow; the first is where it starts.
    nodes: Vec<StepNode>,
    edges: Vec<StepEdge>,
}

impl ScopeGraph {
    /// How many steps there are, and ways between them.
    fn count(&self) -> (usize, usize) {
        let inner = self.nodes.iter().filter_map(|node| node.inner.as_ref());
        let own = (self.nodes.len(), self.edges.len());
        inner
            .map(Self::count)
            .fold(own, |all, inner| (all.0 + inner.0, all.1 + inner.1))
    }
}

/// A step.
#[derive(Clone, Debug)]
struct StepNode {
    id: String,
    shape: NodeShape,
    /// What it does, in a few words.
    does: String,
    /// When it is not left out.
    when: Option<String>,
    /// The steps in it.
    inner: Option<ScopeGraph>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeShape {
    Role,
    Gate,
    Person,
    Each,
    Commit,
    Publish,
}

/// A way from one step to another, or out.
#[derive(Clone, Debug)]
struct StepEdge {
    from: usize,
    to: EdgeEnd,
    way: EdgeKind,
    /// How often it may be gone, where that is limited.
    bound: Option<String>,
    /// Whether it leads to where the frame has been.
    back: bool,
}

/// All ways from one step to another.
#[derive(Clone, Debug)]
struct MergedEdge {
    from: usize,
    to: EdgeEnd,
    back: bool,
    /// Whether `next` is among them.
    usual: bool,
    /// The words beside them, if there are any.
    label: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EdgeEnd {
    Node(usize),
    Done,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum EdgeKind {
    Next,
    /// A person's step that is left out.
    Passed,
    Answer(String),
    Fails,
    Rejects,
    Rebounds(u32),
    Conflicts,
}

impl EdgeKind {
    /// The word beside the edge; none where there is nothing to tell apart.
    fn label(&self) -> Option<String> {
        Some(match self {
            Self::Next => return None,
            Self::Passed => "left out".to_owned(),
            Self::Answer(name) => clean(name),
            Self::Fails => "on_fail".to_owned(),
            Self::Rejects => "on_reject".to_owned(),
            Self::Rebounds(after) => format!("after {after} rejections"),
            Self::Conflicts => "on_conflict".to_owned(),
        })
    }
}

impl ScopeGraph {
    fn of(
        workflow: &Workflow,
        roles: &BTreeMap<RoleName, Role>,
        scope: Option<&StepId>,
        start: &StepId,
    ) -> Self {
        let steps = workflow.steps.values();
        let steps: Vec<&Step> = steps.filter(|s| s.scope.as_ref() == scope).collect();
        let raw = order::FlowGraph::of(workflow, &steps);
        let first = steps.iter().position(|step| step.id == *start).unwrap_or(0);
        let order = raw.order(first);
        let mut position = vec![0; steps.len()];
        for (place, step) in order.iter().enumerate() {
            position[*step] = place;
        }
        let mut edges: Vec<StepEdge> = raw.edges(first);
        for edge in &mut edges {
            edge.from = position[edge.from];
            if let EdgeEnd::Node(to) = &mut edge.to {
                *to = position[*to];
            }
        }
        edges.sort_by_key(|edge| edge.from);
        let nodes = order.iter().map(|i| node(workflow, roles, steps[*i]));
        Self {
            nodes: nodes.collect(),
            edges,
        }
    }

    /// The ways out of a step, in order.
    fn exits(&self, node: usize) -> impl Iterator<Item = &StepEdge> {
        self.edges.iter().filter(move |edge| edge.from == node)
    }

    /// The edges, with those merged that lead from the same step to the same one.
    fn merged(&self) -> Vec<MergedEdge> {
        let mut merged: BTreeMap<(usize, EdgeEnd), (bool, Vec<&EdgeKind>)> = BTreeMap::new();
        for edge in &self.edges {
            let entry = merged.entry((edge.from, edge.to)).or_default();
            entry.0 |= edge.back;
            entry.1.push(&edge.way);
        }
        let label = |ways: &[&EdgeKind]| {
            let alone = ways.len() == 1;
            let words = ways.iter().map(|way| match way.label() {
                None if alone => None,
                None => Some("next".to_owned()),
                label => label,
            });
            words.collect::<Option<Vec<String>>>().map(|w| w.join(", "))
        };
        let merged = merged.into_iter();
        merged
            .map(|((from, to), (back, ways))| MergedEdge {
                from,
                to,
                back,
                usual: ways.contains(&&EdgeKind::Next),
                label: label(&ways),
            })
            .collect()
    }
}

fn node(workflow: &Workflow, roles: &BTreeMap<RoleName, Role>, step: &Step) -> StepNode {
    let (shape, does) = match &step.kind {
        StepKind::Role(role) => (NodeShape::Role, worker_words(role, roles)),
        StepKind::Gate { checks } => (NodeShape::Gate, gate_words(checks)),
        StepKind::Person { question, .. } => (NodeShape::Person, format!("person: {question}")),
        StepKind::Each {
            over, cap, halt, ..
        } => (NodeShape::Each, each_words(*over, *cap, *halt)),
        StepKind::Commit { .. } => (NodeShape::Commit, "commit to the run's branch".to_owned()),
        StepKind::Publish { command } => (NodeShape::Publish, format!("publish: {command}")),
        StepKind::Deliver { how } => (NodeShape::Commit, delivery_words(how)),
    };
    let inner = match &step.kind {
        StepKind::Each { start, .. } => {
            Some(ScopeGraph::of(workflow, roles, Some(&step.id), start))
        }
        _ => None,
    };
    StepNode {
        id: clean(step.id.as_str()),
        shape,
        does: clean(&does),
        when: step.when.as_ref().map(|when| clean(&condition(when))),
        inner,
    }
}

fn worker_words(step: &RoleStep, roles: &BTreeMap<RoleName, Role>) -> String {
    let usual = step.roles_for(None);
    let kind = usual.first().and_then(|name| roles.get(name));
    let kind = kind.map_or("role", |role| role.kind.as_str());
    let join = match step.join {
        _ if usual.len() < 2 => "",
        JoinRule::All => " (all approve)",
        JoinRule::Any => " (one approves)",
        JoinRule::Majority => " (more than half approve)",
        JoinRule::Roles => " (more than half of each approve)",
    };
    let small = match step.small_from {
        Some(_) => format!(
            "; {} alone if the change is small",
            counted(step.roles_for(Some(ChangeSize::Small)))
        ),
        None => String::new(),
    };
    format!("{kind}: {}{join}{small}", counted(usual))
}

/// Names of roles, with how often each is there.
fn counted(slots: &[RoleName]) -> String {
    let mut counts: Vec<(&RoleName, u32)> = Vec::new();
    for name in slots {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let names: Vec<String> = counts
        .iter()
        .map(|(name, count)| match count {
            1 => name.to_string(),
            count => format!("{name} ×{count}"),
        })
        .collect();
    names.join(", ")
}

fn gate_words(checks: &[Check]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = checks.iter().take(SHOWN).map(|c| c.name.as_str()).collect();
    match checks.len() {
        0 => "gate: no checks".to_owned(),
        n if n > SHOWN => format!("gate: {} and {} more", names.join(", "), n - SHOWN),
        _ => format!("gate: {}", names.join(", ")),
    }
}

fn delivery_words(how: &DeliveryMethod) -> String {
    match how {
        DeliveryMethod::Forward {
            branch: Some(branch),
            ..
        } => format!("move {branch} forward"),
        DeliveryMethod::Forward { branch: None, .. } => {
            "leave the commits on the run's branch".to_owned()
        }
        DeliveryMethod::Patch => "leave a patch".to_owned(),
    }
}

fn each_words(over: EachItem, cap: usize, halt: bool) -> String {
    let what = match over {
        EachItem::Task => "task",
        EachItem::Phase => "phase",
    };
    let many = match cap {
        1 => "one after the other".to_owned(),
        cap => format!("{cap} at a time"),
    };
    let halts = if halt {
        ", ends at the first failure"
    } else {
        ""
    };
    format!("each {what}, {many}{halts}")
}

fn limits(workflow: &Workflow) -> String {
    let judge = workflow
        .steps
        .values()
        .find(|step| matches!(step.kind, StepKind::Person { exhausted, .. } if exhausted));
    let then = match (workflow.on_exhausted, judge) {
        (ExhaustionPolicy::Ask, _) => "then a person decides".to_owned(),
        (ExhaustionPolicy::Fail, None) => "then it fails".to_owned(),
        (ExhaustionPolicy::Fail, Some(judge)) => {
            let condition = judge.when.as_ref().map(condition);
            let condition = condition.map(|when| format!(" if {when}, else it fails"));
            let id = &judge.id;
            format!(
                "then a person decides at {id}{}",
                condition.unwrap_or_default()
            )
        }
    };
    let rounds = workflow.max_rounds.map(|n| format!("{n} rounds"));
    // Where rounds have no bound this one is always there; it is told where somebody has asked for it.
    let stagnant = workflow.max_stagnant_rounds.filter(|_| rounds.is_some());
    let rounds = match (rounds, stagnant) {
        (Some(rounds), Some(n)) => Some(format!("{rounds} ({n} in a row that find no less)")),
        (rounds, _) => rounds,
    };
    let steps = workflow.max_steps.map(|n| format!("{n} steps"));
    let known: Vec<String> = rounds.into_iter().chain(steps).collect();
    if known.is_empty() {
        return String::new();
    }
    format!("at most {}, {then}", known.join(" and "))
}

/// A condition in words, to stand after `if`.
fn condition(condition: &StepCondition) -> String {
    let inner = |c: &StepCondition| match c {
        StepCondition::All(_) | StepCondition::Any(_) => format!("({})", self::condition(c)),
        c => self::condition(c),
    };
    let joined = |all: &[StepCondition], word: &str| {
        let words: Vec<String> = all.iter().map(inner).collect();
        words.join(word)
    };
    match condition {
        StepCondition::Plan(PlanPresence::Missing) => "there is no plan".to_owned(),
        StepCondition::Plan(PlanPresence::Present) => "there is a plan".to_owned(),
        StepCondition::Plan(PlanPresence::Given) => "it began with a plan".to_owned(),
        StepCondition::Setting(name) => format!("{name} is on"),
        StepCondition::Changed(patterns) => format!("{} changed", patterns.join(" or ")),
        StepCondition::Committed(true) => "something was committed".to_owned(),
        StepCondition::Committed(false) => "nothing was committed yet".to_owned(),
        StepCondition::Log(LogLength::Long) => "its log is long".to_owned(),
        StepCondition::Change(ChangeSize::Small) => "the change is small".to_owned(),
        StepCondition::Task(TaskDetail::Vague) => "the task does not say enough".to_owned(),
        StepCondition::Goal(GoalBreadth::Broad) => "the goal is not about one place".to_owned(),
        StepCondition::Answered(answers) => {
            let words = answers.iter().map(|(s, a)| format!("{s} was answered {a}"));
            words.collect::<Vec<String>>().join(" and ")
        }
        StepCondition::Not(c) => match c.as_ref() {
            StepCondition::Plan(PlanPresence::Missing) => "there is a plan".to_owned(),
            StepCondition::Plan(PlanPresence::Present) => "there is no plan".to_owned(),
            StepCondition::Plan(PlanPresence::Given) => "it did not begin with a plan".to_owned(),
            StepCondition::Setting(name) => format!("{name} is off"),
            StepCondition::Change(ChangeSize::Small) => "the change is not small".to_owned(),
            StepCondition::Task(TaskDetail::Vague) => "the task says enough".to_owned(),
            StepCondition::Goal(GoalBreadth::Broad) => "the goal is about one place".to_owned(),
            c => format!("not {}", inner(c)),
        },
        StepCondition::All(all) => joined(all, " and "),
        StepCondition::Any(any) => joined(any, " or "),
    }
}

/// Text on one line, without anything that would move a cursor or hide what follows.
fn clean(text: &str) -> String {
    let visible = |c: char| {
        let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
        if c.is_control() || hides { ' ' } else { c }
    };
    let text: String = text.chars().map(visible).collect();
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// How wide a text is, in columns; wide letters take two.
fn columns(text: &str) -> usize {
    text.chars()
        .map(|c| {
            if c >= '\u{1100}' && !('\u{2010}'..='\u{2bff}').contains(&c) {
                2
            } else {
                1
            }
        })
        .sum()
}

/// Breaks a text into lines of at most `width` columns; words longer than that are cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if columns(&line) + columns(c.encode_utf8(&mut [0; 4])) > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
#[expect(
    clippy::needless_raw_string_hashes,
    reason = "that is how expectations are updated"
)]
mod tests;
