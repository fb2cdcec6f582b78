//! Copies bytes in both directions until both have ended.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::EgressVerdict;
use super::server::StopSignal;

const BUFFER: usize = 16 * 1024;

/// How long one side may be silent after the other has closed its direction: a process that was
/// killed looks the same as one that only listens.
const HALF_CLOSED: Duration = Duration::from_mins(1);

/// The number of bytes transferred in each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TransferredBytes {
    pub(super) up: u64,
    pub(super) down: u64,
}

impl From<TransferredBytes> for EgressVerdict {
    fn from(TransferredBytes { up, down }: TransferredBytes) -> Self {
        Self::Ended { up, down }
    }
}

/// Passes on what comes from either side, and its end. `early` is what the client has already sent.
/// An error on one side ends both, when the caller closes them.
pub(super) fn relay(
    client: &TcpStream,
    server: &TcpStream,
    early: &[u8],
    stop: &StopSignal,
) -> TransferredBytes {
    let mut up = RelayDirection::new(client, server, early);
    let mut down = RelayDirection::new(server, client, &[]);
    // Nobody is left to report an error to.
    let _ = relay_until_end(&mut up, &mut down, stop);
    TransferredBytes {
        up: up.moved,
        down: down.moved,
    }
}

fn relay_until_end(
    up: &mut RelayDirection<'_>,
    down: &mut RelayDirection<'_>,
    stop: &StopSignal,
) -> io::Result<()> {
    loop {
        up.step()?;
        down.step()?;
        if up.is_done && down.is_done {
            return Ok(());
        }
        wait(up, down, stop)?;
    }
}

fn wait(up: &RelayDirection<'_>, down: &RelayDirection<'_>, stop: &StopSignal) -> io::Result<()> {
    let half = up.is_done || down.is_done;
    let deadline = half.then(|| Instant::now() + HALF_CLOSED);
    let watched: Vec<_> = [(up, down), (down, up)]
        .into_iter()
        .map(|(from, to)| {
            (
                from.from,
                from.read_interest() | to.write_interest(),
                to.is_done,
            )
        })
        // A side that has nothing left to do would report its end again and again.
        .filter(|(_, flags, is_told_all)| !(flags.is_empty() && *is_told_all))
        .collect();
    let sockets: Vec<_> = watched
        .iter()
        .map(|(socket, flags, _)| (socket.as_fd(), *flags))
        .collect();
    let happened = stop.wait(&sockets, deadline)?;
    for ((_, flags, _), happened) in watched.iter().zip(happened) {
        if flags.is_empty() && !happened.is_empty() {
            return Err(ErrorKind::ConnectionReset.into());
        }
    }
    Ok(())
}

/// One direction of a relay.
struct RelayDirection<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    buffer: Vec<u8>,
    /// The start of the part of the buffer that is still to be written.
    start: usize,
    end: usize,
    has_ended: bool,
    is_done: bool,
    moved: u64,
}

impl<'a> RelayDirection<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream, early: &[u8]) -> Self {
        let mut buffer = early.to_vec();
        buffer.resize(BUFFER.max(early.len()), 0);
        Self {
            from,
            to,
            buffer,
            start: 0,
            end: early.len(),
            has_ended: false,
            is_done: false,
            moved: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn read_interest(&self) -> PollFlags {
        if self.is_empty() && !self.has_ended {
            PollFlags::IN
        } else {
            PollFlags::empty()
        }
    }

    fn write_interest(&self) -> PollFlags {
        if self.is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::OUT
        }
    }

    /// Does as much as possible without waiting, but no more than one buffer, so that the other
    /// direction gets its turn.
    fn step(&mut self) -> io::Result<()> {
        if self.is_empty() && !self.has_ended {
            let mut from = self.from;
            if let Some(count) = none_if_blocking(from.read(&mut self.buffer))? {
                (self.start, self.end) = (0, count);
                self.has_ended = count == 0;
            }
        }
        while !self.is_empty() {
            let mut to = self.to;
            let Some(count) = none_if_blocking(to.write(&self.buffer[self.start..self.end]))?
            else {
                return Ok(());
            };
            self.start += count;
            self.moved += count as u64;
        }
        if self.has_ended && !self.is_done {
            self.is_done = true;
            self.to.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }
}

/// Returns `None` if the operation would block.
fn none_if_blocking(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::egress::server::prepare;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        prepare(&other).unwrap();
        (one, other)
    }

    #[test]
    fn both_directions_and_their_ends_are_passed_on() {
        let (mut client, inner) = pair();
        let (mut server, outer) = pair();
        let (stop, _held) = StopSignal::pair();
        let relaying = thread::spawn(move || relay(&inner, &outer, b"early ", &stop));
        let large = vec![7; 3_000_000];
        let sent = large.clone();
        let mut sender = client.try_clone().unwrap();
        let sending = thread::spawn(move || {
            sender.write_all(&sent).unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        server.read_to_end(&mut got).unwrap();
        assert_eq!(&got[..6], b"early ");
        assert_eq!(got.len(), 6 + large.len());
        sending.join().unwrap();
        // The other direction is open still.
        server.write_all(b"answer").unwrap();
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer");
        let moved = relaying.join().unwrap();
        let up = 6 + large.len() as u64;
        assert_eq!(moved, TransferredBytes { up, down: 6 });
    }

    #[test]
    fn it_ends_when_it_is_stopped() {
        let (client, inner) = pair();
        let (_server, outer) = pair();
        let (stop, held) = StopSignal::pair();
        let relaying = thread::spawn(move || relay(&inner, &outer, &[], &stop));
        drop(held);
        assert_eq!(relaying.join().unwrap(), TransferredBytes::default());
        drop(client);
    }
}
