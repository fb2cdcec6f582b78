//! The way out of a sandbox: the orchestrator's end of its ports.
//!
//! A confined worker has a network of its own with nothing in it but the ports
//! of its policy. Two things can be served there, both in the orchestrator:
//!
//! - [`EgressProxy`], an HTTP proxy that connects to the exact pairs of host and port
//!   that its [`EgressRules`] name, and to nothing else;
//! - [`ApiEndpoint`], which passes requests on to one fixed API and adds the key
//!   that the worker is not to have.
//!
//! What a worker sends is hostile. Every request is parsed strictly and written
//! anew; one connection carries one request; names are resolved once, here, and
//! exactly the address that was judged is dialled. Whatever is decided goes to
//! the [`EgressLog`].
//!
//! Not promised: what an allowed host does with what it is sent. A host that
//! serves many others under one address (a content network) can be asked for
//! them inside TLS, where nobody sees it; allow such hosts with that in mind.

mod address;
mod dial;
mod endpoint;
mod exchange;
mod http;
mod proxy;
mod relay;
mod resolve;
mod rules;
mod server;
mod tls;
mod visit;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use dial::{BadProxy, UserProxy};
pub use endpoint::{
    ApiEndpoint, ApiRoute, ApiUpstream, BadHeader, BadUpstream, Secret, SecretHeader,
};
pub use proxy::EgressProxy;
pub use resolve::{NameResolver, NameRoute, SystemResolver, look_up};
pub use rules::{AllowedHost, BadEntry, EgressRules};
pub use server::PortServer;
pub use tls::TrustRoots;

/// How the reason begins for which a host that is allowed is refused, because its name leads into a
/// private network and nobody has said that it may.
pub const NOT_PUBLIC: &str = "its name leads to no public address";

/// Where everything that is decided is written to, by the thread that serves
/// the connection: it goes on when this returns.
pub type EgressLog = Arc<dyn Fn(EgressRecord) + Send + Sync>;

/// One thing that was decided about a connection from inside, or its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressRecord {
    /// Which connection of its listener, counted from 1.
    pub connection: u64,
    /// The host that was asked for: printable, and not longer than a name can
    /// be. For a request that could not be read, what its first line says.
    pub host: String,
    /// The port that was asked for; 0 if there was none to be read.
    pub port: u16,
    /// What was decided.
    pub verdict: EgressVerdict,
}

/// What became of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EgressVerdict {
    /// It was made.
    Allowed {
        /// What was dialled: an address of the host, or of the user's own proxy.
        address: SocketAddr,
    },
    /// It was refused.
    Denied {
        /// By which rule.
        why: String,
    },
    /// It was allowed but could not be made.
    Failed {
        /// What went wrong.
        why: String,
    },
    /// An allowed one is over.
    Ended {
        /// Bytes that went out.
        up: u64,
        /// Bytes that came in.
        down: u64,
    },
}

/// What may stand in a record or an answer of what somebody inside has sent.
fn printable(text: &str) -> String {
    const LONGEST: usize = 255;
    text.chars()
        .take(LONGEST)
        .map(|c| if c.is_ascii_graphic() { c } else { '?' })
        .collect()
}
