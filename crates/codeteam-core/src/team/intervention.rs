//! Interventions: what a leader decides about a result, or about work that failed.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::{RoleName, TaskId};

/// How often the same work may be tried again because the leader says so.
const MAX_RETRIES: u32 = 3;
/// How often a task may be refined.
const MAX_ENHANCEMENTS: u32 = 2;
/// How often a helper may join a task.
const MAX_ESCALATIONS: u32 = 1;

/// What a leader can decide about a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Intervention {
    /// The result is good enough for others to build on.
    Continue,
    /// The same role tries again, with the same requirements.
    Retry,
    /// The task is refined, and then tried again.
    Enhance,
    /// Another role helps first; then the first one goes on.
    Escalate,
    /// The task is given up, or the whole run.
    Terminate,
}

impl Intervention {
    /// Returns the intervention as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Retry => "retry",
            Self::Enhance => "enhance",
            Self::Escalate => "escalate",
            Self::Terminate => "terminate",
        }
    }
}

impl<'de> Deserialize<'de> for Intervention {
    /// Reads the word in any case: others write it in capitals.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const WORDS: &[&str] = &["continue", "retry", "enhance", "escalate", "terminate"];
        let word = String::deserialize(deserializer)?;
        match word.to_ascii_lowercase().as_str() {
            "continue" => Ok(Self::Continue),
            "retry" => Ok(Self::Retry),
            "enhance" => Ok(Self::Enhance),
            "escalate" => Ok(Self::Escalate),
            "terminate" => Ok(Self::Terminate),
            _ => Err(D::Error::unknown_variant(&word, WORDS)),
        }
    }
}

/// What a leader decided, with everything that the intervention needs.
///
/// It is an answer like any other: a claim, which the kernel checks and bounds before anything
/// happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaderDecision {
    /// What happens next.
    pub intervention: Intervention,
    /// Why; for `retry`, also what to do differently.
    #[serde(alias = "reasoning")]
    pub reason: String,
    /// For `enhance`: the whole description that the task has from now on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// For `enhance`: all criteria that the task has from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// For `escalate`: the role that helps. Leave it out if none of the roles fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub role: Option<RoleName>,
    /// For `escalate`: what that role is to contribute.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// For `retry` and `enhance`, where several roles carry out the task: the role to begin with
    /// again. Without it, `retry` begins with the last role and `enhance` with the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub from: Option<RoleName>,
    /// For `terminate`: `true` if the goal itself cannot be reached, which ends the whole run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_run: bool,
}

impl LeaderDecision {
    /// Creates a decision that needs nothing but a reason.
    pub(crate) fn new(intervention: Intervention, reason: String) -> Self {
        Self {
            intervention,
            reason,
            description: String::new(),
            criteria: Vec::new(),
            role: None,
            request: String::new(),
            from: None,
            ends_run: false,
        }
    }
}

/// How often each bounded intervention has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterventionCounts {
    /// Tries of the same work.
    pub retries: u32,
    /// Refinements of the task.
    pub enhancements: u32,
    /// Helpers that joined.
    pub escalations: u32,
}

impl InterventionCounts {
    /// Counts an intervention.
    pub(crate) fn record(&mut self, intervention: Intervention) {
        match intervention {
            Intervention::Retry => self.retries += 1,
            Intervention::Enhance => self.enhancements += 1,
            Intervention::Escalate => self.escalations += 1,
            Intervention::Continue | Intervention::Terminate => {}
        }
    }

    /// Returns how often an intervention may still happen; `None` if it has no bound.
    pub(crate) fn left(&self, intervention: Intervention) -> Option<u32> {
        match intervention {
            Intervention::Retry => Some(MAX_RETRIES.saturating_sub(self.retries)),
            Intervention::Enhance => Some(MAX_ENHANCEMENTS.saturating_sub(self.enhancements)),
            Intervention::Escalate => Some(MAX_ESCALATIONS.saturating_sub(self.escalations)),
            Intervention::Continue | Intervention::Terminate => None,
        }
    }
}

/// An intervention that happened, for whoever decides next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterventionRecord {
    /// What happened.
    pub intervention: Intervention,
    /// Why.
    pub reason: String,
    /// Whether a rule decided: the leader gave no usable answer, or was not asked.
    pub by_rule: bool,
    /// The round in which it happened.
    pub round: u32,
}

/// A task before and after a leader refined it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefinedTask {
    /// The task.
    pub task: TaskId,
    /// Its description until now.
    pub old_description: String,
    /// Its description from now on.
    pub description: String,
    /// Its criteria until now.
    pub old_acceptance: Vec<String>,
    /// Its criteria from now on.
    pub acceptance: Vec<String>,
}

impl RefinedTask {
    /// Returns the criteria that no longer count.
    pub fn dropped_criteria(&self) -> impl Iterator<Item = &String> {
        let old = self.old_acceptance.iter();
        old.filter(|criterion| !self.acceptance.contains(criterion))
    }
}
