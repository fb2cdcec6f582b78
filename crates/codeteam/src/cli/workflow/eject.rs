//! `codeteam workflow eject`: a built-in workflow as a file of one's own.

use codeteam_core::yaml::nearest;
use codeteam_engine::config::SchemaKind;
use codeteam_engine::engine::CommandLocation;
use serde_json::json;

use super::load;
use crate::cli::CliContext;
use crate::cli::config::near_name;
use crate::exit::Exit;
use crate::output::{self, out_line, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// By which an editor knows what the file may say.
const EDITOR_LINE: &str = "# yaml-language-server: $schema=../schema/workflow.json\n";

/// Arguments of `workflow eject`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A built-in workflow.
    name: String,
    /// Among your own workflows, for all projects.
    #[arg(long)]
    user: bool,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let name = &args.name;
    let Some(text) = load::built_in_text(name) else {
        let known = load::built_in_names();
        let problem = Problem::user(format!("`{name}` is no built-in workflow"));
        return Err(match nearest(name, known.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("built in: {}", known.join(", "))),
        });
    };
    let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
    let folder = if args.user {
        ground.user().ok_or_else(|| {
            Problem::environment("neither `HOME` nor `XDG_CONFIG_HOME` is set")
                .hint("workflows of your own are kept in `~/.config/codeteam/workflows`")
        })
    } else {
        ground.project().ok_or_else(|| {
            let folder = scene.folder.display();
            Problem::user(format!("`{folder}` is not in a git repository"))
                .hint("with `--user` the workflow is one of your own, for all projects")
        })
    }?;
    let files = ["yml", "yaml"].map(|end| folder.join("workflows").join(format!("{name}.{end}")));
    if let Some(taken) = files.iter().find(|file| file.symlink_metadata().is_ok()) {
        let taken = near_name(scene, &taken.display().to_string());
        return Err(Problem::user(format!("there is `{taken}` already"))
            .hint("it was not touched; move it away to have the built-in one again"));
    }
    let [file, _] = files;
    ground.write_new(&file, &format!("{EDITOR_LINE}{text}"))?;
    ground.write_schema(&folder, SchemaKind::Workflow)?;
    if scene.json {
        output::json(&json!({ "workflow": name, "files": [file] }))?;
        return Ok(Exit::Done);
    }
    out_line(&near_name(scene, &file.display().to_string()))?;
    if scene.detail >= Verbosity::Normal {
        say("it stands in place of the built-in workflow; remove the file to go back");
    }
    Ok(Exit::Done)
}
