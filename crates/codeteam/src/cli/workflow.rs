//! `codeteam workflow`: lists, shows, tests and checks the workflows that a run can follow.

mod eject;
mod graph;
mod list;
mod load;
mod show;
mod test;
mod validate;

use clap::Subcommand;

use crate::cli::CliContext;
use crate::exit::Exit;
use codeteam_engine::problem::Problem;

/// Arguments of `workflow`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Debug, Subcommand)]
enum WorkflowCommand {
    /// List the workflows: the project's, yours, and the built-in ones.
    ///
    /// The one that runs follow is marked with `*`. `project` is the one written under `workflow:`
    /// in the configuration, if that is more than a name.
    List(list::Args),
    /// Print a workflow's file.
    Show(show::Args),
    /// Check workflows without starting anything.
    ///
    /// Exits with 2 if one of them cannot be followed to its end.
    Validate(validate::Args),
    /// Draw a workflow: as text, as a Mermaid flowchart or as an SVG.
    Graph(graph::Args),
    /// Test workflows with scripted answers and the path they must take.
    ///
    /// Nothing is started and no model is asked: a script gives the answers of workers, checks and
    /// people, and the kernel that decides real runs shows where they lead. The guide describes
    /// such files ("Test a workflow like code").
    ///
    /// Exits with 1 if a case does not go as expected, 2 if a file is invalid.
    Test(test::Args),
    /// Copy a built-in workflow into a file, to change it.
    ///
    /// The copy replaces the built-in workflow, and updates of codeteam do not change it. To change
    /// only a few steps, write a workflow that `extends` it instead.
    Eject(eject::Args),
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    match &args.command {
        WorkflowCommand::List(args) => list::main(args, scene),
        WorkflowCommand::Show(args) => show::main(args, scene),
        WorkflowCommand::Validate(args) => validate::main(args, scene),
        WorkflowCommand::Graph(args) => graph::main(args, scene),
        WorkflowCommand::Test(args) => test::main(args, scene),
        WorkflowCommand::Eject(args) => eject::main(args, scene),
    }
}
