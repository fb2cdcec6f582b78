//! The first process in a container, until it has received what bubblewrap would have given it: the
//! lifeline as standard input, the limits, the filters and the environment. From then on it behaves
//! like [`inner`](super::inner), but also ends with the shim outside, which bubblewrap takes care
//! of by itself.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Resource, getrlimit};
use rustix::stdio::dup2_stdin;
use serde::{Deserialize, Serialize};

use super::outer::apply_limits;
use super::{Error, inner, system};
use crate::container::options::DOOR;
use crate::policy::{PATH, SandboxPolicy};
use crate::seccomp;

/// The name of the socket in its directory.
pub(super) const SOCKET: &str = "lifeline";

/// The request that the shim outside sends to the one inside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ShimRequest {
    pub(super) policy: SandboxPolicy,
    /// The limit of processes for the user inside, if it counts only those inside.
    pub(super) processes: Option<u64>,
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
}

pub(super) fn run() -> Result<Infallible, Error> {
    let (keeper, lifeline, order) = receive_request().map_err(system("get the lifeline"))?;
    dup2_stdin(lifeline).map_err(system("hold on to the lifeline"))?;
    apply_limits(&order.policy.limits)?;
    // The filters are applied after the connection is made, since they would forbid it.
    let failed = |error| system("filter system calls")(io::Error::other(error));
    seccomp::apply_filters(order.policy.profile).map_err(failed)?;
    let most = getrlimit(Resource::Nproc).maximum;
    let processes = order.processes.into_iter().chain(most).min();
    let mut command = inner::command(&order.program, order.args);
    command
        .env_clear()
        .envs(merge_environment(image_environment(), &order.policy))
        .env("PWD", order.policy.cwd);
    inner::supervise(processes, &order.policy.ports, command, &[keeper.as_fd()])
}

fn receive_request() -> io::Result<(UnixStream, OwnedFd, ShimRequest)> {
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

/// Returns the environment that the engine has set for this process: the image's variables, and
/// some more.
#[expect(
    clippy::disallowed_methods,
    reason = "nobody else has the image's variables"
)]
fn image_environment() -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os()
}

/// Variables that engines add to those of the image.
const ADDED: &[&str] = &["HOSTNAME", "TERM", "container"];

/// Merges the policy's environment into the image's. An image knows best where its programs are:
/// its `PATH` takes the place of the default one.
fn merge_environment(
    image: impl Iterator<Item = (OsString, OsString)>,
    policy: &SandboxPolicy,
) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<_, _> = image.collect();
    all.retain(|name, _| !ADDED.iter().any(|added| name == *added));
    let found = all.get(OsStr::new("PATH")).cloned();
    all.extend(policy.env.clone());
    if let (Some(found), Some(path)) = (found, all.get_mut(OsStr::new("PATH")))
        && let Some(first) = path.as_bytes().strip_suffix(PATH.as_bytes())
    {
        let whole = [first, found.as_bytes()].concat();
        *path = OsString::from_vec(whole);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{SandboxLimits, SandboxProfile};

    fn path(policy: &SandboxPolicy) -> OsString {
        let image = [
            ("PATH", "/opt/tool/bin:/bin"),
            ("TOOL_HOME", "/opt/tool"),
            ("HOME", "/root"),
            ("container", "podman"),
        ];
        let image = image.map(|(name, value)| (name.into(), value.into()));
        let all = merge_environment(image.into_iter(), policy);
        assert_eq!(all[OsStr::new("TOOL_HOME")], "/opt/tool");
        assert_eq!(all[OsStr::new("HOME")], "/home/agent");
        assert!(!all.contains_key(OsStr::new("container")));
        all[OsStr::new("PATH")].clone()
    }

    #[test]
    fn the_images_programs_are_found_after_those_that_were_shown() {
        let mut policy =
            SandboxPolicy::new(SandboxProfile::Worker, Vec::new(), SandboxLimits::default());
        assert_eq!(path(&policy), "/opt/tool/bin:/bin");
        policy.set_env("PATH", format!("/home/me/node/bin:{PATH}"));
        assert_eq!(path(&policy), "/home/me/node/bin:/opt/tool/bin:/bin");
        policy.set_env("PATH", "/only/this");
        assert_eq!(path(&policy), "/only/this");
    }
}
