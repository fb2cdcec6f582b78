//! `plan.yml`: reads it and reports mistakes with their lines, writes it for people, and amends it
//! in place.

mod amend;
mod yaml;

pub use self::amend::{AmendError, add_dependencies};
pub use self::yaml::{LoadedPlan, from_yaml, to_yaml};
