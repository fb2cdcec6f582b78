//! Anthropic Messages.

use codeteam_e2e::{ModelServer, Play, Scenario, TokenUsage, Turn};
use serde_json::{Value, json};

use crate::client::{get, post};

const TOOLS: &[(&str, &[&str])] = &[
    ("Write", &["file_path", "content"]),
    ("Edit", &["file_path", "old_string", "new_string"]),
    ("Read", &["file_path"]),
    ("Bash", &["command"]),
];

/// A question with claude's tools.
pub(crate) fn question(stream: bool, messages: &Value) -> Value {
    let tools: Vec<Value> = TOOLS
        .iter()
        .map(|(name, keys)| {
            let keys = keys.iter();
            let properties: serde_json::Map<String, Value> = keys
                .map(|key| ((*key).to_owned(), json!({"type": "string"})))
                .collect();
            json!({"name": name, "input_schema": {"type": "object", "properties": properties}})
        })
        .collect();
    json!({"model": "claude-x", "max_tokens": 100, "stream": stream,
           "system": [{"type": "text", "text": "You are a worker.\nRole: coder"}],
           "messages": messages, "tools": tools})
}

pub(crate) fn asked() -> Value {
    json!([{"role": "user", "content": "Do it."}])
}

fn server() -> ModelServer {
    let usage = TokenUsage {
        input: 7,
        cached: 11,
        cache_write: 13,
        output: 17,
        reasoning: 0,
    };
    let turn = Turn::say("Grüße, I write.")
        .write("a.txt", "one\n")
        .run("ls")
        .usage(usage);
    ModelServer::start(Scenario::new().play(Play::new().turn(turn).turn(Turn::say("Done."))))
        .unwrap()
}

#[test]
fn a_whole_answer_has_text_tools_and_usage() {
    let server = server();
    let answer = post(&server, "/v1/messages", &question(false, &asked())).json();
    assert_eq!(answer["type"], "message");
    assert_eq!(answer["role"], "assistant");
    assert_eq!(answer["model"], "claude-x");
    assert_eq!(answer["stop_reason"], "tool_use");
    let content = answer["content"].as_array().unwrap();
    assert_eq!(
        content[0],
        json!({"type": "text", "text": "Grüße, I write."})
    );
    assert_eq!(content[1]["name"], "Write");
    assert_eq!(
        content[1]["input"],
        json!({"file_path": "a.txt", "content": "one\n"})
    );
    assert_eq!(content[2]["input"], json!({"command": "ls"}));
    assert_ne!(content[1]["id"], content[2]["id"]);
    let usage = &answer["usage"];
    assert_eq!(usage["input_tokens"], 7);
    assert_eq!(usage["cache_read_input_tokens"], 11);
    assert_eq!(usage["cache_creation_input_tokens"], 13);
    assert_eq!(usage["output_tokens"], 17);
    server.assert_no_problems();
}

/// Puts a streamed answer together again.
fn fold(events: &[Value]) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        let index = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        let delta = &event["delta"];
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                let content = message["content"].as_array_mut().unwrap();
                assert_eq!(index, content.len());
                content.push(event["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" if delta["type"] == "text_delta" => {
                let text = &mut message["content"][index]["text"];
                *text = json!(format!(
                    "{}{}",
                    text.as_str().unwrap(),
                    delta["text"].as_str().unwrap()
                ));
            }
            "content_block_delta" => {
                inputs[index].push_str(delta["partial_json"].as_str().unwrap());
            }
            "content_block_stop" if message["content"][index]["type"] == "tool_use" => {
                message["content"][index]["input"] = serde_json::from_str(&inputs[index]).unwrap();
            }
            "message_delta" => {
                message["stop_reason"] = delta["stop_reason"].clone();
                message["usage"] = event["usage"].clone();
            }
            _ => {}
        }
    }
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    message
}

#[test]
fn a_streamed_answer_is_the_whole_one_in_pieces() {
    let server = server();
    let whole = post(&server, "/v1/messages", &question(false, &asked())).json();
    let reply = post(&server, "/v1/messages?beta=true", &question(true, &asked()));
    assert_eq!(
        reply.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    let events = reply.events();
    assert_eq!(fold(&events), whole);
    let pieces = events.iter().filter(|e| e["delta"]["type"] == "text_delta");
    assert!(pieces.count() > 1, "the text comes in more than one piece");
}

#[test]
fn the_turn_is_taken_from_the_conversation() {
    let server = server();
    let mut messages = asked();
    let first = post(&server, "/v1/messages", &question(false, &messages)).json();
    // The same again is the same turn: a retry of the client's.
    let again = post(&server, "/v1/messages", &question(false, &messages)).json();
    assert_eq!(first, again);

    let said = messages.as_array_mut().unwrap();
    said.push(json!({"role": "assistant", "content": first["content"]}));
    said.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": first["content"][1]["id"], "content": "written"},
        {"type": "tool_result", "tool_use_id": first["content"][2]["id"],
         "content": [{"type": "text", "text": "a.txt"}]},
    ]}));
    let second = post(&server, "/v1/messages", &question(false, &messages)).json();
    assert_eq!(
        second["content"],
        json!([{"type": "text", "text": "Done."}])
    );
    assert_eq!(second["stop_reason"], "end_turn");
    let turns: Vec<_> = server.requests().iter().map(|r| r.turn.unwrap()).collect();
    assert_eq!(turns, [0, 0, 1]);
    assert_eq!(
        server.requests().last().unwrap().last_user_text(),
        "written\na.txt"
    );
    server.assert_no_problems();
}

#[test]
fn tokens_are_counted_and_models_listed() {
    let server = server();
    let count = post(
        &server,
        "/v1/messages/count_tokens?beta=true",
        &question(false, &asked()),
    );
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 10);
    let models = get(
        &server,
        "/v1/models?limit=5",
        "anthropic-version: 2023-06-01\r\n",
    )
    .json();
    assert_eq!(models["data"][0]["type"], "model");
    assert_eq!(models["has_more"], false);
    assert!(
        server.requests().to_models().is_empty(),
        "neither asks a model"
    );
}

#[test]
fn base_paths_work_with_and_without_their_version() {
    let server = server();
    for path in ["/messages", "/v1/messages", "/anthropic/v1/messages/"] {
        assert_eq!(
            post(&server, path, &question(false, &asked())).status,
            200,
            "{path}"
        );
    }
}
