//! `codeteam restore`: restores a removed worktree into a folder.

use std::path::PathBuf;

use codeteam_engine::maintenance;

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line};
use codeteam_engine::problem::Problem;

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Which worktree: a task's id, or `run`. Lists them if left out.
    #[arg(long)]
    task: Option<String>,
    /// The folder to restore into; it must not exist, or be empty.
    #[arg(long, value_name = "DIR", requires = "task")]
    to: Option<PathBuf>,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    let kept = maintenance::list_snapshots(&engine, &id)?;
    let Some(task) = &args.task else {
        if scene.json {
            let names: Vec<&str> = kept.iter().map(|s| s.name.as_str()).collect();
            output::print_json(&names)?;
        } else if kept.is_empty() {
            eprint_line(&format!(
                "no worktree of {id} has anything that is not on its branch"
            ));
        } else {
            for snapshot in &kept {
                print_line(&format!("{}  {}", snapshot.task(), snapshot.reference))?;
            }
        }
        return Ok(Exit::Done);
    };
    let found = kept
        .iter()
        .find(|s| s.task() == task || s.name == *task)
        .ok_or_else(|| {
            let names: Vec<&str> = kept
                .iter()
                .map(maintenance::WorktreeSnapshot::task)
                .collect();
            Problem::user(format!("nothing was kept of `{task}` in {id}")).hint(format!(
                "kept: {}",
                if names.is_empty() {
                    "nothing".to_owned()
                } else {
                    names.join(", ")
                }
            ))
        })?;
    let folder = scene.folder.join(
        args.to
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("restored-{task}"))),
    );
    let traps = maintenance::restore(&engine, found, &folder)?;
    if scene.json {
        output::print_json(&serde_json::json!({ "run": id, "task": task, "folder": folder }))?;
    } else {
        eprint_line(&format!(
            "restored {task} of {id} into {}",
            folder.display()
        ));
    }
    for trap in &traps {
        let trap = folder.join(trap);
        eprint_line(&format!(
            "{}: git takes `{}` for a repository and runs what its configuration says; look at it \
             before you use git there",
            TerminalStyle::detect().yellow("warning"),
            trap.display()
        ));
    }
    Ok(Exit::Done)
}
