//! `codeteam workflow validate`: checks whether workflows can be followed to their ends.

use std::collections::BTreeMap;

use codeteam_engine::engine;
use codeteam_workflow::roles::SourceLayer;
use serde_json::{Value, json};

use super::load::{self, WorkflowLibrary};
use crate::cli::{CliContext, config};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line, print_problem};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `workflow validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Workflows: their names or files. All of them if left out.
    #[arg(value_name = "NAME|FILE")]
    workflows: Vec<String>,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let library = WorkflowLibrary::open(scene)?;
    let names = if args.workflows.is_empty() {
        let all = library.list_workflows().into_iter();
        // Problems of a built-in workflow in this project matter only to those who ask for it.
        all.map(|listed| (listed.name, listed.layer != SourceLayer::BuiltIn))
            .collect()
    } else {
        let said = args.workflows.iter();
        said.map(|name| (load::resolve_from(&scene.folder, name), true))
            .collect::<Vec<(String, bool)>>()
    };
    let (mut rows, mut wrong) = (Vec::<Value>::new(), Vec::new());
    let mut exit = Exit::Done;
    for (name, is_asked) in names {
        match library.try_compile(&name, &BTreeMap::new()) {
            Ok(compiled) => {
                let steps = compiled.workflow.steps.len();
                let notes = &compiled.notes;
                rows.push(json!({"name": name, "valid": true, "steps": steps, "notes": notes}));
                if !scene.json && scene.detail > Verbosity::Quiet {
                    print_line(&format!("ok  {name}: {steps} steps"))?;
                    for note in notes.iter().filter(|_| is_asked) {
                        eprint_line(&format!("    note: {note}"));
                    }
                }
            }
            Err(error) => {
                exit = Exit::Usage;
                rows.push(json!({"name": name, "valid": false, "steps": null, "notes": []}));
                if scene.json {
                    wrong.extend(config::library_problems(error));
                } else {
                    let problem = Problem::from(engine::Error::from(error));
                    print_problem(&problem, TerminalStyle::detect());
                }
            }
        }
    }
    if scene.json {
        let valid = exit == Exit::Done;
        let problems = config::problems_json(&wrong);
        output::print_json(&json!({"valid": valid, "problems": problems, "workflows": rows}))?;
    }
    Ok(exit)
}
