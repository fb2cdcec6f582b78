//! Reads both streams of a child and hands their lines on.
//!
//! It reads only what is available, so it never blocks on a stream that some process keeps open,
//! and it holds no more than a chunk and one capped line per stream.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::lines::{LineSplitter, OutputPiece};
use super::{CommandExit, CommandLimits, ExitReason, OutputLine, OutputStream, to_plain_text};

/// Both streams of a child.
pub(super) struct StreamPair {
    stdout: StreamSource<File>,
    stderr: StreamSource<File>,
    chunk: Vec<u8>,
    total_bytes: u64,
}

/// One stream. The pipe is `None` once the stream has ended.
struct StreamSource<P> {
    pipe: Option<P>,
    lines: LineSplitter,
    stream: OutputStream,
}

/// Which streams can be read without blocking.
#[derive(Clone, Copy)]
pub(super) struct ReadyStreams {
    stdout: bool,
    stderr: bool,
    /// Whether the wake-up pipe can be read.
    pub(super) woken: bool,
}

impl ReadyStreams {
    pub(super) fn has_output(self) -> bool {
        self.stdout || self.stderr
    }
}

impl StreamPair {
    pub(super) fn new([stdout, stderr]: [Option<File>; 2], limits: &CommandLimits) -> Self {
        let lines = || LineSplitter::new(limits.line_bytes, limits.total_bytes);
        Self {
            stdout: StreamSource {
                pipe: stdout,
                lines: lines(),
                stream: OutputStream::Stdout,
            },
            stderr: StreamSource {
                pipe: stderr,
                lines: lines(),
                stream: OutputStream::Stderr,
            },
            chunk: vec![0; 64 * 1024],
            total_bytes: limits.total_bytes,
        }
    }

    pub(super) fn are_closed(&self) -> bool {
        self.stdout.pipe.is_none() && self.stderr.pipe.is_none()
    }

    /// Waits until there is something to read, or until the deadline.
    pub(super) fn wait(
        &self,
        woken: &PipeReader,
        until: Option<Instant>,
    ) -> io::Result<ReadyStreams> {
        let stdout = self.stdout.pipe.as_ref().map(AsFd::as_fd);
        let stderr = self.stderr.pipe.as_ref().map(AsFd::as_fd);
        let mut fds: Vec<_> = [Some(woken.as_fd()), stdout, stderr]
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let timeout = until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .and_then(|left| Timespec::try_from(left).ok());
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // A hang-up counts too: it marks the end of a stream.
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |is_open: bool| is_open && ready.next().unwrap_or(false);
        Ok(ReadyStreams {
            woken: next(true),
            stdout: next(stdout.is_some()),
            stderr: next(stderr.is_some()),
        })
    }

    pub(super) fn read(
        &mut self,
        ready: ReadyStreams,
        sink: &mut dyn FnMut(OutputLine<'_>),
    ) -> io::Result<()> {
        if ready.stdout {
            self.stdout.read(&mut self.chunk, self.total_bytes, sink)?;
        }
        if ready.stderr {
            self.stderr.read(&mut self.chunk, self.total_bytes, sink)?;
        }
        Ok(())
    }

    /// Delivers the last, unfinished lines of both streams.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(OutputLine<'_>)) {
        self.stdout.finish(self.total_bytes, sink);
        self.stderr.finish(self.total_bytes, sink);
    }

    /// Returns the number of bytes read so far.
    pub(super) fn received(&self) -> u64 {
        self.stdout.lines.received() + self.stderr.lines.received()
    }

    /// Builds the [`CommandExit`] with the byte counts of both streams.
    pub(super) fn exit_summary(&self, status: ExitReason, wall: Duration) -> CommandExit {
        let (stdout, stderr) = (&self.stdout.lines, &self.stderr.lines);
        CommandExit {
            status,
            sandbox_killed: false,
            stdout_bytes: stdout.received(),
            stderr_bytes: stderr.received(),
            dropped_bytes: stdout.dropped() + stderr.dropped(),
            wall,
        }
    }
}

impl<P: Read> StreamSource<P> {
    fn read(
        &mut self,
        chunk: &mut [u8],
        total_bytes: u64,
        sink: &mut dyn FnMut(OutputLine<'_>),
    ) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        match pipe.read(chunk) {
            Ok(0) => self.finish(total_bytes, sink),
            Ok(count) => {
                let stream = self.stream;
                self.lines.feed(&chunk[..count], &mut |piece| {
                    deliver(piece, stream, total_bytes, sink);
                });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn finish(&mut self, total_bytes: u64, sink: &mut dyn FnMut(OutputLine<'_>)) {
        self.pipe = None;
        let stream = self.stream;
        self.lines
            .finish(&mut |piece| deliver(piece, stream, total_bytes, sink));
    }
}

fn deliver(
    piece: OutputPiece<'_>,
    stream: OutputStream,
    total_bytes: u64,
    sink: &mut dyn FnMut(OutputLine<'_>),
) {
    sink(match piece {
        OutputPiece::Line { raw, truncated } => OutputLine {
            stream,
            raw,
            text: to_plain_text(raw),
            truncated,
        },
        OutputPiece::LimitReached => OutputLine {
            stream,
            raw: b"",
            text: format!("[output past {total_bytes} bytes is not kept]").into(),
            truncated: true,
        },
    });
}
