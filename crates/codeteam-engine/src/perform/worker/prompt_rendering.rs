//! Renders the prompt of a worker: its assignment, the bodies that it refers to, and the context
//! from the worktree.

use codeteam_context::tree::FileTree;
use codeteam_core::assignment::Assignment;
use codeteam_core::checks::CheckResult;
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
use codeteam_host::workspace::Workspace;
use codeteam_patterns::FilePatterns;

/// The largest file that is shown.
const MAX_FILE: u64 = 1 << 20;
/// The token budget of a prompt in runs of an older version, which has not pinned one.
const TOKEN_BUDGET: u64 = 200_000;

/// Renders the prompt of an assignment.
pub(super) fn render_assignment(
    job: &Job,
    assignment: &Assignment,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<RenderedPrompt, Error> {
    let body = |id: &BodyId| -> Result<String, Error> {
        let bytes = engine.bodies.get(&id.0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // Files that are hidden from the worker are left out completely: neither their names appear in
    // a tree, nor their definitions in a map.
    let hidden = FilePatterns::for_hidden_files(&assignment.shown.exclude);
    let tracked = workspace
        .tracked_files()?
        .into_iter()
        .map(|entry| entry.path);
    let tracked = tracked.filter(|path| {
        let path = path.to_string_lossy();
        !hidden.matches(&path) && !context::is_for_editors(&path)
    });
    let files = FileTree::from_paths(&workspace.tree_dir(), tracked, MAX_FILE)?;
    let base = oid(&job.base.commit.0)?;
    let cache = engine.env.context_cache(engine.repo.top_level());
    // If git cannot provide the history, the prompt does without it.
    let history = || find::load_history(&engine.repo, &base, cache.as_deref()).unwrap_or_default();
    let task = assignment.task.as_ref();
    let about = PromptSubject {
        words: context::describe_assignment(assignment),
        targets: task.map(|task| task.files.clone()).unwrap_or_default(),
        cache: cache.clone(),
        history: &history,
    };
    let sight = LazyProject::new(&files, about);
    let change = assignment.judged.change.as_ref();
    let attachments = assignment.feedback.attachments.iter();
    Ok(context::render_prompt(&PromptRequest {
        assignment,
        templates: &TemplateCatalog::from_pinned(&job.templates),
        strategies: &StrategyCatalog::from_pinned(&job.strategies)?,
        documents: DocumentSources {
            repo: &engine.repo,
            // Read documents from the frame's base, not from what its worker has made of it.
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
        feedback_output: attachments.map(body).collect::<Result<_, _>>()?,
        outputs: if prompt::has_exact_input(assignment) {
            read_check_outputs(assignment, engine)?
        } else {
            Vec::new()
        },
        budget: assignment.shown.context.budget.unwrap_or(TOKEN_BUDGET),
        schema_given: Worker::takes_schema(&engine.config, &assignment.worker),
        plans_first: Worker::needs_to_plan(&engine.config, &assignment.worker, &assignment.means),
    })?)
}

/// Returns the output of each check.
pub(super) fn read_check_outputs(
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
    assignment.judged.checks.iter().map(output).collect()
}

/// Returns what has changed since the last judgement. If that tree no longer exists, there is
/// nothing to report.
fn changes(assignment: &Assignment, workspace: &Workspace) -> Option<String> {
    let before = oid(&assignment.judged.before.as_ref()?.0).ok()?;
    let now = oid(&assignment.tree.0).ok()?;
    let diff = workspace.diff(&before, &now).ok()?;
    Some(String::from_utf8_lossy(&diff.text).into_owned())
}
