//! Serves a handler of the Model Context Protocol over HTTP, to programs on this machine.
//!
//! What it means: it listens on a loopback address and on no other; a request is looked at only if
//! it names this server and nothing else as its host, comes from no web page of anybody else's, and
//! carries the token; and what a client may take (connections, sessions, bytes, time) is limited. It
//! knows nothing of codeteam: what is served is any handler of the protocol, which `rmcp` speaks.

mod error;
mod gate;
mod newcomers;
mod peer;
mod reply;
mod serve;
mod sessions;
mod token;

pub use self::error::Error;
pub use self::peer::{ClientConnection, PeerProcess};
pub use self::serve::{LoopbackListener, client, connection, serve};
pub use self::sessions::{ClientLimits, ClientSessions};
pub use self::token::BearerToken;

/// The one path there is.
pub const PATH: &str = "/mcp";
