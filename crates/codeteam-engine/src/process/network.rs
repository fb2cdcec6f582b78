//! What a confined command reaches, and the account of it.

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

/// Where the proxy is found inside.
const PROXY: u16 = 3128;

/// What tells programs of it, in the spellings that there are.
const PROXIED: &[&str] = &["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

/// More hosts than this are not named one by one.
const NAMED: usize = 200;

/// The network of a confined command: nothing but what is named here.
#[derive(Debug, Clone, Default)]
pub struct NetworkAccess {
    /// What the proxy connects to.
    pub rules: EgressRules,
    /// APIs that are served on the ports from [`NetworkAccess::endpoint_port`] on.
    pub endpoints: Vec<ApiUpstream>,
    /// The user's own way out, if there is no other.
    pub through: Option<UserProxy>,
    /// Where what is asked for is written to.
    pub account: NetworkLedger,
}

impl NetworkAccess {
    /// Where the proxy is found inside.
    pub fn proxy() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, PROXY).into()
    }

    /// The port on which an endpoint is served.
    pub fn endpoint_port(index: usize) -> u16 {
        u16::try_from(index).map_or(u16::MAX, |index| PROXY + 1 + index)
    }

    /// Tells a command where its network is.
    pub(crate) fn add_to(&self, policy: &mut SandboxPolicy) {
        let endpoints = (0..self.endpoints.len()).map(Self::endpoint_port);
        policy.ports = std::iter::once(PROXY).chain(endpoints).collect();
        let url = format!("http://127.0.0.1:{PROXY}");
        for name in PROXIED {
            policy.set_env(*name, &url);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            policy.set_env(name, "localhost,127.0.0.1,::1");
        }
        // Node looks at the above only when it is told to.
        policy.set_env("NODE_USE_ENV_PROXY", "1");
    }

    /// Serves the listeners that the sandbox has handed out.
    pub(crate) fn serve(&self, listeners: Vec<TcpListener>) -> io::Result<Vec<PortServer>> {
        let mut listeners = listeners.into_iter();
        let mut serving = Vec::new();
        if let Some(listener) = listeners.next() {
            let mut proxy = EgressProxy::new(self.rules.clone(), self.account.log());
            if let Some(through) = &self.through {
                proxy = proxy.through(through.clone());
            }
            serving.push(proxy.serve(listener)?);
        }
        for (upstream, listener) in self.endpoints.iter().zip(listeners) {
            let roots = TrustRoots::system()?;
            let mut endpoint = ApiEndpoint::new(upstream.clone(), roots, self.account.log());
            if let Some(through) = &self.through {
                endpoint = endpoint.through(through.clone());
            }
            serving.push(endpoint.serve(listener)?);
        }
        Ok(serving)
    }
}

/// A host that a confined command asked for and was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedHost {
    /// `name:port`.
    pub host: String,
    /// By which rule.
    pub why: String,
    /// Whether the host is named, and its name leads to an address that is not public.
    pub is_private: bool,
}

/// Takes a line for each connection.
pub(crate) type ConnectionLogger = Arc<dyn Fn(&str) + Send + Sync>;

/// Everything that was asked for, counted by host, and told as it happens.
#[derive(Clone, Default)]
pub struct NetworkLedger {
    hosts: Arc<Mutex<BTreeMap<String, HostTraffic>>>,
    refused: Arc<Mutex<BTreeMap<String, RefusedHost>>>,
    tell: Option<ConnectionLogger>,
}

impl std::fmt::Debug for NetworkLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.hosts.fmt(f)
    }
}

impl NetworkLedger {
    /// One that also tells, a line for each connection.
    pub fn telling(tell: ConnectionLogger) -> Self {
        Self {
            tell: Some(tell),
            ..Self::default()
        }
    }

    /// What was asked for so far.
    pub fn hosts(&self) -> Vec<HostTraffic> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.values().cloned().collect()
    }

    /// The hosts that were refused, each with the reason.
    pub fn refused(&self) -> Vec<RefusedHost> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.values().cloned().collect()
    }

    fn log(&self) -> EgressLog {
        let account = self.clone();
        Arc::new(move |record| account.note(&record))
    }

    fn note(&self, record: &EgressRecord) {
        let host = format!("{}:{}", record.host, record.port);
        if let (Some(tell), Some(line)) = (&self.tell, line(&host, &record.verdict)) {
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

fn line(host: &str, verdict: &EgressVerdict) -> Option<String> {
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
        let account = NetworkLedger::telling(Arc::new(move |line: &str| {
            lines.lock().unwrap().push(line.to_owned());
        }));
        let why = "not allowed".to_owned();
        account.note(&record("a", EgressVerdict::Denied { why: why.clone() }));
        account.note(&record("a", EgressVerdict::Ended { up: 2, down: 3 }));
        for number in 0..300 {
            let why = why.clone();
            account.note(&record(
                &format!("evil{number}"),
                EgressVerdict::Denied { why },
            ));
        }
        let hosts = account.hosts();
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
