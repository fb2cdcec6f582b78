//! Finds the program of this machine at the other end of a connection, from what Linux reports.
//!
//! Clients of a protocol revision without sessions cannot be distinguished in any other way: names
//! are chosen freely, and connections come and go. A program is identified by its process id and
//! the time it started.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How often the process at the other end is looked for. The kernel hands out its table of
/// connections in pieces, and one that moves between two pieces is missing from both.
const LOOKUPS: usize = 3;

/// A connection of a client.
#[derive(Debug)]
pub struct ClientConnection {
    own: SocketAddr,
    peer: SocketAddr,
    process: OnceLock<PeerProcess>,
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

    /// Returns the process at the other end, or `None` if it cannot be seen: it belongs to another
    /// user, or another user forwards the port. The likely process is checked first, because
    /// checking all of them takes milliseconds.
    pub fn process(&self, likely: Option<&PeerProcess>) -> Option<PeerProcess> {
        if let Some(found) = self.process.get() {
            return Some(found.clone());
        }
        let found = (0..LOOKUPS).find_map(|_| self.find_process(likely))?;
        Some(self.process.get_or_init(|| found).clone())
    }

    fn find_process(&self, likely: Option<&PeerProcess>) -> Option<PeerProcess> {
        let inode = socket_inode(self.peer, self.own)?;
        let likely =
            likely.filter(|process| !process.is_gone() && holds_socket(process.pid, inode));
        likely
            .cloned()
            .or_else(|| PeerProcess::from_pid(socket_owner(inode)?))
    }
}

impl PeerProcess {
    /// A process that runs.
    pub fn from_pid(pid: u32) -> Option<Self> {
        let started = process_start(pid)?;
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        // An old kernel has none: the process is known all the same.
        let mark = pidfd_open(raw, PidfdFlags::empty()).ok().map(Arc::new);
        Some(Self {
            pid,
            started,
            _mark: mark,
        })
    }

    /// Returns true if the process has ended.
    pub fn is_gone(&self) -> bool {
        process_start(self.pid) != Some(self.started)
    }
}

/// When a process started, in ticks since the machine did. What has ended and is not yet collected by
/// its parent is gone.
fn process_start(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything.
    let mut rest = text.rsplit_once(')')?.1.split_whitespace();
    let state = rest.next()?;
    rest.nth(18)?.parse().ok().filter(|_| state != "Z")
}

/// The socket of an established connection between these two, from the first one's side.
fn socket_inode(from: SocketAddr, to: SocketAddr) -> Option<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .find_map(|table| find_in_table(&fs::read_to_string(table).ok()?, from, to))
}

fn find_in_table(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u64> {
    let is = |text: &str, address: SocketAddr| {
        parse_address(text).is_some_and(|(ip, port)| {
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
fn parse_address(text: &str) -> Option<(IpAddr, u16)> {
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

/// Returns the process that opened a socket. While a process starts another one, both have the
/// socket: the one that started first opened it. Process ids say nothing about that, because the
/// kernel uses them again.
fn socket_owner(inode: u64) -> Option<u32> {
    let all = fs::read_dir("/proc").ok()?.flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holders = pids.filter(|pid| holds_socket(*pid, inode));
    holders
        .filter_map(|pid| Some((process_start(pid)?, pid)))
        .min()
        .map(|(_, pid)| pid)
}

fn holds_socket(pid: u32, inode: u64) -> bool {
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
            let own = PeerProcess::from_pid(std::process::id()).unwrap();
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
            find_in_table(table, from.parse().unwrap(), to)
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
        assert_eq!(PeerProcess::from_pid(u32::MAX), None);
    }
}
