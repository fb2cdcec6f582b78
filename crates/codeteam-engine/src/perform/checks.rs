//! Runs the checks of a gate on a tree, and publish commands on the host.

mod base;
mod coverage;
mod demands;
mod format;
mod go_names;
mod honesty;
mod interface_locks;
mod judged_change;
mod junit;
mod mutants;
mod old_gate_files;
mod probe;
mod proof;
mod repeats;
mod risk;
mod shell_command;
mod tracked;
mod tree_files;
mod type_checkers;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::ids::{BodyId, Tree};
use codeteam_core::input::Input;
use codeteam_core::workflow::{Check, CheckClass, CheckKind, CodeMetric};
use codeteam_sandbox::MountAccess;

use self::base::{BaseFailure, compare_failures};
pub(super) use self::judged_change::JudgedChange;
use self::junit::JunitFile;
pub(super) use self::risk::assess_risk;
pub(super) use self::shell_command::{ShellCommand, describe_exit, summarize_output};
use self::shell_command::{exit_code, limits};
use self::tracked::TrackedFiles;
use super::{ChangeFacts, Error, Job, JobContext, caches, sandbox_view, setup};
use crate::clock::now;
use crate::engine::Engine;
use codeteam_host::process::{ExitReason, HostView, SandboxProfile};
use codeteam_host::workspace::Workspace;
use codeteam_patterns::FilePatterns;
use codeteam_report::pull_request::pull_request_body;
use codeteam_verify::failures::failed_tests;
use codeteam_verify::metrics;
use codeteam_verify::test_report::TestReport;

/// How much of a file is searched for a text that it must contain or lack.
const READ_BYTES: u64 = 64 << 20;

/// Runs all checks of a gate. Checks that need no command come first.
pub(super) fn run_gate(
    job: &Job,
    tree: &Tree,
    checks: &[Check],
    about: &ChangeFacts,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    job.expect_launch(context.engine);
    let workspace = job.prepare_gate(context.engine, tree)?;
    let look = JudgedChange::new(job, context, &workspace, tree);
    let mut gate = GateChecks {
        look: &look,
        checks,
        about,
        results: vec![None; checks.len()],
        doubted: None,
    };
    gate.judge_without_commands()?;
    // If the change is refused anyway, neither set-up nor tests are worth their time.
    if gate.results.iter().flatten().all(|result| result.passed) {
        gate.judge_with_commands()?;
    }
    let results = gate.results.into_iter().flatten().collect();
    let id = job.id.clone();
    Ok(Input::GateFinished {
        at: now(),
        id,
        tree: tree.clone(),
        results,
    })
}

/// The checks of a gate while they run one after the other; some depend on the results of others.
struct GateChecks<'a> {
    look: &'a JudgedChange<'a>,
    checks: &'a [Check],
    about: &'a ChangeFacts,
    /// The result of each check that has been judged so far.
    results: Vec<Option<CheckResult>>,
    /// The check that has failed for a reason that mutants of the change may refute.
    doubted: Option<usize>,
}

impl GateChecks<'_> {
    /// Runs the checks that only read the change: no command runs, and nothing is set up.
    fn judge_without_commands(&mut self) -> Result<(), Error> {
        let mut commands_before = false;
        for (at, check) in self.checks.iter().enumerate() {
            commands_before |= matches!(check.what, CheckKind::Command(_));
            self.results[at] = match &check.what {
                // Whoever made the file did so before the first command.
                CheckKind::Format(_) if !commands_before => Some(self.run(check)?),
                CheckKind::Changed { .. }
                | CheckKind::Metric { .. }
                | CheckKind::TestCount { .. } => Some(self.run(check)?),
                // What passes here is left to type checkers, which are commands.
                CheckKind::Interfaces => {
                    let compared = self.run(check)?;
                    let is_final = !compared.passed || self.about.locked.is_empty();
                    is_final.then_some(compared)
                }
                CheckKind::Honest { rule, told_only } => {
                    let found = self.look_at_change(*rule)?;
                    found.map(|found| found.into_result(check, *told_only))
                }
                // Files may be the product of an earlier command.
                CheckKind::Command(_)
                | CheckKind::Exists(_)
                | CheckKind::Contains { .. }
                | CheckKind::Lacks { .. }
                | CheckKind::Format(_)
                | CheckKind::Coverage { .. }
                | CheckKind::Proved(_)
                | CheckKind::Mutants(_)
                | CheckKind::Repeated(_) => None,
            };
        }
        Ok(())
    }

    /// Sets up the worktree and runs the remaining checks.
    fn judge_with_commands(&mut self) -> Result<(), Error> {
        if self.results.iter().all(Option::is_some) {
            return Ok(());
        }
        let JudgedChange {
            job,
            context,
            workspace,
            ..
        } = *self.look;
        job.expect_launch(context.engine);
        setup::set_up_workspace(job, workspace, context)?;
        let has_setup = job.gate_config(context.engine)?.setup.is_some();
        let mut files = if has_setup || !workspace.included_files()?.is_empty() {
            TrackedFiles::record(workspace)?
        } else {
            TrackedFiles::as_prepared(workspace)?
        };
        for (at, check) in self.checks.iter().enumerate() {
            if self.results[at].is_some() {
                continue;
            }
            // What the tests of a refused change are worth is of no interest.
            if self.is_refused() && check.what.class() == CheckClass::Evidence {
                continue;
            }
            let mut known = self.about.known_evidence.iter();
            if let Some(known) = known.find(|known| known.name == check.name) {
                let known = known.clone();
                if matches!(check.what, CheckKind::Mutants(_)) {
                    self.lift_doubt(&known);
                }
                self.results[at] = Some(known);
                continue;
            }
            (context.lines)(&job.id, &format!("checking: {}", check.name));
            let mut result = match &check.what {
                CheckKind::Mutants(trial) => self.try_mutants(check, trial, &mut files)?,
                CheckKind::Repeated(repeats) => self.repeat_tests(check, repeats, &mut files)?,
                CheckKind::Proved(proof) => self.prove(check, proof)?,
                CheckKind::Coverage { min_percent } => self.judge_coverage(check, *min_percent),
                CheckKind::Interfaces => self.run_type_checkers(check)?,
                _ => self.run(check)?,
            };
            if matches!(check.what, CheckKind::Mutants(_)) {
                self.lift_doubt(&result);
            }
            if matches!(check.what, CheckKind::Command(_)) {
                let restored = files.restore()?;
                if !restored.is_empty() {
                    let note = note_restored(&restored);
                    (context.lines)(&job.id, &note);
                    result.summary = format!("{note}\n{}", result.summary);
                    result.summary.truncate(result.summary.trim_end().len());
                    result.remark = result.remark.or(Some(CheckRemark::Noted));
                }
            }
            self.results[at] = Some(result);
        }
        Ok(())
    }

    /// Returns true if a check has refused the change, and not only doubts it.
    fn is_refused(&self) -> bool {
        let mut results = self.results.iter().enumerate();
        results.any(|(at, result)| {
            let has_failed = result.as_ref().is_some_and(|result| !result.passed);
            has_failed && self.doubted != Some(at)
        })
    }

    fn run(&self, check: &Check) -> Result<CheckResult, Error> {
        let JudgedChange { job, workspace, .. } = *self.look;
        let root = &workspace.tree_dir();
        let plain = |passed: bool, summary: String| CheckResult {
            name: check.name.clone(),
            class: check.what.class(),
            passed,
            summary,
            ..CheckResult::default()
        };
        let because =
            |passed: bool, said: String| plain(passed, if passed { String::new() } else { said });
        Ok(match &check.what {
            CheckKind::Command(command) => self.run_command(check, command, &plain)?,
            CheckKind::Exists(path) => {
                let there = inside(root, path).is_some_and(|path| path.exists());
                because(there, format!("`{path}` does not exist"))
            }
            CheckKind::Contains { file, text } => match read(root, file) {
                None => plain(false, format!("`{file}` cannot be read")),
                Some(found) => because(
                    found.contains(text.as_str()),
                    format!("`{file}` does not contain `{text}`"),
                ),
            },
            CheckKind::Lacks { file, text } => {
                let has = read(root, file).is_some_and(|found| found.contains(text.as_str()));
                because(!has, format!("`{file}` contains `{text}`"))
            }
            CheckKind::Format(rules) => self.judge_format(rules)?.into_result(check, false),
            CheckKind::Changed { paths } => {
                let patterns = FilePatterns::lenient(paths);
                let touched = |file: &String| patterns.matches(file);
                let said = format!(
                    "the change touches nothing that matches {}",
                    paths.join(", ")
                );
                because(job.changed.iter().any(touched), said)
            }
            CheckKind::Interfaces => match self.look.changed_interfaces(&self.about.locked)? {
                None => plain(true, String::new()),
                Some(said) => plain(false, said),
            },
            CheckKind::Metric { of, max } => {
                let found = match of {
                    CodeMetric::FileLines => metrics::file_lines(self.look.change()?, *max),
                    CodeMetric::FunctionLines => metrics::function_lines(self.look.change()?, *max),
                    CodeMetric::ImportCycles => self.look.new_import_cycles(*max)?,
                };
                found.into_result(check, false)
            }
            CheckKind::TestCount { min, tests } => self.count_tests(check, *min, tests)?,
            // These need more than the check itself: see `judge_with_commands`.
            CheckKind::Coverage { .. }
            | CheckKind::Proved(_)
            | CheckKind::Mutants(_)
            | CheckKind::Repeated(_) => plain(true, String::new()),
            CheckKind::Honest { rule, told_only } => {
                self.judge_honesty(*rule)?.into_result(check, *told_only)
            }
        })
    }

    /// Runs a command of the gate and judges how it ended.
    fn run_command(
        &self,
        check: &Check,
        command: &str,
        plain: &dyn Fn(bool, String) -> CheckResult,
    ) -> Result<CheckResult, Error> {
        let JudgedChange {
            job,
            workspace,
            context,
            ..
        } = *self.look;
        let busy = format!("check `{}`", check.name);
        let begun = SystemTime::now();
        let ended = {
            let _busy = context.busy_with(&job.id, &busy);
            run_gate_command(self.look, workspace, command, check.timeout_ms)?
        };
        let tree = self.look.tree.as_str();
        let before = context.engine.command_outcomes.get(tree, command);
        ended.note(context.engine, tree, command);
        let mut judged = if ended.passed {
            match self.find_contradiction(check, command, &ended)? {
                None => plain(true, String::new()),
                Some((false, said)) => plain(false, format!("{said}\n{}", ended.summary)),
                Some((true, said)) => CheckResult {
                    remark: Some(CheckRemark::Noted),
                    ..plain(true, said)
                },
            }
        } else {
            match self.base_failure(check, command)? {
                None => plain(false, ended.summary),
                Some(BaseFailure::NewOnesCount(before)) => compare_failures(&before, &ended, plain),
                Some(BaseFailure::Noted(note)) => {
                    plain(false, format!("{note}\n{}", ended.summary))
                }
            }
        };
        let logged = context.engine.logged_outcomes.get(tree, command);
        let logged = logged.filter(|_| before.is_none());
        if ended.unclear.is_none() && before.or(logged).is_some_and(|b| b != ended.passed) {
            mark_flaky(&mut judged, ended.passed, logged.is_some());
        }
        Ok(CheckResult {
            coverage: self.changed_coverage(begun)?,
            output: Some(ended.output),
            exit: Some(ended.exit),
            ..judged
        })
    }
}

/// Marks a check that has ended in another way on the same tree before; `logged` if that was before
/// codeteam was started again, so that a person may have repaired something besides.
fn mark_flaky(result: &mut CheckResult, passed: bool, logged: bool) {
    let what = match (passed, logged) {
        (true, false) => {
            "flaky: it failed on the same tree before, and nothing was repaired in between"
        }
        (true, true) => {
            "flaky, unless something on the machine was repaired: it failed on the same tree before \
             codeteam was started again"
        }
        (false, _) => "flaky: it passed on the same tree before",
    };
    result.summary = format!("{what}\n{}", result.summary);
    result.summary.truncate(result.summary.trim_end().len());
    if passed {
        result.remark = Some(CheckRemark::Noted);
        result.findings.push(ReportedFinding {
            severity: Severity::Minor,
            title: format!("the check `{}` is flaky", result.name),
            detail: what.to_owned(),
            file: None,
            line: None,
        });
    }
}

/// Returns the note about a check that has changed files of the tree it judges.
fn note_restored(files: &[PathBuf]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = files
        .iter()
        .take(SHOWN)
        .map(|file| format!("`{}`", file.display()))
        .collect();
    let more = match files.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "this check changed {}{more}, which codeteam put back: a check judges a change and is not a part of it. Let \
         it only report, not fix",
        names.join(", ")
    )
}

/// The result of a gate's command.
pub(super) struct GateCommandResult {
    pub(super) passed: bool,
    /// The exit code, as a shell would report it.
    exit: i32,
    /// Its last output, and how it ended.
    pub(super) summary: String,
    /// Why the result says nothing about the tree, if that is so: the command timed out or was
    /// killed.
    unclear: Option<String>,
    /// The tests that failed according to its output.
    pub(super) tests: BTreeSet<String>,
    /// What the test runner reported, if the command ran one.
    pub(super) report: Option<TestReport>,
    /// How long it ran.
    took: Duration,
    output: BodyId,
}

impl GateCommandResult {
    /// Remembers for this process how the command ended on a tree.
    pub(super) fn note(&self, engine: &Engine, tree: &str, command: &str) {
        engine.command_outcomes.note(tree, command, self.passed);
        engine.test_reports.note(tree, command, self.report.clone());
        engine.command_times.note(tree, command, self.took);
    }
}

/// Runs a command of the gate in a worktree.
pub(super) fn run_gate_command(
    look: &JudgedChange<'_>,
    workspace: &Workspace,
    command: &str,
    timeout_ms: u64,
) -> Result<GateCommandResult, Error> {
    run_command_with(look, workspace, command, timeout_ms, &[])
}

/// Runs a command of the gate in a worktree, with these variables in addition to those that every
/// command has.
fn run_command_with(
    look: &JudgedChange<'_>,
    workspace: &Workspace,
    command: &str,
    timeout_ms: u64,
    env: &[(&str, &str)],
) -> Result<GateCommandResult, Error> {
    let JudgedChange { job, context, .. } = look;
    let sandbox = &job.gate_config(context.engine)?.sandbox;
    let mut view = sandbox_view::show_workspace(workspace, MountAccess::Writable)?;
    caches::show_caches(&mut view, job, context.engine)?;
    setup::show_shared(&mut view, job, workspace, context.engine)?;
    let cwd = setup::working_folder(job, workspace, context.engine)?;
    let junit = JunitFile::request(workspace, command, &mut view)?;
    let go_names = go_names::variable(workspace, command);
    let shell = ShellCommand {
        command,
        cwd: cwd.clone(),
        view,
        env: env
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .chain(junit.iter().map(JunitFile::variable))
            .chain(go_names)
            .collect(),
        launcher: &*job.launcher(context.engine)?,
        profile: SandboxProfile::Executor,
        disk: Some(Engine::disk_limit(workspace, sandbox)),
    };
    let (exit, output) = shell.run(job, &limits(timeout_ms), context)?;
    let how = describe_exit(&exit, timeout_ms);
    let passed = exit.status == ExitReason::Exited(0);
    let written = junit.and_then(JunitFile::take);
    let (report, failed) = {
        let begun = String::from_utf8_lossy(&output.all);
        // The summary is at the end, which is kept apart of a long output.
        let mut whole = begun.clone().into_owned();
        for line in &output.late {
            whole.push_str(line);
            whole.push('\n');
        }
        let report = TestReport::read(&whole, written.as_deref());
        let failed = if passed {
            BTreeSet::new()
        } else {
            failed_tests(&begun)
        };
        (report, failed)
    };
    // The path of this worktree means nothing to whoever fixes the change: it is not theirs.
    let own = format!("{}/", workspace.tree_dir().display());
    let said = summarize_output(&output.tail, &how).replace(&own, "");
    Ok(GateCommandResult {
        passed,
        exit: exit_code(&exit),
        summary: said.replace(&format!("{}/", cwd.display()), ""),
        tests: failed,
        report,
        took: exit.wall,
        unclear: (!matches!(exit.status, ExitReason::Exited(_))).then_some(how),
        output: BodyId(context.engine.bodies.put(&output.into_kept())?),
    })
}

/// Runs the publish command on the host, as the user would.
pub(super) fn publish(
    job: &Job,
    command: &str,
    title: &str,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let body = pull_request_body(context.engine.records(), &job.run)?;
    let limits = limits(10 * 60 * 1_000);
    // The command pushes and opens pull requests with the user's own credentials. A person has
    // approved that.
    let shell = ShellCommand {
        command,
        cwd: context.engine.repo.top_level().to_owned(),
        view: HostView::default(),
        env: vec![
            ("PR_TITLE".into(), title.into()),
            ("PR_BODY".into(), body.into()),
        ],
        launcher: &context.engine.unconfined(),
        profile: SandboxProfile::Executor,
        disk: None,
    };
    let (exit, output) = shell.run(job, &limits, context)?;
    let ok = exit.status == ExitReason::Exited(0);
    let output = summarize_output(&output.tail, &describe_exit(&exit, 10 * 60 * 1_000));
    Ok(Input::Published {
        at: now(),
        id: job.id.clone(),
        ok,
        output,
    })
}

/// Resolves a path below the root. Returns `None` if it leads out of it, also through links.
fn inside(root: &Path, path: &str) -> Option<std::path::PathBuf> {
    let root = root.canonicalize().ok()?;
    let full = root.join(path).canonicalize().ok()?;
    full.starts_with(&root).then_some(full)
}

/// Reads a regular file: reading a pipe that a check has left there would never end.
fn read(root: &Path, file: &str) -> Option<String> {
    let path = inside(root, file)?;
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(READ_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
