//! Serves the Model Context Protocol: lets requests with the token in, and passes them on.

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, Request};
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};

use crate::connections::{ConnectionLimits, LoopbackListener, RequestHandler, serve_connections};
use crate::reply::{ConnectionRefusal, HttpReply, RequestRefusal};
use crate::request_filter::RequestFilter;
use crate::{BearerToken, ClientConnection, ClientSessions, Error};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// The session that a request belongs to, if it belongs to one.
pub fn session_id(context: &RequestContext<RoleServer>) -> Option<&str> {
    let parts = context.extensions.get::<Parts>()?;
    parts.headers.get(SESSION)?.to_str().ok()
}

/// The connection that a request came by.
pub fn request_connection(context: &RequestContext<RoleServer>) -> Option<Arc<ClientConnection>> {
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
    let limits = *sessions.limits();
    let address = listener.address().ok_or(Error::NoAddress)?;
    // Hosts and origins are looked at by the gate, which is stricter.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        // What streams begin with is for the sessions to say, which know their clients.
        .with_sse_retry(None)
        .with_max_request_body_bytes(limits.bytes);
    let stop = config.cancellation_token.clone();
    let server = Arc::new(ProtocolHandler {
        gate: RequestFilter::new(address, token),
        protocol: StreamableHttpService::new(move || Ok(make()), Arc::clone(&sessions), config),
        sessions,
    });
    let limits = ConnectionLimits {
        connections: limits.connections,
        newcomers: limits.newcomers,
        authentication_timeout: limits.authentication_timeout,
        bytes: limits.bytes,
        all_bytes: limits.all_bytes,
        arrival_timeout: limits.arrival_timeout,
    };
    serve_connections(vec![listener], limits, server, end).await?;
    stop.cancel();
    Ok(())
}

/// Answers requests of the protocol that carry the token.
struct ProtocolHandler<S> {
    gate: RequestFilter,
    protocol: StreamableHttpService<S, ClientSessions>,
    sessions: Arc<ClientSessions>,
}

impl<S: ServerHandler> RequestHandler for ProtocolHandler<S> {
    fn admit(&self, head: &Parts) -> Result<(), Box<HttpReply>> {
        let checked = self.gate.check(head);
        checked.map_err(|refusal| Box::new(refusal.into_reply()))
    }

    fn refuse(&self, why: ConnectionRefusal) -> HttpReply {
        RequestRefusal::from(why).into_reply()
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpReply {
        if opens_a_session(&request) && !self.sessions.make_room().await {
            return RequestRefusal::Full.into_reply();
        }
        self.protocol.handle(request).await
    }
}

/// Returns true if a request may open a session: it belongs to none, and its protocol revision has
/// sessions.
fn opens_a_session<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let version = headers.get(VERSION).and_then(|value| value.to_str().ok());
    let has_none = version.is_some_and(|v| v >= ProtocolVersion::V_2026_07_28.as_str());
    request.method() == Method::POST && !headers.contains_key(SESSION) && !has_none
}
