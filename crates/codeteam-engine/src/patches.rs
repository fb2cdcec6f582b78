//! The patches of a run: what a task has changed, and what is between two commits.

use std::collections::BTreeSet;

use codeteam_core::ids::Commit;
use codeteam_host::git::Oid;
use codeteam_report::view::{LoadedRun, RunView};

use crate::engine::Engine;
use crate::perform::workspace_name;
use crate::problem::Problem;

/// A patch, and the files it touches.
pub struct PatchWithFiles {
    /// The patch, as git prints it.
    pub text: Vec<u8>,
    /// The paths of the files.
    pub files: Vec<String>,
}

/// Returns the patch of a task: its current change, or each of its commits.
pub fn task_patch(engine: &Engine, run: &RunView, task: &str) -> Result<PatchWithFiles, Problem> {
    let frame = run.frame_named(task);
    if let Some((diff, files)) =
        frame.and_then(|frame| Some((frame.diff.as_ref()?, frame.changed_files.as_ref()?)))
    {
        let text = engine
            .bodies
            .get(diff.as_str())
            .map_err(|e| Problem::environment("the diff cannot be read").caused_by(&e))?;
        let files = files.clone();
        return Ok(PatchWithFiles { text, files });
    }
    let commits = run.task(task).map(|task| &task.commits);
    let commits = commits
        .filter(|commits| !commits.is_empty())
        .ok_or_else(|| {
            Problem::user(format!("there is no change of `{task}` in {}", run.id))
                .hint(format!("`codeteam show {}` lists its tasks", run.id))
        })?;
    let (mut text, mut files) = (Vec::new(), BTreeSet::new());
    for commit in commits {
        // Other tasks' commits may be between two of this one's.
        let before = engine.repo.resolve(&format!("{commit}~1"))?;
        let patch = patch_between(engine, &before.as_str().into(), commit)?;
        text.extend(patch.text);
        files.extend(patch.files);
    }
    let files = files.into_iter().collect();
    Ok(PatchWithFiles { text, files })
}

/// Returns the patch that leads from one version of a task's change to another. The objects of versions
/// that are not committed are in the task's workspace.
pub fn versions_patch(
    engine: &Engine,
    run: &LoadedRun,
    task: &str,
    from: &Oid,
    to: &Oid,
) -> Result<Vec<u8>, Problem> {
    if let Some(frame) = run.frame_named(task) {
        let name = workspace_name(&frame.path);
        let workspace = engine.workspace(&run.id, run.as_run().sandbox, &name);
        let diff = workspace.and_then(|workspace| workspace.diff(from, to));
        if let Ok(diff) = diff {
            return Ok(diff.text);
        }
    }
    // A task that was committed has no workspace any more.
    let diff = engine.repo.diff(from, to).map_err(|e| {
        Problem::environment("one of the two versions is no longer kept")
            .caused_by(&e)
            .hint("the whole change is shown without `since`")
    })?;
    Ok(diff.text)
}

/// Returns the patch that leads from one commit to another.
pub fn patch_between(
    engine: &Engine,
    from: &Commit,
    to: &Commit,
) -> Result<PatchWithFiles, Problem> {
    let tree = |commit: &Commit| -> Result<Oid, Problem> {
        let oid = Oid::parse(commit.as_str())
            .ok_or_else(|| Problem::internal(format!("`{commit}` is not a commit")))?;
        Ok(engine.repo.tree_of(&oid)?)
    };
    let diff = engine.repo.diff(&tree(from)?, &tree(to)?)?;
    let files = diff.files.iter();
    Ok(PatchWithFiles {
        files: files.map(|f| f.path.display().to_string()).collect(),
        text: diff.text,
    })
}
