//! A socket that is waited for together with all that may end the waiting.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::time::Instant;

use rustix::event::PollFlags;

use super::server::StopSignal;

/// Reads and writes as if the socket were blocking; but a wait ends with an
/// error when the serving is stopped, and when one of these says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoppableStream<'a> {
    socket: &'a TcpStream,
    stop: &'a StopSignal,
    /// The latest moment to wait for.
    pub(super) deadline: Option<Instant>,
    /// The other side of what is passed on here: nothing is worth waiting for
    /// when it has hung up.
    pub(super) for_whom: Option<&'a TcpStream>,
}

impl<'a> StoppableStream<'a> {
    pub(super) fn new(socket: &'a TcpStream, stop: &'a StopSignal) -> Self {
        Self {
            socket,
            stop,
            deadline: None,
            for_whom: None,
        }
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let own = (self.socket.as_fd(), flags);
        let Some(other) = self.for_whom else {
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

    fn patiently<T>(
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
        self.patiently(PollFlags::IN, || socket.read(buffer))
    }
}

impl Write for StoppableStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut socket = self.socket;
        self.patiently(PollFlags::OUT, || socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
