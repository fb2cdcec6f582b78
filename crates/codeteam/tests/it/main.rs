//! End to end: the real binary, real git, real SQLite, real processes. Only the thinking is
//! scripted.

mod docs;
mod kill;
mod project;
mod run;
