//! The roads of a submission.

use codeteam_e2e::{ModelServer, Play, Scenario, SubmissionRoute, Turn};
use serde_json::{Value, json};

use crate::client::post;
use crate::{anthropic, gemini, responses};

fn server(turn: Turn) -> ModelServer {
    ModelServer::start(Scenario::new().play(Play::new().turn(turn))).unwrap()
}

fn answer() -> Value {
    json!({"verdict": "approved", "findings": []})
}

fn structured_question() -> Value {
    let mut question = anthropic::question(false, &anthropic::asked());
    let tools = question["tools"].as_array_mut().unwrap();
    tools.push(json!({"name": "StructuredOutput", "input_schema": {"type": "object"}}));
    tools.push(json!({"name": "mcp__codeteam__submit", "input_schema": {"type": "object"}}));
    question
}

#[test]
fn the_structured_output_tool_comes_first() {
    let server = server(Turn::submit(answer()));
    let said = post(&server, "/v1/messages", &structured_question()).json();
    assert_eq!(said["content"][0]["name"], "StructuredOutput");
    assert_eq!(said["content"][0]["input"], answer());
    server.assert_no_problems();
}

#[test]
fn each_road_can_be_forced() {
    let block = |road| {
        let server = server(Turn::submit(answer()).road(road));
        let said = post(&server, "/v1/messages", &structured_question()).json();
        server.assert_no_problems();
        said["content"][0].clone()
    };
    assert_eq!(
        block(SubmissionRoute::Structured)["name"],
        "StructuredOutput"
    );
    assert_eq!(
        block(SubmissionRoute::Tool)["name"],
        "mcp__codeteam__submit"
    );
    assert_eq!(block(SubmissionRoute::Text)["text"], answer().to_string());
    let fenced = block(SubmissionRoute::Fenced)["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let inner = fenced
        .strip_prefix("```json\n")
        .unwrap()
        .strip_suffix("\n```")
        .unwrap();
    assert_eq!(serde_json::from_str::<Value>(inner).unwrap(), answer());
}

#[test]
fn after_an_answer_by_tool_all_is_said() {
    let server = server(Turn::submit(answer()).road(SubmissionRoute::Tool));
    let mut question = structured_question();
    let said = post(&server, "/v1/messages", &question).json();
    let messages = question["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": said["content"]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "x", "content": "accepted"}]}));
    let said = post(&server, "/v1/messages", &question).json();
    assert_eq!(said["content"][0]["text"], "Submitted.");
    server.assert_no_problems();
}

#[test]
fn a_road_that_is_not_there_is_a_problem() {
    for (road, word) in [
        (SubmissionRoute::Tool, "`submit`"),
        (SubmissionRoute::Structured, "schema"),
    ] {
        let server = server(Turn::submit(answer()).road(road));
        let said = post(&server, gemini::WHOLE, &gemini::question(&gemini::asked())).json();
        let text = said["candidates"][0]["content"]["parts"][0]["text"]
            .as_str()
            .unwrap();
        assert!(
            text.contains("cannot go on") && text.contains(word),
            "{text}"
        );
        assert_eq!(server.problems().len(), 1);
    }
}

#[test]
fn without_any_road_the_answer_is_fenced() {
    let mut turn = Turn::submit(answer());
    turn.text = Some("Here it is.".to_owned());
    let server = server(turn);
    let said = post(&server, gemini::WHOLE, &gemini::question(&gemini::asked())).json();
    let text = said["candidates"][0]["content"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert!(text.starts_with("Here it is.\n\n```json\n{"), "{text}");
}

#[test]
fn codex_is_asked_to_show_its_hidden_tool_first() {
    let server = server(Turn::submit(answer()).road(SubmissionRoute::Tool));
    let mut question = responses::question(false, &responses::asked());
    let tools = question["tools"].as_array_mut().unwrap();
    tools.push(json!({"type": "tool_search", "execution": "client"}));
    let said = post(&server, "/v1/responses", &question).json();
    assert_eq!(said["output"][0]["type"], "tool_search_call");
    assert_eq!(said["output"][0]["arguments"], json!({"query": "submit"}));

    let found = json!([{"type": "namespace", "name": "mcp__codeteam", "tools": [
        {"type": "function", "name": "submit", "parameters": {"type": "object"}}]}]);
    let input = question["input"].as_array_mut().unwrap();
    input.push(said["output"][0].clone());
    input.push(json!({"type": "tool_search_output", "tools": found}));
    let said = post(&server, "/v1/responses", &question).json();
    assert_eq!(said["output"][0]["type"], "function_call");
    assert_eq!(said["output"][0]["name"], "submit");
    assert_eq!(said["output"][0]["namespace"], "mcp__codeteam");
    let turns: Vec<_> = server.requests().iter().map(|r| r.turn.unwrap()).collect();
    assert_eq!(turns, [0, 0], "looking for a tool is no turn of the play");
    server.assert_no_problems();
}

#[test]
fn a_sample_fits_its_schema() {
    let server = ModelServer::start(Scenario::default_play()).unwrap();
    let mut question = anthropic::question(false, &anthropic::asked());
    let schema = json!({"type": "object", "$defs": {"state": {"enum": ["open", "fixed"]}},
        "required": ["name", "count", "state", "list", "maybe"], "properties": {
            "name": {"type": "string"}, "count": {"type": "integer", "minimum": 3},
            "state": {"$ref": "#/$defs/state"}, "left_out": {"type": "string"},
            "list": {"type": "array", "minItems": 1, "items": {"const": 5}},
            "maybe": {"type": ["boolean", "null"]}}});
    let tools = question["tools"].as_array_mut().unwrap();
    tools.push(json!({"name": "StructuredOutput", "input_schema": schema}));
    let said = post(&server, "/v1/messages", &question).json();
    let expected = json!({"name": "scripted", "count": 3, "state": "open", "list": [5],
                          "maybe": true});
    assert_eq!(said["content"][0]["input"], expected);
    server.assert_no_problems();
}
