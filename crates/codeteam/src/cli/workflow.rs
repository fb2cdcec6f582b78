//! `codeteam workflow`: what a run follows.

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
use crate::problem::Problem;

/// Arguments of `workflow`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Debug, Subcommand)]
enum WorkflowCommand {
    /// List the workflows there are: the project's, yours, and those built in.
    ///
    /// The one that runs follow is marked with `*`. `project` is what stands under `workflow:` in the
    /// configuration, if that is more than a name.
    List(list::Args),
    /// Print a workflow's file.
    Show(show::Args),
    /// Check workflows without starting anything.
    ///
    /// Exits with 2 if one of them could not be followed to its end.
    Validate(validate::Args),
    /// Draw a workflow: as text, as a Mermaid flowchart or as an SVG.
    Graph(graph::Args),
    /// Test workflows with scripted answers and the path they must take.
    ///
    /// Nothing is started and no model is asked: the script says what workers, checks and people
    /// answer, and the same kernel that decides a run says where it leads. `docs/guide.md` shows
    /// how such a file is written.
    ///
    /// Exits with 1 if a case does not go as it should, 2 if a file makes no sense.
    Test(test::Args),
    /// Copy a built-in workflow into a file, to change it.
    ///
    /// The copy stands in place of the built-in workflow and does not follow it when codeteam is
    /// updated. To change only a few steps, a workflow that `extends` it is the better start.
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
