//! Defines the network that a confined command can reach, and records what it asked for.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use codeteam_core::event::HostTraffic;
use codeteam_sandbox::SandboxPolicy;
use codeteam_sandbox::egress::{
    ApiEndpoint, ApiUpstream, EgressLog, EgressProxy, EgressRecord, EgressRules, EgressVerdict,
    NOT_PUBLIC, PortServer, TrustRoots, UserProxy,
};

/// The proxy's port inside the sandbox.
const PROXY: u16 = 3128;

/// The environment variables that point programs to the proxy, in all common spellings.
const PROXIED: &[&str] = &["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

/// Hosts beyond this number are not listed individually.
const NAMED: usize = 200;

/// The network of a confined command. It can reach only what is listed here.
///
/// The sandbox has its own, empty network. Inside it, an HTTP proxy listens on
/// [`NetworkAccess::proxy_address`] and each API endpoint on its own port after that.
/// [`NetworkAccess::apply_to_policy`] tells the command about these ports before it starts; once
/// the sandbox has handed out its listeners, [`NetworkAccess::serve`] answers on them from the host
/// side.
#[derive(Debug, Clone, Default)]
pub struct NetworkAccess {
    /// The hosts that the proxy connects to.
    pub rules: EgressRules,
    /// APIs that are served on consecutive ports: the first on [`NetworkAccess::endpoint_port`] of
    /// 0.
    pub endpoints: Vec<ApiUpstream>,
    /// The user's own proxy, if connections must go through one.
    pub user_proxy: Option<UserProxy>,
    /// The record of every connection that was requested.
    pub ledger: NetworkLedger,
}

impl NetworkAccess {
    /// Returns the proxy's address inside the sandbox.
    pub fn proxy_address() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, PROXY).into()
    }

    /// Returns the port on which the endpoint with this index is served.
    pub fn endpoint_port(index: usize) -> u16 {
        u16::try_from(index).map_or(u16::MAX, |index| PROXY + 1 + index)
    }

    /// Opens the ports in a command's policy and sets the environment variables that point to them.
    pub fn apply_to_policy(&self, policy: &mut SandboxPolicy) {
        let endpoints = (0..self.endpoints.len()).map(Self::endpoint_port);
        policy.ports = std::iter::once(PROXY).chain(endpoints).collect();
        let url = format!("http://127.0.0.1:{PROXY}");
        for name in PROXIED {
            policy.set_env(*name, &url);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            policy.set_env(name, "localhost,127.0.0.1,::1");
        }
        // Node honours the variables above only if this one is set.
        policy.set_env("NODE_USE_ENV_PROXY", "1");
    }

    /// Serves the listeners that the sandbox has handed out: the first is the proxy, the others are
    /// the endpoints in order.
    pub fn serve(&self, listeners: Vec<TcpListener>) -> io::Result<Vec<PortServer>> {
        let mut listeners = listeners.into_iter();
        let mut serving = Vec::new();
        if let Some(listener) = listeners.next() {
            let mut proxy = EgressProxy::new(self.rules.clone(), self.ledger.log());
            if let Some(through) = &self.user_proxy {
                proxy = proxy.through_proxy(through.clone());
            }
            serving.push(proxy.serve(listener)?);
        }
        for (upstream, listener) in self.endpoints.iter().zip(listeners) {
            let roots = TrustRoots::from_system()?;
            let mut endpoint = ApiEndpoint::new(upstream.clone(), roots, self.ledger.log());
            if let Some(through) = &self.user_proxy {
                endpoint = endpoint.through_proxy(through.clone());
            }
            serving.push(endpoint.serve(listener)?);
        }
        Ok(serving)
    }
}

/// A host that a confined command asked for and was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHost {
    /// `name:port`.
    pub host: String,
    /// The rule that refused it.
    pub why: String,
    /// Whether the host is allowed by name, but its name resolves to an address that is not public.
    pub is_private: bool,
}

/// Receives one line per connection.
pub(crate) type ConnectionLogger = Arc<dyn Fn(&str) + Send + Sync>;

/// Counts the connections that were requested, by host, and passes each on to a logger as it
/// happens.
#[derive(Clone, Default)]
pub struct NetworkLedger {
    hosts: Arc<Mutex<BTreeMap<String, HostTraffic>>>,
    refused: Arc<Mutex<BTreeMap<String, RefusedHost>>>,
    logger: Option<ConnectionLogger>,
}

impl std::fmt::Debug for NetworkLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.hosts.fmt(f)
    }
}

impl NetworkLedger {
    /// Creates a ledger that also logs one line per connection.
    pub fn with_logger(tell: ConnectionLogger) -> Self {
        Self {
            logger: Some(tell),
            ..Self::default()
        }
    }

    /// Returns the hosts that were requested so far, with their traffic.
    pub fn reached_hosts(&self) -> Vec<HostTraffic> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.values().cloned().collect()
    }

    /// Returns the hosts that were refused, each with the reason.
    pub fn refused_hosts(&self) -> Vec<RefusedHost> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.values().cloned().collect()
    }

    fn log(&self) -> EgressLog {
        let account = self.clone();
        // Connections are served on threads of their own, but belong to the attempt.
        let span = tracing::Span::current();
        Arc::new(move |record| span.in_scope(|| account.record_connection(&record)))
    }

    fn record_connection(&self, record: &EgressRecord) {
        let host = format!("{}:{}", record.host, record.port);
        tracing::debug!(
            connection = record.connection,
            "egress to {host}: {:?}",
            record.verdict
        );
        if let (Some(tell), Some(line)) = (&self.logger, connection_line(&host, &record.verdict)) {
            tell(&line);
        }
        if let EgressVerdict::Denied { why } = &record.verdict {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            if refused.len() < NAMED {
                refused.entry(host.clone()).or_insert_with(|| RefusedHost {
                    host: host.clone(),
                    why: why.clone(),
                    is_private: why.starts_with(NOT_PUBLIC),
                });
            }
        }
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let host = if hosts.len() < NAMED || hosts.contains_key(&host) {
            host
        } else {
            "others".to_owned()
        };
        let reached = hosts.entry(host.clone()).or_insert_with(|| HostTraffic {
            host,
            ..HostTraffic::default()
        });
        match &record.verdict {
            EgressVerdict::Allowed { .. } => reached.allowed += 1,
            EgressVerdict::Denied { .. } => reached.denied += 1,
            EgressVerdict::Failed { .. } => reached.failed += 1,
            EgressVerdict::Ended { up, down } => {
                reached.sent += up;
                reached.received += down;
            }
        }
    }
}

fn connection_line(host: &str, verdict: &EgressVerdict) -> Option<String> {
    match verdict {
        EgressVerdict::Allowed { .. } => Some(format!("network: {host} allowed")),
        EgressVerdict::Denied { why } => Some(format!("network: {host} refused: {why}")),
        EgressVerdict::Failed { why } => Some(format!("network: {host} failed: {why}")),
        EgressVerdict::Ended { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(host: &str, verdict: EgressVerdict) -> EgressRecord {
        EgressRecord {
            connection: 1,
            host: host.to_owned(),
            port: 443,
            verdict,
        }
    }

    #[test]
    fn everything_is_counted_and_told_but_names_are_bounded() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&told);
        let account = NetworkLedger::with_logger(Arc::new(move |line: &str| {
            lines.lock().unwrap().push(line.to_owned());
        }));
        let why = "not allowed".to_owned();
        account.record_connection(&record("a", EgressVerdict::Denied { why: why.clone() }));
        account.record_connection(&record("a", EgressVerdict::Ended { up: 2, down: 3 }));
        for number in 0..300 {
            let why = why.clone();
            account.record_connection(&record(
                &format!("evil{number}"),
                EgressVerdict::Denied { why },
            ));
        }
        let hosts = account.reached_hosts();
        assert_eq!(hosts.iter().map(|reached| reached.denied).sum::<u64>(), 301);
        assert_eq!(hosts.len(), NAMED + 1);
        assert_eq!((hosts[0].sent, hosts[0].received), (2, 3));
        assert_eq!(
            told.lock().unwrap()[0],
            "network: a:443 refused: not allowed"
        );
        assert_eq!(told.lock().unwrap().len(), 301);
    }
}
