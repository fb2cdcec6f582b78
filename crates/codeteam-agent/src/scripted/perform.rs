//! Carries out a play in a worktree.
//!
//! An action that would end the process is returned as a [`PlayEnding`] instead, so that everything
//! else can be tested inside one process.

use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::event::{ScriptedEvent, write_event, write_raw};
use super::script::{GarbageOutput, ReportedError, ShellCommand, SlowOutput};
use super::template::{render, render_json};
use super::{Error, Script, ScriptAction, ScriptedAssignment, shell, tree};

/// The end of a play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlayEnding {
    /// Exits with this code.
    Exit(i32),
    /// Dies by a signal.
    Crash,
    /// Does not end.
    Hang {
        /// Whether `SIGTERM` is ignored.
        ignore_term: bool,
    },
}

/// The interval at which a file that is waited for is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Finds the play for the assignment and performs it in `root`, up to the first action that ends
/// it. All placeholders are replaced before anything is done.
pub(crate) fn perform_play(
    script: &Script,
    assignment: &ScriptedAssignment,
    root: &Path,
    out: &mut dyn Write,
) -> Result<PlayEnding, Error> {
    let play = script
        .find_play(assignment)
        .ok_or_else(|| no_play_error(assignment))?;
    let actions = play
        .actions
        .iter()
        .map(|action| fill_placeholders(action, assignment))
        .collect::<Result<Vec<_>, _>>()?;
    let mut stage = PlayRunner { root, out };
    for action in &actions {
        tracing::debug!("performing {action:?}");
        if let Some(ending) = stage.perform_action(action)? {
            return Ok(ending);
        }
    }
    Ok(PlayEnding::Exit(0))
}

fn no_play_error(assignment: &ScriptedAssignment) -> Error {
    let task = assignment.task.as_ref();
    Error::NoPlay {
        role: assignment.role.clone(),
        task: task.map_or("-", |task| &task.id).to_owned(),
        generation: assignment.generation,
        round: assignment.round,
        attempt: assignment.attempt,
    }
}

fn fill_placeholders(
    action: &ScriptAction,
    assignment: &ScriptedAssignment,
) -> Result<ScriptAction, Error> {
    let mut action = action.clone();
    match &mut action {
        ScriptAction::Text(text)
        | ScriptAction::Delete(text)
        | ScriptAction::SayRaw(text)
        | ScriptAction::Stderr(text)
        | ScriptAction::DuplicateKeys(text) => *text = render(text, assignment)?,
        ScriptAction::Write(file) | ScriptAction::Append(file) => {
            file.path = render(&file.path, assignment)?;
            file.content = render(&file.content, assignment)?;
        }
        ScriptAction::Chmod(file) => file.path = render(&file.path, assignment)?,
        ScriptAction::Run(run) => run.command = render(&run.command, assignment)?,
        ScriptAction::Submit(value) => *value = render_json(value, assignment)?,
        ScriptAction::Error(failure) => failure.message = render(&failure.message, assignment)?,
        ScriptAction::WaitFor(file) => file.path = render(&file.path, assignment)?,
        ScriptAction::Usage(_)
        | ScriptAction::Garbage(_)
        | ScriptAction::Slow(_)
        | ScriptAction::Hang(_)
        | ScriptAction::Exit(_)
        | ScriptAction::Crash(_)
        | ScriptAction::RateLimit(_) => {}
    }
    Ok(action)
}

/// The context in which a play is performed.
struct PlayRunner<'a> {
    root: &'a Path,
    out: &'a mut dyn Write,
}

impl PlayRunner<'_> {
    /// Performs one action. Returns the ending if it was the last.
    fn perform_action(&mut self, action: &ScriptAction) -> Result<Option<PlayEnding>, Error> {
        match action {
            ScriptAction::Text(text) => self.emit_text(text)?,
            ScriptAction::Write(file) => {
                self.emit_tool("write", &file.path)?;
                tree::write(self.root, &file.path, &file.content)?;
            }
            ScriptAction::Append(file) => {
                self.emit_tool("append", &file.path)?;
                tree::append(self.root, &file.path, &file.content)?;
            }
            ScriptAction::Delete(path) => {
                self.emit_tool("delete", path)?;
                tree::delete(self.root, path)?;
            }
            ScriptAction::Chmod(file) => {
                self.emit_tool("chmod", &file.path)?;
                tree::set_executable(self.root, &file.path, file.executable)?;
            }
            ScriptAction::Run(run) => return self.run_command(run),
            ScriptAction::Usage(usage) => self.emit(&ScriptedEvent::Usage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cost_microusd: usage.cost_usd.map(|cost| cost.micros),
            })?,
            ScriptAction::Submit(submission) => {
                self.emit(&ScriptedEvent::Submission { submission })?;
            }
            ScriptAction::Error(failure) => self.emit_error(failure)?,
            ScriptAction::RateLimit(limit) => {
                self.emit(&ScriptedEvent::RateLimit {
                    resets_in_ms: limit.resets_in_ms,
                })?;
                return Ok(Some(PlayEnding::Exit(1)));
            }
            ScriptAction::SayRaw(text) => write_raw(self.out, format!("{text}\n").as_bytes())?,
            ScriptAction::DuplicateKeys(json) => {
                // Serde would refuse to write what this is here to write.
                let line = format!(
                    "{{\"type\":\"submission\",\"submission\":{}}}\n",
                    json.trim()
                );
                write_raw(self.out, line.as_bytes())?;
            }
            ScriptAction::Stderr(text) => {
                write_raw(&mut io::stderr().lock(), format!("{text}\n").as_bytes())?;
            }
            ScriptAction::Garbage(garbage) => self.print_garbage(*garbage)?,
            ScriptAction::Slow(slow) => self.print_slowly(*slow)?,
            ScriptAction::WaitFor(file) => {
                let path = self.root.join(&file.path);
                while !path.exists() {
                    thread::sleep(LOOK_AGAIN);
                }
            }
            ScriptAction::Hang(hang) => {
                return Ok(Some(PlayEnding::Hang {
                    ignore_term: hang.ignore_term,
                }));
            }
            ScriptAction::Exit(code) => return Ok(Some(PlayEnding::Exit(i32::from(*code)))),
            ScriptAction::Crash(_) => return Ok(Some(PlayEnding::Crash)),
        }
        Ok(None)
    }

    fn emit(&mut self, event: &ScriptedEvent<'_>) -> Result<(), Error> {
        write_event(self.out, event)
    }

    fn emit_text(&mut self, text: &str) -> Result<(), Error> {
        self.emit(&ScriptedEvent::Text { text })
    }

    fn emit_tool(&mut self, name: &str, detail: &str) -> Result<(), Error> {
        self.emit(&ScriptedEvent::Tool { name, detail })
    }

    fn emit_error(&mut self, failure: &ReportedError) -> Result<(), Error> {
        self.emit(&ScriptedEvent::Error {
            message: failure.message.clone(),
            status: failure.status,
            category: failure.category.as_deref(),
        })
    }

    fn run_command(&mut self, run: &ShellCommand) -> Result<Option<PlayEnding>, Error> {
        self.emit_tool("run", &run.command)?;
        let status = shell::run_command(&run.command, self.root, &mut |line| self.emit_text(line))?;
        if status.success() {
            return Ok(None);
        }
        let report = format!("`{}` failed: {status}", run.command);
        if run.must {
            self.emit(&ScriptedEvent::failure(report))?;
            return Ok(Some(PlayEnding::Exit(1)));
        }
        self.emit_text(&report)?;
        Ok(None)
    }

    fn print_slowly(&mut self, slow: SlowOutput) -> Result<(), Error> {
        for line in 1..=slow.lines {
            thread::sleep(Duration::from_millis(slow.every_ms));
            self.emit_text(&format!("line {line} of {}", slow.lines))?;
        }
        Ok(())
    }

    /// Writes the same noise every time, in chunks, because a line may have any length. Every other
    /// byte cannot occur in UTF-8.
    fn print_garbage(&mut self, garbage: GarbageOutput) -> Result<(), Error> {
        let mut state: u32 = 0x9e37_79b9;
        let mut chunk = [0xff_u8; 4096];
        let mut left = garbage.bytes;
        while left > 0 {
            for byte in chunk.iter_mut().skip(1).step_by(2) {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                // Never a newline.
                *byte = state.to_le_bytes()[0] | 0x10;
            }
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
            self.out
                .write_all(&chunk[..length])
                .map_err(Error::Output)?;
            left -= length as u64;
        }
        write_raw(self.out, b"\n")
    }
}

#[cfg(test)]
mod tests;
