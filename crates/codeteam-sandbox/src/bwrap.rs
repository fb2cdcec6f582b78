//! Translates a policy into bubblewrap's options.
//!
//! The translation is pure except for file descriptors, which the caller opens. Options are passed
//! to bwrap through a descriptor and not on its command line, which every user of the host can read
//! and which is visible inside.

use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::path::Path;

use crate::policy::{MountAccess, MountEntry, PathKind, SandboxPolicy, UID, entries_underneath};
use crate::seccomp;

/// The source of a file descriptor that the options refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorSource<'a> {
    /// A path of the host, none of whose components is a symbolic link.
    Path(&'a Path),
    /// The contents of a file of the host, to be read. No component of its path is a symbolic link
    /// either.
    Contents(&'a Path),
    /// These bytes.
    Data(&'a [u8]),
}

/// The options that no policy can change: no privileges, nothing shared with the host, and no new
/// namespaces inside.
///
/// Two options of bwrap are missing on purpose. `--die-with-parent` has a moment in which it leaves
/// processes behind for ever; `shim` achieves the same in another way. And with `--as-pid-1` the
/// shim is the init process, so that nothing inside can stop or kill it.
const ALWAYS: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--as-pid-1",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--clearenv",
];

/// Returns the options for `policy`. `fd` opens a descriptor that bwrap will inherit.
pub fn bwrap_options<E>(
    policy: &SandboxPolicy,
    mut fd: impl FnMut(DescriptorSource<'_>) -> Result<RawFd, E>,
) -> Result<Vec<OsString>, E> {
    let mut options = BwrapOptions(ALWAYS.iter().map(OsString::from).collect());
    options.add("--uid", [UID.to_string()]);
    options.add("--gid", [UID.to_string()]);
    for (name, value) in &policy.env {
        options.add("--setenv", [name, value]);
    }
    options.add("--proc", ["/proc"]);
    // To the kernel, the files below belong to the owner of the host's root, and that is the user
    // inside when root starts a sandbox.
    options.add("--ro-bind", ["/proc/sys", "/proc/sys"]);
    options.add("--dev", ["/dev"]);
    let entries = policy.layers();
    for (entry, below) in entries.iter().zip(entries_underneath(&entries)) {
        options.entry(entry, mount_base(entry.target(), below), &mut fd)?;
    }
    // The parts of these two that are in memory have no size limit.
    options.add("--remount-ro", ["/dev"]);
    options.add("--remount-ro", ["/"]);
    options.add("--chdir", [&policy.cwd]);
    for program in seccomp::filter_programs(policy.profile) {
        let program = fd(DescriptorSource::Data(&program))?;
        options.add("--add-seccomp-fd", [program.to_string()]);
    }
    Ok(options.0)
}

/// What a generated file would be placed on.
#[derive(Clone, Copy)]
enum MountBase {
    /// The directory in memory at the root, which is read-only in the end: the file can simply be
    /// written there. Another mount would make bwrap read the list of all mounts once more, which
    /// takes longer the longer the list is.
    Root,
    /// Something else, such as a work tree, where nothing may be written.
    Other,
}

fn mount_base(target: &Path, below: Option<&MountEntry>) -> MountBase {
    let is_taken = ["/proc", "/dev"]
        .iter()
        .any(|path| target.starts_with(path));
    if is_taken || below.is_some() {
        MountBase::Other
    } else {
        MountBase::Root
    }
}

struct BwrapOptions(Vec<OsString>);

impl BwrapOptions {
    fn add<T: AsRef<OsStr>>(&mut self, option: &str, values: impl IntoIterator<Item = T>) {
        self.0.push(option.into());
        let values = values.into_iter().map(|value| value.as_ref().to_owned());
        self.0.extend(values);
    }

    fn entry<E>(
        &mut self,
        entry: &MountEntry,
        ground: MountBase,
        fd: &mut impl FnMut(DescriptorSource<'_>) -> Result<RawFd, E>,
    ) -> Result<(), E> {
        match entry {
            MountEntry::Bind {
                source,
                target,
                access,
            } => {
                let option = match access {
                    MountAccess::ReadOnly => "--ro-bind-fd",
                    MountAccess::Writable => "--bind-fd",
                };
                self.add_descriptor(option, fd(DescriptorSource::Path(source))?, target);
            }
            MountEntry::Scratch { target, bytes } => {
                self.add("--perms", ["0700"]);
                self.add("--size", [bytes.to_string()]);
                self.add("--tmpfs", [target]);
            }
            MountEntry::Copy { source, target } => {
                let contents = fd(DescriptorSource::Contents(source))?;
                self.file(contents, ground, target);
            }
            MountEntry::File { target, text } => {
                let data = fd(DescriptorSource::Data(text.as_bytes()))?;
                self.file(data, ground, target);
            }
            MountEntry::Link { target, to } => self.add("--symlink", [to, target]),
            MountEntry::Hidden { target, kind } => match kind {
                PathKind::File => {
                    let data = fd(DescriptorSource::Data(&[]))?;
                    self.file(data, ground, target);
                }
                PathKind::Directory => {
                    self.add("--perms", ["0555"]);
                    self.add("--tmpfs", [target]);
                    self.add("--remount-ro", [target]);
                }
            },
        }
        Ok(())
    }

    fn file(&mut self, contents: RawFd, ground: MountBase, target: &Path) {
        let option = match ground {
            MountBase::Root => "--file",
            MountBase::Other => "--ro-bind-data",
        };
        self.add("--perms", ["0444"]);
        self.add_descriptor(option, contents, target);
    }

    fn add_descriptor(&mut self, option: &str, fd: RawFd, target: &Path) {
        self.add(option, [OsStr::new(&fd.to_string()), target.as_os_str()]);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use expect_test::expect;

    use super::*;
    use crate::policy::{SandboxLimits, SandboxProfile};

    /// One option a line, descriptors numbered from 10 in the order asked for.
    fn shown(policy: &SandboxPolicy) -> String {
        let mut next = 9;
        let Ok(options) = bwrap_options(policy, |_| {
            next += 1;
            Ok::<_, Infallible>(next)
        });
        let mut text = String::new();
        for option in options {
            let option = option.to_str().unwrap();
            let gap = if option.starts_with("--") { "\n" } else { " " };
            text = text + gap + option;
        }
        text
    }

    #[test]
    fn a_policy_as_options() {
        let root = vec![
            MountEntry::Bind {
                source: "/usr".into(),
                target: "/usr".into(),
                access: MountAccess::ReadOnly,
            },
            MountEntry::Link {
                target: "/bin".into(),
                to: "usr/bin".into(),
            },
            MountEntry::File {
                target: "/etc/passwd".into(),
                text: "agent".into(),
            },
            MountEntry::Copy {
                source: "/etc/ld.so.cache".into(),
                target: "/etc/ld.so.cache".into(),
            },
            MountEntry::Hidden {
                target: "/proc/keys".into(),
                kind: PathKind::File,
            },
        ];
        let mut policy =
            SandboxPolicy::new(SandboxProfile::Executor, root, SandboxLimits::default());
        policy.show(Path::new("/project/tree"), MountAccess::Writable);
        policy.hide(Path::new("/project/tree/.env"), PathKind::File);
        policy.hide(Path::new("/project/tree/internal"), PathKind::Directory);
        policy.cwd = "/project/tree".into();
        expect![[r"

            --unshare-user
            --unshare-pid
            --unshare-net
            --unshare-ipc
            --unshare-uts
            --unshare-cgroup-try
            --disable-userns
            --as-pid-1
            --new-session
            --cap-drop ALL
            --hostname sandbox
            --clearenv
            --uid 1000
            --gid 1000
            --setenv HOME /home/agent
            --setenv LANG C.UTF-8
            --setenv LOGNAME agent
            --setenv PATH /usr/local/bin:/usr/bin:/bin
            --setenv TMPDIR /tmp
            --setenv USER agent
            --proc /proc
            --ro-bind /proc/sys /proc/sys
            --dev /dev
            --ro-bind-fd 10 /usr
            --symlink usr/bin /bin
            --perms 0444
            --file 11 /etc/passwd
            --perms 0444
            --file 12 /etc/ld.so.cache
            --perms 0444
            --ro-bind-data 13 /proc/keys
            --perms 0700
            --size 536870912
            --tmpfs /tmp
            --perms 0700
            --size 536870912
            --tmpfs /dev/shm
            --perms 0700
            --size 536870912
            --tmpfs /home/agent
            --bind-fd 14 /project/tree
            --perms 0444
            --ro-bind-data 15 /project/tree/.env
            --perms 0555
            --tmpfs /project/tree/internal
            --remount-ro /project/tree/internal
            --remount-ro /dev
            --remount-ro /
            --chdir /project/tree
            --add-seccomp-fd 16
            --add-seccomp-fd 17"]]
        .assert_eq(&shown(&policy));
    }

    #[test]
    fn values_are_never_taken_for_options() {
        // bwrap reads as many values as an option has, whatever they look like.
        let mut policy =
            SandboxPolicy::new(SandboxProfile::Worker, Vec::new(), SandboxLimits::default());
        policy.set_env("--bind", "--dev-bind");
        let text = shown(&policy);
        assert!(text.contains("\n--setenv\n--bind\n--dev-bind\n"), "{text}");
    }
}
