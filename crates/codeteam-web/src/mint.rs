//! Asks a server that runs for a link with which a browser signs in.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::state_file::running_server;
use crate::web_server::host_name;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const LONGEST: u64 = 64 << 10;

/// Returns a new link of the server that this user runs; `None` if none runs. The folder is that of the
/// user's state.
pub fn mint_url(state_home: &Path) -> io::Result<Option<String>> {
    let Some(state) = running_server(state_home)? else {
        return Ok(None);
    };
    let host = host_name(&state.label, state.port, state.plain_host);
    let request = format!(
        "POST /mint HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        state.mint_secret
    );
    let answer = if let Some(path) = &state.socket {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        exchange(stream, &request)?
    } else {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, state.port));
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        exchange(stream, &request)?
    };
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if !head.starts_with("HTTP/1.1 200 ") {
        let status = head.lines().next().unwrap_or_default();
        return Err(io::Error::other(format!(
            "the server has answered `{status}`"
        )));
    }
    Ok(Some(body.trim().to_owned()))
}

fn exchange(mut stream: impl Read + Write, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer)?;
    Ok(answer)
}
