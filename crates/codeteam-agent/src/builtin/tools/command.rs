//! `run_command`.

use std::io::{self, PipeReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process_group};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::conversation::{RESULT_CHARS, truncate_middle};
use super::super::interrupt::{self, ProcessGroupGuard};
use super::{Tool, ToolOutcome};
use crate::process::{self, ProcessGroup};

/// The default time limit of a command.
const SECONDS: u64 = 120;

/// The longest time limit that a call may set.
const MOST_SECONDS: u64 = 3600;

/// The time for which the output of a command that has ended may stay open. A process that it
/// leaves in the background could keep it open for ever.
const GRACE: Duration = Duration::from_millis(300);

pub(super) struct RunCommand {
    root: PathBuf,
}

impl RunCommand {
    pub(super) fn new(root: &Path) -> Self {
        let root = root.to_owned();
        Self { root }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct RunCommandInput {
    /// The command, for `sh`.
    command: String,
    /// The number of seconds after which it is killed; 120 if left out.
    timeout_seconds: Option<u64>,
}

impl Tool for RunCommand {
    type Input = RunCommandInput;

    const NAME: &'static str = "run_command";
    const DESCRIPTION: &'static str = "Runs a command with `sh` in the work tree. Returns its exit \
        code and output. It has no input and no terminal.";

    fn call(&self, input: RunCommandInput) -> ToolOutcome {
        let seconds = input.timeout_seconds.unwrap_or(SECONDS);
        let limit = Duration::from_secs(seconds.clamp(1, MOST_SECONDS));
        let failed = |error: io::Error| format!("the command cannot be run: {error}");
        let spawn = || process::spawn_shell(&input.command, &self.root, ProcessGroup::Own);
        let (child, output, killed) = interrupt::spawn_group(spawn).map_err(failed)?;
        let ended = wait_with_timeout(child, output, &killed, limit).map_err(failed)?;
        let text = ended.output.text();
        match ended.status {
            Some(status) if status.success() => Ok(format_result("exit code 0", &text).into()),
            Some(status) => Err(format_result(&describe_status(status), &text)),
            None => {
                let seconds = limit.as_secs();
                Err(format_result(&format!("killed after {seconds} s"), &text))
            }
        }
    }
}

fn format_result(how: &str, output: &str) -> String {
    if output.trim().is_empty() {
        return format!("{how}, no output");
    }
    format!("{how}\n{output}")
}

fn describe_status(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// An event of a running command.
enum CommandEvent {
    Printed(Vec<u8>),
    Closed,
    Exited(io::Result<ExitStatus>),
}

struct CommandResult {
    /// `None` if it was killed.
    status: Option<ExitStatus>,
    output: TruncatedOutput,
}

/// Waits for the end of a command and of its output, and kills it with its
/// children if that takes too long.
fn wait_with_timeout(
    child: Child,
    output: PipeReader,
    killed: &ProcessGroupGuard,
    limit: Duration,
) -> io::Result<CommandResult> {
    let (sender, news) = mpsc::channel();
    let printed = sender.clone();
    thread::Builder::new().spawn(move || read_output(output, &printed))?;
    thread::Builder::new().spawn(move || wait_for_exit(child, &sender))?;
    let ended = collect_events(&news, Instant::now() + limit)?;
    if ended.status.is_none()
        && let Some(group) = killed.group()
    {
        // It is gone already, or this ends it.
        let _ = kill_process_group(group, Signal::KILL);
    }
    Ok(ended)
}

fn read_output(mut output: PipeReader, news: &Sender<CommandEvent>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = output.read(&mut buffer) {
        // Nobody may be interested any more; what prints must not get stuck.
        let _ = news.send(CommandEvent::Printed(buffer[..length].to_vec()));
    }
    let _ = news.send(CommandEvent::Closed);
}

fn wait_for_exit(mut child: Child, news: &Sender<CommandEvent>) {
    let _ = news.send(CommandEvent::Exited(child.wait()));
}

fn collect_events(
    news: &Receiver<CommandEvent>,
    mut deadline: Instant,
) -> io::Result<CommandResult> {
    let mut ended = CommandResult {
        status: None,
        output: TruncatedOutput::default(),
    };
    let mut is_closed = false;
    while !(is_closed && ended.status.is_some()) {
        let left = deadline.saturating_duration_since(Instant::now());
        match news.recv_timeout(left) {
            Ok(CommandEvent::Printed(bytes)) => ended.output.add(&bytes),
            Ok(CommandEvent::Closed) => is_closed = true,
            Ok(CommandEvent::Exited(status)) => {
                ended.status = Some(status?);
                deadline = deadline.min(Instant::now() + GRACE);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(ended)
}

/// The beginning and the end of what a command printed, however much it was.
#[derive(Default)]
struct TruncatedOutput {
    head: Vec<u8>,
    tail: Vec<u8>,
    lost: usize,
}

impl TruncatedOutput {
    fn add(&mut self, bytes: &[u8]) {
        let room = RESULT_CHARS.saturating_sub(self.head.len());
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        // The tail is cut seldom, so that adding to it stays cheap.
        if self.tail.len() > 4 * RESULT_CHARS {
            let surplus = self.tail.len() - RESULT_CHARS;
            self.tail.drain(..surplus);
            self.lost += surplus;
        }
    }

    fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        let text = if self.lost == 0 {
            format!("{head}{tail}")
        } else {
            format!("{head}\n(… {} bytes lost …)\n{tail}", self.lost)
        };
        truncate_middle(text.trim_end(), RESULT_CHARS)
    }
}

#[cfg(test)]
mod tests;
