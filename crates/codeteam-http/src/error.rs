//! Why nothing can be served.

use std::io;
use std::net::SocketAddr;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others than this machine could connect there.
    #[error("`{0}` is no loopback address: others could connect to it")]
    NotLoopback(SocketAddr),
    /// It cannot be listened there.
    #[error("could not listen on `{address}`")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no random bytes.
    #[error("could not make a token")]
    Random(#[source] io::Error),
    /// A token that somebody chose cannot be used.
    #[error("the token cannot be used: {0}")]
    Token(&'static str),
}
