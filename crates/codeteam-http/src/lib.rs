//! Serves HTTP to programs on this machine: a handler of the Model Context Protocol ([`serve`]), or
//! any other ([`serve_connections`]).
//!
//! It listens on a loopback address and on no other. A request is read only if it names this server
//! and nothing else as its host, comes from no other web page, and carries the token. The resources
//! that a client may take (connections, sessions, bytes, time) are limited. The crate knows nothing
//! of codeteam: it serves any handler of the protocol, which `rmcp` speaks, or of requests.

mod connections;
mod error;
mod peer;
mod pending_connections;
mod reply;
mod request_filter;
mod serve;
mod sessions;
mod timed_writes;
mod token;

pub use self::connections::{
    ConnectionLimits, LoopbackListener, RequestHandler, serve_connections,
};
pub use self::error::Error;
pub use self::peer::{ClientConnection, PeerProcess};
pub use self::reply::{ConnectionRefusal, HttpReply};
pub use self::request_filter::single_value;
pub use self::serve::{request_connection, serve, session_id};
pub use self::sessions::{ClientLimits, ClientSessions};
pub use self::token::BearerToken;

/// The one path there is.
pub const PATH: &str = "/mcp";
