//! Turns a repository into the text that a role needs to see, and owns the one redactor.
//!
//! Nothing here starts processes or decides anything about a run: the crate reads files, ranks
//! them, and renders them within a token budget. Start with [`strategy`] for what a role is shown,
//! with [`pack`] for a whole repository as one text, and with [`find`] for the files that matter
//! for a task.
//!
//! - [`files`]: the files of a tree, in a folder or in git's objects.
//! - [`tree`]: the files of a folder, as git sees it, read without following links out of it.
//! - [`tokens`]: counts the tokens of a text.
//! - [`language`] and [`outline`]: what a source file defines, refers to and imports.
//! - [`index`], [`graph`] and [`map`]: the outlines of a tree, which files matter, and their best
//!   parts.
//! - [`pack`]: a whole repository as one text.
//! - [`imports`]: which file imports which.
//! - [`find`]: the files that matter for a task.
//! - [`strategy`], [`assemble`] and [`budget`]: choose the parts of a role's context, read them,
//!   and make them fit.
//! - [`listing`]: the names of all files.
//! - [`quoted`]: names as git quotes them.
//! - [`cache`]: results kept on disk between calls.
//! - [`redact`]: removes secrets from whatever a worker or a check prints, and from whatever a
//!   worker is shown.

pub mod assemble;
pub mod budget;
pub mod cache;
pub mod files;
pub mod find;
pub mod graph;
pub mod imports;
pub mod index;
pub mod language;
pub mod listing;
pub mod map;
mod ordered_work;
pub mod outline;
pub mod pack;
pub mod quoted;
pub mod redact;
pub mod strategy;
mod threads;
pub mod tokens;
pub mod tree;
