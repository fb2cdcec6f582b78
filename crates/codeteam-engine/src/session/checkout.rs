//! The checkout that a session works in: what it holds when a task begins, what it has that was not
//! submitted, and what workers have made meanwhile.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeteam_core::event::{RunStarted, UnsubmittedChange};
use codeteam_core::frame::{SlotState, SlotWork};
use codeteam_core::hands::Operator;
use codeteam_core::ids::{RunId, Tree};
use codeteam_core::role::RoleKind;
use codeteam_core::{Event, Run};

use crate::config::base_ref;
use crate::engine::{Engine, Error, Project, RunRequest};
use crate::env::Env;
use crate::git::{self, CheckoutHead, CommitSignature, ExpectedRef, Oid, Repo};
use crate::perform::{SCRATCH, frame_change, now, trailer, workspace_name};

/// Waits until nobody else starts a task in this repository; others wait as long as what is returned
/// is kept. Whether one is open must be looked at after that.
pub fn alone(start: &Path, env: &Env) -> Result<File, Error> {
    let folder = Engine::repository(start, env)?.common_dir().to_owned();
    let locked = File::open(&folder).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| Error::Io {
        doing: "lock",
        path: folder,
        source,
    })
}

/// Opens what a task in a session needs, with what the checkout holds as its base. Nothing is left
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
    // Once to find what is wrong, before anything is written; then on what the checkout holds.
    project.prepare(&request)?;
    let tree = project.repo.snapshot(&scratch(&project.repo))?;
    if tree != head.tree {
        // Git would keep no more of it than the name of a commit that nobody else has.
        let nested = project.repo.new_links(&head.tree, &tree)?;
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
        // Until something is submitted nothing else leads to it, and git may clear it away.
        let name = base_ref(started.run.as_str());
        engine.repo.update_ref(&name, base, ExpectedRef::Anywhere)?;
    }
    Ok((engine, started))
}

/// The commit of what the checkout held uncommitted when a task began, if it held any: the base of
/// its run then, on top of what was checked out.
pub fn start(repo: &Repo, run: &RunId) -> Result<Option<Oid>, git::Error> {
    repo.read_ref(&base_ref(run.as_str()))
}

/// Moves the user's branch to a commit, if their checkout holds exactly what it holds; no file is
/// touched then. Of use for runs that a session has worked on: it did so in this checkout.
pub fn advance(
    repo: &Repo,
    head: &CheckoutHead,
    run: &Run,
    branch: &str,
    to: &Oid,
) -> Result<bool, git::Error> {
    if run.began_in != Operator::Session {
        return Ok(false);
    }
    repo.advance_to_same(branch, &head.commit, to, &scratch(repo))
}

/// The index that a look at the user's checkout is made by, where there is no run yet.
fn scratch(repo: &Repo) -> PathBuf {
    repo.common_dir().join("codeteam-index")
}

/// How the checkout stands to what a run has made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutUpdate {
    /// It holds just that.
    Same,
    /// It did not, and does now; these files are other than they were.
    Changed(Vec<PathBuf>),
    /// It holds something that the run does not know, which was left alone; these files differ.
    Differs(Vec<PathBuf>),
}

/// The commits that were made in the checkout since a run began, by others than codeteam.
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

/// Whether a run was taken back from workers and nothing was submitted since: what they made may not
/// have been brought, if whoever took it back has died.
pub fn was_taken_back(engine: &Engine, run: &Run) -> Result<bool, Error> {
    let mut is_so = false;
    engine.each_event(&run.id, 0, |_, _, event| match event {
        Event::WorkersReassigned { hands, .. } => is_so = hands == Operator::Session,
        Event::SubmissionReceived { .. } => is_so = false,
        _ => {}
    })?;
    Ok(is_so)
}

/// Brings what workers have made into the checkout of a session that goes on, unless the checkout
/// has something of its own.
pub fn bring(engine: &Engine, run: &Run) -> Result<CheckoutUpdate, Error> {
    let frames = run.frames.values().filter(|frame| !frame.is_ended());
    let Some(frame) = frames.max_by_key(|frame| frame.path.as_str().len()) else {
        return Ok(CheckoutUpdate::Same);
    };
    let unknown = |rev: &Tree| git::Error::UnknownRevision { rev: rev.0.clone() };
    let wanted = Oid::parse(&frame.tree.0).ok_or_else(|| unknown(&frame.tree))?;
    let scratch = engine.workspaces_of(&run.id).join(SCRATCH);
    let held = engine.repo.snapshot(&scratch)?;
    if held == wanted {
        return Ok(CheckoutUpdate::Same);
    }
    // What workers made may be in their worktree only, and is judged in any case.
    let workspace = engine.workspace(&run.id, run.sandbox, &workspace_name(&frame.path))?;
    let base = Oid::parse(&frame.base.commit.0).ok_or_else(|| unknown(&frame.base.tree))?;
    if !workspace.is_missing() {
        workspace.transfer(&wanted, &base)?;
    }
    let files = engine.repo.differing(&held, &wanted)?;
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
    engine.repo.bring(&held, &wanted, &scratch)?;
    Ok(CheckoutUpdate::Changed(files))
}

/// What the checkout holds that the session has not submitted, if an implementer is at work.
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
    let Some(frame) = making.filter(|_| run.hands == Operator::Session) else {
        return Ok(None);
    };
    let scratch = engine.workspaces_of(&run.id).join(SCRATCH);
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
    let by = frame.slots.first().map(|slot| slot.id.lasting());
    Ok(Some(UnsubmittedChange {
        frame: frame.path.clone(),
        tree: Tree(tree.as_str().to_owned()),
        change: frame_change(engine, by.unwrap_or_default(), &diff)?,
    }))
}
