//! `workflow_state.json`: how far a run has got, in the words of the design document that it comes
//! from.

use codeteam_core::Run;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::RoleName;
use codeteam_core::workflow::StepKind;
use serde::Serialize;

use super::super::format_timestamp;
use super::{RoleProgress, TeamFiles};
use crate::costs::CostLedger;

/// The content of the file.
#[derive(Serialize)]
pub(super) struct WorkflowStateFile {
    session_id: String,
    workflow_status: WorkflowStatus,
    /// `team` where tasks are carried out one by one, `original` where one worker does everything.
    current_mode: &'static str,
    /// The role that started last of those at work.
    current_role: Option<RoleName>,
    completed_roles: Vec<RoleName>,
    failed_roles: Vec<RoleName>,
    /// What is known of the cost; `null` if nothing is.
    total_cost_usd: Option<f64>,
    /// The attempts whose price is not part of it, because nobody knows it.
    unpriced_attempts: u64,
    last_updated: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum WorkflowStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

impl WorkflowStateFile {
    pub(super) fn new(run: &Run, team: &TeamFiles, costs: &CostLedger) -> Self {
        let total = costs.total();
        let roles = |wanted: RoleProgress| -> Vec<RoleName> {
            let roles = team.roles.iter();
            let roles = roles.filter(|(_, progress)| *progress == wanted);
            roles.map(|(role, _)| role.clone()).collect()
        };
        let mut steps = run.workflow.steps.values();
        let has_tasks = steps.any(|step| matches!(step.kind, StepKind::Each { .. }));
        Self {
            session_id: run.id.0.clone(),
            workflow_status: workflow_status(run),
            current_mode: if has_tasks { "team" } else { "original" },
            current_role: team.running.values().next_back().cloned(),
            completed_roles: roles(RoleProgress::Completed),
            failed_roles: roles(RoleProgress::Failed),
            total_cost_usd: total.money_microusd.map(microusd_to_usd),
            unpriced_attempts: total.unpriced_attempts,
            last_updated: format_timestamp(team.at),
        }
    }
}

fn workflow_status(run: &Run) -> WorkflowStatus {
    match &run.outcome {
        Some(FrameOutcome::Completed) => WorkflowStatus::Completed,
        Some(_) => WorkflowStatus::Failed,
        None if run.budget.attempts == 0 => WorkflowStatus::Pending,
        None => WorkflowStatus::InProgress,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no run costs so much that a dollar counts"
)]
fn microusd_to_usd(microusd: u64) -> f64 {
    microusd as f64 / 1e6
}
