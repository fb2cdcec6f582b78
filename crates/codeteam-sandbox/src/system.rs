//! Lists what every command sees of this host: its programs and libraries, and the parts of its
//! configuration that they cannot do without.
//!
//! This is an allowlist. `/etc` in particular holds secrets that are readable to the user inside
//! when root starts a sandbox, so single files of it are listed.

use std::fs::{self, DirEntry, File};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::geteuid;

use crate::policy::{self, HOME, MountEntry, PathKind, UID, USER};

/// Directories at the root that are either links into `/usr` or directories like it.
const MERGED: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// The public parts of `/etc`. `/etc/ssl` is not shown as a whole: it has private keys too.
const CONFIGURATION: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates/extracted",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// The number of files that can be written in the time of one mount.
const FEW: usize = 8;

/// The size up to which a file may be sent along with every command.
const SMALL: u64 = 1024;

/// Files that the kernel exposes or lets be written, above all to the owner of the host's root, who
/// is the user inside when root starts a sandbox. (`bwrap` covers what is dangerous to write to.)
pub(crate) const KERNEL: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/fs",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/mtrr",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/vmallocinfo",
];

/// Those of them in which only writing does harm.
const HARMLESS: &[&str] = &["/proc/acpi", "/proc/mtrr"];

/// Returns the bottom layer of a command's filesystem on this host.
pub fn root_entries() -> Vec<MountEntry> {
    let mut entries = Vec::new();
    entries.extend(directory(Path::new("/usr")));
    for path in MERGED.iter().map(Path::new) {
        match fs::read_link(path) {
            Ok(to) => entries.push(MountEntry::Link {
                target: path.to_owned(),
                to,
            }),
            Err(_) => entries.extend(directory(path)),
        }
    }
    for path in CONFIGURATION.iter().map(Path::new) {
        entries.extend(etc_entries(path));
    }
    entries.extend(name_files(UID, UID));
    entries.push(MountEntry::Link {
        target: "/var/tmp".into(),
        to: "/tmp".into(),
    });
    entries.extend(KERNEL.iter().map(Path::new).filter_map(hidden_entry));
    entries
}

/// Returns the files that define names inside: those of the user and of the machine.
pub(crate) fn name_files(uid: u32, gid: u32) -> [MountEntry; 3] {
    let hosts = "127.0.0.1 localhost sandbox\n::1 localhost\n";
    let user = format!("{USER}:x:{uid}:{gid}::{HOME}:/bin/sh\n");
    [
        file("/etc/hosts", hosts.to_owned()),
        file("/etc/passwd", user),
        file("/etc/group", format!("{USER}:x:{gid}:\n")),
    ]
}

/// Shows a part of `/etc` in the cheapest way: a link if the target is visible anyway, a copy for a
/// file.
fn etc_entries(path: &Path) -> Vec<MountEntry> {
    let Ok(source) = path.canonicalize() else {
        return Vec::new();
    };
    let target = path.to_owned();
    if source.starts_with("/usr") {
        return vec![MountEntry::Link { target, to: source }];
    }
    if source.is_file() {
        // If the caller cannot read it, nobody inside could.
        let is_readable = File::open(&source).is_ok();
        let copy = is_readable.then_some(MountEntry::Copy { source, target });
        return copy.into_iter().collect();
    }
    small_files(&source, path).unwrap_or_else(|| {
        vec![MountEntry::Bind {
            source,
            target,
            access: policy::MountAccess::ReadOnly,
        }]
    })
}

/// Returns the files of a directory with their text, if they are few and all of them are small.
/// They are not `Copy` entries: if a file is removed later, commands must still start.
fn small_files(directory: &Path, target: &Path) -> Option<Vec<MountEntry>> {
    let found = fs::read_dir(directory).ok()?.take(FEW + 1);
    let files: Option<Vec<_>> = found
        .map(|entry| file_entry(&entry.ok()?, target))
        .collect();
    files.filter(|files| files.len() <= FEW)
}

fn file_entry(entry: &DirEntry, target: &Path) -> Option<MountEntry> {
    let is_file = entry.file_type().ok()?.is_file();
    let is_small = entry.metadata().ok()?.len() <= SMALL;
    let text = (is_file && is_small).then(|| fs::read_to_string(entry.path()).ok())??;
    let target = target.join(entry.file_name());
    Some(MountEntry::File { target, text })
}

/// Returns true if the caller cannot do anything harmful with the path: then a command, which never
/// has more rights, needs no protection from it.
fn is_unusable(path: &Path) -> bool {
    let can = |what| accessat(CWD, path, what, AtFlags::EACCESS).is_ok();
    let is_harmless = HARMLESS.iter().map(Path::new).any(|public| public == path);
    !geteuid().is_root() && !can(Access::WRITE_OK) && (is_harmless || !can(Access::READ_OK))
}

fn directory(path: &Path) -> Option<MountEntry> {
    path.is_dir().then(|| MountEntry::Bind {
        source: path.to_owned(),
        target: path.to_owned(),
        access: policy::MountAccess::ReadOnly,
    })
}

fn file(target: &str, text: String) -> MountEntry {
    let target = PathBuf::from(target);
    MountEntry::File { target, text }
}

fn hidden_entry(path: &Path) -> Option<MountEntry> {
    if is_unusable(path) {
        return None;
    }
    let kind = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => PathKind::Directory,
        Ok(_) => PathKind::File,
        Err(_) => return None,
    };
    let target = path.to_owned();
    Some(MountEntry::Hidden { target, kind })
}
