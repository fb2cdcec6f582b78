//! codeteam as a server of the Model Context Protocol: it leads a client's session through a task,
//! one role after another.
//!
//! Everything that knows the protocol is in this crate; the run itself is driven by the engine.
//! [`serve`] talks to one client over standard input and output, [`http`] to several over HTTP, and
//! [`submit`] is the small server that takes a worker's answer. A request passes through these
//! layers: `server` translates it from the protocol, `tools` parses the call, `checkout_task` acts
//! on the run, and `next_expected` builds the answer that tells the session what to do next.

mod checkout_task;
mod clients;
mod evidence;
pub mod http;
mod line_transport;
mod next_expected;
mod prompts;
mod resources;
mod server;
mod status;
pub mod submit;
mod task_history;
mod tool_answer;
mod tools;

use std::io;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

pub use self::checkout_task::ServerContext;
use self::line_transport::LineTransport;
use self::server::McpServer;

/// The largest number of blocking jobs that run at once off the serving loop; others wait for their
/// turn.
const BESIDE: usize = 16;

/// Serves on standard input and output until the client disconnects. No repository is opened and no
/// process started before a tool is called.
pub fn serve(place: ServerContext, wait: Duration) -> io::Result<()> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let (read, write) = rmcp::transport::stdio_pipes();
        let served = McpServer::new(place, wait)
            .serve(LineTransport::new(read, write))
            .await;
        match served {
            Ok(service) => service
                .waiting()
                .await
                .map(|_| ())
                .map_err(io::Error::other),
            // The client disconnected before it had sent anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    })
}

/// Builds a runtime with one thread that serves and a few for blocking work.
fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BESIDE)
        .build()
}
