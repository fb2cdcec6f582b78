//! `codeteam role eject`: a built-in role as a file of one's own.

use codeteam_core::role::SourceLayer;
use codeteam_engine::{built_in, engine};
use serde_json::json;

use super::files;
use crate::cli::CliContext;
use crate::cli::config::{LoadedConfig, near_name};
use crate::exit::Exit;
use crate::output::{self, out_line, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// Arguments of `role eject`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The built-in role.
    name: String,
    /// Among your own roles, for all projects.
    #[arg(long)]
    user: bool,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &[])?;
    let library = said.library();
    let Some(text) = built_in::text(&format!("roles/{}.yml", args.name)) else {
        // Unknown, or one's own.
        let known = library.role_names();
        if !known.contains(args.name.as_str()) {
            library.resolve(&args.name).map_err(engine::Error::from)?;
        }
        let problem = Problem::user(format!("`{}` is not built in", args.name));
        let files = library.files_of(&args.name).first();
        return Err(match files {
            Some((_, file)) => problem.hint(format!("it is yours: `{}`", near_name(scene, file))),
            None => problem,
        });
    };
    let folder = files::folder(scene, &said.ground, args.user)?;
    files::check_free(scene, &folder, &args.name)?;
    let path = folder.join("roles").join(format!("{}.yml", args.name));
    let text = format!("{}{text}", files::editor_line(&path, &folder));
    files::write(&said.ground, &folder, &[(path.clone(), text)])?;
    if scene.json {
        output::json(&json!({ "role": args.name, "files": [path] }))?;
        return Ok(Exit::Done);
    }
    out_line(&near_name(scene, &path.display().to_string()))?;
    if scene.detail >= Verbosity::Normal {
        say("it stands in place of the built-in role; remove the file to go back");
        let layers = library.layers_of(&args.name);
        let above = layers.iter().any(|layer| *layer > SourceLayer::User);
        if args.user && above {
            say("note: this project has a role of that name, which counts more");
        }
    }
    Ok(Exit::Done)
}
