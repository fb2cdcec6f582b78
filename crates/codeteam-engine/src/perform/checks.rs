//! Runs the orchestrator's own checks on a tree, and commands on the host.

mod base;
mod honest;
mod look;
mod prove;
mod tracked;

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::event::{CheckRemark, CheckResult};
use codeteam_core::ids::{BodyId, Tree};
use codeteam_core::input::Input;
use codeteam_core::workflow::{Check, CheckKind, CodeMetric, glob_matches};
use codeteam_sandbox::MountAccess;

use self::base::{BaseFailure, compare_failures};
pub(super) use self::look::JudgedChange;
use self::tracked::TrackedFiles;
use super::{ChangeFacts, Error, Job, JobContext, JobKind, caches, now, setup, view};
use crate::dialect::OVER_DISK;
use crate::engine::Engine;
use crate::process::{
    self, CommandExit, CommandLauncher, CommandLimits, CommandSpec, DiskLimit, ExitReason,
    HostView, SandboxProfile,
};
use crate::verify::failures::failed_tests;
use crate::verify::metrics;
use crate::workspace::Workspace;

/// How many lines of a check's output go into reports and feedback.
const SUMMARY_LINES: usize = 40;
/// And how much of them.
const SUMMARY_BYTES: usize = 4_000;
/// How often a command is run if somebody kills its sandbox.
const LAUNCHES: u32 = 3;
/// How much of a file is looked at for what it must contain or lack.
const READ_BYTES: u64 = 64 << 20;

pub(super) fn check(
    job: &Job,
    tree: &Tree,
    checks: &[Check],
    about: &ChangeFacts,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let workspace = job.prepare_gate(context.engine, tree)?;
    let look = JudgedChange::new(job, context, &workspace, tree);
    let mut gate = GateChecks {
        look: &look,
        checks,
        about,
        results: vec![None; checks.len()],
    };
    gate.judge_for_free()?;
    // A change that is refused anyway is not worth a set-up, nor the time of its tests.
    if gate.results.iter().flatten().all(|result| result.passed) {
        gate.judge_the_rest()?;
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

/// The checks of a gate, one after the other: some ask what the others found.
struct GateChecks<'a> {
    look: &'a JudgedChange<'a>,
    checks: &'a [Check],
    about: &'a ChangeFacts,
    /// What came of each check, as far as it was judged.
    results: Vec<Option<CheckResult>>,
}

impl GateChecks<'_> {
    /// Judges what is found by looking at the change alone: no command runs, and nothing is set up.
    fn judge_for_free(&mut self) -> Result<(), Error> {
        for (at, check) in self.checks.iter().enumerate() {
            self.results[at] = match &check.what {
                CheckKind::Changed { .. } | CheckKind::Metric { .. } => Some(self.run(check)?),
                CheckKind::Honest { rule, told_only } => {
                    let found = self.look_at_change(*rule)?;
                    found.map(|found| found.result(check, *told_only))
                }
                // Files may be what a command before them has made.
                CheckKind::Command(_)
                | CheckKind::Exists(_)
                | CheckKind::Contains { .. }
                | CheckKind::Lacks { .. }
                | CheckKind::Proved(_) => None,
            };
        }
        Ok(())
    }

    /// Makes the work tree ready, and judges what is not judged yet.
    fn judge_the_rest(&mut self) -> Result<(), Error> {
        if self.results.iter().all(Option::is_some) {
            return Ok(());
        }
        let JudgedChange { job, context, .. } = *self.look;
        setup::ready(job, self.look.workspace, context)?;
        let mut files = TrackedFiles::record(self.look.workspace)?;
        for (at, check) in self.checks.iter().enumerate() {
            if self.results[at].is_some() {
                continue;
            }
            (context.lines)(&job.id, &format!("checking: {}", check.name));
            let mut result = self.run(check)?;
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
            CheckKind::Command(command) => {
                let busy = format!("check `{}`", check.name);
                let ended = {
                    let _busy = self.look.context.busy_with(&job.id, &busy);
                    run(self.look, workspace, command, check.timeout_ms)?
                };
                let tree = self.look.tree.as_str();
                let known = &self.look.context.engine.tried;
                known.note(tree, command, ended.passed);
                let judged = if ended.passed {
                    plain(true, String::new())
                } else {
                    match self.base_failure(check, command)? {
                        None => plain(false, ended.said),
                        Some(BaseFailure::NewOnesCount(before)) => {
                            compare_failures(&before, &ended, plain)
                        }
                        Some(BaseFailure::Noted(note)) => {
                            plain(false, format!("{note}\n{}", ended.said))
                        }
                    }
                };
                CheckResult {
                    output: Some(ended.output),
                    exit: Some(ended.exit),
                    ..judged
                }
            }
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
            CheckKind::Changed { paths } => {
                let touched = |file: &String| paths.iter().any(|path| glob_matches(path, file));
                let said = format!(
                    "the change touches nothing that matches {}",
                    paths.join(", ")
                );
                because(job.changed.iter().any(touched), said)
            }
            CheckKind::Metric { of, max } => {
                let found = match of {
                    CodeMetric::FileLines => metrics::file_lines(self.look.change()?, *max),
                    CodeMetric::FunctionLines => metrics::function_lines(self.look.change()?, *max),
                    CodeMetric::ImportCycles => self.look.cycles(*max)?,
                };
                found.result(check, false)
            }
            CheckKind::Proved(proof) => self.prove(check, proof)?,
            CheckKind::Honest { rule, told_only } => self.honest(*rule)?.result(check, *told_only),
        })
    }
}

/// What to say of a check that has changed files of the tree it judges.
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
        "this check changed {}{more}, which codeteam put back: a check judges a change and is no part of it. Let \
         it only report, not fix",
        names.join(", ")
    )
}

/// How a command has ended.
pub(super) struct GateCommandResult {
    pub(super) passed: bool,
    /// As a shell would tell it.
    exit: i32,
    /// What it said last, and how it ended.
    pub(super) said: String,
    /// Why it says nothing about the tree, if that is so: it took too long, or was killed.
    unclear: Option<String>,
    /// The tests that it says have failed.
    pub(super) tests: BTreeSet<String>,
    output: BodyId,
}

/// Runs a command of the gate in a work tree.
pub(super) fn run(
    look: &JudgedChange<'_>,
    workspace: &Workspace,
    command: &str,
    timeout_ms: u64,
) -> Result<GateCommandResult, Error> {
    let JudgedChange { job, context, .. } = look;
    let sandbox = &job.grounds(context.engine)?.sandbox;
    let mut view = view::of(workspace, MountAccess::Writable)?;
    caches::show(&mut view, job, context.engine)?;
    setup::show_shared(&mut view, job, workspace, context.engine)?;
    let cwd = setup::working_folder(job, workspace, context.engine)?;
    let shell = ShellCommand {
        command,
        cwd: cwd.clone(),
        view,
        launcher: &*job.launcher(context.engine)?,
        profile: SandboxProfile::Executor,
        disk: Some(Engine::disk(workspace, sandbox)),
    };
    let (exit, output) = shell.run(job, &limits(timeout_ms), context)?;
    let how = how_it_ended(&exit, timeout_ms);
    let passed = exit.status == ExitReason::Exited(0);
    let failed = if passed {
        BTreeSet::new()
    } else {
        failed_tests(&String::from_utf8_lossy(&output.all))
    };
    // Where the worktree is means nothing to those who mend it: it is not theirs.
    let own = format!("{}/", workspace.tree_dir().display());
    let said = summary(&output.tail, &how).replace(&own, "");
    Ok(GateCommandResult {
        passed,
        exit: exit_code(&exit),
        said: said.replace(&format!("{}/", cwd.display()), ""),
        tests: failed,
        unclear: (!matches!(exit.status, ExitReason::Exited(_))).then_some(how),
        output: BodyId(context.engine.bodies.put(&output.into_kept())?),
    })
}

pub(super) fn publish(job: &Job, command: &str, context: &JobContext<'_>) -> Result<Input, Error> {
    let limits = limits(10 * 60 * 1_000);
    // It pushes and opens pull requests, with what the user has for that. A person has said so.
    let shell = ShellCommand {
        command,
        cwd: context.engine.repo.top_level().to_owned(),
        view: HostView::default(),
        launcher: &context.engine.unconfined(),
        profile: SandboxProfile::Executor,
        disk: None,
    };
    let (exit, output) = shell.run(job, &limits, context)?;
    let ok = exit.status == ExitReason::Exited(0);
    let output = summary(&output.tail, &how_it_ended(&exit, 10 * 60 * 1_000));
    Ok(Input::Published {
        at: now(),
        id: job.id.clone(),
        ok,
        output,
    })
}

/// A command's output: all of it (within limits), and its last lines.
#[derive(Default)]
pub(super) struct CapturedOutput {
    /// The beginning.
    all: Vec<u8>,
    /// The last lines of what came after it.
    late: VecDeque<String>,
    late_bytes: usize,
    /// How much between the two was not kept.
    dropped: usize,
    pub(super) tail: VecDeque<String>,
}

/// As much of the beginning of an output is kept ...
const OUTPUT_BYTES: usize = 15 << 20;
/// ... and as much of its end: that is where a failure is told.
const END_BYTES: usize = 1 << 20;

impl CapturedOutput {
    fn push(&mut self, line: String) {
        if self.tail.len() == SUMMARY_LINES {
            self.tail.pop_front();
        }
        if self.late.is_empty() && self.all.len() + line.len() < OUTPUT_BYTES {
            self.all.extend_from_slice(line.as_bytes());
            self.all.push(b'\n');
        } else {
            self.late_bytes += line.len() + 1;
            self.late.push_back(line.clone());
            while self.late_bytes > END_BYTES
                && let Some(first) = self.late.pop_front()
            {
                self.late_bytes -= first.len() + 1;
                self.dropped += first.len() + 1;
            }
        }
        self.tail.push_back(line);
    }

    /// All that was kept, in its order.
    fn into_kept(self) -> Vec<u8> {
        let mut kept = self.all;
        if self.dropped > 0 {
            let told = format!("[{} bytes are left out here]\n", self.dropped);
            kept.extend_from_slice(told.as_bytes());
        }
        for line in &self.late {
            kept.extend_from_slice(line.as_bytes());
            kept.push(b'\n');
        }
        kept
    }
}

/// A command for `sh`.
pub(super) struct ShellCommand<'a> {
    pub(super) command: &'a str,
    pub(super) cwd: PathBuf,
    pub(super) view: HostView,
    pub(super) launcher: &'a dyn CommandLauncher,
    pub(super) profile: SandboxProfile,
    pub(super) disk: Option<DiskLimit>,
}

impl ShellCommand<'_> {
    pub(super) fn run(
        self,
        job: &Job,
        limits: &CommandLimits,
        context: &JobContext<'_>,
    ) -> Result<(CommandExit, CapturedOutput), Error> {
        let engine = context.engine;
        let mut told = vec![("CODETEAM_BRANCH".into(), job.branch.clone().into())];
        if let JobKind::Publish { title, body, .. } = &job.what {
            told.push(("PR_TITLE".into(), title.clone().into()));
            told.push(("PR_BODY".into(), body.clone().into()));
        }
        let spec = CommandSpec {
            program: "sh".into(),
            args: vec!["-c".into(), self.command.into()],
            cwd: self.cwd.clone(),
            env: Engine::child_env(&job.mark(engine), told),
            view: self.view.clone(),
            disk: self.disk.clone(),
            brief: false,
        };
        let mut launches = 1;
        loop {
            let (exit, output) = self.run_once(job, &spec, limits, context)?;
            if !exit.lost || launches == LAUNCHES {
                return Ok((exit, output));
            }
            launches += 1;
            let told = "its sandbox was killed, and not by codeteam: it is run once more";
            (context.lines)(&job.id, told);
        }
    }

    fn run_once(
        &self,
        job: &Job,
        spec: &CommandSpec,
        limits: &CommandLimits,
        context: &JobContext<'_>,
    ) -> Result<(CommandExit, CapturedOutput), Error> {
        let redactor = &context.engine.redactor;
        let mut output = CapturedOutput::default();
        let mut redact = [redactor.lines(), redactor.lines()];
        let exit = process::run(
            self.launcher,
            self.profile,
            spec,
            limits,
            &context.cancel,
            &mut |line| {
                let text = redact[line.stream as usize].line(&line.text).text;
                (context.lines)(&job.id, &text);
                output.push(text.into_owned());
            },
        )?;
        Ok((exit, output))
    }
}

fn limits(timeout_ms: u64) -> CommandLimits {
    CommandLimits {
        wall: Duration::from_millis(timeout_ms),
        line_bytes: 64 << 10,
        // What is kept of it is bounded there.
        total_bytes: u64::MAX,
        silence: None,
        grace: Duration::from_secs(1),
    }
}

/// What a command ended with, as shells tell it.
fn exit_code(exit: &CommandExit) -> i32 {
    match exit.status {
        ExitReason::Exited(code) => code,
        ExitReason::Signalled(signal) => 128 + signal,
        ExitReason::TimedOut | ExitReason::Stalled => 124,
        ExitReason::OverDisk | ExitReason::Cancelled => 125,
    }
}

pub(super) fn how_it_ended(exit: &CommandExit, timeout_ms: u64) -> String {
    match exit.status {
        ExitReason::Exited(code) => format!("exit code {code}"),
        ExitReason::Signalled(signal) => format!("killed by signal {signal}"),
        ExitReason::TimedOut => format!("did not end within {} s", timeout_ms / 1_000),
        ExitReason::Stalled => "said nothing for too long".to_owned(),
        ExitReason::OverDisk => OVER_DISK.to_owned(),
        ExitReason::Cancelled => "cancelled".to_owned(),
    }
}

pub(super) fn summary(tail: &VecDeque<String>, said: &str) -> String {
    let text: Vec<&str> = tail.iter().map(String::as_str).collect();
    let text = text.join("\n");
    let mut start = text.len().saturating_sub(SUMMARY_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("{}\n({said})", &text[start..])
        .trim_start()
        .to_owned()
}

/// A path below the root, if it stays there; links are not followed out of it.
fn inside(root: &Path, path: &str) -> Option<std::path::PathBuf> {
    let root = root.canonicalize().ok()?;
    let full = root.join(path).canonicalize().ok()?;
    full.starts_with(&root).then_some(full)
}

/// The text of a file, if it is one: a pipe that a check has left there would never end.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let mut output = CapturedOutput::default();
        output.push("the beginning".to_owned());
        let line = "x".repeat(1 << 10);
        for _ in 0..17 << 10 {
            output.push(line.clone());
        }
        output.push("FAILED at the very end".to_owned());
        assert_eq!(
            output.tail.back().map(String::as_str),
            Some("FAILED at the very end")
        );
        let kept = String::from_utf8(output.into_kept()).unwrap();
        assert!(kept.len() < 17 << 20, "{}", kept.len());
        assert!(kept.starts_with("the beginning\n"));
        assert!(kept.contains(" bytes are left out here]\n"));
        assert!(kept.ends_with("x\nFAILED at the very end\n"));
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let mut output = CapturedOutput::default();
        output.push("one".to_owned());
        output.push("two".to_owned());
        assert_eq!(output.into_kept(), b"one\ntwo\n");
    }
}
