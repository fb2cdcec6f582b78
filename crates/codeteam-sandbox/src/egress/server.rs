//! Accepts connections, serves each on its own thread, and ends them all together.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::connection::SandboxConnection;
use super::{EgressLog, EgressRecord, EgressVerdict};

/// The number of connections served at once.
pub(super) const MOST: usize = 128;

/// The number of further connections that get an error answer; beyond that, connections are closed
/// at once.
const TOLD: usize = 32;

pub(super) const TOO_MANY: &str = "there are too many connections at once";

/// The pause before accepting again when the process lacks resources.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves a port of a sandbox. Dropping it closes the listener and all connections, and waits for
/// their threads.
#[derive(Debug)]
pub struct PortServer {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for PortServer {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }
}

pub(super) fn serve(
    listener: TcpListener,
    log: EgressLog,
    handle: impl Fn(SandboxConnection<'_>) + Send + Sync + 'static,
) -> io::Result<PortServer> {
    let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
    listener.set_nonblocking(true)?;
    let thread = thread::Builder::new()
        .name("egress".to_owned())
        .spawn(move || accept_all(listener, &StopSignal(stopped), &log, &handle))?;
    Ok(PortServer {
        stop: Some(stop),
        thread: Some(thread),
    })
}

fn accept_all(
    listener: TcpListener,
    stop: &StopSignal,
    log: &EgressLog,
    handle: &(impl Fn(SandboxConnection<'_>) + Send + Sync),
) {
    let open = AtomicUsize::new(0);
    // Leaving the scope waits for all threads in it.
    thread::scope(|scope| {
        let mut number = 0;
        while let Some(client) = accept(&listener, stop) {
            number += 1;
            let others = open.fetch_add(1, Ordering::SeqCst);
            let open = OpenConnection(&open);
            let visit = SandboxConnection {
                number,
                client,
                stop,
                is_over_capacity: others >= MOST,
            };
            let serve = move || {
                handle(visit);
                drop(open);
            };
            let is_served = others < MOST + TOLD
                && thread::Builder::new()
                    .name("egress".to_owned())
                    .spawn_scoped(scope, serve)
                    .is_ok();
            if !is_served {
                log(overload_record(number));
            }
        }
        // The listener closes at once, and not when the last connection has ended.
        drop(listener);
    });
}

fn overload_record(connection: u64) -> EgressRecord {
    EgressRecord {
        connection,
        host: String::new(),
        port: 0,
        verdict: EgressVerdict::Denied {
            why: TOO_MANY.to_owned(),
        },
    }
}

/// Counts one open connection until it is dropped.
struct OpenConnection<'a>(&'a AtomicUsize);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns the next connection, or `None` when the server is stopped.
fn accept(listener: &TcpListener, stop: &StopSignal) -> Option<TcpStream> {
    loop {
        stop.wait(&[(listener.as_fd(), PollFlags::IN)], None).ok()?;
        match listener.accept() {
            Ok((client, _)) if prepare(&client).is_ok() => return Some(client),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // For example, too many files are open: some will be closed soon.
            Err(_) => match stop.wait(&[], Some(Instant::now() + PAUSE)) {
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                _ => return None,
            },
        }
    }
}

pub(super) fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_nodelay(true)
}

/// Signals the end of serving. Every wait also waits for this pipe, whose other end is closed to
/// stop the server.
#[derive(Debug)]
pub(super) struct StopSignal(OwnedFd);

impl StopSignal {
    /// Waits until something has happened to one of the sockets, and returns the events of each.
    /// Fails when the deadline has passed or the server is stopped.
    pub(super) fn wait(
        &self,
        watched: &[(BorrowedFd<'_>, PollFlags)],
        deadline: Option<Instant>,
    ) -> io::Result<Vec<PollFlags>> {
        let mut all = vec![PollFd::new(&self.0, PollFlags::empty())];
        let watched = watched.iter();
        all.extend(watched.map(|&(fd, flags)| PollFd::from_borrowed_fd(fd, flags)));
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut all, left.as_ref()) {
                Ok(0) => return Err(ErrorKind::TimedOut.into()),
                Ok(_) if !all[0].revents().is_empty() => {
                    let stopped = "the sandbox's network was taken down";
                    return Err(io::Error::new(ErrorKind::ConnectionAborted, stopped));
                }
                Ok(_) => return Ok(all[1..].iter().map(PollFd::revents).collect()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
impl StopSignal {
    /// Creates a signal, and the descriptor to drop in order to trigger it.
    pub(super) fn pair() -> (Self, OwnedFd) {
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (Self(stopped), stop)
    }
}
