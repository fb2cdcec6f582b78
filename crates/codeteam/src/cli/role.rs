//! `codeteam role`: lists, shows, creates and checks the roles that workers are given.

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
use codeteam_engine::problem::Problem;

/// Arguments of `role`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: RoleCommand,
}

#[derive(Debug, Subcommand)]
enum RoleCommand {
    /// List the roles: the project's, your own, and the built-in ones.
    ///
    /// `adversarial/qa` is a role of the workflow `adversarial`, which calls it `qa`.
    List(list::Args),
    /// Print a role: its files as they are, the topmost first.
    Show(show::Args),
    /// Create a role of your own.
    ///
    /// Writes a file with explanations, and never overwrites one. A role with the name of a
    /// built-in one changes that one, in every workflow that has it.
    New(new::Args),
    /// Check roles, and what they build on.
    ///
    /// Reports all problems at once, and exits with 2 if there are any.
    Validate(validate::Args),
    /// Print exactly the prompt that a role's worker would get.
    ///
    /// It is the prompt of a first attempt on what is committed here. Nothing runs. The number of
    /// tokens (OpenAI's o200k) is printed at the end.
    Render(render::Args),
    /// Copy a built-in role into a file, to change it.
    ///
    /// The copy replaces the built-in role, and updates of codeteam do not change it. To change
    /// only a few things, start with `codeteam role new NAME` instead.
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
