//! `codeteam worker`: what carries roles out.

mod list;
mod test;

use std::fs;
use std::path::PathBuf;

use clap::Subcommand;
use codeteam_core::event::SandboxKind;
use codeteam_engine::config::{self, Config, ConfigOrigins};
use codeteam_engine::confine::{Confinement, private_paths};
use codeteam_engine::engine::{self, Engine};
use codeteam_engine::perform::with_causes;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::problem::Problem;

/// Arguments of `worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: WorkerCommand,
}

#[derive(Debug, Subcommand)]
enum WorkerCommand {
    /// List the workers there are: their programs, models, accounts and logins.
    ///
    /// First those of the configuration, then those that codeteam knows. No network is used;
    /// `codeteam doctor` also says whether each is reached, and what to do where something is
    /// missing.
    List(list::Args),
    /// Ask a worker for one word, as a run would ask it.
    ///
    /// In a repository made for it, in the sandbox, with its login or key and its network. Needs no
    /// project, and uses its configuration if there is one. The worker is asked once and without
    /// tools, which costs as little as asking it can. Nothing is left behind.
    ///
    /// Exits with 0 if it answered, 1 if it did not, 4 if its usage limit is reached.
    Test(test::Args),
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    match &args.command {
        WorkerCommand::List(args) => list::main(args, scene),
        WorkerCommand::Test(args) => test::main(args, scene),
    }
}

/// The project's configuration over the user's; the user's alone where there is no project.
fn config(scene: &CliContext) -> Result<Config, Problem> {
    let folder = match Engine::discover(&scene.folder, &scene.env) {
        Ok((repo, _)) => repo.top_level().to_owned(),
        Err(_) => scene.folder.clone(),
    };
    let config = Config::load(&ConfigOrigins::of(&scene.env, &folder.join(".codeteam")));
    Ok(config.map_err(engine::Error::from)?)
}

/// A folder for the small files of a sandbox that belongs to no run, until it is dropped.
pub(crate) struct SandboxSpecDir(PathBuf);

impl SandboxSpecDir {
    pub(crate) fn new() -> Self {
        let name = format!("codeteam-doctor-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// A backend, if it works here.
    pub(crate) fn confinement(
        &self,
        scene: &CliContext,
        backend: SandboxKind,
        config: &config::SandboxConfig,
    ) -> Result<Confinement, String> {
        let repo = Engine::repository(&scene.folder, &scene.env).ok();
        let private = private_paths(&scene.env, repo.as_ref());
        let found = Confinement::find(
            backend,
            &scene.env,
            config,
            &private,
            &scene.codeteam,
            &self.0,
        );
        match found {
            Ok(Some(confinement)) => Ok(confinement),
            Ok(None) => Err("nothing to try".to_owned()),
            Err(missing) => Err(with_causes(&missing)),
        }
    }
}

impl Drop for SandboxSpecDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
