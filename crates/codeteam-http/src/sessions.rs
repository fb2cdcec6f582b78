//! Keeps the open sessions, limits their number, and notices clients that seem to be gone.
//!
//! Revisions of the protocol before 2026-07-28 have sessions: a client opens one and ought to end
//! it. A client that dies does not. Whether a client still lives cannot be known, only whether it
//! has a stream open and when its last request came.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio_stream::Stream;

/// The limits for clients.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// The most sessions.
    pub sessions: usize,
    /// The most connections that have shown the token.
    pub connections: usize,
    /// The most connections that have not.
    pub newcomers: usize,
    /// The time in which a connection must show the token.
    pub authentication_timeout: Duration,
    /// The most bytes of a request.
    pub bytes: usize,
    /// The most bytes of all requests under way together.
    pub all_bytes: usize,
    /// The time in which a request must arrive.
    pub arrival_timeout: Duration,
    /// When a client that had a stream open and closed it counts as gone.
    pub disconnect_timeout: Duration,
    /// The time after its last request when a client that never had a stream counts as gone.
    pub silence_timeout: Duration,
    /// When a session in which nothing happens is ended.
    pub idle_timeout: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            sessions: 32,
            connections: 128,
            newcomers: 64,
            authentication_timeout: Duration::from_secs(5),
            bytes: 4 << 20,
            all_bytes: 16 << 20,
            arrival_timeout: Duration::from_secs(30),
            disconnect_timeout: Duration::from_secs(30),
            // A model may work as long on one assignment.
            silence_timeout: Duration::from_mins(30),
            idle_timeout: Duration::from_hours(12),
        }
    }
}

/// All sessions of a server.
#[derive(Debug)]
pub struct ClientSessions {
    inner: LocalSessionManager,
    limits: ClientLimits,
    seen: Arc<ActivityTable>,
}

/// When clients were last seen.
#[derive(Debug, Default)]
struct ActivityTable {
    sessions: Mutex<HashMap<SessionId, SessionActivity>>,
}

#[derive(Clone, Copy, Debug)]
struct SessionActivity {
    /// The number of open streams.
    open: usize,
    /// Whether it had a stream of its own, apart from those of its requests.
    listened: bool,
    /// Whether the client understands events without data, with which streams begin since revision
    /// 2025-11-25. Earlier clients take one for a broken message and leave, as Gemini's does.
    primed: bool,
    last: Instant,
}

impl SessionActivity {
    fn new() -> Self {
        Self {
            open: 0,
            listened: false,
            primed: false,
            last: Instant::now(),
        }
    }

    fn is_gone(self, limits: &ClientLimits) -> bool {
        let patience = if self.listened {
            limits.disconnect_timeout
        } else {
            limits.silence_timeout
        };
        self.open == 0 && self.last.elapsed() >= patience
    }
}

impl ActivityTable {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionActivity>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, id: &SessionId, how: impl FnOnce(&mut SessionActivity)) {
        if let Some(sight) = self.lock().get_mut(id) {
            how(sight);
            sight.last = Instant::now();
        }
    }
}

impl ClientSessions {
    /// None yet.
    pub fn new(limits: ClientLimits) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(limits.idle_timeout);
        Self {
            inner,
            limits,
            seen: Arc::default(),
        }
    }

    /// Returns the limits for clients.
    pub fn limits(&self) -> &ClientLimits {
        &self.limits
    }

    /// Returns true if the client of a session has ended it, or seems to be gone.
    pub fn is_gone(&self, id: &str) -> bool {
        let sight = self.seen.lock().get(id).copied();
        sight.is_none_or(|sight| sight.is_gone(&self.limits))
    }

    /// Makes room for one more session, if necessary by ending one. Returns false if every client
    /// is alive. A client whose session was ended is told so by its next answer, and opens another.
    pub(crate) async fn make_room(&self) -> bool {
        let victim = {
            let seen = self.seen.lock();
            if seen.len() < self.limits.sessions {
                return true;
            }
            let absent = seen.iter().filter(|(_, sight)| sight.open == 0);
            // Those that were seen to leave first, then those that were silent longest.
            let victim = absent.min_by_key(|(_, sight)| (!sight.listened, sight.last));
            victim.map(|(id, _)| Arc::clone(id))
        };
        match victim {
            Some(id) => self.close_session(&id).await.is_ok(),
            None => false,
        }
    }

    fn open_stream<S>(&self, id: &SessionId, stream: S, listens: bool) -> CountedStream<S> {
        let mut primed = false;
        self.seen.update(id, |sight| {
            sight.open += 1;
            sight.listened |= listens;
            primed = sight.primed;
        });
        CountedStream {
            inner: Box::pin(stream),
            primed,
            id: Arc::clone(id),
            seen: Arc::clone(&self.seen),
        }
    }
}

/// A stream that is counted as long as it is open.
struct CountedStream<S> {
    inner: Pin<Box<S>>,
    primed: bool,
    id: SessionId,
    seen: Arc<ActivityTable>,
}

impl<S: Stream<Item = ServerSseMessage>> Stream for CountedStream<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        loop {
            let next = ready!(self.inner.as_mut().poll_next(context));
            let is_empty = next.as_ref().is_some_and(|event| event.message.is_none());
            if self.primed || !is_empty {
                return Poll::Ready(next);
            }
        }
    }
}

impl<S> Drop for CountedStream<S> {
    fn drop(&mut self) {
        self.seen.update(&self.id, |sight| sight.open -= 1);
    }
}

/// Returns true if the client that sent this first message understands events without data.
fn is_primed(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else {
        return false;
    };
    let ClientRequest::InitializeRequest(begin) = &request.request else {
        return false;
    };
    begin.params.protocol_version >= ProtocolVersion::V_2025_11_25
}

impl SessionManager for ClientSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.inner.create_session().await?;
        self.seen
            .lock()
            .insert(Arc::clone(&id), SessionActivity::new());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let primed = is_primed(&message);
        self.seen.update(id, |sight| sight.primed = primed);
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.seen.lock().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.open_stream(id, stream, false))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.seen.update(id, |_| {});
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(self.open_stream(id, stream, true))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.open_stream(id, stream, true))
    }
}
