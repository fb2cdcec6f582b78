//! The server as its clients find it: bytes on a socket.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use codeteam_http::{BearerToken, ClientLimits, ClientSessions, Error, LoopbackListener, serve};
use rmcp::ServerHandler;
use serde_json::{Value, json};
use tokio::sync::oneshot;

const TOKEN: &str = "a-token-for-tests";
const VERSION: &str = "2025-06-18";

struct EmptyHandler;

impl ServerHandler for EmptyHandler {}

/// A server, until it is dropped.
struct TestServer {
    address: String,
    sessions: Arc<ClientSessions>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl TestServer {
    fn with(limits: ClientLimits) -> Self {
        let listener = LoopbackListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = listener.url();
        let address = url.strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        let sessions = Arc::new(ClientSessions::new(limits));
        let (end, ended) = oneshot::channel();
        let shared = Arc::clone(&sessions);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let token = BearerToken::from_secret(TOKEN).unwrap();
            let end = async { ended.await.unwrap() };
            let served = serve(listener, token, shared, || EmptyHandler, end);
            runtime.block_on(served).unwrap();
        });
        Self {
            address,
            sessions,
            end: Some(end),
            thread: Some(thread),
        }
    }

    fn new() -> Self {
        Self::with(ClientLimits::default())
    }

    /// A request that is right but for what is changed: `None` takes a header out.
    fn ask(&self, method: &str, changed: &[(&str, Option<&str>)], body: &str) -> TestReply {
        let mut stream = self.send(method, "/mcp", changed, body.len());
        stream.write_all(body.as_bytes()).unwrap();
        TestReply::read(stream)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        changed: &[(&str, Option<&str>)],
        length: usize,
    ) -> TcpStream {
        let (bearer, length) = (format!("Bearer {TOKEN}"), length.to_string());
        let right = [
            ("Host", self.address.as_str()),
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Length", &length),
            ("Connection", "close"),
        ];
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let is_changed = |name: &str| changed.iter().any(|(other, _)| *other == name);
        let kept = right.iter().filter(|(name, _)| !is_changed(name));
        let kept = kept.map(|(name, value)| (*name, Some(*value)));
        for (name, value) in kept.chain(changed.iter().copied()) {
            if let Some(value) = value {
                head = head + name + ": " + value + "\r\n";
            }
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    fn initialize(&self) -> TestReply {
        self.begin(VERSION)
    }

    /// A client of a revision begins.
    fn begin(&self, version: &str) -> TestReply {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            },
        });
        self.ask("POST", &[], &message.to_string())
    }

    /// Opens a session; its id.
    fn session(&self) -> String {
        let id = self.initialize().session().unwrap();
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let reply = self.ask("POST", &in_session(&id), &begun.to_string());
        assert_eq!(reply.status, 202, "{}", reply.text);
        id
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.end.take().map(|end| end.send(()));
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

fn in_session(id: &str) -> [(&str, Option<&str>); 2] {
    [
        ("Mcp-Session-Id", Some(id)),
        ("MCP-Protocol-Version", Some(VERSION)),
    ]
}

fn ping() -> String {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string()
}

/// A reply that a test received.
#[derive(Debug)]
struct TestReply {
    status: u16,
    text: String,
}

impl TestReply {
    fn read(mut stream: TcpStream) -> Self {
        let mut text = String::new();
        // Whatever came before the connection was reset counts.
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        text.push_str(&String::from_utf8_lossy(&bytes));
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
        Self {
            status: status.unwrap_or(0),
            text,
        }
    }

    fn session(&self) -> Option<String> {
        let mut lines = self.text.lines();
        let line = lines.find(|line| line.to_lowercase().starts_with("mcp-session-id:"))?;
        Some(line.split_once(": ")?.1.trim().to_owned())
    }

    /// The message in a stream of events.
    fn message(&self) -> Value {
        let lines = self.text.lines();
        let data = lines.filter_map(|line| line.strip_prefix("data:"));
        let mut said = data.rev().filter(|data| !data.trim().is_empty());
        let last = said.next().unwrap();
        serde_json::from_str(last).unwrap()
    }
}

#[test]
fn an_event_without_data_is_sent_only_to_those_who_know_it() {
    let served = TestServer::new();
    for (version, is_sent) in [(VERSION, false), ("2025-11-25", true)] {
        let begun = served.begin(version);
        assert!(!begun.text.contains("data: \n"), "{}", begun.text);
        let id = begun.session().unwrap();
        let asked = [
            ("Mcp-Session-Id", Some(id.as_str())),
            ("MCP-Protocol-Version", Some(version)),
        ];
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        served.ask("POST", &asked, &begun.to_string());
        let pong = served.ask("POST", &asked, &ping());
        assert_eq!(pong.text.contains("data: \n"), is_sent, "{}", pong.text);
        assert!(pong.text.contains("\"result\""), "{}", pong.text);
    }
}

#[test]
fn a_client_is_served() {
    let server = TestServer::new();
    let reply = server.initialize();
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.message()["result"]["protocolVersion"], VERSION);
    let id = server.session();
    let reply = server.ask("POST", &in_session(&id), &ping());
    assert_eq!(reply.message()["result"], json!({}));
}

#[test]
fn whoever_does_not_know_the_token_is_not() {
    let server = TestServer::new();
    for said in [None, Some("Bearer x"), Some("Basic x")] {
        let reply = server.ask("POST", &[("Authorization", said)], &ping());
        assert_eq!(reply.status, 401);
        assert!(
            reply
                .text
                .to_lowercase()
                .contains("www-authenticate: bearer")
        );
    }
}

#[test]
fn nor_is_what_a_web_page_sends() {
    let server = TestServer::new();
    let port = server.address.rsplit(':').next().unwrap();
    let elsewhere = format!("evil.example:{port}");
    for host in [elsewhere.as_str(), "localhost", "evil.example"] {
        assert_eq!(
            server.ask("POST", &[("Host", Some(host))], &ping()).status,
            403
        );
    }
    let page = format!("http://{elsewhere}");
    for origin in [page.as_str(), "null", "http://localhost"] {
        let reply = server.ask("POST", &[("Origin", Some(origin))], &ping());
        assert_eq!(reply.status, 403);
    }
    let own = format!("http://{}", server.address);
    let reply = server.ask("POST", &[("Origin", Some(&own))], &ping());
    assert_ne!(reply.status, 403);
    assert_eq!(server.ask("POST", &[("Host", None)], &ping()).status, 400);
}

#[test]
fn there_is_one_path_and_three_methods() {
    let server = TestServer::new();
    let reply =
        TestReply::read(server.send("GET", "/.well-known/x", &[("Authorization", None)], 0));
    assert_eq!(reply.status, 404);
    assert_eq!(server.ask("PUT", &[], &ping()).status, 405);
    assert_eq!(server.ask("OPTIONS", &[], "").status, 405);
}

#[test]
fn a_revision_that_is_not_known_is_refused() {
    let server = TestServer::new();
    let id = server.session();
    for version in ["1999-01-01", "nonsense"] {
        let headers = [
            ("Mcp-Session-Id", Some(id.as_str())),
            ("MCP-Protocol-Version", Some(version)),
        ];
        let reply = server.ask("POST", &headers, &ping());
        assert_eq!(reply.status, 400, "{}", reply.text);
        let reply = server.ask("POST", &headers[1..], &ping());
        assert_eq!(reply.status, 400, "{}", reply.text);
    }
}

#[test]
fn what_is_no_message_is_refused_and_nothing_breaks() {
    let server = TestServer::new();
    let id = server.session();
    for body in ["", "{", "[]", "null", "\u{0}", "{\"jsonrpc\":\"2.0\"}"] {
        let reply = server.ask("POST", &in_session(&id), body);
        assert!((400..500).contains(&reply.status), "{body}: {}", reply.text);
    }
    let reply = server.ask("POST", &in_session(&id), &ping());
    assert_eq!(reply.status, 200);
}

#[test]
fn a_long_body_is_not_read() {
    let limits = ClientLimits {
        bytes: 1_000,
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let reply = server.ask("POST", &[], &" ".repeat(1_001));
    assert_eq!(reply.status, 413);
    // Nor is one that only says so, or does not say how long it is.
    let reply = TestReply::read(server.send("POST", "/mcp", &[], 1 << 40));
    assert_eq!(reply.status, 413);
    let chunked = [
        ("Content-Length", None),
        ("Transfer-Encoding", Some("chunked")),
    ];
    let mut stream = server.send("POST", "/mcp", &chunked, 0);
    let chunk = format!("3e8\r\n{}\r\n", " ".repeat(1_000));
    stream.write_all(chunk.repeat(2).as_bytes()).unwrap();
    assert_eq!(TestReply::read(stream).status, 413);
}

#[test]
fn one_that_does_not_come_is_not_waited_for() {
    let limits = ClientLimits {
        arrival_timeout: Duration::from_millis(50),
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    assert_eq!(
        TestReply::read(server.send("POST", "/mcp", &[], 10)).status,
        408
    );
    // Half a head is nothing at all.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
    assert!([0, 408].contains(&TestReply::read(stream).status));
}

#[test]
fn there_are_so_many_sessions_and_the_one_that_is_silent_longest_makes_room() {
    let limits = ClientLimits {
        sessions: 2,
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let (one, other) = (server.session(), server.session());
    assert_eq!(server.ask("POST", &in_session(&one), &ping()).status, 200);
    let third = server.session();
    let still_there = |id: &str| server.ask("POST", &in_session(id), &ping()).status == 200;
    assert!(still_there(&one) && !still_there(&other) && still_there(&third));
}

#[test]
fn one_that_listens_stays() {
    let limits = ClientLimits {
        sessions: 1,
        disconnect_timeout: Duration::ZERO,
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let listens = server.session();
    let mut stream = server.send("GET", "/mcp", &in_session(&listens), 0);
    // It has begun when the head is there.
    let mut first = [0; 16];
    stream.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"HTTP/1.1 200"));
    assert!(!server.sessions.is_gone(&listens));
    assert_eq!(server.initialize().status, 503);
}

#[test]
fn one_that_was_ended_is_gone() {
    let server = TestServer::new();
    let id = server.session();
    assert!(!server.sessions.is_gone(&id));
    let ended = server.ask("DELETE", &in_session(&id), "");
    assert_eq!(ended.status, 202, "{}", ended.text);
    assert!(server.sessions.is_gone(&id));
    assert_eq!(server.ask("POST", &in_session(&id), &ping()).status, 404);
}

#[test]
fn one_that_is_silent_for_long_seems_gone() {
    let limits = ClientLimits {
        silence_timeout: Duration::ZERO,
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let id = server.session();
    assert!(server.sessions.is_gone(&id));
    // It only seems so.
    assert_eq!(server.ask("POST", &in_session(&id), &ping()).status, 200);
}

#[test]
fn nothing_is_served_to_other_machines() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "8.8.8.8:80"] {
        let refused = LoopbackListener::bind(address.parse().unwrap());
        assert!(matches!(refused, Err(Error::NotLoopback(_))), "{address}");
    }
}

#[test]
fn those_without_the_token_keep_nobody_out() {
    let limits = ClientLimits {
        newcomers: 8,
        authentication_timeout: Duration::from_mins(10),
        arrival_timeout: Duration::from_mins(10),
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let half = |count: usize| -> Vec<TcpStream> {
        let open = |_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
            stream
        };
        (0..count).map(open).collect()
    };
    let mut waiting = half(200);
    assert_eq!(server.initialize().status, 200);
    // The oldest had to make way.
    let first = waiting.remove(0);
    assert_eq!(TestReply::read(first).status, 0);
    // One that was let in stays, however many come after it.
    let id = server.session();
    let mut stream = server.send("GET", "/mcp", &in_session(&id), 0);
    let mut head = [0; 16];
    stream.read_exact(&mut head).unwrap();
    waiting.extend(half(100));
    assert_eq!(server.ask("POST", &in_session(&id), &ping()).status, 200);
    assert!(!server.sessions.is_gone(&id));
}

#[test]
fn one_that_does_not_introduce_itself_is_not_waited_for() {
    let limits = ClientLimits {
        authentication_timeout: Duration::from_millis(50),
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let silent = TcpStream::connect(&server.address).unwrap();
    assert_eq!(TestReply::read(silent).status, 0);
    // Nor is one that has no token, whatever it asks.
    let keep = [
        ("Authorization", Some("Bearer x")),
        ("Connection", Some("keep-alive")),
    ];
    let stream = server.send("POST", "/mcp", &keep, 0);
    assert_eq!(TestReply::read(stream).status, 401);
}

#[test]
fn bodies_wait_for_each_other_and_all_are_served() {
    let limits = ClientLimits {
        all_bytes: 64 << 10,
        bytes: 48 << 10,
        ..ClientLimits::default()
    };
    let server = TestServer::with(limits);
    let id = server.session();
    let (server, id) = (&server, &id);
    std::thread::scope(|scope| {
        for number in 10..18 {
            scope.spawn(move || {
                let ping = json!({ "jsonrpc": "2.0", "id": number, "method": "ping" });
                let long = format!("{ping}{}", " ".repeat(40 << 10));
                assert_eq!(server.ask("POST", &in_session(id), &long).status, 200);
            });
        }
    });
}
