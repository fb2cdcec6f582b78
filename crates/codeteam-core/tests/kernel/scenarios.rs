//! Scenarios, each a specification: what the world does, and what follows.

mod approvals;
mod baseline;
mod changes;
mod contracts;
mod depth;
mod integration;
mod interfaces;
mod limits;
mod messages;
mod outages;
mod outputs;
mod people;
mod phases;
mod plans;
mod repin;
mod reviewers;
mod rollback;
mod rounds;
mod session;
mod talking;
mod team_limits;
mod teams;
mod tries;

use crate::fixture::{EACH_TASK, RunSetup};

/// Two tasks that may run side by side and one that waits for the first.
fn three_tasks() -> RunSetup {
    RunSetup::for_workflow(EACH_TASK).plan(
        "one: a.rs
         two: b.rs
         three: c.rs < one",
    )
}

fn one_task() -> RunSetup {
    RunSetup::for_workflow(EACH_TASK).plan("one: a.rs")
}

/// Leads a task of [`EACH_TASK`] from its change to its commit.
fn finish(task: &str) -> String {
    format!(
        "run/{task} test passes
         run/{task} review approves
         run/{task} describe goes
         run/{task} commit goes"
    )
}
