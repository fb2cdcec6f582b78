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
//! what runs inside, and would then never report its end.

use std::io;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

/// The orchestrator's end. Dropping it ends the command.
#[derive(Debug)]
pub struct Lifeline {
    _held: UnixStream,
}

impl Lifeline {
    /// The end to keep, and the standard input for the shim.
    pub fn new() -> io::Result<(Self, Stdio)> {
        let (held, given) = UnixStream::pair()?;
        let given = std::os::fd::OwnedFd::from(given);
        Ok((Self { _held: held }, given.into()))
    }
}
