//! How urgent a task is, and the roles that it names.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::RoleName;

/// How urgent a task is. Among the tasks that could start at the same time, a more urgent one
/// starts first; with equal priority the order of the plan counts. A priority never makes a task
/// wait for another one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TaskPriority {
    /// It starts before all others.
    High,
    /// It starts in the order of the plan.
    #[default]
    Medium,
    /// It starts when nothing more urgent can.
    Low,
}

impl TaskPriority {
    /// Returns the priority as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// Returns true if this is the priority of a task that names none.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl<'de> Deserialize<'de> for TaskPriority {
    /// Reads the word in any case: others write it in capitals.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match word.to_ascii_lowercase().as_str() {
            "high" => Ok(Self::High),
            "medium" => Ok(Self::Medium),
            "low" => Ok(Self::Low),
            _ => Err(D::Error::unknown_variant(&word, &["high", "medium", "low"])),
        }
    }
}

/// Reads a single role, or a list of them.
pub(super) fn one_or_many_roles<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<RoleName>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum RoleOrList {
        One(RoleName),
        Many(Vec<RoleName>),
    }
    Ok(match RoleOrList::deserialize(deserializer)? {
        RoleOrList::One(role) => vec![role],
        RoleOrList::Many(roles) => roles,
    })
}
