//! `codeteam role render`: what a role's worker would be told.

use std::path::PathBuf;

use crate::cli::Scene;
use crate::exit::Exit;
use crate::problem::Problem;

/// Arguments of `role render`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The role, by the name that its workflow has for it.
    role: String,
    /// The task that it is asked for.
    #[arg(long, value_name = "ID", requires = "plan")]
    task: Option<String>,
    /// The plan that the task is in.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// What you want; the plan's description if left out.
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// The workflow whose role it is, if not the configured one.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
}

pub(super) fn main(_: &Args, _: &Scene) -> Result<Exit, Problem> {
    Err(Problem::environment("prompts cannot be rendered yet"))
}
