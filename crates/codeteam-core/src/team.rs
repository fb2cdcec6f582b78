//! Teams: what a leader and those who judge by scores say about a task, and what is kept of it.
//!
//! The types here are plain data. Who may be assigned is checked in [`crate::assembly`]; what an
//! intervention leads to is decided in `decide`. Nothing here knows a role by its name.

mod intervention;
mod quality;
mod standing;

pub use self::intervention::{
    Intervention, InterventionCounts, InterventionRecord, LeaderDecision, RefinedTask,
};
pub(crate) use self::quality::DEFAULT_QUALITY_THRESHOLD;
pub use self::quality::{CriterionScore, QualityScore, TaskQuality};
pub use self::standing::{HelpRequest, RoleAssignment, TaskTeam, WorkFailure};
