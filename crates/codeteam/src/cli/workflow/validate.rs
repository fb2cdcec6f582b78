//! `codeteam workflow validate`: whether workflows could be followed to their ends.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::load::{self, Library};
use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, Style, out_line, say};
use crate::problem::Problem;
use crate::progress::Detail;

/// Arguments of `workflow validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Workflows: their names or files. All there are if left out.
    #[arg(value_name = "NAME|FILE")]
    workflows: Vec<String>,
}

pub(super) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let library = Library::open(scene)?;
    let names = if args.workflows.is_empty() {
        let all = library.all().into_iter();
        all.map(|listed| listed.name).collect()
    } else {
        let said = args.workflows.iter();
        said.map(|name| load::seen_from(&scene.folder, name))
            .collect::<Vec<String>>()
    };
    let (mut rows, mut exit) = (Vec::<Value>::new(), Exit::Done);
    for name in names {
        match library.compile(&name, &BTreeMap::new()) {
            Ok(compiled) => {
                let steps = compiled.workflow.steps.len();
                let notes = &compiled.notes;
                rows.push(json!({"name": name, "valid": true, "steps": steps, "notes": notes}));
                if !scene.json && scene.detail > Detail::Quiet {
                    out_line(&format!("ok  {name}: {steps} steps"))?;
                    for note in notes {
                        say(&format!("    note: {note}"));
                    }
                }
            }
            Err(problem) => {
                exit = Exit::Usage;
                rows.push(json!({"name": name, "valid": false, "problem": problem.what()}));
                if !scene.json {
                    problem.print(Style::detect());
                }
            }
        }
    }
    if scene.json {
        output::json(&rows)?;
    }
    Ok(exit)
}
