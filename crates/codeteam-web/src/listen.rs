//! Finds an address to serve at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use codeteam_http::{Error, LoopbackListener};

/// How often another port is tried.
const TRIES: usize = 20;

/// Listens at a port of both loopback addresses: browsers look for names below `localhost` at either,
/// and another user of this machine must not be able to listen at the other one.
pub(crate) fn listen_at(port: Option<u16>, last: u16) -> Result<Vec<LoopbackListener>, Error> {
    if let Some(port) = port.filter(|port| *port != 0) {
        return listen_at_both(port);
    }
    if last != 0
        && let Ok(listeners) = listen_at_both(last)
    {
        return Ok(listeners);
    }
    let mut tried = listen_at_both(0);
    for _ in 1..TRIES {
        if tried.is_ok() {
            break;
        }
        tried = listen_at_both(0);
    }
    tried
}

fn listen_at_both(port: u16) -> Result<Vec<LoopbackListener>, Error> {
    let v4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let first = LoopbackListener::bind(v4)?;
    let port = first.address().map_or(port, |address| address.port());
    let v6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port);
    match LoopbackListener::bind(v6) {
        Ok(second) => Ok(vec![first, second]),
        // This machine has no such address, so nobody can listen at it.
        Err(Error::Listen { source, .. }) if source.kind() != std::io::ErrorKind::AddrInUse => {
            Ok(vec![first])
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_at_both_addresses_or_not_at_all() {
        let listeners = listen_at(None, 0).unwrap();
        let port = listeners[0].address().unwrap().port();
        assert!(listen_at(Some(port), 0).is_err());
        let other = listen_at(None, port).unwrap();
        assert_ne!(other[0].address().unwrap().port(), port);
        drop(listeners);
        let again = listen_at(None, port).unwrap();
        assert_eq!(again[0].address().unwrap().port(), port);
    }
}
