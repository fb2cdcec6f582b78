//! Reads a moment of a run, for a new run that begins from there.

use std::collections::BTreeMap;

use codeteam_core::event::RunChoices;
use codeteam_core::fork::ForkOrigin;
use codeteam_core::ids::{RoleName, RunId, TaskId};
use codeteam_core::plan::Plan;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::{Run, apply};
use codeteam_host::git::Oid;

use super::{Engine, Error};

/// A moment of a run, with everything that a new run takes over from it.
pub struct ForkSource {
    /// The run and the event.
    pub origin: ForkOrigin,
    /// The goal.
    pub goal: String,
    /// The commit that the run's branch had.
    pub base: Oid,
    /// The plan at that moment, if there was one, and the tasks that were done.
    pub plan: Option<(Plan, BTreeMap<TaskId, TaskStatus>)>,
    /// The choices that the run was begun with.
    pub choices: RunChoices,
    /// The script of its scripted roles, if it has any.
    pub script: Option<String>,
}

impl Engine {
    /// Replays a run up to an event, and returns what a new run needs to begin from there. `None` if
    /// the run had not begun or has no such event.
    pub fn fork_source(&self, id: &RunId, event: u64) -> Result<Option<ForkSource>, Error> {
        let mut run = Run::default();
        let mut last = 0;
        self.each_event(id, 0, |seq, _, recorded| {
            last = seq;
            if seq <= event {
                apply(&mut run, &recorded);
            }
        })?;
        let origin = run.fork_origin(event);
        let (Some(origin), Some(base)) = (origin, Oid::parse(run.tip.commit.as_str())) else {
            return Ok(None);
        };
        if event > last {
            return Ok(None);
        }
        Ok(Some(ForkSource {
            origin,
            goal: run.goal.clone(),
            base,
            plan: run.plan.as_deref().map(|plan| forked_plan(&run, plan)),
            choices: match &run.choices {
                Some(choices) => RunChoices::clone(choices),
                None => RunChoices {
                    workflow: Some(run.workflow.name.clone()),
                    ..RunChoices::default()
                },
            },
            script: script_of(&run),
        }))
    }
}

/// The new run writes a plan file of its own, so its plan must not have the other one's id.
fn forked_plan(run: &Run, plan: &Plan) -> (Plan, BTreeMap<TaskId, TaskStatus>) {
    let statuses = run
        .tasks
        .iter()
        .map(|(task, record)| (task.clone(), record.status));
    let done = statuses.filter(|(_, status)| status.satisfies()).collect();
    let plan = Plan {
        plan_id: String::new(),
        ..plan.clone()
    };
    (plan, done)
}

/// Returns the script that the scripted roles of a run play.
pub(super) fn script_of(run: &Run) -> Option<String> {
    let scripted = |name: &RoleName| {
        let role = run.roles.get(name)?;
        let is_scripted = role.workers.iter().any(|w| w.as_str() == "scripted");
        role.model.clone().filter(|_| is_scripted)
    };
    run.roles.keys().find_map(scripted)
}
