//! Turns a repository into what a role needs to see, and owns the one redactor.
//!
//! So far it holds the latter, [`redact`], which everything goes through that a worker prints, that a
//! check prints and that a worker is told, before it is stored or shown; and [`tokens`], which says
//! how long a text is.

pub mod redact;
pub mod tokens;
