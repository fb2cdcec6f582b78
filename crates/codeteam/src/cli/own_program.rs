//! Starts this program itself, for surfaces on which a person decides: what they decide is a command.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use codeteam_engine::command_runner::CommandRunner;

/// Returns what runs commands of this program (`codeteam`) in the project at `folder`.
pub(crate) fn own_program(codeteam: &Path, folder: &Path) -> Arc<dyn CommandRunner> {
    Arc::new(OwnProgram {
        codeteam: codeteam.to_owned(),
        folder: folder.to_owned(),
    })
}

/// Runs commands of this very program, in the same project.
struct OwnProgram {
    codeteam: PathBuf,
    folder: PathBuf,
}

impl CommandRunner for OwnProgram {
    #[expect(
        clippy::disallowed_methods,
        reason = "not a worker and not a check: this program itself, as the person would call it"
    )]
    fn run(&self, words: &[String], on_line: &mut dyn FnMut(String)) -> io::Result<Option<i32>> {
        let (output, writer) = io::pipe()?;
        let mut command = Command::new(&self.codeteam);
        command
            .arg("-C")
            .arg(&self.folder)
            .args(words)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            // What drives a run goes on when the surface that started it is closed.
            .process_group(0);
        let mut child = command.spawn()?;
        // The command has the only other ends of the pipe.
        drop(command);
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            on_line(String::from_utf8_lossy(&line).trim_end().to_owned());
            line.clear();
        }
        Ok(child.wait()?.code())
    }
}
