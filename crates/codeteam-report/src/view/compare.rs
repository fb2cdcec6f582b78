//! Two runs side by side: what each of them did, and at what price.

use std::collections::BTreeSet;

use codeteam_core::Run;
use codeteam_core::frame::Frame;
use codeteam_core::ids::{Commit, RoleName, RunId, TaskId, Tree, WorkerName};
use codeteam_core::rollup::{self, RunStatus};
use codeteam_core::schedule::TaskStatus;
use serde::Serialize;

use super::{CostView, LoadedRun, VIEW_VERSION};

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// `VIEW_VERSION`.
    pub version: u32,
    /// The two runs.
    pub runs: [ComparedRun; 2],
    /// The tasks that both have, or one of them.
    pub tasks: Vec<ComparedTask>,
    /// The roles that are carried out by other workers or models.
    pub roles: Vec<ComparedRole>,
}

/// One of two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Its id.
    pub run: RunId,
    /// Its goal.
    pub goal: String,
    /// Its workflow.
    pub workflow: String,
    /// How it stands.
    pub status: RunStatus,
    /// The commit it started from.
    pub base: Commit,
    /// The newest commit of its branch.
    pub tip: Commit,
    /// The tree of that commit.
    pub tree: Tree,
    /// The run and the event that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<(RunId, u64)>,
    /// Its commits.
    pub commits: usize,
    /// Rounds of all its tasks together.
    pub rounds: u32,
    /// Findings that reviewers and checks have opened, as far as its tasks are under way or done.
    pub open_findings: usize,
    /// What it has spent.
    pub cost: CostView,
}

/// A task in both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedTask {
    /// The task.
    pub id: TaskId,
    /// Its status in each run; `None` where the plan does not have it.
    pub status: [Option<TaskStatus>; 2],
    /// Its rounds in each run.
    pub rounds: [u32; 2],
}

/// A role whose workers or model differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedRole {
    /// The role.
    pub role: RoleName,
    /// Its workers in each run; empty where the run does not have it.
    pub workers: [Vec<WorkerName>; 2],
    /// Its model in each run.
    pub model: [Option<String>; 2],
}

impl RunComparison {
    /// Puts two runs side by side.
    pub fn new(one: &LoadedRun, other: &LoadedRun) -> Self {
        let (one, other) = (one.as_run(), other.as_run());
        Self {
            version: VIEW_VERSION,
            runs: [compared_run(one), compared_run(other)],
            tasks: compared_tasks(one, other),
            roles: compared_roles(one, other),
        }
    }
}

fn compared_run(run: &Run) -> ComparedRun {
    let frames = run.frames.values().chain(run.failed_frames.values());
    let under_way = frames.map(|frame: &Frame| frame.findings.open().count());
    let done = run.tasks.values().map(|record| record.findings.len());
    let origin = run.forked_from.as_deref();
    ComparedRun {
        run: run.id.clone(),
        goal: run.goal.clone(),
        workflow: run.workflow.name.clone(),
        status: rollup::run_status(run),
        base: run.base.commit.clone(),
        tip: run.tip.commit.clone(),
        tree: run.tip.tree.clone(),
        forked_from: origin.map(|origin| (origin.run.clone(), origin.event)),
        commits: run
            .branch_moves
            .iter()
            .filter(|m| m.frame.is_some())
            .count(),
        rounds: run.tasks.values().map(|record| record.rounds).sum(),
        open_findings: under_way.chain(done).sum(),
        cost: CostView::new(run),
    }
}

fn compared_tasks(one: &Run, other: &Run) -> Vec<ComparedTask> {
    let ids = |run: &Run| {
        let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
        tasks.map(|task| task.id.clone()).collect::<Vec<TaskId>>()
    };
    let mut seen = BTreeSet::new();
    let all = ids(one).into_iter().chain(ids(other));
    let all = all.filter(|id| seen.insert(id.clone()));
    let status = |run: &Run, id: &TaskId| run.task(id).map(|_| run.task_status(id));
    let rounds = |run: &Run, id: &TaskId| run.tasks.get(id).map_or(0, |record| record.rounds);
    all.map(|id| ComparedTask {
        status: [status(one, &id), status(other, &id)],
        rounds: [rounds(one, &id), rounds(other, &id)],
        id,
    })
    .collect()
}

fn compared_roles(one: &Run, other: &Run) -> Vec<ComparedRole> {
    let roles: BTreeSet<&RoleName> = one.roles.keys().chain(other.roles.keys()).collect();
    let workers = |run: &Run, name: &RoleName| {
        let role = run.roles.get(name);
        role.map(|role| role.workers.clone()).unwrap_or_default()
    };
    let model =
        |run: &Run, name: &RoleName| run.roles.get(name).and_then(|role| role.model.clone());
    let compared = roles.into_iter().map(|name| ComparedRole {
        workers: [workers(one, name), workers(other, name)],
        model: [model(one, name), model(other, name)],
        role: name.clone(),
    });
    let differs =
        |role: &ComparedRole| role.workers[0] != role.workers[1] || role.model[0] != role.model[1];
    compared.filter(differs).collect()
}
