//! A client that writes lines, as a hostile one would.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::project::Project;

/// A server, and both its streams.
pub(super) struct RawClient {
    pub(super) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl RawClient {
    /// A server that has been greeted.
    pub(super) fn new(project: &Project) -> Self {
        let mut raw = Self::silent(project);
        raw.greet();
        raw
    }

    /// A server to which nothing was said yet.
    pub(super) fn silent(project: &Project) -> Self {
        Self::of(project.codeteam(&["mcp"]))
    }

    /// A server started by this command.
    pub(super) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self {
            child,
            input,
            output: BufReader::new(output),
            last: 0,
        }
    }

    pub(super) fn greet(&mut self) -> Value {
        let greeted = self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "raw", "version": "1" },
            }),
        );
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        greeted
    }

    /// Writes bytes as they are.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(super) fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    /// The next line of the server, which must be a message.
    pub(super) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        assert_eq!(value["jsonrpc"], "2.0", "{value}");
        value
    }

    /// Asks, and waits for the answer to it.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&asked.to_string());
        loop {
            let value = self.next();
            if value["id"] == id {
                return value;
            }
        }
    }

    /// Calls a tool; what it answered, for programs.
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        let answer = self.ask("tools/call", params);
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        let refused = result["structuredContent"]["type"] == "refused";
        assert_eq!(result["isError"] == true, refused, "{result}");
        result["structuredContent"].clone()
    }

    /// Lets somebody else write.
    pub(super) fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    pub(super) fn give_input(&mut self, input: ChildStdin) {
        self.input = Some(input);
    }

    /// Ends what the server reads, and waits for its end.
    pub(super) fn close(mut self) -> i32 {
        drop(self.input.take());
        let code = self.child.wait().unwrap().code();
        code.unwrap()
    }

    /// Kills it where it stands.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
