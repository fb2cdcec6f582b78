//! The server: takes connections, lets requests in, and passes them on.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as Plain};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::gate::RequestFilter;
use crate::newcomers::PendingConnections;
use crate::reply::{HttpReply, RequestRefusal};
use crate::{BearerToken, ClientConnection, ClientSessions, Error, PATH};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// How long it waits when no connection can be taken, for want of descriptors most likely.
const PAUSE: Duration = Duration::from_millis(50);

/// Bodies are counted in units of so many bytes.
const UNIT: usize = 1 << 10;

/// A place to serve at.
#[derive(Debug)]
pub struct LoopbackListener {
    listener: Plain,
    address: SocketAddr,
}

impl LoopbackListener {
    /// Listens at an address of the loopback; a port of 0 is a free one.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let listen = |source| Error::Listen { address, source };
        let listener = Plain::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { listener, address })
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

/// The session that a request belongs to, if it belongs to one.
pub fn client(context: &RequestContext<RoleServer>) -> Option<&str> {
    let parts = context.extensions.get::<Parts>()?;
    parts.headers.get(SESSION)?.to_str().ok()
}

/// The connection that a request came by.
pub fn connection(context: &RequestContext<RoleServer>) -> Option<Arc<ClientConnection>> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<Arc<ClientConnection>>().cloned()
}

/// Serves until `end`. Each session gets a handler of its own from `make`, and so does each request
/// without one; what they share, they must share themselves.
pub async fn serve<S: ServerHandler>(
    listener: LoopbackListener,
    token: BearerToken,
    sessions: Arc<ClientSessions>,
    make: impl Fn() -> S + Send + Sync + 'static,
    end: impl Future<Output = ()>,
) -> Result<(), Error> {
    let address = listener.address;
    let listener = TcpListener::from_std(listener.listener)
        .map_err(|source| Error::Listen { address, source })?;
    // Hosts and origins are looked at by the gate, which is stricter.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        // What streams begin with is for the sessions to say, which know their clients.
        .with_sse_retry(None)
        .with_max_request_body_bytes(sessions.limits().bytes);
    let stop = config.cancellation_token.clone();
    let server = Arc::new(HttpServer {
        gate: RequestFilter::new(address, token),
        protocol: StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config),
        newcomers: PendingConnections::new(sessions.limits().newcomers),
        known: Arc::new(Semaphore::new(sessions.limits().connections)),
        bodies: Arc::new(Semaphore::new(sessions.limits().all_bytes / UNIT)),
        sessions,
    });
    tokio::pin!(end);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut end => break,
            next = take(&listener) => next,
        };
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let connection = ClientConnection::new(address, peer);
            server.connection(stream, connection).await;
        });
    }
    stop.cancel();
    Ok(())
}

/// The next connection.
async fn take(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(taken) => return taken,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

struct HttpServer<S> {
    gate: RequestFilter,
    protocol: StreamableHttpService<S, ClientSessions>,
    sessions: Arc<ClientSessions>,
    newcomers: PendingConnections,
    /// Room for connections of those who have shown the token.
    known: Arc<Semaphore>,
    /// Room for bodies, in units of [`UNIT`] bytes.
    bodies: Arc<Semaphore>,
}

/// A connection as its requests find it.
struct ConnectionState {
    newcomer: u64,
    connection: Arc<ClientConnection>,
    /// Its room among those who have shown the token.
    room: Mutex<Option<OwnedSemaphorePermit>>,
}

/// The room that a body takes, kept as long as its request.
#[derive(Clone)]
struct BodyPermit {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl<S: ServerHandler> HttpServer<S> {
    async fn connection(&self, stream: TcpStream, connection: ClientConnection) {
        // Answers are small, and a client waits for each.
        let _ = stream.set_nodelay(true);
        let limits = self.sessions.limits();
        let (newcomer, shown) = self.newcomers.enter();
        let guest = ConnectionState {
            newcomer,
            connection: Arc::new(connection),
            room: Mutex::default(),
        };
        let answer = service_fn(|request| {
            let guest = &guest;
            async move {
                let reply = self.answer(request, guest).await;
                Ok::<_, Infallible>(reply.unwrap_or_else(RequestRefusal::reply))
            }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.arrival)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::pin!(served);
        // A client that breaks off has nobody to be told.
        tokio::select! {
            _ = &mut served => {}
            shown = timeout(limits.introduction, shown) => {
                if matches!(shown, Ok(Ok(()))) {
                    let _ = served.await;
                }
            }
        }
        self.newcomers.admit(newcomer);
    }

    /// Gives a connection that has shown the token its room, once.
    fn admit(&self, guest: &ConnectionState) -> Result<(), RequestRefusal> {
        let mut room = guest.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room.is_none() {
            let permit = Arc::clone(&self.known).try_acquire_owned();
            *room = Some(permit.map_err(|_| RequestRefusal::Busy)?);
            self.newcomers.admit(guest.newcomer);
        }
        Ok(())
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        guest: &ConnectionState,
    ) -> Result<HttpReply, RequestRefusal> {
        self.gate.check(&request)?;
        self.admit(guest)?;
        if opens_a_session(&request) && !self.sessions.room().await {
            return Err(RequestRefusal::Full);
        }
        let (mut parts, body) = request.into_parts();
        let room = self.body_room(&body).await?;
        let body = self.read(body).await?;
        parts.extensions.insert(room);
        parts.extensions.insert(Arc::clone(&guest.connection));
        let request = Request::from_parts(parts, Full::new(body));
        Ok(self.protocol.handle(request).await)
    }

    /// Waits until there is room for a body: as much as it says it has, or may have.
    async fn body_room(&self, body: &Incoming) -> Result<BodyPermit, RequestRefusal> {
        let limits = self.sessions.limits();
        let hint = body.size_hint();
        let most = hint.upper().and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(limits.bytes).min(limits.bytes);
        let units = u32::try_from(most.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.bodies).acquire_many_owned(units);
        match timeout(limits.arrival, room).await {
            Ok(Ok(permit)) => Ok(BodyPermit {
                _permit: Arc::new(permit),
            }),
            Ok(Err(_)) | Err(_) => Err(RequestRefusal::Busy),
        }
    }

    async fn read(&self, body: Incoming) -> Result<Bytes, RequestRefusal> {
        let limits = self.sessions.limits();
        // One that says so itself need not be waited for.
        if usize::try_from(body.size_hint().lower()).map_or(true, |least| least > limits.bytes) {
            return Err(RequestRefusal::TooLong);
        }
        let read = timeout(limits.arrival, Limited::new(body, limits.bytes).collect());
        match read.await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(RequestRefusal::TooLong),
            Ok(Err(_)) | Err(_) => Err(RequestRefusal::Broken),
        }
    }
}

/// Whether a request may open a session: it belongs to none, and is of a revision that has them.
fn opens_a_session<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let version = headers.get(VERSION).and_then(|value| value.to_str().ok());
    let has_none = version.is_some_and(|v| v >= ProtocolVersion::V_2026_07_28.as_str());
    request.method() == Method::POST && !headers.contains_key(SESSION) && !has_none
}
