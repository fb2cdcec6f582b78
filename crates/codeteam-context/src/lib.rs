//! Turns a repository into what a role needs to see, and owns the one redactor.
//!
//! - [`files`]: the files of a tree, wherever they lie.
//! - [`tree`]: those of a folder, as git sees it, read without being led astray.
//! - [`tokens`]: how long a text is for a model.
//! - [`language`] and [`outline`]: what a source file defines, refers to and imports.
//! - [`index`], [`graph`] and [`map`]: the outlines of a tree, which files matter, and their best parts.
//! - [`pack`]: a whole repository as one text.
//! - [`imports`]: which file imports which.
//! - [`find`]: the files that matter for a task.
//! - [`strategy`], [`assemble`] and [`budget`]: what a role is shown, chosen, read and made to fit.
//! - [`listing`]: the names of all files.
//! - [`quoted`]: names as git quotes them.
//! - [`cache`]: what was worked out before.
//! - [`redact`]: takes secrets out of whatever a worker prints, a check prints or a worker is told.

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
pub mod outline;
pub mod pack;
pub mod quoted;
pub mod redact;
pub mod strategy;
pub mod tokens;
pub mod tree;
