//! `codeteam role eject`: copies a built-in role into a file for the user to edit.

use codeteam_engine::{built_in, engine};
use codeteam_workflow::roles::SourceLayer;
use serde_json::json;

use super::files;
use crate::cli::CliContext;
use crate::cli::config::{LoadedConfig, short_path};
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `role eject`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The built-in role.
    name: String,
    /// Put it among your own roles, for all projects.
    #[arg(long)]
    user: bool,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &[])?;
    let library = said.library();
    let Some(text) = built_in::text(&format!("roles/{}.yml", args.name)) else {
        // The role is unknown, or the user's own.
        let known = library.role_names();
        if !known.contains(args.name.as_str()) {
            library.resolve(&args.name).map_err(engine::Error::from)?;
        }
        let problem = Problem::user(format!("`{}` is not built in", args.name));
        let files = library.files_of(&args.name).first();
        return Err(match files {
            Some((_, file)) => problem.hint(format!("it is yours: `{}`", short_path(scene, file))),
            None => problem,
        });
    };
    let folder = files::role_folder(scene, &said.ground, args.user)?;
    files::check_free(scene, &folder, &args.name)?;
    let path = folder.join("roles").join(format!("{}.yml", args.name));
    let text = format!("{}{text}", files::editor_line(&path, &folder));
    files::write_role_files(&said.ground, &folder, &[(path.clone(), text)])?;
    if scene.json {
        output::print_json(&json!({ "role": args.name, "files": [path] }))?;
        return Ok(Exit::Done);
    }
    print_line(&short_path(scene, &path.display().to_string()))?;
    if scene.detail >= Verbosity::Normal {
        eprint_line("it replaces the built-in role; remove the file to go back");
        let layers = library.layers_of(&args.name);
        let above = layers.iter().any(|layer| *layer > SourceLayer::User);
        if args.user && above {
            eprint_line("note: this project has a role of that name, which counts more");
        }
    }
    Ok(Exit::Done)
}
