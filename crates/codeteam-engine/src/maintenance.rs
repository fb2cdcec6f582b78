//! Looking after what runs leave: worktrees to remove, snapshots to bring back, a health check.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::ids::RunId;
use codeteam_core::workflow::CheckClass;
use serde::Serialize;

use crate::config::{Config, ConfigOrigins};
use crate::driver::housekeeping::{close, unescape, workspaces_in, worktree_refs};
use crate::engine::{Engine, Error, project_library};
use crate::env::Env;
use crate::git::{Oid, Repo};
use crate::perform::{SetupCache, clear_attempts, clear_leftovers, with_causes};
use crate::store::{self, ProcessIdentity, Store};
use crate::walk::{self, WalkEntry, WalkVisitor};
use crate::workers::look::WorkerDiagnosis;
use crate::workspace;

/// What pruning did, or would do.
#[derive(Debug, Default, Serialize)]
pub struct PruneReport {
    /// Worktrees that are gone.
    pub removed: Vec<RemovedWorktree>,
    /// Worktrees that were left, and why.
    pub left: BTreeMap<String, String>,
    /// How much room that made.
    pub bytes: u64,
    /// How much of it were results of set-up commands, which are made again when they are needed.
    pub set_ups: u64,
    /// What else a person should know.
    pub notes: Vec<String>,
}

/// A worktree that is gone.
#[derive(Debug, Serialize)]
pub struct RemovedWorktree {
    /// Its run.
    pub run: String,
    /// Its name.
    pub name: String,
    /// The reference that keeps what it held, if that is on no branch.
    pub kept: Option<String>,
}

/// Removes the worktrees of runs that have ended and that nobody drives. What they hold and no
/// branch has is kept as a commit first.
pub fn prune(engine: &Engine, dry_run: bool) -> Result<PruneReport, Error> {
    let mut pruned = PruneReport::default();
    for row in engine.store.runs()? {
        let id = RunId(row.id);
        let root = engine.workspaces_of(&id);
        let names = workspaces_in(&root);
        if !root.exists() {
            continue;
        }
        let loaded = engine.load(&id);
        let needed = match &loaded {
            Ok(run) => still_needed(engine, run)?.map(str::to_owned),
            Err(error) => Some(with_causes(error)),
        };
        let (Ok(run), None) = (loaded, &needed) else {
            let why = needed.unwrap_or_default();
            let left = names.iter().map(|name| format!("{id}/{name}"));
            pruned.left.extend(left.map(|name| (name, why.clone())));
            continue;
        };
        for name in names {
            pruned.remove(engine, &run, name, dry_run);
        }
        pruned.bytes += size(&root.join(workspace::TRASH));
        if !dry_run {
            workspace::empty_trash(&root)?;
        }
        if !dry_run && workspaces_in(&root).is_empty() {
            // Only attempts' files are left, of a run that has ended.
            clear_attempts(engine, &id, &mut |note| pruned.notes.push(note.to_owned()));
            let _ = fs::remove_dir_all(root.join(".caches"));
            let _ = fs::remove_dir(&root);
        }
    }
    let cache = SetupCache::of(engine);
    let bytes = cache.clear(dry_run);
    if bytes > 0 {
        pruned.bytes += bytes;
        pruned.set_ups = bytes;
    }
    if !dry_run {
        clear_leftovers(engine);
    }
    Ok(pruned)
}

/// Why nothing of a run may go yet, if it may not.
fn still_needed(engine: &Engine, run: &Run) -> Result<Option<&'static str>, Error> {
    let own = ProcessIdentity::this_process("");
    let holder = engine.store.holder(run.id.as_str())?;
    if holder.is_some_and(|holder| !holder.owner.is_gone(&own)) {
        return Ok(Some("someone drives its run"));
    }
    Ok((!run.is_terminal()).then_some("its run has not ended"))
}

impl PruneReport {
    fn remove(&mut self, engine: &Engine, run: &Run, name: String, dry_run: bool) {
        let bytes = size(&engine.workspaces_of(&run.id).join(&name));
        let closed = if dry_run {
            Ok(None)
        } else {
            engine
                .workspace(&run.id, run.sandbox, &name)
                .and_then(|workspace| close(engine, &run.id, &workspace, &name, &run.tip))
        };
        let of = run.id.0.clone();
        match closed {
            Ok(kept) => {
                self.bytes += bytes;
                let run = of;
                self.removed.push(RemovedWorktree { run, name, kept });
            }
            Err(error) => {
                let why = with_causes(&error);
                self.left.insert(format!("{of}/{name}"), why);
            }
        }
    }
}

/// The bytes of a file, or of everything in a folder; links are not followed, and what cannot be
/// looked into counts for nothing.
pub(crate) fn size(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let mut sum = SizeSum(0);
            let _ = walk::walk(path, &mut sum);
            sum.0
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

struct SizeSum(u64);

impl WalkVisitor for SizeSum {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        let bytes = entry.stat().ok().map(|stat| stat.st_size);
        self.0 += bytes
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0);
        Ok(())
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}

/// What was kept of a worktree.
#[derive(Clone, Debug)]
pub struct WorktreeSnapshot {
    /// The worktree's name.
    pub name: String,
    /// The reference that keeps it.
    pub reference: String,
    commit: Oid,
}

impl WorktreeSnapshot {
    /// The task it was for, or `run`.
    pub fn task(&self) -> &str {
        self.name.rsplit('+').next().unwrap_or(&self.name)
    }
}

/// What was kept of a run's worktrees.
pub fn snapshots(engine: &Engine, run: &RunId) -> Result<Vec<WorktreeSnapshot>, Error> {
    let prefix = worktree_refs(run);
    let found = engine.repo.refs_under(&prefix)?;
    Ok(found
        .into_iter()
        .map(|(reference, commit)| WorktreeSnapshot {
            name: unescape(reference.trim_start_matches(&prefix)),
            reference,
            commit,
        })
        .collect())
}

/// Writes a snapshot's files into a folder that must not exist or be empty; says which folders below
/// it git would take for repositories.
pub fn restore(
    engine: &Engine,
    kept: &WorktreeSnapshot,
    folder: &Path,
) -> Result<Vec<PathBuf>, Error> {
    Ok(workspace::restore(&engine.repo, &kept.commit, folder)?)
}

/// One thing a health check looked at.
#[derive(Clone, Debug, Serialize)]
pub struct HealthCheck {
    /// What it is.
    pub name: Cow<'static, str>,
    /// Whether it is fine.
    pub ok: bool,
    /// Whether it should be known all the same.
    pub note: bool,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The worker, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<Box<WorkerDiagnosis>>,
}

impl HealthCheck {
    /// A worker. One that cannot be used is worth knowing; if the project needs it, it must be
    /// mended.
    pub fn worker(looked: WorkerDiagnosis, needed: bool) -> Self {
        let remedies: Vec<&str> = looked.remedies.iter().map(String::as_str).collect();
        let remedies = remedies.join("; ");
        Self {
            name: looked.name.0.clone().into(),
            ok: looked.usable || !needed,
            note: !looked.usable && !needed,
            found: looked.words(),
            remedy: Some(remedies).filter(|remedies| !remedies.is_empty()),
            worker: Some(Box::new(looked)),
        }
    }

    /// All is well.
    pub fn good(name: &'static str, found: String) -> Self {
        Self {
            name: name.into(),
            ok: true,
            note: false,
            found,
            remedy: None,
            worker: None,
        }
    }

    /// Worth knowing.
    pub fn note(name: &'static str, found: String) -> Self {
        Self {
            name: name.into(),
            ok: true,
            note: true,
            found,
            remedy: None,
            worker: None,
        }
    }

    /// Must be mended.
    pub fn bad(name: &'static str, found: String, remedy: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ok: false,
            note: false,
            found,
            remedy: Some(remedy.into()),
            worker: None,
        }
    }
}

/// Role files that cannot be used. A run that needs one refuses; any other does without it.
fn look_at_roles(config: &Config, env: &Env, folder: &Path, root: &Path) -> Vec<HealthCheck> {
    let library = project_library(config, env, folder, root);
    let broken = library.broken_roles(config).into_iter();
    let check = |(name, problem): (String, String)| HealthCheck {
        remedy: Some(
            "mend the file; `codeteam role validate` says everything that is wrong".to_owned(),
        ),
        ..HealthCheck::note("roles", format!("`{name}` cannot be used: {problem}"))
    };
    broken.map(check).collect()
}

/// Folders in which other tools keep what codeteam keeps in its own: whoever has one may think it is read.
fn look_at_other_folders(root: &Path) -> Vec<HealthCheck> {
    let there = [".team", ".supervisor"].into_iter();
    let there = there.filter(|name| root.join(name).is_dir());
    let check = |name: &str| HealthCheck {
        remedy: Some(format!(
            "copy what you want to keep from `{name}` into `.codeteam`: `config.yaml`, `agents/`, `roles/` and \
             `context/` have the same form; `codeteam config validate` says what differs"
        )),
        ..HealthCheck::note(
            "config",
            format!("`{name}` is there, and codeteam does not read it"),
        )
    };
    there.map(check).collect()
}

/// How many checks the project has named, and what comes besides.
fn checks_in_words(config: &Config) -> String {
    let checks = config.own_checks();
    let proof = checks
        .iter()
        .filter(|check| check.what.class() == CheckClass::Proof);
    let (proof, all) = (proof.count(), checks.len());
    let named = match all - proof {
        1 => "1 check".to_owned(),
        many => format!("{many} checks"),
    };
    let more = if proof > 0 {
        "proof of new tests and "
    } else {
        ""
    };
    format!("{named}; {more}codeteam's own rules besides")
}

/// Looks at a project: its configuration, its roles, its log, the place for worktrees.
pub fn examine(repo: &Repo, env: &Env) -> Vec<HealthCheck> {
    let folder = repo.top_level().join(".codeteam");
    let mut checks = Vec::new();
    let config = Config::load(&ConfigOrigins::of(env, &folder));
    checks.extend(look_at_other_folders(repo.top_level()));
    if let Ok(config) = &config {
        checks.extend(look_at_roles(config, env, &folder, repo.top_level()));
    }
    checks.push(match config {
        Err(error) => HealthCheck::bad("config", with_causes(&error), "mend the file"),
        Ok(config) if config.own_checks().is_empty() => HealthCheck {
            remedy: Some(
                "`codeteam init` proposes them; or name the project's tests in `.codeteam/config.yml` \
                 under `verification.commands`"
                    .to_owned(),
            ),
            ..HealthCheck::note(
                "config",
                "no checks are configured, so codeteam's own rules and reviewers judge alone"
                    .to_owned(),
            )
        },
        Ok(config) => HealthCheck::good("config", checks_in_words(&config)),
    });
    let away = "move the file away to keep it; `codeteam status` then rebuilds";
    checks.push(match Store::open_existing(&folder.join("state.db")) {
        Err(error) => HealthCheck::bad("log", with_causes(&error), away),
        Ok(None) => HealthCheck::good("log", "none yet".to_owned()),
        Ok(Some(store)) => match store.verify().and_then(|()| store.runs()) {
            Ok(runs) => HealthCheck::good("log", format!("{} runs", runs.len())),
            Err(error @ store::Error::Damaged { .. }) => {
                HealthCheck::bad("log", with_causes(&error), away)
            }
            Err(error) => HealthCheck::bad(
                "log",
                with_causes(&error),
                "free the disk or mend its rights",
            ),
        },
    });
    checks.push(worktrees(env));
    if let Some(found) = foreign_layout(repo.top_level()) {
        checks.push(HealthCheck::note(".team", found));
    }
    checks
}

/// What is to be said of a folder `.team`, in which Team MCP keeps what `.codeteam` has here.
pub fn foreign_layout(root: &Path) -> Option<String> {
    let folder = root.join(".team");
    folder.is_dir().then(|| {
        "there is a folder `.team`, which is not read: codeteam has its files in `.codeteam`. A `config.yaml` \
         and the folder `agents` are understood there as they are"
            .to_owned()
    })
}

fn worktrees(env: &Env) -> HealthCheck {
    let Some(state) = &env.state_home else {
        return HealthCheck::bad(
            "worktrees",
            "there is no place for them".to_owned(),
            "set `HOME` or `XDG_STATE_HOME`",
        );
    };
    let root = state.join("codeteam");
    let probe = root.join(".probe");
    let written = fs::create_dir_all(&root).and_then(|()| fs::write(&probe, ""));
    let _ = fs::remove_file(&probe);
    match written {
        Ok(()) => HealthCheck::good("worktrees", root.display().to_string()),
        Err(error) => HealthCheck::bad(
            "worktrees",
            format!("`{}` cannot be written: {error}", root.display()),
            "mend its rights, or set `XDG_STATE_HOME`",
        ),
    }
}
