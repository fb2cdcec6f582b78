//! `codeteam diff`: prints the diff of a run, or of one of its tasks.

use std::io::IsTerminal as _;

use codeteam_core::ids::FramePath;
use codeteam_core::untrusted_text::spell_out;
use codeteam_engine::Engine;
use codeteam_engine::patches::{PatchWithFiles, patch_between, task_patch};
use codeteam_report::view::{FrameView, RunView};

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output;
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Only what this task changed; its current change if it is in progress.
    #[arg(long)]
    task: Option<String>,
    /// Only the names of the files.
    #[arg(long)]
    names: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let run = engine.load_run_view(&engine.find_work_run(args.run.run.as_deref())?)?;
    let PatchWithFiles { text, files } = match &args.task {
        None => run_patch(&engine, &run, scene)?,
        Some(task) => task_patch(&engine, &run, task)?,
    };
    if scene.json {
        let value = serde_json::json!({
            "run": run.id, "files": files, "diff": String::from_utf8_lossy(&text),
        });
        output::print_json(&value)?;
    } else if args.names {
        for file in files {
            output::print_line(&file)?;
        }
    } else if std::io::stdout().is_terminal() {
        // On a terminal, control characters in files are spelt out instead of executed.
        output::print_text(&spell_out(&String::from_utf8_lossy(&text)))?;
    } else {
        // Otherwise print exact bytes: it is a patch, and files need not be UTF-8.
        output::print_bytes(&text)?;
    }
    Ok(Exit::Done)
}

/// Returns a task whose change is not committed yet, if there is one.
fn submitted_task(run: &RunView) -> Option<&str> {
    let mut frames = run.all_frames();
    let submitted = frames.find(|frame| frame.has_change() && !frame.path.is_root())?;
    Some(submitted.path.name())
}

/// Returns the patch of a run's commits, or, before there are any, of its current change as a
/// whole.
fn run_patch(
    engine: &Engine,
    run: &RunView,
    scene: &CliContext,
) -> Result<PatchWithFiles, Problem> {
    let committed = patch_between(engine, &run.base, &run.tip)?;
    if !committed.files.is_empty() {
        return Ok(committed);
    }
    let root = run.frame(&FramePath::root());
    let is_at = root.is_some_and(FrameView::has_change);
    if scene.detail >= Verbosity::Normal {
        let submitted = submitted_task(run);
        output::eprint_line(&match submitted {
            _ if is_at => {
                "note: nothing is committed yet; this is what was submitted last".to_owned()
            }
            Some(task) => format!(
                "note: nothing is committed yet; `codeteam diff {} --task {task}` shows what was \
                 submitted last",
                run.id
            ),
            None => "note: nothing is committed yet".to_owned(),
        });
    }
    if is_at {
        return task_patch(engine, run, FramePath::root().name());
    }
    Ok(committed)
}
