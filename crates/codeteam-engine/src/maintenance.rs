//! Maintains what runs leave behind: removes worktrees, restores snapshots, and checks the health
//! of the project.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::ids::RunId;
use codeteam_core::workflow::CheckClass;
use serde::Serialize;

use crate::config::{Config, ConfigOrigins};
use crate::doctor::inspection::WorkerDiagnosis;
use crate::driver::housekeeping::{close_workspace, unescape, workspaces_in, worktree_refs};
use crate::engine::{Engine, Error, project_library};
use crate::env::Env;
use crate::perform::{SetupCache, clear_attempts, clear_leftovers};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git::{Oid, Repo};
use codeteam_host::store::{self, ProcessIdentity, Store};
use codeteam_host::walk::size_on_disk;
use codeteam_host::workspace::{self, WorktreePool};

pub use crate::kept_texts::{RemovedTexts, TextBudget, remove_old_texts};

/// The result of pruning, or of a dry run.
#[derive(Debug, Default, Serialize)]
pub struct PruneReport {
    /// The worktrees that were removed.
    pub removed: Vec<RemovedWorktree>,
    /// The worktrees that were left, and why.
    pub left: BTreeMap<String, String>,
    /// The number of bytes freed.
    pub bytes: u64,
    /// The part of these bytes that were results of set-up commands, which are produced again when
    /// needed.
    pub set_ups: u64,
    /// How many were in work trees that were kept for the next run.
    pub kept_trees: u64,
    /// What was removed of completed runs to keep to a bound. Not part of `bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texts: Option<RemovedTexts>,
    /// Other notes for a person.
    pub notes: Vec<String>,
}

/// A worktree that was removed.
#[derive(Debug, Serialize)]
pub struct RemovedWorktree {
    /// The id of its run.
    pub run: String,
    /// The worktree's name.
    pub name: String,
    /// The reference that stores its content, if that is on no branch.
    pub kept: Option<String>,
}

/// Removes the worktrees of runs that have ended and that no process drives. Content that is on no
/// branch is stored as a commit first.
pub fn prune(engine: &Engine, dry_run: bool) -> Result<PruneReport, Error> {
    let mut pruned = PruneReport::default();
    for row in engine.store.runs()? {
        let id = RunId(row.id);
        let root = engine.run_workspaces_folder(&id);
        let names = workspaces_in(&root);
        if !root.exists() {
            continue;
        }
        let loaded = engine.load_run(&id);
        let needed = match &loaded {
            Ok(run) => still_needed(engine, run)?.map(str::to_owned),
            Err(error) => Some(format_error_chain(error)),
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
        pruned.bytes += size_on_disk(&root.join(workspace::TRASH));
        if !dry_run {
            workspace::empty_trash(&root)?;
        }
        if !dry_run && workspaces_in(&root).is_empty() {
            // Only files of attempts are left, and the run has ended.
            clear_attempts(engine, &id, &mut |note| pruned.notes.push(note.to_owned()));
            let _ = fs::remove_dir_all(root.join(".caches"));
            let _ = fs::remove_dir(&root);
        }
    }
    let cache = SetupCache::open(engine);
    let bytes = cache.clear(dry_run);
    if bytes > 0 {
        pruned.bytes += bytes;
        pruned.set_ups = bytes;
    }
    let bytes = WorktreePool::clear(engine.workspaces_folder(), dry_run);
    pruned.bytes += bytes;
    pruned.kept_trees = bytes;
    if !dry_run {
        clear_leftovers(engine);
    }
    Ok(pruned)
}

/// Returns why a run's worktrees are still needed, if they are.
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
        let bytes = size_on_disk(&engine.run_workspaces_folder(&run.id).join(&name));
        let closed = if dry_run {
            Ok(None)
        } else {
            engine
                .workspace(&run.id, run.sandbox, &name)
                .and_then(|workspace| close_workspace(engine, &run.id, &workspace, &name, &run.tip))
        };
        let of = run.id.0.clone();
        match closed {
            Ok(kept) => {
                self.bytes += bytes;
                let run = of;
                self.removed.push(RemovedWorktree { run, name, kept });
            }
            Err(error) => {
                let why = format_error_chain(&error);
                self.left.insert(format!("{of}/{name}"), why);
            }
        }
    }
}

/// The stored content of a worktree.
#[derive(Clone, Debug)]
pub struct WorktreeSnapshot {
    /// The worktree's name.
    pub name: String,
    /// The reference that stores it.
    pub reference: String,
    commit: Oid,
}

impl WorktreeSnapshot {
    /// Returns the task it was for, or `run`.
    pub fn task(&self) -> &str {
        self.name.rsplit('+').next().unwrap_or(&self.name)
    }
}

/// Returns the stored content of a run's worktrees.
pub fn list_snapshots(engine: &Engine, run: &RunId) -> Result<Vec<WorktreeSnapshot>, Error> {
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

/// Writes a snapshot's files into a folder that must not exist or must be empty. Returns the
/// folders below it that git would take for repositories.
pub fn restore(
    engine: &Engine,
    kept: &WorktreeSnapshot,
    folder: &Path,
) -> Result<Vec<PathBuf>, Error> {
    Ok(workspace::restore_snapshot(
        &engine.repo,
        &kept.commit,
        folder,
    )?)
}

/// One result of a health check.
#[derive(Clone, Debug, Serialize)]
pub struct HealthCheck {
    /// The name of what was checked.
    pub name: Cow<'static, str>,
    /// Whether it is all right.
    pub ok: bool,
    /// Whether a person should know about it nevertheless.
    pub note: bool,
    /// The result of the check.
    pub found: String,
    /// The remedy.
    pub remedy: Option<String>,
    /// The worker's diagnosis, if the check is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<Box<WorkerDiagnosis>>,
}

impl HealthCheck {
    /// Builds the check for a worker. An unusable worker is worth a note; if the project needs it,
    /// it is a problem.
    pub fn worker(looked: WorkerDiagnosis, needed: bool) -> Self {
        let remedies: Vec<&str> = looked.remedies.iter().map(String::as_str).collect();
        let remedies = remedies.join("; ");
        Self {
            name: looked.name.0.clone().into(),
            ok: looked.usable || !needed,
            note: !looked.usable && !needed,
            found: looked.summary(),
            remedy: Some(remedies).filter(|remedies| !remedies.is_empty()),
            worker: Some(Box::new(looked)),
        }
    }

    /// Builds a check that found nothing wrong.
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

    /// Builds a check with a note.
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

    /// Builds a check that found a problem.
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

/// Checks for role files that cannot be used. A run that needs one is refused; any other does
/// without it.
fn check_roles(config: &Config, env: &Env, folder: &Path, root: &Path) -> Vec<HealthCheck> {
    let library = project_library(config, env, folder, root);
    let broken = library.broken_roles(config).into_iter();
    let check = |(name, problem): (String, String)| HealthCheck {
        remedy: Some(
            "fix the file; `codeteam role validate` reports everything that is wrong".to_owned(),
        ),
        ..HealthCheck::note("roles", format!("`{name}` cannot be used: {problem}"))
    };
    broken.map(check).collect()
}

/// Checks for folders in which other tools keep what codeteam keeps in its own: their owners may
/// think that codeteam reads them.
fn check_foreign_folders(root: &Path) -> Vec<HealthCheck> {
    let there = [".team", ".supervisor"].into_iter();
    let there = there.filter(|name| root.join(name).is_dir());
    let check = |name: &str| HealthCheck {
        remedy: Some(format!(
            "copy what you want to keep from `{name}` into `.codeteam`: `config.yaml`, `agents/`, `roles/` and \
             `context/` have the same form; `codeteam config validate` says what differs"
        )),
        ..HealthCheck::note(
            "config",
            format!("`{name}` exists, but codeteam does not read it"),
        )
    };
    there.map(check).collect()
}

/// Describes how many checks the project has configured, and which are added.
fn checks_in_words(config: &Config) -> String {
    let checks = config.project_checks();
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
    format!("{named}, and in addition {more}codeteam's own rules")
}

/// Checks a project: its configuration, its roles, its log, the folder for worktrees.
pub fn examine_project(repo: &Repo, env: &Env) -> Vec<HealthCheck> {
    let folder = repo.top_level().join(".codeteam");
    let mut checks = Vec::new();
    let config = Config::load(&ConfigOrigins::for_project(env, &folder));
    checks.extend(check_foreign_folders(repo.top_level()));
    if let Ok(config) = &config {
        checks.extend(check_roles(config, env, &folder, repo.top_level()));
    }
    checks.push(match config {
        Err(error) => HealthCheck::bad("config", format_error_chain(&error), "fix the file"),
        Ok(config) if config.project_checks().is_empty() => HealthCheck {
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
        Err(error) => HealthCheck::bad("log", format_error_chain(&error), away),
        Ok(None) => HealthCheck::good("log", "none yet".to_owned()),
        Ok(Some(store)) => match store.verify().and_then(|()| store.runs()) {
            Ok(runs) => HealthCheck::good("log", format!("{} runs", runs.len())),
            Err(error @ store::Error::Damaged { .. }) => {
                HealthCheck::bad("log", format_error_chain(&error), away)
            }
            Err(error) => HealthCheck::bad(
                "log",
                format_error_chain(&error),
                "free the disk or fix its rights",
            ),
        },
    });
    checks.push(worktrees(env));
    if let Some(found) = foreign_layout(repo.top_level()) {
        checks.push(HealthCheck::note(".team", found));
    }
    checks
}

/// Returns a note about a folder `.team`, in which Team MCP keeps what is in `.codeteam` here.
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
            "fix its rights, or set `XDG_STATE_HOME`",
        ),
    }
}
