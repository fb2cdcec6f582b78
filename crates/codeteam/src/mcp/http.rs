//! The server over HTTP: many clients, one task.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use codeteam_http::{Limits, Listener, Sessions, Token};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::oneshot;

use super::clients::Clients;
use super::server::Server;
use super::team::{Place, Team};

/// Serves until the process is told to end. No repository is opened before a tool is called.
pub(crate) fn serve(
    place: Place,
    wait: Duration,
    listener: Listener,
    token: Token,
) -> io::Result<()> {
    let runtime = super::runtime()?;
    let sessions = Arc::new(Sessions::new(Limits::default()));
    let clients = Arc::new(Clients::new(Arc::clone(&sessions)));
    let team = Arc::new(Team::new(place));
    let make = move || Server::shared(Arc::clone(&team), Arc::clone(&clients), wait);
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
