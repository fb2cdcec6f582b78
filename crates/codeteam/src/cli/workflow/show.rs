//! `codeteam workflow show`: shows the file of a workflow, or the compiled result.

use codeteam_workflow::yaml::{self, OriginComments, SourceFiles};
use serde_json::{Value, json};

use super::load::{self, WorkflowLibrary};
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output;
use codeteam_engine::problem::Problem;

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

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let library = WorkflowLibrary::open(scene)?;
    if !args.resolved {
        let name = match &args.workflow {
            Some(name) => load::resolve_from(&scene.folder, name),
            None => library.default_name(),
        };
        let source = library.source(&name)?;
        if scene.json {
            output::print_json(&source)?;
        } else {
            output::print_text(&source.text)?;
        }
        return Ok(Exit::Done);
    }
    let compiled = library.find_workflow(args.workflow.as_deref(), &scene.folder)?;
    let resolved = json!({
        "description": compiled.description, "workflow": compiled.workflow,
        "roles": compiled.roles,
    });
    if scene.json {
        output::print_json(&resolved)?;
    } else {
        output::print_text(&as_yaml(&resolved)?)?;
    }
    Ok(Exit::Done)
}

/// Converts JSON to YAML by reading it as YAML, so that YAML is written in one place only.
fn as_yaml(value: &Value) -> Result<String, Problem> {
    let text = value.to_string();
    let node = yaml::read(&mut SourceFiles::default(), "workflow", &text);
    let node = node.map_err(|fault| Problem::internal(fault.message))?;
    Ok(yaml::write(&node, OriginComments::Omitted))
}
