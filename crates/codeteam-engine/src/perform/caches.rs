//! The user's caches, as the configuration gives them to confined commands.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use codeteam_sandbox::{MountAccess, MountEntry, credentials, policy};

use super::{Error, Job, JobKind};
use crate::config::{CacheConfig, CacheMode, absolute};
use crate::confine::credentials_in;
use crate::engine::Engine;
use crate::process::HostView;

/// Shows the configured caches. One that the user does not have is left out.
pub(super) fn show(view: &mut HostView, job: &Job, engine: &Engine) -> Result<(), Error> {
    let home = engine.env.home.as_deref();
    for cache in &job.grounds(engine)?.sandbox.caches {
        let found = absolute(&cache.path, home).and_then(|path| path.canonicalize().ok());
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
            // They were not copied.
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

/// Where it appears: what is below the user's home is looked for below the private one.
fn place(cache: &CacheConfig, path: &Path, home: Option<&Path>) -> PathBuf {
    let below = cache.path.strip_prefix("~").ok().map(Path::to_owned);
    let below = below.or_else(|| Some(cache.path.strip_prefix(home?).ok()?.to_owned()));
    match below {
        Some(rest) => Path::new(policy::HOME).join(rest),
        None => path.to_owned(),
    }
}

/// The run's copy, made by whoever needs it first. Checks have one of their own: what they find
/// must not be what a worker has put there for them.
fn own_copy(path: &Path, job: &Job, engine: &Engine) -> Result<PathBuf, Error> {
    static COPYING: Mutex<()> = Mutex::new(());
    let _alone = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder(job, engine);
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
    made.map_err(|source| Error::Io {
        doing: "copy the cache",
        path: path.to_owned(),
        source,
    })?;
    Ok(copy)
}

/// Where the run's copies for such a job are.
pub(super) fn folder(job: &Job, engine: &Engine) -> PathBuf {
    let whose = match job.what {
        JobKind::Check { .. } => "checks",
        _ => "workers",
    };
    engine.workspaces_of(&job.run).join(".caches").join(whose)
}

/// How many files and folders there are below a folder, and when one was last written. Links are not
/// followed.
pub(super) fn newest(folder: &Path) -> (u64, Option<SystemTime>) {
    let (mut count, mut last) = (0, None);
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
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

/// Copies a folder with all that is in it but credentials. Links stay links; what is neither file,
/// folder nor link is left out.
fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
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
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
