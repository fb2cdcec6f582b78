//! Tests of what is recorded of requests.

use std::io::Write as _;

use codeteam_e2e::{ModelServer, Play, Protocol, Scenario, ServerOptions, Turn};
use serde_json::{Value, json};

use crate::client::{get, post, send, start};
use crate::{anthropic, gemini};

fn server() -> ModelServer {
    let scenario = Scenario::new().play(Play::new().named("any").turn(Turn::say("yes")));
    ModelServer::start(scenario).unwrap()
}

#[test]
fn credentials_are_masked() {
    let server = server();
    let headers = "x-api-key: sk-secret-1\r\nAuthorization: Bearer sk-secret-2\r\n\
                   x-goog-api-key: sk-secret-3\r\nx-app: cli\r\n";
    let body = anthropic::question(false, &anthropic::asked()).to_string();
    send(
        &server,
        "POST",
        "/v1/messages?key=sk-secret-4&alt=sse",
        headers,
        &body,
    )
    .reply()
    .unwrap();
    let requests = server.requests();
    let request = requests.last().unwrap();
    let kept = serde_json::to_string(request).unwrap();
    assert!(!kept.contains("secret"), "{kept}");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer <masked, 11 characters>")
    );
    assert_eq!(request.header("X-Api-Key"), Some("<masked, 11 characters>"));
    assert_eq!(request.header("x-app"), Some("cli"));
    assert_eq!(
        request.path,
        "/v1/messages?key=<masked, 11 characters>&alt=sse"
    );
}

#[test]
fn requests_are_kept_in_order_and_found_by_what_they_are() {
    let server = server();
    post(
        &server,
        "/v1/messages",
        &anthropic::question(false, &anthropic::asked()),
    );
    post(&server, gemini::WHOLE, &gemini::question(&gemini::asked()));
    get(&server, "/v1/models", "");
    let requests = server.requests();
    let orders: Vec<u64> = requests.iter().map(|request| request.order).collect();
    assert_eq!(orders, [1, 2, 3]);
    assert_eq!(requests.to_models().len(), 2);
    assert_eq!(requests.of_protocol(Protocol::Gemini).len(), 1);
    let first = &requests.0[0];
    assert_eq!(first.play.as_deref(), Some("any"));
    assert_eq!(first.system_text(), "You are a worker.\nRole: coder");
    assert_eq!(first.user_text(), "Do it.");
    assert_eq!(first.tool_names(), ["Write", "Edit", "Read", "Bash"]);
    assert_eq!(first.body["max_tokens"], 100);
}

#[test]
fn a_request_is_waited_for() {
    let server = server();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.wait_for(2).unwrap().len());
        for _ in 0..2 {
            post(&server, gemini::WHOLE, &gemini::question(&gemini::asked()));
        }
        assert_eq!(waiting.join().unwrap(), 2);
    });
}

#[test]
fn one_connection_serves_many_requests_chunked_ones_too() {
    let server = server();
    let body = gemini::question(&gemini::asked()).to_string();
    let (one, two) = body.split_at(10);
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    let path = gemini::WHOLE;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    )
    .unwrap();
    let requests = server.wait_for(2).unwrap();
    assert_eq!(requests.0[0].body, requests.0[1].body);
    server.assert_no_problems();
}

#[test]
fn what_is_no_endpoint_and_no_json_is_a_problem() {
    let server = server();
    assert_eq!(get(&server, "/v1/files", "").status, 404);
    let zstd = "content-encoding: zstd\r\n";
    let reply = send(&server, "POST", "/v1/responses", zstd, "(/x")
        .reply()
        .unwrap();
    assert_eq!(reply.status, 400);
    let problems = server.problems();
    assert!(problems[0].contains("`GET /v1/files`"), "{problems:?}");
    assert!(
        problems[1].contains("content-encoding: zstd"),
        "{problems:?}"
    );
    assert_eq!(get(&server, "/", "").status, 200);
}

#[test]
fn a_record_has_one_line_for_each_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record.jsonl");
    let options = ServerOptions {
        record: Some(std::fs::File::create(&path).unwrap()),
        ..ServerOptions::default()
    };
    let server = ModelServer::start_with(Scenario::default_play(), options).unwrap();
    post(
        &server,
        "/v1/messages",
        &anthropic::question(false, &anthropic::asked()),
    );
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["order"], 1);
    assert_eq!(lines[0]["protocol"], "anthropic");
    assert_eq!(lines[0]["marks"], json!({"role": "coder"}));
    assert_eq!(lines[0]["play"], "sensible");
    assert_eq!(lines[0]["turn"], 0);
    assert_eq!(lines[0]["body"]["model"], "claude-x");
}

#[test]
fn a_server_that_is_dropped_lets_its_clients_go() {
    let scenario = "plays: [{turns: [{text: x, fault: stall}]}]";
    let server = ModelServer::start(Scenario::parse("s.yml", scenario).unwrap()).unwrap();
    let asking = start(&server, gemini::WHOLE, &gemini::question(&gemini::asked()));
    assert!(server.wait_held("gate", 1));
    let address = server.address();
    drop(server);
    assert!(asking.reply().is_none());
    assert!(std::net::TcpStream::connect(address).is_err());
}
