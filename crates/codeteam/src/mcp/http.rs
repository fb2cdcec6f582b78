//! The server over HTTP: many clients, one task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use codeteam_http::{BearerToken, ClientLimits, ClientSessions, LoopbackListener};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::oneshot;

use super::clients::ClientRegistry;
use super::server::McpServer;
use super::team::{CheckoutTask, ServerContext};

/// Serves until the process is told to end. No repository is opened before a tool is called.
pub(crate) fn serve(
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
    let told = told_to_end()?;
    let end = async {
        // Without anybody who could tell, it is the same as being told.
        let _ = told.await;
    };
    let served = runtime.block_on(codeteam_http::serve(listener, token, sessions, make, end));
    // What still runs is ended with the process; the log has everything up to it.
    runtime.shutdown_background();
    served.map_err(io::Error::other)
}

/// Comes when the process is told to end; told twice, it ends at once.
fn told_to_end() -> io::Result<oneshot::Receiver<()>> {
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
