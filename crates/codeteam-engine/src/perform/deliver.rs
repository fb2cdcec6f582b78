//! Hands over what a run has committed, when everything else is done: moves the user's branch forward
//! to it, or leaves a patch.
//!
//! Idempotent: what has been done before codeteam died is found done. Whatever keeps it from being
//! done is no failure of the run: the commits stay where they are, and a person is told why.

use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::Tip;
use codeteam_core::ids::Commit;
use codeteam_core::input::Input;
use codeteam_core::workflow::DeliveryMethod;

use super::{Error, Job, JobContext, SCRATCH, now, oid, with_causes};
use crate::artifacts;
use crate::config::retired;
use crate::git::{self, ExpectedRef, MergeStrategy, Oid, Repo};
use crate::session;
use crate::tell::short;

/// The file of a run's changes, in its folder.
const PATCH: &str = "changes.patch";

pub(super) fn deliver(
    job: &Job,
    how: &DeliveryMethod,
    tip: &Tip,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let target = oid(tip.commit.as_str())?;
    let outcome = match how {
        DeliveryMethod::Forward { branch: None, .. } => DeliveryOutcome::Left {
            why: "no branch was checked out when the run began".to_owned(),
        },
        DeliveryMethod::Forward {
            branch: Some(branch),
            at,
        } => match forward(job, branch, at, &target, context)? {
            None => {
                retire(job, &target, context);
                DeliveryOutcome::Forward {
                    branch: branch.clone(),
                    from: at.clone(),
                }
            }
            Some(why) => DeliveryOutcome::Left { why },
        },
        DeliveryMethod::Patch => patch(job, &target, context)?,
    };
    Ok(Input::Delivered {
        at: now(),
        id: job.id.clone(),
        outcome,
    })
}

/// Moves the user's branch forward and updates their checkout, if nothing of theirs is in the way;
/// else says what is.
fn forward(
    job: &Job,
    branch: &str,
    at: &Commit,
    target: &Oid,
    context: &JobContext<'_>,
) -> Result<Option<String>, Error> {
    let repo = &context.engine.repo;
    let Some(found) = repo.read_ref(&git::reference(branch))? else {
        return Ok(Some(format!("there is no branch `{branch}` any more")));
    };
    if found == *target || repo.is_ancestor(target, &found)? {
        // By codeteam before it died, or by the user.
        return Ok(None);
    }
    if found.as_str() != at.as_str() {
        let now = short(found.as_str());
        return Ok(Some(format!(
            "`{branch}` has moved since the run began, to {now}"
        )));
    }
    let head = repo.head()?;
    if head.branch.as_deref() != Some(branch) {
        let on = match head.branch {
            Some(other) => format!("`{other}` is"),
            None => "no branch is".to_owned(),
        };
        return Ok(Some(format!(
            "`{branch}` is not checked out any more, {on}"
        )));
    }
    let scratch = context.engine.workspaces_of(&job.run).join(SCRATCH);
    if job.in_session && repo.advance_to_same(branch, &found, target, &scratch)? {
        return Ok(None);
    }
    match repo.merge_into_checkout(target, MergeStrategy::FastForward) {
        Ok(merged) => Ok(astray(repo, branch, target, &merged.before)?),
        Err(error) => Ok(Some(with_causes(&error))),
    }
}

/// What was moved instead of the branch, if the user has left it meanwhile: git moves what is checked
/// out at that moment. Nothing is lost by it, and how it is taken back is said.
fn astray(
    repo: &Repo,
    branch: &str,
    target: &Oid,
    before: &Oid,
) -> Result<Option<String>, git::Error> {
    if let Some(now) = repo.read_ref(&git::reference(branch))?
        && (now == *target || repo.is_ancestor(target, &now)?)
    {
        return Ok(None);
    }
    let head = repo.head()?;
    let moved = head.branch.filter(|_| head.commit == *target);
    let moved = moved.map_or("what was checked out".to_owned(), |name| {
        format!("`{name}`")
    });
    Ok(Some(format!(
        "`{branch}` was left while it was to be moved: {moved} is at {} now instead; \
         `git reset --keep {}` there takes that back",
        short(target.as_str()),
        short(before.as_str())
    )))
}

/// The run's own branch is no longer needed: its commits are on the user's. They are kept apart all
/// the same, in case the user takes them off again. What cannot be done here does no harm.
fn retire(job: &Job, target: &Oid, context: &JobContext<'_>) {
    let repo = &context.engine.repo;
    let own = git::reference(&job.branch);
    let kept = retired(job.run.as_str());
    if repo
        .update_ref(&kept, target, ExpectedRef::Anywhere)
        .is_err()
    {
        return;
    }
    if let Ok(None) = repo.checkout_of(&job.branch) {
        // Someone may have committed more on it: then it stays.
        let _ = repo.delete_ref(&own, target);
    }
}

fn patch(job: &Job, target: &Oid, context: &JobContext<'_>) -> Result<DeliveryOutcome, Error> {
    let engine = context.engine;
    let base = oid(job.started_from.commit.as_str())?;
    // What was not committed when a session began is in no commit that anybody else has: the patch
    // would apply nowhere without it.
    let start = session::start(&engine.repo, &job.run)?.filter(|start| *start == base);
    let before = match start {
        Some(start) => engine.repo.newest_commits(&start, 1)?.into_iter().next(),
        None => None,
    };
    let before = before.and_then(|start| start.parents.into_iter().next());
    let text = engine.repo.mailbox(&before.unwrap_or(base), target)?;
    let file = engine.runs_folder().join(job.run.as_str()).join(PATCH);
    artifacts::replace(&file, &text)?;
    let shown = file.strip_prefix(engine.repo.top_level()).unwrap_or(&file);
    Ok(DeliveryOutcome::Patch {
        file: shown.display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::CommitSignature;
    use crate::git::fixture::GitFixture;

    #[test]
    fn a_branch_that_was_left_meanwhile_is_not_said_to_have_moved() {
        let fixture = GitFixture::new();
        let (repo, head) = fixture.open();
        fixture.write("file", "work\n");
        let tree = fixture.tree_of_checkout();
        fixture.git(&fixture.main(), &["reset", "--quiet", "--hard"]);
        let by = CommitSignature {
            identity: git::GitIdentity::default(),
            seconds: 0,
        };
        let work = repo.commit(&tree, &[&head.commit], "work", &by).unwrap();
        let forward = || {
            let merged = repo.merge_into_checkout(&work, MergeStrategy::FastForward);
            astray(&repo, "main", &work, &merged.unwrap().before).unwrap()
        };
        // Between the last look and the merge.
        fixture.git(&fixture.main(), &["switch", "--quiet", "-c", "other"]);
        let why = forward().unwrap();
        assert!(why.contains("`other` is at"), "{why}");
        assert!(why.contains("git reset --keep"), "{why}");
        let main = repo.read_ref("refs/heads/main").unwrap();
        assert_eq!(main, Some(head.commit.clone()));
        fixture.git(&fixture.main(), &["switch", "--quiet", "main"]);
        assert_eq!(forward(), None);
    }
}
