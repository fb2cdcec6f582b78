//! Why nothing can be served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others than this machine could connect there.
    #[error("`{0}` is not a loopback address: others could connect to it")]
    NotLoopback(SocketAddr),
    /// It cannot be listened there.
    #[error("could not listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be listened on a socket.
    #[error("could not listen on `{}`", path.display())]
    ListenSocket {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The protocol needs an address of the network.
    #[error("the Model Context Protocol is served at an address, not at a socket")]
    NoAddress,
    /// The system gives no random bytes.
    #[error("could not make a token")]
    Random(#[source] io::Error),
    /// A chosen token cannot be used.
    #[error("the token cannot be used: {0}")]
    Token(&'static str),
}
