//! Translates a policy into podman's and docker's options for `run`.
//!
//! The translation is pure except for generated files and directories, which the caller creates.
//! The options contain no secrets, since every user of the host can read them: the command, its
//! arguments and its environment reach the shim inside over its connection to the shim outside.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::{ContainerBackend, ContainerEngineKind};
use crate::policy::{self, MountAccess, MountEntry, SandboxLimits, SandboxPolicy};
use crate::system;

/// The role of the shim that is the first process of a container.
pub(crate) const CONTAINED: &str = "contained";

/// The path of the shim inside.
pub(crate) const SHIM: &str = "/run/codeteam/shim";
/// The directory inside with the socket through which the shim inside connects to the shim outside.
pub(crate) const DOOR: &str = "/run/codeteam/door";
/// The label that names the process a container belongs to.
pub(crate) const OWNER: &str = "codeteam.owner";

/// The facts about the host and this particular start that the options contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerHost {
    /// The name of the container.
    pub(crate) name: String,
    /// The label of the process that removes it.
    pub(crate) owner: String,
    /// The caller's user id, which is also the user inside: the files it writes belong to the
    /// caller.
    pub(crate) uid: u32,
    /// The caller's group id.
    pub(crate) gid: u32,
    /// Whether the engine runs without root.
    pub(crate) is_rootless: bool,
    /// Whether the engine can limit memory, processors and processes.
    pub(crate) is_limited: bool,
    /// The number of processors.
    pub(crate) processors: usize,
    /// The caller's own limit of open files.
    pub(crate) open_files: Option<u64>,
    /// The caller's own limit of processes.
    pub(crate) processes: Option<u64>,
    /// The path of the shim's program.
    pub(crate) shim: PathBuf,
    /// The arguments that make it run [`shim::main`](crate::shim::main).
    pub(crate) entry: Vec<String>,
    /// The directory with the socket.
    pub(crate) socket_dir: PathBuf,
}

/// Content to mount that does not exist on the host yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeneratedMount<'a> {
    /// A file with this text.
    File(&'a str),
    /// An empty directory.
    Directory,
}

/// The reason a container engine cannot implement a policy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path contains characters that the engines cannot express.
    #[error(
        "`{}` cannot be mounted into a container: its name has a comma, a colon, a quote or a \
         line break in it; rename it, or use bubblewrap",
        path.display()
    )]
    Name {
        /// The path with those characters.
        path: PathBuf,
    },
    /// The policy contains a symbolic link, which cannot be mounted.
    #[error("`{}` would be a symbolic link, which no container engine can add to an image", path.display())]
    Link {
        /// The path of the link.
        path: PathBuf,
    },
    /// Content to mount could not be written.
    #[error("could not write what is mounted into the container")]
    StandIn(#[from] io::Error),
}

/// The options that no policy can change, for both engines.
const ALWAYS: &[&str] = &[
    "run",
    "--rm",
    "--pull=never",
    "--init=false",
    "--sig-proxy=false",
    "--log-driver=none",
    "--no-healthcheck",
    "--network=none",
    "--ipc=private",
    "--hostname=sandbox",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    // The user's files are not labelled for containers, and must not be.
    "--security-opt=label=disable",
];

/// Options that podman would otherwise take from its configuration, or add by itself. `/dev` is
/// read-only, so that root inside cannot fill it.
const PODMAN: &[&str] = &[
    "--pid=private",
    "--uts=private",
    "--cgroupns=private",
    "--systemd=false",
    "--read-only-tmpfs=false",
    "--image-volume=ignore",
    "--http-proxy=false",
    "--no-hosts",
    "--mount=type=tmpfs,dst=/dev,ro,tmpfs-mode=0755",
    "--mount=type=devpts,dst=/dev/pts",
];

/// The limit of processes, which is podman's own maximum. It is not the command's limit, for which
/// the engine creates a cgroup: this one may count all processes of the user.
const PROCESSES: u64 = 32768;

/// Returns the engine's arguments to run a command under `policy`. `stand_in` creates content to
/// mount that is not on the host.
pub(crate) fn container_arguments(
    container: &ContainerBackend,
    policy: &SandboxPolicy,
    host: &ContainerHost,
    stand_in: impl FnMut(GeneratedMount<'_>) -> io::Result<PathBuf>,
) -> Result<Vec<OsString>, Error> {
    let mut options = ContainerOptions {
        all: ALWAYS.iter().map(OsString::from).collect(),
        stand_in,
    };
    options.add("--name=", &host.name);
    options.add("--label=", format!("{OWNER}={}", host.owner));
    options.add("--user=", format!("{}:{}", host.uid, host.gid));
    if container.engine.kind == ContainerEngineKind::Podman {
        options.all.extend(PODMAN.iter().map(OsString::from));
        options.add("--security-opt=mask=", masked_paths());
        let namespace = if host.is_rootless { "keep-id" } else { "host" };
        options.add("--userns=", namespace);
    }
    options.limits(&policy.limits, host);
    options.entries(policy, host)?;
    options.bind(&host.shim, Path::new(SHIM), MountAccess::ReadOnly)?;
    options.bind(&host.socket_dir, Path::new(DOOR), MountAccess::ReadOnly)?;
    options.add("--workdir=", &policy.cwd);
    options.add("--entrypoint=", SHIM);
    let mut all = options.all;
    all.push(container.image.clone().into());
    all.extend(host.entry.iter().map(OsString::from));
    all.push(CONTAINED.into());
    Ok(all)
}

/// Returns the paths at which the kernel exposes itself to the owner of the host's root, who is the
/// user inside when root starts a container.
fn masked_paths() -> String {
    let mut all = vec!["/sys"];
    all.extend(system::KERNEL);
    all.join(":")
}

struct ContainerOptions<F> {
    all: Vec<OsString>,
    stand_in: F,
}

impl<F: FnMut(GeneratedMount<'_>) -> io::Result<PathBuf>> ContainerOptions<F> {
    fn add(&mut self, option: &str, value: impl AsRef<OsStr>) {
        let mut option = OsString::from(option);
        option.push(value);
        self.all.push(option);
    }

    /// Adds resource limits. Of the limits per process, it sets only those that the engine would
    /// otherwise raise, which its caller may not be allowed to do. The shim inside sets the rest.
    fn limits(&mut self, limits: &SandboxLimits, host: &ContainerHost) {
        let open_files = limits.open_files.min(host.open_files.unwrap_or(u64::MAX));
        self.add("--ulimit=nofile=", format!("{open_files}:{open_files}"));
        let processes = PROCESSES.min(host.processes.unwrap_or(u64::MAX));
        self.add("--ulimit=nproc=", format!("{processes}:{processes}"));
        if host.is_limited {
            self.add("--memory=", limits.memory.to_string());
            self.add("--memory-swap=", limits.memory.to_string());
            self.add("--pids-limit=", limits.processes.to_string());
            // The other half is left to other programs and the person at the machine.
            let processors = (host.processors / 2).max(1);
            self.add("--cpus=", processors.to_string());
        }
    }

    fn entries(&mut self, policy: &SandboxPolicy, host: &ContainerHost) -> Result<(), Error> {
        let other_scratch = MountEntry::Scratch {
            target: "/var/tmp".into(),
            bytes: policy.limits.scratch,
        };
        let mut entries = Vec::from(system::name_files(host.uid, host.gid));
        entries.push(other_scratch);
        entries.extend(policy.entries.iter().cloned());
        for (at, entry) in entries.iter().enumerate() {
            // The engine mounts from the top down, whatever the order: an entry that lies under a
            // later one must not end up on top of it.
            let mut later = entries[at + 1..].iter();
            if !later.any(|later| entry.target().starts_with(later.target())) {
                self.entry(entry)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &MountEntry) -> Result<(), Error> {
        match entry {
            MountEntry::Bind {
                source,
                target,
                access,
            } => self.bind(source, target, *access),
            MountEntry::Copy { source, target } => self.bind(source, target, MountAccess::ReadOnly),
            MountEntry::Scratch { target, bytes } => {
                check_name(target)?;
                self.add("--tmpfs=", target);
                let options = format!(":rw,exec,nosuid,nodev,size={bytes},mode=1777");
                if let Some(last) = self.all.last_mut() {
                    last.push(options);
                }
                Ok(())
            }
            MountEntry::File { target, text } => self.stand_in(GeneratedMount::File(text), target),
            MountEntry::Hidden { target, kind } => {
                let nothing = match kind {
                    policy::PathKind::File => GeneratedMount::File(""),
                    policy::PathKind::Directory => GeneratedMount::Directory,
                };
                self.stand_in(nothing, target)
            }
            MountEntry::Link { target, .. } => Err(Error::Link {
                path: target.clone(),
            }),
        }
    }

    fn stand_in(&mut self, what: GeneratedMount<'_>, target: &Path) -> Result<(), Error> {
        let source = (self.stand_in)(what)?;
        self.bind(&source, target, MountAccess::ReadOnly)
    }

    fn bind(&mut self, source: &Path, target: &Path, access: MountAccess) -> Result<(), Error> {
        check_name(source)?;
        check_name(target)?;
        let mut option = OsString::from("--mount=type=bind,src=");
        option.push(source);
        option.push(",dst=");
        option.push(target);
        if access == MountAccess::ReadOnly {
            option.push(",ro");
        }
        self.all.push(option);
        Ok(())
    }
}

/// Refuses characters at which the engines split their options: commas in a mount, colons in a
/// directory in memory.
fn check_name(path: &Path) -> Result<(), Error> {
    let is_special = |byte: &u8| matches!(byte, b',' | b':' | b'"' | b'\n' | b'\r');
    if path.as_os_str().as_encoded_bytes().iter().any(is_special) {
        return Err(Error::Name {
            path: path.to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::container::ContainerEngine;
    use crate::policy::SandboxProfile;

    fn container(kind: ContainerEngineKind) -> ContainerBackend {
        ContainerBackend {
            engine: ContainerEngine {
                kind,
                program: "/usr/bin/engine".into(),
                runtime: None,
                path: "/usr/bin".into(),
            },
            image: "localhost/codeteam".to_owned(),
        }
    }

    fn host() -> ContainerHost {
        ContainerHost {
            name: "codeteam-7-99".to_owned(),
            owner: "pid:[1]/7/99".to_owned(),
            uid: 1001,
            gid: 100,
            is_rootless: true,
            is_limited: true,
            processors: 4,
            open_files: Some(1024),
            processes: None,
            shim: "/opt/codeteam".into(),
            entry: vec!["sandbox-shim".to_owned()],
            socket_dir: "/state/room/door".into(),
        }
    }

    fn policy() -> SandboxPolicy {
        let root = vec![MountEntry::Link {
            target: "/bin".into(),
            to: "usr/bin".into(),
        }];
        let mut policy =
            SandboxPolicy::new(SandboxProfile::Executor, root, SandboxLimits::default());
        policy.show(Path::new("/project/tree"), MountAccess::Writable);
        policy.show(Path::new("/project/tree/.git"), MountAccess::ReadOnly);
        policy.hide(Path::new("/project/tree/.env"), policy::PathKind::File);
        policy.hide(
            Path::new("/project/tree/internal"),
            policy::PathKind::Directory,
        );
        policy.set_env("TOKEN", "secret");
        policy.cwd = "/project/tree".into();
        policy
    }

    fn shown(
        kind: ContainerEngineKind,
        policy: &SandboxPolicy,
        host: &ContainerHost,
    ) -> Result<String, Error> {
        let mut count = 0;
        let all = container_arguments(&container(kind), policy, host, |_| {
            count += 1;
            Ok(format!("/state/room/{count}").into())
        })?;
        let all: Vec<_> = all.iter().map(|option| option.to_str().unwrap()).collect();
        Ok(all.join("\n"))
    }

    fn check(kind: ContainerEngineKind, wanted: &Expect) {
        wanted.assert_eq(&shown(kind, &policy(), &host()).unwrap());
    }

    #[test]
    fn a_policy_as_options_of_docker() {
        check(
            ContainerEngineKind::Docker,
            &expect![[r"
                run
                --rm
                --pull=never
                --init=false
                --sig-proxy=false
                --log-driver=none
                --no-healthcheck
                --network=none
                --ipc=private
                --hostname=sandbox
                --read-only
                --cap-drop=all
                --security-opt=no-new-privileges
                --security-opt=label=disable
                --name=codeteam-7-99
                --label=codeteam.owner=pid:[1]/7/99
                --user=1001:100
                --ulimit=nofile=1024:1024
                --ulimit=nproc=32768:32768
                --memory=8589934592
                --memory-swap=8589934592
                --pids-limit=1024
                --cpus=2
                --mount=type=bind,src=/state/room/1,dst=/etc/hosts,ro
                --mount=type=bind,src=/state/room/2,dst=/etc/passwd,ro
                --mount=type=bind,src=/state/room/3,dst=/etc/group,ro
                --tmpfs=/var/tmp:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --tmpfs=/tmp:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --tmpfs=/dev/shm:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --tmpfs=/home/agent:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --mount=type=bind,src=/project/tree,dst=/project/tree
                --mount=type=bind,src=/project/tree/.git,dst=/project/tree/.git,ro
                --mount=type=bind,src=/state/room/4,dst=/project/tree/.env,ro
                --mount=type=bind,src=/state/room/5,dst=/project/tree/internal,ro
                --mount=type=bind,src=/opt/codeteam,dst=/run/codeteam/shim,ro
                --mount=type=bind,src=/state/room/door,dst=/run/codeteam/door,ro
                --workdir=/project/tree
                --entrypoint=/run/codeteam/shim
                localhost/codeteam
                sandbox-shim
                contained"]],
        );
    }

    #[test]
    fn podman_is_told_more() {
        check(
            ContainerEngineKind::Podman,
            &expect![[r"
                run
                --rm
                --pull=never
                --init=false
                --sig-proxy=false
                --log-driver=none
                --no-healthcheck
                --network=none
                --ipc=private
                --hostname=sandbox
                --read-only
                --cap-drop=all
                --security-opt=no-new-privileges
                --security-opt=label=disable
                --name=codeteam-7-99
                --label=codeteam.owner=pid:[1]/7/99
                --user=1001:100
                --pid=private
                --uts=private
                --cgroupns=private
                --systemd=false
                --read-only-tmpfs=false
                --image-volume=ignore
                --http-proxy=false
                --no-hosts
                --mount=type=tmpfs,dst=/dev,ro,tmpfs-mode=0755
                --mount=type=devpts,dst=/dev/pts
                --security-opt=mask=/sys:/proc/acpi:/proc/asound:/proc/fs:/proc/kcore:/proc/key-users:/proc/keys:/proc/kmsg:/proc/kpagecgroup:/proc/kpagecount:/proc/kpageflags:/proc/latency_stats:/proc/mtrr:/proc/pressure:/proc/sched_debug:/proc/scsi:/proc/slabinfo:/proc/sysrq-trigger:/proc/timer_list:/proc/vmallocinfo
                --userns=keep-id
                --ulimit=nofile=1024:1024
                --ulimit=nproc=32768:32768
                --memory=8589934592
                --memory-swap=8589934592
                --pids-limit=1024
                --cpus=2
                --mount=type=bind,src=/state/room/1,dst=/etc/hosts,ro
                --mount=type=bind,src=/state/room/2,dst=/etc/passwd,ro
                --mount=type=bind,src=/state/room/3,dst=/etc/group,ro
                --tmpfs=/var/tmp:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --tmpfs=/tmp:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --tmpfs=/dev/shm:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --tmpfs=/home/agent:rw,exec,nosuid,nodev,size=536870912,mode=1777
                --mount=type=bind,src=/project/tree,dst=/project/tree
                --mount=type=bind,src=/project/tree/.git,dst=/project/tree/.git,ro
                --mount=type=bind,src=/state/room/4,dst=/project/tree/.env,ro
                --mount=type=bind,src=/state/room/5,dst=/project/tree/internal,ro
                --mount=type=bind,src=/opt/codeteam,dst=/run/codeteam/shim,ro
                --mount=type=bind,src=/state/room/door,dst=/run/codeteam/door,ro
                --workdir=/project/tree
                --entrypoint=/run/codeteam/shim
                localhost/codeteam
                sandbox-shim
                contained"]],
        );
    }

    #[test]
    fn nothing_secret_is_among_them() {
        let text = shown(ContainerEngineKind::Podman, &policy(), &host()).unwrap();
        assert!(
            !text.contains("TOKEN") && !text.contains("secret"),
            "{text}"
        );
    }

    #[test]
    fn what_a_later_entry_covers_stays_covered() {
        let mut policy = policy();
        policy.hide(Path::new("/project"), policy::PathKind::Directory);
        let text = shown(ContainerEngineKind::Podman, &policy, &host()).unwrap();
        assert!(text.contains(",dst=/project,ro"), "{text}");
        assert!(!text.contains("/project/tree/"), "{text}");
    }

    #[test]
    fn names_that_an_engine_would_take_apart_are_refused() {
        for name in ["/a,ro", "/a:b", "/a\"b", "/a\nb"] {
            let mut policy = policy();
            policy.show(Path::new(name), MountAccess::ReadOnly);
            let error = shown(ContainerEngineKind::Podman, &policy, &host()).unwrap_err();
            assert!(matches!(error, Error::Name { .. }), "{error}");
        }
    }

    #[test]
    fn a_link_is_refused() {
        let mut policy = policy();
        policy.entries.append(&mut policy.root);
        let error = shown(ContainerEngineKind::Docker, &policy, &host()).unwrap_err();
        assert!(error.to_string().contains("`/bin`"), "{error}");
    }
}
