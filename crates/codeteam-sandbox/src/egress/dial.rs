//! Connecting to an allowed host: the only place that opens connections.

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
use super::rules::{AllowedHost, split};
use super::server::{StopSignal, prepare};
use super::wire::StoppableStream;

/// For the whole of it: the name, the connection, the user's own proxy.
const PATIENCE: Duration = Duration::from_secs(30);

/// After how much silence the other side is asked whether it is still there.
const SILENCE: Duration = Duration::from_mins(1);

/// The proxy that the user's own network wants connections to go through.
#[derive(Debug, Clone)]
pub struct UserProxy {
    proxy: AllowedHost,
    authorization: Option<Secret>,
}

/// Why a proxy cannot be used. Its address may hold a password and is not named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the proxy of the environment cannot be used: {why}")]
pub struct BadProxy {
    /// What is wrong with it.
    pub why: &'static str,
}

impl UserProxy {
    /// Reads what `HTTPS_PROXY` says: `http://[user:password@]host[:port]`.
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
        let (host, port) = split(address).map_err(bad)?;
        let authorization = user.map(|user| {
            let credentials = base64(&percent_decoded(user));
            Secret::new(format!("Basic {credentials}"))
        });
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self {
            proxy: AllowedHost::to(host, port.unwrap_or(80)).private(),
            authorization,
        })
    }

    /// Asks the proxy for a connection. Every byte after its answer belongs to
    /// that, so that none may be read ahead.
    fn ask(
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

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    /// All its addresses are where nobody inside may go.
    NotPublic(Vec<IpAddr>),
    /// It was not to be had.
    Failed(io::Error),
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) struct Dialler {
    pub(super) resolver: Arc<dyn NameResolver>,
    pub(super) through: Option<UserProxy>,
}

/// As this host does it.
impl Default for Dialler {
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            through: None,
        }
    }
}

impl Dialler {
    /// A connection, and the address it was made to. Through the user's proxy
    /// the name is its business; private hosts are not behind it.
    pub(super) fn dial(
        &self,
        to: &AllowedHost,
        stop: &StopSignal,
    ) -> Result<(TcpStream, SocketAddr), DialError> {
        let at = Instant::now() + PATIENCE;
        match &self.through {
            Some(through) if !to.is_private() => {
                let dialled = self.directly(&through.proxy, stop, at)?;
                through.ask(&dialled.0, to, stop, at)?;
                Ok(dialled)
            }
            _ => self.directly(to, stop, at),
        }
    }

    fn directly(
        &self,
        to: &AllowedHost,
        stop: &StopSignal,
        at: Instant,
    ) -> Result<(TcpStream, SocketAddr), DialError> {
        let addresses = match to.host().parse() {
            Ok(address) => vec![address],
            Err(_) => resolve(&self.resolver, to.host(), stop, at)?,
        };
        let address = choose(addresses, to.is_private())?;
        let address = SocketAddr::new(address, to.port());
        Ok((connected(address, stop, at)?, address))
    }
}

/// The one address that will be dialled. If it does not answer, no other one is
/// tried.
fn choose(addresses: Vec<IpAddr>, private: bool) -> Result<IpAddr, DialError> {
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address").into());
    }
    let mut candidates = addresses.iter().copied();
    let chosen = candidates.find(|&address| private || is_public(address));
    chosen.ok_or(DialError::NotPublic(addresses))
}

fn connected(address: SocketAddr, stop: &StopSignal, at: Instant) -> io::Result<TcpStream> {
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
        let chosen = choose(mixed.clone(), false).unwrap();
        assert_eq!(chosen.to_string(), "8.8.8.8");
        assert_eq!(choose(mixed, true).unwrap().to_string(), "127.0.0.1");
        let none = choose(addresses(&["10.0.0.1", "fe80::1"]), false);
        assert!(matches!(none, Err(DialError::NotPublic(all)) if all.len() == 2));
        assert!(matches!(
            choose(Vec::new(), true),
            Err(DialError::Failed(_))
        ));
    }
}
