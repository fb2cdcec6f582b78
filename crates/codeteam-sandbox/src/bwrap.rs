//! The words of bubblewrap: a policy as its options.
//!
//! Pure but for the file descriptors, which are asked for. Options go to bwrap
//! through a descriptor and not on its command line, which every user of the
//! host can read and which is visible inside.

use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::path::Path;

use crate::policy::{Access, Entry, Kind, Policy, UID, grounds};
use crate::seccomp;

/// What the options refer to by a file descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// A path of the host, none of whose components is a symbolic link.
    Path(&'a Path),
    /// What a file of the host says, to be read. The same is true of its path.
    Contents(&'a Path),
    /// These bytes.
    Data(&'a [u8]),
}

/// What no policy can change: no privileges, nothing shared with the host, no
/// namespaces of its own.
///
/// Two options of bwrap are missing on purpose. `--die-with-parent` has a
/// moment in which it leaves processes behind for ever; see `shim`, which does
/// it otherwise. And with `--as-pid-1` the shim is the init process, so that
/// nothing inside can stop or kill it.
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

/// The options for `policy`. `fd` opens what is referred to by a descriptor
/// that bwrap will inherit.
pub fn options<E>(
    policy: &Policy,
    mut fd: impl FnMut(Source<'_>) -> Result<RawFd, E>,
) -> Result<Vec<OsString>, E> {
    let mut options = Options(ALWAYS.iter().map(OsString::from).collect());
    options.add("--uid", [UID.to_string()]);
    options.add("--gid", [UID.to_string()]);
    for (name, value) in &policy.env {
        options.add("--setenv", [name, value]);
    }
    options.add("--proc", ["/proc"]);
    // To the kernel the files below belong to whoever owns the host's root, and
    // that is the user inside when root starts a sandbox.
    options.add("--ro-bind", ["/proc/sys", "/proc/sys"]);
    options.add("--dev", ["/dev"]);
    let entries = policy.layers();
    for (entry, below) in entries.iter().zip(grounds(&entries)) {
        options.entry(entry, ground(entry.target(), below), &mut fd)?;
    }
    // What lies below these two in memory has no size limit.
    options.add("--remount-ro", ["/dev"]);
    options.add("--remount-ro", ["/"]);
    options.add("--chdir", [&policy.cwd]);
    for program in seccomp::programs(policy.profile) {
        let program = fd(Source::Data(&program))?;
        options.add("--add-seccomp-fd", [program.to_string()]);
    }
    Ok(options.0)
}

/// What a file of our own would lie on.
#[derive(Clone, Copy)]
enum Ground {
    /// The directory in memory at the root, which is read-only in the end: the
    /// file can simply be put there. A mount more would have bwrap read the list
    /// of all mounts once more, which takes longer the longer it is.
    Root,
    /// Something else, such as a work tree, where nothing may be written.
    Other,
}

fn ground(target: &Path, below: Option<&Entry>) -> Ground {
    let is_taken = ["/proc", "/dev"]
        .iter()
        .any(|path| target.starts_with(path));
    if is_taken || below.is_some() {
        Ground::Other
    } else {
        Ground::Root
    }
}

struct Options(Vec<OsString>);

impl Options {
    fn add<T: AsRef<OsStr>>(&mut self, option: &str, values: impl IntoIterator<Item = T>) {
        self.0.push(option.into());
        let values = values.into_iter().map(|value| value.as_ref().to_owned());
        self.0.extend(values);
    }

    fn entry<E>(
        &mut self,
        entry: &Entry,
        ground: Ground,
        fd: &mut impl FnMut(Source<'_>) -> Result<RawFd, E>,
    ) -> Result<(), E> {
        match entry {
            Entry::Bind {
                source,
                target,
                access,
            } => {
                let option = match access {
                    Access::ReadOnly => "--ro-bind-fd",
                    Access::Writable => "--bind-fd",
                };
                self.on(option, fd(Source::Path(source))?, target);
            }
            Entry::Scratch { target, bytes } => {
                self.add("--perms", ["0700"]);
                self.add("--size", [bytes.to_string()]);
                self.add("--tmpfs", [target]);
            }
            Entry::Copy { source, target } => {
                let contents = fd(Source::Contents(source))?;
                self.file(contents, ground, target);
            }
            Entry::File { target, text } => {
                let data = fd(Source::Data(text.as_bytes()))?;
                self.file(data, ground, target);
            }
            Entry::Link { target, to } => self.add("--symlink", [to, target]),
            Entry::Hidden { target, kind } => match kind {
                Kind::File => {
                    let data = fd(Source::Data(&[]))?;
                    self.file(data, ground, target);
                }
                Kind::Directory => {
                    self.add("--perms", ["0555"]);
                    self.add("--tmpfs", [target]);
                    self.add("--remount-ro", [target]);
                }
            },
        }
        Ok(())
    }

    fn file(&mut self, contents: RawFd, ground: Ground, target: &Path) {
        let option = match ground {
            Ground::Root => "--file",
            Ground::Other => "--ro-bind-data",
        };
        self.add("--perms", ["0444"]);
        self.on(option, contents, target);
    }

    fn on(&mut self, option: &str, fd: RawFd, target: &Path) {
        self.add(option, [OsStr::new(&fd.to_string()), target.as_os_str()]);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use expect_test::expect;

    use super::*;
    use crate::policy::{Limits, Profile};

    /// One option a line, descriptors numbered from 10 in the order asked for.
    fn shown(policy: &Policy) -> String {
        let mut next = 9;
        let Ok(options) = options(policy, |_| {
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
            Entry::Bind {
                source: "/usr".into(),
                target: "/usr".into(),
                access: Access::ReadOnly,
            },
            Entry::Link {
                target: "/bin".into(),
                to: "usr/bin".into(),
            },
            Entry::File {
                target: "/etc/passwd".into(),
                text: "agent".into(),
            },
            Entry::Copy {
                source: "/etc/ld.so.cache".into(),
                target: "/etc/ld.so.cache".into(),
            },
            Entry::Hidden {
                target: "/proc/keys".into(),
                kind: Kind::File,
            },
        ];
        let mut policy = Policy::new(Profile::Executor, root, Limits::default());
        policy.show(Path::new("/project/tree"), Access::Writable);
        policy.hide(Path::new("/project/tree/.env"), Kind::File);
        policy.hide(Path::new("/project/tree/internal"), Kind::Directory);
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
        let mut policy = Policy::new(Profile::Worker, Vec::new(), Limits::default());
        policy.set_env("--bind", "--dev-bind");
        let text = shown(&policy);
        assert!(text.contains("\n--setenv\n--bind\n--dev-bind\n"), "{text}");
    }
}
