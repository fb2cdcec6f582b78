//! `codeteam config`: what is configured, and whether it can be.

mod schema;
mod show;
mod validate;

use std::path::Path;

use clap::Subcommand;
use codeteam_core::yaml::SourceFiles;
use codeteam_engine::config::{Config, ConfigLayers};
use codeteam_engine::engine::{self, CommandLocation};
use codeteam_engine::library::Library;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::say;
use crate::problem::Problem;
use crate::progress::Verbosity;

pub(super) use self::show::{flat, value};
pub(super) use self::validate::{conclude, problems, problems_json, strategy_problems};

/// Arguments of `config`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the configuration: all layers together.
    ///
    /// The layers are what is built in, your own, the project's, the environment (`CODETEAM_…`) and
    /// the command line (`--set`); later ones count more. Secrets are not shown: neither what MCP
    /// servers are given in their environment nor what looks like a key.
    Show(show::Args),
    /// Print the JSON Schema of the configuration, of a role, of a workflow or of a strategy.
    Schema(schema::Args),
    /// Check the configuration, and the roles and workflows of the user and the project.
    ///
    /// Says everything that is wrong at once, and exits with 2 if anything is.
    Validate(validate::Args),
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    match &args.command {
        ConfigCommand::Show(args) => show::main(args, scene),
        ConfigCommand::Schema(args) => schema::main(args, scene),
        ConfigCommand::Validate(args) => validate::main(args, scene),
    }
}

/// What is configured where the command works, in a repository or not.
pub(super) struct LoadedConfig {
    pub(super) ground: CommandLocation,
    pub(super) config: Config,
    pub(super) layers: ConfigLayers,
}

impl LoadedConfig {
    pub(super) fn read(scene: &CliContext, set: &[String]) -> Result<Self, Problem> {
        let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
        let (config, layers) = ground.layers(set).map_err(engine::Error::from)?;
        Ok(Self {
            ground,
            config,
            layers,
        })
    }

    pub(super) fn library(&self) -> Library {
        self.ground
            .library(&self.config, self.layers.sources.clone())
    }

    /// Tells what is configured and has no effect yet, of a key or of all.
    pub(super) fn tell_notes(&self, scene: &CliContext, key: &str) {
        if scene.detail < Verbosity::Normal {
            return;
        }
        let below = |path: &str, above: &str| {
            let rest = path.strip_prefix(above);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for note in &self.config.notes {
            let path = note.split('`').nth(1).unwrap_or_default();
            if key.is_empty() || below(path, key) || below(key, path) {
                say(&format!("note: {}", shorten(scene, note)));
            }
        }
    }
}

/// Sources under the names that a person at this prompt would give them.
pub(super) fn near(scene: &CliContext, mut sources: SourceFiles) -> SourceFiles {
    sources.rename(|file| near_name(scene, file));
    sources
}

/// A file as seen from here, or from home.
pub(super) fn near_name(scene: &CliContext, file: &str) -> String {
    if let Some(variable) = file.strip_prefix("environment variable `") {
        return format!("${}", variable.trim_end_matches('`'));
    }
    let path = Path::new(file);
    if let Ok(near) = path.strip_prefix(&scene.here) {
        return near.display().to_string();
    }
    let home = scene.env.home.as_ref();
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(near) => format!("~/{}", near.display()),
        None => file.to_owned(),
    }
}

/// The same for files in a sentence.
pub(super) fn shorten(scene: &CliContext, text: &str) -> String {
    let mut text = text.replace(&format!("{}/", scene.here.display()), "");
    if let Some(home) = &scene.env.home {
        text = text.replace(&format!("{}/", home.display()), "~/");
    }
    text
}
