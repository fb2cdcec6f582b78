//! What the scripted worker reads of its assignment.
//!
//! Only what a play can match or mention: everything else is ignored, so that
//! an assignment may grow.

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
    /// Which parallel member of the step this is, from 0.
    #[serde(default)]
    pub slot: u64,
    /// How often the step was entered in this frame, from 1.
    #[serde(default = "first")]
    pub generation: u64,
    /// Which try of the slot this is, from 1.
    #[serde(default = "first")]
    pub attempt: u64,
    /// Which submission is being worked on, from 1.
    #[serde(default = "first")]
    pub round: u64,
    /// What the user asked for.
    #[serde(default)]
    pub goal: String,
    /// What the plan is called, or will be.
    #[serde(default)]
    pub plan_id: String,
    /// What was wrong with earlier submissions.
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

impl ScriptedAssignment {
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
