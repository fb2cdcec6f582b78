//! `codeteam workflow show`: the file of a workflow, or what it comes to.

use std::collections::BTreeMap;

use serde_json::json;

use super::load::Library;
use crate::cli::Scene;
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// Arguments of `workflow show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A workflow: its name or its file. The project's own if left out.
    #[arg(value_name = "NAME|FILE")]
    workflow: Option<String>,
    /// Print what a run would follow: every step with everything it inherits, and the roles.
    #[arg(long)]
    resolved: bool,
}

pub(super) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let library = Library::open(scene)?;
    let name = library.name(args.workflow.as_deref(), &scene.folder);
    if !args.resolved {
        let source = library.source(&name)?;
        if scene.json {
            output::json(&source)?;
        } else {
            output::out(&source.text)?;
        }
        return Ok(Exit::Done);
    }
    let compiled = library.compile(&name, &BTreeMap::new())?;
    let resolved = json!({"workflow": compiled.workflow, "roles": compiled.roles});
    if scene.json {
        output::json(&resolved)?;
    } else {
        let text = serde_saphyr::to_string(&resolved)
            .map_err(|e| Problem::internal("a workflow cannot be written as YAML").caused_by(&e))?;
        output::out(&text)?;
    }
    Ok(Exit::Done)
}
