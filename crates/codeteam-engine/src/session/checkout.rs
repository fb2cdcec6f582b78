//! The checkout that a session works in: its content when a task begins, its changes that were not
//! submitted, and what workers have committed meanwhile.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeteam_core::event::{RunStarted, UnsubmittedChange};
use codeteam_core::frame::{SlotState, SlotWork};
use codeteam_core::ids::Tree;
use codeteam_core::operator::Operator;
use codeteam_core::role::RoleKind;
use codeteam_core::{Event, Run};

use crate::clock::now;
use crate::config::base_ref;
use crate::engine::{Engine, Error, Project, RunRequest};
use crate::env::Env;
use crate::perform::{SCRATCH, frame_change, workspace_name};
use codeteam_host::git::{self, CheckoutHead, CommitSignature, ExpectedRef, Oid, Repo};
use codeteam_report::trailers::trailer;

/// Waits until nobody else is starting a task in this repository. Others wait for as long as the
/// returned file is held. Check for open tasks only after that.
pub fn lock_task_start(start: &Path, env: &Env) -> Result<File, Error> {
    let folder = Engine::repository(start, env)?.common_dir().to_owned();
    let locked = File::open(&folder).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| Error::Io {
        doing: "lock",
        path: folder,
        source,
    })
}

/// Prepares a task in a session, with the content of the checkout as its base. Leaves nothing
/// behind if anything is wrong.
pub fn prepare(
    start: &Path,
    env: Env,
    codeteam: PathBuf,
    request: &RunRequest,
) -> Result<(Arc<Engine>, RunStarted), Error> {
    let project = Project::find(start, env)?;
    let mut request = RunRequest {
        hands: Operator::Session,
        ..request.clone()
    };
    let head = project.head.clone();
    // Prepare once to find mistakes before anything is written, then again on the checkout's
    // content.
    project.prepare(&request)?;
    let tree = project.repo.snapshot(&scratch_index(&project.repo))?;
    if tree != head.tree {
        // Git would record no more of a nested repository than the id of a commit that nobody else
        // has.
        let nested = project.repo.new_gitlinks(&head.tree, &tree)?;
        if let Some(nested) = nested.into_iter().next() {
            return Err(Error::Nested(nested));
        }
        let identity = match &project.env.author {
            Some(author) => Some(author.clone()),
            None => project.repo.identity()?,
        };
        let signature = CommitSignature {
            identity: identity.ok_or(Error::NoIdentity)?,
            seconds: i64::try_from(now().0 / 1_000).unwrap_or(0),
        };
        let message = "team(start): what was not committed when the task began\n";
        let commit = project
            .repo
            .commit(&tree, &[&head.commit], message, &signature)?;
        request.base = Some(commit);
    }
    let prepared = project.prepare(&request)?;
    let engine = Arc::new(Engine::open(project, codeteam)?);
    let started = engine.plan_run(prepared, now())?;
    if let Some(base) = &request.base {
        // Until something is submitted, nothing else refers to this commit, and git might prune it.
        let name = base_ref(started.run.as_str());
        engine.repo.update_ref(&name, base, ExpectedRef::Anywhere)?;
    }
    Ok((engine, started))
}

/// Moves the user's branch to a commit, if their checkout contains exactly that tree; no file is
/// touched then. This applies to runs that a session has worked on, because it did so in this
/// checkout.
pub fn advance_branch(
    repo: &Repo,
    head: &CheckoutHead,
    run: &Run,
    branch: &str,
    to: &Oid,
) -> Result<bool, git::Error> {
    if run.started_by != Operator::Session {
        return Ok(false);
    }
    repo.advance_if_same_tree(branch, &head.commit, to, &scratch_index(repo))
}

/// Returns the git index used to read the user's checkout before there is a run.
fn scratch_index(repo: &Repo) -> PathBuf {
    repo.common_dir().join("codeteam-index")
}

/// The state of the checkout relative to the result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutUpdate {
    /// The checkout contains exactly the run's tree.
    Same,
    /// The checkout was updated to it; these files have changed.
    Changed(Vec<PathBuf>),
    /// The checkout contains changes that the run does not know, and was left alone; these files
    /// differ.
    Differs(Vec<PathBuf>),
}

/// Returns the commits made in the checkout since a run began by others than codeteam.
pub fn commits_since(engine: &Engine, run: &Run) -> Result<Vec<String>, git::Error> {
    let (head, Some(base)) = (engine.repo.head()?, Oid::parse(&run.base.commit.0)) else {
        return Ok(Vec::new());
    };
    if head.commit == base {
        return Ok(Vec::new());
    }
    let commits = engine.repo.commits_since(&base, &head.commit)?;
    let others = commits
        .iter()
        .filter(|commit| commit.trailer(trailer::RUN) != Some(run.id.as_str()));
    let lines = others.map(|commit| {
        let id = commit.oid.as_str();
        format!("{} {}", id.get(..10).unwrap_or(id), commit.subject)
    });
    Ok(lines.collect())
}

/// Returns true if a run was taken back from workers and nothing was submitted since: if the
/// process that took it back has died, the workers' changes may not be in the checkout yet.
pub fn was_taken_back(engine: &Engine, run: &Run) -> Result<bool, Error> {
    let mut is_so = false;
    engine.each_event(&run.id, 0, |_, _, event| match event {
        Event::WorkersReassigned { hands, .. } => is_so = hands == Operator::Session,
        Event::SubmissionReceived { .. } => is_so = false,
        _ => {}
    })?;
    Ok(is_so)
}

/// Brings the workers' changes into the checkout of a session that continues, unless the checkout
/// has changes of its own.
pub fn update_checkout(engine: &Engine, run: &Run) -> Result<CheckoutUpdate, Error> {
    let frames = run.frames.values().filter(|frame| !frame.is_ended());
    let Some(frame) = frames.max_by_key(|frame| frame.path.as_str().len()) else {
        return Ok(CheckoutUpdate::Same);
    };
    let unknown = |rev: &Tree| git::Error::UnknownRevision { rev: rev.0.clone() };
    let wanted = Oid::parse(&frame.tree.0).ok_or_else(|| unknown(&frame.tree))?;
    let scratch = engine.run_workspaces_folder(&run.id).join(SCRATCH);
    let held = engine.repo.snapshot(&scratch)?;
    if held == wanted {
        return Ok(CheckoutUpdate::Same);
    }
    // The workers' changes may exist in their worktree only, and are judged in any case.
    let workspace = engine.workspace(&run.id, run.sandbox, &workspace_name(&frame.path))?;
    let base = Oid::parse(&frame.base.commit.0).ok_or_else(|| unknown(&frame.base.tree))?;
    if !workspace.is_missing() {
        workspace.transfer(&wanted, &base)?;
    }
    let files = engine.repo.differing_files(&held, &wanted)?;
    let mut known = held.as_str() == run.base.tree.as_str();
    engine.each_event(&run.id, 0, |_, _, event| {
        let tree = match &event {
            Event::SubmissionReceived {
                change: Some((tree, _)),
                ..
            } => tree,
            Event::WorkersReassigned {
                change: Some(made), ..
            } => &made.tree,
            _ => return,
        };
        known |= tree.as_str() == held.as_str();
    })?;
    if !known {
        return Ok(CheckoutUpdate::Differs(files));
    }
    engine.repo.update_checkout(&held, &wanted, &scratch)?;
    Ok(CheckoutUpdate::Changed(files))
}

/// Returns the changes in the checkout that the session has not submitted, if it works as an
/// implementer.
pub fn unsubmitted(engine: &Engine, run: &Run) -> Result<Option<UnsubmittedChange>, Error> {
    let making = run.frames.values().find(|frame| {
        frame.slots.iter().any(|slot| match &slot.work {
            SlotWork::Role(name) => {
                let role = run.roles.get(name);
                slot.state == SlotState::Running
                    && role.is_some_and(|role| role.kind == RoleKind::Implementer)
            }
            _ => false,
        })
    });
    let Some(frame) = making.filter(|_| run.operator == Operator::Session) else {
        return Ok(None);
    };
    let scratch = engine.run_workspaces_folder(&run.id).join(SCRATCH);
    let tree = engine.repo.snapshot(&scratch)?;
    let base = Oid::parse(&frame.base.tree.0).ok_or(git::Error::UnknownRevision {
        rev: frame.base.tree.0.clone(),
    })?;
    if tree == base || tree.as_str() == frame.tree.as_str() {
        return Ok(None);
    }
    let diff = engine.repo.diff(&base, &tree)?;
    if diff.gitlinks().next().is_some() {
        return Ok(None);
    }
    let by = frame.slots.first().map(|slot| slot.id.without_fence());
    Ok(Some(UnsubmittedChange {
        frame: frame.path.clone(),
        tree: Tree(tree.as_str().to_owned()),
        change: frame_change(engine, by.unwrap_or_default(), &diff)?,
    }))
}
