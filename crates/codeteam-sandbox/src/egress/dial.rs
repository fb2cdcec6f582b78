//! Connects to an allowed host. This is the only place that opens connections.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::address::is_public;
use super::endpoint::Secret;
use super::http::{self, percent_decoded};
use super::resolve::{NameResolver, SystemResolver, resolve};
use super::rules::{AllowedHost, split_host_port};
use super::server::{StopSignal, prepare};
use super::stream::StoppableStream;

/// The time for the whole: resolving the name, connecting, and the user's own proxy.
const PATIENCE: Duration = Duration::from_secs(30);

/// The idle time after which the other side is probed (TCP keep-alive).
const SILENCE: Duration = Duration::from_mins(1);

/// The proxy that the user's own network requires for connections.
#[derive(Debug, Clone)]
pub struct UserProxy {
    proxy: AllowedHost,
    authorization: Option<Secret>,
}

/// The reason a proxy cannot be used. Its address may hold a password and is not included.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the proxy of the environment cannot be used: {why}")]
pub struct BadProxy {
    /// A description of the problem.
    pub why: &'static str,
}

impl UserProxy {
    /// Parses the value of `HTTPS_PROXY`: `http://[user:password@]host[:port]`.
    pub fn parse(text: &str) -> Result<Self, BadProxy> {
        let bad = |why| BadProxy { why };
        let rest = text
            .strip_prefix("http://")
            .ok_or(bad("it does not start with `http://`"))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, address) = match rest.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, rest),
        };
        if address.is_empty() || address.contains(['/', '?', '#', ' ']) {
            return Err(bad("it is not a host and a port"));
        }
        let (host, port) = split_host_port(address).map_err(bad)?;
        let authorization = user.map(|user| {
            let credentials = base64(&percent_decoded(user));
            Secret::new(format!("Basic {credentials}"))
        });
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self {
            proxy: AllowedHost::new(host, port.unwrap_or(80)).allow_private(),
            authorization,
        })
    }

    /// Asks the proxy for a tunnel. Every byte after its answer belongs to the tunnel, so nothing
    /// may be read ahead.
    fn request_tunnel(
        &self,
        stream: &TcpStream,
        to: &AllowedHost,
        stop: &StopSignal,
        at: Instant,
    ) -> io::Result<()> {
        let mut request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n");
        if let Some(authorization) = &self.authorization {
            let line = format!("Proxy-Authorization: {}\r\n", authorization.reveal());
            request.push_str(&line);
        }
        request.push_str("\r\n");
        let mut wire = StoppableStream::new(stream, stop);
        wire.deadline = Some(at);
        wire.write_all(request.as_bytes())?;
        let mut reader = io::BufReader::with_capacity(1, wire);
        let head = http::read_head(&mut reader).map_err(io::Error::other)?;
        let answer = http::ResponseHead::parse(&head).map_err(io::Error::other)?;
        if (200..300).contains(&answer.code) {
            return Ok(());
        }
        let told = format!("the proxy of the environment says {}", answer.code);
        Err(io::Error::other(told))
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}

/// The reason there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    /// All addresses of the host are private.
    NotPublic(Vec<IpAddr>),
    /// The connection failed.
    Failed(io::Error),
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) struct Dialler {
    pub(super) resolver: Arc<dyn NameResolver>,
    pub(super) user_proxy: Option<UserProxy>,
}

/// Resolves names with this host's resolver, and without a proxy.
impl Default for Dialler {
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            user_proxy: None,
        }
    }
}

impl Dialler {
    /// Connects and returns the connection with its address. If the user's proxy is used, it
    /// resolves the name; private hosts are contacted directly.
    pub(super) fn dial(
        &self,
        to: &AllowedHost,
        stop: &StopSignal,
    ) -> Result<(TcpStream, SocketAddr), DialError> {
        let at = Instant::now() + PATIENCE;
        match &self.user_proxy {
            Some(through) if !to.is_private() => {
                let dialled = self.dial_directly(&through.proxy, stop, at)?;
                through.request_tunnel(&dialled.0, to, stop, at)?;
                Ok(dialled)
            }
            _ => self.dial_directly(to, stop, at),
        }
    }

    fn dial_directly(
        &self,
        to: &AllowedHost,
        stop: &StopSignal,
        at: Instant,
    ) -> Result<(TcpStream, SocketAddr), DialError> {
        let addresses = match to.host().parse() {
            Ok(address) => vec![address],
            Err(_) => resolve(&self.resolver, to.host(), stop, at)?,
        };
        let address = choose_address(addresses, to.is_private())?;
        let address = SocketAddr::new(address, to.port());
        Ok((connect_to(address, stop, at)?, address))
    }
}

/// Returns the one address to connect to. If it does not answer, no other one is tried.
fn choose_address(addresses: Vec<IpAddr>, private: bool) -> Result<IpAddr, DialError> {
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address").into());
    }
    let mut candidates = addresses.iter().copied();
    let chosen = candidates.find(|&address| private || is_public(address));
    chosen.ok_or(DialError::NotPublic(addresses))
}

fn connect_to(address: SocketAddr, stop: &StopSignal, at: Instant) -> io::Result<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            stop.wait(&[(socket.as_fd(), PollFlags::OUT)], Some(at))?;
            sockopt::socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, SILENCE)?;
    let stream = TcpStream::from(socket);
    prepare(&stream)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let all = ["", "f", "fo", "foo", "foob", "user:pässword"];
        let wanted = [
            "",
            "Zg==",
            "Zm8=",
            "Zm9v",
            "Zm9vYg==",
            "dXNlcjpww6Rzc3dvcmQ=",
        ];
        assert_eq!(all.map(|text| base64(text.as_bytes())), wanted);
    }

    #[test]
    fn a_proxy_is_read_and_its_password_not_shown() {
        let through = UserProxy::parse("http://me:p%40ss@proxy.example:3128/").unwrap();
        assert_eq!(through.proxy.to_string(), "proxy.example:3128");
        assert_eq!(
            through.authorization.as_ref().unwrap().reveal(),
            "Basic bWU6cEBzcw=="
        );
        assert!(!format!("{through:?}").contains("bWU6"));
        for bad in [
            "https://proxy",
            "proxy:3128",
            "http://",
            "http://a/b",
            "http://a:x",
        ] {
            UserProxy::parse(bad).unwrap_err();
        }
    }

    #[test]
    fn the_first_public_address_is_chosen_and_no_other() {
        let addresses = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect();
        let mixed: Vec<IpAddr> = addresses(&["127.0.0.1", "::1", "8.8.8.8", "1.1.1.1"]);
        let chosen = choose_address(mixed.clone(), false).unwrap();
        assert_eq!(chosen.to_string(), "8.8.8.8");
        assert_eq!(
            choose_address(mixed, true).unwrap().to_string(),
            "127.0.0.1"
        );
        let none = choose_address(addresses(&["10.0.0.1", "fe80::1"]), false);
        assert!(matches!(none, Err(DialError::NotPublic(all)) if all.len() == 2));
        assert!(matches!(
            choose_address(Vec::new(), true),
            Err(DialError::Failed(_))
        ));
    }
}
