//! Checks plans: whether they can be carried out, whether they leave what has begun as it is, and
//! whether their criteria can be measured.

use super::Decider;
use crate::assembly::plan_role_problems;
use crate::frame::Slot;
use crate::ids::{AttemptId, TaskId};
use crate::plan::{Phase, Plan, Task, UNMEASURABLE, criteria_problems};
use crate::run::goes_by_phase;
use crate::schedule::TaskStatus;
use crate::workflow::MEASURABLE_CRITERIA;

impl Decider {
    /// Returns what is wrong with a planner's plan. Criteria that nobody could measure are sent back
    /// once; a planner that gives no others is taken at its word.
    pub(super) fn plan_problem(&self, id: &AttemptId, plan: &Plan) -> Option<String> {
        let mut lines = self.plan_problems(plan);
        if lines.is_empty() && self.may_ask_for_criteria(id) {
            lines = criteria_problems(plan);
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns true if the workflow wants criteria that can be measured, and this worker has not
    /// been asked for them yet.
    fn may_ask_for_criteria(&self, id: &AttemptId) -> bool {
        let settings = &self.run.workflow.settings;
        let slot = self.run.frames.get(&id.frame).and_then(|f| f.slot(id));
        let was_asked = |slot: &Slot| {
            let mut failures = slot.feedback.iter();
            failures.any(|failure| failure.message.contains(UNMEASURABLE))
        };
        settings.get(MEASURABLE_CRITERIA) == Some(&true)
            && slot.is_some_and(|slot| !was_asked(slot))
            && self.may_ask_again(id)
    }

    /// Returns everything that keeps a plan from being carried out in this run, up to a sensible
    /// length.
    pub(super) fn plan_problems(&self, plan: &Plan) -> Vec<String> {
        let errors = plan.check(self.run.max_tasks);
        let mut lines: Vec<String> = errors.iter().take(10).map(ToString::to_string).collect();
        if lines.is_empty() && self.runs_by_phase() {
            lines.extend(plan.phase_order_problem());
        }
        lines.extend(plan_role_problems(
            &self.run.workflow,
            &self.run.roles,
            plan,
        ));
        lines.extend(self.history_conflict(plan));
        if lines.is_empty() {
            lines.extend(self.phase_problem(plan));
        }
        lines
    }

    /// Returns true if the workflow goes through the plan phase by phase.
    pub(super) fn runs_by_phase(&self) -> bool {
        goes_by_phase(&self.run.workflow)
    }

    /// Returns why a plan cannot replace the current one: tasks that have begun can no longer be
    /// changed.
    fn history_conflict(&self, plan: &Plan) -> Option<String> {
        let old = self.run.plan.as_ref()?;
        let positions = plan.task_positions();
        let begun = |phase: &Phase| {
            let status = self.run.phases.get(&phase.id);
            status.is_some_and(|s| s.satisfies() || *s == TaskStatus::Running)
        };
        let kept = |phase: &Phase| {
            let now = plan.phase(&phase.id);
            now.is_some_and(|now| now.sequence == phase.sequence)
        };
        if let Some(phase) = old.phases.iter().find(|p| begun(p) && !kept(p)) {
            let id = &phase.id;
            return Some(format!(
                "phase `{id}` has begun and can no longer be changed"
            ));
        }
        let over = |task: &Task| {
            let phase = task.phase.as_ref().and_then(|p| self.run.phases.get(p));
            phase.is_some_and(|s| s.satisfies()) && !self.run.task_status(&task.id).satisfies()
        };
        let added = |task: &Task| !self.run.task_positions.contains_key(&task.id);
        if let Some(task) = plan.tasks.iter().find(|t| added(t) && over(t)) {
            let id = &task.id;
            return Some(format!(
                "task `{id}` is in a phase that is over and would never start"
            ));
        }
        old.tasks.iter().find_map(|task| {
            let status = self.run.task_status(&task.id);
            let now = positions.get(&task.id).map(|i| &plan.tasks[*i]);
            let wrong = if status.satisfies() {
                changed_after_its_end(task, now)
            } else if status == TaskStatus::Running && now != Some(task) {
                Some("wait until it has ended, or put it back as it was".to_owned())
            } else {
                None
            };
            wrong.map(|wrong| {
                let (id, status) = (&task.id, status.as_str());
                format!("task `{id}` is {status} and can no longer be changed: {wrong}")
            })
        })
    }
}

/// Describes what must be put back in a plan so that a finished task is as it was. Its description
/// may differ.
fn changed_after_its_end(task: &Task, now: Option<&Task>) -> Option<String> {
    let Some(now) = now else {
        return Some("put it back into the plan".to_owned());
    };
    let ids = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let phase = |task: &Task| task.phase.iter().map(ToString::to_string).collect();
    let fields: [(&str, Vec<String>, Vec<String>); 4] = [
        ("files", task.files.clone(), now.files.clone()),
        (
            "dependencies",
            ids(&task.dependencies),
            ids(&now.dependencies),
        ),
        (
            "acceptance",
            task.acceptance.clone(),
            now.acceptance.clone(),
        ),
        ("phase", phase(task), phase(now)),
    ];
    let changed = fields.into_iter().filter(|(_, was, is)| was != is);
    let back: Vec<String> = changed
        .map(|(field, was, _)| match was.as_slice() {
            [] => format!("take `{field}` out again"),
            was => format!("`{field}` must be {} again", quote_all(was)),
        })
        .collect();
    (!back.is_empty()).then(|| back.join(", "))
}

fn quote_all(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    values.join(", ")
}
