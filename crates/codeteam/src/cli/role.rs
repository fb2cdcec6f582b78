//! `codeteam role`: who workers are asked to be.

mod eject;
mod files;
mod list;
mod new;
mod render;
mod show;
mod validate;

use clap::Subcommand;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::problem::Problem;

/// Arguments of `role`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: RoleCommand,
}

#[derive(Debug, Subcommand)]
enum RoleCommand {
    /// List the roles there are: the project's, your own, and those built in.
    ///
    /// `adversarial/qa` is a role of the workflow `adversarial`, which calls it `qa`.
    List(list::Args),
    /// Print a role: its files as they are, the topmost first.
    Show(show::Args),
    /// Begin a role of your own.
    ///
    /// Writes a file that explains itself, and never over one that is there. A role with the name of
    /// a built-in one changes that one, in every workflow that has it.
    New(new::Args),
    /// Check roles, and what they build on.
    ///
    /// Says everything that is wrong at once, and exits with 2 if anything is.
    Validate(validate::Args),
    /// Print the prompt that a role's worker would be given, to the letter.
    ///
    /// As if it were asked for the first time, on what is committed here. Nothing runs. How many
    /// tokens it has (OpenAI's o200k) is said at the end.
    Render(render::Args),
    /// Copy a built-in role into a file, to change it.
    ///
    /// The copy stands in place of the built-in role and does not follow it when codeteam is
    /// updated. To change only a few things, `codeteam role new NAME` is the better start.
    Eject(eject::Args),
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    match &args.command {
        RoleCommand::List(args) => list::main(args, scene),
        RoleCommand::Show(args) => show::main(args, scene),
        RoleCommand::New(args) => new::main(args, scene),
        RoleCommand::Validate(args) => validate::main(args, scene),
        RoleCommand::Render(args) => render::main(args, scene),
        RoleCommand::Eject(args) => eject::main(args, scene),
    }
}
