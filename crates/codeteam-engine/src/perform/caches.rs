//! Gives confined commands access to the user's caches, as configured.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::TryLockError;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime};

use codeteam_sandbox::{MountAccess, MountEntry, credentials, policy};

use super::{Error, Job, JobKind};
use crate::config::{CacheConfig, CacheMode, expand_home};
use crate::engine::Engine;
use codeteam_host::confine::credentials_in;
use codeteam_host::limited_io::copy_file;
use codeteam_host::process::{HostView, WaitLimit};

/// The longest time that copying a cache may take.
const COPYING: Duration = Duration::from_mins(10);

/// The interval at which somebody who waits for another copy looks again.
const POLL: Duration = Duration::from_millis(50);

/// Shows the configured caches. Caches that the user does not have are left out.
pub(super) fn show_caches(view: &mut HostView, job: &Job, engine: &Engine) -> Result<(), Error> {
    let home = engine.env.home.as_deref();
    for cache in &job.gate_config(engine)?.sandbox.caches {
        let found = expand_home(&cache.path, home).and_then(|path| path.canonicalize().ok());
        let Some(path) = found else {
            continue;
        };
        let target = place(cache, &path, home);
        let (source, access) = match cache.mode {
            CacheMode::ReadOnly => (path, MountAccess::ReadOnly),
            CacheMode::Copy => (own_copy(&path, job, engine)?, MountAccess::Writable),
        };
        let covered = match cache.mode {
            CacheMode::ReadOnly => credentials_in(&source, &target),
            // Credentials were not copied, so there is nothing to cover.
            CacheMode::Copy => Vec::new(),
        };
        view.entries.push(MountEntry::Bind {
            source,
            target,
            access,
        });
        view.entries.extend(covered);
    }
    Ok(())
}

/// Returns the path at which a cache appears: a path below the user's home appears below the
/// private one.
fn place(cache: &CacheConfig, path: &Path, home: Option<&Path>) -> PathBuf {
    let below = cache.path.strip_prefix("~").ok().map(Path::to_owned);
    let below = below.or_else(|| Some(cache.path.strip_prefix(home?).ok()?.to_owned()));
    match below {
        Some(rest) => Path::new(policy::HOME).join(rest),
        None => path.to_owned(),
    }
}

/// Returns the run's copy of a cache, creating it if necessary. Checks have a copy of their own, so
/// that a worker cannot plant anything in it for them.
fn own_copy(path: &Path, job: &Job, engine: &Engine) -> Result<PathBuf, Error> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _limit = WaitLimit::limit_to(COPYING);
    let failed = |source| Error::Io {
        doing: "copy the cache",
        path: path.to_owned(),
        source,
    };
    let _alone = wait_for_turn(&ALONE).map_err(failed)?;
    let folder = copies_folder(job, engine);
    let name = blake3::hash(path.as_os_str().as_encoded_bytes());
    let copy = folder.join(&name.to_hex()[..16]);
    if copy.exists() {
        return Ok(copy);
    }
    let half = copy.with_extension("half");
    let made = remove(&half)
        .and_then(|()| fs::create_dir_all(&folder))
        .and_then(|()| duplicate(path, &half))
        .and_then(|()| fs::rename(&half, &copy));
    made.map_err(failed)?;
    Ok(copy)
}

/// Waits until nobody else copies a cache, or the thread's limit ends the wait.
fn wait_for_turn(alone: &Mutex<()>) -> io::Result<MutexGuard<'_, ()>> {
    loop {
        match alone.try_lock() {
            Ok(turn) => return Ok(turn),
            Err(TryLockError::Poisoned(turn)) => return Ok(turn.into_inner()),
            Err(TryLockError::WouldBlock) => {
                WaitLimit::current().check_io()?;
                thread::sleep(POLL);
            }
        }
    }
}

/// Returns the folder of the run's copies for this kind of job.
pub(super) fn copies_folder(job: &Job, engine: &Engine) -> PathBuf {
    let whose = match job.kind {
        JobKind::RunGate { .. } => "checks",
        _ => "workers",
    };
    engine
        .run_workspaces_folder(&job.run)
        .join(".caches")
        .join(whose)
}

/// Counts the files and folders below a folder, and returns the latest modification time. Links are
/// not followed.
pub(super) fn newest(folder: &Path) -> (u64, Option<SystemTime>) {
    let (mut count, mut last) = (0, None);
    let mut pending = vec![folder.to_owned()];
    let limit = WaitLimit::current();
    while let Some(folder) = pending.pop() {
        // Whatever is found then is no longer asked for.
        if limit.check().is_err() {
            break;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else {
                continue;
            };
            count += 1;
            last = last.max(found.modified().ok());
            if found.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    (count, last)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Copies a folder with everything in it except credentials. Links stay links; anything that is
/// neither file, folder nor link is left out.
fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        WaitLimit::current().check_io()?;
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        let path = entry.path();
        let is_secret = if kind.is_dir() {
            credentials::is_credential_folder(&path)
        } else {
            credentials::is_credential_file(&path)
        };
        if is_secret {
            continue;
        }
        if kind.is_dir() {
            duplicate(&path, &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copying_a_cache_ends_with_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::write(from.join("deep/file"), "text").unwrap();
        duplicate(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("deep/file")).unwrap(), "text");

        let _limit = WaitLimit::limit_to(Duration::ZERO);
        let late = duplicate(&from, &folder.path().join("late")).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        // Whoever waits for another copy waits no longer either.
        let alone = Mutex::new(());
        let busy = alone.lock().unwrap();
        let late = wait_for_turn(&alone).unwrap_err();
        assert_eq!(late.to_string(), "it took too long");
        drop(busy);
        assert!(wait_for_turn(&alone).is_ok());
    }
}
