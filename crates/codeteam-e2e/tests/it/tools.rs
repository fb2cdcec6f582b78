//! One scenario on every CLI's tools.

use codeteam_e2e::{ModelServer, Play, Scenario, Turn};
use serde_json::{Value, json};

use crate::client::post;
use crate::{anthropic, chat, gemini, responses};

fn server() -> ModelServer {
    let turn = Turn::new()
        .write("it's/a.txt", "one\n")
        .edit("b.txt", "one\n", "two\nthree\n")
        .read("c.txt")
        .run("ls");
    ModelServer::start(Scenario::new().play(Play::new().turn(turn))).unwrap()
}

/// The names and inputs of codex's tool calls.
fn codex(question: &Value) -> Vec<(String, Value)> {
    let server = server();
    let said = post(&server, "/v1/responses", question).json();
    server.assert_no_problems();
    let items = said["output"].as_array().unwrap().iter();
    items
        .map(|item| {
            let name = item["name"].as_str().unwrap().to_owned();
            let input = match item["arguments"].as_str() {
                Some(arguments) => serde_json::from_str(arguments).unwrap(),
                None => item["input"].clone(),
            };
            (name, input)
        })
        .collect()
}

#[test]
fn claude_gemini_and_the_built_in_worker_have_tools_of_their_own() {
    let server = server();
    let names = |list: &Value, pointer: &str| -> Vec<String> {
        let calls = list.as_array().unwrap().iter();
        calls
            .filter_map(|call| call.pointer(pointer)?.as_str().map(str::to_owned))
            .collect()
    };
    let claude = anthropic::question(false, &anthropic::asked());
    let said = post(&server, "/v1/messages", &claude).json();
    assert_eq!(
        names(&said["content"], "/name"),
        ["Write", "Edit", "Read", "Bash"]
    );

    let said = post(&server, gemini::WHOLE, &gemini::question(&gemini::asked())).json();
    let parts = &said["candidates"][0]["content"]["parts"];
    let expected = ["write_file", "replace", "read_file", "run_shell_command"];
    assert_eq!(names(parts, "/functionCall/name"), expected);

    let builtin = chat::question(false, &chat::asked());
    let said = post(&server, "/v1/chat/completions", &builtin).json();
    let calls = &said["choices"][0]["message"]["tool_calls"];
    let expected = ["write_file", "edit_file", "read_file", "run_command"];
    assert_eq!(names(calls, "/function/name"), expected);
    server.assert_no_problems();
}

const ADD: &str = "*** Begin Patch\n*** Add File: it's/a.txt\n+one\n*** End Patch\n";
const UPDATE: &str =
    "*** Begin Patch\n*** Update File: b.txt\n@@\n-one\n+two\n+three\n*** End Patch\n";

#[test]
fn codex_patches_and_runs() {
    let calls = codex(&responses::question(false, &responses::asked()));
    let expected = [
        ("apply_patch".to_owned(), json!(ADD)),
        ("apply_patch".to_owned(), json!(UPDATE)),
        ("exec_command".to_owned(), json!({"cmd": "cat 'c.txt'"})),
        ("exec_command".to_owned(), json!({"cmd": "ls"})),
    ];
    assert_eq!(calls, expected);
}

#[test]
fn codex_without_patches_does_it_all_in_a_shell() {
    let mut question = responses::question(false, &responses::asked());
    question["tools"].as_array_mut().unwrap().remove(1);
    let calls = codex(&question);
    assert!(calls.iter().all(|(name, _)| name == "exec_command"));
    assert_eq!(
        calls[0].1["cmd"],
        r#"mkdir -p "$(dirname 'it'\''s/a.txt')" && printf '%s' 'one
' > 'it'\''s/a.txt'"#
    );
    assert_eq!(
        calls[1].1["cmd"],
        format!("apply_patch <<'EOP'\n{UPDATE}EOP")
    );
}

#[test]
fn codex_in_code_mode_does_it_by_scripts() {
    let mut question = responses::question(false, &responses::asked());
    question["tools"] = Value::Null;
    let exec = json!({"type": "custom", "name": "exec",
                      "description": "declare const tools: { apply_patch, exec_command }"});
    let offered = json!({"type": "additional_tools", "tools": [
        {"type": "namespace", "name": "functions", "tools": [exec]}]});
    question["input"].as_array_mut().unwrap().insert(0, offered);
    let calls = codex(&question);
    assert_eq!(calls.len(), 4);
    assert!(calls.iter().all(|(name, _)| name == "exec"));
    let patch = json!(ADD);
    assert_eq!(
        calls[0].1,
        format!("const result = await tools.apply_patch({patch});\ntext(result);\n")
    );
    let run = "const result = await tools.exec_command({\"cmd\":\"ls\"});\ntext(result);\n";
    assert_eq!(calls[3].1, run);
}

#[test]
fn a_tool_that_is_not_offered_is_a_problem() {
    let server = server();
    let mut question = anthropic::question(false, &anthropic::asked());
    // A role that may only read: its shell is no way round.
    let tools = question["tools"].as_array_mut().unwrap();
    tools.retain(|tool| tool["name"] == "Read" || tool["name"] == "Bash");
    let said = post(&server, "/v1/messages", &question).json();
    let text = said["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("no tool that is offered can write `it's/a.txt`"),
        "{text}"
    );
    assert!(text.contains("Read, Bash"), "{text}");
    assert_eq!(said["stop_reason"], "end_turn");
    assert_eq!(server.problems().len(), 1);
}

#[test]
#[should_panic(expected = "no tool that is offered")]
fn problems_fail_a_test() {
    let server = server();
    post(
        &server,
        "/v1/messages",
        &json!({"model": "x", "messages": []}),
    );
    server.assert_no_problems();
}

#[test]
fn any_tool_can_be_called_by_its_name() {
    let turn = Turn::new()
        .call("Bash", json!({"command": "ls", "timeout": 5}))
        .call("Bash", json!("{\"command\": "));
    let server = ModelServer::start(Scenario::new().play(Play::new().turn(turn))).unwrap();
    let question = anthropic::question(true, &anthropic::asked());
    let events = post(&server, "/v1/messages", &question).events();
    let input = |index: u64| -> String {
        let deltas = events.iter().filter(|event| event["index"] == index);
        deltas
            .filter_map(|event| event["delta"]["partial_json"].as_str())
            .collect()
    };
    assert_eq!(input(0), r#"{"command":"ls","timeout":5}"#);
    assert_eq!(
        input(1),
        "{\"command\": ",
        "a text stands as it is, even if it is no JSON"
    );
    server.assert_no_problems();
}
