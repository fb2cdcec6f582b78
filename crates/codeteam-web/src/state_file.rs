//! What a server keeps for the next one: the name and port of its address, who is signed in, and the
//! links for reading. Pages that are open survive a restart of the server because of it.
//!
//! The file belongs to the user alone. Secrets are kept as hashes, except the one with which another
//! process of the same user asks for a link.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use codeteam_core::ids::EpochMillis;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// What is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ServerState {
    /// The first part of the host name that the server answers to.
    pub(crate) label: String,
    /// The port, so that the next server listens at the same one if it is free.
    pub(crate) port: u16,
    /// The address that browsers use, if the host name is not used.
    pub(crate) plain_host: bool,
    /// The socket, if the server listens at one.
    pub(crate) socket: Option<PathBuf>,
    /// What another process of the user shows to get a link.
    pub(crate) mint_secret: String,
    /// Who is signed in.
    pub(crate) sessions: Vec<KeptSession>,
    /// Links for reading.
    pub(crate) links: Vec<KeptLink>,
}

/// Somebody who is signed in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptSession {
    /// The hash of the cookie.
    pub(crate) hash: String,
    /// When it ends.
    pub(crate) until: EpochMillis,
    /// The id of the link for reading that opened it, if one did.
    #[serde(default)]
    pub(crate) link: Option<String>,
    /// The colours that were chosen.
    #[serde(default)]
    pub(crate) theme: String,
}

/// A link for reading.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptLink {
    /// Its id.
    pub(crate) id: String,
    /// The hash of its secret.
    pub(crate) hash: String,
    /// The key of the project.
    pub(crate) project: String,
    /// The run.
    pub(crate) run: String,
    /// When it ends.
    pub(crate) until: EpochMillis,
    /// How often it was opened.
    pub(crate) opened: u64,
    /// Whether prompts, answers and outputs can be read with it.
    pub(crate) with_transcripts: bool,
}

/// The folder in which the state is kept, and the right to serve from it.
#[derive(Debug)]
pub(crate) struct StateFolder {
    folder: PathBuf,
    /// Held as long as the server runs.
    _lock: File,
}

impl StateFolder {
    /// Takes the folder. Returns `None` if another server has it.
    pub(crate) fn take(state_home: &Path) -> io::Result<Option<Self>> {
        let folder = folder_in(state_home);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(folder.join("lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self {
                folder,
                _lock: lock,
            })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads what the last server has kept. What cannot be read is as if there were nothing: then
    /// everybody signs in again.
    pub(crate) fn read(&self) -> ServerState {
        read_state(&self.folder).unwrap_or_default()
    }

    /// Keeps the state, completely or not at all.
    pub(crate) fn write(&self, state: &ServerState) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(state)?;
        write_private(&self.folder.join("server.json"), &text)
    }

    /// Returns the folder of what people have noted about changes.
    pub(crate) fn drafts(&self) -> PathBuf {
        self.folder.join("drafts")
    }
}

/// Reads the state of the server that runs, for a process that asks it for a link. `None` if no server
/// runs.
pub(crate) fn running_server(state_home: &Path) -> io::Result<Option<ServerState>> {
    let folder = folder_in(state_home);
    let lock = match File::open(folder.join("lock")) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match flock(&lock, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => read_state(&folder).map(Some),
        _ => Ok(None),
    }
}

/// Writes a file that only this user can read, completely or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    // One that another user had made would keep its owner.
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn folder_in(state_home: &Path) -> PathBuf {
    state_home.join("codeteam/web")
}

fn read_state(folder: &Path) -> io::Result<ServerState> {
    let text = fs::read(folder.join("server.json"))?;
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_the_state_and_others_may_look() {
        let home = tempfile::tempdir().unwrap();
        assert!(running_server(home.path()).unwrap().is_none());
        let state = StateFolder::take(home.path()).unwrap().unwrap();
        let kept = ServerState {
            label: "ct-abc".to_owned(),
            ..ServerState::default()
        };
        state.write(&kept).unwrap();
        assert!(StateFolder::take(home.path()).unwrap().is_none());
        let seen = running_server(home.path()).unwrap().unwrap();
        assert_eq!(seen.label, "ct-abc");
        let file = home.path().join("codeteam/web/server.json");
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
        drop(state);
        assert!(running_server(home.path()).unwrap().is_none());
        let state = StateFolder::take(home.path()).unwrap().unwrap();
        assert_eq!(state.read().label, "ct-abc");
    }
}
