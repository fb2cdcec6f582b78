//! Usage limits, small models, and models that go round in circles.

use codeteam_agent::builtin::Protocol::{Anthropic, Gemini, Openai};
use codeteam_agent::builtin::TokenPrice;
use serde_json::{Value, json};

use crate::job::AgentTest;
use crate::model::{CannedReply, calls, says};

const SUBMIT: (&str, &str) = ("submit", r#"{"summary":"x"}"#);

/// One request of every canned model takes 135 tokens.
#[test]
fn nothing_more_is_asked_once_the_tokens_are_used_up() {
    let list = calls(Openai, "", &[("list_files", "{}")]);
    let ran =
        AgentTest::new(Openai)
            .with("max_tokens", 200)
            .run(vec![list.clone(), list.clone(), list]);
    assert_eq!((ran.code, ran.asked.len()), (1, 2), "{}", ran.output);
    assert_eq!(ran.events_of_type("error")[0]["trouble"], "tokens");
    assert!(
        ran.error().contains("270 tokens of the 200"),
        "{}",
        ran.error()
    );
}

#[test]
fn nothing_more_is_asked_once_the_money_is_used_up() {
    let list = calls(Openai, "", &[("list_files", "{}")]);
    // 30 fresh and 100 cached tokens read, 5 written: 30 + 10 + 50 millionths of a dollar.
    let price = TokenPrice {
        input: 1.0,
        cached: 0.1,
        output: 10.0,
    };
    let ran = AgentTest::new(Openai)
        .with("max_cost_microusd", 100)
        .options(move |o| o.price = Some(price))
        .run(vec![list.clone(), list.clone(), list]);
    assert_eq!((ran.code, ran.asked.len()), (1, 2), "{}", ran.output);
    assert_eq!(ran.events_of_type("error")[0]["trouble"], "cost");
}

#[test]
fn the_same_call_again_and_again_is_told_and_then_ended() {
    for protocol in [Anthropic, Openai, Gemini] {
        let list = calls(protocol, "", &[("list_files", "{}")]);
        let ran = AgentTest::new(protocol).run(vec![list; 20]);
        assert_eq!((ran.code, ran.asked.len()), (1, 11), "{}", ran.output);
        assert_eq!(ran.events_of_type("error")[0]["trouble"], "loop");
        assert!(!ran.asked[4].text.contains("brought nothing new"));
        assert!(
            ran.asked[5]
                .text
                .contains("Your last 4 calls brought nothing new")
        );
    }
}

#[test]
fn a_tool_that_there_is_not_is_a_loop_too() {
    let all: Vec<CannedReply> = (0..20)
        .map(|n| calls(Openai, "", &[("grep", &json!({"pattern": n}).to_string())]))
        .collect();
    let ran = AgentTest::new(Openai).run(all);
    assert_eq!((ran.code, ran.asked.len()), (1, 10), "{}", ran.output);
    assert_eq!(ran.events_of_type("error")[0]["trouble"], "loop");
}

#[test]
fn work_between_equal_calls_is_no_loop() {
    let mut all = Vec::new();
    for n in 0..12 {
        let write = json!({"path": "n.txt", "content": n.to_string()}).to_string();
        all.push(calls(
            Openai,
            "",
            &[("write_file", &write), ("list_files", "{}")],
        ));
    }
    all.push(calls(Openai, "", &[SUBMIT]));
    let ran = AgentTest::new(Openai).run(all);
    assert_eq!(ran.code, 0, "{}", ran.output);
}

#[test]
fn one_long_file_does_not_end_the_work_of_a_small_model() {
    let big = "a line of a long file\n".repeat(3_000);
    let ran = AgentTest::new(Openai)
        .file("big", &big)
        .options(|o| o.context_tokens = 8_000)
        .run(vec![
            calls(Openai, "", &[("read_file", r#"{"path":"big"}"#)]),
            calls(Openai, "", &[SUBMIT]),
        ]);
    assert_eq!(ran.code, 0, "{}", ran.output);
    let asked = ran.asked[1].text.len();
    assert!(asked < 8_000 * 4, "{asked} characters were sent");
    assert!(ran.asked[1].text.contains("left out here"));
}

#[test]
fn the_form_of_an_answer_is_asked_for_where_there_are_no_tools() {
    let answer = r#"{"summary":"x"}"#;
    let schema = |body: &Value| body["response_format"]["json_schema"]["schema"].clone();
    let ran = AgentTest::new(Openai)
        .with("mode", "edits")
        .run(vec![says(Openai, answer)]);
    assert_eq!(schema(&ran.asked[0].body)["required"], json!(["summary"]));
    let ran = AgentTest::new(Gemini)
        .with("mode", "edits")
        .run(vec![says(Gemini, answer)]);
    let config = &ran.asked[0].body["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["responseJsonSchema"]["required"], json!(["summary"]));
    // A server that does not know it is asked without.
    let unknown = json!({"error": {"message": "unknown field response_format"}});
    let ran = AgentTest::new(Openai).with("mode", "edits").run(vec![
        CannedReply::status(400, unknown.to_string()),
        says(Openai, answer),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert_eq!(ran.asked[1].body.get("response_format"), None);
    // With tools the form is that of `submit`.
    let ran = AgentTest::new(Openai).run(vec![calls(Openai, "", &[SUBMIT])]);
    assert_eq!(ran.asked[0].body.get("response_format"), None);
}

#[test]
fn what_local_models_put_round_an_answer_does_not_hide_it() {
    for text in [
        "<think>\nHm, {\"summary\": 1}?\n</think>\n\n{\"summary\":\"x\"}",
        "Sure! Here is my answer:\n\n```json\n{\"summary\":\"x\"}\n```\n",
    ] {
        let ran = AgentTest::new(Openai).run(vec![says(Openai, text)]);
        assert_eq!(ran.submission(), r#"{"summary":"x"}"#);
    }
    // The contract that takes JSON alone takes no more than that.
    let fenced = "```json\n{\"summary\":\"x\"}\n```";
    let ran = AgentTest::new(Openai)
        .with("contract", "strict")
        .with("mode", "edits")
        .run(vec![says(Openai, fenced)]);
    assert_eq!(ran.code, 1);
}

#[test]
fn a_wait_that_is_asked_for_is_told() {
    let error = json!({"error": {"message": "slow down"}}).to_string();
    let busy = CannedReply::status(429, error).header("retry-after", "3600");
    let ran = AgentTest::new(Openai).run(vec![busy]);
    assert_eq!(
        (ran.code, ran.asked.len()),
        (1, 1),
        "nobody sleeps for an hour here"
    );
    assert_eq!(
        (
            &ran.events_of_type("error")[0]["status"],
            &ran.events_of_type("error")[0]["retry_after_ms"]
        ),
        (&json!(429), &json!(3_600_000))
    );
}

#[test]
fn what_is_no_model_api_or_takes_no_tools_is_told_apart() {
    let page = CannedReply::ok("<html>hello</html>".to_owned());
    let ran = AgentTest::new(Openai).run(vec![page; 5]);
    assert_eq!(ran.events_of_type("error")[0]["trouble"], "protocol");
    let error = json!({"error": {"message": "registry/tiny does not support tools"}});
    let ran = AgentTest::new(Openai).run(vec![CannedReply::status(400, error.to_string())]);
    assert_eq!((ran.code, ran.asked.len()), (1, 1));
    assert_eq!(ran.events_of_type("error")[0]["trouble"], "protocol");
}
