//! A socket whose waits can be ended from outside.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::time::Instant;

use rustix::event::PollFlags;

use super::server::StopSignal;

/// Reads and writes as if the socket were blocking, except that a wait fails when the server is
/// stopped, the deadline passes, or the peer has hung up.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoppableStream<'a> {
    socket: &'a TcpStream,
    stop: &'a StopSignal,
    /// The latest time to wait until.
    pub(super) deadline: Option<Instant>,
    /// The other side of a forwarded connection: once it has hung up, nothing is worth waiting for.
    pub(super) peer: Option<&'a TcpStream>,
}

impl<'a> StoppableStream<'a> {
    pub(super) fn new(socket: &'a TcpStream, stop: &'a StopSignal) -> Self {
        Self {
            socket,
            stop,
            deadline: None,
            peer: None,
        }
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let own = (self.socket.as_fd(), flags);
        let Some(other) = self.peer else {
            self.stop.wait(&[own], self.deadline)?;
            return Ok(());
        };
        let other = (other.as_fd(), PollFlags::RDHUP);
        let happened = self.stop.wait(&[own, other], self.deadline)?;
        if happened.first().is_some_and(|flags| !flags.is_empty()) {
            return Ok(());
        }
        let gone = "the client has hung up";
        Err(io::Error::new(ErrorKind::ConnectionAborted, gone))
    }

    fn retry_until_ready<T>(
        &self,
        flags: PollFlags,
        mut attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(flags)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}

impl Read for StoppableStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut socket = self.socket;
        self.retry_until_ready(PollFlags::IN, || socket.read(buffer))
    }
}

impl Write for StoppableStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut socket = self.socket;
        self.retry_until_ready(PollFlags::OUT, || socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
