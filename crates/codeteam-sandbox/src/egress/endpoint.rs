//! The endpoint: one API, with the key that stays outside.

use std::fmt;
use std::io::{self, BufReader};
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;

use super::dial::{Dialler, UserProxy};
use super::exchange::{ExchangeError, OutgoingRequest};
use super::http::{RequestHead, percent_decoded};
use super::relay::TransferredBytes;
use super::resolve::NameResolver;
use super::rules::{AllowedHost, check_name, split};
use super::server::{PortServer, serve};
use super::tls::TrustRoots;
use super::visit::{RefusedRequest, SandboxConnection};
use super::wire::StoppableStream;
use super::{EgressLog, EgressVerdict};

/// Something that is not to be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps it.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for whoever has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether it can be read off these bytes. Of `Bearer …` only the token is
    /// secret.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        let token = self.0.rsplit(' ').next().unwrap_or_default().as_bytes();
        !token.is_empty() && bytes.windows(token.len()).any(|window| window == token)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A line of a request's head that says who asks, such as `x-api-key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHeader {
    name: String,
    value: Secret,
}

/// Why a header cannot be sent. Its value is not named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header `{name}` cannot be sent: {why}")]
pub struct BadHeader {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl SecretHeader {
    /// One whose value is secret.
    pub fn new(name: &str, value: Secret) -> Result<Self, BadHeader> {
        let bad = |why| BadHeader {
            name: name.escape_debug().to_string(),
            why,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(bad(
                "its name has other characters than letters, digits, `-`",
            ));
        }
        let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if value.0.is_empty() || !value.0.bytes().all(is_visible) {
            return Err(bad("its value is empty or has characters that no key has"));
        }
        let name = name.to_owned();
        Ok(Self { name, value })
    }
}

/// One thing that may be asked of an API: a method and a path. A `*` in the path stands for
/// anything but a `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRoute {
    method: &'static str,
    path: String,
}

impl ApiRoute {
    /// What is asked with `method` at `path`, which begins with a `/` and has at most one `*`.
    pub fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
        }
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        let has_path = match self.path.split_once('*') {
            None => self.path == path,
            Some((before, after)) => path
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|name| !name.is_empty() && !name.contains('/')),
        };
        has_path && self.method == method
    }
}

/// The API that requests are passed on to, and the headers they are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUpstream {
    host: AllowedHost,
    is_secure: bool,
    prefix: String,
    headers: Vec<(String, Secret)>,
    /// All that may be asked; anything, if nobody has said.
    routes: Option<Vec<ApiRoute>>,
}

/// Why requests cannot be passed on to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be the address of an API: {why}")]
pub struct BadUpstream {
    /// The address.
    pub url: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl ApiUpstream {
    /// Reads `https://host[:port][/prefix]`, or `http://…` for what runs on
    /// this host or near it.
    pub fn parse(url: &str) -> Result<Self, BadUpstream> {
        read_upstream(url).map_err(|why| BadUpstream {
            url: url.escape_debug().to_string(),
            why,
        })
    }

    /// The same, whatever address the name leads to.
    #[must_use]
    pub fn private(self) -> Self {
        Self {
            host: self.host.private(),
            ..self
        }
    }

    /// Adds a header to every request, in place of what the worker may send
    /// under that name.
    #[must_use]
    pub fn with(mut self, header: SecretHeader) -> Self {
        self.headers.push((header.name, header.value));
        self
    }

    /// Passes on nothing but these requests: a key is good for much that no worker needs. Their paths
    /// are as the worker asks for them, before the prefix of the address.
    #[must_use]
    pub fn only(mut self, routes: impl IntoIterator<Item = ApiRoute>) -> Self {
        self.routes = Some(routes.into_iter().collect());
        self
    }

    fn admits(&self, method: &str, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        // Encoded letters would be read in different ways here and there.
        let is_plain = !path.contains('%');
        let mut routes = self.routes.iter().flatten();
        self.routes.is_none() || is_plain && routes.any(|route| route.fits(method, path))
    }

    /// The host that is asked.
    pub fn host(&self) -> &str {
        self.host.host()
    }

    /// The host as it is named in addresses, with its port if that is not the usual one.
    pub fn authority(&self) -> String {
        self.host_field()
    }

    /// Whether nobody on the way can read what is asked.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    fn host_field(&self) -> String {
        let usual = if self.is_secure { 443 } else { 80 };
        let host = match self.host.host().parse() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.host().to_owned(),
        };
        if self.host.port() == usual {
            return host;
        }
        format!("{host}:{}", self.host.port())
    }
}

fn read_upstream(url: &str) -> Result<ApiUpstream, &'static str> {
    let (is_secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err("it does not start with `https://` or `http://`"),
    };
    let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let prefix = prefix.trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    if !prefix.chars().all(is_plain) || has_dots(prefix) {
        return Err("its path is not a plain one");
    }
    let bracketed = authority.strip_suffix(']').map(|_| (authority, None));
    let (host, port) = bracketed.map_or_else(|| split(authority), Ok)?;
    let host = host.to_ascii_lowercase();
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = match inner.unwrap_or(&host).parse::<IpAddr>() {
        Ok(address) if address.is_ipv6() == inner.is_some() => address.to_string(),
        _ => {
            check_name(&host)?;
            host
        }
    };
    Ok(ApiUpstream {
        host: AllowedHost::to(host, port.unwrap_or(if is_secure { 443 } else { 80 })),
        is_secure,
        prefix: prefix.to_owned(),
        headers: Vec::new(),
        routes: None,
    })
}

/// Serves one API on one port of a sandbox: the base URL of the CLI's API
/// inside is `http://127.0.0.1:<port>`.
///
/// The worker never has the key. It may *use* it for the requests that the
/// upstream admits: that is what it is for. If the API sends the key back in a header it is taken
/// out; in a body it would go unnoticed.
pub struct ApiEndpoint {
    upstream: ApiUpstream,
    roots: TrustRoots,
    dialler: Dialler,
    log: EgressLog,
}

impl ApiEndpoint {
    /// One that passes everything on to `upstream`, and tells the log.
    pub fn new(upstream: ApiUpstream, roots: TrustRoots, log: EgressLog) -> Self {
        Self {
            upstream,
            roots,
            dialler: Dialler::default(),
            log,
        }
    }

    /// Finds addresses in another way than this host does.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn NameResolver>) -> Self {
        self.dialler.resolver = resolver;
        self
    }

    /// Connects through the user's own proxy, except to private hosts.
    #[must_use]
    pub fn through(mut self, proxy: UserProxy) -> Self {
        self.dialler.through = Some(proxy);
        self
    }

    /// Serves a listener from inside until what is returned is dropped. Not if
    /// that would send a key in the open through public networks.
    pub fn serve(self, listener: TcpListener) -> io::Result<PortServer> {
        let ApiUpstream {
            is_secure,
            host,
            headers,
            ..
        } = &self.upstream;
        if !is_secure && !host.is_private() && !headers.is_empty() {
            let open = format!("the key for `{host}` would be sent unencrypted");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, open));
        }
        let log = Arc::clone(&self.log);
        serve(listener, log, move |visit| self.visit(&visit))
    }

    fn visit(&self, visit: &SandboxConnection<'_>) {
        let mut reader = visit.reader();
        let served = match visit.request(&mut reader) {
            Ok(Some(request)) => self.forward(visit, &request, reader),
            Ok(None) => Ok(()),
            Err(refused) => Err(refused),
        };
        if let Err(refused) = served {
            // Whatever was asked, it was asked of this host.
            let refused = RefusedRequest {
                host: self.upstream.host.host().to_owned(),
                port: self.upstream.host.port(),
                ..refused
            };
            visit.refuse(&self.log, refused);
        }
    }

    fn forward(
        &self,
        visit: &SandboxConnection<'_>,
        request: &RequestHead,
        mut reader: BufReader<StoppableStream<'_>>,
    ) -> Result<(), RefusedRequest> {
        if request.fields.iter().any(|field| field.is("upgrade")) {
            // Codex asks for a WebSocket first, and goes on without one if it
            // is told just this.
            return Err(RefusedRequest {
                status: 426,
                ..RefusedRequest::odd("", "no other protocol is spoken here")
            });
        }
        if !self.upstream.admits(&request.method, &request.target) {
            let asked = request.target.split('?').next().unwrap_or_default();
            let asked: String = asked.escape_debug().take(100).collect();
            let why = format!(
                "`{} {asked}` is not what a worker asks a model with",
                request.method.escape_debug()
            );
            return Err(RefusedRequest {
                status: 403,
                ..RefusedRequest::odd("", why)
            });
        }
        let odd = |why: String| RefusedRequest::odd("", why);
        let outgoing = self.outgoing(request).map_err(odd)?;
        let (host, port) = (self.upstream.host.host(), self.upstream.host.port());
        let dialled = self.dialler.dial(&self.upstream.host, visit.stop);
        let (server, address) =
            dialled.map_err(|why| RefusedRequest::not_dialled(host, port, why))?;
        visit.record(&self.log, host, port, EgressVerdict::Allowed { address });
        let mut wire = StoppableStream::new(&server, visit.stop);
        wire.for_whom = Some(&visit.client);
        let (moved, result) = self.speak(&outgoing, &mut reader, visit, wire);
        drop(server);
        visit.finish(&self.log, &self.upstream.host, moved, result);
        Ok(())
    }

    fn speak(
        &self,
        outgoing: &OutgoingRequest<'_>,
        reader: &mut BufReader<StoppableStream<'_>>,
        visit: &SandboxConnection<'_>,
        wire: StoppableStream<'_>,
    ) -> (TransferredBytes, Result<(), ExchangeError>) {
        if !self.upstream.is_secure {
            return outgoing.exchange(reader, visit.wire(), wire);
        }
        match self.roots.secure(self.upstream.host.host(), wire) {
            Ok(server) => outgoing.exchange(reader, visit.wire(), server),
            Err(error) => {
                let (status, why) = (502, error.to_string());
                (
                    TransferredBytes::default(),
                    Err(ExchangeError { status, why }),
                )
            }
        }
    }

    fn outgoing<'a>(&'a self, request: &'a RequestHead) -> Result<OutgoingRequest<'a>, String> {
        let body = request.body().map_err(|odd| odd.to_string())?;
        if request.minor == 0 {
            return Err("it is HTTP/1.0".to_owned());
        }
        if request.method == "CONNECT" || !request.target.starts_with('/') {
            return Err("this is not a proxy".to_owned());
        }
        let target = target(&self.upstream.prefix, &request.target)?;
        let host = self.upstream.host_field();
        let mut outgoing = OutgoingRequest::new(request, target, host, body);
        let own = &self.upstream.headers;
        outgoing.fields.retain(|field| {
            let is_own = own.iter().any(|(name, _)| field.is(name));
            !is_own && !CREDENTIALS.iter().any(|name| field.is(name))
        });
        outgoing.secrets = own;
        Ok(outgoing)
    }
}

/// Headers that say who asks. A worker with credentials of somebody else could
/// hand things over to them.
const CREDENTIALS: &[&str] = &[
    "api-key",
    "authorization",
    "cookie",
    "x-api-key",
    "x-goog-api-key",
];

/// The same in a query.
const PARAMETERS: &[&[u8]] = &[
    b"$access_token",
    b"$key",
    b"access_token",
    b"api_key",
    b"key",
];

/// What to ask the API for.
fn target(prefix: &str, asked: &str) -> Result<String, &'static str> {
    if asked.contains(['#', '\\']) {
        return Err("its path is not a plain one");
    }
    let (path, query) = match asked.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (asked, None),
    };
    if has_dots(path) {
        return Err("its path has dots that lead elsewhere");
    }
    let is_kept = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        let name = percent_decoded(name).to_ascii_lowercase();
        !PARAMETERS.contains(&name.as_slice())
    };
    let kept: Vec<_> = query.iter().flat_map(|query| query.split('&')).collect();
    let kept: Vec<_> = kept.into_iter().filter(is_kept).collect();
    if kept.is_empty() {
        return Ok(format!("{prefix}{path}"));
    }
    Ok(format!("{prefix}{path}?{}", kept.join("&")))
}

fn has_dots(path: &str) -> bool {
    let decoded = percent_decoded(path);
    let mut parts = decoded.split(|&byte| byte == b'/' || byte == b'\\');
    parts.any(|part| part == b"." || part == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_is_read() {
        let read = |url| {
            let upstream = ApiUpstream::parse(url).unwrap();
            let scheme = upstream.is_secure;
            (scheme, upstream.host_field(), upstream.prefix)
        };
        let wanted = |secure, host: &str, prefix: &str| (secure, host.into(), prefix.into());
        assert_eq!(read("https://api.example"), wanted(true, "api.example", ""));
        assert_eq!(
            read("https://API.example:8443/v1/"),
            wanted(true, "api.example:8443", "/v1")
        );
        assert_eq!(
            read("http://127.0.0.1:11434"),
            wanted(false, "127.0.0.1:11434", "")
        );
        assert_eq!(read("http://[::1]:80/a"), wanted(false, "[::1]", "/a"));
        assert_eq!(read("http://[::1]"), wanted(false, "[::1]", ""));
        for bad in [
            "api.example",
            "ftp://api.example",
            "https://",
            "https://u@api.example",
            "https://a:b@api.example",
            "https://api.example/?a",
            "https://api.example?a",
            "https://api.example/a/../b",
            "https://api.example/%2e%2e",
            "https://api.example:0",
            "https://2130706433",
            "https://0x7f.1",
            "https://::1",
            "https://[127.0.0.1]",
        ] {
            let error = ApiUpstream::parse(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` cannot be")), "{error}");
        }
    }

    #[test]
    fn targets_lose_their_keys_and_stay_below_the_prefix() {
        let read = |asked| target("/p", asked).ok();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("/v1/messages"), some("/p/v1/messages"));
        assert_eq!(read("/a?beta=true"), some("/p/a?beta=true"));
        assert_eq!(read("/a?key=mine"), some("/p/a"));
        assert_eq!(read("/a?x=1&k%65y=mine&y=2"), some("/p/a?x=1&y=2"));
        assert_eq!(read("/a?KEY=mine&keys=2"), some("/p/a?keys=2"));
        assert_eq!(read("/a.b/..c"), some("/p/a.b/..c"));
        for odd in [
            "/../a",
            "/a/..",
            "/a/./b",
            "/%2e%2E/a",
            "/.%2e/a",
            "/a%2f..%2fb",
            "/a\\..\\b",
            "/a#b",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn only_what_is_named_is_passed_on() {
        let api = ApiUpstream::parse("https://api.example/p").unwrap();
        assert!(api.admits("DELETE", "/anything"));
        let api = api.only([
            ApiRoute::new("POST", "/v1/messages"),
            ApiRoute::new("POST", "/v1beta/models/*:generateContent"),
        ]);
        for (method, target) in [
            ("POST", "/v1/messages"),
            ("POST", "/v1/messages?beta=true"),
            ("POST", "/v1beta/models/gemini-3-pro:generateContent"),
        ] {
            assert!(api.admits(method, target), "{method} {target}");
        }
        for (method, target) in [
            ("GET", "/v1/messages"),
            ("DELETE", "/v1/messages"),
            ("POST", "/v1/messages/"),
            ("POST", "/v1/messages/batches"),
            ("POST", "/admin?/v1/messages"),
            ("POST", "/v1/%6dessages"),
            ("GET", "/admin"),
            ("POST", "/v1beta/models/:generateContent"),
            ("POST", "/v1beta/models/a/b:generateContent"),
            ("POST", "/v1beta/models/a:deleteModel"),
        ] {
            assert!(!api.admits(method, target), "{method} {target}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let header = SecretHeader::new("x-api-key", Secret::new("hush")).unwrap();
        let upstream = ApiUpstream::parse("https://a.example")
            .unwrap()
            .with(header);
        assert!(!format!("{upstream:?}").contains("hush"));
        for (name, value) in [("a b", "x"), ("", "x"), ("a", ""), ("a", "hush\r\nb: c")] {
            let error = SecretHeader::new(name, Secret::new(value)).unwrap_err();
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        assert!(Secret::new("Bearer hush").is_in(b"a hush b"));
        assert!(!Secret::new("Bearer hush").is_in(b"Bearer"));
    }
}
