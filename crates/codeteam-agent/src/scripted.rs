//! A worker that plays a script instead of asking a model.
//!
//! It is what the demo and the tests of everything above it work with: real
//! files, real commands, real misbehaviour, and the same every time. It does not
//! judge what it submits; that is the orchestrator's part.

mod assignment;
mod demo;
mod event;
mod perform;
pub mod script;
mod shell;
mod template;
mod tree;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

pub use assignment::{AssignedTask, ScriptedAssignment};
pub use demo::{DEMO, DEMO_FILES, DEMO_GOAL};
pub(crate) use perform::{PlayEnding, perform_play};
pub use script::{Play, PlayMatch, Script, ScriptAction};

use event::ScriptedEvent;

/// The largest script or assignment that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The exit code of a script that does not fit: no play matches, or an action
/// cannot be carried out.
const UNPLAYABLE: i32 = 2;

/// The reasons why a script could not be played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The script does not say what a script must say.
    #[error("{name}:{line}:{column}: {message}")]
    Script {
        /// The script's file, or its name.
        name: String,
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The column, from 1; 0 if it is not known.
        column: u64,
        /// The problem.
        message: String,
    },
    /// The assignment is not the JSON it must be.
    #[error("`{}` is not an assignment", path.display())]
    Assignment {
        /// The assignment's file.
        path: PathBuf,
        /// The problem, and its position.
        source: serde_json::Error,
    },
    /// No play of the script is for this assignment.
    #[error(
        "no play matches role `{role}`, task `{task}`, generation {generation}, round {round}, \
         attempt {attempt}"
    )]
    NoPlay {
        /// The role of the assignment.
        role: String,
        /// Its task, `-` if it has none.
        task: String,
        /// How many times the step was entered.
        generation: u64,
        /// The round.
        round: u64,
        /// The attempt.
        attempt: u64,
    },
    /// A `{{…}}` in the script has no known name.
    #[error("`{{{{{name}}}}}` has no value in this assignment")]
    Placeholder {
        /// The text between the braces.
        name: String,
    },
    /// A path leads out of the worktree.
    #[error("`{path}` is not inside the worktree: {reason}")]
    Outside {
        /// The path as written in the script.
        path: String,
        /// The problem.
        reason: &'static str,
    },
    /// An action failed.
    #[error("could not {action} `{subject}`")]
    Action {
        /// The action's name.
        action: &'static str,
        /// The path or the command.
        subject: String,
        /// The system's error.
        source: io::Error,
    },
    /// The output is closed, so nobody is left to play for.
    #[error("could not write an event")]
    Output(#[source] io::Error),
}

impl Error {
    /// The error and its causes in one line, as an event carries it.
    fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// The source of a script.
#[derive(Debug, Clone, Copy)]
pub enum ScriptSource<'a> {
    /// A file.
    File(&'a Path),
    /// A text with a name for its error messages, such as [`DEMO`].
    Text {
        /// The name.
        name: &'a str,
        /// The script.
        text: &'a str,
    },
}

/// Plays the part of a script that is for this assignment in the current
/// directory, and answers with the exit code.
///
/// Does not return if the script ends in a crash or a hang. The process dies
/// with its parent: to be exact, with the thread that spawned it, so that thread
/// has to wait for it.
pub fn play_script(
    script: ScriptSource<'_>,
    assignment: &Path,
    out: &mut dyn Write,
) -> Result<i32, Error> {
    crate::process::die_with_parent();
    let script = match script {
        ScriptSource::File(path) => {
            Script::parse(&read_limited(path)?, &path.display().to_string())?
        }
        ScriptSource::Text { name, text } => Script::parse(text, name)?,
    };
    let path = assignment;
    let assignment =
        ScriptedAssignment::parse(&read_limited(path)?).map_err(|source| Error::Assignment {
            path: path.to_owned(),
            source,
        })?;

    event::write_event(out, &ScriptedEvent::started())?;
    let ending = match perform_play(&script, &assignment, Path::new("."), out) {
        Ok(ending) => ending,
        Err(error @ Error::Output(_)) => return Err(error),
        Err(error) => {
            event::write_event(out, &ScriptedEvent::failure(error.chain()))?;
            PlayEnding::Exit(UNPLAYABLE)
        }
    };
    carry_out_ending(ending)
}

/// Carries out the ending of a play. Returns only if the ending is one that a process can return
/// from.
fn carry_out_ending(ending: PlayEnding) -> Result<i32, Error> {
    match ending {
        PlayEnding::Exit(code) => Ok(code),
        PlayEnding::Crash => std::process::abort(),
        PlayEnding::Hang { ignore_term } => {
            if ignore_term {
                let heard = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(signal_hook::consts::SIGTERM, heard).map_err(
                    |source| Error::Action {
                        action: "ignore",
                        subject: "SIGTERM".to_owned(),
                        source,
                    },
                )?;
            }
            loop {
                thread::park();
            }
        }
    }
}

fn read_limited(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        let length = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if length as u64 > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(text)
    });
    read.map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Plays a script for a coder; only for endings that return.
    fn played(script: &str) -> (Result<i32, Error>, String) {
        let dir = tempfile::tempdir().unwrap();
        let assignment = dir.path().join("assignment.json");
        fs::write(&assignment, r#"{"role":"coder","attempt":2}"#).unwrap();
        let file = dir.path().join("script.yml");
        fs::write(&file, script).unwrap();
        let mut out = Vec::new();
        let code = play_script(ScriptSource::File(&file), &assignment, &mut out);
        (code, String::from_utf8(out).unwrap())
    }

    #[test]
    fn it_starts_and_ends() {
        let (code, out) = played("version: 1\nplays:\n  - do: [{text: hello}, {exit: 4}]\n");
        assert_eq!(code.unwrap(), 4);
        let lines: Vec<_> = out.lines().collect();
        assert!(lines[0].starts_with(r#"{"type":"started","worker":"scripted","version":""#));
        assert_eq!(lines[1], r#"{"type":"text","text":"hello"}"#);
    }

    #[test]
    fn without_a_play_it_says_so_and_ends_with_2() {
        let (code, out) = played("version: 1\nplays: []\n");
        assert_eq!(code.unwrap(), 2);
        let last = out.lines().last().unwrap();
        assert!(last.starts_with(r#"{"type":"error","message":"no play matches role `coder`"#));
    }

    #[test]
    fn a_failed_action_names_its_cause() {
        let (code, out) = played("version: 1\nplays:\n  - do: [{delete: no/such/file}]\n");
        assert_eq!(code.unwrap(), 2);
        assert!(out.contains("could not delete `no/such/file`: No such file"));
    }

    #[test]
    fn a_script_that_cannot_be_read_is_an_error() {
        let (code, out) = played("version: 1\nplays: 3\n");
        let error = code.unwrap_err().to_string();
        assert!(error.contains("script.yml:2:8: "), "{error}");
        assert!(out.is_empty());

        let nowhere = Path::new("/no/such/file");
        let error = play_script(ScriptSource::File(nowhere), nowhere, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "could not read `/no/such/file`");
    }
}
