//! `OpenAI` Chat Completions.

use codeteam_e2e::{ModelServer, Play, Scenario, Turn};
use serde_json::{Value, json};

use crate::client::{get, post};

/// A question with the built-in worker's tools.
pub(crate) fn question(stream: bool, messages: &Value) -> Value {
    let tool = |name: &str, keys: &[&str]| {
        let keys = keys.iter();
        let properties: serde_json::Map<String, Value> = keys
            .map(|key| ((*key).to_owned(), json!({"type": "string"})))
            .collect();
        json!({"type": "function", "function": {
            "name": name, "parameters": {"type": "object", "properties": properties}}})
    };
    json!({"model": "local", "stream": stream, "stream_options": {"include_usage": true},
    "messages": messages, "tools": [
        tool("write_file", &["path", "content"]),
        tool("edit_file", &["path", "old", "new"]),
        tool("read_file", &["path"]),
        tool("run_command", &["command"]),
    ]})
}

pub(crate) fn asked() -> Value {
    json!([{"role": "system", "content": "Role: coder"}, {"role": "user", "content": "Do it."}])
}

fn server() -> ModelServer {
    let turn = Turn::say("I edit.")
        .edit("a.txt", "one\n", "two\n")
        .read("b.txt");
    ModelServer::start(Scenario::new().play(Play::new().turn(turn).turn(Turn::say("Done."))))
        .unwrap()
}

#[test]
fn a_whole_answer_has_text_tools_and_usage() {
    let server = server();
    let answer = post(&server, "/v1/chat/completions", &question(false, &asked())).json();
    assert_eq!(answer["object"], "chat.completion");
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "I edit.");
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "edit_file");
    assert_eq!(
        call["function"]["arguments"],
        r#"{"path":"a.txt","old":"one\n","new":"two\n"}"#
    );
    assert_eq!(answer["usage"]["prompt_tokens"], 200);
    assert_eq!(
        answer["usage"]["prompt_tokens_details"]["cached_tokens"],
        80
    );
    assert_eq!(answer["usage"]["completion_tokens"], 30);
    server.assert_no_problems();
}

#[test]
fn a_streamed_answer_is_the_whole_one_in_pieces() {
    let server = server();
    let whole = post(&server, "/v1/chat/completions", &question(false, &asked())).json();
    let reply = post(&server, "/v1/chat/completions", &question(true, &asked()));
    assert_eq!(reply.raw_events().last().unwrap().1, "[DONE]");
    let mut text = String::new();
    let mut arguments = vec![String::new(); 2];
    let mut finish = Value::Null;
    let mut usage = Value::Null;
    for chunk in reply.events() {
        if !chunk["usage"].is_null() {
            usage = chunk["usage"].clone();
        }
        let Some(choice) = chunk["choices"].get(0) else {
            continue;
        };
        text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            arguments[index].push_str(call["function"]["arguments"].as_str().unwrap());
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    let choice = &whole["choices"][0];
    assert_eq!(text, choice["message"]["content"]);
    for (index, arguments) in arguments.iter().enumerate() {
        let call = &choice["message"]["tool_calls"][index];
        assert_eq!(*arguments, call["function"]["arguments"]);
    }
    assert_eq!(finish, choice["finish_reason"]);
    assert_eq!(usage, whole["usage"]);
}

#[test]
fn usage_is_streamed_only_where_it_is_asked_for() {
    let server = server();
    let mut question = question(true, &asked());
    question["stream_options"] = Value::Null;
    let events = post(&server, "/chat/completions", &question).events();
    assert!(events.iter().all(|chunk| chunk["usage"].is_null()));
}

#[test]
fn the_turn_is_taken_from_the_conversation() {
    let server = server();
    let mut messages = asked();
    let first = post(&server, "/v1/chat/completions", &question(false, &messages)).json();
    let said = messages.as_array_mut().unwrap();
    said.push(first["choices"][0]["message"].clone());
    said.push(json!({"role": "tool", "tool_call_id": "x", "content": "well"}));
    let second = post(&server, "/v1/chat/completions", &question(false, &messages)).json();
    assert_eq!(second["choices"][0]["message"]["content"], "Done.");
    assert_eq!(second["choices"][0]["finish_reason"], "stop");
}

#[test]
fn a_response_format_makes_the_text_the_answer() {
    let scenario = Scenario::new().play(Play::new().turn(Turn::submit(json!({"a": 1}))));
    let server = ModelServer::start(scenario).unwrap();
    for format in [
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
        json!({"type": "json_object"}),
    ] {
        let mut question = question(false, &asked());
        question["response_format"] = format;
        let answer = post(&server, "/v1/chat/completions", &question).json();
        assert_eq!(answer["choices"][0]["message"]["content"], r#"{"a":1}"#);
    }
    server.assert_no_problems();
}

#[test]
fn models_are_listed() {
    let models = get(&server(), "/v1/models", "authorization: Bearer x\r\n").json();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["object"], "model");
}
