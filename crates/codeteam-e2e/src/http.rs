//! HTTP/1.1 on a socket, as much of it as a model server needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// No request of a worker comes near this.
const MOST_BODY: usize = 256 << 20;
const MOST_HEAD: usize = 256 << 10;

/// A received request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpRequest {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The path without its query and without a slash at its end.
    pub(crate) fn path(&self) -> &str {
        let path = self.target.split('?').next().unwrap_or_default();
        path.trim_end_matches('/')
    }

    /// Returns true if the query contains this pair.
    pub(crate) fn query_has(&self, pair: &str) -> bool {
        self.target
            .split_once('?')
            .is_some_and(|(_, query)| query.split('&').any(|part| part == pair))
    }
}

/// Reads the next request of a connection; `None` when the client has no more.
pub(crate) fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<HttpRequest>> {
    let Some(head) = read_head(reader)? else {
        return Ok(None);
    };
    let mut received = parse_head(&head)?;
    if received
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
    {
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let chunked = received
        .header("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    received.body = if chunked {
        read_chunks(reader)?
    } else {
        let length = received.header("content-length").unwrap_or("0");
        let length = length
            .trim()
            .parse()
            .map_err(|_| invalid_data("content-length"))?;
        read_exactly(reader, length)?
    };
    Ok(Some(received))
}

fn invalid_data(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("bad {what}"))
}

fn read_head(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        reader
            .by_ref()
            .take(64 << 10)
            .read_until(b'\n', &mut head)?;
        if head.len() == before {
            return if head.is_empty() {
                Ok(None)
            } else {
                Err(invalid_data("head"))
            };
        }
        if head.ends_with(b"\r\n\r\n") {
            return Ok(Some(head));
        }
        if head.len() > MOST_HEAD {
            return Err(invalid_data("head"));
        }
    }
}

fn parse_head(head: &[u8]) -> io::Result<HttpRequest> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(head).map_err(|_| invalid_data("head"))?;
    Ok(HttpRequest {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        headers: request
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).into_owned();
                (header.name.to_owned(), value)
            })
            .collect(),
        body: Vec::new(),
    })
}

fn read_exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > MOST_BODY {
        return Err(invalid_data("content-length"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(4096).read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| invalid_data("chunk"))?;
        if body.len() + size > MOST_BODY {
            return Err(invalid_data("chunk"));
        }
        body.extend(read_exactly(reader, size)?);
        // The end of the chunk's line; after the last one there are no trailers to speak of.
        reader.by_ref().take(4096).read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Writes a whole response.
pub(crate) fn write_response(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &[u8],
) -> io::Result<()> {
    let head = response_head(status, headers);
    let head = format!("{head}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Begins a response whose pieces are still to come.
pub(crate) fn start_chunked(stream: &mut TcpStream, kind: &str) -> io::Result<()> {
    let mut head = response_head(200, &[("content-type", kind.to_owned())]);
    head.push_str("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.flush()
}

/// Writes a piece.
pub(crate) fn write_chunk(stream: &mut TcpStream, piece: &[u8]) -> io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend(piece);
    bytes.extend(b"\r\n");
    stream.write_all(&bytes)?;
    stream.flush()
}

/// Sends the end of the chunks.
pub(crate) fn end_chunked(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()
}

fn response_head(status: u16, headers: &[(&str, String)]) -> String {
    let mut lines = vec![format!("HTTP/1.1 {status} {}\r\n", reason_phrase(status))];
    lines.extend(
        headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n")),
    );
    lines.concat()
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}
