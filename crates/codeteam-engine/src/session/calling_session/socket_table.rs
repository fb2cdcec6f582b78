//! Reads from Linux which processes on this machine are connected to each other.
//!
//! A server over HTTP is not a child of its clients: each of them has a connection to the port that
//! it listens on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The TCP sockets of this machine that matter here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SocketTable {
    /// Listening sockets (by inode) and their ports.
    listening: Vec<(u64, u16)>,
    /// Connected sockets (by inode) and the ports they are connected to.
    connected: Vec<(u64, u16)>,
}

impl SocketTable {
    /// Reads the current sockets; the table is empty where that is not possible.
    pub(super) fn read_sockets() -> Self {
        let mut wires = Self::default();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            wires.read(&fs::read_to_string(table).unwrap_or_default());
        }
        wires
    }

    fn read(&mut self, table: &str) {
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, remote, state, _, _, _, _, _, inode, ..] = fields[..] else {
                continue;
            };
            let Ok(inode) = inode.parse() else { continue };
            match (state, port(local), port(remote)) {
                ("0A", Some(port), _) => self.listening.push((inode, port)),
                ("01", _, Some(port)) => self.connected.push((inode, port)),
                _ => {}
            }
        }
    }

    /// Returns the ports on which a process with these sockets listens.
    pub(super) fn ports(&self, sockets: &BTreeSet<u64>) -> BTreeSet<u16> {
        let own = self.listening.iter().filter(|(i, _)| sockets.contains(i));
        own.map(|(_, port)| *port).collect()
    }

    /// Returns true if a process with these sockets is connected to one of these ports.
    pub(super) fn is_connected_to(&self, ports: &BTreeSet<u16>, sockets: &BTreeSet<u64>) -> bool {
        let mut own = self.connected.iter().filter(|(i, _)| sockets.contains(i));
        own.any(|(_, port)| ports.contains(port))
    }
}

/// Parses the port of an address as the kernel writes it.
fn port(address: &str) -> Option<u16> {
    u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok()
}

/// Returns the sockets that a process has open; none if the process is another user's.
pub(super) fn sockets(pid: u32) -> BTreeSet<u64> {
    let files = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd"));
    let files = files.into_iter().flatten().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links
        .filter_map(|link| {
            let link = link.to_str()?.strip_prefix("socket:[")?;
            link.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

/// Returns the processes for which an HTTP server keeps pid file descriptors: those of its clients,
/// whether they are connected at the moment or not.
pub(super) fn known_clients(server: u32) -> BTreeSet<u32> {
    let files = fs::read_dir(Path::new("/proc").join(server.to_string()).join("fdinfo"));
    let files = files.into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts
        .filter_map(|text| {
            let mut lines = text.lines();
            let pid = lines.find_map(|line| line.strip_prefix("Pid:"))?;
            // The kernel reports a process that has ended as -1.
            pid.trim().parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        let mut wires = SocketTable::default();
        wires.read(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 77 1 0 100\n   \
             1: 0100007F:C000 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 78 1 0 20\n   \
             2: 0100007F:C001 0100007F:1F90 06 00000000:00000000 00:00000000 00000000  1000        0 0 3 0\n\
             nonsense\n",
        );
        let (server, client) = (BTreeSet::from([77]), BTreeSet::from([78, 5]));
        let ports = wires.ports(&server);
        assert_eq!(ports, BTreeSet::from([8080]));
        assert!(wires.is_connected_to(&ports, &client));
        assert!(!wires.is_connected_to(&ports, &server));
        assert!(!wires.is_connected_to(&BTreeSet::from([8081]), &client));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_found_by_the_descriptor_that_is_kept_of_it() {
        use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
        let parent = getppid().unwrap();
        let own = std::process::id();
        let _kept = pidfd_open(parent, PidfdFlags::empty()).unwrap();
        let parent = u32::try_from(Pid::as_raw(Some(parent))).unwrap();
        assert!(known_clients(own).contains(&parent));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_found_by_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = sockets(std::process::id());
        let ports = SocketTable::read_sockets().ports(&own);
        let port = listener.local_addr().unwrap().port();
        assert!(ports.contains(&port));
        let only = BTreeSet::from([port]);
        let before =
            SocketTable::read_sockets().is_connected_to(&only, &sockets(std::process::id()));
        let _stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let after =
            SocketTable::read_sockets().is_connected_to(&only, &sockets(std::process::id()));
        assert_eq!((before, after), (false, true));
    }
}
