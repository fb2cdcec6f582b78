//! A model API that says what it was told to say, and remembers what it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use codeteam_agent::builtin::Protocol;
use serde_json::{Value, json};

/// What it was asked.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What it says.
#[derive(Clone, Debug)]
pub(crate) struct CannedReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl CannedReply {
    pub(crate) fn ok(body: String) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn status(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// The API.
pub(crate) struct FakeModel {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl FakeModel {
    /// Answers one request with each of these, then no more.
    pub(crate) fn start(answers: Vec<CannedReply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                let request = read(&stream);
                heard.lock().unwrap().push(request);
                write(stream, &answer);
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> ReceivedRequest {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.unwrap().1.parse().unwrap();
    let mut text = vec![0; length];
    reader.read_exact(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    ReceivedRequest {
        path,
        headers,
        body: serde_json::from_str(&text).unwrap(),
        text,
    }
}

fn write(mut stream: TcpStream, answer: &CannedReply) {
    let mut head = format!(
        "HTTP/1.1 {} Canned\r\nconnection: close\r\ncontent-length: {}\r\n",
        answer.status,
        answer.body.len()
    );
    for (name, value) in &answer.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    // A client that has gone is what some tests are about.
    let _ = write!(stream, "{head}\r\n{}", answer.body);
}

/// A reply that is a text.
pub(crate) fn says(protocol: Protocol, text: &str) -> CannedReply {
    calls(protocol, text, &[])
}

/// A reply that calls tools, with inputs to the letter.
pub(crate) fn calls(protocol: Protocol, text: &str, calls: &[(&str, &str)]) -> CannedReply {
    let text = Value::from(text).to_string();
    let body = match protocol {
        Protocol::Anthropic => {
            let mut blocks = vec![format!(r#"{{"type":"text","text":{text}}}"#)];
            blocks.extend(calls.iter().zip(1..).map(|((name, input), number)| {
                format!(
                    r#"{{"type":"tool_use","id":"toolu_{number}","name":"{name}","input":{input}}}"#
                )
            }));
            format!(
                r#"{{"type":"message","role":"assistant","content":[{}],"stop_reason":"{}",
                "usage":{{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":100,
                "cache_creation_input_tokens":20}}}}"#,
                blocks.join(","),
                if calls.is_empty() {
                    "end_turn"
                } else {
                    "tool_use"
                },
            )
        }
        Protocol::Openai => {
            let calls: Vec<Value> = calls
                .iter()
                .zip(1..)
                .map(|((name, input), number)| {
                    json!({"id": format!("call_{number}"), "type": "function",
                           "function": {"name": name, "arguments": input}})
                })
                .collect();
            let mut message = json!({"role": "assistant", "refusal": null});
            message["content"] = serde_json::from_str(&text).unwrap();
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                   "usage": {"prompt_tokens": 130, "completion_tokens": 5,
                             "prompt_tokens_details": {"cached_tokens": 100}}})
            .to_string()
        }
        Protocol::Gemini => {
            let mut parts = vec![
                r#"{"text":"hm","thought":true}"#.to_owned(),
                format!(r#"{{"text":{text}}}"#),
            ];
            parts.extend(calls.iter().map(|(name, input)| {
                format!(
                    r#"{{"functionCall":{{"name":"{name}","args":{input}}},"thoughtSignature":"c2ln"}}"#
                )
            }));
            format!(
                r#"{{"candidates":[{{"content":{{"role":"model","parts":[{}]}},"finishReason":"STOP"}}],
                "usageMetadata":{{"promptTokenCount":130,"candidatesTokenCount":3,
                "thoughtsTokenCount":2,"cachedContentTokenCount":100}}}}"#,
                parts.join(",")
            )
        }
    };
    CannedReply::ok(body)
}
