//! Finds out whether workers can work here: which are installed and logged in, whether their API is
//! reachable from inside the sandbox, and whether one of them completes a small task.

pub mod inspection;
pub mod reachability;
pub mod trial;
