//! Compiles a workflow file into the graph that the kernel runs.

mod assigned;
mod demands;
mod parts;

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::ids::{RoleName, StepId, is_valid_name};
use codeteam_core::retry;
use codeteam_core::role::{Role, RoleKind};
use codeteam_core::spelling::suggest_word;
use codeteam_core::workflow::SmallChangeLimits;
use codeteam_core::workflow::{
    Check, CommitApproval, EachItem, ExhaustionPolicy, ExitTarget, PersonAnswer, RoleStep, Step,
    StepKind, Workflow,
};

pub(super) use self::assigned::{default_role, named_roles, role_checks};
use super::assembly::{self, WorkflowLookup};
use super::check;
use super::expand;
use super::file::{
    EXIT_KEYS, FileAnswer, FileCheck, FileRetry, FileStep, OnTaskFailure, OrderedMap, WorkflowFile,
};
use crate::roles::{ResolvedRole, RoleCatalog, RoleSource, SourceLayer};
use crate::yaml::{
    Diagnostic, FileProblems, ScalarOr, SourceFiles, SourcePosition, WithPosition, YamlNode,
    deserialize_node, read,
};

/// The default time limit for an attempt.
const TIMEOUT_MS: u64 = 30 * 60 * 1_000;
/// The default time limit for a check.
const CHECK_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
/// The default number of steps that a frame may enter.
const MAX_STEPS: u32 = 100;

/// A workflow that has been compiled and checked, together with the roles it names.
///
/// This is the result of [`compile_workflow`]. It is complete: nothing has to be looked up later to
/// run it. [`workflow`](Self::workflow) is the graph that the kernel executes;
/// [`roles`](Self::roles) has an entry for every role that a step of the graph names. The remaining
/// fields are for prompts and for people: the description, the rules, where each role comes from,
/// and notes on how the file was understood.
///
/// A value of this type exists only if the file had no mistakes: the compiler collects all
/// diagnostics and returns either them or the workflow, never both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledWorkflow {
    /// The graph of steps.
    pub workflow: Workflow,
    /// One line on what the workflow is for.
    pub description: String,
    /// The resolved roles.
    pub roles: BTreeMap<RoleName, Role>,
    /// The sources that define each role, the nearest first, by the role's name.
    pub sources: BTreeMap<RoleName, Vec<RoleSource>>,
    /// The rules that every role's prompt contains.
    pub rules: Vec<String>,
    /// The roles that no step names, and that the plan may name for its tasks.
    pub assignable: BTreeSet<RoleName>,
    /// Notes for a person on how the file was understood.
    pub notes: Vec<String>,
}

/// Everything that a workflow is compiled with, besides its own file: the roles, the project's
/// checks, and the defaults from the configuration.
///
/// Where a field is a default, the workflow or its step takes precedence. The exceptions are
/// [`max_parallel_tasks`](Self::max_parallel_tasks) and [`asks_before`](Self::asks_before), which
/// overrule the workflow.
///
/// [`compile_workflow`] takes the inputs by mutable reference, because it first replaces the role
/// layer that belongs to the workflow. The same inputs can be reused for the next workflow.
#[derive(Clone, Debug, Default)]
pub struct CompileInputs {
    /// All available roles.
    pub roles: RoleCatalog,
    /// The checks that `gate: project` runs.
    pub checks: Vec<Check>,
    /// Retry policies by name; they take precedence over the built-in ones.
    pub policies: BTreeMap<String, FileRetry>,
    /// Roles that are played by another role, by name.
    pub role_substitutes: BTreeMap<String, String>,
    /// The number of workers per role, where a step does not set it.
    pub instances: BTreeMap<String, u32>,
    /// The time limit for one attempt, where a step does not set it.
    pub timeout_ms: Option<u64>,
    /// The retry policy, where a step does not set one.
    pub retry: Option<retry::RetryPolicy>,
    /// The number of steps that a frame may enter, where the workflow does not set it.
    pub max_steps: Option<u32>,
    /// The number of tasks that run in parallel; this overrules the workflow.
    pub max_parallel_tasks: Option<usize>,
    /// The number of times that a worker may ask its model in one attempt, where a role does not set
    /// it; this overrules the workflow.
    pub max_turns: Option<u32>,
    /// The patterns of files that are tests.
    pub test_paths: Vec<String>,
    /// The role that reviews where the setting `security_review` is on.
    pub security_role: Option<String>,
    /// The limits up to which a change counts as small.
    pub small_change: Option<SmallChangeLimits>,
    /// The score from which on a result is good enough, where the workflow does not set it.
    pub quality_threshold: Option<u8>,
    /// The number of characters from which on contributions count as long, where the workflow does
    /// not set it.
    pub digest_from: Option<u32>,
    /// The commits before which a person is asked, whatever the workflow says.
    pub asks_before: CommitApproval,
}

/// Compiles a workflow file that contains its own roles. `project_checks` are the checks of
/// `gate: project`.
pub fn compile_file(
    file: &str,
    text: &str,
    project_checks: &[Check],
) -> Result<CompiledWorkflow, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.to_problems([fault]))?;
    let mut surroundings = CompileInputs {
        checks: project_checks.to_vec(),
        ..CompileInputs::default()
    };
    let mut find = |_: &str, _: usize| Ok(None);
    compile_workflow("workflow", node, &mut surroundings, &mut find)
        .map_err(|faults| sources.to_problems(faults))
}

/// Compiles a workflow with everything it extends and all roles it names. `find` looks up the
/// workflows that it extends.
///
/// The steps are: assemble the tree, add the workflow's own roles to the catalog, expand the short
/// forms, compile every step, and check the graph. A mistake in the tree ends the compilation
/// early. The mistakes of the expansion and of all steps are collected and returned together; the
/// graph is checked only if there are none.
pub fn compile_workflow(
    name: &str,
    node: YamlNode,
    surroundings: &mut CompileInputs,
    find: &mut WorkflowLookup<'_>,
) -> Result<CompiledWorkflow, Vec<Diagnostic>> {
    let mut shape = assembly::assemble(name, node, find)?;
    surroundings.roles.remove_layer(SourceLayer::Workflow);
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
                .roles
                .add(SourceLayer::Workflow, &key.name, node);
        }
    }
    let place = shape.node.place;
    let mut exits_at = check::ExitPositions::new();
    collect_exit_positions(&shape.node, &mut exits_at);
    let file: WorkflowFile = deserialize_node(&shape.node)?;
    let faults = turns_fault(&shape.node, &file).into_iter().collect();
    let mut compiler = WorkflowCompiler {
        surroundings,
        scopes: shape.scopes,
        resolved_roles: BTreeMap::new(),
        checks: file.checks.clone(),
        policies: file.policies.clone(),
        steps: BTreeMap::new(),
        lines: BTreeMap::new(),
        exits_at,
        roles: BTreeMap::new(),
        assignable: BTreeSet::new(),
        sources: BTreeMap::new(),
        faults,
        notes: Vec::new(),
    };
    compiler.compile_all(name, place, file)
}

/// Returns a diagnostic if the workflow leaves its workers no turn.
fn turns_fault(node: &YamlNode, file: &WorkflowFile) -> Option<Diagnostic> {
    if file.limits.max_turns.resolve(None) != Some(0) {
        return None;
    }
    let said = node.get("limits").and_then(|node| node.get("max_turns"));
    let place = said.map_or(node.place, |said| said.place);
    let message = "`limits.max_turns` is 0, so that no worker could ask its model even once";
    Some(Diagnostic::at(place, message).with_hint("leave it out for no limit"))
}

/// Collects the positions of the exits of all steps.
fn collect_exit_positions(owner: &YamlNode, places: &mut check::ExitPositions) {
    let steps = owner.get("steps").and_then(YamlNode::as_map);
    for (name, step) in steps.unwrap_or_default() {
        for key in EXIT_KEYS {
            // Exits that codeteam added itself have no position.
            let said = step.get(key).map(|node| node.place);
            if let Some(place) = said.filter(|place| place.line > 0) {
                places.insert((name.name.clone(), key), place);
            }
        }
        collect_exit_positions(step, places);
    }
}

/// The state of one compilation.
///
/// The compiler expands the short forms first and then compiles the steps one by one. It does not
/// stop at a mistake: it records the diagnostic in `faults` and continues, so that a person sees
/// all mistakes at once. Only if there are none is the finished graph checked.
///
/// Roles are resolved when a step first names them, and cached, because expansion already needs to
/// know their kinds and gates.
pub(super) struct WorkflowCompiler<'a> {
    pub(super) surroundings: &'a mut CompileInputs,
    scopes: Vec<String>,
    /// The resolved roles, by the name that the workflow uses for them.
    resolved_roles: BTreeMap<String, Option<ResolvedRole>>,
    pub(super) checks: BTreeMap<String, ScalarOr<FileCheck>>,
    policies: BTreeMap<String, FileRetry>,
    steps: BTreeMap<StepId, Step>,
    lines: BTreeMap<StepId, SourcePosition>,
    exits_at: check::ExitPositions,
    roles: BTreeMap<RoleName, Role>,
    /// Those of the roles that no step names.
    assignable: BTreeSet<RoleName>,
    sources: BTreeMap<RoleName, Vec<RoleSource>>,
    pub(super) faults: Vec<Diagnostic>,
    pub(super) notes: Vec<String>,
}

impl WorkflowCompiler<'_> {
    fn compile_all(
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
            self.expand_sequence(&mut file, &mut graph, place);
        }
        expand::expand_all(self, &file, &mut graph);
        let start = match (&graph.start, graph.entries.first()) {
            (Some(start), _) => start.clone(),
            (None, Some((first, _))) => first.clone(),
            (None, None) => {
                let fault = Diagnostic::at(place, format!("the workflow `{name}` has no steps"));
                let hint = "say `steps`, a `sequence`, or which workflow it `extends`";
                self.faults.push(fault.with_hint(hint));
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
        self.add_demanded_checks();
        self.check_locked_files();
        let turns = file.limits.max_turns.resolve(None);
        if let Some(most) = self.surroundings.max_turns.or(turns) {
            for role in self.roles.values_mut() {
                role.means.max_turns.get_or_insert(most);
            }
        }
        let max_rounds = file.limits.max_rounds.resolve(file.max_iterations);
        let stagnant = max_rounds
            .is_none()
            .then(codeteam_core::workflow::stagnant_rounds)
            .flatten();
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
            quality_threshold: self.quality_threshold(file.quality_threshold.as_ref()),
            digest_from: file.digest_from.or(self.surroundings.digest_from),
        };
        let known = workflow.steps.get(&workflow.start);
        if known.is_none_or(|step| step.scope.is_some()) && self.faults.is_empty() {
            let names = workflow.steps.values().filter(|step| step.scope.is_none());
            let hint = suggest_word(&start.value, names.map(|step| step.id.as_str()));
            let message = format!(
                "`start` names `{}`, which is not one of the workflow's steps",
                start.value
            );
            self.faults
                .push(Diagnostic::at(start.place, message).with_optional_hint(hint));
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
            assignable: std::mem::take(&mut self.assignable),
            notes: std::mem::take(&mut self.notes),
        })
    }

    pub(super) fn fault(&mut self, place: SourcePosition, message: impl Into<String>) {
        self.faults.push(Diagnostic::at(place, message));
    }

    /// Returns the role that the workflow refers to by a name.
    pub(super) fn role(&mut self, name: &WithPosition<String>) -> Option<ResolvedRole> {
        if let Some(known) = self.resolved_roles.get(&name.value) {
            return known.clone();
        }
        let book = &self.surroundings.roles;
        let played = self.surroundings.role_substitutes.get(&name.value);
        let called = played.unwrap_or(&name.value);
        let resolved = match book.resolve_in(&self.scopes, called) {
            None => Err(vec![crate::roles::unknown_role(
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
        self.resolved_roles
            .insert(name.value.clone(), resolved.clone());
        resolved
    }

    /// Returns the role kind of a step, taken from its first role.
    pub(super) fn kind_of(&mut self, step: &FileStep) -> Option<RoleKind> {
        let name = named_roles(step).next()?.clone();
        self.role(&name).map(|resolved| resolved.role.kind)
    }

    fn graph(&mut self, entries: Vec<(WithPosition<String>, FileStep)>, scope: Option<&StepId>) {
        // A conflict goes back to the first implementer of this graph, unless the step says
        // otherwise.
        let mut implementer = None;
        for (name, step) in &entries {
            if implementer.is_none() && self.kind_of(step) == Some(RoleKind::Implementer) {
                implementer = Some(StepId(name.value.clone()));
            }
        }
        for (name, raw) in entries {
            let (id, place) = (StepId(name.value.clone()), name.place);
            if matches!(name.value.as_str(), "done" | "fail") || !is_valid_name(&name.value) {
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
            // A person's answers decide where to go; after a commit or a publish step the work is
            // done.
            (
                None,
                StepKind::Person { .. } | StepKind::Commit { .. } | StepKind::Publish { .. },
            ) => ExitTarget::Done,
            (None, _) => {
                let fault = Diagnostic::at(place, format!("the step `{id}` has no `next`"));
                self.faults
                    .push(fault.with_hint("name a step, `done` or `fail`"));
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
            raw.lock.is_some(),
            raw.commit.is_some(),
            raw.publish.is_some(),
        ];
        if said.iter().filter(|s| **s).count() != 1 {
            let message = format!("the step `{id}` must say one thing to do");
            let fault = Diagnostic::at(place, message);
            let hint =
                "one of `role`, `roles`, `gate`, `person`, `each`, `lock`, `commit`, `publish`";
            self.faults.push(fault.with_hint(hint));
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
        if raw.lock.is_some() {
            return Some(StepKind::Lock);
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
        let assigned = self.is_assigned(&raw)?;
        let own = if assigned { raw.default_role } else { raw.role };
        let mut names: Vec<WithPosition<String>> = own.into_iter().chain(raw.roles).collect();
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
            self.assignable.remove(&role.name);
            self.roles.insert(role.name.clone(), role);
        }
        if assigned {
            slots.truncate(1);
            self.add_assignable_roles(slots.first()?);
        }
        let retry = self.retry(raw.retry.as_ref(), raw.max_retries)?;
        let usual = self.surroundings.timeout_ms.unwrap_or(TIMEOUT_MS);
        Some(StepKind::Role(Box::new(RoleStep {
            slots,
            small_from,
            join: raw.join.unwrap_or_default(),
            on_reject: raw.on_reject.map(ExitTarget::from),
            on_interface_change: raw.on_interface_change.map(StepId),
            retry,
            timeout_ms: raw
                .timeout_seconds
                .map_or(usual, |s| s.saturating_mul(1_000)),
            stall_ms: raw
                .stall_seconds
                .map_or_else(codeteam_core::workflow::stall_ms, |s| {
                    s.saturating_mul(1_000)
                }),
            degrade: raw.degrade,
            max_question_rounds: raw.max_question_rounds.unwrap_or(u32::from(!plans)),
            allow_empty: raw.allow_empty,
            outputs: raw.outputs,
            assigned,
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
                .push(fault.with_hint("`answers:` with a name and a `next` each"));
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
            Some(name) => Some(self.choosing_role(name)?),
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

    /// Returns the role that decides which task comes first.
    fn choosing_role(&mut self, name: &WithPosition<String>) -> Option<RoleName> {
        let role = self.role(name)?.role;
        if role.kind != RoleKind::Scribe {
            let message = format!("`{}` cannot choose a task: it is not a scribe", name.value);
            self.fault(name.place, message);
            return None;
        }
        let chosen = role.name.clone();
        self.assignable.remove(&chosen);
        self.roles.insert(chosen.clone(), role);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests;
