//! `codeteam workflow eject`: copies a built-in workflow into a file for the user to edit.

use codeteam_core::spelling::nearest;
use codeteam_engine::config::SchemaKind;
use codeteam_engine::engine::CommandLocation;
use serde_json::json;

use super::load;
use crate::cli::CliContext;
use crate::cli::config::short_path;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// The line that tells an editor which schema the file has.
const EDITOR_LINE: &str = "# yaml-language-server: $schema=../schema/workflow.json\n";

/// Arguments of `workflow eject`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A built-in workflow.
    name: String,
    /// Put it among your own workflows, for all projects.
    #[arg(long)]
    user: bool,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let name = &args.name;
    let Some(text) = load::built_in_text(name) else {
        let known = load::built_in_names();
        let problem = Problem::user(format!("`{name}` is not a built-in workflow"));
        return Err(match nearest(name, known.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("built in: {}", known.join(", "))),
        });
    };
    let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
    let folder = if args.user {
        ground.user_folder().ok_or_else(|| {
            Problem::environment("neither `HOME` nor `XDG_CONFIG_HOME` is set")
                .hint("workflows of your own are kept in `~/.config/codeteam/workflows`")
        })
    } else {
        ground.project_folder().ok_or_else(|| {
            let folder = scene.folder.display();
            Problem::user(format!("`{folder}` is not in a git repository"))
                .hint("with `--user` the workflow is one of your own, for all projects")
        })
    }?;
    let files = ["yml", "yaml"].map(|end| folder.join("workflows").join(format!("{name}.{end}")));
    if let Some(taken) = files.iter().find(|file| file.symlink_metadata().is_ok()) {
        let taken = short_path(scene, &taken.display().to_string());
        return Err(Problem::user(format!("there is `{taken}` already"))
            .hint("it was not touched; move it away to have the built-in one again"));
    }
    let [file, _] = files;
    ground.write_new(&file, &format!("{EDITOR_LINE}{text}"))?;
    ground.write_schema(&folder, SchemaKind::Workflow)?;
    if scene.json {
        output::print_json(&json!({ "workflow": name, "files": [file] }))?;
        return Ok(Exit::Done);
    }
    print_line(&short_path(scene, &file.display().to_string()))?;
    if scene.detail >= Verbosity::Normal {
        eprint_line("it replaces the built-in workflow; remove the file to go back");
    }
    Ok(Exit::Done)
}
