//! Delivers the commits of a run when everything else is done: moves the user's branch forward, or
//! writes a patch.
//!
//! Delivery is idempotent: a step that was done before codeteam died is recognised as done. An
//! obstacle is not a failure of the run: the commits stay where they are, and a person is told why.

use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::Tip;
use codeteam_core::ids::Commit;
use codeteam_core::input::Input;
use codeteam_core::workflow::DeliveryMethod;

use super::{Error, Job, JobContext, SCRATCH, oid};
use crate::clock::now;
use crate::config::base_ref;
use crate::config::retired_run_ref;
use codeteam_core::ids::RunId;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git::{self, ExpectedRef, MergeStrategy, Oid, Repo};
use codeteam_report::artifacts;
use codeteam_report::describe::short_id;

/// The name of the file with a run's changes, in the run's folder.
const PATCH: &str = "changes.patch";

/// Delivers the run's commits and reports what was done, or why they were left where they are.
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
        } => match fast_forward(job, branch, at, &target, context)? {
            None => {
                retire_branch(job, &target, context);
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

/// Moves the user's branch forward and updates their checkout, if nothing of theirs is in the way.
/// Otherwise returns what is.
fn fast_forward(
    job: &Job,
    branch: &str,
    at: &Commit,
    target: &Oid,
    context: &JobContext<'_>,
) -> Result<Option<String>, Error> {
    let repo = &context.engine.repo;
    let Some(found) = repo.read_ref(&git::reference_name(branch))? else {
        return Ok(Some(format!("there is no branch `{branch}` any more")));
    };
    if found == *target || repo.is_ancestor(target, &found)? {
        // Moved by codeteam before it died, or by the user.
        return Ok(None);
    }
    if found.as_str() != at.as_str() {
        let now = short_id(found.as_str());
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
    let scratch = context.engine.run_workspaces_folder(&job.run).join(SCRATCH);
    if job.in_session() && repo.advance_if_same_tree(branch, &found, target, &scratch)? {
        return Ok(None);
    }
    match repo.merge_into_checkout(target, MergeStrategy::FastForward) {
        Ok(merged) => Ok(detect_wrong_branch(repo, branch, target, &merged.before)?),
        Err(error) => Ok(Some(format_error_chain(&error))),
    }
}

/// Detects that another branch was moved, because the user switched branches meanwhile: git moves
/// whatever is checked out at that moment. Nothing is lost, and the message says how to undo it.
fn detect_wrong_branch(
    repo: &Repo,
    branch: &str,
    target: &Oid,
    before: &Oid,
) -> Result<Option<String>, git::Error> {
    if let Some(now) = repo.read_ref(&git::reference_name(branch))?
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
        short_id(target.as_str()),
        short_id(before.as_str())
    )))
}

/// Retires the run's own branch, because its commits are on the user's branch now. A reference
/// keeps them, in case the user removes them there. Failures do no harm.
fn retire_branch(job: &Job, target: &Oid, context: &JobContext<'_>) {
    let repo = &context.engine.repo;
    let own = git::reference_name(&job.branch);
    let kept = retired_run_ref(job.run.as_str());
    if repo
        .update_ref(&kept, target, ExpectedRef::Anywhere)
        .is_err()
    {
        return;
    }
    if let Ok(None) = repo.checkout_of(&job.branch) {
        // If somebody has committed more on it, it stays.
        let _ = repo.delete_ref(&own, target);
    }
}

fn patch(job: &Job, target: &Oid, context: &JobContext<'_>) -> Result<DeliveryOutcome, Error> {
    let engine = context.engine;
    let base = oid(job.started_from.commit.as_str())?;
    // Changes that were uncommitted when a session began are in no commit that anybody else has:
    // the patch would not apply anywhere without them.
    let start = uncommitted_base(&engine.repo, &job.run)?.filter(|start| *start == base);
    let before = match start {
        Some(start) => engine.repo.newest_commits(&start, 1)?.into_iter().next(),
        None => None,
    };
    let before = before.and_then(|start| start.parents.into_iter().next());
    let text = engine
        .repo
        .format_patches(&before.unwrap_or(base), target)?;
    let file = engine
        .records()
        .runs_folder()
        .join(job.run.as_str())
        .join(PATCH);
    artifacts::write_atomically(&file, &text)?;
    let shown = file.strip_prefix(engine.repo.top_level()).unwrap_or(&file);
    Ok(DeliveryOutcome::Patch {
        file: shown.display().to_string(),
    })
}

/// Returns the commit of the uncommitted changes in the checkout when a task began, if there were
/// any. It is the base of the run then, on top of what was checked out.
pub fn uncommitted_base(repo: &Repo, run: &RunId) -> Result<Option<Oid>, git::Error> {
    repo.read_ref(&base_ref(run.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git_fixture::GitFixture;
    use codeteam_host::git::CommitSignature;

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
            detect_wrong_branch(&repo, "main", &work, &merged.unwrap().before).unwrap()
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
