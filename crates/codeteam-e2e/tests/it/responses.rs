//! `OpenAI` Responses.

use codeteam_e2e::{ModelServer, Play, Scenario, TokenUsage, Turn};
use serde_json::{Value, json};

use crate::client::{post, send};

/// A question with codex's tools.
pub(crate) fn question(stream: bool, input: &Value) -> Value {
    json!({"model": "gpt-x", "stream": stream, "instructions": "You are a worker.",
    "input": input, "tools": [
        {"type": "function", "name": "exec_command",
         "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
        {"type": "web_search"},
    ]})
}

pub(crate) fn asked() -> Value {
    json!([
        {"type": "message", "role": "developer",
         "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user",
         "content": [{"type": "input_text", "text": "Role: coder\nDo it."}]},
    ])
}

fn server() -> ModelServer {
    let usage = TokenUsage {
        input: 7,
        cached: 11,
        cache_write: 0,
        output: 17,
        reasoning: 3,
    };
    let turn = Turn::say("I write.")
        .write("a.txt", "one\ntwo\n")
        .run("ls")
        .usage(usage);
    ModelServer::start(Scenario::new().play(Play::new().turn(turn).turn(Turn::say("Done."))))
        .unwrap()
}

#[test]
fn a_whole_answer_has_text_tools_and_usage() {
    let server = server();
    let answer = post(&server, "/v1/responses", &question(false, &asked())).json();
    assert_eq!(answer["object"], "response");
    assert_eq!(answer["status"], "completed");
    let output = answer["output"].as_array().unwrap();
    assert_eq!(output[0]["content"][0]["type"], "output_text");
    assert_eq!(output[0]["content"][0]["text"], "I write.");
    assert_eq!(output[1]["type"], "custom_tool_call");
    assert_eq!(
        output[1]["input"],
        "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n"
    );
    assert_eq!(output[2]["type"], "function_call");
    assert_eq!(output[2]["arguments"], r#"{"cmd":"ls"}"#);
    assert_ne!(output[1]["call_id"], output[2]["call_id"]);
    let usage = &answer["usage"];
    assert_eq!(
        usage["input_tokens"], 18,
        "cached input is part of the input here"
    );
    assert_eq!(usage["input_tokens_details"]["cached_tokens"], 11);
    assert_eq!(usage["output_tokens"], 17);
    assert_eq!(usage["output_tokens_details"]["reasoning_tokens"], 3);
    server.assert_no_problems();
}

#[test]
fn a_streamed_answer_is_the_whole_one_in_pieces() {
    let server = server();
    let whole = post(&server, "/v1/responses", &question(false, &asked())).json();
    let events = post(&server, "/v1/responses", &question(true, &asked())).events();
    assert_eq!(events[0]["type"], "response.created");
    assert_eq!(events.last().unwrap()["type"], "response.completed");
    assert_eq!(events.last().unwrap()["response"], whole);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(json!(done), whole["output"]);
    let joined = |kind: &str| -> String {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        of_kind
            .map(|event| event["delta"].as_str().unwrap())
            .collect()
    };
    assert_eq!(joined("response.output_text.delta"), "I write.");
    assert_eq!(
        joined("response.custom_tool_call_input.delta"),
        whole["output"][1]["input"]
    );
    assert_eq!(
        joined("response.function_call_arguments.delta"),
        r#"{"cmd":"ls"}"#
    );
}

#[test]
fn the_turn_is_taken_from_the_conversation() {
    let server = server();
    let mut input = asked();
    let first = post(&server, "/v1/responses", &question(false, &input)).json();
    let said = input.as_array_mut().unwrap();
    said.push(json!({"type": "reasoning", "summary": []}));
    said.extend(first["output"].as_array().unwrap().iter().cloned());
    for (kind, index) in [("custom_tool_call_output", 1), ("function_call_output", 2)] {
        said.push(
            json!({"type": kind, "call_id": first["output"][index]["call_id"],
                         "output": "well"}),
        );
    }
    let second = post(&server, "/v1/responses", &question(false, &input)).json();
    assert_eq!(second["output"][0]["content"][0]["text"], "Done.");
    let requests = server.requests();
    let last = requests.last().unwrap();
    assert_eq!(last.turn, Some(1));
    assert_eq!(last.system_text(), "You are a worker.\nBe brief.");
    assert_eq!(last.user_text(), "Role: coder\nDo it.");
    assert_eq!(last.last_user_text(), "well\nwell");
    assert_eq!(last.tool_names(), ["exec_command", "apply_patch"]);
}

#[test]
fn a_web_socket_is_declined() {
    let server = server();
    let upgrade = "connection: Upgrade\r\nupgrade: websocket\r\n";
    let reply = send(&server, "GET", "/v1/responses", upgrade, "")
        .reply()
        .unwrap();
    assert_eq!(reply.status, 426);
    server.assert_no_problems();
}

#[test]
fn a_text_format_makes_the_text_the_answer() {
    let scenario = Scenario::new().play(Play::new().turn(Turn::submit(json!({"b": 1, "a": 2}))));
    let server = ModelServer::start(scenario).unwrap();
    let mut question = question(false, &asked());
    question["text"] = json!({"format": {"type": "json_schema", "name": "x", "strict": true,
                                         "schema": {"type": "object"}}});
    let answer = post(&server, "/v1/responses", &question).json();
    assert_eq!(
        answer["output"][0]["content"][0]["text"],
        r#"{"b":1,"a":2}"#
    );
    server.assert_no_problems();
}
