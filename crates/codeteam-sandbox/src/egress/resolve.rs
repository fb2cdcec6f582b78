//! Resolves a name to addresses, once.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::pipe::{PipeFlags, pipe_with};

use super::address::is_public;
use super::server::StopSignal;

/// Finds the addresses of a host.
pub trait NameResolver: Send + Sync {
    /// Returns the addresses of a host, the best first.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves names with this host's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = (host, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// The kind of address that a name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameRoute {
    /// A public address of the internet.
    Public,
    /// Only addresses of this host or its networks.
    Private,
    /// No address, with the reason.
    Nowhere(String),
}

/// Resolves a name and classifies its address, waiting no longer than `patience`.
pub fn look_up_name(host: &str, patience: Duration) -> NameRoute {
    let (sender, answer) = mpsc::channel();
    let name = host.to_owned();
    let asked = thread::Builder::new()
        .name("look-up".to_owned())
        .spawn(move || drop(sender.send(SystemResolver.resolve(&name))));
    let found = match asked {
        Err(error) => Err(error),
        Ok(_) => answer
            .recv_timeout(patience)
            .unwrap_or_else(|_| Err(io::Error::other("the resolver gives no answer"))),
    };
    match found {
        Err(error) => NameRoute::Nowhere(error.to_string()),
        Ok(found) if found.is_empty() => NameRoute::Nowhere("it has no address".to_owned()),
        Ok(found) if found.iter().any(|address| is_public(*address)) => NameRoute::Public,
        Ok(_) => NameRoute::Private,
    }
}

/// Resolves a name in a separate thread, the only one that may outlast its proxy: the system's
/// resolver has no timeout and cannot be interrupted. The thread holds no resources.
pub(super) fn resolve(
    resolver: &Arc<dyn NameResolver>,
    host: &str,
    stop: &StopSignal,
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
