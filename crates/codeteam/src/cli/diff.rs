//! `codeteam diff`: the diff of a run, or of one of its tasks.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;

use codeteam_core::Run;
use codeteam_core::ids::{Commit, FramePath, TaskId};
use codeteam_core::quoted::spell_out;
use codeteam_engine::Engine;
use codeteam_engine::git::Oid;

use crate::cli::{CliContext, RunName};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::progress::Verbosity;

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

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let run = engine.load(&engine.find_work(args.run.run.as_deref())?)?;
    let (text, files) = match &args.task {
        None => whole(&engine, &run, scene)?,
        Some(task) => of_task(&engine, &run, task)?,
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
    } else if std::io::stdout().is_terminal() {
        // For eyes: what a file does to a terminal is spelt out, and not done.
        output::out(&spell_out(&String::from_utf8_lossy(&text)))?;
    } else {
        // To the byte: it is a patch, and files need not be UTF-8.
        output::out_bytes(&text)?;
    }
    Ok(Exit::Done)
}

/// A patch, and the files it touches.
type PatchWithFiles = (Vec<u8>, Vec<String>);

/// What a run has committed; or, before that, the change that it is at as a whole.
fn whole(engine: &Engine, run: &Run, scene: &CliContext) -> Result<PatchWithFiles, Problem> {
    let committed = between(engine, &run.base.commit, &run.tip.commit)?;
    if !committed.1.is_empty() {
        return Ok(committed);
    }
    let root = run.frames.get(&FramePath::root());
    let is_at = root.is_some_and(|frame| frame.change.is_some());
    if scene.detail >= Verbosity::Normal {
        output::say(if is_at {
            "note: nothing is committed yet; this is what was submitted last"
        } else {
            "note: nothing is committed yet"
        });
    }
    if is_at {
        return of_task(engine, run, FramePath::root().name());
    }
    Ok(committed)
}

/// What a task has changed: what it is at now, or each of its commits.
fn of_task(engine: &Engine, run: &Run, task: &str) -> Result<PatchWithFiles, Problem> {
    let mut frames = run.frames.values().chain(run.failed.values());
    let frame = frames.find(|f| f.path.name() == task);
    if let Some(change) = frame.and_then(|f| f.change.as_ref()) {
        let text = engine
            .bodies
            .get(change.diff.as_str())
            .map_err(|e| Problem::environment("the diff cannot be read").caused_by(&e))?;
        return Ok((text, change.files.clone()));
    }
    let commits = run
        .tasks
        .get(&TaskId::from(task))
        .map(|r| r.commits.clone());
    let commits = commits
        .filter(|commits| !commits.is_empty())
        .ok_or_else(|| {
            Problem::user(format!("there is no change of `{task}` in {}", run.id))
                .hint(format!("`codeteam show {}` lists its tasks", run.id))
        })?;
    let (mut text, mut files) = (Vec::new(), BTreeSet::new());
    for commit in &commits {
        // Other tasks' commits may lie between two of this one's.
        let before = engine.repo.resolve(&format!("{commit}~1"))?;
        let (patch, touched) = between(engine, &before.as_str().into(), commit)?;
        text.extend(patch);
        files.extend(touched);
    }
    Ok((text, files.into_iter().collect()))
}

fn between(engine: &Engine, from: &Commit, to: &Commit) -> Result<PatchWithFiles, Problem> {
    let tree = |commit: &Commit| -> Result<Oid, Problem> {
        let oid = Oid::parse(commit.as_str())
            .ok_or_else(|| Problem::internal(format!("`{commit}` is no commit")))?;
        Ok(engine.repo.tree_of(&oid)?)
    };
    let diff = engine.repo.diff(&tree(from)?, &tree(to)?)?;
    let files = diff
        .files
        .iter()
        .map(|f| f.path.display().to_string())
        .collect();
    Ok((diff.text, files))
}
