//! codeteam as a server of the Model Context Protocol: it leads the session of a client through a
//! task, one role after another. All that knows that protocol is here.

mod answer;
mod clients;
mod evidence;
mod expected;
mod history;
pub(crate) mod http;
mod prompts;
mod resources;
mod server;
mod status;
pub(crate) mod submit;
mod team;
mod tools;
mod wire;

use std::io;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use self::server::McpServer;
pub(crate) use self::team::ServerContext;
use self::wire::LineTransport;

/// How many things may be done beside the loop at once; others wait for their turn.
const BESIDE: usize = 16;

/// Serves on standard input and output until the client goes. No repository is opened and no process
/// started before a tool is called.
pub(crate) fn serve(place: ServerContext, wait: Duration) -> io::Result<()> {
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
            // It went before it had said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    })
}

/// One thread that serves, and a few for what takes time.
fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BESIDE)
        .build()
}
