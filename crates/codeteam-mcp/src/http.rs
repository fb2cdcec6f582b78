//! Serves MCP over HTTP: many clients, one task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use codeteam_http::{BearerToken, ClientLimits, ClientSessions, LoopbackListener};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::oneshot;

use super::checkout_task::{CheckoutTask, ServerContext};
use super::clients::ClientRegistry;
use super::server::McpServer;

/// Serves until the process receives a signal to end. No repository is opened before a tool is
/// called.
pub fn serve(
    place: ServerContext,
    wait: Duration,
    listener: LoopbackListener,
    token: BearerToken,
) -> io::Result<()> {
    let runtime = super::runtime()?;
    let sessions = Arc::new(ClientSessions::new(ClientLimits::default()));
    let clients = Arc::new(ClientRegistry::new(Arc::clone(&sessions)));
    let team = Arc::new(CheckoutTask::new(place));
    let make = move || McpServer::shared(Arc::clone(&team), Arc::clone(&clients), wait);
    let told = shutdown_signal()?;
    let end = async {
        // A closed channel means the same as a signal.
        let _ = told.await;
    };
    let served = runtime.block_on(codeteam_http::serve(listener, token, sessions, make, end));
    // Running work ends with the process; the log contains everything up to that point.
    runtime.shutdown_background();
    served.map_err(io::Error::other)
}

/// Returns a channel that reports the first signal to end; a second signal ends the process at
/// once.
fn shutdown_signal() -> io::Result<oneshot::Receiver<()>> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (tell, told) = oneshot::channel();
    let listen = move || {
        let mut tell = Some(tell);
        for signal in signals.forever() {
            match tell.take() {
                Some(tell) => drop(tell.send(())),
                None => std::process::exit(128 + signal),
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen)?;
    Ok(told)
}
