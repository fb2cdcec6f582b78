//! The first process in a container, until it has what bubblewrap would have
//! given it: the lifeline as standard input, the limits, the filters and the
//! environment. From then on it is [`inner`](super::inner), but also ends with
//! the shim outside, which bubblewrap sees to by itself.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Resource, getrlimit};
use rustix::stdio::dup2_stdin;
use serde::{Deserialize, Serialize};

use super::outer::limit;
use super::{Error, inner, system};
use crate::container::options::DOOR;
use crate::policy::Policy;
use crate::seccomp;

/// The name of the socket in its directory.
pub(super) const SOCKET: &str = "lifeline";

/// What the shim outside tells the one inside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) policy: Policy,
    /// How many processes the user inside may have, where this counts only
    /// those inside.
    pub(super) processes: Option<u64>,
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
}

pub(super) fn run() -> Result<Infallible, Error> {
    let (keeper, lifeline, order) = receive().map_err(system("get the lifeline"))?;
    dup2_stdin(lifeline).map_err(system("hold on to the lifeline"))?;
    limit(&order.policy.limits)?;
    // After the connection, which the command inside could not make.
    let failed = |error| system("filter system calls")(io::Error::other(error));
    seccomp::apply(order.policy.profile).map_err(failed)?;
    let most = getrlimit(Resource::Nproc).maximum;
    let processes = order.processes.into_iter().chain(most).min();
    let mut command = inner::command(&order.program, order.args);
    command
        .env_clear()
        .envs(order.policy.env)
        .env("PWD", order.policy.cwd);
    inner::keep(processes, command, &[keeper.as_fd()])
}

fn receive() -> io::Result<(UnixStream, OwnedFd, Order)> {
    let mut connection = UnixStream::connect(Path::new(DOOR).join(SOCKET))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut first = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let buffers = &mut [IoSliceMut::new(&mut first)];
    recvmsg(&connection, buffers, &mut ancillary, flags)?;
    let mut sent = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    let lifeline = sent.next().ok_or(Errno::CONNRESET)?;
    let mut text = Vec::new();
    connection.read_to_end(&mut text)?;
    Ok((connection, lifeline, serde_json::from_slice(&text)?))
}
