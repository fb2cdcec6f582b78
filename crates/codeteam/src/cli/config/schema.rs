//! `codeteam config schema`: prints or writes the JSON schemas for editors.

use clap::ValueEnum;
use codeteam_engine::config::{SchemaKind, json_schema};
use codeteam_engine::engine::CommandLocation;

use super::short_path;
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, print_line};
use codeteam_engine::problem::Problem;

/// Arguments of `config schema`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The kind of file; all kinds with `--write`.
    #[arg(value_enum)]
    of: Option<SchemaArg>,
    /// Write it into `.codeteam/schema`, where the first line of a role's file refers to it.
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaArg {
    /// `.codeteam/config.yml`.
    Config,
    /// `.codeteam/roles/*.yml`.
    Role,
    /// `.codeteam/workflows/*.yml`.
    Workflow,
    /// `.codeteam/strategies/*.yml`.
    Strategy,
}

impl From<SchemaArg> for SchemaKind {
    fn from(of: SchemaArg) -> Self {
        match of {
            SchemaArg::Config => Self::Config,
            SchemaArg::Role => Self::Role,
            SchemaArg::Workflow => Self::Workflow,
            SchemaArg::Strategy => Self::Strategy,
        }
    }
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let of = args.of.map(SchemaKind::from);
    if !args.write {
        let schema = json_schema(of.unwrap_or(SchemaKind::Config));
        if scene.json {
            output::print_json(&schema)?;
        } else {
            print_line(&format!("{schema:#}"))?;
        }
        return Ok(Exit::Done);
    }
    let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
    let Some(folder) = ground.project_folder() else {
        // This fails with an explanation of why a repository is needed.
        scene.find_project()?;
        return Ok(Exit::Failed);
    };
    let mut written = Vec::new();
    for of in of.map_or(SchemaKind::ALL.to_vec(), |of| vec![of]) {
        let (path, _) = ground.write_schema(&folder, of)?;
        written.push(path);
    }
    if scene.json {
        output::print_json(&written)?;
    } else {
        for path in written {
            print_line(&short_path(scene, &path.display().to_string()))?;
        }
    }
    Ok(Exit::Done)
}
