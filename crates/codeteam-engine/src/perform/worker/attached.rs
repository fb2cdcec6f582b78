//! What a worker is told: its assignment with the bodies it refers to and what it is shown of the
//! worktree.

use codeteam_context::strategy::FilePatterns;
use codeteam_context::tree::FileTree;
use codeteam_core::assignment::Assignment;
use codeteam_core::event::CheckResult;
use codeteam_core::ids::BodyId;

use crate::context::strategies::StrategyCatalog;
use crate::context::{
    self, DocumentSources, LazyProject, PromptRequest, PromptSubject, RenderedPrompt,
};
use crate::engine::Engine;
use crate::find;
use crate::layout;
use crate::perform::{Error, Job, oid};
use crate::prompt::{self, TemplateCatalog};
use crate::workers::Worker;
use crate::workspace::Workspace;

/// Longer files are not shown.
const MAX_FILE: u64 = 1 << 20;
/// What a prompt may be where a run of an older version has not pinned it.
const TOKEN_BUDGET: u64 = 200_000;

/// Puts an assignment into words.
pub(super) fn told(
    job: &Job,
    assignment: &Assignment,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<RenderedPrompt, Error> {
    let body = |id: &BodyId| -> Result<String, Error> {
        let bytes = engine.bodies.get(&id.0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // What the worker must not see is not there: neither is its name in a tree, nor what it defines in
    // a map.
    let hidden = FilePatterns::hiding(&assignment.exclude).map_err(context::Error::from)?;
    let tracked = workspace.tracked()?.into_iter().map(|entry| entry.path);
    let tracked = tracked.filter(|path| {
        let path = path.to_string_lossy();
        !hidden.matches(&path) && !context::is_for_editors(&path)
    });
    let files = FileTree::of(&workspace.tree_dir(), tracked, MAX_FILE)?;
    let base = oid(&job.base.commit.0)?;
    let cache = engine.env.context_cache(engine.repo.top_level());
    // A role can do without what git does not tell.
    let history = || find::past(&engine.repo, &base, cache.as_deref()).unwrap_or_default();
    let task = assignment.task.as_ref();
    let about = PromptSubject {
        words: context::words(assignment),
        targets: task.map(|task| task.files.clone()).unwrap_or_default(),
        cache: cache.clone(),
        model: engine
            .config
            .embeddings
            .as_ref()
            .map(|model| engine.repo.top_level().join(model)),
        history: &history,
    };
    let sight = LazyProject::new(&files, about);
    let change = assignment.change.as_ref();
    let attachments = assignment.attachments.iter();
    Ok(context::told(&PromptRequest {
        assignment,
        templates: &TemplateCatalog::pinned(&job.templates),
        strategies: &StrategyCatalog::pinned(&job.strategies)?,
        place: DocumentSources {
            repo: &engine.repo,
            // What the frame started from, not what its worker has made of it.
            base: &oid(&job.base.tree.0)?,
            folder: &engine.folder,
            user_folder: engine.env.user_folder(),
            notes: engine.config.layout.map(|_| layout::NOTES),
        },
        project: &sight,
        map: &|tokens| sight.map(tokens),
        redactor: &engine.redactor,
        diff: change.map(|change| body(&change.diff)).transpose()?,
        changes: changes(assignment, workspace),
        printed: attachments.map(body).collect::<Result<_, _>>()?,
        outputs: if prompt::is_exact(assignment) {
            outputs(assignment, engine)?
        } else {
            Vec::new()
        },
        budget: assignment.context.budget.unwrap_or(TOKEN_BUDGET),
        schema_given: Worker::takes_schema(&engine.config, &assignment.worker),
    })?)
}

/// What the checks printed, one by one.
pub(super) fn outputs(
    assignment: &Assignment,
    engine: &Engine,
) -> Result<Vec<Option<String>>, Error> {
    let output = |check: &CheckResult| -> Result<Option<String>, Error> {
        let Some(body) = &check.output else {
            return Ok(None);
        };
        let bytes = engine.bodies.get(&body.0)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    };
    assignment.checks.iter().map(output).collect()
}

/// What has changed since it was judged before. A tree that is no longer there has nothing to say.
fn changes(assignment: &Assignment, workspace: &Workspace) -> Option<String> {
    let before = oid(&assignment.before.as_ref()?.0).ok()?;
    let now = oid(&assignment.tree.0).ok()?;
    let diff = workspace.diff(&before, &now).ok()?;
    Some(String::from_utf8_lossy(&diff.text).into_owned())
}
