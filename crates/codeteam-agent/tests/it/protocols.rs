//! The same work by each protocol, and what is particular to one.

use codeteam_agent::builtin::Protocol::{self, Anthropic, Gemini, Openai};
use serde_json::{Value, json};

use crate::job::{AgentTest, AgentTestRun, KEY};
use crate::model::{CannedReply, calls, streamed_calls};

/// The model's submission. It has a duplicate key and oddly written numbers, because what core has
/// to judge must not be smoothed on the way.
const SUBMITTED: &str = r#"{"summary":"says goodbye", "files":["greet.sh"],"x":1.0,"summary":"z"}"#;

/// Read, edit, run, submit.
fn worked(protocol: Protocol) -> AgentTestRun {
    worked_with(protocol, calls)
}

/// The same, with replies of this form.
fn worked_with(
    protocol: Protocol,
    calls: fn(Protocol, &str, &[(&str, &str)]) -> CannedReply,
) -> AgentTestRun {
    let edit = r#"{"path":"greet.sh","old":"hello","new":"goodbye"}"#;
    let ran = AgentTest::new(protocol).run(vec![
        calls(
            protocol,
            "Look.",
            &[("read_file", r#"{"path":"greet.sh"}"#)],
        ),
        calls(protocol, "Change.", &[("edit_file", edit)]),
        calls(
            protocol,
            "Check.",
            &[("run_command", r#"{"command":"sh greet.sh"}"#)],
        ),
        calls(protocol, "Done.", &[("submit", SUBMITTED)]),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert_eq!(ran.submission(), SUBMITTED);
    assert_eq!(ran.read("greet.sh"), "echo goodbye\n");
    assert_eq!(ran.asked.len(), 4);
    for asked in &ran.asked[1..] {
        let first = format!("{}", ran.asked[0].body);
        assert!(first.contains("Say goodbye instead."), "{first}");
        assert!(asked.text.contains("echo hello"), "{}", asked.text);
    }
    assert!(ran.asked[3].text.contains("exit code 0"));
    told_all(&ran);
    ran
}

fn told_all(ran: &AgentTestRun) {
    let usage = json!({"type": "usage", "input_tokens": 130, "output_tokens": 5,
                       "cached_input_tokens": 100, "model": "test-model"});
    assert_eq!(ran.events_of_type("usage"), [&usage; 4]);
    let names = |kind| -> Vec<Value> {
        ran.events_of_type(kind)
            .iter()
            .map(|e| e["name"].clone())
            .collect()
    };
    assert_eq!(names("tool"), ["read_file", "edit_file", "run_command"]);
    assert_eq!(names("tool_result"), names("tool"));
    let texts: Vec<_> = ran
        .events_of_type("text")
        .iter()
        .map(|e| e["text"].clone())
        .collect();
    assert_eq!(texts, ["Look.", "Change.", "Check.", "Done."]);
    assert_eq!(
        ran.events_of_type("file"),
        [&json!({"type": "file", "path": "greet.sh"})]
    );
    let traces = ran.traces("executor");
    assert_eq!(traces[2]["iteration"], 3);
    assert_eq!(traces[2]["thought"], "Check.");
    assert_eq!(traces[2]["tool"], "run_command");
    assert_eq!(traces[2]["result_bytes"], "exit code 0\ngoodbye".len());
    let quality = ran.traces("quality")[0];
    assert_eq!(quality["iterations"], 4);
    assert_eq!(
        (&quality["tool_calls"], &quality["mended"]),
        (&json!(3), &json!(0))
    );
}

/// The tools that a request offers, each with its schema.
fn offered(tools: &Value, name: &str, schema: &str) -> Vec<(String, Value)> {
    let tools = tools.as_array().unwrap().iter();
    tools
        .map(|tool| {
            let name = tool.pointer(name).unwrap().as_str().unwrap().to_owned();
            (name, tool.pointer(schema).unwrap().clone())
        })
        .collect()
}

fn check_tools(tools: &[(String, Value)]) {
    let names: Vec<_> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "read_file",
            "write_file",
            "edit_file",
            "list_files",
            "search",
            "run_command",
            "submit"
        ]
    );
    let limit = json!({"description": "The number of lines to read; 2000 if left out.",
                       "type": "integer", "minimum": 0});
    assert_eq!(tools[0].1["properties"]["limit"], limit);
    assert_eq!(tools[0].1["required"], json!(["path"]));
    assert_eq!(tools[6].1["required"], json!(["summary"]));
    assert_eq!(tools[6].1.get("$schema"), None);
}

#[test]
fn by_anthropics_protocol() {
    let ran = worked(Anthropic);
    let asked = &ran.asked[1];
    assert_eq!(asked.path, "/v1/messages");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    check_tools(&offered(&asked.body["tools"], "/name", "/input_schema"));
    assert_eq!(asked.body["model"], "test-model");
    let messages = &asked.body["messages"];
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "Look."},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file",
             "input": {"path": "greet.sh"}}]})
    );
    assert_eq!(
        messages[2]["content"],
        json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "echo hello\n",
                "is_error": false, "cache_control": {"type": "ephemeral"}}])
    );
    assert_eq!(messages[0]["content"][0].get("cache_control"), None);
    let system = asked.body["system"][0]["text"].as_str().unwrap();
    assert!(
        system.starts_with("You are a coder.\n\nYou work with tools"),
        "{system}"
    );
}

#[test]
fn by_openais_protocol() {
    let ran = worked(Openai);
    let asked = &ran.asked[1];
    assert_eq!(asked.path, "/v1/chat/completions");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    let tools = &asked.body["tools"];
    check_tools(&offered(tools, "/function/name", "/function/parameters"));
    let messages = &asked.body["messages"];
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(
        messages[2],
        json!({"role": "assistant", "content": "Look.", "tool_calls": [
            {"id": "call_1", "type": "function",
             "function": {"name": "read_file", "arguments": r#"{"path":"greet.sh"}"#}}]})
    );
    assert_eq!(
        messages[3],
        json!({"role": "tool", "tool_call_id": "call_1", "content": "echo hello\n"})
    );
    assert_eq!(asked.body.get("max_tokens"), None);
}

#[test]
fn by_geminis_protocol() {
    let ran = worked(Gemini);
    let asked = &ran.asked[1];
    assert_eq!(
        asked.path,
        "/v1beta/models/test-model:streamGenerateContent?alt=sse"
    );
    assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
    let functions = &asked.body["tools"][0]["functionDeclarations"];
    check_tools(&offered(functions, "/name", "/parametersJsonSchema"));
    let contents = &asked.body["contents"];
    assert_eq!(contents[1]["role"], "model");
    // What the model thought belongs to what it did.
    assert_eq!(contents[1]["parts"][2]["thoughtSignature"], "c2ln");
    assert_eq!(
        contents[2],
        json!({"role": "user", "parts": [{"functionResponse": {
            "name": "read_file", "response": {"output": "echo hello\n"}}}]})
    );
}

/// What arrives in pieces is the same as what arrives as a whole, also for the model, which is sent
/// its own words again.
#[test]
fn replies_in_pieces_are_the_same_replies() {
    for protocol in [Anthropic, Openai, Gemini] {
        let (whole, pieces) = (worked(protocol), worked_with(protocol, streamed_calls));
        for (whole, pieces) in whole.asked.iter().zip(&pieces.asked) {
            for key in ["messages", "contents"] {
                assert_eq!(whole.body.get(key), pieces.body.get(key), "{protocol:?}");
            }
        }
    }
}

#[test]
fn base_urls_may_be_given_with_and_without_their_version() {
    let cases = [
        (Anthropic, "", "/v1/messages"),
        (Anthropic, "/v1/", "/v1/messages"),
        (Anthropic, "/proxy", "/proxy/v1/messages"),
        (Openai, "/", "/v1/chat/completions"),
        (Openai, "/v1", "/v1/chat/completions"),
        (Openai, "/api/v3", "/api/v3/chat/completions"),
        (
            Gemini,
            "/v1beta",
            "/v1beta/models/test-model:streamGenerateContent?alt=sse",
        ),
    ];
    for (protocol, base, wanted) in cases {
        let submit = calls(protocol, "", &[("submit", r#"{"summary":"x"}"#)]);
        let ran = AgentTest::new(protocol)
            .options(move |options| options.base_url.push_str(base))
            .run(vec![submit]);
        assert_eq!(ran.asked[0].path, wanted);
    }
}

#[test]
fn without_a_key_none_is_sent() {
    for protocol in [Anthropic, Openai, Gemini] {
        let submit = calls(protocol, "", &[("submit", r#"{"summary":"x"}"#)]);
        let ran = AgentTest::new(protocol)
            .options(|options| options.key.clear())
            .run(vec![submit]);
        for name in ["x-api-key", "authorization", "x-goog-api-key"] {
            assert_eq!(ran.asked[0].header(name), None);
        }
    }
}

#[test]
fn what_an_api_does_not_take_is_left_out() {
    let refused = |message: &str| {
        CannedReply::status(400, json!({"error": {"message": message}}).to_string())
    };
    let ran = AgentTest::new(Openai)
        .options(|options| {
            options.max_tokens = Some(500);
            options.temperature = Some(0.5);
        })
        .run(vec![
            refused("Unknown parameter: `max_completion_tokens`"),
            refused("`temperature` does not support 0.5 with this model"),
            calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)]),
        ]);
    assert_eq!(ran.code, 0);
    let sent = |at: usize, key: &str| ran.asked[at].body.get(key).cloned();
    assert_eq!(sent(0, "max_completion_tokens"), Some(json!(500)));
    assert_eq!(sent(1, "max_completion_tokens"), None);
    assert_eq!(sent(1, "max_tokens"), Some(json!(500)));
    assert_eq!(sent(1, "temperature"), Some(json!(0.5)));
    assert_eq!(sent(2, "max_tokens"), Some(json!(500)));
    assert_eq!(sent(2, "temperature"), None);
}

#[test]
fn arguments_that_are_no_json_come_back_as_an_error() {
    let submit = calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)]);
    let broken = calls(Openai, "", &[("read_file", r#"{"path": "gre"#)]);
    let ran = AgentTest::new(Openai).run(vec![broken, submit]);
    let messages = &ran.asked[1].body["messages"];
    // Some servers read what they said themselves, and would fail on it.
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{}");
    let told = messages[3]["content"].as_str().unwrap();
    assert!(
        told.starts_with("the input of `read_file` is not valid: EOF"),
        "{told}"
    );
    assert_eq!(ran.traces("quality")[0]["tool_errors"], 1);
}

#[test]
fn what_a_model_thought_is_sent_back_to_the_letter_and_nothing_empty() {
    let body = r#"{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},
        {"type":"text","text":""},
        {"type":"tool_use","id":"t","name":"list_files","input":{ "depth":1 }}],
        "stop_reason":"tool_use"}"#;
    let submit = calls(Anthropic, "", &[("submit", r#"{"summary":"x"}"#)]);
    let ran = AgentTest::new(Anthropic).run(vec![CannedReply::ok(body.to_owned()), submit]);
    let sent = r#""content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t","name":"list_files","input":{ "depth":1 }}]"#;
    assert!(ran.asked[1].text.contains(sent), "{}", ran.asked[1].text);
}
