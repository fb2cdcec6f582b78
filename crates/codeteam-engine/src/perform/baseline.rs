//! Tries set-up and checks on the commit that a run would start from, before any model is asked.
//!
//! A check that fails there would refuse every change, whoever made it. What passed is remembered by
//! tree, command and surroundings, so that the next run on the same commit starts at once. What
//! failed is tried again where it would stop the run: somebody may have repaired the machine.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeteam_core::event::HostTraffic;
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::input::Input;
use codeteam_core::workflow::{Check, CheckKind};
use serde::{Deserialize, Serialize};

use super::checks::{JudgedChange, run};
use super::{ChangeFacts, Error, Job, JobContext, JobKind, OldFailures, setup};
use crate::config::BaselinePolicy;
use crate::engine::{Engine, PreparedRun};
use crate::process::CancelToken;
use crate::workspace::UnignoredProduct;

/// A check that fails before anything is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingCheck {
    /// Its name.
    pub name: String,
    /// Its command.
    pub command: String,
    /// What it said last, and how it ended.
    pub said: String,
    /// The tests that it says have failed; empty if its output names none.
    pub tests: Vec<String>,
}

/// What came of trying the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaselineReport {
    /// The checks that fail.
    pub red: Vec<FailingCheck>,
    /// What the set-up asked of the network.
    pub network: Vec<HostTraffic>,
    /// What the set-up leaves that no `.gitignore` names.
    pub unignored: Vec<UnignoredProduct>,
}

/// What somebody who watches is told meanwhile.
#[derive(Clone, Copy)]
pub struct ProgressCallbacks<'a> {
    /// Takes what is worth showing, line by line.
    pub lines: &'a (dyn Fn(&AttemptId, &str) + Sync),
    /// Takes what is being tried, and that it has ended.
    pub busy: &'a (dyn Fn(&AttemptId, Option<&str>) + Sync),
}

/// Makes a worktree of the base ready and runs the checks there that are not known to pass.
pub fn try_base(
    engine: &Engine,
    prepared: &PreparedRun,
    policy: BaselinePolicy,
    cancel: CancelToken,
    watching: ProgressCallbacks<'_>,
) -> Result<BaselineReport, Error> {
    clear_leftovers(engine);
    let checks = match policy {
        BaselinePolicy::MustPass => Vec::new(),
        BaselinePolicy::Stop | BaselinePolicy::NewFailures => prepared.commands(),
    };
    if checks.is_empty() && engine.config.setup.is_none() {
        return Ok(BaselineReport::default());
    }
    let job = job_of(prepared, checks.clone());
    let trial = BaselineTrial {
        key: setup::fingerprint(&job, engine)?,
        outcomes: CheckOutcomeCache::of(engine),
        job: &job,
        engine,
    };
    let mut red = Vec::new();
    let mut open = Vec::new();
    for check in checks {
        let CheckKind::Command(command) = &check.what else {
            continue;
        };
        match trial.known(command) {
            Some(known) if known.passed => {
                engine.tried.note(job.tree.as_str(), command, true);
            }
            Some(known) if policy == BaselinePolicy::NewFailures => {
                red.push(known.into_red(&check, command));
            }
            _ => open.push(check),
        }
    }
    let network = RefCell::new(Vec::new());
    let set_up = match engine.config.setup {
        Some(_) => trial.known(SET_UP),
        None => Some(CheckOutcome::default()),
    };
    let is_set_up = set_up.is_some();
    let mut unignored = set_up.map(|known| known.unignored).unwrap_or_default();
    if !(open.is_empty() && is_set_up) {
        let report = |input: Input| {
            if let Input::NetworkUsed { hosts, .. } = input {
                network.borrow_mut().extend(hosts);
            }
        };
        let context = JobContext {
            engine,
            cancel,
            lines: watching.lines,
            report: &report,
            busy: watching.busy,
        };
        let tried = trial.run(&open, &context);
        // Nobody looks at it any more.
        let _ = fs::remove_dir_all(engine.workspaces_of(&job.run));
        let tried = tried?;
        red.extend(tried.red);
        unignored = tried.unignored;
    }
    Ok(BaselineReport {
        red,
        network: network.into_inner(),
        unignored,
    })
}

/// Removes the worktrees of trials whose process was killed.
pub fn clear_leftovers(engine: &Engine) {
    let found = fs::read_dir(engine.workspaces()).into_iter().flatten();
    for entry in found.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(FOLDER));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Stands for the set-up among the commands whose outcomes are remembered.
const SET_UP: &str = "\0set-up";

/// How the folder of a trial's worktrees begins; the process follows.
const FOLDER: &str = ".baseline-";

/// A job that judges the base, for no run.
fn job_of(prepared: &PreparedRun, checks: Vec<Check>) -> Job {
    let base = prepared.base().clone();
    Job {
        id: AttemptId::before_the_run(),
        run: RunId(format!("{FOLDER}{}", std::process::id())),
        branch: String::new(),
        started_from: base.clone(),
        task: "run".to_owned(),
        change: None,
        tree: base.tree.clone(),
        changed: Vec::new(),
        audit: false,
        in_session: false,
        by_session: false,
        basis: None,
        baseline: Arc::default(),
        old_failures: OldFailures::Configured,
        sandbox: prepared.sandbox(),
        strategies: Arc::default(),
        templates: Arc::default(),
        what: JobKind::Check {
            tree: base.tree.clone(),
            checks,
            about: Box::new(ChangeFacts::default()),
        },
        base,
    }
}

/// One try of the base.
struct BaselineTrial<'a> {
    /// What is round the tree.
    key: String,
    outcomes: CheckOutcomeCache,
    job: &'a Job,
    engine: &'a Engine,
}

impl BaselineTrial<'_> {
    fn known(&self, command: &str) -> Option<CheckOutcome> {
        self.outcomes.get(&self.key_of(command))
    }

    /// Remembers how a command has ended.
    fn note(&self, command: &str, outcome: &CheckOutcome) {
        self.outcomes.put(&self.key_of(command), outcome);
    }

    fn key_of(&self, command: &str) -> String {
        let mut hash = blake3::Hasher::new();
        for part in [self.job.tree.as_str(), command, &self.key] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }

    fn run(&self, checks: &[Check], context: &JobContext<'_>) -> Result<BaselineReport, Error> {
        let (job, engine) = (self.job, self.engine);
        let workspace = job.prepare_gate(engine, &job.tree)?;
        setup::ready(job, &workspace, context)?;
        let unignored = workspace.unignored_products()?;
        let passed = CheckOutcome {
            passed: true,
            unignored: unignored.clone(),
            ..CheckOutcome::default()
        };
        self.note(SET_UP, &passed);
        let look = JudgedChange::new(job, context, &workspace, &job.tree);
        let mut red = Vec::new();
        for check in checks {
            let CheckKind::Command(command) = &check.what else {
                continue;
            };
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let ended = {
                let busy = format!("check `{}` on the unchanged commit", check.name);
                let _busy = context.busy_with(&job.id, &busy);
                run(&look, &workspace, command, check.timeout_ms)?
            };
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            engine.tried.note(job.tree.as_str(), command, ended.passed);
            let outcome = CheckOutcome {
                passed: ended.passed,
                said: if ended.passed {
                    String::new()
                } else {
                    ended.said
                },
                tests: ended.tests.into_iter().collect(),
                unignored: Vec::new(),
            };
            self.note(command, &outcome);
            if !outcome.passed {
                red.push(outcome.into_red(check, command));
            }
        }
        Ok(BaselineReport {
            red,
            unignored,
            ..BaselineReport::default()
        })
    }
}

/// How a command ended on a tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CheckOutcome {
    passed: bool,
    #[serde(default)]
    said: String,
    #[serde(default)]
    tests: Vec<String>,
    /// What a set-up leaves that no `.gitignore` names.
    #[serde(default)]
    unignored: Vec<UnignoredProduct>,
}

impl CheckOutcome {
    fn into_red(self, check: &Check, command: &str) -> FailingCheck {
        FailingCheck {
            name: check.name.clone(),
            command: command.to_owned(),
            said: self.said,
            tests: self.tests,
        }
    }
}

/// How commands have ended, in small files named by what they depend on.
struct CheckOutcomeCache {
    folder: PathBuf,
}

impl CheckOutcomeCache {
    /// So many are kept.
    const MOST: usize = 500;

    fn of(engine: &Engine) -> Self {
        Self {
            folder: engine.workspaces().join(".outcomes"),
        }
    }

    fn get(&self, key: &str) -> Option<CheckOutcome> {
        let text = fs::read(self.folder.join(key)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps one, if that can be: without it the command is run again.
    fn put(&self, key: &str, outcome: &CheckOutcome) {
        let (path, half) = (
            self.folder.join(key),
            self.folder.join(format!("{key}.{}", std::process::id())),
        );
        let _ = fs::create_dir_all(&self.folder);
        let text = serde_json::to_vec(outcome).unwrap_or_default();
        if fs::write(&half, text).is_ok() {
            let _ = fs::rename(half, path);
        }
        let found: Vec<_> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        if found.len() > Self::MOST {
            let oldest = found
                .into_iter()
                .min_by_key(|entry| entry.metadata().and_then(|found| found.modified()).ok());
            let _ = oldest.map(|entry| fs::remove_file(entry.path()));
        }
    }
}
