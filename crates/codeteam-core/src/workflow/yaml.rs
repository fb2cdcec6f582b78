//! Reads a workflow file and compiles it.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{
    Answer, Check, CheckKind, Condition, Exhausted, Join, Over, Rebound, RoleStep, Step, StepKind,
    Target, Workflow, check,
};
use crate::findings::Severity;
use crate::ids::{RoleName, StepId, WorkerName, is_plain};
use crate::retry;
use crate::role::{Contract, Kind, Means, Mode, Provider, Role};
use crate::yaml::{Problem, Problems, nearest};

/// How long an attempt may take if nothing says otherwise.
const TIMEOUT_MS: u64 = 30 * 60 * 1_000;
/// How long a check may take if nothing says otherwise.
const CHECK_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
/// How many steps a frame may enter if nothing says otherwise.
const MAX_STEPS: u32 = 100;

/// A workflow with the roles it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The graph.
    pub workflow: Workflow,
    /// Its roles.
    pub roles: BTreeMap<RoleName, Role>,
}

/// Compiles a workflow file. `project_checks` stand in for `gate: project`.
pub fn compile(file: &str, text: &str, project_checks: &[Check]) -> Result<Compiled, Problems> {
    let raw: File = crate::yaml::parse(file, text)?;
    let mut compiler = Compiler {
        project_checks,
        steps: BTreeMap::new(),
        lines: BTreeMap::new(),
        roles: BTreeMap::new(),
        problems: Vec::new(),
    };
    for (name, role) in raw.roles.0 {
        compiler.role(&name, role);
    }
    compiler.graph(raw.steps.0, None);
    let Compiler {
        steps,
        lines,
        roles,
        mut problems,
        ..
    } = compiler;
    let start = StepId(raw.start.value.clone());
    let workflow = Workflow {
        name: raw.name,
        start: start.clone(),
        max_steps: raw.limits.max_steps.resolve(Some(MAX_STEPS)),
        max_rounds: raw.limits.max_rounds.resolve(None),
        on_exhausted: raw.on_exhausted,
        severity_floor: raw.severity_floor,
        settings: raw.settings,
        steps,
    };
    if workflow.steps.get(&start).is_none_or(|s| s.scope.is_some()) {
        let message = format!("`start` names `{start}`, which is not one of the workflow's steps");
        problems.push(Problem::at(raw.start.referenced, message));
    }
    if problems.is_empty() {
        problems = check::check(&workflow, &roles, &lines);
    }
    if problems.is_empty() {
        Ok(Compiled { workflow, roles })
    } else {
        problems.sort_by_key(|p| (p.line, p.column));
        Err(Problems {
            file: file.to_owned(),
            problems,
        })
    }
}

struct Compiler<'a> {
    project_checks: &'a [Check],
    steps: BTreeMap<StepId, Step>,
    lines: BTreeMap<StepId, Location>,
    roles: BTreeMap<RoleName, Role>,
    problems: Vec<Problem>,
}

impl Compiler<'_> {
    fn problem(&mut self, place: Location, message: impl Into<String>) {
        self.problems.push(Problem::at(place, message));
    }

    fn role(&mut self, name: &Spanned<String>, raw: FileRole) {
        if !is_plain(&name.value) {
            self.problem(
                name.referenced,
                format!("`{}` cannot be the name of a role", name.value),
            );
        }
        let role = Role {
            name: RoleName(name.value.clone()),
            kind: raw.kind,
            contract: raw.contract,
            workers: raw
                .worker
                .into_iter()
                .chain(raw.workers)
                .map(WorkerName)
                .collect(),
            prompt: raw.prompt,
            model: raw.model,
            exclude: raw.exclude,
            max_cost_microusd: raw.max_cost_microusd,
            means: Means {
                mode: raw.mode,
                allowed_tools: raw.allowed_tools,
                mcp_servers: raw.mcp_servers,
                max_turns: raw.max_turns,
                continues: raw.continues,
                use_planner: raw.use_planner,
                provider: raw.provider,
            },
            stance: String::new(),
            config: BTreeMap::new(),
            template: None,
        };
        self.roles.insert(role.name.clone(), role);
    }

    fn graph(&mut self, entries: Vec<(Spanned<String>, FileStep)>, scope: Option<&StepId>) {
        // A conflict goes back to whoever makes changes in this graph, unless the step says else.
        let implementer = entries.iter().find_map(|(name, raw)| {
            let role = self.roles.get(&RoleName(raw.role.clone()?.value))?;
            (role.kind == Kind::Implementer).then(|| StepId(name.value.clone()))
        });
        for (name, raw) in entries {
            let (id, place) = (StepId(name.value.clone()), name.referenced);
            if matches!(name.value.as_str(), "done" | "fail") || !is_plain(&name.value) {
                self.problem(place, format!("`{id}` cannot be the name of a step"));
                continue;
            }
            if self.steps.contains_key(&id) {
                let message =
                    format!("two steps are called `{id}`; names are unique in a workflow");
                self.problem(place, message);
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
        place: Location,
        mut raw: FileStep,
        scope: Option<&StepId>,
        implementer: Option<&StepId>,
    ) -> Option<Step> {
        let when = raw.when.take();
        let rebound = raw.rebound.take();
        let (next, on_fail, max_rounds) = (raw.next.take(), raw.on_fail.take(), raw.max_rounds);
        let kind = self.kind(id, place, raw, implementer)?;
        let next = match (next, &kind) {
            (Some(next), _) => Target::from(next),
            // A person's answers say where to go, each its own.
            (None, StepKind::Person { .. }) => Target::Done,
            (None, _) => {
                let problem = Problem::at(place, format!("the step `{id}` has no `next`"));
                self.problems
                    .push(problem.hint("name a step, `done` or `fail`"));
                return None;
            }
        };
        Some(Step {
            id: id.clone(),
            scope: scope.cloned(),
            kind,
            when,
            next,
            on_fail: on_fail.map(Target::from),
            max_rounds,
            rebound,
        })
    }

    fn kind(
        &mut self,
        id: &StepId,
        place: Location,
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
            self.problems.push(
                Problem::at(place, message)
                    .hint("one of `role`, `roles`, `gate`, `person`, `each`, `commit`, `publish`"),
            );
            return None;
        }
        if let Some(question) = raw.person {
            return self.person(id, place, question, raw.answers);
        }
        if let Some(gate) = raw.gate {
            return self.gate(id, place, gate);
        }
        if let Some(over) = raw.each {
            return self.each(
                id,
                place,
                over,
                raw.start,
                raw.cap,
                raw.on_task_failure,
                raw.steps,
            );
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
        let names: Vec<Spanned<String>> = raw.role.into_iter().chain(raw.roles).collect();
        let known: Vec<RoleName> = self.roles.keys().cloned().collect();
        let mut slots = Vec::new();
        for name in names {
            let role = RoleName(name.value);
            if !known.contains(&role) {
                let hint = nearest(role.as_str(), known.iter().map(RoleName::as_str))
                    .map(|w| format!("did you mean `{w}`?"));
                let mut problem =
                    Problem::at(name.referenced, format!("there is no role `{role}`"));
                problem.hint = hint;
                self.problems.push(problem);
                return None;
            }
            for _ in 0..raw.instances.unwrap_or(1).clamp(1, 64) {
                slots.push(role.clone());
            }
        }
        let retry = match raw.retry {
            None => retry::Policy::default(),
            Some(Retry::Policy(policy)) => policy,
            Some(Retry::Named(name)) => {
                let Some(policy) = retry::Policy::named(&name.value) else {
                    let message = format!("there is no retry policy `{}`", name.value);
                    let problem = Problem::at(name.referenced, message);
                    let hint = retry::Policy::NAMES.join(", ");
                    self.problems.push(problem.hint(hint));
                    return None;
                };
                policy
            }
        };
        Some(StepKind::Role(Box::new(RoleStep {
            slots,
            join: raw.join,
            on_reject: raw.on_reject.map(Target::from),
            retry,
            timeout_ms: raw
                .timeout_seconds
                .map_or(TIMEOUT_MS, |s| s.saturating_mul(1_000)),
            stall_ms: raw
                .stall_seconds
                .map_or_else(super::stall_ms, |s| s.saturating_mul(1_000)),
            degrade: raw.degrade,
            max_question_rounds: raw.max_question_rounds.unwrap_or(1),
            allow_empty: raw.allow_empty,
        })))
    }

    fn person(
        &mut self,
        id: &StepId,
        place: Location,
        question: String,
        answers: Entries<FileAnswer>,
    ) -> Option<StepKind> {
        if answers.0.is_empty() {
            let problem = Problem::at(place, format!("`{id}` asks a person and allows no answer"));
            self.problems
                .push(problem.hint("`answers:` with a name and a `next` each"));
            return None;
        }
        let answers = answers
            .0
            .into_iter()
            .map(|(name, answer)| {
                let (next, rejects, resets) = match answer {
                    FileAnswer::Next(next) => (next, false, false),
                    FileAnswer::Full {
                        next,
                        rejects,
                        resets,
                    } => (next, rejects, resets),
                };
                Answer {
                    name: name.value,
                    next: Target::from(next),
                    rejects,
                    resets,
                }
            })
            .collect();
        Some(StepKind::Person { question, answers })
    }

    fn gate(&mut self, id: &StepId, place: Location, gate: FileGate) -> Option<StepKind> {
        let raw = match gate {
            FileGate::Project(name) if name == "project" => {
                return Some(StepKind::Gate {
                    checks: self.project_checks.to_vec(),
                });
            }
            FileGate::Project(name) => {
                let problem = Problem::at(place, format!("`{name}` is no gate"));
                self.problems
                    .push(problem.hint("a list of checks, or `project` for the project's own"));
                return None;
            }
            FileGate::Checks(checks) => checks,
        };
        let mut checks = Vec::new();
        for check in raw {
            let FileCheck {
                name,
                command,
                exists,
                file,
                contains,
                lacks,
                timeout_seconds,
            } = check;
            let what = match (command, exists, file, contains, lacks) {
                (Some(command), None, None, None, None) => CheckKind::Command(command),
                (None, Some(path), None, None, None) => CheckKind::Exists(path),
                (None, None, Some(file), Some(text), None) => CheckKind::Contains { file, text },
                (None, None, Some(file), None, Some(text)) => CheckKind::Lacks { file, text },
                _ => {
                    let problem = Problem::at(place, format!("a check of `{id}` is not clear"));
                    self.problems.push(
                        problem
                            .hint("`command`, or `exists`, or `file` with `contains` or `lacks`"),
                    );
                    return None;
                }
            };
            let name = name.unwrap_or_else(|| match &what {
                CheckKind::Command(text) | CheckKind::Exists(text) => text.clone(),
                CheckKind::Contains { file, .. } | CheckKind::Lacks { file, .. } => file.clone(),
            });
            let timeout_ms = timeout_seconds.map_or(CHECK_TIMEOUT_MS, |s| s.saturating_mul(1_000));
            checks.push(Check {
                name,
                what,
                timeout_ms,
            });
        }
        Some(StepKind::Gate { checks })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the keys of one step, each used once"
    )]
    fn each(
        &mut self,
        id: &StepId,
        place: Location,
        over: Over,
        start: Option<String>,
        cap: Option<usize>,
        on_task_failure: OnTaskFailure,
        steps: Entries<FileStep>,
    ) -> Option<StepKind> {
        let Some(start) = start.or_else(|| steps.0.first().map(|(name, _)| name.value.clone()))
        else {
            self.problem(place, format!("`{id}` has no steps of its own"));
            return None;
        };
        self.graph(steps.0, Some(id));
        Some(StepKind::Each {
            over,
            start: StepId(start),
            cap: cap.unwrap_or(1).max(1),
            halt: on_task_failure == OnTaskFailure::Halt,
        })
    }
}

/// A YAML mapping whose order and places matter.
struct Entries<T>(Vec<(Spanned<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default, rename = "description")]
    _description: String,
    #[serde(alias = "initial_step")]
    start: Spanned<String>,
    #[serde(default)]
    limits: FileLimits,
    #[serde(default)]
    on_exhausted: Exhausted,
    #[serde(default)]
    severity_floor: Severity,
    #[serde(default)]
    settings: BTreeMap<String, bool>,
    #[serde(default)]
    roles: Entries<FileRole>,
    steps: Entries<FileStep>,
}

#[derive(serde::Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct FileLimits {
    max_steps: Bound,
    max_rounds: Bound,
}

#[derive(serde::Deserialize, Default)]
#[serde(untagged)]
enum Bound {
    #[default]
    Unsaid,
    Number(u32),
    Word(Unlimited),
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unlimited {
    Unlimited,
}

impl Bound {
    fn resolve(&self, unsaid: Option<u32>) -> Option<u32> {
        match self {
            Self::Unsaid => unsaid,
            Self::Number(n) => Some(*n),
            Self::Word(Unlimited::Unlimited) => None,
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRole {
    kind: Kind,
    #[serde(default)]
    contract: Contract,
    worker: Option<String>,
    #[serde(default)]
    workers: Vec<String>,
    #[serde(default)]
    prompt: String,
    model: Option<String>,
    #[serde(default)]
    exclude: Vec<String>,
    max_cost_microusd: Option<u64>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    allowed_tools: Vec<String>,
    #[serde(default)]
    mcp_servers: Vec<String>,
    max_turns: Option<u32>,
    #[serde(default)]
    continues: bool,
    #[serde(default)]
    use_planner: bool,
    provider: Option<Provider>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    role: Option<Spanned<String>>,
    #[serde(default)]
    roles: Vec<Spanned<String>>,
    instances: Option<u32>,
    #[serde(default)]
    join: Join,
    gate: Option<FileGate>,
    person: Option<String>,
    #[serde(default)]
    answers: Entries<FileAnswer>,
    each: Option<Over>,
    start: Option<String>,
    cap: Option<usize>,
    #[serde(default)]
    on_task_failure: OnTaskFailure,
    #[serde(default)]
    steps: Entries<FileStep>,
    commit: Option<Commit>,
    on_conflict: Option<String>,
    publish: Option<String>,
    when: Option<Condition>,
    next: Option<String>,
    on_fail: Option<String>,
    on_reject: Option<String>,
    retry: Option<Retry>,
    timeout_seconds: Option<u64>,
    stall_seconds: Option<u64>,
    max_rounds: Option<u32>,
    rebound: Option<Rebound>,
    #[serde(default)]
    degrade: bool,
    max_question_rounds: Option<u32>,
    #[serde(default)]
    allow_empty: bool,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum FileGate {
    Project(String),
    Checks(Vec<FileCheck>),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCheck {
    name: Option<String>,
    command: Option<String>,
    exists: Option<String>,
    file: Option<String>,
    contains: Option<String>,
    lacks: Option<String>,
    timeout_seconds: Option<u64>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum FileAnswer {
    Next(String),
    Full {
        next: String,
        #[serde(default)]
        rejects: bool,
        #[serde(default)]
        resets: bool,
    },
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Retry {
    Named(Spanned<String>),
    Policy(retry::Policy),
}

#[derive(serde::Deserialize, Clone, Copy, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum OnTaskFailure {
    #[default]
    Continue,
    Halt,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Commit {
    Branch,
}

#[cfg(test)]
mod tests;
