//! A project laid out as its own agents' house: `prompts/`, `config/`, `kb/`, `workspace/`, `runs/`.
//!
//! `layout: strict` in the configuration says so. It is in force in runs whose roles have the contract
//! `strict`: those files say who plays them, what they are told, what they may touch and which command
//! tests it. They are read from the user's checkout, like all configuration, when a run starts.

mod policies;

use std::path::{Path, PathBuf};

use codeteam_core::ids::WorkerName;
use codeteam_core::plan::Plan;
use codeteam_core::role::{Contract, EditMode, Role, RoleKind};
use codeteam_core::submission::{self, AnswerForm, Submission, SubmissionConstraints};
use codeteam_core::workflow::{CheckKind, CompiledWorkflow, StepKind};
use codeteam_core::yaml::{self, FileProblem, FileProblems};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use self::policies::{PoliciesFile, program};
use crate::built_in;
use crate::config::CommandConfig;
use crate::inside;

/// The folder of what a run writes.
pub const RUNS: &str = "runs";
/// The folder of notes that every agent is told.
pub const NOTES: &str = "kb";
/// Who plays the agents.
const AGENTS: &str = "config/agents.yaml";
/// What is allowed.
pub const POLICIES: &str = "config/policies.yaml";
/// What is to be done, if nobody is to plan it.
pub const TASKS: &str = "config/tasks.yaml";

/// No file is longer.
const MAX_BYTES: u64 = 1 << 20;

/// Why a project's own files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// One is not valid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
    /// A command is not one of those that may run.
    #[error("the command `{command}` is not allowed by `{POLICIES}`")]
    NotAllowed {
        /// The command.
        command: String,
        /// Those that may.
        allowed: Vec<String>,
    },
    /// The tests' program is not there.
    #[error("`{program}` is not installed, and `{command}` is to run the tests")]
    NoProgram {
        /// The program.
        program: String,
        /// The command.
        command: String,
    },
}

/// What the files of a project say.
#[derive(Clone, Debug, Default)]
pub struct StrictLayout {
    /// What is allowed.
    pub policies: PoliciesFile,
    /// The goal, if it is said there.
    pub goal: Option<String>,
    /// The tasks, if they are said there.
    pub plan: Option<Plan>,
    agents: AgentsFile,
    prompts: AgentPrompts,
}

/// Who plays the agents.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentsFile {
    planner: AgentEntry,
    coder: AgentEntry,
    tester: AgentEntry,
}

/// Who plays an agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentEntry {
    worker: Option<String>,
    model: Option<String>,
}

/// What agents are told that they are.
#[derive(Clone, Debug, Default)]
struct AgentPrompts {
    system: Option<String>,
    planner: Option<String>,
    coder: Option<String>,
    tester: Option<String>,
}

/// What is to be done.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TasksFile {
    goal: Option<String>,
    plan_id: Option<String>,
    #[serde(rename = "tasks")]
    all: Vec<Map<String, Value>>,
}

impl StrictLayout {
    /// Reads the files of a project. One that is not there says nothing.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let policies: PoliciesFile = parsed(root, POLICIES)?.unwrap_or_default();
        policies.check()?;
        let prompt = |name: &str| text(root, &format!("prompts/{name}.md"));
        let prompts = AgentPrompts {
            system: prompt("system")?,
            planner: prompt("planner")?,
            coder: prompt("coder")?,
            tester: prompt("tester")?,
        };
        let tasks: TasksFile = parsed(root, TASKS)?.unwrap_or_default();
        let plan = plan(&tasks, policies.root())?;
        Ok(Self {
            agents: parsed(root, AGENTS)?.unwrap_or_default(),
            goal: tasks.goal.filter(|goal| !goal.trim().is_empty()),
            plan,
            policies,
            prompts,
        })
    }

    /// The commands of the tests, as the project's own gate has them.
    pub fn commands(&self) -> Vec<CommandConfig> {
        let execution = &self.policies.execution;
        vec![CommandConfig {
            name: String::new(),
            command: execution.command.clone(),
            timeout_seconds: Some(execution.timeout_seconds),
        }]
    }

    /// Puts what the files say into a workflow's roles and gates. Only what is allowed runs, and it
    /// runs where the code is.
    pub fn furnish(&self, compiled: &mut CompiledWorkflow) -> Result<(), Error> {
        for role in compiled.roles.values_mut().filter(|role| is_strict(role)) {
            self.cast(role);
        }
        let allowed = &self.policies.execution.allow;
        for step in compiled.workflow.steps.values_mut() {
            let StepKind::Gate { checks } = &mut step.kind else {
                continue;
            };
            for check in checks {
                let CheckKind::Command(command) = &mut check.what else {
                    continue;
                };
                if !allowed.iter().any(|one| one.trim() == command.trim()) {
                    return Err(Error::NotAllowed {
                        command: command.clone(),
                        allowed: allowed.clone(),
                    });
                }
                if let Some(root) = self.policies.root() {
                    *command = format!("cd '{root}' || exit 126\n{command}");
                }
            }
        }
        Ok(())
    }

    /// Who plays a role, and what it is told.
    fn cast(&self, role: &mut Role) {
        let (agent, own) = match role.kind {
            RoleKind::Planner => (&self.agents.planner, &self.prompts.planner),
            RoleKind::Implementer => (&self.agents.coder, &self.prompts.coder),
            _ => (&self.agents.tester, &self.prompts.tester),
        };
        if let Some(worker) = &agent.worker {
            role.workers = vec![WorkerName(worker.clone())];
            role.model = None;
        }
        if agent.model.is_some() {
            role.model.clone_from(&agent.model);
        }
        if let Some(own) = own {
            role.prompt.clone_from(own);
        }
        if let Some(system) = &self.prompts.system {
            role.prompt = format!("{}\n\n{}", system.trim(), role.prompt.trim());
        }
        role.means.root = self.policies.root().map(str::to_owned);
        role.means.max_chars = Some(self.policies.output.max_chars);
    }
}

/// The files that a new project begins with, by their paths, but for the agents' own prompts.
pub fn scaffold() -> impl Iterator<Item = (&'static str, &'static str)> {
    built_in::folder("layouts/strict", "")
}

/// Whether the files of a project are for this role.
pub fn is_strict(role: &Role) -> bool {
    role.contract == Contract::Strict
}

/// The tasks as a plan; none if there are none.
fn plan(tasks: &TasksFile, root: Option<&str>) -> Result<Option<Plan>, Error> {
    if tasks.all.is_empty() {
        return Ok(None);
    }
    let form = AnswerForm {
        kind: RoleKind::Planner,
        contract: Contract::Strict,
        mode: EditMode::Edits,
        asks: false,
    };
    let plan_id = tasks.plan_id.as_deref();
    let about = SubmissionConstraints {
        plan: Some(plan_id.unwrap_or_default()),
        root,
        ..SubmissionConstraints::default()
    };
    let answer = json!({ "plan_id": plan_id.unwrap_or("plan_0001"), "tasks": tasks.all });
    match submission::parse_about(form, &answer.to_string(), &about) {
        Ok(Submission::Plan(planned)) => {
            let mut plan = planned.plan;
            plan_id.unwrap_or_default().clone_into(&mut plan.plan_id);
            Ok(Some(plan))
        }
        Ok(_) => Ok(None),
        Err(why) => Err(FileProblems::one(FileProblem::of(TASKS, why)).into()),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(root: &Path, file: &str) -> Result<Option<T>, Error> {
    let Some(text) = text(root, file)? else {
        return Ok(None);
    };
    // A file of comments says nothing.
    Ok(yaml::parse::<Option<T>>(file, &text)?)
}

/// A file of the project, which does not lead out of it.
fn text(root: &Path, file: &str) -> Result<Option<String>, Error> {
    let path = root.join(file);
    inside::read(&path, Some(root), MAX_BYTES).map_err(|source| Error::Read { path, source })
}

#[cfg(test)]
mod tests;
