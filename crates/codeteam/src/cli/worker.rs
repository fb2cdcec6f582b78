//! `codeteam worker`: lists and tests the workers that carry out roles.

mod list;
mod test;

use std::fs;
use std::path::PathBuf;

use clap::Subcommand;
use codeteam_core::event::SandboxKind;
use codeteam_engine::config::{self, Config, ConfigOrigins};
use codeteam_engine::engine::{self, Engine};
use codeteam_host::confine::Confinement;
use codeteam_host::error_chain::format_error_chain;

use crate::cli::CliContext;
use crate::exit::Exit;
use codeteam_engine::problem::Problem;

/// Arguments of `worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: WorkerCommand,
}

#[derive(Debug, Subcommand)]
enum WorkerCommand {
    /// List the workers: their programs, models, accounts and logins.
    ///
    /// The configured ones come first, then those that codeteam knows. No network is used;
    /// `codeteam doctor` also reports whether each can be reached, and what to do if something is
    /// missing.
    List(list::Args),
    /// Ask a worker for one word, in the same way as a run.
    ///
    /// It runs in a temporary repository, in the sandbox, with its login or key and its network. No
    /// project is needed, but its configuration is used if there is one. The worker is asked once
    /// and without tools, so that it costs as little as possible. Nothing is left behind.
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

/// Returns the project's configuration over the user's, or the user's alone where there is no
/// project.
fn effective_config(scene: &CliContext) -> Result<Config, Problem> {
    let folder = match Engine::discover(&scene.folder, &scene.env) {
        Ok((repo, _)) => repo.top_level().to_owned(),
        Err(_) => scene.folder.clone(),
    };
    let config = Config::load(&ConfigOrigins::for_project(
        &scene.env,
        &folder.join(".codeteam"),
    ));
    Ok(config.map_err(engine::Error::from)?)
}

/// A temporary folder for the files of a sandbox that belongs to no run; removed on drop.
pub(crate) struct SandboxSpecDir(PathBuf);

impl SandboxSpecDir {
    pub(crate) fn new() -> Self {
        let name = format!("codeteam-doctor-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Sets up a backend, if it works here.
    pub(crate) fn confinement(
        &self,
        scene: &CliContext,
        backend: SandboxKind,
        config: &config::SandboxConfig,
    ) -> Result<Confinement, String> {
        let repo = Engine::repository(&scene.folder, &scene.env).ok();
        let settings =
            config.confinement_settings(&scene.env, repo.as_ref(), &scene.codeteam, &self.0);
        let found = Confinement::find(backend, &settings);
        match found {
            Ok(Some(confinement)) => Ok(confinement),
            Ok(None) => Err("nothing to try".to_owned()),
            Err(missing) => Err(format_error_chain(&missing)),
        }
    }
}

impl Drop for SandboxSpecDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
