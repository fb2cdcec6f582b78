//! Gemini.

use codeteam_e2e::{ModelServer, Play, Scenario, Turn};
use serde_json::{Value, json};

use crate::client::{get, post};

pub(crate) const WHOLE: &str = "/v1beta/models/gemini-x:generateContent";
pub(crate) const STREAM: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";

/// A question with gemini's tools.
pub(crate) fn question(contents: &Value) -> Value {
    let tool = |name: &str, keys: &[&str], required: &[&str]| {
        let keys = keys.iter();
        let properties: serde_json::Map<String, Value> = keys
            .map(|key| ((*key).to_owned(), json!({"type": "string"})))
            .collect();
        json!({"name": name, "parametersJsonSchema":
               {"type": "object", "properties": properties, "required": required}})
    };
    json!({"contents": contents,
    "systemInstruction": {"parts": [{"text": "You are a worker."}]},
    "tools": [{"functionDeclarations": [
        tool("write_file", &["file_path", "content"], &[]),
        tool("replace", &["file_path", "old_string", "new_string", "instruction"],
             &["instruction"]),
        tool("read_file", &["file_path"], &[]),
        tool("run_shell_command", &["command"], &[]),
    ]}]})
}

pub(crate) fn asked() -> Value {
    json!([{"role": "user", "parts": [{"text": "context"}, {"text": "Role: coder"}]}])
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
    let answer = post(&server, WHOLE, &question(&asked())).json();
    let candidate = &answer["candidates"][0];
    assert_eq!(candidate["finishReason"], "STOP");
    assert_eq!(candidate["content"]["role"], "model");
    let parts = &candidate["content"]["parts"];
    assert_eq!(parts[0]["text"], "I edit.");
    assert_eq!(parts[1]["functionCall"]["name"], "replace");
    let args = &parts[1]["functionCall"]["args"];
    assert_eq!(args["file_path"], "a.txt");
    assert_eq!(args["old_string"], "one\n");
    assert!(args["instruction"].is_string(), "what is required is given");
    assert_eq!(
        parts[2]["functionCall"]["args"],
        json!({"file_path": "b.txt"})
    );
    let usage = &answer["usageMetadata"];
    assert_eq!(usage["promptTokenCount"], 200);
    assert_eq!(usage["cachedContentTokenCount"], 80);
    assert_eq!(usage["candidatesTokenCount"], 30);
    assert_eq!(answer["modelVersion"], "gemini-x");
    server.assert_no_problems();
}

/// All parts of all pieces, texts joined.
fn joined(pieces: &[Value]) -> (String, Vec<Value>) {
    let parts = pieces.iter().flat_map(|piece| {
        piece["candidates"][0]["content"]["parts"]
            .as_array()
            .unwrap()
    });
    let mut text = String::new();
    let mut calls = Vec::new();
    for part in parts {
        match part["text"].as_str() {
            Some(said) => text.push_str(said),
            None => calls.push(part["functionCall"].clone()),
        }
    }
    (text, calls)
}

#[test]
fn a_streamed_answer_is_the_whole_one_in_pieces() {
    let server = server();
    let whole = post(&server, WHOLE, &question(&asked())).json();
    let pieces = post(&server, STREAM, &question(&asked())).events();
    assert!(pieces.len() > 2);
    assert_eq!(joined(&pieces), joined(std::slice::from_ref(&whole)));
    let last = pieces.last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"], whole["usageMetadata"]);

    // Without `alt=sse` the pieces are the members of one array.
    let path = "/v1/models/gemini-x:streamGenerateContent";
    let array = post(&server, path, &question(&asked())).json();
    assert_eq!(array.as_array().unwrap(), &pieces);
}

#[test]
fn the_turn_is_taken_from_the_conversation() {
    let server = server();
    let mut contents = asked();
    let first = post(&server, WHOLE, &question(&contents)).json();
    let said = contents.as_array_mut().unwrap();
    said.push(first["candidates"][0]["content"].clone());
    said.push(json!({"role": "user", "parts": [
        {"functionResponse": {"name": "replace", "response": {"output": "replaced"}}},
        {"functionResponse": {"name": "read_file", "response": {"error": "no such file"}}},
    ]}));
    let second = post(&server, WHOLE, &question(&contents)).json();
    assert_eq!(
        second["candidates"][0]["content"]["parts"][0]["text"],
        "Done."
    );
    let requests = server.requests();
    assert_eq!(
        requests.last().unwrap().last_user_text(),
        "replaced\nno such file"
    );
}

#[test]
fn a_response_schema_makes_the_text_the_answer() {
    let scenario = Scenario::new().play(Play::new().turn(Turn::submit(json!({"a": 1}))));
    let server = ModelServer::start(scenario).unwrap();
    for key in ["responseJsonSchema", "responseSchema"] {
        let mut question = question(&asked());
        question["generationConfig"] = json!({"responseMimeType": "application/json",
                                              key: {"type": "OBJECT"}});
        let answer = post(&server, WHOLE, &question).json();
        assert_eq!(
            answer["candidates"][0]["content"]["parts"][0]["text"],
            r#"{"a":1}"#
        );
    }
}

#[test]
fn what_gemini_asks_for_itself_is_no_turn_of_a_play() {
    let server = server();
    let mut router = question(&asked());
    router["generationConfig"] = json!({"responseJsonSchema": {
        "type": "OBJECT", "required": ["complexity_reasoning", "complexity_score"],
        "properties": {"complexity_reasoning": {"type": "STRING"},
                       "complexity_score": {"type": "INTEGER"}}}});
    let said = post(&server, WHOLE, &router).json();
    let text = said["candidates"][0]["content"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    let score: Value = serde_json::from_str(text).unwrap();
    assert_eq!(score["complexity_score"], 1);
    let requests = server.requests();
    assert_eq!(requests.last().unwrap().play.as_deref(), Some("aside"));
    assert_eq!(requests.last().unwrap().turn, None);
    server.assert_no_problems();
}

#[test]
fn tokens_are_counted_and_models_listed() {
    let server = server();
    let count = post(
        &server,
        "/v1beta/models/gemini-x:countTokens",
        &question(&asked()),
    );
    assert!(count.json()["totalTokens"].as_u64().unwrap() > 10);
    let models = get(&server, "/v1beta/models", "x-goog-api-key: x\r\n").json();
    assert_eq!(models["models"][0]["name"], "models/gemini-scripted");
}
