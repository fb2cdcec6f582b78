//! `codeteam config`: shows the configuration, and checks whether it is valid.

mod schema;
mod show;
mod validate;

use std::path::Path;

use clap::Subcommand;
use codeteam_engine::config::{Config, ConfigLayers};
use codeteam_engine::engine::{self, CommandLocation};
use codeteam_engine::library::Library;
use codeteam_workflow::yaml::SourceFiles;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::eprint_line;
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

pub(super) use self::show::{flatten_with_sources, node_to_json};
pub(super) use self::validate::{
    library_problems, problems_json, report_problems, strategy_problems,
};

/// Arguments of `config`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the configuration, with all layers merged.
    ///
    /// The layers are the built-in one, your own, the project's, the environment (`CODETEAM_…`) and
    /// the command line (`--set`); later ones override earlier ones. Secrets are not shown: neither
    /// what MCP servers get in their environment nor what looks like a key.
    Show(show::Args),
    /// Print the JSON Schema of the configuration, of a role, of a workflow or of a strategy.
    Schema(schema::Args),
    /// Check the configuration, and the roles and workflows of the user and the project.
    ///
    /// Reports all problems at once, and exits with 2 if there are any.
    Validate(validate::Args),
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    match &args.command {
        ConfigCommand::Show(args) => show::main(args, scene),
        ConfigCommand::Schema(args) => schema::main(args, scene),
        ConfigCommand::Validate(args) => validate::main(args, scene),
    }
}

/// The configuration where the command runs, in a repository or not.
pub(super) struct LoadedConfig {
    pub(super) ground: CommandLocation,
    pub(super) config: Config,
    pub(super) layers: ConfigLayers,
}

impl LoadedConfig {
    pub(super) fn read(scene: &CliContext, set: &[String]) -> Result<Self, Problem> {
        let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
        let (config, layers) = ground.load_config(set).map_err(engine::Error::from)?;
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

    /// Prints notes about settings that have no effect yet, for one key or for all.
    pub(super) fn print_notes(&self, scene: &CliContext, key: &str) {
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
                eprint_line(&format!("note: {}", shorten_paths(scene, note)));
            }
        }
    }
}

/// Shortens source paths for a person at this prompt.
pub(super) fn shorten_sources(scene: &CliContext, mut sources: SourceFiles) -> SourceFiles {
    sources.rename(|file| short_path(scene, file));
    sources
}

/// Shortens a path relative to the current folder or home.
pub(super) fn short_path(scene: &CliContext, file: &str) -> String {
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

/// Shortens all paths in a sentence.
pub(super) fn shorten_paths(scene: &CliContext, text: &str) -> String {
    let mut text = text.replace(&format!("{}/", scene.here.display()), "");
    if let Some(home) = &scene.env.home {
        text = text.replace(&format!("{}/", home.display()), "~/");
    }
    text
}
