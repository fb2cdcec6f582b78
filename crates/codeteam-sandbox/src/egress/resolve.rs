//! From a name to addresses, once.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::pipe::{PipeFlags, pipe_with};

use super::server::Stop;

/// Finds the addresses of a host.
pub trait Resolve: Send + Sync {
    /// Its addresses, the best first.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// What this host uses for names.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Resolve for System {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = (host, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Asks in a thread of its own, which alone may outlast its proxy: the system's
/// resolver can neither be told to hurry nor be interrupted. It holds nothing.
pub(super) fn resolve(
    resolver: &Arc<dyn Resolve>,
    host: &str,
    stop: &Stop,
    deadline: Instant,
) -> io::Result<Vec<IpAddr>> {
    let (ended, running) = pipe_with(PipeFlags::CLOEXEC)?;
    let (sender, answer) = mpsc::channel();
    let (resolver, host) = (Arc::clone(resolver), host.to_owned());
    thread::Builder::new()
        .name("egress-resolve".to_owned())
        .spawn(move || {
            let _ = sender.send(resolver.resolve(&host));
            drop(running);
        })?;
    stop.wait(&[(ended.as_fd(), PollFlags::IN)], Some(deadline))?;
    let silent = |_| Err(io::Error::other("the resolver gave no answer"));
    answer.try_recv().unwrap_or_else(silent)
}
