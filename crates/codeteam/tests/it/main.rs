//! End to end: the real binary, real git, real SQLite, real processes. Only the thinking is
//! scripted.

mod bad_input;
mod bad_workflows;
mod command_line;
mod disk;
mod exits;
mod failing;
mod files;
mod kill;
mod licences;
mod live;
mod merging;
mod misbehaviour;
mod owners;
mod people;
mod project;
mod run;
mod surroundings;
mod upkeep;
