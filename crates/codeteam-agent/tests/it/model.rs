//! A scripted model API that records the requests it gets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use codeteam_agent::builtin::Protocol;
use serde_json::{Value, json};

/// A request that it got.
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

/// A reply that it gives.
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

    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) fn read(stream: &TcpStream) -> ReceivedRequest {
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

/// Splits a text into two pieces, neither of which is anything by itself.
fn halves(text: &str) -> [&str; 2] {
    let (one, other) = text.split_at(text.len() / 2);
    [one, other]
}

/// The events of a stream in which a model says something and calls tools.
pub(crate) fn stream_events(protocol: Protocol, text: &str, calls: &[(&str, &str)]) -> Vec<String> {
    match protocol {
        Protocol::Anthropic => anthropic_events(text, calls),
        Protocol::Openai => openai_events(text, calls),
        Protocol::Gemini => gemini_events(text, calls),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn anthropic_events(text: &str, calls: &[(&str, &str)]) -> Vec<String> {
    let begun = r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":20}}}"#;
    let block =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let mut events = vec![begun.to_owned(), block.to_owned()];
    events.extend(halves(text).map(|text| {
            format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{}}}}}"#,
                quoted(text)
            )
        }));
    events.push(r#"{"type":"content_block_stop","index":0}"#.to_owned());
    for ((name, input), number) in calls.iter().zip(1..) {
        events.push(format!(
                r#"{{"type":"content_block_start","index":{number},"content_block":{{"type":"tool_use","id":"toolu_{number}","name":"{name}","input":{{}}}}}}"#
            ));
        events.extend(halves(input).map(|input| {
                format!(
                    r#"{{"type":"content_block_delta","index":{number},"delta":{{"type":"input_json_delta","partial_json":{}}}}}"#,
                    quoted(input)
                )
            }));
    }
    let stop = if calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    events.push(format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":5}}}}"#
        ));
    events.push(r#"{"type":"message_stop"}"#.to_owned());
    events
}

fn openai_events(text: &str, calls: &[(&str, &str)]) -> Vec<String> {
    let mut events = Vec::new();
    let delta = |delta: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#
        )
    };
    events.push(delta(r#"{"role":"assistant","content":""}"#));
    let texts = halves(text).map(|text| delta(&format!(r#"{{"content":{}}}"#, quoted(text))));
    events.extend(texts);
    for ((name, input), at) in calls.iter().zip(0..) {
        let number = at + 1;
        events.push(delta(&format!(
                r#"{{"tool_calls":[{{"index":{at},"id":"call_{number}","type":"function","function":{{"name":"{name}","arguments":""}}}}]}}"#
            )));
        events.extend(halves(input).map(|input| {
            delta(&format!(
                r#"{{"tool_calls":[{{"index":{at},"function":{{"arguments":{}}}}}]}}"#,
                quoted(input)
            ))
        }));
    }
    events.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
    events.push(r#"{"choices":[],"usage":{"prompt_tokens":130,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":100}}}"#.to_owned());
    events.push("[DONE]".to_owned());
    events
}

fn gemini_events(text: &str, calls: &[(&str, &str)]) -> Vec<String> {
    let mut events = Vec::new();
    let part = |part: &str| {
        format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}}}}]}}"#)
    };
    events.push(part(r#"{"text":"hm","thought":true}"#));
    events.extend(halves(text).map(|text| part(&format!(r#"{{"text":{}}}"#, quoted(text)))));
    events.extend(calls.iter().map(|(name, input)| {
        part(&format!(
            r#"{{"functionCall":{{"name":"{name}","args":{input}}},"thoughtSignature":"c2ln"}}"#
        ))
    }));
    events.push(
            r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":130,"candidatesTokenCount":3,"thoughtsTokenCount":2,"cachedContentTokenCount":100}}"#.to_owned(),
        );
    events
}

/// Events as they are sent.
pub(crate) fn event_stream(events: &[String]) -> String {
    let frames: Vec<String> = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    frames.concat()
}

/// The same reply as [`calls`] gives, in pieces.
pub(crate) fn streamed_calls(
    protocol: Protocol,
    text: &str,
    calls: &[(&str, &str)],
) -> CannedReply {
    let events = stream_events(protocol, text, calls);
    CannedReply::ok(event_stream(&events))
        .header("content-type", "text/event-stream; charset=utf-8")
}
