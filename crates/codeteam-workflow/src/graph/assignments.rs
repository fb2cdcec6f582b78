//! Adds to the graph of a workflow what the plan of a run says: which roles carry out which task.

use codeteam_core::ids::RoleName;
use codeteam_core::plan::{Plan, Task};
use codeteam_core::workflow::{StepKind, Workflow};

use super::{ScopeGraph, clean};

/// The largest number of tasks whose roles are drawn.
const MAX_ASSIGNMENTS: usize = 20;

impl ScopeGraph {
    /// Adds the roles that a plan assigns to the steps that are carried out by them.
    pub(super) fn add_assignments(&mut self, workflow: &Workflow, plan: &Plan) {
        for node in &mut self.nodes {
            let step = workflow.steps.get(&node.step);
            let is_assigned = step
                .is_some_and(|step| matches!(&step.kind, StepKind::Role(role) if role.assigned));
            if is_assigned {
                node.assignments = describe_assignments(plan);
            }
            if let Some(inner) = &mut node.inner {
                inner.add_assignments(workflow, plan);
            }
        }
    }
}

/// Returns a line for each task to which a plan assigns roles. Of many, the last are only counted.
fn describe_assignments(plan: &Plan) -> Vec<String> {
    let assigned = plan.tasks.iter().filter(|task| !task.roles.is_empty());
    let assigned: Vec<&Task> = assigned.collect();
    let shown = assigned.iter().take(MAX_ASSIGNMENTS).map(|task| {
        let roles: Vec<&str> = task.roles.iter().map(RoleName::as_str).collect();
        clean(&format!("{}: {}", task.id, roles.join(", then ")))
    });
    let mut lines: Vec<String> = shown.collect();
    if assigned.len() > MAX_ASSIGNMENTS {
        lines.push(format!(
            "and {} more tasks",
            assigned.len() - MAX_ASSIGNMENTS
        ));
    }
    lines
}
