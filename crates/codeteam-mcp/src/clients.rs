//! The clients of one server: one of them leads the task, and the others are told which one.
//!
//! A client holds the task from its first call on, until it ends its session or is gone. Clients of
//! a protocol revision without sessions are distinguished by the calling process, and by their
//! names within it. A client whose process cannot be identified is refused, because it could be
//! anybody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codeteam_http::{ClientConnection, ClientSessions, PeerProcess};

/// The number of client processes that are remembered, the newest.
const REMEMBERED: usize = 64;

/// The clients of a server, and which of them leads.
///
/// At most one client leads. [`begin_call`](Self::begin_call) makes the caller the leader, or
/// refuses it if another client leads; it returns a guard that counts as a call under way until it
/// is dropped. The lead passes to another caller in two cases: no task is open and the leader has
/// no call under way, or the leader is gone. A leader is gone when its process or its session has
/// ended, or, without a session, when it has been silent for longer than the limit.
pub(super) struct ClientRegistry {
    sessions: Arc<ClientSessions>,
    holder: Mutex<Option<LeadingClient>>,
    /// The processes that have called. Commands started by them may not make decisions.
    callers: Mutex<Vec<PeerProcess>>,
}

/// The client that leads.
struct LeadingClient {
    client: ClientIdentity,
    /// The number of its calls that are not answered yet.
    calls: usize,
    last: Instant,
}

/// The caller, as its request identifies it.
pub(super) struct RequestCaller {
    /// The caller's session id, if it has one.
    pub(super) session: Option<String>,
    /// The name that the caller gives itself.
    pub(super) label: String,
    /// The connection that the call came through.
    pub(super) connection: Option<Arc<ClientConnection>>,
}

/// A client, as far as it can be identified.
#[derive(Clone, Debug)]
struct ClientIdentity {
    session: Option<String>,
    process: Option<PeerProcess>,
    label: String,
}

impl ClientIdentity {
    /// Returns true if both are the same client: by session, or else by process and name.
    fn is_same_client(&self, other: &Self) -> bool {
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
    /// Another client leads.
    LedByOther(LeaderNotice),
    /// The client cannot be distinguished from others.
    Unknown,
}

/// The leading client, described for the others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeaderNotice {
    /// The name that the leading client gives itself.
    pub(super) label: String,
    /// The silence after which it is considered gone.
    pub(super) patience: Duration,
}

/// A call of the leading client. The client leads at least until this guard is dropped.
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

    /// Starts a call and makes its client the leader. The call is refused if another client leads
    /// and a task is open (`is_open`) or just being started.
    pub(super) fn begin_call(
        self: &Arc<Self>,
        caller: RequestCaller,
        is_open: bool,
    ) -> Result<LeadGuard, LeadRefusal> {
        let client = self.identify(caller)?;
        let mut holder = self.holder();
        match &mut *holder {
            Some(held) if held.client.is_same_client(&client) => {
                held.calls += 1;
                held.last = Instant::now();
            }
            Some(held) if (is_open || held.calls > 0) && !self.is_gone(held) => {
                return Err(LeadRefusal::LedByOther(LeaderNotice {
                    label: held.client.label.clone(),
                    patience: self.sessions.limits().silence_timeout,
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

    /// Identifies the caller. Where processes cannot be seen at all, names have to do.
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
            self.remember_process(process);
        } else if session.is_none() && cfg!(target_os = "linux") {
            return Err(LeadRefusal::Unknown);
        }
        Ok(ClientIdentity {
            session,
            process,
            label,
        })
    }

    fn remember_process(&self, process: &PeerProcess) {
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

    /// Returns true if the leading client is gone: its process has ended, or else it was silent for
    /// too long.
    fn is_gone(&self, held: &LeadingClient) -> bool {
        let limits = self.sessions.limits();
        let process = held.client.process.as_ref();
        match &held.client.session {
            _ if process.is_some_and(PeerProcess::is_gone) => true,
            _ if held.calls > 0 => false,
            Some(session) => self.sessions.is_gone(session),
            None => held.last.elapsed() >= limits.silence_timeout,
        }
    }

    fn holder(&self) -> MutexGuard<'_, Option<LeadingClient>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LeadGuard {
    fn drop(&mut self) {
        let mut holder = self.clients.holder();
        if let Some(held) = holder
            .as_mut()
            .filter(|held| held.client.is_same_client(&self.client))
        {
            held.calls -= 1;
            held.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
