//! Errors of the API.

use codeteam_agent::builtin::Protocol::{Anthropic, Gemini, Openai};
use serde_json::{Value, json};

use crate::job::{AgentTest, KEY};
use crate::model::{CannedReply, calls, says};

fn overloaded() -> CannedReply {
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    CannedReply::status(529, json!({"type": "error", "error": error}).to_string())
}

#[test]
fn a_request_that_came_too_soon_is_repeated() {
    let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}});
    for protocol in [Anthropic, Openai, Gemini] {
        let ran = AgentTest::new(protocol).run(vec![
            CannedReply::status(429, error.to_string()).header("retry-after", "0"),
            calls(protocol, "", &[("submit", r#"{"summary":"x"}"#)]),
        ]);
        assert_eq!(ran.code, 0, "{}", ran.output);
        assert_eq!(
            ran.events_of_type("error").len() + ran.events_of_type("rate_limit").len(),
            0
        );
        let text = ran.events_of_type("text")[0]["text"].as_str().unwrap();
        assert_eq!(
            text,
            "(asking again in 0.0 s, 1 of 4: the model API says 429: slow)"
        );
        assert_eq!(ran.asked[0].text, ran.asked[1].text);
    }
}

#[test]
fn an_api_that_stays_overloaded_is_an_error() {
    let ran = AgentTest::new(Anthropic).run(vec![overloaded(); 5]);
    assert_eq!((ran.code, ran.asked.len()), (1, 5));
    assert_eq!(ran.error(), "the model API says 529: Overloaded");
    assert_eq!(ran.events_of_type("error")[0]["status"], 529);
}

#[test]
fn an_api_that_is_not_there_is_an_error() {
    let ran = AgentTest::new(Openai).run(Vec::new());
    assert_eq!(ran.code, 1);
    let error = ran.error();
    assert!(
        error.starts_with("the connection to the model API failed: "),
        "{error}"
    );
    assert_eq!(ran.events_of_type("text").len(), 4);
}

#[test]
fn a_refused_key_is_not_tried_again_nor_told() {
    let message = format!("Incorrect API key provided: {KEY}");
    let ran = AgentTest::new(Openai).run(vec![CannedReply::status(
        401,
        json!({"error": {"message": message, "code": "invalid_api_key"}}).to_string(),
    )]);
    assert_eq!((ran.code, ran.asked.len()), (1, 1));
    assert_eq!(ran.events_of_type("error")[0]["status"], 401);
    assert!(ran.error().ends_with("provided: [key]"));
}

fn limited(ran: &crate::job::AgentTestRun) -> &Value {
    assert_eq!((ran.code, ran.asked.len()), (1, 1), "{}", ran.output);
    assert_eq!(ran.events_of_type("error").len(), 0);
    ran.events_of_type("rate_limit")[0]
}

#[test]
fn a_spent_quota_is_a_usage_limit() {
    let error = json!({"error": {"message": "You exceeded your current quota",
                       "type": "insufficient_quota", "code": "insufficient_quota"}});
    let ran = AgentTest::new(Openai).run(vec![CannedReply::status(429, error.to_string())]);
    assert_eq!(
        ran.events_of_type("error"),
        [
            &json!({"type": "error", "status": 429, "trouble": "billing",
                 "message": "the model API says 429: You exceeded your current quota"})
        ]
    );

    let error = json!({"error": {"message": "x", "type": "usage_limit_reached",
                       "resets_in_seconds": 90}});
    let ran = AgentTest::new(Openai).run(vec![CannedReply::status(429, error.to_string())]);
    assert_eq!(limited(&ran)["resets_in_ms"], 90_000);

    let error = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x",
        "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
            {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}});
    let ran = AgentTest::new(Gemini).run(vec![CannedReply::status(429, error.to_string())]);
    assert_eq!(limited(&ran).get("resets_in_ms"), None);

    let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}});
    let ran = AgentTest::new(Anthropic).run(vec![
        CannedReply::status(429, error.to_string())
            .header("anthropic-ratelimit-unified-status", "rejected")
            .header("anthropic-ratelimit-unified-reset", "99999999999"),
    ]);
    let left = limited(&ran)["resets_in_ms"].as_u64().unwrap();
    assert!(left > 90_000_000_000_000, "{left}");
}

#[test]
fn a_refusal_is_told_as_one() {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let anthropic = json!({"content": [], "stop_reason": "refusal", "usage": usage});
    let openai = json!({"choices": [{"finish_reason": "stop", "message":
        {"content": null, "refusal": "I cannot help with that"}}]});
    let gemini = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    let stopped = json!({"candidates": [{"finishReason": "SAFETY"}]});
    for (protocol, body, why) in [
        (Anthropic, anthropic, "it does not say why"),
        (Openai, openai, "I cannot help with that"),
        (Gemini, gemini, "the prompt was blocked: PROHIBITED_CONTENT"),
        (Gemini, stopped, "SAFETY"),
    ] {
        let ran = AgentTest::new(protocol).run(vec![CannedReply::ok(body.to_string())]);
        assert_eq!(ran.code, 1);
        assert_eq!(ran.error(), format!("the model refused to answer: {why}"));
    }
}

#[test]
fn an_error_may_look_like_an_answer() {
    let disguised = json!({"error": {"message": "upstream is down", "code": 502}});
    let ran = AgentTest::new(Openai).run(vec![
        CannedReply::ok(disguised.to_string()),
        CannedReply::ok("<html>".to_owned()),
        calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)]),
    ]);
    assert_eq!(ran.code, 0);
    let texts = ran.events_of_type("text");
    let told = texts[0]["text"].as_str().unwrap();
    assert!(
        told.contains("the model API says 502: upstream is down"),
        "{told}"
    );
    let told = texts[1]["text"].as_str().unwrap();
    assert!(told.contains("is not a reply: expected value"), "{told}");
}

#[test]
fn a_conversation_that_is_too_long_is_made_shorter_once() {
    let too_long = CannedReply::status(
        400,
        json!({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
            .to_string(),
    );
    let read = calls(Anthropic, "", &[("read_file", r#"{"path":"big"}"#)]);
    let list = calls(Anthropic, "", &[("list_files", "{}")]);
    let submit = calls(Anthropic, "", &[("submit", r#"{"summary":"x"}"#)]);
    let big = "word\n".repeat(5000);
    let ran = AgentTest::new(Anthropic).file("big", &big).run(vec![
        read,
        list.clone(),
        list.clone(),
        list,
        too_long.clone(),
        submit,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert!(ran.asked[4].text.contains("word\\nword"));
    assert!(!ran.asked[5].text.contains("word\\nword"));
    assert!(
        ran.asked[5]
            .text
            .contains("that `read_file` gave here were taken away")
    );

    let ran = AgentTest::new(Anthropic).run(vec![too_long.clone(), too_long]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.events_of_type("error")[0]["status"], 400);
}

#[test]
fn a_planner_that_fails_ends_the_work() {
    let ran = AgentTest::new(Anthropic)
        .options(|options| options.plan = true)
        .run(vec![overloaded(); 5]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.events_of_type("error")[0]["status"], 529);
}

#[test]
fn bad_usage_is_told_and_ends_with_2() {
    let code = |job: AgentTest| {
        let ran = job.run(vec![says(Openai, "{}")]);
        assert_eq!(ran.code, 2, "{}", ran.output);
        assert_eq!(ran.events[0]["type"], "started");
        ran.error().to_owned()
    };
    let error = code(AgentTest::new(Openai).with("instructions", Value::Null));
    assert!(
        error.contains("assignment.json` is not an assignment: "),
        "{error}"
    );
    let error = code(AgentTest::new(Openai).options(|o| o.assignment = "/no/such".into()));
    assert!(
        error.starts_with("could not read `/no/such`: No such file"),
        "{error}"
    );
    let error = code(AgentTest::new(Openai).options(|o| o.base_url = "ftp://x".to_owned()));
    assert!(
        error.starts_with("`base_url` cannot be used: `ftp://x/v1"),
        "{error}"
    );
    let error = code(AgentTest::new(Openai).options(|o| o.model.clear()));
    assert_eq!(error, "`model` cannot be used: it is empty");
    let error = code(AgentTest::new(Openai).options(|o| o.mcp_servers = Some("/no/such".into())));
    assert!(error.starts_with("could not read `/no/such`"), "{error}");
}
