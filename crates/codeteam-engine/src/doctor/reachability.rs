//! Checks from inside the sandbox whether a worker's API is reachable.
//!
//! codeteam runs its own program the way it runs a worker, with the network the worker would have.
//! That program connects to the API: through the proxy, or to the endpoint that would add the key.
//! It makes no request that costs anything, and sends no key.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use codeteam_sandbox::MountAccess;
use codeteam_sandbox::egress::{AllowedHost, ApiUpstream, EgressRules, UserProxy};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use codeteam_host::process::{
    self, CancelToken, CommandLauncher, CommandLimits, CommandSpec, ExitReason, HostView,
    NetworkAccess, NetworkLedger, SandboxProfile, unique_mark,
};

/// The hidden subcommand that connects from inside the sandbox.
const PROBE_COMMAND: &str = "api-probe";

/// The time limit for an answer. Nobody should have to wait because a machine is offline.
pub const PATIENCE: Duration = Duration::from_secs(10);

const LIMITS: CommandLimits = CommandLimits {
    wall: Duration::from_mins(1),
    silence: None,
    line_bytes: 64 << 10,
    total_bytes: 1 << 20,
    grace: Duration::from_secs(1),
};

/// The connection attempt that the confined program makes.
#[derive(Debug, Clone)]
pub struct ApiProbe {
    /// The address of the proxy or the endpoint.
    pub at: SocketAddr,
    /// The host to request from the proxy; `None` for an endpoint.
    pub to: Option<String>,
}

/// The result of a connection attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiProbeResult {
    /// The HTTP status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub why: String,
}

impl ApiProbe {
    /// Makes the connection attempt.
    pub fn perform(&self) -> ApiProbeResult {
        match self.status() {
            Ok(status) => ApiProbeResult {
                status: Some(status),
                why: String::new(),
            },
            Err(error) => ApiProbeResult {
                status: None,
                why: match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        format!("no answer within {} s", PATIENCE.as_secs())
                    }
                    _ => error.to_string(),
                },
            },
        }
    }

    fn status(&self) -> io::Result<u16> {
        let mut stream = TcpStream::connect_timeout(&self.at, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = match &self.to {
            Some(to) => format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"),
            None => "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
        };
        stream.write_all(request.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(1 << 10)).read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        status.ok_or_else(|| io::Error::other("it hung up without an answer"))
    }
}

/// The route to a worker's API.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionRoute {
    /// Through the proxy, for workers with a login.
    Proxied(AllowedHost),
    /// Through the endpoint that adds a key.
    Served(ApiUpstream),
}

/// Everything that is needed to check a route.
pub(crate) struct ApiProber<'a> {
    /// The launcher that confines workers.
    pub(crate) launcher: &'a dyn CommandLauncher,
    /// Whether that launcher really confines.
    pub(crate) confined: bool,
    /// The path of codeteam's own program.
    pub(crate) codeteam: &'a Path,
    /// The proxy that the user has to go through.
    pub(crate) through: Option<&'a UserProxy>,
}

impl ApiProber<'_> {
    /// Checks a route. Returns why the API is not reachable.
    pub(crate) fn probe(&self, way: &ConnectionRoute) -> Result<(), String> {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let telling = Arc::clone(&told);
        let account = NetworkLedger::with_logger(Arc::new(move |line: &str| {
            let mut told = telling.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(line.to_owned());
        }));
        let network = network(way, self.through.cloned(), account.clone());
        let answer = if self.confined {
            self.probe_confined(way, network)?
        } else {
            probe_unconfined(way, &network).map_err(|error| error.to_string())?
        };
        // What the proxy saw outside the sandbox is reliable; the answer inside is only derived
        // from it.
        let hosts = account.reached_hosts();
        if hosts.iter().any(|host| host.denied + host.failed > 0) {
            let told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let last = told.iter().rev().find(|line| !line.ends_with("allowed"));
            return Err(last.map_or_else(String::new, |line| without_names(line)));
        }
        match answer.status {
            Some(_) => Ok(()),
            None => Err(answer.why),
        }
    }

    fn probe_confined(
        &self,
        way: &ConnectionRoute,
        network: NetworkAccess,
    ) -> Result<ApiProbeResult, String> {
        let mut view = HostView::default();
        view.show(self.codeteam.to_owned(), MountAccess::ReadOnly);
        view.network = Some(network);
        let probe = match way {
            ConnectionRoute::Proxied(host) => ApiProbe {
                at: NetworkAccess::proxy_address(),
                to: Some(host.to_string()),
            },
            ConnectionRoute::Served(_) => ApiProbe {
                at: (Ipv4Addr::LOCALHOST, NetworkAccess::endpoint_port(0)).into(),
                to: None,
            },
        };
        let mut args: Vec<OsString> = vec![
            PROBE_COMMAND.into(),
            "--at".into(),
            probe.at.to_string().into(),
        ];
        args.extend(
            probe
                .to
                .into_iter()
                .flat_map(|to| ["--to".into(), to.into()]),
        );
        let spec = CommandSpec {
            program: self.codeteam.into(),
            args,
            cwd: "/".into(),
            env: Engine::child_env(&unique_mark("reachability"), Vec::new()),
            view,
            disk: None,
            brief: false,
        };
        let mut output = String::new();
        let mut sink = |line: process::OutputLine<'_>| {
            output.push_str(&line.text);
            output.push('\n');
        };
        let (profile, cancel) = (SandboxProfile::Worker, CancelToken::new());
        let ran = process::run_command(self.launcher, profile, &spec, &LIMITS, &cancel, &mut sink);
        let exit = ran.map_err(|error| error.to_string())?;
        if exit.status != ExitReason::Exited(0) {
            return Err(output.trim().to_owned());
        }
        serde_json::from_str(&output).map_err(|error| error.to_string())
    }
}

/// Makes the attempt from this process: an unconfined worker has the network of this machine.
fn probe_unconfined(way: &ConnectionRoute, network: &NetworkAccess) -> io::Result<ApiProbeResult> {
    let listeners = (0..=network.endpoints.len())
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<io::Result<Vec<_>>>()?;
    let addresses = listeners
        .iter()
        .map(TcpListener::local_addr)
        .collect::<io::Result<Vec<_>>>()?;
    let _serving = network.serve(listeners)?;
    let (at, to) = match way {
        ConnectionRoute::Proxied(host) => (addresses[0], Some(host.to_string())),
        ConnectionRoute::Served(_) => (addresses[1], None),
    };
    Ok(ApiProbe { at, to }.perform())
}

fn network(
    way: &ConnectionRoute,
    through: Option<UserProxy>,
    account: NetworkLedger,
) -> NetworkAccess {
    let (mut rules, mut endpoints) = (EgressRules::default(), Vec::new());
    match way {
        ConnectionRoute::Proxied(host) => rules.extend([host.clone()]),
        ConnectionRoute::Served(upstream) => endpoints.push(upstream.clone()),
    }
    NetworkAccess {
        rules,
        endpoints,
        user_proxy: through,
        ledger: account,
    }
}

/// Removes the host from `network: host failed: why`, because it is named elsewhere.
fn without_names(line: &str) -> String {
    let why = line.splitn(3, ": ").nth(2).unwrap_or(line);
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeteam_host::process::UnconfinedLauncher;

    fn probe_route(way: &ConnectionRoute) -> Result<(), String> {
        let prober = ApiProber {
            launcher: &UnconfinedLauncher::default(),
            confined: false,
            codeteam: Path::new("codeteam"),
            through: None,
        };
        prober.probe(way)
    }

    /// A server on this machine, which answers the first who comes with these words.
    fn server(answer: &'static str) -> (u16, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut asked, mut buffer) = (Vec::new(), [0; 1024]);
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                asked.extend(&buffer[..count]);
                if asked.ends_with(b"\r\n\r\n") {
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        (port, serving)
    }

    fn served(port: u16) -> ConnectionRoute {
        let upstream = ApiUpstream::parse(&format!("http://127.0.0.1:{port}/v1")).unwrap();
        ConnectionRoute::Served(upstream.allow_private())
    }

    #[test]
    fn an_api_is_reached_whatever_it_says_and_gets_no_key() {
        let (port, serving) = server("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(probe_route(&served(port)), Ok(()));
        let asked = serving.join().unwrap().to_lowercase();
        assert!(asked.starts_with("head /v1/ http/1.1\r\n"), "{asked}");
        assert!(!asked.contains("authorization") && !asked.contains("key"));
    }

    #[test]
    fn a_server_that_is_not_there_is_not_reached() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let why = probe_route(&served(port)).unwrap_err();
        assert!(why.to_lowercase().contains("refused"), "{why}");
    }

    #[test]
    fn one_that_is_no_api_is_not_reached() {
        let (port, serving) = server("hello\r\n");
        probe_route(&served(port)).unwrap_err();
        serving.join().unwrap();
    }

    #[test]
    fn the_proxy_takes_nobody_to_this_machine() {
        let host = AllowedHost::parse("localhost:1").unwrap();
        let why = probe_route(&ConnectionRoute::Proxied(host)).unwrap_err();
        assert!(why.contains("no public address"), "{why}");
    }

    #[test]
    fn the_proxy_reaches_a_host_that_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = AllowedHost::parse(&format!("localhost:{port}")).unwrap();
        assert_eq!(
            probe_route(&ConnectionRoute::Proxied(host.allow_private())),
            Ok(())
        );
    }
}
