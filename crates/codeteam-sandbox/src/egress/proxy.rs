//! The proxy from a sandbox to the hosts on its allowlist.

use std::io::{self, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use super::connection::{RefusedRequest, SandboxConnection};
use super::dial::{Dialler, UserProxy};
use super::exchange::OutgoingRequest;
use super::http::{BodyFraming, RequestHead};
use super::relay::{TransferredBytes, relay};
use super::resolve::NameResolver;
use super::rules::{AllowedHost, EgressRules, split_host_port};
use super::server::{PortServer, serve};
use super::stream::StoppableStream;
use super::{EgressLog, EgressVerdict};

/// An HTTP proxy for one sandbox, on one of its ports: `HTTPS_PROXY` and `HTTP_PROXY` inside point
/// to it.
///
/// It connects only to pairs of host and port that its [`EgressRules`] contain, by `CONNECT` or as
/// a plain HTTP request, and reports each decision to its log. [`EgressProxy::serve`] starts it on
/// a listener that the sandbox has handed out; dropping the [`PortServer`] that this returns ends
/// all its connections.
pub struct EgressProxy {
    rules: EgressRules,
    dialler: Dialler,
    log: EgressLog,
}

impl EgressProxy {
    /// Creates a proxy that connects to the hosts in the rules and reports decisions to the log.
    pub fn new(rules: EgressRules, log: EgressLog) -> Self {
        Self {
            rules,
            dialler: Dialler::default(),
            log,
        }
    }

    /// Uses another resolver than this host's.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn NameResolver>) -> Self {
        self.dialler.resolver = resolver;
        self
    }

    /// Connects through the user's own proxy, which then also resolves names, except to private
    /// hosts.
    #[must_use]
    pub fn through_proxy(mut self, proxy: UserProxy) -> Self {
        self.dialler.user_proxy = Some(proxy);
        self
    }

    /// Serves a listener from inside until the result is dropped.
    pub fn serve(self, listener: TcpListener) -> io::Result<PortServer> {
        let log = Arc::clone(&self.log);
        serve(listener, log, move |visit| self.handle_connection(&visit))
    }

    fn handle_connection(&self, visit: &SandboxConnection<'_>) {
        let mut reader = visit.reader();
        let served = match visit.read_request(&mut reader) {
            Ok(Some(request)) => self.handle_request(visit, &request, reader),
            Ok(None) => Ok(()),
            Err(refused) => Err(refused),
        };
        if let Err(refused) = served {
            visit.refuse(&self.log, refused);
        }
    }

    fn handle_request(
        &self,
        visit: &SandboxConnection<'_>,
        request: &RequestHead,
        reader: BufReader<StoppableStream<'_>>,
    ) -> Result<(), RefusedRequest> {
        if request.method == "CONNECT" {
            return self.tunnel(visit, request, &reader);
        }
        self.forward(visit, request, reader)
    }

    fn tunnel(
        &self,
        visit: &SandboxConnection<'_>,
        request: &RequestHead,
        reader: &BufReader<StoppableStream<'_>>,
    ) -> Result<(), RefusedRequest> {
        let odd = |why: String| RefusedRequest::malformed(&request.target, why);
        let body = request.body().map_err(|why| odd(why.to_string()))?;
        if !matches!(body, BodyFraming::Empty | BodyFraming::Length(0)) {
            return Err(odd("a CONNECT has no body".to_owned()));
        }
        let (host, port) = split_host_port(&request.target).map_err(|why| odd(why.to_owned()))?;
        let port = port.ok_or_else(|| odd("it names no port".to_owned()))?;
        let allowed = self.allowed_host(host, port)?;
        let dialled = self.dialler.dial(allowed, visit.stop);
        let (server, address) =
            dialled.map_err(|why| RefusedRequest::from_dial_error(host, port, why))?;
        visit.record(&self.log, host, port, EgressVerdict::Allowed { address });
        let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
        let moved = match visit.stream().write_all(established) {
            Ok(()) => relay(&visit.client, &server, reader.buffer(), visit.stop),
            Err(_) => TransferredBytes::default(),
        };
        drop(server);
        visit.record(&self.log, host, port, moved.into());
        Ok(())
    }

    /// Forwards an unencrypted request, for hosts that speak plain HTTP: one request, and nothing
    /// that may follow it on the same connection.
    fn forward(
        &self,
        visit: &SandboxConnection<'_>,
        request: &RequestHead,
        mut reader: BufReader<StoppableStream<'_>>,
    ) -> Result<(), RefusedRequest> {
        let odd = |why: String| RefusedRequest::malformed(&request.target, why);
        let body = request.body().map_err(|why| odd(why.to_string()))?;
        let (authority, target) =
            split_absolute(&request.target).map_err(|why| odd(why.to_owned()))?;
        let (host, port) = split_host_port(authority).map_err(|why| odd(why.to_owned()))?;
        let port = port.unwrap_or(80);
        let allowed = self.allowed_host(host, port)?;
        if request.minor == 0 {
            return Err(odd("it is HTTP/1.0".to_owned()));
        }
        let dialled = self.dialler.dial(allowed, visit.stop);
        let (server, address) =
            dialled.map_err(|why| RefusedRequest::from_dial_error(host, port, why))?;
        visit.record(&self.log, host, port, EgressVerdict::Allowed { address });
        let outgoing = OutgoingRequest::new(request, target, host_field(allowed), body);
        let mut wire = StoppableStream::new(&server, visit.stop);
        wire.peer = Some(&visit.client);
        let (moved, result) = outgoing.exchange(&mut reader, visit.stream(), wire);
        drop(server);
        visit.finish(&self.log, allowed, moved, result);
        Ok(())
    }

    fn allowed_host(&self, host: &str, port: u16) -> Result<&AllowedHost, RefusedRequest> {
        let why = "it is not on the list of hosts that may be reached from here";
        let found = self.rules.find(host, port);
        found.ok_or_else(|| RefusedRequest::denied(host, port, why))
    }
}

fn host_field(allowed: &AllowedHost) -> String {
    match allowed.port() {
        80 => allowed.host().to_owned(),
        _ => allowed.to_string(),
    }
}

/// Splits an absolute URL into host and port, and the target to request.
fn split_absolute(target: &str) -> Result<(&str, String), &'static str> {
    let Some(rest) = target.strip_prefix("http://") else {
        return Err("a proxy is asked for `http://host/…`, or by CONNECT");
    };
    if rest.contains('#') {
        return Err("it has a fragment");
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("it names a user");
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((authority, format!("{slash}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_targets_are_taken_apart() {
        let read = |target| split_absolute(target).ok();
        let some = |authority, path: &str| Some((authority, path.to_owned()));
        assert_eq!(read("http://a:80/b?c"), some("a:80", "/b?c"));
        assert_eq!(read("http://a"), some("a", "/"));
        assert_eq!(read("http://a?b"), some("a", "/?b"));
        assert_eq!(read("http://a\\b/c"), some("a\\b", "/c"));
        for odd in [
            "/",
            "*",
            "https://a/",
            "HTTP://a/",
            "http://u@a/",
            "http://a/#b",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
