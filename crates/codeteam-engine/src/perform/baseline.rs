//! Tries set-up and checks on the commit that a run would start from, before any model is asked.
//!
//! A check that fails there would refuse every change, whoever made it. Successes are cached by
//! tree, command and surroundings, so that the next run on the same commit starts at once. Failures
//! that would stop the run are tried again: somebody may have repaired the machine.
//!
//! A merge into a branch that has moved is tried in the same way, because nobody has checked its
//! result yet.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeteam_core::Run;
use codeteam_core::event::{HostTraffic, SandboxKind};
use codeteam_core::frame::Tip;
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::input::Input;
use codeteam_core::operator::Operator;
use codeteam_core::workflow::{Check, CheckKind};
use serde::{Deserialize, Serialize};

use super::checks::{JudgedChange, run_gate_command};
use super::{ChangeFacts, Error, Job, JobContext, JobKind, OldFailures, setup};
use crate::config::BaselinePolicy;
use crate::engine::{Engine, PreparedRun, gate_commands};
use codeteam_host::process::CancelToken;
use codeteam_host::workspace::UnignoredProduct;
use codeteam_verify::test_report::TestReport;

/// A check that fails before anything is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingCheck {
    /// The check's name in the configuration.
    pub name: String,
    /// The shell command.
    pub command: String,
    /// Its last output, and how it ended.
    pub output: String,
    /// The tests that failed according to its output; empty if it names none.
    pub tests: Vec<String>,
}

/// The result of trying the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaselineReport {
    /// The checks that fail.
    pub failing: Vec<FailingCheck>,
    /// The hosts that the set-up connected to.
    pub network: Vec<HostTraffic>,
    /// Files that the set-up leaves and no `.gitignore` names.
    pub unignored: Vec<UnignoredProduct>,
}

/// Callbacks that show the progress of a trial.
#[derive(Clone, Copy)]
pub struct ProgressCallbacks<'a> {
    /// Receives output worth showing, line by line.
    pub lines: &'a (dyn Fn(&AttemptId, &str) + Sync),
    /// Receives what is being tried, and `None` when it has ended.
    pub busy: &'a (dyn Fn(&AttemptId, Option<&str>) + Sync),
}

/// Sets up a worktree of the base and runs the checks there that are not known to pass.
pub fn try_baseline(
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
    let job = trial_job(prepared.base(), prepared.sandbox(), checks.clone());
    let tried_on = "on the unchanged commit";
    try_job(engine, &job, checks, policy, (cancel, watching, tried_on))
}

/// Runs the checks of a run on the result of a merge, in a worktree of its own. `merged` has the
/// commit that is merged into, and the resulting tree. Where only new failures counted in the run,
/// checks whose failing tests all failed before the run are left out.
pub fn try_merged_tree(
    engine: &Engine,
    run: &Run,
    merged: &Tip,
    cancel: CancelToken,
    watching: ProgressCallbacks<'_>,
) -> Result<Vec<FailingCheck>, Error> {
    clear_leftovers(engine);
    let checks = gate_commands(&run.workflow);
    let job = trial_job(merged, run.sandbox, checks.clone());
    let (policy, tried_on) = (BaselinePolicy::Stop, "on the merged result");
    let tried = try_job(engine, &job, checks, policy, (cancel, watching, tried_on))?;
    let is_old = |check: &FailingCheck| {
        let is_known = |test: &String| {
            let mut old = run.baseline.iter();
            old.any(|old| old.check == check.name && old.tests.contains(test))
        };
        !check.tests.is_empty() && check.tests.iter().all(is_known)
    };
    let failing = tried.failing.into_iter();
    Ok(failing.filter(|check| !is_old(check)).collect())
}

fn try_job(
    engine: &Engine,
    job: &Job,
    checks: Vec<Check>,
    policy: BaselinePolicy,
    (cancel, watching, tried_on): (CancelToken, ProgressCallbacks<'_>, &'static str),
) -> Result<BaselineReport, Error> {
    let trial = BaselineTrial {
        key: setup::fingerprint(job, engine)?,
        outcomes: CheckOutcomeCache::open(engine),
        tried_on,
        job,
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
                let tree = job.tree.as_str();
                engine.command_outcomes.note(tree, command, true);
                engine.test_reports.note(tree, command, known.report);
            }
            Some(known) if policy == BaselinePolicy::NewFailures => {
                let (tree, report) = (job.tree.as_str(), known.report.clone());
                engine.test_reports.note(tree, command, report);
                red.push(known.into_failing(&check, command));
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
        // The worktree is no longer needed.
        let _ = fs::remove_dir_all(engine.run_workspaces_folder(&job.run));
        let tried = tried?;
        red.extend(tried.failing);
        unignored = tried.unignored;
    }
    Ok(BaselineReport {
        failing: red,
        network: network.into_inner(),
        unignored,
    })
}

/// Removes the worktrees of trials whose process was killed.
pub(crate) fn clear_leftovers(engine: &Engine) {
    let found = fs::read_dir(engine.workspaces_folder())
        .into_iter()
        .flatten();
    for entry in found.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(FOLDER));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The pseudo-command under which the outcome of set-up is cached.
const SET_UP: &str = "\0set-up";

/// The prefix of the folder of a trial's worktrees; the process id follows.
const FOLDER: &str = ".baseline-";

/// Builds a job that checks the base and belongs to no run.
fn trial_job(base: &Tip, sandbox: SandboxKind, checks: Vec<Check>) -> Job {
    let base = base.clone();
    Job {
        id: AttemptId::for_preflight(),
        side_slot: None,
        run: RunId(format!("{FOLDER}{}", std::process::id())),
        branch: String::new(),
        started_from: base.clone(),
        task: "run".to_owned(),
        change: None,
        tree: base.tree.clone(),
        changed: Vec::new(),
        audit: false,
        started_by: Operator::Workers,
        operator: Operator::Workers,
        gate_settings: None,
        baseline: Arc::default(),
        old_failures: OldFailures::Configured,
        sandbox,
        strategies: Arc::default(),
        templates: Arc::default(),
        kind: JobKind::RunGate {
            tree: base.tree.clone(),
            checks,
            about: Box::new(ChangeFacts::default()),
        },
        base,
    }
}

/// One trial of the base.
struct BaselineTrial<'a> {
    /// The fingerprint of the surroundings of the tree.
    key: String,
    outcomes: CheckOutcomeCache,
    /// A description of the tree, for the progress messages.
    tried_on: &'static str,
    job: &'a Job,
    engine: &'a Engine,
}

impl BaselineTrial<'_> {
    fn known(&self, command: &str) -> Option<CheckOutcome> {
        self.outcomes.get(&self.key_of(command))
    }

    /// Caches the outcome of a command.
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
        setup::set_up_workspace(job, &workspace, context)?;
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
                let busy = format!("check `{}` {}", check.name, self.tried_on);
                let _busy = context.busy_with(&job.id, &busy);
                run_gate_command(&look, &workspace, command, check.timeout_ms)?
            };
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            ended.note(engine, job.tree.as_str(), command);
            let outcome = CheckOutcome {
                passed: ended.passed,
                said: if ended.passed {
                    String::new()
                } else {
                    ended.summary
                },
                tests: ended.tests.into_iter().collect(),
                unignored: Vec::new(),
                report: ended.report,
            };
            self.note(command, &outcome);
            if !outcome.passed {
                red.push(outcome.into_failing(check, command));
            }
        }
        // The first task can start with its work tree.
        workspace.release()?;
        Ok(BaselineReport {
            failing: red,
            unignored,
            ..BaselineReport::default()
        })
    }
}

/// The cached outcome of a command on a tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CheckOutcome {
    passed: bool,
    #[serde(default)]
    said: String,
    #[serde(default)]
    tests: Vec<String>,
    /// Files that a set-up leaves and no `.gitignore` names.
    #[serde(default)]
    unignored: Vec<UnignoredProduct>,
    /// What the test runner reported, if the command ran one.
    #[serde(default)]
    report: Option<TestReport>,
}

impl CheckOutcome {
    fn into_failing(self, check: &Check, command: &str) -> FailingCheck {
        FailingCheck {
            name: check.name.clone(),
            command: command.to_owned(),
            output: self.said,
            tests: self.tests,
        }
    }
}

/// A cache of command outcomes, in small files named by a hash of what they depend on.
struct CheckOutcomeCache {
    folder: PathBuf,
}

impl CheckOutcomeCache {
    /// The maximum number of cached outcomes.
    const MOST: usize = 500;

    fn open(engine: &Engine) -> Self {
        Self {
            folder: engine.workspaces_folder().join(".outcomes"),
        }
    }

    fn get(&self, key: &str) -> Option<CheckOutcome> {
        let text = fs::read(self.folder.join(key)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Stores an outcome. Errors are ignored: without the entry the command is run again.
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
