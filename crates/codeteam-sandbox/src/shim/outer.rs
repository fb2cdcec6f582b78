//! Outside: goes from a specification to bubblewrap, in one process.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use rustix::fs::{
    CWD, FileType, MemfdFlags, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, major,
    memfd_create, minor, open, openat2, statvfs,
};
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
use rustix::net::{SocketAddrAny, SocketAddrUnix, getpeername, getsockname};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::thread::{self, UnshareFlags};

use super::{Error, keeper, ports, system};
use crate::MARK;
use crate::bwrap::{self, DescriptorSource};
use crate::policy::{MountEntry, SandboxLimits, SandboxProfile, entries_underneath};
use crate::spec::{INNER, ShimSpec, SpecBackend, handover_path};

/// The path of the shim inside.
const SHIM: &str = "/run/codeteam/shim";

pub(super) fn run(
    path: &Path,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    // This covers whatever the orchestrator has inherited and not marked itself.
    close_fds::set_fds_cloexec(3, &[]);
    check_streams()?;
    let spec = ShimSpec::read_and_remove(path).map_err(|source| Error::Spec {
        path: path.to_owned(),
        source,
    })?;
    if spec.policy.profile == SandboxProfile::Executor && !spec.policy.ports.is_empty() {
        return Err(Error::PortsForExecutor);
    }
    match spec.means.clone() {
        SpecBackend::Bubblewrap { bwrap, cgroups } => {
            bubblewrap(&spec, &bwrap, &cgroups, program, args)
        }
        SpecBackend::Container(container) => {
            keeper::run(&handover_path(path), spec, &container, program, args)
        }
    }
}

fn bubblewrap(
    spec: &ShimSpec,
    bwrap: &Path,
    cgroups: &[PathBuf],
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Result<Infallible, Error> {
    check_paths(&spec.policy.layers(), &spec.policy.cwd)?;
    for path in cgroups {
        fs::write(path, "0").map_err(|source| Error::Cgroup {
            path: path.clone(),
            source,
        })?;
    }
    apply_limits(&spec.policy.limits)?;
    if geteuid().is_root() {
        protect_devices().map_err(system("protect the devices of the host"))?;
    }

    let mut given = InheritedDescriptors(Vec::new());
    let own = open("/proc/self/exe", OFlags::PATH, Mode::empty())
        .map_err(system("open the shim's own program"))?;
    let own = given.inherit(own);
    let options = bwrap::bwrap_options(&spec.policy, |source| given.open(source))?;
    // The shim comes first, so that nothing of the policy can be below it.
    let shim = ["--ro-bind-fd".into(), own.to_string().into(), SHIM.into()];
    let mut bytes = Vec::new();
    for option in shim.iter().chain(&options) {
        bytes.extend_from_slice(option.as_bytes());
        bytes.push(0);
    }
    let options = given.open(DescriptorSource::Data(&bytes))?;
    Err(become_bwrap(spec, bwrap, options, program, args))
}

#[expect(
    clippy::disallowed_methods,
    reason = "no process is spawned: this one becomes bubblewrap"
)]
fn become_bwrap(
    spec: &ShimSpec,
    bwrap: &Path,
    options: RawFd,
    program: &OsStr,
    args: impl Iterator<Item = OsString>,
) -> Error {
    let source = Command::new(bwrap)
        .env_clear()
        .envs(mark_variable())
        .arg("--args")
        .arg(options.to_string())
        .args(["--", SHIM])
        .args(&spec.entry)
        .arg(INNER)
        .arg(spec.policy.limits.processes.to_string())
        .arg(ports::format_ports(&spec.policy.ports))
        .arg(program)
        .args(args)
        .exec();
    Error::Start {
        program: bwrap.to_owned(),
        source,
    }
}

/// Returns the mark, the only variable that bubblewrap keeps outside: an orchestrator that takes
/// over from one that hangs uses it to find the process.
#[expect(clippy::disallowed_methods, reason = "nobody else can pass it on")]
fn mark_variable() -> Option<(&'static str, OsString)> {
    Some((MARK, std::env::var_os(MARK)?))
}

/// The devices that bwrap binds into the `/dev` of a command.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// Makes the host's devices read-only for bwrap. The devices inside are those of the host, and when
/// root starts a sandbox the user inside owns them: `chmod 0 /dev/null` would affect everybody. So
/// bwrap gets a view of the host in which they are mounted read-only, which does not keep anyone
/// from reading and writing them. bwrap itself cannot do this: what it makes read-only is no longer
/// a device.
///
/// Usually all of them are in one mount, so one remount is enough; bwrap reads the list of mounts
/// so often that six more would be noticeable.
#[expect(
    deprecated,
    reason = "it is unsafe only for descriptor tables, and there is one thread"
)]
fn protect_devices() -> rustix::io::Result<()> {
    thread::unshare(UnshareFlags::NEWNS)?;
    // This works if `/dev` is a mount; whether it helped is checked below.
    let _ = make_read_only("/dev");
    let mut others = Vec::new();
    for &device in DEVICES {
        if !statvfs(device)?.f_flag.contains(StatVfsMountFlags::RDONLY) {
            others.push(device);
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    for device in others {
        mount_bind(device, device)?;
        make_read_only(device)?;
    }
    Ok(())
}

/// Makes a mount read-only, in this namespace alone.
fn make_read_only(mount: &str) -> rustix::io::Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    mount_remount(mount, flags, c"")
}

/// Checks the standard streams: standard input must be the lifeline, the others must lead to a
/// reader or nowhere.
fn check_streams() -> Result<(), Error> {
    const WANTED: &str = "a pipe, one of a pair of sockets, or /dev/null";
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    check_stream(stdin.as_fd(), "a lifeline", |kind, _| {
        kind == FileType::Socket
    })?;
    for stream in [stdout.as_fd(), stderr.as_fd()] {
        check_stream(stream, WANTED, |kind, is_null| match kind {
            FileType::Fifo => true,
            FileType::Socket => is_of_a_pair(stream),
            _ => is_null,
        })?;
    }
    Ok(())
}

/// Returns true if a socket was created together with its only peer, and so leads nowhere else.
fn is_of_a_pair(socket: BorrowedFd<'_>) -> bool {
    let is_unnamed = |address: SocketAddrAny| {
        SocketAddrUnix::try_from(address).is_ok_and(|unix| {
            let name = unix.abstract_name().unwrap_or_default();
            unix.path_bytes().is_none() && name.is_empty()
        })
    };
    let peer = getpeername(socket).ok().flatten();
    getsockname(socket).is_ok_and(is_unnamed) && peer.is_none_or(is_unnamed)
}

fn check_stream(
    stream: BorrowedFd<'_>,
    wanted: &'static str,
    accept: impl Fn(FileType, bool) -> bool,
) -> Result<(), Error> {
    let stat = fstat(stream).map_err(system("look at the standard streams"))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let device = (major(stat.st_rdev), minor(stat.st_rdev));
    if accept(kind, kind == FileType::CharacterDevice && device == (1, 3)) {
        return Ok(());
    }
    let fd = stream.as_raw_fd();
    Err(Error::Stream { fd, wanted })
}

/// Checks the paths of the policy. bwrap and the engines resolve mount points by name. Where others
/// control the contents of a directory, the name must lead to exactly that place: no symbolic
/// links, and nothing is created.
pub(super) fn check_paths(entries: &[&MountEntry], cwd: &Path) -> Result<(), Error> {
    for (entry, below) in entries.iter().zip(entries_underneath(entries)) {
        let target = entry.target();
        check_no_links(target)?;
        if let Some(MountEntry::Bind {
            source,
            target: base,
            ..
        }) = below
            && let Ok(rest) = target.strip_prefix(base)
        {
            let path = source.join(rest);
            open_without_links(&path).map_err(|source| Error::Cover { path, source })?;
        }
    }
    check_no_links(cwd)
}

pub(super) fn check_no_links(path: &Path) -> Result<(), Error> {
    let mut components = path.components();
    let is_plain = components.next() == Some(Component::RootDir)
        && components.all(|component| matches!(component, Component::Normal(_)));
    if is_plain {
        return Ok(());
    }
    Err(Error::NotPlain {
        path: path.to_owned(),
    })
}

/// Applies all limits except the number of processes, which has another meaning outside.
pub(super) fn apply_limits(limits: &SandboxLimits) -> Result<(), Error> {
    let all = [
        (Resource::Core, 0),
        (Resource::As, limits.address_space),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files),
    ];
    for (resource, wanted) in all {
        // The limit is never above the caller's own; only root could raise it.
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = Some(wanted.min(most));
        let limit = Rlimit {
            current: value,
            maximum: value,
        };
        setrlimit(resource, limit).map_err(system("set the limits"))?;
    }
    Ok(())
}

/// The descriptors that bubblewrap inherits. They are never closed here.
struct InheritedDescriptors(Vec<OwnedFd>);

impl InheritedDescriptors {
    fn inherit(&mut self, fd: OwnedFd) -> RawFd {
        let number = fd.as_raw_fd();
        self.0.push(fd);
        number
    }

    fn open(&mut self, source: DescriptorSource<'_>) -> Result<RawFd, Error> {
        let fd = match source {
            DescriptorSource::Path(path) => open_inherited(path, OFlags::PATH)?,
            DescriptorSource::Contents(path) => open_inherited(path, OFlags::RDONLY)?,
            DescriptorSource::Data([]) => open_inherited("/dev/null".as_ref(), OFlags::RDONLY)?,
            DescriptorSource::Data(bytes) => {
                in_memory(bytes).map_err(system("pass data to bubblewrap"))?
            }
        };
        Ok(self.inherit(fd))
    }
}

fn open_inherited(path: &Path, flags: OFlags) -> Result<OwnedFd, Error> {
    check_no_links(path)?;
    open_as(path, flags).map_err(|source| Error::Path {
        path: path.to_owned(),
        source,
    })
}

/// Opens a path none of whose components is a symbolic link.
pub(super) fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    open_as(path, OFlags::PATH)
}

fn open_as(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(CWD, path, flags, Mode::empty(), how)?)
}

fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = File::from(memfd_create("codeteam", MemfdFlags::empty())?);
    // This does not move the position from which the reader will start.
    file.write_all_at(bytes, 0)?;
    Ok(file.into())
}
