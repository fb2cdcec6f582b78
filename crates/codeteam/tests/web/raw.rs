//! A client that is no browser: it sends what it is told to, byte by byte, and sees all of the reply.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// A request that is right for a page, until a test changes something.
#[derive(Clone)]
pub(crate) struct RawRequest {
    method: &'static str,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// A received reply.
#[derive(Debug)]
pub(crate) struct RawReply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Why there is no reply: the server has closed the connection without one.
#[derive(Debug)]
pub(crate) struct ClosedConnection;

impl RawRequest {
    /// A link that somebody follows on the page's own server.
    pub(crate) fn get(host: &str, target: &str) -> Self {
        Self {
            method: "GET",
            target: target.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
        .with("Host", host)
        .with("Sec-Fetch-Site", "same-origin")
    }

    /// A form that a page of the server has sent.
    pub(crate) fn post(host: &str, target: &str, fields: &[(&str, &str)]) -> Self {
        let fields = fields.iter();
        let fields = fields.map(|(name, value)| format!("{}={}", escape(name), escape(value)));
        let body = fields.collect::<Vec<_>>().join("&");
        let mut request = Self::get(host, target)
            .with("Origin", &format!("http://{host}"))
            .with("Content-Type", "application/x-www-form-urlencoded")
            .with("Content-Length", &body.len().to_string());
        request.method = "POST";
        request.body = body;
        request
    }

    /// The same with this header in place of the one of its name.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// The same with this header in addition.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same without a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// The same without its body, of which only the length is told.
    pub(crate) fn without_body(mut self) -> Self {
        self.body.clear();
        self
    }

    /// Sends it on a connection of its own.
    pub(crate) fn open(&self, port: u16) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        // Longer than the server waits for anything.
        let patience = Some(Duration::from_mins(1));
        stream.set_read_timeout(patience).unwrap();
        let head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let lines = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let lines: String = lines.collect();
        let text = format!("{head}{lines}Connection: close\r\n\r\n{}", self.body);
        // A server that refuses early may have closed it by then.
        let _ = stream.write_all(text.as_bytes());
        stream
    }

    /// Sends it and reads the whole reply.
    #[track_caller]
    pub(crate) fn send(&self, port: u16) -> RawReply {
        RawReply::read(self.open(port)).unwrap()
    }
}

impl RawReply {
    /// Reads until the server closes the connection.
    pub(crate) fn read(mut stream: TcpStream) -> Result<Self, ClosedConnection> {
        let mut bytes = Vec::new();
        // What came before a reset counts.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").ok_or(ClosedConnection)?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status
            .and_then(|status| status.parse().ok())
            .ok_or(ClosedConnection)?;
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        Ok(Self {
            status,
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        })
    }

    /// Returns the value of a header; it may be there only once.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "two of {name}: {:?}", self.headers);
        value
    }

    /// Returns the same if its status is this one.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Returns the values of the page's attributes, in their order.
    pub(crate) fn attributes(&self) -> Vec<String> {
        let parts = self.body.split('"');
        parts.map(unescape).collect()
    }

    /// Returns the value of a hidden field, the first of its name.
    #[track_caller]
    pub(crate) fn hidden_field(&self, name: &str) -> String {
        let marker = format!("name=\"{name}\" value=\"");
        let Some((_, rest)) = self.body.split_once(&marker) else {
            panic!("no field `{name}`: {}", self.body)
        };
        unescape(rest.split('"').next().unwrap())
    }
}

/// Reads a text as a browser does.
fn unescape(text: &str) -> String {
    let marks = [
        ("&#x2f;", "/"),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    marks.iter().fold(text.to_owned(), |text, (mark, plain)| {
        text.replace(mark, plain)
    })
}

/// Writes a value of a form.
fn escape(text: &str) -> String {
    let bytes = text.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    bytes.collect()
}
