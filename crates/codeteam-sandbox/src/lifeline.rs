//! The lifeline: a connection that keeps a confined command alive.
//!
//! It is a pair of sockets. One end is the standard input of the shim, of bubblewrap and of the
//! first process inside (the command itself reads from `/dev/null`); the other stays with the
//! orchestrator. For a container, the first end is passed in over a connection. When the
//! orchestrator's end is closed, on purpose or because its process is gone, the first process ends
//! and the kernel kills all others with it.
//!
//! Sockets are used because a process inside could open a pipe a second time through `/proc`, and
//! the pipe would then never report its end. Sockets can also carry descriptors: when the sandbox
//! is ready and the command is about to start, it sends one message, with a listener for each port
//! that its policy lists. Nothing else travels here.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recv, recvmsg,
};

/// The orchestrator's end of the connection that keeps a confined command alive. Dropping it ends
/// the command and everything it started.
///
/// Create the pair with [`Lifeline::new`], give the second half to the shim as standard input, and
/// spawn the shim. Then, if the policy has ports, call [`Lifeline::receive_listeners`] once. After
/// the end, [`Lifeline::was_ready`] tells whether the sandbox was set up at all or failed before
/// the command started.
#[derive(Debug)]
pub struct Lifeline {
    held: UnixStream,
    ready_received: AtomicBool,
}

impl Lifeline {
    /// Creates a lifeline and the standard input for the shim.
    pub fn new() -> io::Result<(Self, Stdio)> {
        let (held, given) = UnixStream::pair()?;
        let given = OwnedFd::from(given);
        let heard = AtomicBool::new(false);
        Ok((
            Self {
                held,
                ready_received: heard,
            },
            given.into(),
        ))
    }

    /// Receives the listeners on the [`ports`](crate::SandboxPolicy::ports) of the policy, of which
    /// there are `count`, in their order. They are in the sandbox's network: connections accepted
    /// there come from inside. Call this once, after the shim was spawned. The command does not
    /// wait for it.
    ///
    /// If the shim fails, this returns an error at once, provided that this process no longer holds
    /// the shim's standard input: drop the `Command` it was given to.
    pub fn receive_listeners(
        &self,
        count: usize,
        timeout: Duration,
    ) -> io::Result<Vec<TcpListener>> {
        self.receive_listeners_until(count, timeout, &[])
    }

    /// Does the same, but also fails as soon as one of `ends` is readable: a pidfd of the shim (if
    /// the shim is killed at the wrong moment, one of its children goes on holding the other end),
    /// or anything else that ends the wait.
    pub fn receive_listeners_until(
        &self,
        count: usize,
        timeout: Duration,
        ends: &[BorrowedFd<'_>],
    ) -> io::Result<Vec<TcpListener>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.wait(timeout, ends)?;
        let listeners = self.receive(count)?;
        if listeners.len() == count {
            return Ok(listeners);
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "the sandbox serves {} ports instead of {count}",
                listeners.len()
            ),
        ))
    }

    /// Returns true if the sandbox was set up and about to start the command. Call this after the
    /// spawned process has ended; it does not wait.
    pub fn was_ready(&self) -> bool {
        let peek = |byte: &mut [u8]| recv(&self.held, byte, RecvFlags::DONTWAIT);
        self.ready_received.load(Ordering::Relaxed) || matches!(peek(&mut [0]), Ok((1, _)))
    }

    fn wait(&self, timeout: Duration, ends: &[BorrowedFd<'_>]) -> io::Result<()> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).ok();
            let mut watched = vec![PollFd::new(&self.held, PollFlags::IN)];
            let ends = ends.iter();
            watched.extend(ends.map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
            match poll(&mut watched, left.as_ref()) {
                Ok(0) => {
                    let late = "the sandbox did not serve its ports in time";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, late));
                }
                Ok(_) if watched[0].revents().is_empty() => {
                    let gone = "the sandbox was ended before it served its ports";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, gone));
                }
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn receive(&self, count: usize) -> io::Result<Vec<TcpListener>> {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(count))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let received = recvmsg(
            &self.held,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        if received.bytes == 0 {
            let ended = "the sandbox ended before it served its ports";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, ended));
        }
        self.ready_received.store(true, Ordering::Relaxed);
        if received.flags.contains(ReturnFlags::CTRUNC) {
            let more = "the sandbox serves more ports than were asked for";
            return Err(io::Error::new(io::ErrorKind::InvalidData, more));
        }
        Ok(control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
                _ => None,
            })
            .flatten()
            .map(TcpListener::from)
            .collect())
    }
}
