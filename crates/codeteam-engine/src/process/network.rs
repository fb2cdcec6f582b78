//! What a confined command reaches, and the account of it.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use codeteam_core::event::Reached;
use codeteam_sandbox::Policy;
use codeteam_sandbox::egress::{
    Endpoint, Log, NOT_PUBLIC, Proxy, Record, Roots, Rules, Serving, Through, Upstream, Verdict,
};

/// Where the proxy is found inside.
const PROXY: u16 = 3128;

/// What tells programs of it, in the spellings that there are.
const PROXIED: &[&str] = &["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

/// More hosts than this are not named one by one.
const NAMED: usize = 200;

/// The network of a confined command: nothing but what is named here.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// What the proxy connects to.
    pub rules: Rules,
    /// APIs that are served on the ports from [`Network::endpoint_port`] on.
    pub endpoints: Vec<Upstream>,
    /// The user's own way out, if there is no other.
    pub through: Option<Through>,
    /// Where what is asked for is written to.
    pub account: Account,
}

impl Network {
    /// Where the proxy is found inside.
    pub fn proxy() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, PROXY).into()
    }

    /// The port on which an endpoint is served.
    pub fn endpoint_port(index: usize) -> u16 {
        u16::try_from(index).map_or(u16::MAX, |index| PROXY + 1 + index)
    }

    /// Tells a command where its network is.
    pub(crate) fn add_to(&self, policy: &mut Policy) {
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
    pub(crate) fn serve(&self, listeners: Vec<TcpListener>) -> io::Result<Vec<Serving>> {
        let mut listeners = listeners.into_iter();
        let mut serving = Vec::new();
        if let Some(listener) = listeners.next() {
            let mut proxy = Proxy::new(self.rules.clone(), self.account.log());
            if let Some(through) = &self.through {
                proxy = proxy.through(through.clone());
            }
            serving.push(proxy.serve(listener)?);
        }
        for (upstream, listener) in self.endpoints.iter().zip(listeners) {
            let roots = Roots::system()?;
            let mut endpoint = Endpoint::new(upstream.clone(), roots, self.account.log());
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
pub(crate) type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Everything that was asked for, counted by host, and told as it happens.
#[derive(Clone, Default)]
pub struct Account {
    hosts: Arc<Mutex<BTreeMap<String, Reached>>>,
    refused: Arc<Mutex<BTreeMap<String, RefusedHost>>>,
    tell: Option<Tell>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.hosts.fmt(f)
    }
}

impl Account {
    /// One that also tells, a line for each connection.
    pub fn telling(tell: Tell) -> Self {
        Self {
            tell: Some(tell),
            ..Self::default()
        }
    }

    /// What was asked for so far.
    pub fn hosts(&self) -> Vec<Reached> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.values().cloned().collect()
    }

    /// The hosts that were refused, each with the reason.
    pub fn refused(&self) -> Vec<RefusedHost> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.values().cloned().collect()
    }

    fn log(&self) -> Log {
        let account = self.clone();
        Arc::new(move |record| account.note(&record))
    }

    fn note(&self, record: &Record) {
        let host = format!("{}:{}", record.host, record.port);
        if let (Some(tell), Some(line)) = (&self.tell, line(&host, &record.verdict)) {
            tell(&line);
        }
        if let Verdict::Denied { why } = &record.verdict {
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
        let reached = hosts.entry(host.clone()).or_insert_with(|| Reached {
            host,
            ..Reached::default()
        });
        match &record.verdict {
            Verdict::Allowed { .. } => reached.allowed += 1,
            Verdict::Denied { .. } => reached.denied += 1,
            Verdict::Failed { .. } => reached.failed += 1,
            Verdict::Ended { up, down } => {
                reached.sent += up;
                reached.received += down;
            }
        }
    }
}

fn line(host: &str, verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Allowed { .. } => Some(format!("network: {host} allowed")),
        Verdict::Denied { why } => Some(format!("network: {host} refused: {why}")),
        Verdict::Failed { why } => Some(format!("network: {host} failed: {why}")),
        Verdict::Ended { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(host: &str, verdict: Verdict) -> Record {
        Record {
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
        let account = Account::telling(Arc::new(move |line: &str| {
            lines.lock().unwrap().push(line.to_owned());
        }));
        let why = "not allowed".to_owned();
        account.note(&record("a", Verdict::Denied { why: why.clone() }));
        account.note(&record("a", Verdict::Ended { up: 2, down: 3 }));
        for number in 0..300 {
            let why = why.clone();
            account.note(&record(&format!("evil{number}"), Verdict::Denied { why }));
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
