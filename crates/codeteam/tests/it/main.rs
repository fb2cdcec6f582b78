//! End to end: the real binary, real git, real SQLite, real processes. Only the thinking is
//! scripted.

mod bad_input;
mod bad_workflows;
mod exits;
mod failing;
mod files;
mod kill;
mod live;
mod misbehaviour;
mod owners;
mod people;
mod project;
mod run;
mod surroundings;
