//! Hands over what a run has committed, when everything else is done: moves the user's branch forward
//! to it, or leaves a patch.
//!
//! Idempotent: what has been done before codeteam died is found done. Whatever keeps it from being
//! done is no failure of the run: the commits stay where they are, and a person is told why.

use codeteam_core::event::Delivered;
use codeteam_core::frame::Tip;
use codeteam_core::ids::Commit;
use codeteam_core::input::Input;
use codeteam_core::workflow::Delivery;

use super::{Context, Error, Job, SCRATCH, now, oid, with_causes};
use crate::artifacts;
use crate::config::retired;
use crate::git::{self, Expected, Oid, Strategy};
use crate::tell::short;

/// The file of a run's changes, in its folder.
const PATCH: &str = "changes.patch";

pub(super) fn deliver(
    job: &Job,
    how: &Delivery,
    tip: &Tip,
    context: &Context<'_>,
) -> Result<Input, Error> {
    let target = oid(tip.commit.as_str())?;
    let outcome = match how {
        Delivery::Forward { branch: None, .. } => Delivered::Left {
            why: "no branch was checked out when the run began".to_owned(),
        },
        Delivery::Forward {
            branch: Some(branch),
            at,
        } => match forward(job, branch, at, &target, context)? {
            None => {
                retire(job, &target, context);
                Delivered::Forward {
                    branch: branch.clone(),
                    from: at.clone(),
                }
            }
            Some(why) => Delivered::Left { why },
        },
        Delivery::Patch => patch(job, &target, context)?,
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
    context: &Context<'_>,
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
    match repo.merge_into_checkout(target, Strategy::FastForward) {
        Ok(_) => Ok(None),
        Err(error) => Ok(Some(with_causes(&error))),
    }
}

/// The run's own branch is no longer needed: its commits are on the user's. They are kept apart all
/// the same, in case the user takes them off again. What cannot be done here does no harm.
fn retire(job: &Job, target: &Oid, context: &Context<'_>) {
    let repo = &context.engine.repo;
    let own = git::reference(&job.branch);
    let kept = retired(job.run.as_str());
    if repo.update_ref(&kept, target, Expected::Anywhere).is_err() {
        return;
    }
    if let Ok(None) = repo.checkout_of(&job.branch) {
        // Someone may have committed more on it: then it stays.
        let _ = repo.delete_ref(&own, target);
    }
}

fn patch(job: &Job, target: &Oid, context: &Context<'_>) -> Result<Delivered, Error> {
    let engine = context.engine;
    let base = oid(job.started_from.commit.as_str())?;
    let text = engine.repo.mailbox(&base, target)?;
    let file = engine
        .folder
        .join("runs")
        .join(job.run.as_str())
        .join(PATCH);
    artifacts::replace(&file, &text)?;
    let shown = file.strip_prefix(engine.repo.top_level()).unwrap_or(&file);
    Ok(Delivered::Patch {
        file: shown.display().to_string(),
    })
}
