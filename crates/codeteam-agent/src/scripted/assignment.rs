//! The part of an assignment that the scripted worker reads.
//!
//! It has only what a play can match or mention; other keys are ignored, so that assignments may
//! grow.

use serde::Deserialize;

/// An assignment, as far as a script cares.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ScriptedAssignment {
    /// The role to play.
    pub role: String,
    /// The role's kind.
    #[serde(default)]
    pub kind: String,
    /// The step of the workflow.
    #[serde(default)]
    pub step: String,
    /// The task, if there is one.
    #[serde(default)]
    pub task: Option<AssignedTask>,
    /// The phase, for roles that work on a whole phase.
    #[serde(default)]
    pub phase: Option<AssignedPhase>,
    /// The index of the slot among the parallel members of the step, from 0.
    #[serde(default)]
    pub slot: u64,
    /// The number of times that the step was entered in this frame, from 1.
    #[serde(default = "first")]
    pub generation: u64,
    /// The number of the slot's attempt, from 1.
    #[serde(default = "first")]
    pub attempt: u64,
    /// The number of the submission that is being worked on, from 1.
    #[serde(default = "first")]
    pub round: u64,
    /// The user's goal.
    #[serde(default)]
    pub goal: String,
    /// The id of the plan, even before it exists.
    #[serde(default)]
    pub plan_id: String,
    /// Feedback on earlier submissions.
    #[serde(default)]
    pub feedback: Vec<String>,
}

/// The task of an assignment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AssignedTask {
    /// Its id.
    pub id: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
}

/// The phase of an assignment, with its place in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AssignedPhase {
    /// The phase itself.
    pub phase: PlannedPhase,
}

/// A phase of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedPhase {
    /// Its id.
    pub id: String,
}

impl ScriptedAssignment {
    /// Returns the id of the phase, for roles that work on a whole phase.
    pub fn phase_id(&self) -> Option<&str> {
        self.phase.as_ref().map(|about| about.phase.id.as_str())
    }

    /// Reads an assignment.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }
}

fn first() -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_ignored_and_counts_begin_at_one() {
        let json = r#"{"role":"coder","task":{"id":"task-001","files":[]},"new":{}}"#;
        let assignment = ScriptedAssignment::parse(json).unwrap();
        assert_eq!(assignment.role, "coder");
        assert_eq!(assignment.task.unwrap().id, "task-001");
        assert_eq!((assignment.attempt, assignment.slot), (1, 0));
    }

    #[test]
    fn a_missing_task_may_be_null() {
        let assignment = ScriptedAssignment::parse(r#"{"role":"planner","task":null}"#).unwrap();
        assert_eq!(assignment.task, None);
    }
}
