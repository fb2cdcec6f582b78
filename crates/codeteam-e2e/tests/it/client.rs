//! A plain HTTP client that sees everything: half answers too.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use codeteam_e2e::ModelServer;
use serde_json::Value;

/// A received reply.
#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Whether the body is complete.
    pub(crate) complete: bool,
}

impl HttpReply {
    pub(crate) fn json(&self) -> Value {
        assert!(self.complete, "cut: {}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }

    /// The events of a stream: their names and their data, as text.
    pub(crate) fn raw_events(&self) -> Vec<(Option<&str>, &str)> {
        let blocks = self.body.split("\n\n").filter(|block| !block.is_empty());
        blocks
            .map(|block| {
                let mut lines = block.lines();
                let name = lines.clone().find_map(|line| line.strip_prefix("event: "));
                let data = lines.find_map(|line| line.strip_prefix("data: "));
                (name, data.unwrap_or_default())
            })
            .collect()
    }

    /// The events of a stream, which all must be JSON but `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        assert!(self.complete, "cut: {}", self.body);
        let events = self.raw_events().into_iter();
        events
            .filter(|(_, data)| *data != "[DONE]")
            .map(|(name, data)| {
                let data: Value = serde_json::from_str(data).unwrap();
                if let Some(name) = name {
                    assert_eq!(data["type"], name, "an event is called by its type");
                }
                data
            })
            .collect()
    }
}

/// A request on its way; reading the reply is apart, so that a test can act in between.
pub(crate) struct PendingReply(BufReader<TcpStream>);

/// Sends a request.
pub(crate) fn send(
    server: &ModelServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> PendingReply {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream
        .set_read_timeout(Some(ModelServer::PATIENCE))
        .unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    PendingReply(BufReader::new(stream))
}

/// Posts JSON and reads the reply.
pub(crate) fn post(server: &ModelServer, path: &str, body: &Value) -> HttpReply {
    start(server, path, body).reply().unwrap()
}

/// Posts JSON.
pub(crate) fn start(server: &ModelServer, path: &str, body: &Value) -> PendingReply {
    send(server, "POST", path, "", &body.to_string())
}

/// Gets a path.
pub(crate) fn get(server: &ModelServer, path: &str, headers: &str) -> HttpReply {
    send(server, "GET", path, headers, "").reply().unwrap()
}

impl PendingReply {
    /// Reads the reply; `None` if there is none.
    pub(crate) fn reply(mut self) -> Option<HttpReply> {
        let mut line = String::new();
        if self.0.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(": ") else {
                break;
            };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut reply = HttpReply {
            status,
            headers,
            body: String::new(),
            complete: false,
        };
        match reply.header("content-length").map(str::to_owned) {
            Some(length) => {
                let mut body = vec![0; length.parse().unwrap()];
                reply.complete = self.0.read_exact(&mut body).is_ok();
                reply.body = String::from_utf8(body).unwrap();
            }
            None => self.read_chunks(&mut reply),
        }
        Some(reply)
    }

    fn read_chunks(&mut self, reply: &mut HttpReply) {
        loop {
            let mut line = String::new();
            let _ = self.0.read_line(&mut line);
            let Ok(size) = usize::from_str_radix(line.trim(), 16) else {
                return;
            };
            let mut chunk = vec![0; size + 2];
            if self.0.read_exact(&mut chunk).is_err() {
                return;
            }
            if size == 0 {
                reply.complete = true;
                return;
            }
            chunk.truncate(size);
            reply.body.push_str(&String::from_utf8(chunk).unwrap());
        }
    }
}
