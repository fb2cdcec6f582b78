//! The server as the program sees it: opened, asked for a link, served.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codeteam_engine::clock;
use codeteam_engine::env::Env;
use codeteam_engine::metrics::MetricsCache;
use codeteam_engine::problem::Problem;
use codeteam_http::{ConnectionLimits, LoopbackListener, serve_connections};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::oneshot;

use crate::drafts::DraftStore;
use crate::gate::{RefusalCounts, RequestGate};
use crate::listen::listen_at;
use crate::live_hub::LiveHub;
use crate::log_tail::LogTail;
use crate::output_cache::OutputCache;
use crate::projects::{ProjectRegistry, RunnerFactory};
use crate::server::{PageMemory, PageServer, SharedServer};
use crate::sessions::SessionRegistry;
use crate::state_file::StateFolder;

/// How many pages are made at the same time.
const BESIDE: usize = 16;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebAddress {
    /// At a port of the loopback; a free one if none is named.
    Port(Option<u16>),
    /// At a socket of this user.
    Socket(PathBuf),
}

/// What a server needs.
pub struct WebOptions {
    /// The environment that codeteam runs in.
    pub env: Env,
    /// The program itself.
    pub codeteam: PathBuf,
    /// The project whose runs are shown first, if there is one. The others of the user are shown too.
    pub root: Option<PathBuf>,
    /// Makes what runs commands of codeteam in a project.
    pub runners: RunnerFactory,
    /// Where it listens.
    pub address: WebAddress,
    /// Whether browsers use `127.0.0.1` instead of a name below `localhost`. Other local servers then
    /// see the cookie.
    pub plain_host: bool,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// There is no folder for the user's state.
    #[error("there is no folder for codeteam's state")]
    NoState,
    /// Another server of this user runs.
    #[error("a server of yours is running already")]
    Running,
    /// The state cannot be read or written.
    #[error("the state of the server cannot be read or written")]
    State(#[source] io::Error),
    /// No address could be taken.
    #[error(transparent)]
    Listen(#[from] codeteam_http::Error),
    /// The project cannot be read.
    #[error("{0}")]
    Project(String),
    /// Threads could not be started.
    #[error("the server could not be started")]
    Runtime(#[source] io::Error),
}

/// A server that has its addresses and does not serve yet.
pub struct WebServer {
    server: Arc<PageServer>,
    listeners: Vec<LoopbackListener>,
    port: u16,
}

impl WebServer {
    /// Takes the addresses, and begins to watch the project.
    pub fn open(options: WebOptions) -> Result<Self, WebError> {
        let state_home = options.env.state_home.clone().ok_or(WebError::NoState)?;
        let folder = StateFolder::take(&state_home).map_err(WebError::State)?;
        let folder = folder.ok_or(WebError::Running)?;
        let sessions = SessionRegistry::open(folder).map_err(WebError::State)?;
        let (label, last_port) = sessions.last_address();
        let (listeners, socket) = match &options.address {
            WebAddress::Port(port) => (listen_at(*port, last_port)?, None),
            WebAddress::Socket(path) => (
                vec![LoopbackListener::bind_socket(path)?],
                Some(path.as_path()),
            ),
        };
        let port = listeners.first().and_then(LoopbackListener::address);
        // Whoever forwards a port to the socket uses the port that the browser sees.
        let port = port.map_or(last_port.max(SOCKET_PORT), |address| address.port());
        sessions
            .set_address(port, options.plain_host, socket)
            .map_err(WebError::State)?;
        let boot = sessions.mint_code(clock::now()).map_err(WebError::State)?;
        let hub = Arc::new(LiveHub::new(
            boot.chars().take(8).filter(|c| *c != '-').collect(),
        ));
        let drafts = DraftStore::new(sessions.folder().drafts());
        let projects = ProjectRegistry::new(
            options.env,
            options.codeteam,
            options.runners,
            Arc::clone(&hub),
        );
        if let Some(root) = &options.root {
            let opened = projects.open(root);
            opened.map_err(|problem| WebError::Project(problem_line(&problem)))?;
        }
        let server = Arc::new(PageServer {
            gate: RequestGate::new(host_name(&label, port, options.plain_host)),
            sessions,
            refusals: RefusalCounts::default(),
            projects,
            hub,
            tail: Arc::default(),
            drafts,
            metrics: MetricsCache::default(),
            outputs: OutputCache::default(),
            memory: PageMemory::default(),
        });
        Ok(Self {
            server,
            listeners,
            port,
        })
    }

    /// Returns a link with which a browser signs in, once, within two minutes.
    pub fn sign_in_url(&self) -> io::Result<String> {
        self.server.sign_in_url(clock::now())
    }

    /// Returns the port that browsers use.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the process receives a signal to end. A second signal ends the process at once.
    pub fn serve(self) -> Result<(), WebError> {
        let told = shutdown_signal().map_err(WebError::Runtime)?;
        self.serve_until(async {
            // A closed channel means the same as a signal.
            let _ = told.await;
        })
    }

    fn serve_until(self, end: impl Future<Output = ()>) -> Result<(), WebError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BESIDE)
            .build()
            .map_err(WebError::Runtime)?;
        let server = self.server;
        LogTail::start(&server.tail, Arc::clone(&server.hub)).map_err(WebError::Runtime)?;
        let limits = ConnectionLimits {
            connections: 128,
            newcomers: 64,
            authentication_timeout: Duration::from_secs(5),
            bytes: 1 << 20,
            all_bytes: 16 << 20,
            arrival_timeout: Duration::from_secs(30),
        };
        let handler = Arc::new(SharedServer(Arc::clone(&server)));
        let ended = runtime.block_on(serve_connections(self.listeners, limits, handler, end));
        server.hub.close();
        server.tail.close();
        // A page that is being made is not waited for.
        runtime.shutdown_background();
        Ok(ended?)
    }
}

/// Returns a channel that reports the first signal to end.
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

/// The port that is forwarded to a socket.
const SOCKET_PORT: u16 = 4711;

/// Returns the host that browsers name.
pub(crate) fn host_name(label: &str, port: u16, plain_host: bool) -> String {
    if plain_host {
        format!("127.0.0.1:{port}")
    } else {
        format!("{label}.localhost:{port}")
    }
}

fn problem_line(problem: &Problem) -> String {
    let mut line = problem.what().to_owned();
    for cause in problem.causes() {
        line = format!("{line}: {cause}");
    }
    line
}
