//! Quality scores: a result measured against the criteria of its task.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::PatchId;

/// The score from which on a result may be built on, unless a role, the workflow or the
/// configuration sets another one.
pub(crate) const DEFAULT_QUALITY_THRESHOLD: u8 = 70;

/// A result measured against the criteria of its task, in whole points from 0 to 100.
///
/// A worker gives the scores; whether they suffice is decided by the kernel, which compares
/// `overall_score` with the threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityScore {
    /// The score of the whole result, from 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub overall_score: u8,
    /// One score for each criterion of the task, in their order.
    #[serde(default)]
    pub criteria_scores: Vec<CriterionScore>,
    /// What is wrong or missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
    /// What would make it better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// The score of one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionScore {
    /// The number of the criterion, from 1.
    #[schemars(range(min = 1))]
    pub criterion: u32,
    /// Its score, from 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub score: u8,
    /// The reason for the score, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl QualityScore {
    /// Describes the score as the reason of a verdict, and as feedback for whoever can do better.
    pub(crate) fn feedback(&self) -> String {
        let mut text = format!("scored {} of 100", self.overall_score);
        for one in &self.criteria_scores {
            let _ = write!(text, "\n- criterion {}: {}", one.criterion, one.score);
            if !one.reason.trim().is_empty() {
                let _ = write!(text, " ({})", one.reason.trim());
            }
        }
        for (title, lines) in [("issue", &self.issues), ("suggestion", &self.suggestions)] {
            for line in lines {
                let _ = write!(text, "\n- {title}: {}", line.trim());
            }
        }
        text
    }
}

/// The last score of a task's result, with the threshold it was compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskQuality {
    /// The score.
    pub score: QualityScore,
    /// The score that is needed.
    pub threshold: u8,
    /// The change that was scored.
    pub patch: Option<PatchId>,
}

impl TaskQuality {
    /// Returns true if the score reaches the threshold.
    pub(crate) fn is_enough(&self) -> bool {
        self.score.overall_score >= self.threshold
    }
}
