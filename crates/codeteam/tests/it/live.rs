//! A codeteam that runs while the test goes on: what it says is waited for, never guessed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::project::{CommandResult, Project};

/// A codeteam in a process of its own. Killed when the test lets go of it.
pub(crate) struct RunningCodeteam {
    child: Child,
    stderr: BufReader<ChildStderr>,
    seen: String,
}

impl Project {
    /// Starts codeteam and goes on.
    pub(crate) fn start(&self, args: &[&str]) -> RunningCodeteam {
        self.start_with(args, &[])
    }

    /// Starts codeteam with more in its environment.
    pub(crate) fn start_with(&self, args: &[&str], env: &[(&str, &str)]) -> RunningCodeteam {
        let mut child = self
            .codeteam(args)
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        RunningCodeteam {
            child,
            stderr,
            seen: String::new(),
        }
    }
}

impl RunningCodeteam {
    /// Reads on until a line has this in it, and returns the line.
    #[track_caller]
    pub(crate) fn until(&mut self, marker: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).unwrap();
            self.seen.push_str(&line);
            assert!(read > 0, "ended without {marker:?}:\n{}", self.seen);
            if line.contains(marker) {
                return line;
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> CommandResult {
        let mut stdout = String::new();
        self.stderr.read_to_string(&mut self.seen).unwrap();
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        CommandResult {
            code: status.code(),
            stdout,
            stderr: std::mem::take(&mut self.seen),
        }
    }
}

impl Drop for RunningCodeteam {
    fn drop(&mut self) {
        // A test that failed must not leave anything behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
