//! Reads a project that follows the strict layout for agents: `prompts/`, `config/`, `kb/`,
//! `workspace/`, `runs/`.
//!
//! `layout: strict` in the configuration enables it. It applies to runs whose roles have the
//! contract `strict`: the files of the layout determine who plays these roles, what their prompts
//! say, what they may touch and which command runs the tests. They are read from the user's
//! checkout, like all configuration, when a run starts.

mod policies;

use std::path::{Path, PathBuf};

use codeteam_core::ids::WorkerName;
use codeteam_core::plan::Plan;
use codeteam_core::role::{Contract, EditMode, Role, RoleKind};
use codeteam_core::submission::{self, AnswerForm, Submission, SubmissionConstraints};
use codeteam_core::workflow::{CheckKind, StepKind};
use codeteam_workflow::language::CompiledWorkflow;
use codeteam_workflow::yaml::{self, FileProblem, FileProblems};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::policies::{PoliciesFile, command_program};
use crate::built_in;
use crate::config::CommandConfig;
use codeteam_host::repo_files;
use codeteam_report::artifacts::is_strict_role;

/// The folder of notes that every agent is shown.
pub(crate) const NOTES: &str = "kb";
/// The file that assigns workers to the agents.
const AGENTS: &str = "config/agents.yaml";
/// The file with the policies.
pub(crate) const POLICIES: &str = "config/policies.yaml";
/// The file with the tasks, if no agent is to plan them.
pub const TASKS: &str = "config/tasks.yaml";

/// The maximum length of a file.
const MAX_BYTES: u64 = 1 << 20;

/// The reasons why a project's layout files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is invalid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
    /// A command is not among those that may run.
    #[error("the command `{command}` is not allowed by `{POLICIES}`")]
    NotAllowed {
        /// The refused command.
        command: String,
        /// The commands that may run.
        allowed: Vec<String>,
    },
    /// The program of the tests is not installed.
    #[error("`{program}` is not installed, and `{command}` is to run the tests")]
    NoProgram {
        /// The program's name.
        program: String,
        /// The command that needs it.
        command: String,
    },
}

/// The content of a project's layout files.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrictLayout {
    /// The policies.
    pub policies: PoliciesFile,
    /// The goal, if the files contain one.
    pub goal: Option<String>,
    /// The tasks as a plan, if the files contain any.
    pub plan: Option<Plan>,
    agents: AgentsFile,
    prompts: AgentPrompts,
}

/// The workers of the agents.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentsFile {
    planner: AgentEntry,
    coder: AgentEntry,
    tester: AgentEntry,
}

/// The worker and model of one agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentEntry {
    worker: Option<String>,
    model: Option<String>,
}

/// The prompts of the agents.
#[derive(Clone, Debug, Default)]
struct AgentPrompts {
    system: Option<String>,
    planner: Option<String>,
    coder: Option<String>,
    tester: Option<String>,
}

/// The content of the tasks file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TasksFile {
    goal: Option<String>,
    plan_id: Option<String>,
    #[serde(rename = "tasks")]
    all: Vec<Map<String, Value>>,
}

impl StrictLayout {
    /// Reads the layout files of a project. A missing file counts as empty.
    pub(crate) fn read(root: &Path) -> Result<Self, Error> {
        let policies: PoliciesFile = parse_file(root, POLICIES)?.unwrap_or_default();
        policies.check()?;
        let prompt = |name: &str| read_file(root, &format!("prompts/{name}.md"));
        let prompts = AgentPrompts {
            system: prompt("system")?,
            planner: prompt("planner")?,
            coder: prompt("coder")?,
            tester: prompt("tester")?,
        };
        let tasks: TasksFile = parse_file(root, TASKS)?.unwrap_or_default();
        let plan = plan(&tasks, policies.root())?;
        Ok(Self {
            agents: parse_file(root, AGENTS)?.unwrap_or_default(),
            goal: tasks.goal.filter(|goal| !goal.trim().is_empty()),
            plan,
            policies,
            prompts,
        })
    }

    /// Returns the test commands, as checks of the project's gate.
    pub(crate) fn commands(&self) -> Vec<CommandConfig> {
        let execution = &self.policies.execution;
        vec![CommandConfig {
            name: String::new(),
            command: execution.command.clone(),
            timeout_seconds: Some(execution.timeout_seconds),
        }]
    }

    /// Applies the files to a workflow's roles and gates. Only allowed commands run, and they run
    /// in the folder of the code.
    pub(crate) fn apply_to_workflow(&self, compiled: &mut CompiledWorkflow) -> Result<(), Error> {
        for role in compiled
            .roles
            .values_mut()
            .filter(|role| is_strict_role(role))
        {
            self.assign_role(role);
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

    /// Sets the worker and the prompt of a role.
    fn assign_role(&self, role: &mut Role) {
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

/// Returns the files of a new project, by their paths, except for the agents' own prompts.
pub fn scaffold() -> impl Iterator<Item = (&'static str, &'static str)> {
    built_in::folder("layouts/strict", "")
}

/// Converts the tasks into a plan; `None` if there are none.
fn plan(tasks: &TasksFile, root: Option<&str>) -> Result<Option<Plan>, Error> {
    if tasks.all.is_empty() {
        return Ok(None);
    }
    let form = AnswerForm {
        kind: RoleKind::Planner,
        contract: Contract::Strict,
        mode: EditMode::Edits,
        asks: false,
        requests: false,
    };
    let plan_id = tasks.plan_id.as_deref();
    let about = SubmissionConstraints {
        plan: Some(plan_id.unwrap_or_default()),
        root,
        ..SubmissionConstraints::default()
    };
    let answer = json!({ "plan_id": plan_id.unwrap_or("plan_0001"), "tasks": tasks.all });
    match submission::parse_constrained(form, &answer.to_string(), &about) {
        Ok(Submission::Plan(planned)) => {
            let mut plan = planned.plan;
            plan_id.unwrap_or_default().clone_into(&mut plan.plan_id);
            Ok(Some(plan))
        }
        Ok(_) => Ok(None),
        Err(why) => Err(FileProblems::from_problem(FileProblem::for_file(TASKS, why)).into()),
    }
}

fn parse_file<T: serde::de::DeserializeOwned>(root: &Path, file: &str) -> Result<Option<T>, Error> {
    let Some(text) = read_file(root, file)? else {
        return Ok(None);
    };
    // A file with comments only counts as empty.
    Ok(yaml::parse::<Option<T>>(file, &text)?)
}

/// Reads a file of the project, which must not lead out of it.
fn read_file(root: &Path, file: &str) -> Result<Option<String>, Error> {
    let path = root.join(file);
    repo_files::read_text(&path, Some(root), MAX_BYTES)
        .map_err(|source| Error::Read { path, source })
}

#[cfg(test)]
mod tests;
