//! What confined commands must not see of this machine, whatever they are shown.
//!
//! Everything a command sees is named in its policy; this looks at the policy as a whole before
//! anything starts. `codeteam doctor` and `codeteam run` go by the same answer.

use std::path::{Path, PathBuf};

use codeteam_sandbox::policy::MIB;
use codeteam_sandbox::{MountEntry, PathKind, SandboxPolicy, credentials};

use super::ConfinementError;
use crate::config;
use crate::env::Env;
use crate::git::Repo;

/// What is only the user's: the home as a whole, where keys, configuration and codeteam's own state
/// are, and the repository with its checkout. Worktrees and a repository's objects are shown by name,
/// on top of that.
pub fn private_paths(env: &Env, repo: Option<&Repo>) -> Vec<PathBuf> {
    let home = env.home.iter().flat_map(|home| {
        let inside = [".ssh", ".gnupg", ".aws", ".config", ".profile"];
        let inside = inside.map(|name| home.join(name));
        std::iter::once(home.clone()).chain(inside)
    });
    let state = env.state_home.iter().map(|state| state.join("codeteam"));
    let config = env.config_home.iter().map(|config| config.join("codeteam"));
    let repo = repo
        .iter()
        .flat_map(|repo| [repo.top_level(), repo.common_dir()]);
    let all = home
        .chain(state)
        .chain(config)
        .chain(repo.map(Path::to_owned));
    let mut found: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// Covers what is private in what every command sees of the system: a checkout may be in
/// `/usr/src`. What has to be shown of it can lie on top.
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

/// Covers credentials in the parts of the system that people install things in: the home of cargo is
/// `/usr/local/cargo` in many images.
pub(super) fn cover_credentials_in_system(policy: &mut SandboxPolicy, private: &[PathBuf]) {
    for folder in ["/usr/local", "/usr/etc", "/usr/src"].map(Path::new) {
        let found = credentials_in(folder, folder).into_iter();
        // What is private is covered as a whole, and parts of it may lie on top.
        let is_covered = |entry: &MountEntry| {
            let mut private = private.iter();
            private.any(|path| entry.target().starts_with(path))
        };
        policy
            .entries
            .extend(found.filter(|entry| !is_covered(entry)));
    }
}

/// Refuses what shows something private: the system below, and what lies on it.
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
    config: &config::SandboxConfig,
    env: &Env,
    private: &[PathBuf],
) -> Result<(), ConfinementError> {
    let caches = config.caches.iter();
    let caches = caches.filter_map(|cache| config::absolute(&cache.path, env.home.as_deref()));
    for cache in caches.filter_map(|path| path.canonicalize().ok()) {
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

/// What a cover lies on where a folder is shown that has credentials in it, or doors to the host.
pub(crate) fn credentials_in(source: &Path, target: &Path) -> Vec<MountEntry> {
    let found = credentials::find_below(source);
    let covers = found.into_iter().filter_map(|(path, kind)| {
        let target = target.join(path.strip_prefix(source).ok()?);
        Some(MountEntry::Hidden { target, kind })
    });
    covers.collect()
}

/// The folder of the host that a policy shows a path by, if it does.
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
        let mut env = Env::read();
        env.home = Some(home.clone());
        let text = "caches: [ { path: \"~\" } ]";
        let config: config::SandboxConfig = codeteam_core::yaml::parse("config.yml", text).unwrap();
        let checked = check_caches(&config, &env, &[home]);
        assert!(
            matches!(checked, Err(ConfinementError::Exposed { .. })),
            "{checked:?}"
        );
    }
}
