//! Accepts a session's submission. The change is what its checkout contains, whatever the session
//! claims, and later edits in the checkout do not alter it.

use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureFacts, FailureStage};
use codeteam_core::frame::FrameChange;
use codeteam_core::ids::Tree;
use codeteam_core::input::{Input, WorkerOutcome, WorkerReport};
use codeteam_core::role::RoleKind;

use super::worker::exit_input;
use super::{Error, Job, JobContext, SCRATCH, SessionSubmission, frame_change, oid};
use crate::clock::now;
use crate::config::{base_ref, session_ref};
use crate::halt::Halt;
use codeteam_host::git::{self, CommitSignature, ExpectedRef, Oid, Repo, TreeDiff};
use codeteam_host::workspace;
use codeteam_report::trailers::{draft_trailers, trailer};

/// Accepts a submission and reports it like the end of a worker.
pub(super) fn take_submission(
    job: &Job,
    taken: &SessionSubmission,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let engine = context.engine;
    let scratch = engine.run_workspaces_folder(&job.run).join(SCRATCH);
    let mut end = WorkerOutcome::Answered(taken.text.clone());
    let (mut change, mut edited) = (None, Vec::new());
    match taken.kind {
        RoleKind::Implementer => {
            let tree = engine.repo.snapshot(&scratch)?;
            match changed(job, &tree, context)? {
                Ok(found) => {
                    if tree.as_str() != job.base.tree.as_str() {
                        keep_draft(job, taken, &tree, context)?;
                    }
                    change = Some(found);
                }
                Err(facts) => end = WorkerOutcome::Failed(facts),
            }
        }
        RoleKind::Designer => keep_draft(job, taken, &oid(&taken.tree.0)?, context)?,
        RoleKind::Gatekeeper => {
            let tree = engine.repo.snapshot(&scratch)?;
            let judged = oid(&taken.tree.0)?;
            if tree != judged {
                let files = engine.repo.differing_files(&judged, &tree)?;
                edited = files.iter().map(|f| f.display().to_string()).collect();
            }
        }
        RoleKind::Analyst | RoleKind::Planner | RoleKind::Scribe => {}
    }
    super::worker::redact_end(&mut end, engine);
    Ok(exit_input(
        job,
        WorkerReport {
            end,
            usage: Usage::default(),
            model: None,
            transcript: None,
            change,
            session: None,
            log: None,
            edited,
            failed_write: None,
        },
    ))
}

/// Returns the change from the base to a tree, or why it cannot be accepted.
fn changed(
    job: &Job,
    tree: &Oid,
    context: &JobContext<'_>,
) -> Result<Result<(Tree, FrameChange), FailureFacts>, Error> {
    let engine = context.engine;
    let base = oid(&job.base.tree.0)?;
    let diff = engine.repo.diff(&base, tree)?;
    let message = match describe_moved_checkout(job, &engine.repo)? {
        None => forbidden(&engine.repo, &base, tree, &diff)?,
        elsewhere => elsewhere,
    };
    if let Some(message) = message {
        return Ok(Err(FailureFacts {
            stage: FailureStage::Forbidden,
            message,
            ..FailureFacts::default()
        }));
    }
    let change = frame_change(engine, job.id.without_fence(), &diff)?;
    Ok(Ok((Tree(tree.as_str().to_owned()), change)))
}

/// Returns an objection if the checkout no longer descends from the commit at which the run began:
/// what others have done elsewhere would be taken for the change.
fn describe_moved_checkout(job: &Job, repo: &Repo) -> Result<Option<String>, git::Error> {
    let (head, Some(base)) = (repo.head()?, Oid::parse(&job.started_from.commit.0)) else {
        return Ok(None);
    };
    if head.commit == base {
        return Ok(None);
    }
    // Uncommitted changes were stored in a commit of codeteam's own, on top of the user's.
    let start = match repo.read_ref(&base_ref(job.run.as_str()))? {
        Some(own) if own == base => repo.resolve(&format!("{base}^"))?,
        _ => base,
    };
    if head.commit == start || repo.is_ancestor(&start, &head.commit)? {
        return Ok(None);
    }
    let short = |id: &Oid| id.as_str().chars().take(10).collect::<String>();
    Ok(Some(format!(
        "the checkout was switched away from where the task began: it is at {}, which does not come after {}. \
         What was done there would be taken for this change. Switch back, or ask the user to",
        short(&head.commit),
        short(&start)
    )))
}

/// Returns an objection to content that is refused from workers too: other repositories, and
/// anything that would harm those who clone this one.
fn forbidden(
    repo: &Repo,
    base: &Oid,
    tree: &Oid,
    diff: &TreeDiff,
) -> Result<Option<String>, git::Error> {
    if let Some(link) = diff.gitlinks().next() {
        let path = link.path.display();
        return Ok(Some(format!("`{path}` refers to another repository")));
    }
    if diff.touches_git_names() {
        match repo.check_objects(tree, base) {
            Err(git::Error::Unrecordable { reason }) => return Ok(Some(reason)),
            examined => examined?,
        }
    }
    let unencrypted = repo.unencrypted_files(base, diff)?;
    if !unencrypted.is_empty() {
        return Ok(Some(workspace::filtered_files_message(&unencrypted)));
    }
    let files = repo.all_tree_files(tree)?;
    let nested =
        workspace::new_bare_repositories(files.iter().map(|file| file.path.as_path()), diff);
    Ok(nested.first().map(|folder| {
        let folder = folder.display();
        format!("git would take the folder `{folder}` for a repository of its own")
    }))
}

/// Stores a tree as a commit: on the run's branch, where the approved commit will follow, or
/// separately if the user wants no such branch. Idempotent by its trailers.
fn keep_draft(
    job: &Job,
    taken: &SessionSubmission,
    tree: &Oid,
    context: &JobContext<'_>,
) -> Result<(), Error> {
    let Some(message) = &taken.draft else {
        return Ok(());
    };
    let engine = context.engine;
    let reference = if taken.on_branch {
        git::reference_name(&job.branch)
    } else {
        session_ref(job.run.as_str())
    };
    if taken.on_branch
        && let Some(folder) = engine.repo.checkout_of(&job.branch)?
    {
        let branch = job.branch.clone();
        return Err(Halt::CheckedOut { branch, folder }.into());
    }
    let base = oid(&job.started_from.commit.0)?;
    let found = engine.repo.read_ref(&reference)?;
    let tip = found.clone().unwrap_or_else(|| base.clone());
    let by = job.id.without_fence();
    let known = [
        (trailer::RUN, job.run.as_str()),
        (trailer::ATTEMPT, by.as_str()),
    ];
    let made = engine.repo.find_trailer_commit(&base, &tip, &known)?;
    if let Some(made) = made
        && engine.repo.tree_of(&made.oid)? == *tree
    {
        return Ok(());
    }
    let trailers = draft_trailers(&job.run, &job.task, &by);
    let text = format!("{}\n\n{trailers}", message.trim_end());
    let signature = CommitSignature {
        identity: engine.identity()?.cloned().ok_or(Halt::NoIdentity)?,
        seconds: i64::try_from(now().0 / 1_000).unwrap_or(0),
    };
    let commit = engine.repo.commit(tree, &[&tip], &text, &signature)?;
    let expected = match &found {
        Some(at) => ExpectedRef::At(at),
        None => ExpectedRef::Missing,
    };
    engine.repo.update_ref(&reference, &commit, expected)?;
    Ok(())
}
