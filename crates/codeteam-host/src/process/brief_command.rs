//! Runs one short command, such as git, and keeps its whole output. Neither a file the command
//! blocks on nor processes it leaves behind can hold codeteam up.
//!
//! Input, output and the exit of the process are served from one `poll`, so that no order in which
//! the command reads and writes can block both sides. The thread's [`WaitLimit`] ends the command
//! early: it first gets `SIGTERM`, which lets git remove its lock files, and is killed if it does
//! not exit.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open};

use super::CommandGuard;
use super::interruption::{EndableCommand, LAST, interruption};
use super::stopped::{StopScope, StopWatch};
use crate::cancel::CancelToken;
use crate::wait_limit::{WaitError, WaitLimit};

/// How long the streams of an exited command may stay open and silent before the processes that
/// hold them are killed, and again how long after that.
const DRAIN: Duration = Duration::from_millis(200);

/// How long a command may take to exit between `SIGTERM` and `SIGKILL`, and then to die of the
/// latter.
const GRACE: Duration = Duration::from_secs(2);

/// After this time it is worth checking what a command is waiting for.
const SLOW: Duration = Duration::from_millis(1_500);

/// The polling interval for the exit where the kernel cannot announce it.
const LOOK: Duration = Duration::from_millis(20);

/// A short command that was started. If it is dropped early, it and everything it started are
/// killed.
pub(crate) struct BriefCommand {
    child: Child,
    started: Instant,
    leader: Pid,
    hold: Option<Box<dyn CommandGuard>>,
    input: Option<(ChildStdin, Vec<u8>)>,
    stdout: Option<File>,
    stderr: Option<File>,
    reaped: bool,
}

/// The output and exit status of a short command.
#[derive(Debug)]
pub(crate) struct BriefOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether the command itself ran, as opposed to only the sandbox that should have confined it.
    pub(crate) was_confined: bool,
}

/// The reason there is no output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BriefError {
    /// The wait limit ended it early.
    #[error(transparent)]
    Interrupted(#[from] WaitError),
    /// The [`SlowCheck`] ended it.
    #[error("it was ended, because it could not go on")]
    Stuck,
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Checks, once, what a slow command may be waiting for. Returning `true` ends the command.
pub(crate) type SlowCheck<'a> = &'a mut dyn FnMut() -> bool;

impl BriefCommand {
    /// Takes over a child whose streams are pipes, with the input it is to read.
    pub(crate) fn new(
        mut child: Child,
        hold: Option<Box<dyn CommandGuard>>,
        input: Option<Vec<u8>>,
    ) -> Self {
        let leader = Pid::from_child(&child);
        let stream = |pipe: OwnedFd| File::from(pipe);
        let stdin = child.stdin.take();
        Self {
            leader,
            started: Instant::now(),
            hold,
            input: stdin.zip(input),
            stdout: child.stdout.take().map(OwnedFd::from).map(stream),
            stderr: child.stderr.take().map(OwnedFd::from).map(stream),
            child,
            reaped: false,
        }
    }

    /// Returns when the command was started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Takes the standard output, for another command to read from.
    pub(crate) fn take_stdout(&mut self) -> Option<File> {
        self.stdout.take()
    }

    /// Gives a confined command the listeners it needs from outside the sandbox.
    pub(crate) fn serve_sandbox(&mut self) -> io::Result<()> {
        match &mut self.hold {
            Some(hold) => {
                let ended = pidfd_open(self.leader, PidfdFlags::empty()).ok();
                let ends: Vec<_> = ended.iter().map(OwnedFd::as_fd).collect();
                hold.on_spawned(Duration::MAX, &ends)
            }
            None => Ok(()),
        }
    }

    /// Waits for the command to exit and returns its output.
    pub(crate) fn finish(
        mut self,
        patience: &WaitLimit,
        slow: SlowCheck<'_>,
    ) -> Result<BriefOutput, BriefError> {
        if let Some((input, _)) = &self.input {
            rustix::io::ioctl_fionbio(input, true).map_err(io::Error::from)?;
        }
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        // A sandbox ends with codeteam by itself.
        let endable = patience.obeys_interruption() && self.hold.is_none();
        let endable = endable.then(|| EndableCommand::register(self.leader));
        self.supervise(patience, slow, &mut stdout, &mut stderr)?;
        // Leftover processes are killed before the process id can be reused.
        self.signal(Signal::KILL);
        drop(endable);
        let was_confined = self.hold.as_mut().is_none_or(|hold| hold.was_confined());
        let status = self.child.wait()?;
        self.reaped = true;
        Ok(BriefOutput {
            status,
            stdout,
            stderr,
            was_confined,
        })
    }

    /// Serves the command until it has exited and its streams are closed or abandoned.
    fn supervise(
        &mut self,
        patience: &WaitLimit,
        slow: SlowCheck<'_>,
        stdout: &mut Vec<u8>,
        stderr: &mut Vec<u8>,
    ) -> Result<(), BriefError> {
        let (woken, waker) = io::pipe()?;
        let waker = Arc::new(waker);
        let interruption = patience.obeys_interruption().then(interruption);
        let _interrupted = interruption.map(|token| token.wake_on_cancel(Arc::clone(&waker)));
        let _registered = patience.cancel().map(|cancel| cancel.wake_on_cancel(waker));
        let mut last_at = None;
        let ended = pidfd_open(self.leader, PidfdFlags::empty()).ok();
        let mut slow_at = Some(Instant::now() + SLOW);
        let mut stops = StopWatch::begin(StopScope::Descendants);
        let mut stages = StreamDrain::default();
        loop {
            if self.has_exited() {
                self.input = None;
                if self.stdout.is_none() && self.stderr.is_none() {
                    return Ok(());
                }
                match stages.next() {
                    Some(DrainStage::Wait) => {}
                    Some(DrainStage::Kill) => self.kill(),
                    None => return Ok(()),
                }
            } else {
                patience.check()?;
                if interruption.is_some_and(CancelToken::is_cancelled) {
                    let last_at = *last_at.get_or_insert_with(|| Instant::now() + LAST);
                    if Instant::now() >= last_at {
                        return Err(WaitError::Cancelled.into());
                    }
                }
                if slow_at.is_some_and(|at| Instant::now() >= at) {
                    slow_at = None;
                    if slow() {
                        return Err(BriefError::Stuck);
                    }
                }
                stops.look(self.leader);
            }
            let look = ended.is_none().then(|| Instant::now() + LOOK);
            // Once it has exited, the stages of its streams say when to look again.
            let stopped = stages.until.is_none().then_some(stops.next);
            let times = [
                patience.deadline(),
                slow_at,
                stages.until,
                look,
                last_at,
                stopped,
            ];
            let until = times.into_iter().flatten().min();
            let watched = ended.as_ref().filter(|_| stages.until.is_none());
            let progress = self.serve_streams(watched, &woken, until, stdout, stderr)?;
            if progress {
                stages.renew();
            }
        }
    }

    /// Waits for the next event and handles it. Returns true if output was read.
    fn serve_streams(
        &mut self,
        ended: Option<&OwnedFd>,
        woken: &io::PipeReader,
        until: Option<Instant>,
        stdout: &mut Vec<u8>,
        stderr: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let input = self.input.as_ref().map(|(pipe, _)| pipe.as_fd());
        let out = self.stdout.as_ref().map(|file| file.as_fd());
        let err = self.stderr.as_ref().map(|file| file.as_fd());
        let is_open = [input.is_some(), out.is_some(), err.is_some()];
        let streams = [
            input.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)),
            out.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
            err.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        ];
        let mut fds: Vec<PollFd<'_>> = streams.into_iter().flatten().collect();
        fds.push(PollFd::new(woken, PollFlags::IN));
        fds.extend(ended.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut fds, left.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let [write, read_out, read_err] =
            is_open.map(|is_open| is_open && ready.next().unwrap_or(false));
        let is_woken = ready.next().unwrap_or(false);
        drop(fds);
        if is_woken {
            // After an interruption the command may go on for a while, which must not be spent
            // being woken again and again.
            let _ = rustix::io::read(woken, &mut [0_u8; 16]);
        }
        if write {
            self.write_input()?;
        }
        let mut progress = false;
        if read_out {
            progress |= read(&mut self.stdout, stdout)?;
        }
        if read_err {
            progress |= read(&mut self.stderr, stderr)?;
        }
        Ok(progress)
    }

    fn write_input(&mut self) -> io::Result<()> {
        let Some((pipe, bytes)) = &mut self.input else {
            return Ok(());
        };
        match pipe.write(bytes) {
            Ok(count) => drop(bytes.drain(..count)),
            Err(error) if is_temporary(&error) => {}
            // The exit status says why it stopped reading.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => bytes.clear(),
            Err(error) => return Err(error),
        }
        if bytes.is_empty() {
            self.input = None;
        }
        Ok(())
    }

    /// Returns true if the command itself has exited. It stays a zombie, so that its id is not
    /// reused.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(
            rustix::process::waitid(WaitId::Pid(self.leader), options),
            Ok(None) | Err(Errno::INTR)
        )
    }

    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }

    fn kill(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.kill_command();
        }
        self.signal(Signal::KILL);
    }

    /// Waits until the command has exited, but no longer than [`GRACE`].
    fn await_death(&self) {
        let until = Instant::now() + GRACE;
        while !self.has_exited() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(ended) = pidfd_open(self.leader, PidfdFlags::empty()) else {
                std::thread::sleep(LOOK);
                continue;
            };
            let left = Timespec::try_from(left).ok();
            let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], left.as_ref());
        }
    }
}

impl Drop for BriefCommand {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        if self.hold.is_none() {
            // On SIGTERM git removes its lock files.
            self.signal(Signal::TERM);
            self.await_death();
        }
        self.kill();
        self.await_death();
        let _ = self.child.try_wait();
    }
}

/// Handles streams that some process keeps open after the command has exited: wait, then kill, then
/// give up.
#[derive(Default)]
struct StreamDrain {
    until: Option<Instant>,
    killed: bool,
}

enum DrainStage {
    Wait,
    Kill,
}

impl StreamDrain {
    /// Returns the next stage; `None` means to give up on the streams.
    fn next(&mut self) -> Option<DrainStage> {
        match self.until {
            None => {
                self.renew_from_now();
                Some(DrainStage::Wait)
            }
            Some(until) if Instant::now() < until => Some(DrainStage::Wait),
            Some(_) if !self.killed => {
                self.killed = true;
                self.renew_from_now();
                Some(DrainStage::Kill)
            }
            Some(_) => None,
        }
    }

    /// Extends the wait because there was still something to read.
    fn renew(&mut self) {
        if self.until.is_some() && !self.killed {
            self.renew_from_now();
        }
    }

    fn renew_from_now(&mut self) {
        self.until = Some(Instant::now() + DRAIN);
    }
}

fn read(stream: &mut Option<File>, into: &mut Vec<u8>) -> io::Result<bool> {
    let Some(file) = stream else {
        return Ok(false);
    };
    let mut chunk = [0; 16 << 10];
    match file.read(&mut chunk) {
        Ok(0) => *stream = None,
        Ok(count) => into.extend_from_slice(&chunk[..count]),
        Err(error) if is_temporary(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(true)
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a command to wait for")]
    fn start(script: &str, input: Option<Vec<u8>>) -> BriefCommand {
        let child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        BriefCommand::new(child, None, input)
    }

    fn finish(script: &str) -> Result<BriefOutput, BriefError> {
        start(script, None).finish(&WaitLimit::default(), &mut || false)
    }

    #[test]
    fn input_and_output_of_any_length_do_not_block_each_other() {
        let input = vec![b'x'; 1 << 20];
        let command = start(
            "cat; cat /dev/zero | head -c 300000 >&2",
            Some(input.clone()),
        );
        let output = command
            .finish(&WaitLimit::default(), &mut || false)
            .unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, input);
        assert_eq!(output.stderr.len(), 300_000);
    }

    #[test]
    fn what_outlives_a_command_and_keeps_its_streams_open_is_ended() {
        let started = Instant::now();
        let output = finish("echo said; sleep 1000 & kill -9 $$").unwrap();
        assert_eq!(output.stdout, b"said\n");
        assert!(started.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn a_command_that_waits_for_ever_ends_with_its_time_or_on_cancelling() {
        let short = WaitLimit::default().at_most(Duration::from_millis(50));
        let ended = start("sleep 1000", None).finish(&short, &mut || false);
        let timed_out = BriefError::Interrupted(WaitError::TimedOut).to_string();
        assert_eq!(ended.unwrap_err().to_string(), timed_out);

        let cancel = CancelToken::new();
        let _obeys = WaitLimit::obey_cancel(&cancel);
        let waiting = std::thread::spawn({
            let patience = WaitLimit::current();
            move || start("trap '' TERM; sleep 1000", None).finish(&patience, &mut || false)
        });
        cancel.cancel();
        let ended = waiting.join().unwrap();
        assert!(matches!(
            ended,
            Err(BriefError::Interrupted(WaitError::Cancelled))
        ));
    }

    #[test]
    fn a_slow_command_is_looked_at_once_and_may_be_ended() {
        let mut looks = 0;
        let ended = start("sleep 1000", None).finish(&WaitLimit::default(), &mut || {
            looks += 1;
            true
        });
        assert!(matches!(ended, Err(BriefError::Stuck)));
        assert_eq!(looks, 1);
    }

    #[test]
    fn a_command_that_somebody_stops_goes_on() {
        // It stops itself and what it has started, and neither can end before it goes on.
        let script = "sh -c 'kill -STOP $$; echo below'; kill -STOP $$; echo above";
        let output = finish(script).unwrap();
        assert_eq!(output.stdout, b"below\nabove\n");
    }
}
