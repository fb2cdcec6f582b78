//! `codeteam workflow list`: the workflows there are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::load::Library;
use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, out_line};
use crate::problem::Problem;

/// Arguments of `workflow list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn main(_: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let library = Library::open(scene)?;
    let default = library.name(None, &scene.folder);
    let mut rows = Vec::new();
    for name in library.names() {
        let source = library.source(&name)?;
        let steps = library.compile(&name, &BTreeMap::new());
        let steps = steps.map(|c| c.workflow.steps.len()).ok();
        rows.push((source, steps));
    }
    if scene.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(source, steps)| {
                json!({
                    "name": source.name, "layer": source.layer, "file": source.file,
                    "description": source.description(), "steps": steps,
                    "valid": steps.is_some(), "default": source.name == default,
                })
            })
            .collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    let names = rows.iter().map(|(source, _)| source.name.chars().count());
    let width = names.max().unwrap_or(0).max(4);
    out_line(&format!(
        "  {:<width$}  {:<8}  STEPS  DESCRIPTION",
        "NAME", "FROM"
    ))?;
    for (source, steps) in &rows {
        let mark = if source.name == default { '*' } else { ' ' };
        let (name, from) = (&source.name, source.layer.as_str());
        let about = source.description().unwrap_or_default();
        let (steps, about) = if let Some(steps) = steps {
            (steps.to_string(), about)
        } else {
            let call = format!("`{} workflow validate {name}`", scene.calls.codeteam);
            ("-".to_owned(), format!("not valid: {call} says why"))
        };
        let line = format!("{mark} {name:<width$}  {from:<8}  {steps:>5}  {about}");
        out_line(line.trim_end())?;
    }
    Ok(Exit::Done)
}
