//! Binds the ports of the sandbox's loopback that the orchestrator serves.
//!
//! They can be bound only from inside, since the network inside is a separate one; the listeners
//! are sent out over the lifeline, and no copy of them stays here.

use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{Error, system};

/// Formats the ports as one argument, which is empty if there are none.
pub(super) fn format_ports(ports: &[u16]) -> String {
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    ports.join(",")
}

pub(super) fn parse_ports(argument: &OsStr) -> Result<Vec<u16>, Error> {
    let text = argument.to_str().ok_or(Error::Arguments)?;
    text.split(',')
        .filter(|port| !port.is_empty())
        .map(|port| port.parse().map_err(|_| Error::Arguments))
        .collect()
}

/// Announces that the sandbox is ready, in the only message that ever travels on a lifeline, and
/// sends the listeners on the ports along, in their order.
pub(super) fn send_listeners(ports: &[u16], lifeline: BorrowedFd<'_>) -> Result<(), Error> {
    let listeners: Vec<_> = ports
        .iter()
        .map(|&port| {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .map_err(|source| Error::Port { port, source })
        })
        .collect::<Result<_, _>>()?;
    send(&listeners, lifeline).map_err(system("hand the listeners out"))
}

fn send(listeners: &[TcpListener], lifeline: BorrowedFd<'_>) -> io::Result<()> {
    let listeners: Vec<_> = listeners.iter().map(|listener| listener.as_fd()).collect();
    let message = SendAncillaryMessage::ScmRights(&listeners);
    let mut space = vec![MaybeUninit::uninit(); message.size()];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !listeners.is_empty() && !control.push(message) {
        return Err(io::Error::other("there are too many of them"));
    }
    let byte = [IoSlice::new(&[0])];
    sendmsg(lifeline, &byte, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
