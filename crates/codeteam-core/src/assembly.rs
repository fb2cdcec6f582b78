//! Assembling a team: which roles can be assigned to the tasks of a plan, and what is wrong with an
//! assignment.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{RoleName, StepId, TaskId, WorkerName};
use crate::plan::{Plan, Task};
use crate::role::{Role, RoleKind};
use crate::run::Run;
use crate::spelling::suggest_word;
use crate::submission::TeamAssembly;
use crate::team::RoleAssignment;
use crate::workflow::{RoleStep, Step, StepKind, Workflow};

/// The maximum number of roles that carry out one task.
const MAX_ROLES_PER_TASK: usize = 4;

/// A role as it is described to whoever chooses among roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSummary {
    /// The role's name.
    pub name: RoleName,
    /// What it is for, in a line.
    pub description: String,
    /// What it owes.
    pub kind: RoleKind,
    /// The tools it may use, those of MCP servers by the server's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it is good at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strengths: Vec<String>,
    /// The workers that can play it.
    pub workers: Vec<WorkerName>,
    /// The model, if not the worker's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The maximum cost of one attempt in millionths of a US dollar, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_microusd: Option<u64>,
    /// The price of a million tokens of the model, in words. Only the engine knows prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
}

impl RoleSummary {
    fn new(role: &Role) -> Self {
        let named = &role.means.allowed_tools;
        let usual = role.kind.usual_tools().iter().map(|&word| word.to_owned());
        let usual = usual.filter(|_| named.is_empty());
        let own = usual.chain(named.iter().cloned());
        Self {
            name: role.name.clone(),
            description: role.description.clone(),
            kind: role.kind,
            tools: own.chain(role.means.mcp_servers.iter().cloned()).collect(),
            strengths: role.strengths.clone(),
            workers: role.workers.clone(),
            model: role.model.clone(),
            max_cost_microusd: role.max_cost_microusd,
            price: None,
        }
    }
}

/// Returns the step of a graph whose role the plan names, if it has one.
pub(crate) fn assigned_step<'a>(
    workflow: &'a Workflow,
    scope: Option<&StepId>,
) -> Option<(&'a Step, &'a RoleStep)> {
    workflow.steps.values().find_map(|step| match &step.kind {
        StepKind::Role(role) if role.assigned && step.scope.as_ref() == scope => {
            Some((step, &**role))
        }
        _ => None,
    })
}

/// Returns true if a workflow leaves roles to the plan. In any other, the roles that a plan names
/// mean nothing.
pub fn assigns_roles(workflow: &Workflow) -> bool {
    assigned_steps(workflow).next().is_some()
}

/// Returns every step whose role the plan names.
fn assigned_steps(workflow: &Workflow) -> impl Iterator<Item = &RoleStep> {
    workflow.steps.values().filter_map(|step| match &step.kind {
        StepKind::Role(role) if role.assigned => Some(&**role),
        _ => None,
    })
}

/// Returns the roles that can carry out tasks: those of the kind that the workflow's own choice is
/// of, which a worker can play. There are none in a workflow that does not leave roles to the plan.
fn assignable_roles<'a>(workflow: &Workflow, roles: &'a BTreeMap<RoleName, Role>) -> Vec<&'a Role> {
    let usual = assigned_steps(workflow).filter_map(|step| roles.get(step.slots.first()?));
    let kinds: BTreeSet<RoleKind> = usual.map(|role| role.kind).collect();
    let fits = |role: &&Role| {
        kinds.contains(&role.kind)
            && role.answer_form().missing_form().is_none()
            && !role.workers.is_empty()
    };
    roles.values().filter(fits).collect()
}

/// Describes the roles that can carry out tasks of a run, for whoever chooses among them.
pub(crate) fn role_summaries(run: &Run) -> Vec<RoleSummary> {
    let roles = assignable_roles(&run.workflow, &run.roles);
    roles.into_iter().map(RoleSummary::new).collect()
}

/// Returns the tasks that still need a role: those that name none and are not done.
pub(crate) fn unassigned_tasks(run: &Run) -> Vec<&Task> {
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let is_open = |task: &&Task| task.roles.is_empty() && !run.task_status(&task.id).satisfies();
    tasks.filter(is_open).collect()
}

/// Returns what is wrong with the roles that the tasks of a plan name: a role that does not exist,
/// or whose kind does not fit. A workflow that leaves no role to the plan pays no attention to them.
pub fn plan_role_problems(
    workflow: &Workflow,
    roles: &BTreeMap<RoleName, Role>,
    plan: &Plan,
) -> Vec<String> {
    if !assigns_roles(workflow) {
        return Vec::new();
    }
    let fitting = assignable_roles(workflow, roles);
    let named = plan.tasks.iter().filter(|task| !task.roles.is_empty());
    named
        .filter_map(|task| {
            let wrong = roles_problem(&fitting, roles, &task.roles)?;
            Some(format!("task `{}`: {wrong}", task.id))
        })
        .collect()
}

/// Returns what is wrong with an assembly for a run, in words for the worker that gave it.
pub(crate) fn assembly_problem(run: &Run, assembly: &TeamAssembly) -> Option<String> {
    let fitting = assignable_roles(&run.workflow, &run.roles);
    let wanted: BTreeSet<&TaskId> = unassigned_tasks(run).iter().map(|task| &task.id).collect();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for RoleAssignment {
        task,
        roles,
        alternatives,
        ..
    } in &assembly.assignments
    {
        if run.task(task).is_none() {
            let known = wanted.iter().map(|id| id.as_str());
            let hint = suggest_word(task.as_str(), known).map(|hint| format!(" ({hint})"));
            wrong.push(format!(
                "there is no task `{task}`{}",
                hint.unwrap_or_default()
            ));
            continue;
        }
        if !wanted.contains(task) {
            wrong.push(format!(
                "task `{task}` needs no role: it has one, or is done"
            ));
            continue;
        }
        if !seen.insert(task) {
            wrong.push(format!("task `{task}` is there twice"));
        }
        if roles.is_empty() {
            wrong.push(format!("task `{task}` has no role"));
        }
        for named in [roles, alternatives] {
            let problem = roles_problem(&fitting, &run.roles, named);
            wrong.extend(problem.map(|problem| format!("task `{task}`: {problem}")));
        }
    }
    let missing = wanted.into_iter().filter(|id| !seen.contains(id));
    wrong.extend(missing.map(|id| format!("task `{id}` is missing")));
    wrong.truncate(10);
    (!wrong.is_empty()).then(|| wrong.join("\n"))
}

/// Returns what keeps a role from helping with a task, in words for whoever named it.
pub(crate) fn helper_problem(run: &Run, role: &RoleName) -> Option<String> {
    let fitting = assignable_roles(&run.workflow, &run.roles);
    roles_problem(&fitting, &run.roles, std::slice::from_ref(role))
}

/// Returns the first problem of a list of roles.
fn roles_problem(
    fitting: &[&Role],
    all: &BTreeMap<RoleName, Role>,
    named: &[RoleName],
) -> Option<String> {
    if named.len() > MAX_ROLES_PER_TASK {
        return Some(format!(
            "{} roles are too many: at most {MAX_ROLES_PER_TASK}",
            named.len()
        ));
    }
    let mut seen = BTreeSet::new();
    named.iter().find_map(|name| {
        if !seen.insert(name) {
            return Some(format!("the role `{name}` is there twice"));
        }
        if fitting.iter().any(|role| role.name == *name) {
            return None;
        }
        Some(match all.get(name) {
            Some(role) if role.workers.is_empty() => {
                format!("no worker can play the role `{name}` here")
            }
            Some(role) => format!(
                "`{name}` cannot carry out a task: it is {}",
                role.kind.with_article()
            ),
            None => {
                let hint = suggest_word(name.as_str(), fitting.iter().map(|r| r.name.as_str()));
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                format!("there is no role `{name}`{hint}")
            }
        })
    })
}
