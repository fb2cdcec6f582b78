//! `codeteam workflow list`: lists all workflows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::load::WorkflowLibrary;
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, one_line, print_line};
use codeteam_engine::problem::Problem;

/// Arguments of `workflow list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn main(_: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let library = WorkflowLibrary::open(scene)?;
    let usual = library.default_name();
    let mut rows = Vec::new();
    for listed in library.list_workflows() {
        let compiled = library.compile(&listed.name, &BTreeMap::new()).ok();
        rows.push((listed, compiled));
    }
    let is_usual = |name: &str| usual == name;
    if scene.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(listed, compiled)| {
                let compiled = compiled.as_ref();
                json!({
                    "name": listed.name, "layer": listed.layer.as_str(), "file": listed.file,
                    "description": compiled.map(|c| &c.description),
                    "steps": compiled.map(|c| c.workflow.steps.len()),
                    "valid": compiled.is_some(), "default": is_usual(&listed.name),
                })
            })
            .collect();
        output::print_json(&rows)?;
        return Ok(Exit::Done);
    }
    let names = rows.iter().map(|(listed, _)| listed.name.chars().count());
    let width = names.max().unwrap_or(0).max(4);
    let room = output::stdout_width();
    print_line(&format!(
        "  {:<width$}  {:<8}  STEPS  DESCRIPTION",
        "NAME", "LAYER"
    ))?;
    for (listed, compiled) in &rows {
        let (name, from) = (&one_line(&listed.name), listed.layer.as_str());
        let mark = if is_usual(name) { '*' } else { ' ' };
        let (steps, about) = if let Some(compiled) = compiled {
            let steps = compiled.workflow.steps.len();
            let about = match library.extended_workflow(name) {
                Some(other) if compiled.description.is_empty() => {
                    format!("`{other}`, with what the configuration changes")
                }
                _ => one_line(&compiled.description),
            };
            (steps.to_string(), about)
        } else {
            let call = format!("`{} workflow validate {name}`", scene.calls.codeteam);
            ("-".to_owned(), format!("not valid: {call} says why"))
        };
        let start = format!("{mark} {name:<width$}  {from:<8}  {steps:>5}  ");
        let about = output::truncate(&about, room.saturating_sub(start.chars().count()));
        print_line(format!("{start}{about}").trim_end())?;
    }
    Ok(Exit::Done)
}
