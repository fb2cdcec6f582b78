//! The keeper of a container, outside: starts it, passes the lifeline in, and waits.
//!
//! Unlike bubblewrap, an engine does not pass a socket on to what it starts. So the shim inside
//! connects to this one, once, and receives the lifeline and its request over that connection.
//!
//! The engine is not killed: one that is killed half-way leaves things behind. It runs in its own
//! process group, and whatever happens to the orchestrator or to this process, the shim inside
//! notices and ends, and the engine cleans up. If the shim inside starts too late to find this
//! process, it ends at once.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, exit};
use std::thread::available_parallelism;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, PidfdFlags, Resource, getegid, geteuid, getrlimit, pidfd_open};
use rustix::stdio::dup2_stdin;

use super::contained::{SOCKET, ShimRequest};
use super::outer::{check_no_links, check_paths, open_without_links};
use super::{Error, system};
use crate::container::options::{self, ContainerHost, GeneratedMount};
use crate::container::{ContainerBackend, sweep};
use crate::policy::{MountEntry, SandboxPolicy};
use crate::spec::ShimSpec;

pub(super) fn run(
    room: &Path,
    spec: ShimSpec,
    container: &ContainerBackend,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    let entries: Vec<_> = spec.policy.entries.iter().collect();
    check_paths(&entries, &spec.policy.cwd)?;
    check_sources(&spec.policy)?;
    let mut room = HandoverDirectory::new(room).map_err(system("prepare the container's files"))?;
    let listener = room.listen().map_err(system("listen for the container"))?;
    let host = container_host(container, &spec, &room).map_err(system("look at the host"))?;
    let arguments = options::container_arguments(container, &spec.policy, &host, |what| {
        room.create_mount(what)
    })?;
    // Only in a separate user namespace are the processes inside counted apart from the user's
    // others.
    let processes = spec.policy.limits.processes;
    let order = ShimRequest {
        processes: host.is_rootless.then_some(processes),
        policy: spec.policy,
        program: program.to_owned(),
        args: args.collect(),
    };
    let mut engine = container.engine.command();
    let mut engine = engine
        .args(arguments)
        // The engine's monitor leaves a file there when memory runs out.
        .current_dir(&room.path)
        .process_group(0)
        .spawn()
        .map_err(|source| Error::Start {
            program: container.engine.program.clone(),
            source,
        })?;
    let started = wait_for_start(&listener, &engine)?;
    // Nobody else can connect from here on.
    drop(listener);
    if let EngineStart::Connected(connection) = &started {
        room.close().map_err(system("close the container's door"))?;
        // If the shim inside ends before it has read everything, the engine reports the reason.
        let _ = send_request(connection, &order);
    }
    if let EngineStart::Late = started {
        remove_hung(container, &host.name, &mut engine).map_err(system("end the container"))?;
    }
    // The only remaining end of the lifeline is inside. The connection stays open: the shim inside
    // ends with it.
    let null = File::open("/dev/null").map_err(system("open /dev/null"))?;
    dup2_stdin(null).map_err(system("let go of the lifeline"))?;
    let status = engine.wait().map_err(system("wait for the container"))?;
    drop(room);
    exit(exit_code(status));
}

/// Kills an engine that hangs after all. What it has left by then is removed, by the next sweep at
/// the latest.
fn remove_hung(container: &ContainerBackend, name: &str, engine: &mut Child) -> io::Result<()> {
    engine.kill()?;
    sweep::remove_container(&container.engine, name)
}

/// Returns the exit code as a shell does.
fn exit_code(status: ExitStatus) -> i32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(125)
}

/// Checks that the sources contain no links, because the engine opens them by name.
fn check_sources(policy: &SandboxPolicy) -> Result<(), Error> {
    for entry in &policy.entries {
        if let MountEntry::Bind { source, .. } = entry {
            check_no_links(source)?;
            open_without_links(source).map_err(|error| Error::Path {
                path: source.clone(),
                source: error,
            })?;
        }
    }
    Ok(())
}

fn container_host(
    container: &ContainerBackend,
    spec: &ShimSpec,
    room: &HandoverDirectory,
) -> io::Result<ContainerHost> {
    let owner = sweep::owner_label()?;
    let (_, unique) = owner.split_once('/').unwrap_or_default();
    Ok(ContainerHost {
        name: format!("codeteam-{}", unique.replace('/', "-")),
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
        is_rootless: container.engine.is_rootless(),
        is_limited: container.engine.can_limit(),
        processors: available_parallelism()?.get(),
        open_files: getrlimit(Resource::Nofile).maximum,
        processes: getrlimit(Resource::Nproc).maximum,
        shim: fs::read_link("/proc/self/exe")?,
        entry: spec.entry.clone(),
        socket_dir: room.socket_dir(),
        owner,
    })
}

/// How long an engine may take to start a container that nobody waits for any more.
const PATIENCE: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// The result of starting the engine.
enum EngineStart {
    Connected(UnixStream),
    Ended,
    Late,
}

/// Waits for the shim inside. If it connects after the orchestrator's end, it is still accepted, so
/// that it notices by itself and leaves nothing behind.
fn wait_for_start(listener: &UnixListener, engine: &Child) -> Result<EngineStart, Error> {
    let failed = system("wait for the container's first process");
    let ended = pidfd_open(Pid::from_child(engine), PidfdFlags::empty()).map_err(&failed)?;
    let lifeline = io::stdin();
    let mut watched = [
        PollFd::new(listener, PollFlags::IN),
        PollFd::new(&ended, PollFlags::IN),
        PollFd::new(&lifeline, PollFlags::empty()),
    ];
    retry_on_intr(|| poll(&mut watched, None)).map_err(&failed)?;
    if !watched[2].revents().is_empty() {
        retry_on_intr(|| poll(&mut watched[..2], Some(&PATIENCE))).map_err(&failed)?;
    }
    if !watched[0].revents().is_empty() {
        let (connection, _) = listener.accept().map_err(system("let the container in"))?;
        return Ok(EngineStart::Connected(connection));
    }
    if watched[1].revents().is_empty() {
        return Ok(EngineStart::Late);
    }
    Ok(EngineStart::Ended)
}

/// Sends the lifeline along with the first byte, a space; the request follows.
fn send_request(mut connection: &UnixStream, order: &ShimRequest) -> io::Result<()> {
    let stdin = io::stdin();
    let lifeline = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&lifeline)) {
        return Err(Errno::NOBUFS.into());
    }
    let first = [IoSlice::new(b" ")];
    retry_on_intr(|| sendmsg(connection, &first, &mut ancillary, SendFlags::NOSIGNAL))?;
    connection.write_all(&serde_json::to_vec(order)?)?;
    connection.shutdown(Shutdown::Write)
}

/// A directory that only the caller can enter, with what the container gets in addition to the
/// host's own files. It is removed with everything in it.
struct HandoverDirectory {
    path: PathBuf,
    made: u32,
}

impl HandoverDirectory {
    fn new(path: &Path) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(path)?;
        let room = Self {
            path: path.canonicalize()?,
            made: 0,
        };
        fs::create_dir(room.socket_dir())?;
        Ok(room)
    }

    fn socket_dir(&self) -> PathBuf {
        self.path.join("door")
    }

    /// Listens on the socket. The name of a socket has at most 108 bytes, so its directory is
    /// addressed through a descriptor. Whoever can see the socket may connect: that is only the
    /// container.
    fn listen(&self) -> io::Result<UnixListener> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let door = open(self.socket_dir(), flags, Mode::empty())?;
        let socket = format!("/proc/self/fd/{}/{SOCKET}", door.as_raw_fd());
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
        fs::set_permissions(self.socket_dir(), Permissions::from_mode(0o755))?;
        Ok(listener)
    }

    fn close(&self) -> io::Result<()> {
        fs::remove_file(self.socket_dir().join(SOCKET))
    }

    fn create_mount(&mut self, what: GeneratedMount<'_>) -> io::Result<PathBuf> {
        self.made += 1;
        let path = self.path.join(self.made.to_string());
        match what {
            GeneratedMount::File(text) => {
                fs::write(&path, text)?;
                fs::set_permissions(&path, Permissions::from_mode(0o444))?;
            }
            GeneratedMount::Directory => {
                fs::create_dir(&path)?;
                fs::set_permissions(&path, Permissions::from_mode(0o555))?;
            }
        }
        Ok(path)
    }
}

impl Drop for HandoverDirectory {
    fn drop(&mut self) {
        // If this fails, the orchestrator does it.
        let _ = fs::remove_dir_all(&self.path);
    }
}
