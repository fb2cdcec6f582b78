//! Which program of this machine is at the other end of a connection, as Linux tells it.
//!
//! Clients of a revision without sessions have nothing else to be told apart by: names are chosen freely,
//! and connections come and go. A program is known by its process id and the time it started.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A connection of a client.
#[derive(Debug)]
pub struct ClientConnection {
    own: SocketAddr,
    peer: SocketAddr,
    process: OnceLock<Option<PeerProcess>>,
}

/// A process of a client.
///
/// As long as one of these is kept, so is a descriptor of that process, which others of the same user
/// can see: that is how a command finds out that it was started from inside a client.
#[derive(Clone, Debug)]
pub struct PeerProcess {
    pid: u32,
    started: u64,
    _mark: Option<Arc<OwnedFd>>,
}

impl PartialEq for PeerProcess {
    fn eq(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

impl Eq for PeerProcess {}

impl ClientConnection {
    pub(crate) fn new(own: SocketAddr, peer: SocketAddr) -> Self {
        Self {
            own,
            peer,
            process: OnceLock::new(),
        }
    }

    /// The process at the other end; `None` if it cannot be seen: it is another user's, or the port is
    /// forwarded by one. The likely one is looked at first, because looking at all of them takes
    /// milliseconds.
    pub fn process(&self, likely: Option<&PeerProcess>) -> Option<PeerProcess> {
        let found = self.process.get_or_init(|| {
            let inode = inode(self.peer, self.own)?;
            let likely = likely.filter(|process| !process.is_gone() && has(process.pid, inode));
            likely.cloned().or_else(|| PeerProcess::of(owner(inode)?))
        });
        found.clone()
    }
}

impl PeerProcess {
    /// A process that runs.
    pub fn of(pid: u32) -> Option<Self> {
        let started = started(pid)?;
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        // An old kernel has none: the process is known all the same.
        let mark = pidfd_open(raw, PidfdFlags::empty()).ok().map(Arc::new);
        Some(Self {
            pid,
            started,
            _mark: mark,
        })
    }

    /// Whether it has ended.
    pub fn is_gone(&self) -> bool {
        started(self.pid) != Some(self.started)
    }
}

/// When a process started, in ticks since the machine did. What has ended and is not yet collected by
/// its parent is gone.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything.
    let mut rest = text.rsplit_once(')')?.1.split_whitespace();
    let state = rest.next()?;
    rest.nth(18)?.parse().ok().filter(|_| state != "Z")
}

/// The socket of an established connection between these two, from the first one's side.
fn inode(from: SocketAddr, to: SocketAddr) -> Option<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .find_map(|table| in_table(&fs::read_to_string(table).ok()?, from, to))
}

fn in_table(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u64> {
    let is = |text: &str, address: SocketAddr| {
        parse(text).is_some_and(|(ip, port)| {
            ip.to_canonical() == address.ip().to_canonical() && port == address.port()
        })
    };
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote, state, _, _, _, _, _, inode, ..] = fields[..] else {
            return None;
        };
        let found = state == "01" && is(local, from) && is(remote, to);
        inode.parse().ok().filter(|inode| found && *inode != 0)
    })
}

/// An address as the kernel writes it: words of 32 bits in the order of this machine.
fn parse(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = if let Ok(four) = <[u8; 4]>::try_from(bytes.as_slice()) {
        IpAddr::V4(Ipv4Addr::from(four))
    } else {
        IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?))
    };
    Some((ip, port))
}

/// The process that has a socket open.
fn owner(inode: u64) -> Option<u32> {
    let all = fs::read_dir("/proc").ok()?.flatten();
    let mut pids: Vec<u32> = all
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    // Where several share it, the one that had it first.
    pids.sort_unstable();
    pids.into_iter().find(|pid| has(*pid, inode))
}

fn has(pid: u32, inode: u64) -> bool {
    let wanted = PathBuf::from(format!("socket:[{inode}]"));
    let files = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| fs::read_link(file.path()).is_ok_and(|link| link == wanted))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_program_is_found_by_its_connection() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (taken, peer) = listener.accept().unwrap();
            let connection = ClientConnection::new(taken.local_addr().unwrap(), peer);
            let own = PeerProcess::of(std::process::id()).unwrap();
            assert_eq!(connection.process(None), Some(own.clone()), "{address}");
            assert!(!own.is_gone());
            // What was found stays found when the connection is closed.
            drop(stream);
            assert_eq!(connection.process(None), Some(own));
        }
    }

    #[test]
    fn a_connection_of_another_address_is_not_taken_for_it() {
        let table = "  sl  local_address rem_address   st\n   \
            0: 0200007F:C000 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0\n   \
            1: 0100007F:C000 0100007F:1F90 06 00000000:00000000 00:00000000 00000000  1000        0 78 1 0\n   \
            2: 0100007F:C000 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 79 1 0\n";
        let find = |from: &str| {
            let to = "127.0.0.1:8080".parse().unwrap();
            in_table(table, from.parse().unwrap(), to)
        };
        if cfg!(target_endian = "little") {
            assert_eq!(find("127.0.0.1:49152"), Some(79));
            assert_eq!(find("127.0.0.2:49152"), Some(77));
            assert_eq!(find("127.0.0.1:49153"), None);
        }
    }

    #[test]
    fn one_that_never_was_is_gone() {
        let gone = PeerProcess {
            pid: std::process::id(),
            started: 1,
            _mark: None,
        };
        assert!(gone.is_gone());
        assert_eq!(PeerProcess::of(u32::MAX), None);
    }
}
