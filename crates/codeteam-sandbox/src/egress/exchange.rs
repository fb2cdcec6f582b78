//! Sends one request to a host and returns its answer, both written anew.

use std::io::{self, BufRead, BufReader, Read, Write};

use super::endpoint::Secret;
use super::http::{
    BodyFraming, CopyError, HEAD, HeaderField, ReadError, RequestHead, ResponseHead, copy_body,
    is_forwarded, read_head,
};
use super::relay::TransferredBytes;

/// A request as it is sent out. Its host, length and connection headers are set here.
#[derive(Debug)]
pub(super) struct OutgoingRequest<'a> {
    pub(super) method: &'a str,
    pub(super) target: String,
    /// The value of `Host`.
    pub(super) host: String,
    pub(super) fields: Vec<&'a HeaderField>,
    pub(super) secrets: &'a [(String, Secret)],
    pub(super) body: BodyFraming,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(super) is_awaited: bool,
}

/// The reason there is no answer to pass on, and what to answer instead.
#[derive(Debug)]
pub(super) struct ExchangeError {
    pub(super) status: u16,
    pub(super) why: String,
}

impl ExchangeError {
    fn from_host(error: impl Into<String>) -> Self {
        Self {
            status: 502,
            why: error.into(),
        }
    }

    fn from_read_error(odd: &ReadError) -> Self {
        Self::from_host(odd.to_string())
    }
}

impl<'a> OutgoingRequest<'a> {
    pub(super) fn new(
        request: &'a RequestHead,
        target: String,
        host: String,
        body: BodyFraming,
    ) -> Self {
        let all = &request.fields;
        Self {
            method: &request.method,
            target,
            host,
            fields: all
                .iter()
                .filter(|field| is_forwarded(field, all))
                .collect(),
            secrets: &[],
            body,
            is_awaited: all.iter().any(|field| field.has_name("expect")),
        }
    }

    fn render_head(&self) -> Vec<u8> {
        let first = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let mut head = MessageHead(first.into_bytes());
        head.add("Host", self.host.as_bytes());
        for field in &self.fields {
            head.add(&field.name, &field.value);
        }
        for (name, value) in self.secrets {
            head.add(name, value.reveal().as_bytes());
        }
        head.end(self.body)
    }

    /// Sends the request and passes the answer back. Returns the number of bytes in each direction,
    /// whatever happened.
    pub(super) fn exchange(
        &self,
        from: &mut impl BufRead,
        client: impl Write,
        server: impl Read + Write,
    ) -> (TransferredBytes, Result<(), ExchangeError>) {
        let mut client = CountedStream::new(client);
        let mut server = BufReader::with_capacity(HEAD, CountedStream::new(server));
        let result = self.run_exchange(from, &mut client, &mut server);
        let moved = TransferredBytes {
            up: server.get_ref().bytes,
            down: client.bytes,
        };
        (moved, result)
    }

    fn run_exchange<S: Read + Write>(
        &self,
        from: &mut impl BufRead,
        client: &mut CountedStream<impl Write>,
        server: &mut BufReader<CountedStream<S>>,
    ) -> Result<(), ExchangeError> {
        self.send(from, client, server.get_mut())?;
        let response = loop {
            let head = read_head(server).map_err(|odd| ExchangeError::from_read_error(&odd))?;
            let response =
                ResponseHead::parse(&head).map_err(|odd| ExchangeError::from_read_error(&odd))?;
            match response.code {
                101 => return Err(ExchangeError::from_host("the host changed the protocol")),
                100..200 => {}
                _ => break response,
            }
        };
        let body = response
            .body(self.method)
            .map_err(|odd| ExchangeError::from_read_error(&odd))?;
        let head = self.render_answer(&response, body);
        // From here on the client has its answer; if that breaks off, so does the connection.
        if client.write_all(&head).is_ok() {
            let _ = copy_body(body, server, client);
        }
        Ok(())
    }

    fn send(
        &self,
        from: &mut impl BufRead,
        client: &mut impl Write,
        server: &mut impl Write,
    ) -> Result<(), ExchangeError> {
        let sent = server
            .write_all(&self.render_head())
            .and_then(|()| server.flush());
        sent.map_err(|error| ExchangeError::from_host(error.to_string()))?;
        if self.is_awaited {
            // A client that is gone is noticed below.
            let _ = client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        match copy_body(self.body, from, server) {
            Err(CopyError::Source(error)) => Err(ExchangeError {
                status: 400,
                why: format!("its body broke off: {error}"),
            }),
            // A host that does not want the whole body may have answered already.
            Ok(()) | Err(CopyError::Sink) => Ok(()),
        }
    }

    /// Writes the head of the answer, without anything that reveals a secret.
    fn render_answer(&self, response: &ResponseHead, body: BodyFraming) -> Vec<u8> {
        let tells = |bytes: &[u8]| self.secrets.iter().any(|(_, secret)| secret.is_in(bytes));
        let reason = Some(response.reason.as_str()).filter(|reason| !tells(reason.as_bytes()));
        let reason = reason.unwrap_or_default();
        let first = format!("HTTP/1.1 {} {reason}\r\n", response.code);
        let mut head = MessageHead(first.into_bytes());
        let all = &response.fields;
        for field in all {
            let describes = body == BodyFraming::Empty && field.has_name("content-length");
            let is_safe = !tells(&field.value) && !tells(field.name.as_bytes());
            if is_safe && (describes || is_forwarded(field, all)) {
                head.add(&field.name, &field.value);
            }
        }
        head.end(body)
    }
}

struct MessageHead(Vec<u8>);

impl MessageHead {
    fn add(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b": ");
        self.0.extend_from_slice(value);
        self.0.extend_from_slice(b"\r\n");
    }

    fn end(mut self, body: BodyFraming) -> Vec<u8> {
        match body {
            BodyFraming::Length(length) => {
                self.add("Content-Length", length.to_string().as_bytes());
            }
            BodyFraming::Chunked => self.add("Transfer-Encoding", b"chunked"),
            BodyFraming::Empty | BodyFraming::UntilClosed => {}
        }
        self.add("Connection", b"close");
        self.0.extend_from_slice(b"\r\n");
        self.0
    }
}

/// Counts the bytes that are written.
struct CountedStream<T> {
    inner: T,
    bytes: u64,
}

impl<T> CountedStream<T> {
    fn new(inner: T) -> Self {
        Self { inner, bytes: 0 }
    }
}

impl<T: Write> Write for CountedStream<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for CountedStream<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}
