//! `codeteam diff`: the diff of a run, or of one of its tasks.

use codeteam_core::Run;
use codeteam_core::ids::TaskId;
use codeteam_engine::git::Oid;

use crate::cli::{RunName, Scene};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Only what this task changed; its current change if it is under way.
    #[arg(long)]
    task: Option<String>,
    /// Only the names of the files.
    #[arg(long)]
    names: bool,
}

pub(crate) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let run = engine.load(&engine.find(args.run.run.as_deref())?)?;
    let under_way = args
        .task
        .as_deref()
        .and_then(|task| change_under_way(&run, task));
    let (text, files) = if let Some(change) = under_way {
        let text = engine
            .bodies
            .get(change.diff.as_str())
            .map_err(|e| Problem::environment("the diff cannot be read").caused_by(&e))?;
        (text, change.files.clone())
    } else {
        let (from, to) = match &args.task {
            None => (run.base.commit.0.clone(), run.tip.commit.0.clone()),
            Some(task) => committed(&run, task)?,
        };
        let oid = |text: &str| {
            Oid::parse(text).ok_or_else(|| Problem::internal(format!("`{text}` is no commit")))
        };
        let (from, to) = (oid(&from)?, oid(&to)?);
        let from = if args.task.is_some() {
            engine.repo.resolve(&format!("{from}~1"))?
        } else {
            from
        };
        let diff = engine
            .repo
            .diff(&engine.repo.tree_of(&from)?, &engine.repo.tree_of(&to)?)?;
        let files = diff
            .files
            .iter()
            .map(|f| f.path.display().to_string())
            .collect();
        (diff.text, files)
    };
    if scene.json {
        let value = serde_json::json!({
            "run": run.id, "files": files, "diff": String::from_utf8_lossy(&text),
        });
        output::json(&value)?;
    } else if args.names {
        for file in files {
            output::out_line(&file)?;
        }
    } else {
        // To the byte: it is a patch, and files need not be UTF-8.
        output::out_bytes(&text)?;
    }
    Ok(Exit::Done)
}

fn change_under_way<'a>(run: &'a Run, task: &str) -> Option<&'a codeteam_core::frame::FrameChange> {
    let frames = run.frames.values().chain(run.failed.values());
    frames
        .into_iter()
        .find(|f| f.path.name() == task)?
        .change
        .as_ref()
}

/// The first and the last commit of a task.
fn committed(run: &Run, task: &str) -> Result<(String, String), Problem> {
    let record = run.tasks.get(&TaskId::from(task));
    let commits = record.map(|r| r.commits.clone()).unwrap_or_default();
    match (commits.first(), commits.last()) {
        (Some(first), Some(last)) => Ok((first.0.clone(), last.0.clone())),
        _ => Err(
            Problem::user(format!("there is no change of `{task}` in {}", run.id))
                .hint(format!("`codeteam show {}` lists its tasks", run.id)),
        ),
    }
}
