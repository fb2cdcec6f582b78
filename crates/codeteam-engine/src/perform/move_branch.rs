//! Moves a run's branch back to an earlier commit of the run.
//!
//! What the branch has is kept under a reference first, so that no crash in between loses it. Only
//! the run's own branch is ever moved, by compare-and-swap, and never one that is checked out.

use codeteam_core::frame::Tip;
use codeteam_core::ids::Commit;
use codeteam_core::input::Input;

use super::{Error, Job, JobContext, oid};
use crate::clock::now;
use crate::config::taken_back_ref;
use crate::halt::Halt;
use codeteam_host::git::{self, ExpectedRef, Oid, Repo};

/// How often the branch is looked up again, if somebody else has moved it in between.
const TRIES: u32 = 3;

pub(super) fn move_branch(job: &Job, to: &Tip, context: &JobContext<'_>) -> Result<Input, Error> {
    let repo = &context.engine.repo;
    if let Some(folder) = repo.checkout_of(&job.branch)? {
        let branch = job.branch.clone();
        return Err(Halt::CheckedOut { branch, folder }.into());
    }
    // A run's first commit creates its branch, so before that commit there is none.
    let wanted = if job.is_first_commit(to) {
        None
    } else {
        Some(oid(&to.commit.0)?)
    };
    let mut moved = move_once(job, repo, wanted.as_ref());
    for _ in 1..TRIES {
        if !matches!(moved, Err(git::Error::RefMoved { .. })) {
            break;
        }
        moved = move_once(job, repo, wanted.as_ref());
    }
    let found = moved?;
    Ok(Input::BranchMoved {
        at: now(),
        id: job.id.clone(),
        found: found.map(|found| Commit(found.as_str().to_owned())),
    })
}

/// Moves the branch from wherever it is, and returns the commit that it had, if that was another.
fn move_once(job: &Job, repo: &Repo, wanted: Option<&Oid>) -> Result<Option<Oid>, git::Error> {
    let reference = git::reference_name(&job.branch);
    let found = repo.read_ref(&reference)?;
    if found.as_ref() == wanted {
        return Ok(None);
    }
    if let Some(found) = &found {
        let kept = taken_back_ref(job.run.as_str(), found.as_str());
        repo.update_ref(&kept, found, ExpectedRef::Anywhere)?;
    }
    match (&found, wanted) {
        (Some(found), Some(wanted)) => {
            repo.update_ref(&reference, wanted, ExpectedRef::At(found))?;
        }
        (Some(found), None) => repo.delete_ref(&reference, found)?,
        // Somebody deleted the branch.
        (None, Some(wanted)) => repo.update_ref(&reference, wanted, ExpectedRef::Missing)?,
        (None, None) => {}
    }
    Ok(found)
}
