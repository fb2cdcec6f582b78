//! Which answers are accepted, and how a model corrects the others.

use codeteam_agent::builtin::Protocol::{Anthropic, Gemini, Openai};
use serde_json::json;

use crate::job::AgentTest;
use crate::model::{CannedReply, calls, says};

#[test]
fn a_bare_object_is_an_answer_in_a_fence_or_not() {
    for protocol in [Anthropic, Openai, Gemini] {
        for text in [
            "{\"summary\": \"x\"}",
            "\n```json\n{\"summary\": \"x\"}\n```\n",
        ] {
            let ran = AgentTest::new(protocol).run(vec![says(protocol, text)]);
            assert_eq!(ran.submission(), "{\"summary\": \"x\"}");
        }
    }
}

#[test]
fn an_answer_over_several_lines_stays_one_line() {
    let ran = AgentTest::new(Anthropic).run(vec![calls(
        Anthropic,
        "",
        &[("submit", "{\n  \"summary\": \"a\\nb\"\n}")],
    )]);
    assert_eq!(ran.submission(), "{   \"summary\": \"a\\nb\" }");
}

#[test]
fn a_text_that_is_no_answer_is_reminded_of_once() {
    let ran = AgentTest::new(Openai).run(vec![
        says(Openai, "All done!"),
        calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)]),
    ]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.asked[1]
            .text
            .contains("That is not an answer: there is no JSON object in it.")
    );

    let ran = AgentTest::new(Openai).run(vec![says(Openai, "Done!"), says(Openai, "I said done!")]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.error(),
        "the model ended without an answer: there is no JSON object in it"
    );
    assert_eq!(ran.events_of_type("error")[0].get("status"), None);
}

#[test]
fn an_answer_that_does_not_fit_is_mended() {
    for protocol in [Anthropic, Openai, Gemini] {
        let ran = AgentTest::new(protocol).run(vec![
            calls(protocol, "", &[("submit", r#"{"files":"greet.sh"}"#)]),
            says(protocol, r#"{"files":[]}"#),
            calls(protocol, "", &[("submit", r#"{"summary":"x"}"#)]),
        ]);
        assert_eq!(ran.submission(), r#"{"summary":"x"}"#);
        let told = "the key `summary` is missing; `files` must be of type array.";
        assert!(ran.asked[1].text.contains(told), "{}", ran.asked[1].text);
        assert!(
            ran.asked[2]
                .text
                .contains("the key `summary` is missing. Correct it")
        );
        assert_eq!(ran.traces("quality")[0]["mended"], 2);
    }
}

#[test]
fn what_cannot_be_mended_is_left_to_the_orchestrator() {
    let bad = calls(Openai, "", &[("submit", r#"{"done":true}"#)]);
    let ran = AgentTest::new(Openai).with("max_turns", 1).run(vec![
        bad.clone(),
        bad.clone(),
        bad.clone(),
        bad,
    ]);
    assert_eq!(ran.submission(), r#"{"done":true}"#);
    assert_eq!(ran.asked.len(), 4);
}

#[test]
fn blocked_is_an_answer() {
    let blocked = r#"{"blocked":"no compiler"}"#;
    let ran = AgentTest::new(Gemini).run(vec![calls(Gemini, "", &[("submit", blocked)])]);
    assert_eq!(ran.submission(), blocked);
}

#[test]
fn two_submissions_at_once_are_none() {
    let one = ("submit", r#"{"summary":"x"}"#);
    let ran = AgentTest::new(Anthropic).run(vec![
        calls(Anthropic, "", &[one, ("submit", r#"{"summary":"y"}"#)]),
        calls(Anthropic, "", &[one]),
    ]);
    assert_eq!(ran.submission(), r#"{"summary":"x"}"#);
    assert!(ran.asked[1].text.contains("more than once"));
}

#[test]
fn edits_are_answered_without_tools() {
    let answer = r#"{"summary":"x","edits":[{"path":"greet.sh","content":"echo goodbye\n"}]}"#;
    for protocol in [Anthropic, Openai, Gemini] {
        let ran = AgentTest::new(protocol)
            .with("mode", "edits")
            .run(vec![says(protocol, "Sure!"), says(protocol, answer)]);
        assert_eq!(ran.submission(), answer);
        assert_eq!(
            ran.read("greet.sh"),
            "echo hello\n",
            "that is for others to write"
        );
        for asked in &ran.asked {
            assert_eq!(asked.body.get("tools"), None);
            assert!(asked.text.contains("You have no tools."));
            assert!(asked.text.contains("It must fit this JSON Schema"));
        }
    }
}

#[test]
fn a_plan_comes_first_if_one_is_asked_for() {
    let plan =
        r#"{"steps":[{"thought":"see it","action":"read_file","input":{"path":"greet.sh"}}]}"#;
    for protocol in [Anthropic, Openai, Gemini] {
        let ran = AgentTest::new(protocol)
            .options(|o| o.plan = true)
            .run(vec![
                says(protocol, plan),
                calls(protocol, "", &[("submit", r#"{"summary":"x"}"#)]),
            ]);
        assert_eq!(ran.code, 0, "{}", ran.output);
        assert_eq!(ran.asked[0].body.get("tools"), None);
        assert!(ran.asked[0].text.contains("- run_command: Runs a command"));
        assert!(ran.asked[1].text.contains("1. read_file (see it)"));
        let traces = ran.traces("planner");
        let step = json!({"thought": "see it", "action": "read_file",
                          "input": {"path": "greet.sh"}});
        assert_eq!(traces[0]["steps"], json!([step]));
        assert_eq!(ran.traces("quality")[0]["iterations"], 1);
    }
}

#[test]
fn the_model_is_asked_what_it_thinks_of_its_work() {
    let submit = calls(Openai, "", &[("submit", r#"{"summary":"says goodbye"}"#)]);
    let score = says(Openai, r#"{"overall_score": 70, "issues": ["no test"]}"#);
    let checked = |answer| {
        AgentTest::new(Openai)
            .options(|options| options.self_check = true)
            .run(vec![submit.clone(), answer])
    };
    let ran = checked(score);
    assert!(ran.asked[1].text.contains("says goodbye"));
    let quality = ran.traces("quality")[0];
    assert_eq!(quality["score"], 70);
    assert_eq!(quality["issues"], json!(["no test"]));
    assert_eq!(ran.events_of_type("usage").len(), 2);

    // Whatever comes of it, the answer stands.
    let spent = json!({"error": {"code": "insufficient_quota", "message": "spent"}});
    for answer in [
        says(Openai, "Great!"),
        CannedReply::status(429, spent.to_string()),
    ] {
        let ran = checked(answer);
        assert_eq!(ran.code, 0);
        assert_eq!(ran.traces("quality")[0].get("score"), None);
        assert_eq!(
            ran.events_of_type("rate_limit").len() + ran.events_of_type("error").len(),
            0
        );
    }
}
