//! Who may see and decide: codes that are used once, cookies, and links for reading.
//!
//! A code is made by the process that serves, or by another one of the same user, and is exchanged for
//! a cookie. A cookie is kept as a hash. A link for reading opens a session that can read one run
//! until the link ends.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codeteam_core::ids::EpochMillis;

use crate::state_file::{KeptLink, KeptSession, ServerState, StateFolder};

/// How long a code can be used.
pub(crate) const CODE_MILLIS: u64 = 2 * 60 * 1000;
/// How long somebody stays signed in.
const SESSION_MILLIS: u64 = 7 * 24 * 60 * 60 * 1000;
/// The most codes that wait to be used.
const MOST_CODES: usize = 16;
/// The most sessions; the oldest one of a link for reading goes, or else the oldest one.
const MOST_SESSIONS: usize = 200;

/// What a session may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// See everything, and decide.
    Person,
    /// Read one run.
    Reader {
        /// The id of the link.
        link: String,
        /// The key of the project.
        project: String,
        /// The run.
        run: String,
        /// Whether prompts, answers and outputs are shown.
        with_transcripts: bool,
    },
}

/// A session that a cookie belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrowserSession {
    /// What it may do.
    pub(crate) access: Access,
    /// What its forms carry.
    pub(crate) form_token: String,
    /// The colours that were chosen.
    pub(crate) theme: String,
    /// The hash of its cookie, which names it.
    pub(crate) key: String,
}

/// All sessions, codes and links of a server.
#[derive(Debug)]
pub(crate) struct SessionRegistry {
    folder: StateFolder,
    inner: Mutex<RegistryState>,
}

#[derive(Debug)]
struct RegistryState {
    state: ServerState,
    codes: VecDeque<(String, EpochMillis)>,
}

impl SessionRegistry {
    /// Takes over what the last server has kept.
    pub(crate) fn open(folder: StateFolder) -> io::Result<Self> {
        let mut state = folder.read();
        if state.label.is_empty() {
            state.label = format!("ct-{}", random_label()?);
        }
        state.mint_secret = random_secret()?;
        let codes = VecDeque::new();
        let inner = Mutex::new(RegistryState { state, codes });
        Ok(Self { folder, inner })
    }

    /// Returns the folder of the state.
    pub(crate) fn folder(&self) -> &StateFolder {
        &self.folder
    }

    /// Returns the host label and the port of the last server.
    pub(crate) fn last_address(&self) -> (String, u16) {
        let inner = self.lock();
        (inner.state.label.clone(), inner.state.port)
    }

    /// Notes where the server listens now.
    pub(crate) fn set_address(
        &self,
        port: u16,
        plain_host: bool,
        socket: Option<&std::path::Path>,
    ) -> io::Result<()> {
        let mut inner = self.lock();
        if port != 0 {
            inner.state.port = port;
        }
        inner.state.plain_host = plain_host;
        inner.state.socket = socket.map(ToOwned::to_owned);
        self.folder.write(&inner.state)
    }

    /// Makes a code for one sign-in.
    pub(crate) fn mint_code(&self, now: EpochMillis) -> io::Result<String> {
        let code = random_secret()?;
        let mut inner = self.lock();
        inner
            .codes
            .push_back((hash(&code), EpochMillis(now.0 + CODE_MILLIS)));
        if inner.codes.len() > MOST_CODES {
            inner.codes.pop_front();
        }
        Ok(code)
    }

    /// Returns true if this is what another process of the user shows to get a code.
    pub(crate) fn may_mint(&self, secret: &str) -> bool {
        let inner = self.lock();
        // Hashes are compared in constant time.
        blake3::hash(secret.as_bytes()) == blake3::hash(inner.state.mint_secret.as_bytes())
    }

    /// Exchanges a code for a cookie; `None` if the code was used, has ended, or never was one.
    pub(crate) fn sign_in(&self, code: &str, now: EpochMillis) -> io::Result<Option<String>> {
        let wanted = hash(code);
        let mut inner = self.lock();
        let Some(at) = inner.codes.iter().position(|(known, _)| *known == wanted) else {
            return Ok(None);
        };
        let until = inner.codes.remove(at).map(|(_, until)| until);
        if until.is_none_or(|until| until.0 < now.0) {
            return Ok(None);
        }
        let until = EpochMillis(now.0 + SESSION_MILLIS);
        self.open_session(&mut inner, until, None, now).map(Some)
    }

    /// Returns the link for reading that has this secret, if there is one that has not ended.
    pub(crate) fn find_link(&self, secret: &str, now: EpochMillis) -> Option<KeptLink> {
        let wanted = hash(secret);
        let links = self.links(now);
        links.into_iter().find(|link| link.hash == wanted)
    }

    /// Opens a session for a link for reading; `None` if there is no such link any more.
    pub(crate) fn open_link(&self, secret: &str, now: EpochMillis) -> io::Result<Option<String>> {
        let wanted = hash(secret);
        let mut inner = self.lock();
        let mut links = inner.state.links.iter_mut();
        let Some(link) = links.find(|link| link.hash == wanted && link.until.0 > now.0) else {
            return Ok(None);
        };
        link.opened += 1;
        let (id, until) = (link.id.clone(), link.until);
        self.open_session(&mut inner, until, Some(id), now)
            .map(Some)
    }

    fn open_session(
        &self,
        inner: &mut RegistryState,
        until: EpochMillis,
        link: Option<String>,
        now: EpochMillis,
    ) -> io::Result<String> {
        let cookie = random_secret()?;
        let sessions = &mut inner.state.sessions;
        sessions.retain(|session| session.until.0 > now.0);
        if sessions.len() >= MOST_SESSIONS {
            // Whoever opens a link again and again signs nobody out but other readers.
            let reader = sessions.iter().position(|session| session.link.is_some());
            sessions.remove(reader.unwrap_or(0));
        }
        sessions.push(KeptSession {
            hash: hash(&cookie),
            until,
            link,
            theme: String::new(),
        });
        self.folder.write(&inner.state)?;
        Ok(cookie)
    }

    /// Returns the session of a cookie.
    pub(crate) fn session(&self, cookie: &str, now: EpochMillis) -> Option<BrowserSession> {
        let key = hash(cookie);
        let inner = self.lock();
        let mut sessions = inner.state.sessions.iter();
        let found = sessions.find(|session| session.hash == key && session.until.0 > now.0)?;
        let access = match &found.link {
            None => Access::Person,
            Some(id) => {
                let mut links = inner.state.links.iter();
                let link = links.find(|link| link.id == *id && link.until.0 > now.0)?;
                Access::Reader {
                    link: link.id.clone(),
                    project: link.project.clone(),
                    run: link.run.clone(),
                    with_transcripts: link.with_transcripts,
                }
            }
        };
        Some(BrowserSession {
            access,
            form_token: form_token(cookie),
            theme: found.theme.clone(),
            key,
        })
    }

    /// Ends a session.
    pub(crate) fn sign_out(&self, key: &str) -> io::Result<()> {
        let mut inner = self.lock();
        inner.state.sessions.retain(|session| session.hash != key);
        self.folder.write(&inner.state)
    }

    /// Keeps the colours that somebody has chosen.
    pub(crate) fn set_theme(&self, key: &str, theme: &str) -> io::Result<()> {
        let mut inner = self.lock();
        let mut sessions = inner.state.sessions.iter_mut();
        if let Some(session) = sessions.find(|session| session.hash == key) {
            theme.clone_into(&mut session.theme);
        }
        self.folder.write(&inner.state)
    }

    /// Makes a link for reading a run, and returns its secret.
    pub(crate) fn create_link(
        &self,
        project: &str,
        run: &str,
        until: EpochMillis,
        with_transcripts: bool,
    ) -> io::Result<String> {
        let secret = random_secret()?;
        let mut inner = self.lock();
        inner.state.links.push(KeptLink {
            id: random_label()?,
            hash: hash(&secret),
            project: project.to_owned(),
            run: run.to_owned(),
            until,
            opened: 0,
            with_transcripts,
        });
        self.folder.write(&inner.state)?;
        Ok(secret)
    }

    /// Revokes a link, and ends the sessions that it opened.
    pub(crate) fn revoke_link(&self, id: &str) -> io::Result<bool> {
        let mut inner = self.lock();
        let before = inner.state.links.len();
        inner.state.links.retain(|link| link.id != id);
        let has_gone = inner.state.links.len() < before;
        let sessions = &mut inner.state.sessions;
        sessions.retain(|session| session.link.as_deref() != Some(id));
        self.folder.write(&inner.state)?;
        Ok(has_gone)
    }

    /// Returns the links that have not ended.
    pub(crate) fn links(&self, now: EpochMillis) -> Vec<KeptLink> {
        let inner = self.lock();
        let links = inner.state.links.iter();
        links.filter(|link| link.until.0 > now.0).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the token that the forms of a session carry. It says nothing about the cookie.
fn form_token(cookie: &str) -> String {
    let key = blake3::derive_key("codeteam web form token 2026", cookie.as_bytes());
    URL_SAFE_NO_PAD.encode(key)
}

fn hash(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

/// Returns a text that nobody can guess.
fn random_secret() -> io::Result<String> {
    let mut bytes = [0; 32];
    fill_random(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns eight letters and digits.
fn random_label() -> io::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = [0; 8];
    fill_random(&mut bytes)?;
    let letters = bytes.iter().map(|byte| LETTERS[usize::from(byte % 32)]);
    Ok(letters.map(char::from).collect())
}

fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let wanted = bytes.len();
    let got = rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty())?;
    if got == wanted {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: EpochMillis = EpochMillis(1_000_000);

    fn registry(home: &tempfile::TempDir) -> SessionRegistry {
        let folder = StateFolder::take(home.path()).unwrap().unwrap();
        SessionRegistry::open(folder).unwrap()
    }

    #[test]
    fn a_code_is_used_once_and_not_for_long() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let code = registry.mint_code(NOW).unwrap();
        assert_eq!(registry.sign_in("other", NOW).unwrap(), None);
        let cookie = registry.sign_in(&code, NOW).unwrap().unwrap();
        assert_eq!(registry.sign_in(&code, NOW).unwrap(), None);
        let session = registry.session(&cookie, NOW).unwrap();
        assert_eq!(session.access, Access::Person);
        assert_ne!(session.form_token, cookie);
        assert_eq!(registry.session("other", NOW), None);

        let code = registry.mint_code(NOW).unwrap();
        let late = EpochMillis(NOW.0 + CODE_MILLIS + 1);
        assert_eq!(registry.sign_in(&code, late).unwrap(), None);
        let late = EpochMillis(NOW.0 + SESSION_MILLIS + 1);
        assert_eq!(registry.session(&cookie, late), None);
    }

    #[test]
    fn sessions_and_links_survive_a_restart_and_no_secret_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let first = registry(&home);
        let code = first.mint_code(NOW).unwrap();
        let cookie = first.sign_in(&code, NOW).unwrap().unwrap();
        let until = EpochMillis(NOW.0 + 1_000);
        let secret = first.create_link("key", "run", until, false).unwrap();
        first.set_address(4711, false, None).unwrap();
        let (label, port) = first.last_address();
        drop(first);

        let text = std::fs::read_to_string(home.path().join("codeteam/web/server.json")).unwrap();
        assert!(!text.contains(&cookie) && !text.contains(&secret) && !text.contains(&code));
        let second = registry(&home);
        assert_eq!(second.last_address(), (label, port));
        assert!(second.session(&cookie, NOW).is_some());
        let reader = second.open_link(&secret, NOW).unwrap().unwrap();
        let session = second.session(&reader, NOW).unwrap();
        assert!(matches!(session.access, Access::Reader { run, .. } if run == "run"));
        let late = EpochMillis(until.0 + 1);
        assert_eq!(second.session(&reader, late), None);
        assert_eq!(second.open_link(&secret, late).unwrap(), None);
        let id = second.links(NOW)[0].id.clone();
        assert!(second.revoke_link(&id).unwrap());
        assert_eq!(second.session(&reader, NOW), None);
        assert_eq!(second.open_link(&secret, NOW).unwrap(), None);
    }

    #[test]
    fn who_opens_a_link_again_and_again_signs_nobody_out() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let code = registry.mint_code(NOW).unwrap();
        let cookie = registry.sign_in(&code, NOW).unwrap().unwrap();
        let until = EpochMillis(NOW.0 + 1_000);
        let secret = registry.create_link("key", "run", until, false).unwrap();
        for _ in 0..=MOST_SESSIONS {
            assert!(registry.open_link(&secret, NOW).unwrap().is_some());
        }
        assert!(registry.session(&cookie, NOW).is_some());
    }

    #[test]
    fn whoever_has_signed_out_is_out() {
        let home = tempfile::tempdir().unwrap();
        let registry = registry(&home);
        let code = registry.mint_code(NOW).unwrap();
        let cookie = registry.sign_in(&code, NOW).unwrap().unwrap();
        let session = registry.session(&cookie, NOW).unwrap();
        registry.set_theme(&session.key, "dark").unwrap();
        assert_eq!(registry.session(&cookie, NOW).unwrap().theme, "dark");
        registry.sign_out(&session.key).unwrap();
        assert_eq!(registry.session(&cookie, NOW), None);
    }
}
