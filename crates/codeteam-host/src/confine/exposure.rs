//! Checks that confined commands cannot see anything private on this machine, whatever is shown to
//! them.
//!
//! Everything a command sees is listed in its policy; this module checks the policy as a whole
//! before anything starts. `codeteam doctor` and `codeteam run` use the same check.

use std::path::{Path, PathBuf};

use codeteam_sandbox::policy::MIB;
use codeteam_sandbox::{MountEntry, PathKind, SandboxPolicy, credentials};

use super::ConfinementError;

/// Covers private paths inside the parts of the system that every command sees: a checkout may be
/// in `/usr/src`. Anything that must be shown of them can be mounted on top.
pub(super) fn cover_in_system(policy: &mut SandboxPolicy, private: &[PathBuf]) {
    for path in private {
        if shown_by(&policy.root, &policy.entries, path).is_none() {
            continue;
        }
        let target = path.clone();
        policy.entries.push(if path.is_dir() {
            MountEntry::Scratch { target, bytes: MIB }
        } else {
            let kind = PathKind::File;
            MountEntry::Hidden { target, kind }
        });
    }
}

/// Covers credentials in the parts of the system where people install software: in many images the
/// home of cargo is `/usr/local/cargo`.
pub(super) fn cover_credentials_in_system(policy: &mut SandboxPolicy, private: &[PathBuf]) {
    for folder in ["/usr/local", "/usr/etc", "/usr/src"].map(Path::new) {
        let found = credentials_in(folder, folder).into_iter();
        // A private path is covered as a whole, and parts of it may be mounted on top.
        let is_covered = |entry: &MountEntry| {
            let mut private = private.iter();
            private.any(|path| entry.target().starts_with(path))
        };
        policy
            .entries
            .extend(found.filter(|entry| !is_covered(entry)));
    }
}

/// Refuses a policy that shows something private, either in the system or in what is mounted on it.
pub(super) fn check(
    system: &[MountEntry],
    entries: &[MountEntry],
    private: &[PathBuf],
) -> Result<(), ConfinementError> {
    for path in private {
        if let Some(shown) = shown_by(system, entries, path) {
            return Err(ConfinementError::Exposed {
                shown: shown.to_owned(),
                private: path.clone(),
                remedy: "name a smaller folder under `sandbox.toolchains`, or take it out of `PATH`",
            });
        }
    }
    Ok(())
}

/// Refuses caches that would show something private.
pub(super) fn check_caches(
    caches: &[PathBuf],
    private: &[PathBuf],
) -> Result<(), ConfinementError> {
    for cache in caches.iter().filter_map(|path| path.canonicalize().ok()) {
        if let Some(path) = private.iter().find(|path| path.starts_with(&cache)) {
            return Err(ConfinementError::Exposed {
                private: path.clone(),
                shown: cache,
                remedy: "name a smaller folder under `sandbox.caches`",
            });
        }
    }
    Ok(())
}

/// Returns the covers needed when `source` is shown at `target`: one for each file with credentials
/// and each socket to the host found in it.
pub fn credentials_in(source: &Path, target: &Path) -> Vec<MountEntry> {
    let found = credentials::find_paths_to_hide(source);
    let covers = found.into_iter().filter_map(|(path, kind)| {
        let target = target.join(path.strip_prefix(source).ok()?);
        Some(MountEntry::Hidden { target, kind })
    });
    covers.collect()
}

/// Returns the host folder through which a policy shows `path`, if it does.
fn shown_by<'p>(
    root: &'p [MountEntry],
    entries: &'p [MountEntry],
    path: &Path,
) -> Option<&'p Path> {
    let layers: Vec<&MountEntry> = root.iter().chain(entries).collect();
    let shows = |(at, entry): (usize, &&'p MountEntry)| {
        let MountEntry::Bind { source, target, .. } = *entry else {
            return None;
        };
        let inside = target.join(path.strip_prefix(source).ok()?);
        let mut above = layers[at + 1..].iter();
        let is_covered = above.any(|over| inside.starts_with(over.target()));
        (!is_covered).then_some(source.as_path())
    };
    layers.iter().enumerate().find_map(shows)
}

#[cfg(test)]
mod tests {
    use codeteam_sandbox::{MountAccess, SandboxLimits, SandboxProfile};

    use super::*;

    fn policy(root: &[&str], shown: &[&str]) -> SandboxPolicy {
        let bind = |path: &&str| MountEntry::Bind {
            source: path.into(),
            target: path.into(),
            access: MountAccess::ReadOnly,
        };
        let root = root.iter().map(bind).collect();
        let mut policy =
            SandboxPolicy::new(SandboxProfile::Executor, root, SandboxLimits::default());
        policy.entries.extend(shown.iter().map(bind));
        policy
    }

    fn refused(policy: &SandboxPolicy, private: &str) -> Option<String> {
        let checked = check(&policy.root, &policy.entries, &[private.into()]);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_private_is_seen_in_nothing_that_is_shown() {
        let shown = policy(&["/usr"], &["/opt/node", "/srv/project"]);
        let said = refused(&shown, "/srv/project/.git").unwrap();
        assert!(
            said.starts_with(
                "workers and checks would see `/srv/project`, and `/srv/project/.git`"
            ),
            "{said}"
        );
        assert!(refused(&shown, "/srv/project").is_some());
        // Only a part of it is shown, and by name.
        assert_eq!(refused(&shown, "/work"), None);
        assert_eq!(refused(&shown, "/home/ada"), None);
    }

    #[test]
    fn what_is_shown_elsewhere_is_seen_too() {
        let mut shown = policy(&["/usr"], &[]);
        shown.entries.push(MountEntry::Bind {
            source: "/home/ada".into(),
            target: "/opt/tools".into(),
            access: MountAccess::ReadOnly,
        });
        assert!(refused(&shown, "/home/ada/.ssh").is_some());
        shown.hide(Path::new("/opt/tools/.ssh"), PathKind::Directory);
        assert_eq!(refused(&shown, "/home/ada/.ssh"), None);
    }

    #[test]
    fn a_checkout_among_the_systems_own_files_is_covered() {
        let folder = tempfile::tempdir().unwrap();
        let checkout = folder.path().join("src/app");
        std::fs::create_dir_all(&checkout).unwrap();
        let system = folder.path().to_str().unwrap();
        let mut shown = policy(&[system], &[]);
        // Nobody sees the host's `/tmp`, where this is.
        shown.entries.clear();
        let private = checkout.to_str().unwrap();
        assert!(refused(&shown, private).is_some());
        cover_in_system(&mut shown, std::slice::from_ref(&checkout));
        assert_eq!(refused(&shown, private), None);
    }

    #[test]
    fn a_cache_is_not_a_way_to_the_home() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let checked = check_caches(std::slice::from_ref(&home), std::slice::from_ref(&home));
        assert!(
            matches!(checked, Err(ConfinementError::Exposed { .. })),
            "{checked:?}"
        );
    }
}
