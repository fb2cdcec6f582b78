//! `codeteam config schema`: for editors.

use clap::ValueEnum;
use codeteam_engine::config::{Schema, schema};
use codeteam_engine::engine::Ground;

use super::near_name;
use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, out_line};
use crate::problem::Problem;

/// Arguments of `config schema`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Of which kind of file; all of them with `--write`.
    #[arg(value_enum)]
    of: Option<Of>,
    /// Write it into `.codeteam/schema`, where the first line of a role's file looks for it.
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Of {
    /// `.codeteam/config.yml`.
    Config,
    /// `.codeteam/roles/*.yml`.
    Role,
    /// `.codeteam/workflows/*.yml`.
    Workflow,
    /// `.codeteam/strategies/*.yml`.
    Strategy,
}

impl From<Of> for Schema {
    fn from(of: Of) -> Self {
        match of {
            Of::Config => Self::Config,
            Of::Role => Self::Role,
            Of::Workflow => Self::Workflow,
            Of::Strategy => Self::Strategy,
        }
    }
}

pub(super) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let of = args.of.map(Schema::from);
    if !args.write {
        let schema = schema(of.unwrap_or(Schema::Config));
        if scene.json {
            output::json(&schema)?;
        } else {
            out_line(&format!("{schema:#}"))?;
        }
        return Ok(Exit::Done);
    }
    let ground = Ground::find(&scene.folder, scene.env.clone())?;
    let Some(folder) = ground.project() else {
        // Says what a repository is for.
        scene.project()?;
        return Ok(Exit::Failed);
    };
    let mut written = Vec::new();
    for of in of.map_or(Schema::ALL.to_vec(), |of| vec![of]) {
        let (path, _) = ground.write_schema(&folder, of)?;
        written.push(path);
    }
    if scene.json {
        output::json(&written)?;
    } else {
        for path in written {
            out_line(&near_name(scene, &path.display().to_string()))?;
        }
    }
    Ok(Exit::Done)
}
