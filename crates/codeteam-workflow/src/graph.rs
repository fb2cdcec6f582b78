//! Draws a workflow: as text for a terminal, as a Mermaid flowchart, or as an SVG.
//!
//! All three writers draw the same [`WorkflowGraph`]: the steps of each scope in the order in which
//! work flows through them, and the edges between them, with the edges that lead back marked. The
//! names and texts of a workflow are untrusted input, so each writer escapes what it writes.

mod assignments;
mod back_edges;
mod layers;
mod mermaid;
mod order;
mod svg;
mod text;

use std::collections::BTreeMap;

use codeteam_core::Run;
use codeteam_core::ids::{RoleName, StepId};
use codeteam_core::role::Role;
use codeteam_core::untrusted_text::spell_out_lines;
use codeteam_core::workflow::{
    ChangeSize, Check, DeliveryMethod, EachItem, ExhaustionPolicy, GoalBreadth, JoinRule,
    LogLength, MessageRule, PlanPresence, RoleStep, ScoreLevel, Step, StepCondition, StepKind,
    TaskDetail, Workflow,
};

use crate::language::CompiledWorkflow;

/// A compiled workflow, prepared for drawing.
///
/// [`from_compiled`](Self::from_compiled) does the work that all output formats share: it orders
/// the steps of every scope by the flow, collects the edges, marks those that lead back, and puts
/// steps, conditions and limits into short words. Control characters and invisible characters are
/// removed from all names here, so that no output can move a cursor or hide text.
///
/// After that, call [`text`](Self::text), [`mermaid`](Self::mermaid) or [`svg`](Self::svg); they
/// only format. Only the SVG needs a layout, and only the SVG can be refused for being too large.
#[derive(Clone, Debug)]
pub struct WorkflowGraph {
    name: String,
    about: String,
    limits: String,
    root: ScopeGraph,
}

impl WorkflowGraph {
    /// Builds the graph of a compiled workflow.
    pub fn from_compiled(compiled: &CompiledWorkflow) -> Self {
        Self {
            about: clean(&compiled.description),
            ..Self::new(&compiled.workflow, &compiled.roles)
        }
    }

    fn new(workflow: &Workflow, roles: &BTreeMap<RoleName, Role>) -> Self {
        Self {
            name: clean(&workflow.name),
            about: String::new(),
            limits: limits(workflow),
            root: ScopeGraph::from_workflow(workflow, roles, None, &workflow.start),
        }
    }

    /// Builds the graph of the workflow that a run has pinned, with the roles that its plan assigns.
    pub fn for_run(run: &Run) -> Self {
        let mut graph = Self::new(&run.workflow, &run.roles);
        if let Some(plan) = &run.plan {
            graph.root.add_assignments(&run.workflow, plan);
        }
        graph
    }

    /// Returns the steps as text, line by line, so that whoever shows them can mark some. The lines
    /// are within so many columns where names allow it.
    pub fn outline(&self, width: usize) -> Vec<OutlineLine> {
        text::outline(self, width)
    }

    /// Returns text for a terminal, at most 80 columns wide where names allow it.
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// Returns a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        mermaid::write(self)
    }

    /// Returns a self-contained SVG that adapts to light and dark colour schemes. Returns `None` if
    /// the workflow has so many steps or edges that nobody could read the picture and laying it out
    /// would exhaust the memory.
    pub fn svg(&self) -> Option<String> {
        let (steps, ways) = self.root.count();
        (steps <= MAX_STEPS && ways <= MAX_WAYS).then(|| svg::write(self))
    }

    /// Returns the drawing as a part of a page, with marks at its steps. It has classes and no style
    /// of its own. Returns `None` as [`svg`](Self::svg) does.
    pub fn linked_svg(&self, marks: &BTreeMap<StepId, StepMark>) -> Option<String> {
        let (steps, ways) = self.root.count();
        (steps <= MAX_STEPS && ways <= MAX_WAYS).then(|| svg::write_linked(self, marks))
    }
}

/// What a drawing says of a step besides what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepMark {
    /// Where a click leads, if it leads anywhere.
    pub href: Option<String>,
    /// The class in the style sheet of the page.
    pub class: String,
    /// A few words above its box.
    pub badge: String,
    /// What there is to know about it.
    pub title: String,
}

/// A line of a workflow's outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineLine {
    /// The line.
    pub text: String,
    /// The step that begins on it, if one does.
    pub step: Option<StepId>,
}

/// The largest number of steps that is drawn as an SVG.
const MAX_STEPS: usize = 300;
/// The largest number of edges that is drawn as an SVG.
const MAX_WAYS: usize = 1_000;

/// The steps of one scope: the run's own steps, or those inside an `each` step.
#[derive(Clone, Debug)]
struct ScopeGraph {
    /// The steps in the order of the flow; the first one is where the flow starts.
    nodes: Vec<StepNode>,
    edges: Vec<StepEdge>,
}

impl ScopeGraph {
    /// Counts the steps and the edges, including those of inner scopes.
    fn count(&self) -> (usize, usize) {
        let inner = self.nodes.iter().filter_map(|node| node.inner.as_ref());
        let own = (self.nodes.len(), self.edges.len());
        inner
            .map(Self::count)
            .fold(own, |all, inner| (all.0 + inner.0, all.1 + inner.1))
    }
}

/// A step as it is drawn.
#[derive(Clone, Debug)]
struct StepNode {
    step: StepId,
    id: String,
    shape: NodeShape,
    /// A few words on what the step does.
    action: String,
    /// The tasks with the roles that the plan assigns to them, a line for each.
    assignments: Vec<String>,
    /// The condition under which the step runs; otherwise it is left out.
    when: Option<String>,
    /// The sub-graph of an `each` step.
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

/// An edge from one step to another, or out of the scope.
#[derive(Clone, Debug)]
struct StepEdge {
    from: usize,
    to: EdgeEnd,
    kind: EdgeKind,
    /// The most times that the edge may be taken, if that is limited.
    bound: Option<String>,
    /// Whether the edge leads back to a step that the frame has already been through.
    back: bool,
}

/// All edges from one step to another, merged into one.
#[derive(Clone, Debug)]
struct MergedEdge {
    from: usize,
    to: EdgeEnd,
    back: bool,
    /// Whether a `next` edge is among them.
    usual: bool,
    /// The label next to the edge, if it has one.
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
    /// The exit of a person's step that is left out.
    Passed,
    Answer(String),
    Fails,
    Rejects,
    Requests,
    Rebounds(u32),
    Conflicts,
}

impl EdgeKind {
    /// Returns the label next to the edge, or `None` for `next`, which needs no explanation.
    fn label(&self) -> Option<String> {
        Some(match self {
            Self::Next => return None,
            Self::Passed => "left out".to_owned(),
            Self::Answer(name) => clean(name),
            Self::Fails => "on_fail".to_owned(),
            Self::Rejects => "on_reject".to_owned(),
            Self::Requests => "on_interface_change".to_owned(),
            Self::Rebounds(after) => format!("after {after} rejections"),
            Self::Conflicts => "on_conflict".to_owned(),
        })
    }
}

impl ScopeGraph {
    fn from_workflow(
        workflow: &Workflow,
        roles: &BTreeMap<RoleName, Role>,
        scope: Option<&StepId>,
        start: &StepId,
    ) -> Self {
        let steps = workflow.steps.values();
        let steps: Vec<&Step> = steps.filter(|s| s.scope.as_ref() == scope).collect();
        let raw = order::FlowGraph::from_steps(workflow, &steps);
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

    /// Returns the edges that leave a step, in order.
    fn exits(&self, node: usize) -> impl Iterator<Item = &StepEdge> {
        self.edges.iter().filter(move |edge| edge.from == node)
    }

    /// Merges edges that connect the same two steps.
    fn merge_edges(&self) -> Vec<MergedEdge> {
        let mut merged: BTreeMap<(usize, EdgeEnd), (bool, Vec<&EdgeKind>)> = BTreeMap::new();
        for edge in &self.edges {
            let entry = merged.entry((edge.from, edge.to)).or_default();
            entry.0 |= edge.back;
            entry.1.push(&edge.kind);
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
        StepKind::Role(role) => (NodeShape::Role, describe_workers(role, roles)),
        StepKind::Gate { checks } => (NodeShape::Gate, describe_gate(checks)),
        StepKind::Person { question, .. } => (NodeShape::Person, format!("person: {question}")),
        StepKind::Each {
            over, cap, halt, ..
        } => (NodeShape::Each, describe_each(*over, *cap, *halt)),
        StepKind::Commit { .. } => (NodeShape::Commit, "commit to the run's branch".to_owned()),
        StepKind::Lock => (
            NodeShape::Commit,
            "write the interfaces of the phase and lock them".to_owned(),
        ),
        StepKind::Publish { command } => (
            NodeShape::Publish,
            format!("publish: {}", spell_out_lines(command)),
        ),
        StepKind::Deliver { how } => (NodeShape::Commit, describe_delivery(how)),
    };
    let inner = match &step.kind {
        StepKind::Each { start, .. } => Some(ScopeGraph::from_workflow(
            workflow,
            roles,
            Some(&step.id),
            start,
        )),
        _ => None,
    };
    StepNode {
        step: step.id.clone(),
        id: clean(step.id.as_str()),
        shape,
        action: clean(&does),
        assignments: Vec::new(),
        when: step.when.as_ref().map(|when| clean(&condition(when))),
        inner,
    }
}

fn describe_workers(step: &RoleStep, roles: &BTreeMap<RoleName, Role>) -> String {
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
            count_roles(step.roles_for(Some(ChangeSize::Small)))
        ),
        None => String::new(),
    };
    if step.assigned {
        return format!("{kind}: as assigned, or {}", count_roles(usual));
    }
    format!("{kind}: {}{join}{small}", count_roles(usual))
}

/// Lists role names, each with its number of occurrences.
fn count_roles(slots: &[RoleName]) -> String {
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

fn describe_gate(checks: &[Check]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = checks.iter().take(SHOWN).map(|c| c.name.as_str()).collect();
    match checks.len() {
        0 => "gate: no checks".to_owned(),
        n if n > SHOWN => format!("gate: {} and {} more", names.join(", "), n - SHOWN),
        _ => format!("gate: {}", names.join(", ")),
    }
}

fn describe_delivery(how: &DeliveryMethod) -> String {
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

fn describe_each(over: EachItem, cap: usize, halt: bool) -> String {
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
    // If rounds are unlimited, the bound on stagnant rounds always applies; mention it only where
    // somebody configured it next to a bound on rounds.
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

/// Renders a condition in words that can follow `if`.
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
        StepCondition::Plan(PlanPresence::Unassigned) => "a task has no role".to_owned(),
        StepCondition::Setting(name) => format!("{name} is on"),
        StepCondition::Changed(patterns) => format!("{} changed", patterns.join(" or ")),
        StepCondition::Committed(true) => "something was committed".to_owned(),
        StepCondition::Committed(false) => "nothing was committed yet".to_owned(),
        StepCondition::Log(LogLength::Long) => "its log is long".to_owned(),
        StepCondition::Result(LogLength::Long) => "much was contributed".to_owned(),
        StepCondition::Score(ScoreLevel::Enough) => "its score is enough".to_owned(),
        StepCondition::Change(ChangeSize::Small) => "the change is small".to_owned(),
        StepCondition::Task(TaskDetail::Vague) => "the task does not say enough".to_owned(),
        StepCondition::Goal(GoalBreadth::Broad) => "the goal is not about one place".to_owned(),
        StepCondition::Message(MessageRule::Formatted) => {
            "commit messages must have a form".to_owned()
        }
        StepCondition::Assigned(roles) => {
            let names: Vec<&str> = roles.iter().map(RoleName::as_str).collect();
            format!("{} is at work", names.join(" or "))
        }
        StepCondition::Answered(answers) => {
            let words = answers.iter().map(|(s, a)| format!("{s} was answered {a}"));
            words.collect::<Vec<String>>().join(" and ")
        }
        StepCondition::Not(c) => match c.as_ref() {
            StepCondition::Plan(PlanPresence::Missing) => "there is a plan".to_owned(),
            StepCondition::Plan(PlanPresence::Present) => "there is no plan".to_owned(),
            StepCondition::Plan(PlanPresence::Given) => "it did not begin with a plan".to_owned(),
            StepCondition::Plan(PlanPresence::Unassigned) => "every task has a role".to_owned(),
            StepCondition::Setting(name) => format!("{name} is off"),
            StepCondition::Score(ScoreLevel::Enough) => "its score is not enough".to_owned(),
            StepCondition::Change(ChangeSize::Small) => "the change is not small".to_owned(),
            StepCondition::Task(TaskDetail::Vague) => "the task says enough".to_owned(),
            StepCondition::Goal(GoalBreadth::Broad) => "the goal is about one place".to_owned(),
            StepCondition::Message(MessageRule::Formatted) => {
                "any commit message will do".to_owned()
            }
            c => format!("not {}", inner(c)),
        },
        StepCondition::All(all) => joined(all, " and "),
        StepCondition::Any(any) => joined(any, " or "),
    }
}

/// Puts a text on one line and removes everything that would move a cursor or hide what follows.
fn clean(text: &str) -> String {
    let visible = |c: char| {
        let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
        if c.is_control() || hides { ' ' } else { c }
    };
    let text: String = text.chars().map(visible).collect();
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Returns the width of a text in columns; wide characters take two.
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

/// Wraps a text into lines of at most `width` columns; longer words are cut.
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
