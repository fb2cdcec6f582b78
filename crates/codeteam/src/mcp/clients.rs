//! The clients of one server: one of them leads the task, the others are told who does.
//!
//! A client holds the task from its first call on, until it ends its session or is gone. Clients of
//! a revision without sessions are told apart by their names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use codeteam_http::Sessions;

/// The clients of a server.
pub(super) struct Clients {
    sessions: Arc<Sessions>,
    holder: Mutex<Option<Holder>>,
}

/// The one that leads.
struct Holder {
    client: Client,
    /// How many calls of its are not answered yet.
    calls: usize,
    last: Instant,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    /// Its session, if it has one.
    pub(super) session: Option<String>,
    /// What it calls itself.
    pub(super) label: String,
}

/// A call of the one that leads. It leads at least until this is dropped.
pub(super) struct Call {
    clients: Arc<Clients>,
    client: Client,
}

impl Clients {
    pub(super) fn new(sessions: Arc<Sessions>) -> Self {
        Self {
            sessions,
            holder: Mutex::default(),
        }
    }

    /// A client calls: it leads from now on. If `is_open` says that there is a task, or somebody is
    /// just beginning one, and another client leads, its name is returned.
    pub(super) fn call(self: &Arc<Self>, client: Client, is_open: bool) -> Result<Call, String> {
        let mut holder = self.holder();
        match &mut *holder {
            Some(held) if held.client == client => {
                held.calls += 1;
                held.last = Instant::now();
            }
            Some(held) if (is_open || held.calls > 0) && !self.is_gone(held) => {
                return Err(held.client.label.clone());
            }
            _ => {
                *holder = Some(Holder {
                    client: client.clone(),
                    calls: 1,
                    last: Instant::now(),
                });
            }
        }
        Ok(Call {
            clients: Arc::clone(self),
            client,
        })
    }

    fn is_gone(&self, held: &Holder) -> bool {
        let limits = self.sessions.limits();
        match &held.client.session {
            _ if held.calls > 0 => false,
            Some(session) => self.sessions.is_gone(session),
            None => held.last.elapsed() >= limits.silent,
        }
    }

    fn holder(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut holder = self.clients.holder();
        if let Some(held) = holder.as_mut().filter(|held| held.client == self.client) {
            held.calls -= 1;
            held.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeteam_http::Limits;
    use std::time::Duration;

    fn clients(silent: Duration) -> Arc<Clients> {
        let limits = Limits {
            silent,
            ..Limits::default()
        };
        Arc::new(Clients::new(Arc::new(Sessions::new(limits))))
    }

    fn named(label: &str) -> Client {
        Client {
            session: None,
            label: label.to_owned(),
        }
    }

    #[test]
    fn while_a_task_is_open_the_first_who_called_leads_it() {
        let clients = clients(Duration::from_mins(1));
        drop(clients.call(named("a"), true).unwrap());
        assert_eq!(clients.call(named("b"), true).err().unwrap(), "a");
        assert!(clients.call(named("a"), true).is_ok());
        // There is no task any more.
        assert!(clients.call(named("b"), false).is_ok());
        assert_eq!(clients.call(named("a"), true).err().unwrap(), "b");
    }

    #[test]
    fn two_who_begin_at_once_do_not_both_lead() {
        let clients = clients(Duration::ZERO);
        let begins = clients.call(named("a"), false).unwrap();
        assert_eq!(clients.call(named("b"), false).err().unwrap(), "a");
        drop(begins);
        assert!(clients.call(named("b"), false).is_ok());
    }

    #[test]
    fn one_that_is_gone_leads_no_more() {
        let silent = clients(Duration::ZERO);
        drop(silent.call(named("a"), true).unwrap());
        assert!(silent.call(named("b"), true).is_ok());
        // A session that there is not, because it has ended.
        let ended = clients(Duration::from_mins(1));
        let client = Client {
            session: Some("ended".to_owned()),
            label: "a".to_owned(),
        };
        drop(ended.call(client, true).unwrap());
        assert!(ended.call(named("b"), true).is_ok());
    }
}
