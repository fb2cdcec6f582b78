//! Outside, for a container: starts it, hands the lifeline in, and waits.
//!
//! Unlike bubblewrap, an engine does not pass a socket on to what it starts. So
//! the shim inside connects to this one, once, and is given the lifeline and its
//! orders over that connection.
//!
//! The engine is not killed: one that is killed half-way leaves things behind.
//! It is in a process group of its own, and whatever happens to the orchestrator
//! or to this process, the shim inside notices, ends, and the engine tidies up.
//! If it comes too late to find this process, it ends at once.

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
use super::outer::{check_paths, check_plain, open_plainly};
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
    let host = host(container, &spec, &room).map_err(system("look at the host"))?;
    let arguments = options::arguments(container, &spec.policy, &host, |what| room.make(what))?;
    // Only in a user namespace of its own are the processes inside counted
    // apart from the user's others.
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
        // Its monitor leaves a file there when memory runs out.
        .current_dir(&room.path)
        .process_group(0)
        .spawn()
        .map_err(|source| Error::Start {
            program: container.engine.program.clone(),
            source,
        })?;
    let started = wait_for_start(&listener, &engine)?;
    // Nobody else can come in.
    drop(listener);
    if let EngineStart::Connected(connection) = &started {
        room.close().map_err(system("close the container's door"))?;
        // One that ends before it has heard everything has its reasons, which
        // the engine will tell.
        let _ = hand_over(connection, &order);
    }
    if let EngineStart::Late = started {
        give_up(container, &host.name, &mut engine).map_err(system("end the container"))?;
    }
    // What remains of the lifeline is inside. The connection stays open: the
    // shim inside ends with it.
    let null = File::open("/dev/null").map_err(system("open /dev/null"))?;
    dup2_stdin(null).map_err(system("let go of the lifeline"))?;
    let status = engine.wait().map_err(system("wait for the container"))?;
    drop(room);
    exit(code(status));
}

/// An engine that hangs is killed after all. What it has left by then is
/// removed, by the next sweep at the latest.
fn give_up(container: &ContainerBackend, name: &str, engine: &mut Child) -> io::Result<()> {
    engine.kill()?;
    sweep::remove(&container.engine, name)
}

/// As a shell says it.
fn code(status: ExitStatus) -> i32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(125)
}

/// The engine opens what it mounts by name.
fn check_sources(policy: &SandboxPolicy) -> Result<(), Error> {
    for entry in &policy.entries {
        if let MountEntry::Bind { source, .. } = entry {
            check_plain(source)?;
            open_plainly(source).map_err(|error| Error::Path {
                path: source.clone(),
                source: error,
            })?;
        }
    }
    Ok(())
}

fn host(
    container: &ContainerBackend,
    spec: &ShimSpec,
    room: &HandoverDirectory,
) -> io::Result<ContainerHost> {
    let owner = sweep::owner()?;
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
        door: room.door(),
        owner,
    })
}

/// How long an engine may take to start what nobody waits for any more.
const PATIENCE: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// How an engine's start ended.
enum EngineStart {
    Connected(UnixStream),
    Ended,
    Late,
}

/// Waits for the shim inside. One that comes after the orchestrator's end is
/// still let in, to find that out by itself and so to leave nothing behind.
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

/// The lifeline goes along with the first byte, a space; the orders follow.
fn hand_over(mut connection: &UnixStream, order: &ShimRequest) -> io::Result<()> {
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

/// A directory that only the caller can enter, with what the container is given
/// besides the host's own files. Removed with everything in it.
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
        fs::create_dir(room.door())?;
        Ok(room)
    }

    fn door(&self) -> PathBuf {
        self.path.join("door")
    }

    /// The name of a socket has at most 108 bytes, so its directory is named by
    /// a descriptor. Whoever can see it may connect: that is only the container.
    fn listen(&self) -> io::Result<UnixListener> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let door = open(self.door(), flags, Mode::empty())?;
        let socket = format!("/proc/self/fd/{}/{SOCKET}", door.as_raw_fd());
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
        fs::set_permissions(self.door(), Permissions::from_mode(0o755))?;
        Ok(listener)
    }

    fn close(&self) -> io::Result<()> {
        fs::remove_file(self.door().join(SOCKET))
    }

    fn make(&mut self, what: GeneratedMount<'_>) -> io::Result<PathBuf> {
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
        // Otherwise the orchestrator does it.
        let _ = fs::remove_dir_all(&self.path);
    }
}
