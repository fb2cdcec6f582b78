//! Limits for all processes of a command together, where the host permits it.
//!
//! Root can create cgroups, and so can a user in a systemd session, whose part of the hierarchy is
//! delegated. Elsewhere there are only limits per process (and per user inside, for the number of
//! processes): memory as a whole is then not limited, and [`CgroupHierarchy::enforceable_limits`]
//! reports that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::policy::SandboxLimits;

const PREFIX: &str = "codeteam-";

/// How many times, a millisecond apart, the kernel is asked to remove a cgroup whose last process
/// has just ended.
const PATIENCE: u32 = 100;

/// How long a process that is announced may take until it joins, and how long the kernel is not
/// asked again meanwhile.
const EXPECTED_MS: u64 = 60;
const EXPECTED_PAUSE: Duration = Duration::from_millis(5);

/// Until when processes are expected to join, in milliseconds of this process's clock.
static EXPECTED_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Returns the milliseconds since this was first called, and never zero.
fn now_ms() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let since = BEGUN.get_or_init(Instant::now).elapsed().as_millis();
    u64::try_from(since)
        .unwrap_or(u64::MAX - EXPECTED_MS)
        .max(1)
}

/// Moves this process to the cgroup in which it is. Returns `None` if that is not possible.
fn join_own_cgroup() -> Option<()> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    // The first place is where this process is; others may be one above.
    let place = candidate_parents(&own, &mounts).into_iter().next()?;
    fs::write(
        place.directory.join("cgroup.procs"),
        std::process::id().to_string(),
    )
    .ok()
}

/// The places where cgroups can be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupHierarchy {
    /// One directory for both controllers, or one for each.
    parents: Vec<CgroupParent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CgroupParent {
    directory: PathBuf,
    kind: CgroupController,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupController {
    Unified,
    Pids,
    Memory,
}

/// The limits that a hierarchy can enforce for a command as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnforceableLimits {
    /// Whether the number of processes can be limited.
    pub processes: bool,
    /// Whether their memory can be limited.
    pub memory: bool,
}

impl CgroupHierarchy {
    /// Finds the usable hierarchies by creating a cgroup, and removes leftovers of codeteam
    /// processes that no longer exist.
    pub fn detect() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let found = candidate_parents(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        let mut usable = Self::default();
        for parent in found {
            remove_stale(&parent.directory, Duration::ZERO);
            remove_stale_elsewhere(&parent.directory);
            let alone = Self {
                parents: vec![parent.clone()],
            };
            let (has, adds) = (usable.enforceable_limits(), alone.enforceable_limits());
            let is_new = (adds.processes && !has.processes) || (adds.memory && !has.memory);
            if is_new && alone.create(&SandboxLimits::default()).is_ok() {
                usable.parents.push(parent);
            }
        }
        usable
    }

    /// Returns the limits that can be enforced.
    pub fn enforceable_limits(&self) -> EnforceableLimits {
        let has = |kind| {
            let mut parents = self.parents.iter();
            parents.any(|parent| parent.kind == CgroupController::Unified || parent.kind == kind)
        };
        EnforceableLimits {
            processes: has(CgroupController::Pids),
            memory: has(CgroupController::Memory),
        }
    }

    /// Makes it quick for processes to join cgroups in the next moments. No effect if none can be
    /// created here.
    ///
    /// Whoever joins first after a pause waits for a grace period of the kernel, five to fifteen
    /// milliseconds; whoever follows within such a period does not. So a thread moves this process
    /// to the cgroup where it is already, again and again, while a command is prepared.
    pub fn expect_joining(&self) {
        let until = now_ms() + EXPECTED_MS;
        if self.parents.is_empty() || EXPECTED_UNTIL.fetch_max(until, Ordering::SeqCst) > now_ms() {
            // There is such a thread already.
            return;
        }
        let thread = thread::Builder::new().name("cgroup".to_owned());
        // It only makes something faster.
        let _ = thread.spawn(|| {
            while now_ms() < EXPECTED_UNTIL.load(Ordering::SeqCst) && join_own_cgroup().is_some() {
                thread::sleep(EXPECTED_PAUSE);
            }
            EXPECTED_UNTIL.store(0, Ordering::SeqCst);
        });
    }

    /// Creates a cgroup for one command.
    pub fn create(&self, limits: &SandboxLimits) -> io::Result<Cgroup> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let mut made = Cgroup {
            directories: Vec::new(),
        };
        for parent in &self.parents {
            let directory = parent.directory.join(&name);
            fs::create_dir(&directory)?;
            made.directories.push(directory.clone());
            let set = |file: &str, value: u64| fs::write(directory.join(file), value.to_string());
            match parent.kind {
                CgroupController::Unified => {
                    set("pids.max", limits.processes)?;
                    set("memory.max", limits.memory)?;
                    // Some kernels lack these two; they only make the limits stricter.
                    let _ = set("memory.swap.max", 0);
                    let _ = set("memory.oom.group", 1);
                }
                CgroupController::Pids => set("pids.max", limits.processes)?,
                CgroupController::Memory => {
                    set("memory.limit_in_bytes", limits.memory)?;
                    // This exists only where swap is accounted for.
                    let _ = set("memory.memsw.limit_in_bytes", limits.memory);
                }
            }
        }
        Ok(made)
    }
}

/// The cgroup of one command, in one or two hierarchies. It is removed when dropped, which must be
/// after the command's end.
#[derive(Debug)]
pub struct Cgroup {
    directories: Vec<PathBuf>,
}

impl Cgroup {
    /// Returns the files that a process writes to in order to join.
    pub fn membership_files(&self) -> Vec<PathBuf> {
        let files = self.directories.iter();
        files.map(|path| path.join("cgroup.procs")).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for directory in &self.directories {
            for _ in 0..PATIENCE {
                match fs::remove_dir(directory) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        thread::sleep(Duration::from_millis(1));
                    }
                    // It is gone, or is left to the next start.
                    _ => break,
                }
            }
        }
    }
}

/// Removes leftovers in sessions other than this one.
fn remove_stale_elsewhere(own: &Path) {
    // A process that this one cannot see may be about to use a new cgroup.
    const OLD: Duration = Duration::from_mins(1);
    let siblings = own.parent().map(fs::read_dir);
    for sibling in siblings.into_iter().flatten().flatten().flatten() {
        remove_stale(&sibling.path(), OLD);
    }
}

/// Removes cgroups of processes that no longer exist, if they are at least `age` old. A cgroup that
/// still has members cannot be removed.
fn remove_stale(parent: &Path, age: Duration) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next());
        let is_gone = owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if is_gone && is_older(&entry, age) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn is_older(entry: &fs::DirEntry, age: Duration) -> bool {
    let made = entry.metadata().and_then(|found| found.modified());
    age.is_zero() || made.is_ok_and(|made| made.elapsed().is_ok_and(|since| since >= age))
}

/// Returns where this process may be able to create cgroups, best first, from the text of
/// `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn candidate_parents(own: &str, mounts: &str) -> Vec<CgroupParent> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let mut add = |kind, controller, path: &str| {
            let directory = mounted_directory(mounts, controller, path);
            found.extend(directory.map(|directory| CgroupParent { directory, kind }));
        };
        if controllers.is_empty() {
            add(CgroupController::Unified, None, path);
            // A cgroup that contains processes cannot have limited children, but it may have
            // limited siblings.
            if let Some((parent, _)) = path.trim_end_matches('/').rsplit_once('/') {
                add(CgroupController::Unified, None, parent);
            }
        }
        for controller in controllers.split(',') {
            match controller {
                "pids" => add(CgroupController::Pids, Some("pids"), path),
                "memory" => add(CgroupController::Memory, Some("memory"), path),
                _ => {}
            }
        }
    }
    found.sort_by_key(|parent| parent.kind != CgroupController::Unified);
    found
}

/// Returns the directory of a cgroup if its hierarchy is mounted: the unified one, or the one with
/// this controller.
fn mounted_directory(mounts: &str, controller: Option<&str>, cgroup: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut filesystem = filesystem.split(' ');
        let (kind, options) = (filesystem.next()?, filesystem.nth(1)?);
        let is_it = match controller {
            None => kind == "cgroup2",
            Some(name) => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        let below = cgroup.strip_prefix(root.trim_end_matches('/'))?;
        is_it.then(|| Path::new(point).join(below.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, mounts: &str) -> Vec<String> {
        let show =
            |parent: &CgroupParent| format!("{:?} {}", parent.kind, parent.directory.display());
        candidate_parents(own, mounts).iter().map(show).collect()
    }

    #[test]
    fn the_unified_hierarchy_is_tried_here_and_one_above() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            found("0::/user.slice/app.slice/shell.scope\n", mounts),
            [
                "Unified /sys/fs/cgroup/user.slice/app.slice/shell.scope",
                "Unified /sys/fs/cgroup/user.slice/app.slice",
            ]
        );
        assert_eq!(found("0::/\n", mounts)[0], "Unified /sys/fs/cgroup/");
    }

    #[test]
    fn separate_hierarchies_are_found_by_their_controllers() {
        let mounts = "\
31 30 0:27 / /cg/pids rw - cgroup cgroup rw,pids
32 30 0:28 / /cg/memory rw - cgroup cgroup rw,memory
33 30 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct
";
        let own = "9:name=systemd:/\n8:pids:/a\n4:memory:/b/c\n2:cpu,cpuacct:/\n";
        assert_eq!(
            found(own, mounts),
            ["Pids /cg/pids/a", "Memory /cg/memory/b/c"]
        );
    }

    #[test]
    fn a_part_of_a_hierarchy_may_be_mounted() {
        let mounts = "31 30 0:27 /docker/1 /cg/pids ro - cgroup cgroup rw,pids\n";
        assert_eq!(found("8:pids:/docker/1/x\n", mounts), ["Pids /cg/pids/x"]);
        assert_eq!(found("8:pids:/elsewhere\n", mounts), [""; 0]);
    }

    #[test]
    fn joining_the_own_cgroup_changes_nothing() {
        let own = || fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let before = own();
        // Where it is not allowed, nothing happens either.
        let _ = join_own_cgroup();
        assert_eq!(own(), before);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(found("", ""), [""; 0]);
        assert_eq!(found("nonsense\n::\n", "no mounts"), [""; 0]);
    }
}
