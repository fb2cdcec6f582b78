//! `codeteam-models`, as a person runs it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn models(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codeteam-models"));
    command
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Ends the program with the test.
struct ModelsProcess(Child);

impl Drop for ModelsProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_says_where_it_is_and_what_it_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("s.yml");
    let record = directory.path().join("record.jsonl");
    std::fs::write(&scenario, "plays: [{name: hello, turns: [{text: hi}]}]").unwrap();
    let arguments = [
        "--scenario",
        scenario.to_str().unwrap(),
        "--record",
        record.to_str().unwrap(),
    ];
    let mut running = ModelsProcess(models(&arguments).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();

    let base = line()
        .strip_prefix("ANTHROPIC_BASE_URL=")
        .unwrap()
        .to_owned();
    assert_eq!(line(), format!("OPENAI_BASE_URL={base}/v1"));
    assert_eq!(line(), format!("GOOGLE_GEMINI_BASE_URL={base}"));
    assert_eq!(line(), format!("codex -c openai_base_url='\"{base}/v1\"'"));

    let mut stream = TcpStream::connect(base.strip_prefix("http://").unwrap()).unwrap();
    let body = r#"{"model":"x","messages":[{"role":"user","content":"Role: coder"}]}"#;
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    assert_eq!(line(), "1 POST /v1/messages role=coder play=hello turn=1");
    let kept = std::fs::read_to_string(record).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&kept).unwrap()["play"],
        "hello"
    );
}

#[test]
fn a_wrong_scenario_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("s.yml");
    std::fs::write(&scenario, "plays:\n  - turn: []\n").unwrap();
    let output = models(&["--scenario", scenario.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.starts_with("error: ") && told.contains("s.yml:2:5"),
        "{told}"
    );
    assert!(told.contains("did you mean `turns`?"), "{told}");
}
