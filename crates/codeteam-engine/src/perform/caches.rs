//! The user's caches, as the configuration gives them to confined commands.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use codeteam_sandbox::{Access, Entry, credentials, policy};

use super::{Error, Job, What};
use crate::config::{Cache, CacheMode, absolute};
use crate::confine::credentials_in;
use crate::engine::Engine;
use crate::process::View;

/// Shows the configured caches. One that the user does not have is left out.
pub(super) fn show(view: &mut View, job: &Job, engine: &Engine) -> Result<(), Error> {
    let home = engine.env.home.as_deref();
    for cache in &job.grounds(engine)?.sandbox.caches {
        let found = absolute(&cache.path, home).and_then(|path| path.canonicalize().ok());
        let Some(path) = found else {
            continue;
        };
        let target = place(cache, &path, home);
        let (source, access) = match cache.mode {
            CacheMode::ReadOnly => (path, Access::ReadOnly),
            CacheMode::Copy => (own_copy(&path, job, engine)?, Access::Writable),
        };
        let covered = match cache.mode {
            CacheMode::ReadOnly => credentials_in(&source, &target),
            // They were not copied.
            CacheMode::Copy => Vec::new(),
        };
        view.entries.push(Entry::Bind {
            source,
            target,
            access,
        });
        view.entries.extend(covered);
    }
    Ok(())
}

/// Where it appears: what is below the user's home is looked for below the private one.
fn place(cache: &Cache, path: &Path, home: Option<&Path>) -> PathBuf {
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
    let whose = match job.what {
        What::Check { .. } => "checks",
        _ => "workers",
    };
    let folder = engine.workspaces_of(&job.run).join(".caches").join(whose);
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
