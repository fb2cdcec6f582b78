//! The server over HTTP: who is let in, and how several clients share one task.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::raw::RawClient;
use super::{design, project, requirements};
use crate::project::Project;

/// A server, which ends with its test.
struct HttpTestServer {
    child: Child,
    address: String,
    token: String,
}

/// One client, with its session.
struct HttpSession<'a> {
    served: &'a HttpTestServer,
    id: String,
}

impl HttpTestServer {
    fn new(project: &Project) -> Self {
        let mut child = project
            .codeteam(&["mcp", "--http", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let url = told["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap();
        Self {
            child,
            address: address.strip_suffix("/mcp").unwrap().to_owned(),
            token: told["token"].as_str().unwrap().to_owned(),
        }
    }

    /// The status and everything else that came back.
    fn ask(&self, method: &str, token: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let status = said.split(' ').nth(1).unwrap().parse().unwrap();
        (status, said)
    }

    fn session(&self, name: &str) -> HttpSession<'_> {
        let message = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": name, "version": "1" },
            },
        });
        let (status, said) = self.ask("POST", &self.token, "", &message.to_string());
        assert_eq!(status, 200, "{said}");
        let mut lines = said.lines();
        let id = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = HttpSession {
            served: self,
            id: id.unwrap().to_owned(),
        };
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.ask("POST", &begun.to_string()).0, 202);
        session
    }

    fn signal(&self) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
}

impl Drop for HttpTestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl HttpSession<'_> {
    fn ask(&self, method: &str, body: &str) -> (u16, String) {
        let headers = format!(
            "Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-06-18\r\n",
            self.id
        );
        self.served.ask(method, &self.served.token, &headers, body)
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let (status, said) = self.ask("POST", &message.to_string());
        assert_eq!(status, 200, "{said}");
        let data = said.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut said = data.rev().filter(|data| !data.trim().is_empty());
        let last = said.next().unwrap();
        let message: Value = serde_json::from_str(last).unwrap();
        message["result"]["structuredContent"].clone()
    }

    fn end(self) {
        assert_eq!(self.ask("DELETE", "").0, 202);
    }
}

#[test]
fn a_client_needs_the_token_and_then_has_the_same_tools() {
    let project = project();
    let served = HttpTestServer::new(&project);
    assert_eq!(served.ask("POST", "wrong", "", "{}").0, 401);
    let session = served.session("one");
    assert_eq!(
        session.call("get_status", json!({}))["state"],
        "not_started"
    );
    let first = session.call("start_task", json!({"task": "Add a reset"}));
    assert_eq!(first["role"], "ba", "{first}");
    let next = session.call("submit", json!({"submission": requirements()}));
    assert_eq!(next["role"], "architect", "{next}");
}

#[test]
fn the_second_client_of_one_server_is_told_who_leads_until_that_one_ends() {
    let project = project();
    let served = HttpTestServer::new(&project);
    let (one, two) = (served.session("one"), served.session("two"));
    let run = one.call("start_task", json!({"task": "Add a reset"}))["run"].clone();
    for (tool, arguments) in [
        ("start_task", json!({"task": "Another"})),
        ("start_task", json!({"task": "Another", "another": true})),
        ("submit", json!({"submission": requirements()})),
        ("abort", json!({})),
    ] {
        let refused = two.call(tool, arguments);
        assert_eq!(refused["type"], "refused", "{refused}");
        let why = refused["errors"][0].as_str().unwrap();
        assert!(why.contains("`one 1`, another client"), "{why}");
        assert_eq!(refused["run"], run);
    }
    let status = two.call("get_status", json!({}));
    assert!(status["held_by"].as_str().unwrap().contains("one 1"));
    assert_eq!(status["current_role"], "ba");
    let next = one.call("submit", json!({"submission": requirements()}));
    assert_eq!(next["role"], "architect", "{next}");
    one.end();
    let status = two.call("get_status", json!({}));
    assert_eq!(status["next"]["role"], "architect", "{status}");
    let next = two.call("submit", json!({"submission": design()}));
    assert_eq!(next["role"], "coder", "{next}");
}

#[test]
fn a_command_from_inside_of_a_client_decides_nothing() {
    let project = project();
    let served = HttpTestServer::new(&project);
    let session = served.session("one");
    let run = session.call("start_task", json!({"task": "Add a reset"}))["run"].clone();
    let run = run.as_str().unwrap();
    // The test is a client, whether it is connected at the moment or not.
    let inside = project.run(&["approve", run]).expect(2);
    assert!(
        inside.stderr.contains("inside `one 1`"),
        "{}",
        inside.stderr
    );
    // Somebody else who is connected is one, too.
    let project = self::project();
    let served = HttpTestServer::new(&project);
    let _wire = TcpStream::connect(&served.address).unwrap();
    let mut raw = RawClient::new(&project);
    let run = raw.call("start_task", json!({"task": "Add a reset"}))["run"].clone();
    let inside = project.run(&["approve", run.as_str().unwrap()]).expect(2);
    assert!(
        inside.stderr.contains("called from inside"),
        "{}",
        inside.stderr
    );
}

/// A call of a client of a revision without sessions, by a program of its own.
fn call_without_a_session(
    served: &HttpTestServer,
    name: &str,
    tool: &str,
    arguments: Value,
) -> Value {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": tool, "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": name, "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    );
    let (status, said) = served.ask("POST", &served.token, &headers, &message.to_string());
    assert_eq!(status, 200, "{said}");
    let body = said.split_once("\r\n\r\n").unwrap().1;
    let mut data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.rfind(|data| !data.trim().is_empty());
    let text = last.unwrap_or_else(|| body.lines().find(|line| line.starts_with('{')).unwrap());
    let message: Value = serde_json::from_str(text).unwrap();
    message["result"]["structuredContent"].clone()
}

#[test]
fn a_client_without_a_session_does_not_approve_its_own_work() {
    let project = project();
    let served = HttpTestServer::new(&project);
    let call = |tool, arguments| call_without_a_session(&served, "one", tool, arguments);
    let run = call("start_task", json!({"task": "Add a reset"}))["run"].clone();
    call("submit", json!({"submission": requirements()}));
    call("submit", json!({"submission": design()}));
    project.write("reset.txt", "broken\n");
    let change = json!({"summary": "x", "files_changed": ["reset.txt"], "proof": "x"});
    let back = call("submit", json!({ "submission": change }));
    assert_eq!(back["iteration"], 2, "{back}");
    // It is not connected now, and is known all the same.
    let inside = project.run(&["approve", run.as_str().unwrap()]).expect(2);
    assert!(
        inside.stderr.contains("inside `one 1`"),
        "{}",
        inside.stderr
    );
    assert_eq!(call("get_status", json!({}))["current_role"], "coder");
}

#[test]
fn clients_of_one_name_are_not_one_client_and_one_that_has_ended_is_gone() {
    let project = project();
    let served = HttpTestServer::new(&project);
    // Another program of the same name, which leads and leaves.
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": "start_task", "arguments": {"task": "Add a reset"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "mcp", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let script = r#"
import http.client, sys
address, token, body = sys.argv[1:4]
connection = http.client.HTTPConnection(address)
connection.request("POST", "/mcp", body, {
    "Authorization": "Bearer " + token, "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call", "Mcp-Name": "start_task",
})
print(connection.getresponse().read().decode(), flush=True)
connection.close()
sys.stdin.read()
"#;
    let mut other = Project::program(std::path::Path::new("python3"))
        .args(["-c", script, &served.address, &served.token])
        .arg(message.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = String::new();
    let mut output = BufReader::new(other.stdout.take().unwrap());
    while !answer.contains("role_assignment") {
        assert_ne!(output.read_line(&mut answer).unwrap(), 0, "{answer}");
    }
    let call = |tool, arguments| call_without_a_session(&served, "mcp", tool, arguments);
    let refused = call("submit", json!({"submission": requirements()}));
    assert_eq!(refused["type"], "refused", "{refused}");
    let next = refused["do_next"].as_str().unwrap();
    assert!(next.contains("its program ends"), "{next}");
    assert!(next.contains("after 30 minutes"), "{next}");
    // It ends without a word.
    other.kill().unwrap();
    other.wait().unwrap();
    let next = call("submit", json!({"submission": requirements()}));
    assert_eq!(next["role"], "architect", "{next}");
}

#[test]
fn a_server_that_is_told_to_end_gives_the_task_back() {
    let project = project();
    let mut served = HttpTestServer::new(&project);
    let session = served.session("one");
    let run = session.call("start_task", json!({"task": "Add a reset"}))["run"].clone();
    served.signal();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let mut raw = RawClient::new(&project);
    let status = raw.call("get_status", json!({}));
    assert_eq!(status["run"], run);
    assert_eq!(status["next"]["role"], "ba", "{status}");
}

#[test]
fn it_is_served_to_this_machine_only() {
    let project = project();
    for address in ["0.0.0.0:0", "192.0.2.7:4000", "[::]:0"] {
        let refused = project.run(&["mcp", "--http", address]).expect(2);
        let why = format!("`{address}` is not a loopback address");
        assert!(refused.stderr.contains(&why), "{}", refused.stderr);
    }
    let refused = project.run(&["mcp", "--http", "everywhere"]).expect(2);
    assert!(refused.stderr.contains("is not an address to serve at"));
}

#[test]
fn a_token_of_the_users_own_is_taken_and_not_printed() {
    let project = project();
    let file = project.write_outside("token", "one-from-a-file-0123\n");
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&file, readable).unwrap();
    let mut command = project.codeteam(&["mcp", "--http", "--token-file", &file]);
    command.env("CODETEAM_MCP_TOKEN", "one-of-the-environment");
    command.stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let note = lines.next().unwrap().unwrap();
    assert!(note.contains("others can read"), "{note}");
    let first = lines.next().unwrap().unwrap();
    let second = lines.next().unwrap().unwrap();
    assert!(
        second.contains(&file) && !second.contains("0123"),
        "{second}"
    );
    let url = first.strip_prefix("serving MCP at http://").unwrap();
    let served = HttpTestServer {
        child,
        address: url.strip_suffix("/mcp").unwrap().to_owned(),
        token: "one-from-a-file-0123".to_owned(),
    };
    served.session("one");
    let taken = project.run(&["mcp", "--http", &served.address]);
    assert!(
        taken.stderr.contains("name another port"),
        "{}",
        taken.stderr
    );
    assert_eq!(
        served.ask("POST", "one-of-the-environment", "", "{}").0,
        401
    );
    let short = project.write_outside("short", "short\n");
    let refused = project.run(&["mcp", "--http", "--token-file", &short]);
    assert!(
        refused
            .expect(2)
            .stderr
            .contains("the token cannot be used")
    );
}
