//! Makes it happen.

pub mod bodies;
pub mod git;
pub mod process;
pub mod store;
pub mod workspace;
