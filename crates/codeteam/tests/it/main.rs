//! End to end: the real binary, real git, real `SQLite`, real processes. Only the thinking is
//! scripted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod bad_workflows;
mod branches;
mod built_in;
mod command_line;
mod config;
mod containers;
mod contexts;
mod deps;
mod dishonest;
mod disk;
mod docs;
mod exits;
mod failing;
mod files;
mod find;
mod hostile;
mod init;
mod kill;
mod licences;
mod live;
mod map;
mod merging;
mod misbehaviour;
mod owners;
mod pack;
mod people;
mod project;
mod prompts;
mod pty;
mod redaction;
mod roles;
mod run;
mod samples;
mod sandbox;
mod stand_ins;
mod strict;
mod surroundings;
mod talk;
mod upkeep;
mod verification;
mod workers;
mod workflows;
