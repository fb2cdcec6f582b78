//! What the members of a team are told besides their task: the roles to choose from, the turns of
//! other roles, the score of a result, and what a leader has done so far.

use serde::{Deserialize, Serialize};

use crate::assembly::{RoleSummary, role_summaries, unassigned_tasks};
use crate::budget::Spending;
use crate::frame::{Frame, FrameItem};
use crate::ids::{RoleName, TaskId};
use crate::plan::Task;
use crate::role::{Contract, Role, RoleKind};
use crate::run::Run;
use crate::team::{Intervention, InterventionRecord, TaskQuality, WorkFailure};

/// What a member of a team is told besides its task. Each role is told only what it needs, so all
/// of it is empty for a role that neither belongs to a team nor leads one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TeamContext {
    /// The roles to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleSummary>,
    /// The tasks that need a role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unassigned: Vec<TaskId>,
    /// The roles that go on with the task afterwards, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_roles: Vec<RoleName>,
    /// The last score of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<TaskQuality>,
    /// Why the result has no score, if whoever had to score it gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unscored: Option<String>,
    /// The criteria that the leader has dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_criteria: Vec<String>,
    /// The tasks that wait for this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingTask>,
    /// What was spent so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<TaskSpending>,
    /// The failure of the last work, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<WorkFailure>,
    /// The interventions so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
    /// How often each bounded intervention may still happen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions_left: Vec<(Intervention, u32)>,
}

/// A task that waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingTask {
    /// The task.
    pub task: TaskId,
    /// Its title, on one line.
    pub title: String,
}

/// What was spent so far, as far as prices are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpending {
    /// For the task.
    pub task: Spending,
    /// For the whole run.
    pub run: Spending,
    /// The most money that the run may cost, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_microusd: Option<u64>,
}

impl TeamContext {
    /// Collects what a role is told.
    pub(super) fn for_role(run: &Run, frame: &Frame, role: &Role) -> Self {
        match (role.contract, role.kind) {
            (Contract::Assembly, _) => Self {
                roles: role_summaries(run),
                unassigned: unassigned_tasks(run)
                    .into_iter()
                    .map(|task| task.id.clone())
                    .collect(),
                ..Self::default()
            },
            (Contract::Intervention, _) => Self::for_leader(run, frame),
            (Contract::Quality, _) => Self {
                dropped_criteria: frame.team.dropped_criteria.clone(),
                ..Self::default()
            },
            // Its components become tasks, which may name their roles.
            (_, RoleKind::Designer) if matches!(frame.item, FrameItem::Phase(_)) => Self {
                roles: role_summaries(run),
                ..Self::default()
            },
            (_, RoleKind::Implementer) => Self {
                next_roles: frame.team.turns.iter().skip(1).cloned().collect(),
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    fn for_leader(run: &Run, frame: &Frame) -> Self {
        let counts = &frame.counts.interventions;
        let bounded = [
            Intervention::Retry,
            Intervention::Enhance,
            Intervention::Escalate,
        ];
        let left = bounded.map(|own| (own, counts.left(own).unwrap_or_default()));
        let mut roles = role_summaries(run);
        roles.retain(|role| !frame.team.turns.contains(&role.name));
        // A result that is good enough needs no helper, and a list of roles is long.
        let is_good = frame.team.failure.is_none()
            && frame.current_quality().is_some_and(TaskQuality::is_enough);
        if is_good || counts.left(Intervention::Escalate) == Some(0) {
            roles.clear();
        }
        Self {
            roles,
            quality: frame.current_quality().cloned(),
            unscored: frame.missing_score().map(str::to_owned),
            dropped_criteria: frame.team.dropped_criteria.clone(),
            waiting: waiting_tasks(run, frame),
            spent: Some(TaskSpending {
                task: frame.counts.spent,
                run: Spending {
                    money_microusd: run.budget.money_microusd,
                    tokens: run.budget.tokens,
                },
                limit_microusd: run.budget.limits.money_microusd,
            }),
            failure: frame.team.failure.clone(),
            interventions: frame.team.history.clone(),
            interventions_left: left.to_vec(),
            ..Self::default()
        }
    }
}

/// Returns the unfinished tasks that depend on a frame's task.
fn waiting_tasks(run: &Run, frame: &Frame) -> Vec<WaitingTask> {
    let Some(task) = run.frame_task(frame) else {
        return Vec::new();
    };
    let all = run.plan.iter().flat_map(|plan| &plan.tasks);
    let waiting = all.filter(|other| {
        other.dependencies.contains(&task.id) && !run.task_status(&other.id).satisfies()
    });
    waiting
        .map(|other| WaitingTask {
            task: other.id.clone(),
            title: other.headline().to_owned(),
        })
        .collect()
}

/// Returns the task of a frame as a role is told it: a helper is told what it is asked for, and of
/// the task itself only as much as it needs to help with it.
pub(super) fn told_task(run: &Run, frame: &Frame, role: &Role) -> Option<Task> {
    let task = run.frame_task(frame)?;
    let help = frame.team.current_help();
    let Some(help) = help.filter(|_| role.kind == RoleKind::Implementer) else {
        return Some(task.clone());
    };
    let about = task.description.trim();
    let about = if about.is_empty() {
        task.headline()
    } else {
        about
    };
    Some(Task {
        title: format!("Help with \"{}\"", task.headline()),
        description: format!(
            "{}\n\nDo only this: another role continues with the task itself afterwards. That task \
             is:\n\n{about}",
            help.request
        ),
        acceptance: Vec::new(),
        ..task.clone()
    })
}
