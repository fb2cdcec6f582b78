//! The endpoint: passes requests on to one API and adds a key that stays outside the sandbox.

use std::fmt;
use std::io::{self, BufReader};
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;

use super::connection::{RefusedRequest, SandboxConnection};
use super::dial::{Dialler, UserProxy};
use super::exchange::{ExchangeError, OutgoingRequest};
use super::http::{RequestHead, percent_decoded};
use super::relay::TransferredBytes;
use super::resolve::NameResolver;
use super::rules::{AllowedHost, check_name, split_host_port};
use super::server::{PortServer, serve};
use super::stream::StoppableStream;
use super::tls::TrustRoots;
use super::{EgressLog, EgressVerdict};

/// A value that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value itself, for the code that has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns true if these bytes contain the secret. For `Bearer …`, only the token is secret.
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

/// A request header that authenticates the caller, such as `x-api-key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHeader {
    name: String,
    value: Secret,
}

/// The reason a header cannot be sent. Its value is not included.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header `{name}` cannot be sent: {why}")]
pub struct BadHeader {
    /// The name of the header.
    pub name: String,
    /// A description of the problem.
    pub why: &'static str,
}

impl SecretHeader {
    /// Creates a header with a secret value.
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

/// A request that may be made to an API: a method and a path. A `*` in the path matches anything
/// but a `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRoute {
    method: &'static str,
    path: String,
}

impl ApiRoute {
    /// Creates a route for `method` at `path`, which begins with a `/` and has at most one `*`.
    pub fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
        }
    }

    fn matches(&self, method: &str, path: &str) -> bool {
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

/// The API that requests are passed on to, and the headers that are added to them.
///
/// [`ApiUpstream::parse`] reads its address. The other methods adapt it: secret headers replace
/// whatever the worker sends under the same names, and a list of routes limits the requests,
/// because a key is good for much that no worker needs. Without a list, every request is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUpstream {
    host: AllowedHost,
    is_secure: bool,
    prefix: String,
    headers: Vec<(String, Secret)>,
    /// The permitted requests; `None` permits all.
    routes: Option<Vec<ApiRoute>>,
}

/// The reason an address cannot be used as an API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be the address of an API: {why}")]
pub struct BadUpstream {
    /// The address that was given.
    pub url: String,
    /// A description of the problem.
    pub why: &'static str,
}

impl ApiUpstream {
    /// Parses `https://host[:port][/prefix]`, or `http://…` for APIs on this host or near it.
    pub fn parse(url: &str) -> Result<Self, BadUpstream> {
        read_upstream(url).map_err(|why| BadUpstream {
            url: url.escape_debug().to_string(),
            why,
        })
    }

    /// Returns this upstream with any address permitted, even a private one.
    #[must_use]
    pub fn allow_private(self) -> Self {
        Self {
            host: self.host.allow_private(),
            ..self
        }
    }

    /// Adds a header to every request. It replaces whatever the worker sends under that name.
    #[must_use]
    pub fn with_header(mut self, header: SecretHeader) -> Self {
        self.headers.push((header.name, header.value));
        self
    }

    /// Limits the requests that are passed on to these routes: a key is good for much that no
    /// worker needs. Their paths are as the worker requests them, before the prefix of the address.
    #[must_use]
    pub fn with_routes(mut self, routes: impl IntoIterator<Item = ApiRoute>) -> Self {
        self.routes = Some(routes.into_iter().collect());
        self
    }

    fn admits(&self, method: &str, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or(target);
        // Percent-encoded letters could be interpreted differently here and at the API.
        let is_plain = !path.contains('%');
        let mut routes = self.routes.iter().flatten();
        self.routes.is_none() || is_plain && routes.any(|route| route.matches(method, path))
    }

    /// Returns the host of the API.
    pub fn host(&self) -> &str {
        self.host.host()
    }

    /// Returns the host as URLs name it, with its port if that is not the default.
    pub fn authority(&self) -> String {
        self.host_field()
    }

    /// Returns true if the connection is encrypted.
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
    let (host, port) = bracketed.map_or_else(|| split_host_port(authority), Ok)?;
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
        host: AllowedHost::new(host, port.unwrap_or(if is_secure { 443 } else { 80 })),
        is_secure,
        prefix: prefix.to_owned(),
        headers: Vec::new(),
        routes: None,
    })
}

/// Serves one API on one port of a sandbox. Inside, the base URL of the CLI's API is
/// `http://127.0.0.1:<port>`.
///
/// The worker never has the key. It can *use* it for the requests that the upstream permits: that
/// is the purpose. If the API sends the key back in a header, it is removed; in a body it would go
/// unnoticed.
///
/// [`ApiEndpoint::serve`] starts serving a listener from inside the sandbox, and dropping the
/// [`PortServer`] it returns ends that.
pub struct ApiEndpoint {
    upstream: ApiUpstream,
    roots: TrustRoots,
    dialler: Dialler,
    log: EgressLog,
}

impl ApiEndpoint {
    /// Creates an endpoint that passes requests on to `upstream` and reports decisions to the log.
    pub fn new(upstream: ApiUpstream, roots: TrustRoots, log: EgressLog) -> Self {
        Self {
            upstream,
            roots,
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

    /// Connects through the user's own proxy, except to private hosts.
    #[must_use]
    pub fn through_proxy(mut self, proxy: UserProxy) -> Self {
        self.dialler.user_proxy = Some(proxy);
        self
    }

    /// Serves a listener from inside until the result is dropped. Refuses if that would send a key
    /// unencrypted through public networks.
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
        serve(listener, log, move |visit| self.handle_connection(&visit))
    }

    fn handle_connection(&self, visit: &SandboxConnection<'_>) {
        let mut reader = visit.reader();
        let served = match visit.read_request(&mut reader) {
            Ok(Some(request)) => self.forward(visit, &request, reader),
            Ok(None) => Ok(()),
            Err(refused) => Err(refused),
        };
        if let Err(refused) = served {
            // Whatever the request said, it was meant for this host.
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
        if request.fields.iter().any(|field| field.has_name("upgrade")) {
            // Codex tries a WebSocket first, and continues without one if it gets exactly this
            // answer.
            return Err(RefusedRequest {
                status: 426,
                ..RefusedRequest::malformed("", "no other protocol is spoken here")
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
                ..RefusedRequest::malformed("", why)
            });
        }
        let odd = |why: String| RefusedRequest::malformed("", why);
        let outgoing = self.outgoing_request(request).map_err(odd)?;
        let (host, port) = (self.upstream.host.host(), self.upstream.host.port());
        let dialled = self.dialler.dial(&self.upstream.host, visit.stop);
        let (server, address) =
            dialled.map_err(|why| RefusedRequest::from_dial_error(host, port, why))?;
        visit.record(&self.log, host, port, EgressVerdict::Allowed { address });
        let mut wire = StoppableStream::new(&server, visit.stop);
        wire.peer = Some(&visit.client);
        let (moved, result) = self.exchange_with_api(&outgoing, &mut reader, visit, wire);
        drop(server);
        visit.finish(&self.log, &self.upstream.host, moved, result);
        Ok(())
    }

    fn exchange_with_api(
        &self,
        outgoing: &OutgoingRequest<'_>,
        reader: &mut BufReader<StoppableStream<'_>>,
        visit: &SandboxConnection<'_>,
        wire: StoppableStream<'_>,
    ) -> (TransferredBytes, Result<(), ExchangeError>) {
        if !self.upstream.is_secure {
            return outgoing.exchange(reader, visit.stream(), wire);
        }
        match self.roots.connect(self.upstream.host.host(), wire) {
            Ok(server) => outgoing.exchange(reader, visit.stream(), server),
            Err(error) => {
                let (status, why) = (502, error.to_string());
                (
                    TransferredBytes::default(),
                    Err(ExchangeError { status, why }),
                )
            }
        }
    }

    fn outgoing_request<'a>(
        &'a self,
        request: &'a RequestHead,
    ) -> Result<OutgoingRequest<'a>, String> {
        let body = request.body().map_err(|odd| odd.to_string())?;
        if request.minor == 0 {
            return Err("it is HTTP/1.0".to_owned());
        }
        if request.method == "CONNECT" || !request.target.starts_with('/') {
            return Err("this is not a proxy".to_owned());
        }
        let target = request_target(&self.upstream.prefix, &request.target)?;
        let host = self.upstream.host_field();
        let mut outgoing = OutgoingRequest::new(request, target, host, body);
        let own = &self.upstream.headers;
        outgoing.fields.retain(|field| {
            let is_own = own.iter().any(|(name, _)| field.has_name(name));
            !is_own && !CREDENTIALS.iter().any(|name| field.has_name(name))
        });
        outgoing.secrets = own;
        Ok(outgoing)
    }
}

/// Headers that authenticate the caller. A worker with somebody else's credentials could hand data
/// over to them.
const CREDENTIALS: &[&str] = &[
    "api-key",
    "authorization",
    "cookie",
    "x-api-key",
    "x-goog-api-key",
];

/// Query parameters that do the same.
const PARAMETERS: &[&[u8]] = &[
    b"$access_token",
    b"$key",
    b"access_token",
    b"api_key",
    b"key",
];

/// Returns the target to request from the API.
fn request_target(prefix: &str, asked: &str) -> Result<String, &'static str> {
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
        let read = |asked| request_target("/p", asked).ok();
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
        let api = api.with_routes([
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
            .with_header(header);
        assert!(!format!("{upstream:?}").contains("hush"));
        for (name, value) in [("a b", "x"), ("", "x"), ("a", ""), ("a", "hush\r\nb: c")] {
            let error = SecretHeader::new(name, Secret::new(value)).unwrap_err();
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        assert!(Secret::new("Bearer hush").is_in(b"a hush b"));
        assert!(!Secret::new("Bearer hush").is_in(b"Bearer"));
    }
}
