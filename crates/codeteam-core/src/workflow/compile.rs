//! Reads a workflow and compiles it into the graph that the kernel runs.

mod parts;

use std::collections::BTreeMap;

use super::expand;
use super::file::{
    FileAnswer, FileCheck, FileRetry, FileStep, OnTaskFailure, OrderedMap, WorkflowFile,
};
use super::shape::{self, WorkflowLookup};
use super::{
    Check, CommitApproval, EachItem, ExhaustionPolicy, ExitTarget, PersonAnswer, RoleStep, Step,
    StepKind, Workflow, check,
};
use crate::depth::SmallChangeLimits;
use crate::ids::{RoleName, StepId, is_plain};
use crate::retry;
use crate::role::{ResolvedRole, Role, RoleCatalog, RoleKind, RoleSource, SourceLayer};
use crate::yaml::{
    Diagnostic, FileProblems, ScalarOr, SourceFiles, SourcePosition, WithPosition, YamlNode, meant,
    read, typed,
};

/// How long an attempt may take if nothing says otherwise.
const TIMEOUT_MS: u64 = 30 * 60 * 1_000;
/// How long a check may take if nothing says otherwise.
const CHECK_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
/// How many steps a frame may enter if nothing says otherwise.
const MAX_STEPS: u32 = 100;

/// A workflow with the roles it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledWorkflow {
    /// The graph.
    pub workflow: Workflow,
    /// What it is for, in a line.
    pub description: String,
    /// Its roles.
    pub roles: BTreeMap<RoleName, Role>,
    /// Where each of its roles is said, the nearest source first, by what the workflow calls it.
    pub sources: BTreeMap<RoleName, Vec<RoleSource>>,
    /// What is told to every role.
    pub rules: Vec<String>,
    /// What a person should know about how the file was understood.
    pub notes: Vec<String>,
}

/// What a workflow is compiled with.
#[derive(Clone, Debug, Default)]
pub struct CompileInputs {
    /// All roles there are.
    pub book: RoleCatalog,
    /// What `gate: project` checks.
    pub checks: Vec<Check>,
    /// Retry policies by name, over those that codeteam has.
    pub policies: BTreeMap<String, FileRetry>,
    /// Roles that are played by another one.
    pub cast: BTreeMap<String, String>,
    /// How many workers play a role, where a step does not say.
    pub instances: BTreeMap<String, u32>,
    /// How long one attempt may take if a step does not say.
    pub timeout_ms: Option<u64>,
    /// How often an attempt is tried if a step does not say.
    pub retry: Option<retry::RetryPolicy>,
    /// How many steps a frame may enter if the workflow does not say.
    pub max_steps: Option<u32>,
    /// How many tasks are worked on side by side, in place of what the workflow says.
    pub max_parallel_tasks: Option<usize>,
    /// Files of these patterns are tests.
    pub tests: Vec<String>,
    /// Who judges where the setting `security_review` asks for it.
    pub security_role: Option<String>,
    /// What counts as a small change.
    pub small_change: Option<SmallChangeLimits>,
    /// Before which commits a person is asked, whatever the workflow says.
    pub asks_before: CommitApproval,
}

/// Compiles a workflow file that has its roles in itself. `project_checks` stand in for
/// `gate: project`.
pub fn compile(
    file: &str,
    text: &str,
    project_checks: &[Check],
) -> Result<CompiledWorkflow, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.problems([fault]))?;
    let mut surroundings = CompileInputs {
        checks: project_checks.to_vec(),
        ..CompileInputs::default()
    };
    let mut find = |_: &str, _: usize| Ok(None);
    build("workflow", node, &mut surroundings, &mut find).map_err(|faults| sources.problems(faults))
}

/// Compiles a workflow with everything it extends and all roles it names.
pub fn build(
    name: &str,
    node: YamlNode,
    surroundings: &mut CompileInputs,
    find: &mut WorkflowLookup<'_>,
) -> Result<CompiledWorkflow, Vec<Diagnostic>> {
    let mut shape = shape::assemble(name, node, find)?;
    surroundings.book.forget(SourceLayer::Workflow);
    if let Some(roles) = shape.node.take("roles") {
        let Some(entries) = roles.as_map() else {
            let message = format!("expected roles by name, found {}", roles.kind());
            return Err(vec![Diagnostic::at(roles.place, message)]);
        };
        for (key, node) in entries {
            let mut node = node.clone();
            if node.is_null() {
                node = YamlNode::empty(key.place);
            }
            surroundings
                .book
                .add(SourceLayer::Workflow, &key.name, node);
        }
    }
    let place = shape.node.place;
    let mut exits_at = check::ExitPositions::new();
    places_of_exits(&shape.node, &mut exits_at);
    let file: WorkflowFile = typed(&shape.node)?;
    let mut compiler = WorkflowCompiler {
        surroundings,
        scopes: shape.scopes,
        named: BTreeMap::new(),
        checks: file.checks.clone(),
        policies: file.policies.clone(),
        steps: BTreeMap::new(),
        lines: BTreeMap::new(),
        exits_at,
        roles: BTreeMap::new(),
        sources: BTreeMap::new(),
        faults: Vec::new(),
        notes: Vec::new(),
    };
    compiler.all_of_it(name, place, file)
}

/// Where the ways out of all steps are said.
fn places_of_exits(owner: &YamlNode, places: &mut check::ExitPositions) {
    let steps = owner.get("steps").and_then(YamlNode::as_map);
    for (name, step) in steps.unwrap_or_default() {
        for key in ["next", "on_fail", "on_reject", "on_conflict"] {
            // What codeteam has put there itself has no place.
            let said = step.get(key).map(|node| node.place);
            if let Some(place) = said.filter(|place| place.line > 0) {
                places.insert((name.name.clone(), key), place);
            }
        }
        places_of_exits(step, places);
    }
}

pub(super) struct WorkflowCompiler<'a> {
    pub(super) surroundings: &'a mut CompileInputs,
    scopes: Vec<String>,
    /// Roles by what the workflow calls them.
    named: BTreeMap<String, Option<ResolvedRole>>,
    pub(super) checks: BTreeMap<String, ScalarOr<FileCheck>>,
    policies: BTreeMap<String, FileRetry>,
    steps: BTreeMap<StepId, Step>,
    lines: BTreeMap<StepId, SourcePosition>,
    exits_at: check::ExitPositions,
    roles: BTreeMap<RoleName, Role>,
    sources: BTreeMap<RoleName, Vec<RoleSource>>,
    pub(super) faults: Vec<Diagnostic>,
    pub(super) notes: Vec<String>,
}

impl WorkflowCompiler<'_> {
    fn all_of_it(
        &mut self,
        name: &str,
        place: SourcePosition,
        mut file: WorkflowFile,
    ) -> Result<CompiledWorkflow, Vec<Diagnostic>> {
        let mut graph = expand::StepGraph {
            start: file.start.take(),
            entries: std::mem::take(&mut file.steps.0),
        };
        if !file.sequence.is_empty() {
            self.sequence(&mut file, &mut graph, place);
        }
        expand::all(self, &file, &mut graph);
        let start = match (&graph.start, graph.entries.first()) {
            (Some(start), _) => start.clone(),
            (None, Some((first, _))) => first.clone(),
            (None, None) => {
                let fault = Diagnostic::at(place, format!("the workflow `{name}` has no steps"));
                let hint = "say `steps`, a `sequence`, or which workflow it `extends`";
                self.faults.push(fault.hint(hint));
                return Err(std::mem::take(&mut self.faults));
            }
        };
        self.graph(graph.entries, None);
        let given = |own: &str| {
            if own.is_empty() {
                name.to_owned()
            } else {
                own.to_owned()
            }
        };
        let max_steps = self.surroundings.max_steps.unwrap_or(MAX_STEPS);
        let max_rounds = file.limits.max_rounds.resolve(file.max_iterations);
        let stagnant = max_rounds.is_none().then(super::stagnant_rounds).flatten();
        let workflow = Workflow {
            name: given(&file.name),
            start: StepId(start.value.clone()),
            steps: std::mem::take(&mut self.steps),
            max_steps: file.limits.max_steps.resolve(Some(max_steps)),
            max_rounds,
            max_stagnant_rounds: file.limits.max_stagnant_rounds.resolve(stagnant),
            on_exhausted: file.on_exhausted.unwrap_or(match file.on_max_iterations {
                Some(super::file::OnMaxIterations::Escalate) => ExhaustionPolicy::Ask,
                Some(super::file::OnMaxIterations::Fail) | None => ExhaustionPolicy::Fail,
            }),
            severity_floor: file.severity_floor,
            settings: file
                .settings
                .iter()
                .map(|(name, on)| (name.clone(), on.value))
                .collect(),
            small_change: self.surroundings.small_change.clone(),
        };
        let known = workflow.steps.get(&workflow.start);
        if known.is_none_or(|step| step.scope.is_some()) && self.faults.is_empty() {
            let names = workflow.steps.values().filter(|step| step.scope.is_none());
            let hint = meant(&start.value, names.map(|step| step.id.as_str()));
            let message = format!(
                "`start` names `{}`, which is not one of the workflow's steps",
                start.value
            );
            self.faults
                .push(Diagnostic::at(start.place, message).maybe(hint));
        }
        if self.faults.is_empty() {
            self.faults = check::check(&workflow, &self.roles, &self.lines, &self.exits_at);
        }
        if !self.faults.is_empty() {
            return Err(std::mem::take(&mut self.faults));
        }
        self.notes.sort();
        self.notes.dedup();
        Ok(CompiledWorkflow {
            workflow,
            description: file.description,
            roles: std::mem::take(&mut self.roles),
            sources: std::mem::take(&mut self.sources),
            rules: file.rules.unwrap_or_default(),
            notes: std::mem::take(&mut self.notes),
        })
    }

    pub(super) fn fault(&mut self, place: SourcePosition, message: impl Into<String>) {
        self.faults.push(Diagnostic::at(place, message));
    }

    /// The role that the workflow calls by a name.
    pub(super) fn role(&mut self, name: &WithPosition<String>) -> Option<ResolvedRole> {
        if let Some(known) = self.named.get(&name.value) {
            return known.clone();
        }
        let book = &self.surroundings.book;
        let played = self.surroundings.cast.get(&name.value);
        let called = played.unwrap_or(&name.value);
        let resolved = match book.resolve_in(&self.scopes, called) {
            None => Err(vec![crate::role::unknown(
                book,
                &self.scopes,
                called,
                name.place,
            )]),
            Some(resolved) => resolved.map(|mut resolved| {
                resolved.role.name = RoleName(called.replace('/', "-"));
                resolved
            }),
        };
        let resolved = match resolved {
            Ok(resolved) => {
                let mut sources = vec![resolved.top.clone()];
                sources.extend(resolved.chain.iter().cloned());
                self.sources.insert(resolved.role.name.clone(), sources);
                Some(resolved)
            }
            Err(faults) => {
                self.faults.extend(faults);
                None
            }
        };
        self.named.insert(name.value.clone(), resolved.clone());
        resolved
    }

    /// What the role or the roles of a step owe.
    pub(super) fn kind_of(&mut self, step: &FileStep) -> Option<RoleKind> {
        let name = step.role.as_ref().or(step.roles.first())?.clone();
        self.role(&name).map(|resolved| resolved.role.kind)
    }

    fn graph(&mut self, entries: Vec<(WithPosition<String>, FileStep)>, scope: Option<&StepId>) {
        // A conflict goes back to whoever makes changes in this graph, unless the step says else.
        let mut implementer = None;
        for (name, step) in &entries {
            if implementer.is_none() && self.kind_of(step) == Some(RoleKind::Implementer) {
                implementer = Some(StepId(name.value.clone()));
            }
        }
        for (name, raw) in entries {
            let (id, place) = (StepId(name.value.clone()), name.place);
            if matches!(name.value.as_str(), "done" | "fail") || !is_plain(&name.value) {
                self.fault(place, format!("`{id}` cannot be the name of a step"));
                continue;
            }
            if self.steps.contains_key(&id) {
                let message =
                    format!("two steps are called `{id}`; names are unique in a workflow");
                self.fault(place, message);
                continue;
            }
            if let Some(step) = self.step(&id, place, raw, scope, implementer.as_ref()) {
                self.lines.insert(id.clone(), place);
                self.steps.insert(id, step);
            }
        }
    }

    fn step(
        &mut self,
        id: &StepId,
        place: SourcePosition,
        mut raw: FileStep,
        scope: Option<&StepId>,
        implementer: Option<&StepId>,
    ) -> Option<Step> {
        let when = raw.when.take();
        let rebound = raw.rebound.take();
        let (next, on_fail, max_rounds) = (raw.next.take(), raw.on_fail.take(), raw.max_rounds);
        let kind = self.kind(id, place, raw, implementer)?;
        let next = match (next, &kind) {
            (Some(next), _) => ExitTarget::from(next),
            // A person's answers say where to go; what is integrated is done.
            (
                None,
                StepKind::Person { .. } | StepKind::Commit { .. } | StepKind::Publish { .. },
            ) => ExitTarget::Done,
            (None, _) => {
                let fault = Diagnostic::at(place, format!("the step `{id}` has no `next`"));
                self.faults
                    .push(fault.hint("name a step, `done` or `fail`"));
                return None;
            }
        };
        Some(Step {
            id: id.clone(),
            scope: scope.cloned(),
            kind,
            when,
            next,
            on_fail: on_fail.map(ExitTarget::from),
            max_rounds,
            rebound,
        })
    }

    fn kind(
        &mut self,
        id: &StepId,
        place: SourcePosition,
        raw: FileStep,
        implementer: Option<&StepId>,
    ) -> Option<StepKind> {
        let said = [
            raw.role.is_some() || !raw.roles.is_empty(),
            raw.gate.is_some(),
            raw.person.is_some(),
            raw.each.is_some(),
            raw.commit.is_some(),
            raw.publish.is_some(),
        ];
        if said.iter().filter(|s| **s).count() != 1 {
            let message = format!("the step `{id}` must say one thing to do");
            let fault = Diagnostic::at(place, message);
            let hint = "one of `role`, `roles`, `gate`, `person`, `each`, `commit`, `publish`";
            self.faults.push(fault.hint(hint));
            return None;
        }
        if let Some(question) = raw.person {
            return self.person(id, place, question, raw.answers, raw.exhausted);
        }
        if let Some(gate) = raw.gate {
            return self.gate(id, &gate);
        }
        if raw.each.is_some() {
            return self.each(id, place, raw);
        }
        if raw.commit.is_some() {
            let on_conflict = raw.on_conflict.map(StepId).or_else(|| implementer.cloned());
            return Some(StepKind::Commit { on_conflict });
        }
        if let Some(command) = raw.publish {
            return Some(StepKind::Publish { command });
        }
        self.role_step(raw)
    }

    fn role_step(&mut self, raw: FileStep) -> Option<StepKind> {
        let mut names: Vec<WithPosition<String>> = raw.role.into_iter().chain(raw.roles).collect();
        let mut slots = Vec::new();
        let mut plans = false;
        let (usual, mut small_from) = (names.len(), None);
        names.extend(raw.small_change);
        for (index, name) in names.into_iter().enumerate() {
            if index == usual {
                small_from = u32::try_from(slots.len()).ok();
            }
            let resolved = self.role(&name)?;
            let role = resolved.role;
            let said = raw.instances;
            let usual = self.surroundings.instances.get(&name.value).copied();
            for _ in 0..said.or(usual).unwrap_or(1).clamp(1, 64) {
                slots.push(role.name.clone());
            }
            plans |= role.kind == RoleKind::Planner;
            self.roles.insert(role.name.clone(), role);
        }
        let retry = self.retry(raw.retry.as_ref(), raw.max_retries)?;
        let usual = self.surroundings.timeout_ms.unwrap_or(TIMEOUT_MS);
        Some(StepKind::Role(Box::new(RoleStep {
            slots,
            small_from,
            join: raw.join.unwrap_or_default(),
            on_reject: raw.on_reject.map(ExitTarget::from),
            retry,
            timeout_ms: raw
                .timeout_seconds
                .map_or(usual, |s| s.saturating_mul(1_000)),
            stall_ms: raw
                .stall_seconds
                .map_or_else(super::stall_ms, |s| s.saturating_mul(1_000)),
            degrade: raw.degrade,
            max_question_rounds: raw.max_question_rounds.unwrap_or(u32::from(!plans)),
            allow_empty: raw.allow_empty,
            outputs: raw.outputs,
            scope: raw.context_scope.unwrap_or_default(),
            writes: raw.writes,
            config: raw.config,
        })))
    }

    fn person(
        &mut self,
        id: &StepId,
        place: SourcePosition,
        question: String,
        answers: OrderedMap<ScalarOr<FileAnswer>>,
        exhausted: bool,
    ) -> Option<StepKind> {
        if answers.0.is_empty() {
            let fault = Diagnostic::at(place, format!("`{id}` asks a person and allows no answer"));
            self.faults
                .push(fault.hint("`answers:` with a name and a `next` each"));
            return None;
        }
        let answer = |(name, answer): (WithPosition<String>, ScalarOr<FileAnswer>)| {
            let full = match answer {
                ScalarOr::Word(next) => FileAnswer {
                    next,
                    ..FileAnswer::default()
                },
                ScalarOr::Full(full) => full,
            };
            PersonAnswer {
                name: name.value,
                next: ExitTarget::from(full.next),
                rejects: full.rejects,
                resets: full.resets,
                edits: full.edits,
                reverts: full.reverts,
            }
        };
        let answers = answers.0.into_iter().map(answer).collect();
        Some(StepKind::Person {
            question,
            answers,
            exhausted,
        })
    }

    fn each(&mut self, id: &StepId, place: SourcePosition, raw: FileStep) -> Option<StepKind> {
        let first = raw.steps.0.first().map(|(name, _)| name.value.clone());
        let (Some(start), Some(over)) = (raw.start.or(first), raw.each) else {
            self.fault(place, format!("`{id}` has no steps of its own"));
            return None;
        };
        self.graph(raw.steps.0, Some(id));
        let choose = match &raw.choose {
            Some(name) => Some(self.chooser(name)?),
            None => None,
        };
        let said = raw.cap.unwrap_or(1).max(1);
        let cap = match (self.surroundings.max_parallel_tasks, raw.cap) {
            (Some(most), Some(1)) if over == EachItem::Task && most > 1 => {
                self.notes.push(format!(
                    "`{id}` takes one task after the other (`cap: 1`), whatever \
                     `limits.max_parallel_tasks` says"
                ));
                1
            }
            (Some(most), _) if over == EachItem::Task => most.max(1),
            _ => said,
        };
        Some(StepKind::Each {
            over,
            start: StepId(start),
            cap,
            halt: raw.on_task_failure == OnTaskFailure::Halt,
            choose,
        })
    }

    /// The role that says which task comes first.
    fn chooser(&mut self, name: &WithPosition<String>) -> Option<RoleName> {
        let role = self.role(name)?.role;
        if role.kind != RoleKind::Scribe {
            let message = format!("`{}` cannot choose a task: it is no scribe", name.value);
            self.fault(name.place, message);
            return None;
        }
        let chosen = role.name.clone();
        self.roles.insert(chosen.clone(), role);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests;
