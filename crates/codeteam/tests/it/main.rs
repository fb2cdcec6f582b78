//! End to end: the real binary, real git, real SQLite, real processes. Only the thinking is
//! scripted.

mod bad_input;
mod bad_workflows;
mod kill;
mod live;
mod project;
mod run;
mod surroundings;
