//! What is kept of a team's work on one task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::intervention::InterventionRecord;
use super::quality::TaskQuality;
use crate::failure::FailureCategory;
use crate::ids::{RoleName, StepId, TaskId};

/// The roles that were chosen for a task, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleAssignment {
    /// The id of the task.
    #[serde(alias = "mission_id")]
    pub task: TaskId,
    /// The roles that carry it out, in the order in which they work: one, unless the task needs a
    /// skill that the first does not have.
    pub roles: Vec<RoleName>,
    /// Other roles that could help, the most suitable one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<RoleName>,
    /// Why, in a sentence.
    pub reason: String,
}

/// What a helper is asked to contribute to somebody else's task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelpRequest {
    /// The role that helps.
    pub role: RoleName,
    /// What it is to contribute.
    pub request: String,
}

/// Work that failed for good, for whoever decides what happens next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkFailure {
    /// The step that failed.
    pub step: StepId,
    /// The kind of failure.
    pub category: FailureCategory,
    /// What was reported.
    pub message: String,
}

/// What is kept of a team's work on one task: whose turn it is, how the result was scored, and
/// what a leader has decided so far.
///
/// It is empty in a workflow that leaves no role to the plan and has no leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTeam {
    /// The roles that have still to contribute, the one whose turn it is first. The last one stays.
    pub turns: Vec<RoleName>,
    /// The roles that the plan named when the turns began. If a person names others since, they
    /// begin again.
    pub planned: Vec<RoleName>,
    /// What the helper is asked for, while a helper takes part.
    pub help: Option<HelpRequest>,
    /// Who took part in each visit of a step whose role the plan names.
    pub players: Vec<(StepId, u32, RoleName)>,
    /// The last score of the result.
    pub quality: Option<TaskQuality>,
    /// Why nobody has scored the result, if whoever had to score it gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unscored: Option<String>,
    /// The failure of the last work, if it failed.
    pub failure: Option<WorkFailure>,
    /// The criteria that the task had before the leader refined it, and has no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_criteria: Vec<String>,
    /// What was decided so far.
    pub history: Vec<InterventionRecord>,
}

impl TaskTeam {
    /// Returns what the role whose turn it is was asked to help with, if it is a helper.
    pub(crate) fn current_help(&self) -> Option<&HelpRequest> {
        let role = self.turns.first()?;
        self.help.as_ref().filter(|help| help.role == *role)
    }

    /// Records who takes part in a visit of a step.
    pub(crate) fn begin_turn(
        &mut self,
        step: &StepId,
        generation: u32,
        (turns, planned): (&[RoleName], Vec<RoleName>),
    ) {
        self.planned = planned;
        if let Some(role) = turns.first() {
            self.players.push((step.clone(), generation, role.clone()));
        }
        self.turns = turns.to_vec();
    }

    /// Returns who took part in a visit of a step.
    pub(crate) fn player(&self, step: &StepId, generation: u32) -> Option<&RoleName> {
        let mut players = self.players.iter().rev();
        let found = players.find(|(at, visit, _)| at == step && *visit == generation);
        found.map(|(.., role)| role)
    }
}
