//! Takes connections, limits what they may take up, and passes requests to a handler.
//!
//! The handler looks at the head of each request first. As long as a connection has shown nothing
//! that the handler accepts, it counts as a newcomer and has little time; see
//! [`PendingConnections`].

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::pending_connections::PendingConnections;
use crate::reply::{ConnectionRefusal, HttpReply};
use crate::timed_writes::TimedWrites;
use crate::{ClientConnection, Error, PATH};

/// The pause after a connection could not be accepted, most likely because there are no free
/// descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The unit in which bodies are counted, in bytes.
const UNIT: usize = 1 << 10;

/// A place to serve at, which only this machine can reach.
#[derive(Debug)]
pub struct LoopbackListener {
    socket: ListeningSocket,
}

#[derive(Debug)]
enum ListeningSocket {
    Tcp(StdTcpListener, SocketAddr),
    Unix(StdUnixListener, PathBuf),
}

impl LoopbackListener {
    /// Listens at an address of the loopback; a port of 0 is a free one.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let listen = |source| Error::Listen { address, source };
        let listener = StdTcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let socket = ListeningSocket::Tcp(listener, address);
        Ok(Self { socket })
    }

    /// Listens at a socket in a folder of the file system, for this user alone. A socket on which
    /// nobody listens any more is replaced; any other file is left alone.
    pub fn bind_socket(path: &Path) -> Result<Self, Error> {
        let listen = |source| Error::ListenSocket {
            path: path.to_owned(),
            source,
        };
        let is_dead = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if std::os::unix::net::UnixStream::connect(path).is_err_and(|error| is_dead(&error)) {
            std::fs::remove_file(path).map_err(listen)?;
        }
        let listener = StdUnixListener::bind(path).map_err(listen)?;
        let rights = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, rights).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let socket = ListeningSocket::Unix(listener, path.to_owned());
        Ok(Self { socket })
    }

    /// Returns the address, if it is one of the network.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            ListeningSocket::Tcp(_, address) => Some(*address),
            ListeningSocket::Unix(..) => None,
        }
    }

    /// Returns the URL for clients of the Model Context Protocol.
    pub fn url(&self) -> String {
        match &self.socket {
            ListeningSocket::Tcp(_, address) => format!("http://{address}{PATH}"),
            ListeningSocket::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }
}

impl Drop for LoopbackListener {
    fn drop(&mut self) {
        if let ListeningSocket::Unix(_, path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What connections may take up.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// The most connections that the handler has accepted a request of.
    pub connections: usize,
    /// The most connections of which it has not.
    pub newcomers: usize,
    /// The time in which a connection must send a request that is accepted.
    pub authentication_timeout: Duration,
    /// The most bytes of a request.
    pub bytes: usize,
    /// The most bytes of all requests under way together.
    pub all_bytes: usize,
    /// The time in which a request must arrive, and in which a client must take more of an answer.
    pub arrival_timeout: Duration,
}

/// Answers requests.
pub trait RequestHandler: Send + Sync + 'static {
    /// Decides whether a request is accepted, by its head alone: nothing else of it was read.
    fn admit(&self, head: &Parts) -> Result<(), Box<HttpReply>>;

    /// Makes the answer to a request that was accepted and still is not passed on.
    fn refuse(&self, why: ConnectionRefusal) -> HttpReply;

    /// Answers a request that was accepted. Its extensions have the [`ClientConnection`], if it came
    /// over the network.
    fn answer(&self, request: Request<Full<Bytes>>) -> impl Future<Output = HttpReply> + Send;
}

/// Serves at several places until `end`.
pub async fn serve_connections<H: RequestHandler>(
    listeners: Vec<LoopbackListener>,
    limits: ConnectionLimits,
    handler: Arc<H>,
    end: impl Future<Output = ()>,
) -> Result<(), Error> {
    let server = Arc::new(ConnectionServer {
        handler,
        newcomers: PendingConnections::new(limits.newcomers),
        known: Arc::new(Semaphore::new(limits.connections)),
        bodies: Arc::new(Semaphore::new(limits.all_bytes / UNIT)),
        limits,
    });
    let mut loops = tokio::task::JoinSet::new();
    for listener in &listeners {
        match &listener.socket {
            ListeningSocket::Tcp(socket, address) => {
                let address = *address;
                let listen = |source| Error::Listen { address, source };
                let socket = socket.try_clone().map_err(listen)?;
                let socket = TcpListener::from_std(socket).map_err(listen)?;
                loops.spawn(Arc::clone(&server).accept_tcp(socket, address));
            }
            ListeningSocket::Unix(socket, path) => {
                let listen = |source| Error::ListenSocket {
                    path: path.clone(),
                    source,
                };
                let socket = socket.try_clone().map_err(listen)?;
                let socket = UnixListener::from_std(socket).map_err(listen)?;
                loops.spawn(Arc::clone(&server).accept_unix(socket));
            }
        }
    }
    end.await;
    loops.abort_all();
    Ok(())
}

struct ConnectionServer<H> {
    handler: Arc<H>,
    limits: ConnectionLimits,
    newcomers: PendingConnections,
    /// Room for connections of which a request was accepted.
    known: Arc<Semaphore>,
    /// Room for bodies, in units of [`UNIT`] bytes.
    bodies: Arc<Semaphore>,
}

/// A connection as its requests find it.
struct ConnectionState {
    newcomer: u64,
    connection: Option<Arc<ClientConnection>>,
    /// Its room among those of which a request was accepted.
    room: Mutex<Option<OwnedSemaphorePermit>>,
}

/// The room that a body takes, kept as long as its request.
#[derive(Clone)]
struct BodyPermit {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl<H: RequestHandler> ConnectionServer<H> {
    async fn accept_tcp(self: Arc<Self>, listener: TcpListener, address: SocketAddr) {
        loop {
            let Ok((stream, peer)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            // Answers are small, and a client waits for each.
            let _ = stream.set_nodelay(true);
            let server = Arc::clone(&self);
            let connection = Arc::new(ClientConnection::new(address, peer));
            tokio::spawn(async move { server.serve_stream(stream, Some(connection)).await });
        }
    }

    async fn accept_unix(self: Arc<Self>, listener: UnixListener) {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            let server = Arc::clone(&self);
            tokio::spawn(async move { server.serve_stream(stream, None).await });
        }
    }

    async fn serve_stream<S>(&self, stream: S, connection: Option<Arc<ClientConnection>>)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (newcomer, shown) = self.newcomers.add();
        let guest = ConnectionState {
            newcomer,
            connection,
            room: Mutex::default(),
        };
        let answer = service_fn(|request| {
            let guest = &guest;
            async move { Ok::<_, Infallible>(self.answer_request(request, guest).await) }
        });
        let stream = TimedWrites::new(stream, self.limits.arrival_timeout);
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.arrival_timeout)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::pin!(served);
        // A client that breaks off has nobody to be told.
        tokio::select! {
            _ = &mut served => {}
            shown = timeout(self.limits.authentication_timeout, shown) => {
                if matches!(shown, Ok(Ok(()))) {
                    let _ = served.await;
                }
            }
        }
        self.newcomers.release(newcomer);
    }

    /// Gives a connection of which a request was accepted its room, once.
    fn admit_connection(&self, guest: &ConnectionState) -> Result<(), ConnectionRefusal> {
        let mut room = guest.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room.is_none() {
            let permit = Arc::clone(&self.known).try_acquire_owned();
            *room = Some(permit.map_err(|_| ConnectionRefusal::Busy)?);
            self.newcomers.release(guest.newcomer);
        }
        Ok(())
    }

    async fn answer_request(
        &self,
        request: Request<Incoming>,
        guest: &ConnectionState,
    ) -> HttpReply {
        let (mut parts, body) = request.into_parts();
        if let Err(reply) = self.handler.admit(&parts) {
            return *reply;
        }
        let body = match self.receive_body(body, guest).await {
            Ok((body, room)) => {
                parts.extensions.insert(room);
                body
            }
            Err(why) => return self.handler.refuse(why),
        };
        if let Some(connection) = &guest.connection {
            parts.extensions.insert(Arc::clone(connection));
        }
        let request = Request::from_parts(parts, Full::new(body));
        self.handler.answer(request).await
    }

    async fn receive_body(
        &self,
        body: Incoming,
        guest: &ConnectionState,
    ) -> Result<(Bytes, BodyPermit), ConnectionRefusal> {
        self.admit_connection(guest)?;
        let room = self.body_room(&body).await?;
        Ok((self.read_body(body).await?, room))
    }

    /// Waits until there is room for a body of the size that it announces, or else of the largest
    /// size allowed.
    async fn body_room(&self, body: &Incoming) -> Result<BodyPermit, ConnectionRefusal> {
        let limits = self.limits;
        let hint = body.size_hint();
        let most = hint.upper().and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(limits.bytes).min(limits.bytes);
        let units = u32::try_from(most.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.bodies).acquire_many_owned(units);
        match timeout(limits.arrival_timeout, room).await {
            Ok(Ok(permit)) => Ok(BodyPermit {
                _permit: Arc::new(permit),
            }),
            Ok(Err(_)) | Err(_) => Err(ConnectionRefusal::Busy),
        }
    }

    async fn read_body(&self, body: Incoming) -> Result<Bytes, ConnectionRefusal> {
        let limits = self.limits;
        // One that says so itself need not be waited for.
        if usize::try_from(body.size_hint().lower()).map_or(true, |least| least > limits.bytes) {
            return Err(ConnectionRefusal::TooLong);
        }
        let read = timeout(
            limits.arrival_timeout,
            Limited::new(body, limits.bytes).collect(),
        );
        match read.await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ConnectionRefusal::TooLong),
            Ok(Err(_)) | Err(_) => Err(ConnectionRefusal::Broken),
        }
    }
}
