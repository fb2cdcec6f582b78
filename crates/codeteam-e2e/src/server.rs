//! The server: a thread for each connection, every request kept, every answer from the scenario.

mod connection;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::capture::{RecordedRequest, RecordedRequests};
use crate::gates::ResponseGates;
use crate::scenario::Scenario;
use crate::scenario_player::ScenarioPlayer;

/// A scripted model server on a loopback port. It stops when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ServerShared>,
    accepting: Option<JoinHandle<()>>,
}

/// The options of a server.
#[derive(Debug, Default)]
pub struct ServerOptions {
    /// The port; 0 for one that is free.
    pub port: u16,
    /// A file to which every request is written, one JSON object per line.
    pub record: Option<File>,
    /// Told of every request, as a line for a person.
    pub tell: Option<fn(&str)>,
    /// The time that a model takes before it answers.
    pub thinking_time: Duration,
}

/// The state that connections share.
#[derive(Debug)]
struct ServerShared {
    started: Instant,
    state: Mutex<ServerState>,
    arrived: Condvar,
    gates: ResponseGates,
    tell: Option<fn(&str)>,
    thinking_time: Duration,
}

#[derive(Debug)]
struct ServerState {
    playing: ScenarioPlayer,
    requests: Vec<RecordedRequest>,
    record: Option<File>,
    connections: BTreeMap<u64, TcpStream>,
    next_connection: u64,
    closing: bool,
}

impl ModelServer {
    /// The longest wait for a request: a test that waits longer has failed.
    pub const PATIENCE: Duration = Duration::from_mins(1);

    /// Starts a server on a free port.
    pub fn start(scenario: Scenario) -> io::Result<Self> {
        Self::start_with(scenario, ServerOptions::default())
    }

    /// Starts a server.
    pub fn start_with(scenario: Scenario, options: ServerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerShared {
            started: Instant::now(),
            state: Mutex::new(ServerState {
                playing: ScenarioPlayer::new(scenario),
                requests: Vec::new(),
                record: options.record,
                connections: BTreeMap::new(),
                next_connection: 0,
                closing: false,
            }),
            arrived: Condvar::new(),
            gates: ResponseGates::default(),
            tell: options.tell,
            thinking_time: options.thinking_time,
        });
        let accepting = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept_connections(&listener, &shared))
        };
        Ok(Self {
            address,
            shared,
            accepting: Some(accepting),
        })
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, without a path: what `ANTHROPIC_BASE_URL` and `GOOGLE_GEMINI_BASE_URL` want.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its URL with `/v1`: what `OPENAI_BASE_URL` and codex's `openai_base_url` want.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far.
    pub fn requests(&self) -> RecordedRequests {
        RecordedRequests(self.shared.state().requests.clone())
    }

    /// Waits until `enough` is true of the requests; `None` if it does not become so.
    pub fn wait_until(
        &self,
        enough: impl Fn(&RecordedRequests) -> bool,
    ) -> Option<RecordedRequests> {
        let deadline = Instant::now() + Self::PATIENCE;
        let mut state = self.shared.state();
        loop {
            let requests = RecordedRequests(state.requests.clone());
            if enough(&requests) {
                return Some(requests);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self
                .shared
                .arrived
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Waits for this many questions to a model; `None` if they do not come.
    pub fn wait_for(&self, count: usize) -> Option<RecordedRequests> {
        self.wait_until(|requests| requests.to_models().len() >= count)
    }

    /// Waits until this many answers wait at a gate; returns whether they do.
    pub fn wait_held(&self, gate: &str, count: usize) -> bool {
        self.shared
            .gates
            .wait_until_held(gate, count, Self::PATIENCE)
    }

    /// Releases everything that waits at a gate or will come to it.
    pub fn release(&self, gate: &str) {
        self.shared.gates.open(gate);
    }

    /// Returns what the scenario did not foresee, in order.
    pub fn problems(&self) -> Vec<String> {
        let state = self.shared.state();
        let problems = state.requests.iter();
        problems.filter_map(|r| r.problem.clone()).collect()
    }

    /// Fails a test if the scenario did not foresee something.
    ///
    /// # Panics
    /// If there are problems.
    pub fn assert_no_problems(&self) {
        let problems = self.problems();
        assert!(
            problems.is_empty(),
            "the scripted model server had problems:\n{}",
            problems.join("\n")
        );
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.closing = true;
            for stream in state.connections.values() {
                // Gone already is as good.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.shared.gates.open_all();
        // Wakes the thread that accepts, which then sees that it is over.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl ServerShared {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request, and lets those know who wait for it.
    fn store_request(&self, state: &mut ServerState, mut request: RecordedRequest) {
        request.order = state.requests.len() as u64 + 1;
        if let Some(record) = &mut state.record
            && let Ok(line) = serde_json::to_string(&request)
        {
            // A record that cannot be written is not worth failing an answer.
            let _ = writeln!(record, "{line}");
        }
        if let Some(tell) = self.tell {
            tell(&request.summary_line());
        }
        state.requests.push(request);
        self.arrived.notify_all();
    }
}

fn accept_connections(listener: &TcpListener, shared: &Arc<ServerShared>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let number = {
            let mut state = shared.state();
            if state.closing {
                return;
            }
            let Ok(clone) = stream.try_clone() else {
                continue;
            };
            state.next_connection += 1;
            let number = state.next_connection;
            state.connections.insert(number, clone);
            number
        };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // A client that goes away in the middle is a client's right.
            let _ = connection::serve(&shared, stream);
            // Only now is the socket's last owner gone, and the client sees the end.
            if let Some(stream) = shared.state().connections.remove(&number) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
    }
}
