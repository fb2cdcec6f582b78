//! The language of workflow files: they are read, assembled from layers, completed, compiled and
//! checked.
//!
//! [`assemble`] merges a file with what it extends; `expand` adds what may be left implicit;
//! [`compile_workflow`] turns the result into a [`Workflow`](codeteam_core::workflow::Workflow);
//! and `check` refuses graphs that cannot be run.

mod assembly;
mod check;
mod compile;
mod expand;
mod file;
mod graft;

pub use self::assembly::{AssembledWorkflow, WorkflowLookup, assemble};
pub use self::compile::{CompileInputs, CompiledWorkflow, compile_file, compile_workflow};
pub use self::expand::{SETTINGS, WorkflowSetting};
pub use self::file::{FileRetry, OnFailure, WorkflowFile};
