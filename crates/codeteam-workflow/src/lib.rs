//! Reads the files that people write for codeteam: workflows, roles and plans.
//!
//! This crate turns YAML text into the types that `codeteam-core` runs: a
//! [`Workflow`](codeteam_core::workflow::Workflow) with its [`Role`](codeteam_core::role::Role)s,
//! and a [`Plan`](codeteam_core::plan::Plan). A mistake is reported with its file, line, column and
//! the line's text, and nothing is compiled before everything is valid.
//!
//! - [`yaml`] reads, merges and writes trees that know their position in the file,
//! - [`roles`] resolves a role through its layers, [`language`] compiles a workflow,
//! - [`plan_file`] reads, writes and amends `plan.yml`,
//! - [`graph`] draws a compiled workflow, [`rehearsal`] tests one against scripted workers.
//!
//! **Architecture invariant:** as in core, nothing here does IO, reads a clock, draws a random
//! number or iterates in hash order. Core does not depend on this crate.

pub mod format_version;
pub mod graph;
pub mod language;
pub mod misplaced_file;
pub mod plan_file;
pub mod rehearsal;
pub mod roles;
pub mod yaml;
