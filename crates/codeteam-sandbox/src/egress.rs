//! Controls the network traffic out of a sandbox: the orchestrator's end of its ports.
//!
//! A confined worker has its own network with nothing in it but the ports of its policy. The
//! orchestrator can serve two things there:
//!
//! - [`EgressProxy`], an HTTP proxy that connects to the exact pairs of host and port in its
//!   [`EgressRules`], and to nothing else;
//! - [`ApiEndpoint`], which passes requests on to one fixed API and adds the key that the worker
//!   must not have.
//!
//! Whatever a worker sends is treated as hostile. Every request is parsed strictly and written
//! anew; one connection carries one request; names are resolved once, here, and the connection goes
//! to exactly the address that was checked. Every decision is reported to the [`EgressLog`].
//!
//! This does not protect against what an allowed host does with the data it is sent. A host that
//! serves many others under one address (a content delivery network) can be asked for them inside
//! TLS, where nobody sees it; allow such hosts with that in mind.

mod address;
mod connection;
mod dial;
mod endpoint;
mod exchange;
mod http;
mod proxy;
mod relay;
mod resolve;
mod rules;
mod server;
mod stream;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use dial::{BadProxy, UserProxy};
pub use endpoint::{
    ApiEndpoint, ApiRoute, ApiUpstream, BadHeader, BadUpstream, Secret, SecretHeader,
};
pub use proxy::EgressProxy;
pub use resolve::{NameResolver, NameRoute, look_up_name};
pub use rules::{AllowedHost, BadEntry, EgressRules};
pub use server::PortServer;
pub use tls::TrustRoots;

/// The beginning of the reason for which an allowed host is refused because its name resolves to a
/// private address and the configuration does not permit that.
pub const NOT_PUBLIC: &str = "its name leads to no public address";

/// Receives every decision, on the thread that serves the connection: serving continues when the
/// callback returns.
pub type EgressLog = Arc<dyn Fn(EgressRecord) + Send + Sync>;

/// A decision about a connection from inside, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressRecord {
    /// The number of the connection at its listener, counted from 1.
    pub connection: u64,
    /// The requested host: printable, and no longer than a name can be. For a request that could
    /// not be parsed, its first line.
    pub host: String,
    /// The requested port; 0 if it could not be parsed.
    pub port: u16,
    /// The decision.
    pub verdict: EgressVerdict,
}

/// The decision about a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EgressVerdict {
    /// The connection was made.
    Allowed {
        /// The address that was connected to: the host's, or that of the user's own proxy.
        address: SocketAddr,
    },
    /// The connection was refused.
    Denied {
        /// The rule that refused it.
        why: String,
    },
    /// The connection was allowed but could not be made.
    Failed {
        /// The reason it failed.
        why: String,
    },
    /// An allowed connection has ended.
    Ended {
        /// The number of bytes sent out.
        up: u64,
        /// The number of bytes received.
        down: u64,
    },
}

/// Makes text that was sent from inside safe for a record or an answer.
fn printable(text: &str) -> String {
    const LONGEST: usize = 255;
    text.chars()
        .take(LONGEST)
        .map(|c| if c.is_ascii_graphic() { c } else { '?' })
        .collect()
}
