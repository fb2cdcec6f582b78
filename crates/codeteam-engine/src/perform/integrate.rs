//! Commits a judged tree to the run's branch.
//!
//! Integration is idempotent by trailers: if codeteam died after the branch moved and before the
//! event was stored, the commit is found and reported, not created again.

use codeteam_core::frame::Tip;
use codeteam_core::ids::{Commit, Tree};
use codeteam_core::input::{Input, IntegrationOutcome, RebaseOutcome};

use super::{Error, Job, JobContext, frame_change, oid};
use crate::clock::now;
use crate::halt::Halt;
use codeteam_host::git::{self, BranchCommit, CommitSignature, ExpectedRef, MergeOutcome, Oid};
use codeteam_report::describe::short_id;
use codeteam_report::trailers::{self, trailer, verdict_trailer};

/// The author of a change, for its trailers.
pub(super) struct ChangeOrigin<'a> {
    /// The attempt that made it.
    pub(super) by: &'a str,
    /// The person who accepted it despite objections, if somebody did.
    pub(super) accepted_by: Option<&'a str>,
}

/// Replays the frame's change on another tip.
pub(super) fn rebase(
    job: &Job,
    tree: &Tree,
    onto: &Tip,
    by: &str,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let engine = context.engine;
    let (base, ours) = (oid(&job.base.commit.0)?, oid(&tree.0)?);
    let outcome = match job.merge(engine, &base, onto, &ours)? {
        (MergeOutcome::Clean { tree }, Some(diff)) => RebaseOutcome::Clean {
            base: onto.clone(),
            tree: Tree(tree.as_str().to_owned()),
            change: frame_change(engine, by.to_owned(), &diff)?,
        },
        (merged, _) => RebaseOutcome::Conflict {
            base: onto.clone(),
            files: merged
                .conflicts()
                .map(|f| f.display().to_string())
                .collect(),
        },
    };
    Ok(Input::Rebased {
        at: now(),
        id: job.id.clone(),
        outcome,
    })
}

/// Commits a tree on the tip of the run's branch.
pub(super) fn integrate(
    job: &Job,
    tree: &Tree,
    onto: &Tip,
    message: &str,
    made: &ChangeOrigin<'_>,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let engine = context.engine;
    let reference = git::reference_name(&job.branch);
    let (wanted, tip) = (oid(&tree.0)?, oid(&onto.commit.0)?);
    let answer = |outcome| {
        Ok(Input::Integrated {
            at: now(),
            id: job.id.clone(),
            outcome,
        })
    };
    if let Some(folder) = engine.repo.checkout_of(&job.branch)? {
        let branch = job.branch.clone();
        return Err(Halt::CheckedOut { branch, folder }.into());
    }
    let sent = job.publish_tree(engine, &wanted, &tip)?;
    let trailers = trailers::commit_trailers(&job.run, &job.task, made.by, tree, made.accepted_by);
    let text = format!("{}\n\n{trailers}", message.trim_end());
    let seconds = i64::try_from(now().0 / 1_000).unwrap_or(0);
    let signature = CommitSignature {
        identity: engine.identity()?.cloned().ok_or(Halt::NoIdentity)?,
        seconds,
    };
    let draft = newest_draft(job, &reference, &tip, context)?;
    let parent = draft.as_ref().unwrap_or(&tip);
    let commit = engine.repo.commit(&wanted, &[parent], &text, &signature)?;
    // The first commit creates the branch.
    let expected = match &draft {
        Some(draft) => ExpectedRef::At(draft),
        None if job.is_first_commit(onto) => ExpectedRef::Missing,
        None => ExpectedRef::At(&tip),
    };
    let mut moved = engine.repo.update_ref(&reference, &commit, expected);
    if matches!(&moved, Err(git::Error::RefMoved { found: None, .. })) {
        // Somebody deleted the branch; the commit restores everything that was on it.
        moved = engine
            .repo
            .update_ref(&reference, &commit, ExpectedRef::Missing);
    }
    let is_whole = || match &sent {
        Some(sent) => engine.repo.require_transferred(sent, &wanted, &tip).is_ok(),
        None => engine.repo.require_whole(&wanted, &tip).is_ok(),
    };
    match moved {
        // The user's `git gc` may have removed objects before the reference to them existed.
        Ok(()) if !is_whole() => {
            job.publish_tree(engine, &wanted, &tip)?;
        }
        Ok(()) => {}
        Err(git::Error::RefMoved {
            found: Some(found), ..
        }) => {
            return answer(resolve_moved_branch(
                job, &found, &tip, tree, made, message, context,
            )?);
        }
        Err(error) => return Err(error.into()),
    }
    answer(committed(&commit, tree, message))
}

/// Returns the newest commit on top of the tip that stores a session's submission, if there are
/// only such commits on top of it.
fn newest_draft(
    job: &Job,
    reference: &str,
    tip: &Oid,
    context: &JobContext<'_>,
) -> Result<Option<Oid>, Error> {
    let repo = &context.engine.repo;
    if !job.in_session() {
        return Ok(None);
    }
    let Some(found) = repo.read_ref(reference)?.filter(|found| found != tip) else {
        return Ok(None);
    };
    let commits = repo.commits_since(tip, &found)?;
    let only_drafts = !commits.is_empty() && commits.iter().all(|commit| is_draft(job, commit));
    Ok((only_drafts && repo.is_ancestor(tip, &found)?).then_some(found))
}

/// Returns true if a commit only stores a submission of this run's session, without any verdict.
fn is_draft(job: &Job, commit: &BranchCommit) -> bool {
    commit.trailer(trailer::RUN) == Some(job.run.as_str())
        && commit.trailer(trailer::VERIFIED).is_none()
        && commit.trailer(trailer::ACCEPTED).is_none()
}

/// Handles a branch that is not where it was expected: either this very commit was created before
/// codeteam died, or somebody else moved the branch.
fn resolve_moved_branch(
    job: &Job,
    found: &Oid,
    tip: &Oid,
    tree: &Tree,
    made: &ChangeOrigin<'_>,
    message: &str,
    context: &JobContext<'_>,
) -> Result<IntegrationOutcome, Error> {
    let repo = &context.engine.repo;
    let trailers = [
        (trailer::RUN, job.run.as_str()),
        (trailer::TASK, &job.task),
        (trailer::ATTEMPT, made.by),
        (verdict_trailer(made.accepted_by), tree.as_str()),
    ];
    // Anybody can write trailers, so compare the tree as well: it is what was judged.
    let own = repo.find_trailer_commit(tip, found, &trailers)?;
    Ok(match own {
        Some(commit) if commit.oid == *found && commit.tree.as_str() == tree.as_str() => {
            committed(&commit.oid, tree, message)
        }
        _ => {
            // Commits that were judged must stay part of the branch.
            if !repo.commits_since(found, tip)?.is_empty() {
                let (branch, tip) = (job.branch.clone(), short_id(tip.as_str()).to_owned());
                return Err(Halt::Rewritten { branch, tip }.into());
            }
            if job.by_session() {
                // A session works in this repository and could bring in commits that nobody judges.
                let commits = repo.commits_since(tip, found)?;
                let foreign = commits.iter().find(|made| !is_draft(job, made));
                let commit = foreign.map_or(found, |made| &made.oid);
                let (branch, commit) = (job.branch.clone(), short_id(commit.as_str()).to_owned());
                return Err(Halt::Foreign { branch, commit }.into());
            }
            let tree = repo.tree_of(found)?;
            IntegrationOutcome::TipMoved(Tip {
                commit: Commit(found.as_str().to_owned()),
                tree: Tree(tree.as_str().to_owned()),
            })
        }
    })
}

fn committed(commit: &Oid, tree: &Tree, message: &str) -> IntegrationOutcome {
    IntegrationOutcome::Committed {
        commit: Commit(commit.as_str().to_owned()),
        tree: tree.clone(),
        message: message.to_owned(),
    }
}
