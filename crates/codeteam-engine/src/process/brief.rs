//! Waits for one short command, such as git: its output is kept whole, and neither a file that it
//! waits for nor what it has left behind holds codeteam up.
//!
//! Input, output and the end of the process are served from one `poll`, so that no order in which
//! the command reads and writes can block both sides. What ends it early is the [`WaitLimit`] of the
//! thread. It is then asked to end, which lets git remove its lock files, and killed if it does not.

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
use super::patience::{WaitError, WaitLimit};

/// How long the streams of an ended command may stay open and silent before those who hold them are
/// killed, and how long after that.
const DRAIN: Duration = Duration::from_millis(200);

/// How long a command may take to end between `SIGTERM` and `SIGKILL`, and to die of the latter.
const GRACE: Duration = Duration::from_secs(2);

/// A command that takes longer than this is worth a look at what it waits for.
const SLOW: Duration = Duration::from_millis(1_500);

/// How often the end is looked for where the kernel cannot announce it.
const LOOK: Duration = Duration::from_millis(20);

/// A command that was started. Dropped early, it takes everything it started down with it.
pub(crate) struct BriefCommand {
    child: Child,
    leader: Pid,
    hold: Option<Box<dyn CommandGuard>>,
    input: Option<(ChildStdin, Vec<u8>)>,
    stdout: Option<File>,
    stderr: Option<File>,
    reaped: bool,
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct BriefOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether it was run at all, and not only what should have confined it.
    pub(crate) was_confined: bool,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BriefError {
    /// It was ended early.
    #[error(transparent)]
    Impatient(#[from] WaitError),
    /// Whoever looked at what it waits for has ended it.
    #[error("it was ended, because it could not go on")]
    Stuck,
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Looks, once, at what a slow command may be waiting for. `true` ends the command.
pub(crate) type SlowCheck<'a> = &'a mut dyn FnMut() -> bool;

impl BriefCommand {
    /// Takes a child over whose streams are pipes, with what it is to read.
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
            hold,
            input: stdin.zip(input),
            stdout: child.stdout.take().map(OwnedFd::from).map(stream),
            stderr: child.stderr.take().map(OwnedFd::from).map(stream),
            child,
            reaped: false,
        }
    }

    /// What it prints, for another command to read.
    pub(crate) fn take_stdout(&mut self) -> Option<File> {
        self.stdout.take()
    }

    /// Gives a confined command what it needs from outside.
    pub(crate) fn serve(&mut self) -> io::Result<()> {
        match &mut self.hold {
            Some(hold) => {
                let ended = pidfd_open(self.leader, PidfdFlags::empty()).ok();
                let ends: Vec<_> = ended.iter().map(OwnedFd::as_fd).collect();
                hold.started(Duration::MAX, &ends)
            }
            None => Ok(()),
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(
        mut self,
        patience: &WaitLimit,
        slow: SlowCheck<'_>,
    ) -> Result<BriefOutput, BriefError> {
        if let Some((input, _)) = &self.input {
            rustix::io::ioctl_fionbio(input, true).map_err(io::Error::from)?;
        }
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.attend(patience, slow, &mut stdout, &mut stderr)?;
        // What it started and left behind goes before its id is free again.
        self.signal(Signal::KILL);
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

    /// Serves it until it has ended and its streams are closed or given up.
    fn attend(
        &mut self,
        patience: &WaitLimit,
        slow: SlowCheck<'_>,
        stdout: &mut Vec<u8>,
        stderr: &mut Vec<u8>,
    ) -> Result<(), BriefError> {
        let (woken, waker) = io::pipe()?;
        let waker = Arc::new(waker);
        let _registered = patience.cancel().map(|cancel| cancel.wake(waker));
        let ended = pidfd_open(self.leader, PidfdFlags::empty()).ok();
        let mut slow_at = Some(Instant::now() + SLOW);
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
                if slow_at.is_some_and(|at| Instant::now() >= at) {
                    slow_at = None;
                    if slow() {
                        return Err(BriefError::Stuck);
                    }
                }
            }
            let look = ended.is_none().then(|| Instant::now() + LOOK);
            let times = [patience.until(), slow_at, stages.until, look];
            let until = times.into_iter().flatten().min();
            let watched = ended.as_ref().filter(|_| stages.until.is_none());
            let progress = self.serve_streams(watched, &woken, until, stdout, stderr)?;
            if progress {
                stages.renew();
            }
        }
    }

    /// Waits for something to do and does it; whether output was read.
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
        drop(fds);
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
            // Its exit status says why it stopped reading.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => bytes.clear(),
            Err(error) => return Err(error),
        }
        if bytes.is_empty() {
            self.input = None;
        }
        Ok(())
    }

    /// Whether the command itself has ended. It stays a zombie, so that its id stays its own.
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
            hold.cut();
        }
        self.signal(Signal::KILL);
    }

    /// Waits until the command is gone, but not for long.
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
            // Git removes its lock files then.
            self.signal(Signal::TERM);
            self.await_death();
        }
        self.kill();
        self.await_death();
        let _ = self.child.try_wait();
    }
}

/// What is done with streams that somebody keeps open after the command's end.
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
    /// The next thing to do; `None` to give the streams up.
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

    /// There is still something to read.
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

    use super::super::CancelToken;
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
        let timed_out = BriefError::Impatient(WaitError::TimedOut).to_string();
        assert_eq!(ended.unwrap_err().to_string(), timed_out);

        let cancel = CancelToken::new();
        let _obeys = WaitLimit::obey(&cancel);
        let waiting = std::thread::spawn({
            let patience = WaitLimit::current();
            move || start("trap '' TERM; sleep 1000", None).finish(&patience, &mut || false)
        });
        cancel.cancel();
        let ended = waiting.join().unwrap();
        assert!(matches!(
            ended,
            Err(BriefError::Impatient(WaitError::Cancelled))
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
}
