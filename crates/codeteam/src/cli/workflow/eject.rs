//! `codeteam workflow eject`: a built-in workflow as a file of the project.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};

use codeteam_core::yaml::nearest;
use codeteam_engine::engine::refuse_links;
use serde_json::json;

use super::load::{self, Library};
use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::problem::Problem;
use crate::progress::Detail;

/// Arguments of `workflow eject`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A built-in workflow.
    name: String,
}

pub(super) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let library = Library::open(scene)?;
    let name = &args.name;
    let Some(text) = load::built_in_text(name) else {
        let known = load::built_in_names();
        let problem = Problem::user(format!("`{name}` is no built-in workflow"));
        return Err(match nearest(name, known.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("built in: {}", known.join(", "))),
        });
    };
    let folder = library.folder.join("workflows");
    let file = folder.join(format!("{name}.yml"));
    let failed = |error: &std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Problem::user(format!("`{}` is there already", file.display()))
            .hint("it was not touched; move it away to have the built-in one again"),
        _ => Problem::environment(format!("could not write `{}`", file.display())).caused_by(error),
    };
    if folder.join(format!("{name}.yaml")).exists() {
        let other = folder.join(format!("{name}.yaml"));
        return Err(Problem::user(format!(
            "`{}` is there already",
            other.display()
        )));
    }
    refuse_links(&library.folder, &file)?;
    fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
    // Never over something that is there, even if it has just come.
    let made = OpenOptions::new().write(true).create_new(true).open(&file);
    let written = made.and_then(|mut made| made.write_all(text.as_bytes()));
    written.map_err(|error| failed(&error))?;
    if scene.json {
        output::json(&json!({"workflow": name, "file": file}))?;
    } else if scene.detail > Detail::Quiet {
        say(&format!(
            "written to `{}`; the project uses it from now on",
            file.display()
        ));
    }
    Ok(Exit::Done)
}
