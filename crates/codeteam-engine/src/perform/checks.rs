//! Runs the orchestrator's own checks on a tree, and commands on the host.

mod honest;
mod look;
mod prove;

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::event::CheckResult;
use codeteam_core::ids::{BodyId, Tree};
use codeteam_core::input::Input;
use codeteam_core::workflow::{Check, CheckKind, Metric, glob_matches};
use codeteam_sandbox::Access;

use self::look::Look;
use super::{About, Context, Error, Job, What, caches, now, setup, view};
use crate::dialect::OVER_DISK;
use crate::engine::Engine;
use crate::process::{self, CommandSpec, Disk, Exit, Launcher, Limits, Profile, Status, View};
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
    about: &About,
    context: &Context<'_>,
) -> Result<Input, Error> {
    let workspace = job.prepare_gate(context.engine, tree)?;
    setup::ready(job, &workspace, context)?;
    let look = Look::new(job, context, &workspace, tree);
    let mut gate = Gate {
        look: &look,
        checks,
        about,
        results: Vec::new(),
    };
    for check in checks {
        // The others take no time.
        if matches!(check.what, CheckKind::Command(_) | CheckKind::Proved(_)) {
            (context.lines)(&job.id, &format!("checking: {}", check.name));
        }
        let result = gate.run(check)?;
        gate.results.push(result);
    }
    let results = gate.results;
    let id = job.id.clone();
    Ok(Input::GateFinished {
        at: now(),
        id,
        tree: tree.clone(),
        results,
    })
}

/// The checks of a gate, one after the other: some ask what the others found.
struct Gate<'a> {
    look: &'a Look<'a>,
    checks: &'a [Check],
    about: &'a About,
    results: Vec<CheckResult>,
}

impl Gate<'_> {
    fn run(&self, check: &Check) -> Result<CheckResult, Error> {
        let Look { job, workspace, .. } = *self.look;
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
                let ended = run(self.look, workspace, command, check.timeout_ms)?;
                let tree = self.look.tree.as_str();
                let known = &self.look.context.engine.tried;
                known.note(tree, command, ended.passed);
                CheckResult {
                    output: Some(ended.output),
                    exit: Some(ended.exit),
                    ..because(ended.passed, ended.said)
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
                    Metric::FileLines => metrics::file_lines(self.look.change()?, *max),
                    Metric::FunctionLines => metrics::function_lines(self.look.change()?, *max),
                    Metric::ImportCycles => self.look.cycles(*max)?,
                };
                found.result(check, false)
            }
            CheckKind::Proved(proof) => self.prove(check, proof)?,
            CheckKind::Honest { rule, told_only } => self.honest(*rule)?.result(check, *told_only),
        })
    }
}

/// How a command has ended.
struct Ended {
    passed: bool,
    /// As a shell would tell it.
    exit: i32,
    /// What it said last, and how it ended.
    said: String,
    /// Why it says nothing about the tree, if that is so: it took too long, or was killed.
    unclear: Option<String>,
    output: BodyId,
}

/// Runs a command of the gate in a work tree.
fn run(
    look: &Look<'_>,
    workspace: &Workspace,
    command: &str,
    timeout_ms: u64,
) -> Result<Ended, Error> {
    let Look { job, context, .. } = look;
    let sandbox = &job.grounds(context.engine)?.sandbox;
    let mut view = view::of(workspace, Access::Writable)?;
    caches::show(&mut view, job, context.engine)?;
    let shell = Shell {
        command,
        cwd: workspace.tree_dir(),
        view,
        launcher: &*job.launcher(context.engine)?,
        profile: Profile::Executor,
        disk: Some(Engine::disk(workspace, sandbox)),
    };
    let (exit, output) = shell.run(job, &limits(timeout_ms), context)?;
    let how = how_it_ended(&exit, timeout_ms);
    // Where the worktree is means nothing to those who mend it: it is not theirs.
    let tree = format!("{}/", workspace.tree_dir().display());
    Ok(Ended {
        passed: exit.status == Status::Exited(0),
        exit: exit_code(&exit),
        said: summary(&output.tail, &how).replace(&tree, ""),
        unclear: (!matches!(exit.status, Status::Exited(_))).then_some(how),
        output: BodyId(context.engine.bodies.put(&output.all)?),
    })
}

pub(super) fn publish(job: &Job, command: &str, context: &Context<'_>) -> Result<Input, Error> {
    let limits = limits(10 * 60 * 1_000);
    // It pushes and opens pull requests, with what the user has for that. A person has said so.
    let shell = Shell {
        command,
        cwd: context.engine.repo.top_level().to_owned(),
        view: View::default(),
        launcher: &context.engine.unconfined(),
        profile: Profile::Executor,
        disk: None,
    };
    let (exit, output) = shell.run(job, &limits, context)?;
    let ok = exit.status == Status::Exited(0);
    let output = summary(&output.tail, &how_it_ended(&exit, 10 * 60 * 1_000));
    Ok(Input::Published {
        at: now(),
        id: job.id.clone(),
        ok,
        output,
    })
}

/// A command's output: all of it (within limits), and its last lines.
pub(super) struct Output {
    all: Vec<u8>,
    pub(super) tail: VecDeque<String>,
}

/// A command for `sh`.
pub(super) struct Shell<'a> {
    pub(super) command: &'a str,
    pub(super) cwd: PathBuf,
    pub(super) view: View,
    pub(super) launcher: &'a dyn Launcher,
    pub(super) profile: Profile,
    pub(super) disk: Option<Disk>,
}

impl Shell<'_> {
    pub(super) fn run(
        self,
        job: &Job,
        limits: &Limits,
        context: &Context<'_>,
    ) -> Result<(Exit, Output), Error> {
        let engine = context.engine;
        let mut told = vec![("CODETEAM_BRANCH".into(), job.branch.clone().into())];
        if let What::Publish { title, body, .. } = &job.what {
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
        limits: &Limits,
        context: &Context<'_>,
    ) -> Result<(Exit, Output), Error> {
        let redactor = &context.engine.redactor;
        let mut output = Output {
            all: Vec::new(),
            tail: VecDeque::new(),
        };
        let mut redact = [redactor.lines(), redactor.lines()];
        let exit = process::run(
            self.launcher,
            self.profile,
            spec,
            limits,
            &context.cancel,
            &mut |line| {
                let text = redact[line.stream as usize].line(&line.text).text;
                output.all.extend_from_slice(text.as_bytes());
                output.all.push(b'\n');
                if output.tail.len() == SUMMARY_LINES {
                    output.tail.pop_front();
                }
                (context.lines)(&job.id, &text);
                output.tail.push_back(text.into_owned());
            },
        )?;
        Ok((exit, output))
    }
}

fn limits(timeout_ms: u64) -> Limits {
    Limits {
        wall: Duration::from_millis(timeout_ms),
        line_bytes: 64 << 10,
        total_bytes: 16 << 20,
        silence: None,
        grace: Duration::from_secs(1),
    }
}

/// What a command ended with, as shells tell it.
fn exit_code(exit: &Exit) -> i32 {
    match exit.status {
        Status::Exited(code) => code,
        Status::Signalled(signal) => 128 + signal,
        Status::TimedOut | Status::Stalled => 124,
        Status::OverDisk | Status::Cancelled => 125,
    }
}

pub(super) fn how_it_ended(exit: &Exit, timeout_ms: u64) -> String {
    match exit.status {
        Status::Exited(code) => format!("exit code {code}"),
        Status::Signalled(signal) => format!("killed by signal {signal}"),
        Status::TimedOut => format!("did not end within {} s", timeout_ms / 1_000),
        Status::Stalled => "said nothing for too long".to_owned(),
        Status::OverDisk => OVER_DISK.to_owned(),
        Status::Cancelled => "cancelled".to_owned(),
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
