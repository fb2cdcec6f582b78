//! A git process that answers one request after another.

use std::io::{self, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::process::{self, StopScope, WaitLimit};

/// The longest an answer may take. Callers that know better narrow the thread's [`WaitLimit`].
const LONGEST: Duration = Duration::from_mins(10);

/// How long an answer is waited for before the process is looked at.
const LOOK: Duration = Duration::from_millis(1_500);

/// A git process that answers requests for as long as this is kept.
#[derive(Debug)]
pub(super) struct GitBatchProcess {
    child: Child,
    input: Option<ChildStdin>,
    pub(super) output: BufReader<BatchOutput>,
}

/// The output of such a process. Reading it obeys the thread's [`WaitLimit`], and the process goes on
/// if somebody has stopped it.
#[derive(Debug)]
pub(super) struct BatchOutput {
    pipe: ChildStdout,
    process: Pid,
}

impl io::Read for BatchOutput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let patience = WaitLimit::current().at_most(LONGEST);
        let look = Timespec::try_from(LOOK).map_err(io::Error::other)?;
        while poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&look))? == 0 {
            patience.check_io()?;
            process::continue_stopped(self.process, StopScope::Descendants);
        }
        self.pipe.read(into)
    }
}

impl GitBatchProcess {
    /// Takes over a process with its output.
    pub(super) fn new(mut child: Child, output: ChildStdout) -> Self {
        Self {
            input: child.stdin.take(),
            output: BufReader::new(BatchOutput {
                pipe: output,
                process: Pid::from_child(&child),
            }),
            child,
        }
    }

    pub(super) fn send_request(&mut self, question: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(asks) => asks.write_all(question),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Closes the input: after an error, the next output would not be the answer to the next
    /// request.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }
}

impl Drop for GitBatchProcess {
    fn drop(&mut self) {
        // The process exits when its input is closed.
        self.input = None;
        if io::copy(&mut self.output, &mut io::sink()).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
