//! Brings a judged tree onto the run's branch.
//!
//! Idempotent by trailers: if codeteam died after the branch moved and before the event was
//! written, the commit is found and reported, not made again.

use std::fmt::Write as _;

use codeteam_core::frame::Tip;
use codeteam_core::ids::{Commit, RunId, Tree};
use codeteam_core::input::{Input, IntegrationOutcome, RebaseOutcome};

use super::{Error, Halt, Job, JobContext, frame_change, now, oid};
use crate::git::{self, BranchCommit, CommitSignature, ExpectedRef, MergeOutcome, Oid};
use crate::tell::short;

/// The trailers of every commit codeteam makes.
pub mod trailer {
    /// The run.
    pub const RUN: &str = "Codeteam-Run";
    /// The task.
    pub const TASK: &str = "Codeteam-Task";
    /// The attempt whose change it is.
    pub const ATTEMPT: &str = "Codeteam-Attempt";
    /// The tree that was judged.
    pub const VERIFIED: &str = "Codeteam-Verified";
    /// The tree that a person accepted over what was held against it, in place of the one above.
    pub const ACCEPTED: &str = "Codeteam-Accepted";
    /// And who that was.
    pub const ACCEPTED_BY: &str = "Codeteam-Accepted-By";
}

/// Where a change comes from.
pub(super) struct ChangeOrigin<'a> {
    /// The attempt that made it.
    pub(super) by: &'a str,
    /// Who accepted it over what was held against it.
    pub(super) accepted_by: Option<&'a str>,
}

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

pub(super) fn integrate(
    job: &Job,
    tree: &Tree,
    onto: &Tip,
    message: &str,
    made: &ChangeOrigin<'_>,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let engine = context.engine;
    let reference = git::reference(&job.branch);
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
    job.hand_over(engine, &wanted, &tip)?;
    let trailers = trailers(&job.run, &job.task, made.by, tree, made.accepted_by);
    let text = format!("{}\n\n{trailers}", message.trim_end());
    let seconds = i64::try_from(now().0 / 1_000).unwrap_or(0);
    let signature = CommitSignature {
        identity: engine.identity()?.cloned().ok_or(Halt::NoIdentity)?,
        seconds,
    };
    let draft = drafted(job, &reference, &tip, context)?;
    let parent = draft.as_ref().unwrap_or(&tip);
    let commit = engine.repo.commit(&wanted, &[parent], &text, &signature)?;
    // The branch comes into being with the first commit on it.
    let expected = match &draft {
        Some(draft) => ExpectedRef::At(draft),
        None if job.is_first_commit(onto) => ExpectedRef::Missing,
        None => ExpectedRef::At(&tip),
    };
    let mut moved = engine.repo.update_ref(&reference, &commit, expected);
    if matches!(&moved, Err(git::Error::RefMoved { found: None, .. })) {
        // Someone deleted it; the commit brings everything back that was on it.
        moved = engine
            .repo
            .update_ref(&reference, &commit, ExpectedRef::Missing);
    }
    match moved {
        // A `git gc` of the user's may have come between the objects and the reference to them.
        Ok(()) if engine.repo.require_whole(&wanted, &tip).is_err() => {
            job.hand_over(engine, &wanted, &tip)?;
        }
        Ok(()) => {}
        Err(git::Error::RefMoved {
            found: Some(found), ..
        }) => {
            return answer(elsewhere(job, &found, &tip, tree, made, message, context)?);
        }
        Err(error) => return Err(error.into()),
    }
    answer(committed(&commit, tree, message))
}

/// The newest commit on top of the tip that keeps what a session has submitted, if there is nothing
/// else on top of it.
fn drafted(
    job: &Job,
    reference: &str,
    tip: &Oid,
    context: &JobContext<'_>,
) -> Result<Option<Oid>, Error> {
    let repo = &context.engine.repo;
    if !job.in_session {
        return Ok(None);
    }
    let Some(found) = repo.read_ref(reference)?.filter(|found| found != tip) else {
        return Ok(None);
    };
    let commits = repo.commits_since(tip, &found)?;
    let only_drafts = !commits.is_empty() && commits.iter().all(|commit| is_draft(job, commit));
    Ok((only_drafts && repo.is_ancestor(tip, &found)?).then_some(found))
}

/// Whether a commit keeps what a session of this run has submitted, and says nothing more of it.
fn is_draft(job: &Job, commit: &BranchCommit) -> bool {
    commit.trailer(trailer::RUN) == Some(job.run.as_str())
        && commit.trailer(trailer::VERIFIED).is_none()
        && commit.trailer(trailer::ACCEPTED).is_none()
}

/// The branch is not where it was expected: because this very commit was made before codeteam
/// died, or because someone else moved it.
fn elsewhere(
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
        (judged(made.accepted_by), tree.as_str()),
    ];
    // What a commit says of itself anybody can write; the tree it holds is what was judged or not.
    let own = repo.find_trailer_commit(tip, found, &trailers)?;
    Ok(match own {
        Some(commit) if commit.oid == *found && commit.tree.as_str() == tree.as_str() => {
            committed(&commit.oid, tree, message)
        }
        _ => {
            // What was judged and committed must stay part of what is built on.
            if !repo.commits_since(found, tip)?.is_empty() {
                let (branch, tip) = (job.branch.clone(), short(tip.as_str()).to_owned());
                return Err(Halt::Rewritten { branch, tip }.into());
            }
            if job.by_session {
                // It works in this repository and could bring in what nobody judges.
                let commits = repo.commits_since(tip, found)?;
                let foreign = commits.iter().find(|made| !is_draft(job, made));
                let commit = foreign.map_or(found, |made| &made.oid);
                let (branch, commit) = (job.branch.clone(), short(commit.as_str()).to_owned());
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

/// The trailers of a commit that keeps what a session has submitted: nothing is said of it yet.
pub(super) fn draft_trailers(run: &RunId, task: &str, by: &str) -> String {
    format!(
        "{}: {run}\n{}: {task}\n{}: {by}\n",
        trailer::RUN,
        trailer::TASK,
        trailer::ATTEMPT
    )
}

/// The trailers that let anyone, codeteam included, find out where a commit came from.
pub(crate) fn trailers(
    run: &RunId,
    task: &str,
    by: &str,
    tree: &Tree,
    accepted_by: Option<&str>,
) -> String {
    let mut trailers = format!(
        "{}: {run}\n{}: {task}\n{}: {by}\n{}: {tree}\n",
        trailer::RUN,
        trailer::TASK,
        trailer::ATTEMPT,
        judged(accepted_by),
    );
    if let Some(who) = accepted_by {
        let who: Vec<&str> = who.split_whitespace().collect();
        let _ = writeln!(trailers, "{}: {}", trailer::ACCEPTED_BY, who.join(" "));
    }
    trailers
}

/// What a tree is called that is integrated: only one that nothing is held against is verified.
fn judged(accepted_by: Option<&str>) -> &'static str {
    match accepted_by {
        None => trailer::VERIFIED,
        Some(_) => trailer::ACCEPTED,
    }
}
