//! A task of the plan, with how it stands.

use codeteam_core::Run;
use codeteam_core::assembly::assigns_roles;
use codeteam_core::findings::Finding;
use codeteam_core::ids::{Commit, FramePath, PhaseId, RoleName, TaskId};
use codeteam_core::plan::{Task, TaskPriority};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::team::{InterventionRecord, TaskQuality};
use serde::Serialize;

/// A task of the plan, with how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskView {
    /// The task's id.
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// Its status.
    pub status: TaskStatus,
    /// The number of rounds it took.
    pub rounds: u32,
    /// The commits made for it.
    pub commits: Vec<Commit>,
    /// Why it failed, if it did.
    pub why: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The phase it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseId>,
    /// The roles that carry it out, in their order, if the workflow leaves that to the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleName>,
    /// How urgent it is, if it is more or less urgent than usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// Tasks that must be complete before it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<TaskId>,
    /// Files it may touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What must hold when it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// The findings that were still open when it was completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The last score of its result, if it was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<QualityView>,
    /// What a leader has decided about it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
    /// Its frame, while it is under way or can be taken up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FramePath>,
}

/// The last score of a task's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QualityView {
    /// The score of the whole result, from 0 to 100.
    pub score: u8,
    /// The score that is needed.
    pub needed: u8,
    /// Whether the score is enough.
    pub is_enough: bool,
    /// The score of each criterion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionView>,
    /// What is wrong or missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
    /// What would make it better.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// The score of one criterion of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CriterionView {
    /// The words of the criterion; empty if the task has another list of criteria by now.
    pub criterion: String,
    /// Its score, from 0 to 100.
    pub score: u8,
    /// The reason for the score.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl QualityView {
    fn new(quality: &TaskQuality, task: &Task) -> Self {
        let score = &quality.score;
        let named = |number: u32| {
            let at = (number as usize).checked_sub(1)?;
            task.acceptance.get(at).cloned()
        };
        Self {
            score: score.overall_score,
            needed: quality.threshold,
            is_enough: score.overall_score >= quality.threshold,
            criteria: score
                .criteria_scores
                .iter()
                .map(|one| CriterionView {
                    criterion: named(one.criterion).unwrap_or_default(),
                    score: one.score,
                    reason: one.reason.clone(),
                })
                .collect(),
            issues: score.issues.clone(),
            suggestions: score.suggestions.clone(),
        }
    }

    /// Describes the score in a few words.
    pub fn to_text(&self) -> String {
        format!("scored {} of 100; {} are needed", self.score, self.needed)
    }
}

impl TaskView {
    /// Makes the view of a task of the plan.
    pub(crate) fn new(run: &Run, task: &Task) -> Self {
        let record = run.tasks.get(&task.id);
        let path = match &task.phase {
            Some(phase) => FramePath::root().child(phase.as_str()),
            None => FramePath::root(),
        };
        // Not every workflow goes through the phases of a plan.
        let paths = [
            path.child(task.id.as_str()),
            FramePath::root().child(task.id.as_str()),
        ];
        let is_known = |path: &&FramePath| {
            run.frames.contains_key(path) || run.failed_frames.contains_key(path)
        };
        let frame = paths.iter().find_map(|path| {
            let live = run.frames.get(path);
            live.or_else(|| run.failed_frames.get(path))
        });
        let scored = match frame {
            Some(frame) => frame.team.quality.as_ref(),
            None => record.and_then(|record| record.quality.as_ref()),
        };
        let led = match frame {
            Some(frame) => Some(&frame.team.history),
            None => record.map(|record| &record.interventions),
        };
        Self {
            id: task.id.clone(),
            title: task.headline().to_owned(),
            status: record.map(|record| record.status).unwrap_or_default(),
            rounds: record.map_or(0, |record| record.rounds),
            commits: record.map_or_else(Vec::new, |record| record.commits.clone()),
            why: record.and_then(|record| record.why.clone()),
            description: task.description.clone(),
            phase: task.phase.clone(),
            roles: if assigns_roles(&run.workflow) {
                task.roles.clone()
            } else {
                Vec::new()
            },
            priority: Some(task.priority).filter(|own| *own != TaskPriority::default()),
            dependencies: task.dependencies.clone(),
            files: task.files.clone(),
            acceptance: task.acceptance.clone(),
            findings: record.map_or_else(Vec::new, |record| record.findings.clone()),
            quality: scored.map(|quality| QualityView::new(quality, task)),
            interventions: led.cloned().unwrap_or_default(),
            frame: paths.iter().find(is_known).cloned(),
        }
    }
}
