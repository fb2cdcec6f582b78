//! The clients of one server: one of them leads the task, the others are told who does.
//!
//! A client holds the task from its first call on, until it ends its session or is gone. Clients of
//! a revision without sessions are told apart by the process that calls, and by their names within it.
//! One whose process cannot be seen is refused: it could be anybody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codeteam_http::{ClientConnection, ClientSessions, PeerProcess};

/// So many processes of clients are remembered, the newest.
const REMEMBERED: usize = 64;

/// The clients of a server.
pub(super) struct ClientRegistry {
    sessions: Arc<ClientSessions>,
    holder: Mutex<Option<LeadingClient>>,
    /// The processes that have called: commands that they start decide nothing.
    callers: Mutex<Vec<PeerProcess>>,
}

/// The one that leads.
struct LeadingClient {
    client: ClientIdentity,
    /// How many calls of its are not answered yet.
    calls: usize,
    last: Instant,
}

/// Who calls, as its request says.
pub(super) struct RequestCaller {
    /// Its session, if it has one.
    pub(super) session: Option<String>,
    /// What it calls itself.
    pub(super) label: String,
    /// The connection it calls by.
    pub(super) connection: Option<Arc<ClientConnection>>,
}

/// A client.
#[derive(Clone, Debug)]
struct ClientIdentity {
    session: Option<String>,
    process: Option<PeerProcess>,
    label: String,
}

impl ClientIdentity {
    /// Whether it is the same one: by its session, or else by its process and name.
    fn is(&self, other: &Self) -> bool {
        match (&self.session, &other.session) {
            (Some(own), Some(others)) => own == others,
            (None, None) => self.process == other.process && self.label == other.label,
            _ => false,
        }
    }
}

/// Why a client may not lead.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LeadRefusal {
    /// Another one does.
    Led(LeaderNotice),
    /// It cannot be told from others.
    Unknown,
}

/// The one that leads, for others to be told of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeaderNotice {
    /// What it calls itself.
    pub(super) label: String,
    /// After how long a silence it is taken to be gone.
    pub(super) patience: Duration,
}

/// A call of the one that leads. It leads at least until this is dropped.
pub(super) struct LeadGuard {
    clients: Arc<ClientRegistry>,
    client: ClientIdentity,
}

impl ClientRegistry {
    pub(super) fn new(sessions: Arc<ClientSessions>) -> Self {
        Self {
            sessions,
            holder: Mutex::default(),
            callers: Mutex::default(),
        }
    }

    /// A client calls: it leads from now on. If `is_open` says that there is a task, or somebody is
    /// just beginning one, and another client leads, it is refused.
    pub(super) fn call(
        self: &Arc<Self>,
        caller: RequestCaller,
        is_open: bool,
    ) -> Result<LeadGuard, LeadRefusal> {
        let client = self.identify(caller)?;
        let mut holder = self.holder();
        match &mut *holder {
            Some(held) if held.client.is(&client) => {
                held.calls += 1;
                held.last = Instant::now();
            }
            Some(held) if (is_open || held.calls > 0) && !self.is_gone(held) => {
                return Err(LeadRefusal::Led(LeaderNotice {
                    label: held.client.label.clone(),
                    patience: self.sessions.limits().silent,
                }));
            }
            _ => {
                *holder = Some(LeadingClient {
                    client: client.clone(),
                    calls: 1,
                    last: Instant::now(),
                });
            }
        }
        Ok(LeadGuard {
            clients: Arc::clone(self),
            client,
        })
    }

    /// Finds out who calls. Where processes cannot be seen at all, names must do.
    fn identify(&self, caller: RequestCaller) -> Result<ClientIdentity, LeadRefusal> {
        let RequestCaller {
            session,
            label,
            connection,
        } = caller;
        let held = self.holder().as_ref().map(|held| held.client.clone());
        let is_holder = |held: &ClientIdentity| session.is_some() && held.session == session;
        if let Some(held) = held.as_ref().filter(|held| is_holder(held)) {
            return Ok(held.clone());
        }
        let likely = held.and_then(|held| held.process);
        let process = connection.and_then(|connection| connection.process(likely.as_ref()));
        if let Some(process) = &process {
            self.remember(process);
        } else if session.is_none() && cfg!(target_os = "linux") {
            return Err(LeadRefusal::Unknown);
        }
        Ok(ClientIdentity {
            session,
            process,
            label,
        })
    }

    fn remember(&self, process: &PeerProcess) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.contains(process) {
            return;
        }
        callers.retain(|known| !known.is_gone());
        if callers.len() == REMEMBERED {
            callers.remove(0);
        }
        callers.push(process.clone());
    }

    /// Whether the one that leads is gone: its process has ended, or else it was silent for too long.
    fn is_gone(&self, held: &LeadingClient) -> bool {
        let limits = self.sessions.limits();
        let process = held.client.process.as_ref();
        match &held.client.session {
            _ if process.is_some_and(PeerProcess::is_gone) => true,
            _ if held.calls > 0 => false,
            Some(session) => self.sessions.is_gone(session),
            None => held.last.elapsed() >= limits.silent,
        }
    }

    fn holder(&self) -> MutexGuard<'_, Option<LeadingClient>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LeadGuard {
    fn drop(&mut self) {
        let mut holder = self.clients.holder();
        if let Some(held) = holder.as_mut().filter(|held| held.client.is(&self.client)) {
            held.calls -= 1;
            held.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
