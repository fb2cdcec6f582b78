//! What holds a confined command to life.
//!
//! A pair of sockets: one end is the standard input of the shim, of bubblewrap
//! and of the first process inside (the command itself reads from `/dev/null`),
//! the other stays with the orchestrator. Into a container the first end is
//! handed over a connection. When the other
//! one is closed, by intent or because its process is gone, the first process
//! ends and the kernel ends all others with it.
//!
//! Sockets, because a pipe could be opened a second time through `/proc` by
//! what runs inside, and would then never report its end. And because sockets
//! can carry others: one message comes out of a sandbox when it is there and the
//! command is about to start, with a listener for each port that its policy
//! names. Nothing else travels here.

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

/// The orchestrator's end. Dropping it ends the command.
#[derive(Debug)]
pub struct Lifeline {
    held: UnixStream,
    heard: AtomicBool,
}

impl Lifeline {
    /// The end to keep, and the standard input for the shim.
    pub fn new() -> io::Result<(Self, Stdio)> {
        let (held, given) = UnixStream::pair()?;
        let given = OwnedFd::from(given);
        let heard = AtomicBool::new(false);
        Ok((Self { held, heard }, given.into()))
    }

    /// The listeners on the [`ports`](crate::SandboxPolicy::ports) of the policy, of
    /// which there are `count`, in their order. They are in the sandbox's
    /// network: what is accepted there comes from inside. To be asked for once,
    /// after the shim was spawned. The command does not wait for it.
    ///
    /// If the shim fails there is an error at once, provided that nobody here
    /// still holds its standard input: drop the `Command` it was given to.
    pub fn listeners(&self, count: usize, timeout: Duration) -> io::Result<Vec<TcpListener>> {
        self.listeners_before(count, timeout, &[])
    }

    /// The same, which also fails as soon as one of `ends` can be read: a descriptor
    /// of the shim's process (if that is killed at the wrong moment, a child of
    /// it goes on holding the other end), or whatever else ends the waiting.
    pub fn listeners_before(
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

    /// Whether the sandbox came about and was about to start the command. For
    /// after the end of what was spawned; does not wait.
    pub fn was_ready(&self) -> bool {
        let peek = |byte: &mut [u8]| recv(&self.held, byte, RecvFlags::DONTWAIT);
        self.heard.load(Ordering::Relaxed) || matches!(peek(&mut [0]), Ok((1, _)))
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
        self.heard.store(true, Ordering::Relaxed);
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
