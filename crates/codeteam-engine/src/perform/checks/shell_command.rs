//! Runs one shell command for a job, and keeps its output within bounds.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use codeteam_host::process::{
    self, CommandExit, CommandLauncher, CommandLimits, CommandSpec, DiskLimit, ExitReason,
    HostView, SandboxProfile,
};

use super::go_names;
use crate::dialect::OVER_DISK;
use crate::engine::Engine;
use crate::perform::{Error, Job, JobContext};

/// The number of output lines of a check in reports and feedback.
const SUMMARY_LINES: usize = 40;
/// The maximum length of that summary in bytes.
const SUMMARY_BYTES: usize = 4_000;
/// How often a command is started if somebody kills its sandbox.
const LAUNCHES: u32 = 3;

/// A command's output: its beginning, its end, and its last lines.
#[derive(Default)]
pub(in crate::perform) struct CapturedOutput {
    /// The beginning of the output.
    pub(super) all: Vec<u8>,
    /// The last lines after the beginning.
    pub(super) late: VecDeque<String>,
    late_bytes: usize,
    /// The number of bytes dropped between the two.
    dropped: usize,
    pub(in crate::perform) tail: VecDeque<String>,
}

/// The number of bytes kept from the beginning of an output.
const OUTPUT_BYTES: usize = 15 << 20;
/// The number of bytes kept from its end, where a failure is reported.
const END_BYTES: usize = 1 << 20;

impl CapturedOutput {
    fn push(&mut self, line: String) {
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
        if go_names::is_progress(&line) {
            return;
        }
        if self.tail.len() == SUMMARY_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }

    /// Returns everything that was kept, in order.
    pub(super) fn into_kept(self) -> Vec<u8> {
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

/// A command to run with `sh`.
pub(in crate::perform) struct ShellCommand<'a> {
    pub(in crate::perform) command: &'a str,
    pub(in crate::perform) cwd: PathBuf,
    pub(in crate::perform) view: HostView,
    /// Variables in addition to those that every command has.
    pub(in crate::perform) env: Vec<(OsString, OsString)>,
    pub(in crate::perform) launcher: &'a dyn CommandLauncher,
    pub(in crate::perform) profile: SandboxProfile,
    pub(in crate::perform) disk: Option<DiskLimit>,
}

impl ShellCommand<'_> {
    pub(in crate::perform) fn run(
        self,
        job: &Job,
        limits: &CommandLimits,
        context: &JobContext<'_>,
    ) -> Result<(CommandExit, CapturedOutput), Error> {
        let engine = context.engine;
        let mut told = vec![("CODETEAM_BRANCH".into(), job.branch.clone().into())];
        told.extend(self.env.iter().cloned());
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
            if !exit.sandbox_killed || launches == LAUNCHES {
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
        let mut redact = [redactor.line_redactor(), redactor.line_redactor()];
        let exit = process::run_command(
            self.launcher,
            self.profile,
            spec,
            limits,
            &context.cancel,
            &mut |line| {
                let text = redact[line.stream as usize].redact_line(&line.text).text;
                (context.lines)(&job.id, &text);
                output.push(text.into_owned());
            },
        )?;
        Ok((exit, output))
    }
}

pub(super) fn limits(timeout_ms: u64) -> CommandLimits {
    CommandLimits {
        wall: Duration::from_millis(timeout_ms),
        line_bytes: 64 << 10,
        // `CapturedOutput` limits what is kept.
        total_bytes: u64::MAX,
        silence: None,
        grace: Duration::from_secs(1),
    }
}

/// Returns the exit code of a command, as shells report it.
pub(super) fn exit_code(exit: &CommandExit) -> i32 {
    match exit.status {
        ExitReason::Exited(code) => code,
        ExitReason::Signalled(signal) => 128 + signal,
        ExitReason::TimedOut | ExitReason::Stalled => 124,
        ExitReason::OverDisk | ExitReason::Cancelled => 125,
    }
}

/// Describes in words how a command ended.
pub(in crate::perform) fn describe_exit(exit: &CommandExit, timeout_ms: u64) -> String {
    match exit.status {
        ExitReason::Exited(code) => format!("exit code {code}"),
        ExitReason::Signalled(signal) => format!("killed by signal {signal}"),
        ExitReason::TimedOut => format!("did not end within {} s", timeout_ms / 1_000),
        ExitReason::Stalled => "said nothing for too long".to_owned(),
        ExitReason::OverDisk => OVER_DISK.to_owned(),
        ExitReason::Cancelled => "cancelled".to_owned(),
    }
}

/// Returns the last lines of an output, limited in length, and how the command ended.
pub(in crate::perform) fn summarize_output(tail: &VecDeque<String>, said: &str) -> String {
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
    fn what_passes_does_not_push_out_what_failed() {
        let mut output = CapturedOutput::default();
        output.push("--- FAIL: TestA (0.00s)".to_owned());
        for n in 0..100 {
            output.push(format!("--- PASS: Test{n} (0.00s)"));
        }
        assert_eq!(output.tail, ["--- FAIL: TestA (0.00s)"]);
        let kept = String::from_utf8(output.into_kept()).unwrap();
        assert!(kept.ends_with("--- PASS: Test99 (0.00s)\n"));
    }

    #[test]
    fn a_short_output_is_kept_whole() {
        let mut output = CapturedOutput::default();
        output.push("one".to_owned());
        output.push("two".to_owned());
        assert_eq!(output.into_kept(), b"one\ntwo\n");
    }
}
