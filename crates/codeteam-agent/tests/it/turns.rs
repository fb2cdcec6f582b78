//! Turns, tools and their limits.

use codeteam_agent::builtin::Protocol::{Anthropic, Openai};
use serde_json::{Value, json};

use crate::job::AgentTest;
use crate::model::{CannedReply, FakeModel, calls};

fn list() -> CannedReply {
    calls(Openai, "", &[("list_files", "{}")])
}

fn submit() -> CannedReply {
    calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)])
}

fn tool_names(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect()
}

#[test]
fn in_the_last_turn_only_a_submission_counts() {
    let ran = AgentTest::new(Openai)
        .options(|options| options.max_iterations = 2)
        .run(vec![list(), list()]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.error(), "the model did not submit within 2 turns");
    assert_eq!(ran.events_of_type("tool").len(), 1);
    assert!(!ran.asked[0].text.contains("This is your last turn"));
    assert!(ran.asked[1].text.contains("This is your last turn"));
    assert_eq!(ran.traces("quality")[0]["iterations"], 2);

    let ran = AgentTest::new(Openai)
        .with("max_turns", 3)
        .options(|options| options.max_iterations = 1)
        .run(vec![list(), list(), submit()]);
    assert_eq!(ran.code, 0, "the assignment's limit wins");
}

#[test]
fn every_call_of_a_reply_has_a_result() {
    let both = calls(
        Anthropic,
        "",
        &[("list_files", "{}"), ("no_such_tool", "{}")],
    );
    let late = calls(
        Anthropic,
        "",
        &[("list_files", "{}"), ("submit", r#"{"files":[]}"#)],
    );
    let good = calls(Anthropic, "", &[("submit", r#"{"summary":"x"}"#)]);
    let ran = AgentTest::new(Anthropic)
        .with("max_turns", 2)
        .run(vec![both, late, good]);
    assert_eq!(ran.code, 0);
    let results = &ran.asked[1].body["messages"][2]["content"];
    assert_eq!(results[0]["tool_use_id"], "toolu_1");
    assert_eq!(results[0]["content"], "greet.sh\n");
    assert_eq!(results[1]["is_error"], true);
    let told = results[1]["content"].as_str().unwrap();
    assert!(told.starts_with("there is no tool `no_such_tool`; the tools are: read_file"));
    let results = &ran.asked[2].body["messages"][4]["content"];
    assert!(
        results[0]["content"]
            .as_str()
            .unwrap()
            .contains("your last turn")
    );
    assert!(
        results[1]["content"]
            .as_str()
            .unwrap()
            .contains("`summary` is missing")
    );
}

#[test]
fn a_call_that_was_cut_off_is_not_carried_out() {
    let body = json!({"content": [
        {"type": "tool_use", "id": "a", "name": "write_file",
         "input": {"path": "one", "content": "whole"}},
        {"type": "tool_use", "id": "b", "name": "write_file",
         "input": {"path": "two", "content": "ha"}}],
        "stop_reason": "max_tokens", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let good = calls(Anthropic, "", &[("submit", r#"{"summary":"x"}"#)]);
    let ran = AgentTest::new(Anthropic).run(vec![CannedReply::ok(body.to_string()), good]);
    assert_eq!(ran.read("one"), "whole");
    assert!(!ran.path("two").exists());
    assert!(ran.asked[1].text.contains("This call was not carried out"));
}

#[test]
fn without_the_right_to_write_no_tool_writes() {
    let write = calls(
        Openai,
        "",
        &[("write_file", r#"{"path":"a","content":"b"}"#)],
    );
    let ran = AgentTest::new(Openai)
        .with("writable", false)
        .run(vec![write, submit()]);
    let names = tool_names(&ran.asked[0].body);
    assert_eq!(
        names,
        ["read_file", "list_files", "search", "run_command", "submit"]
    );
    assert!(ran.asked[0].text.contains("It is read-only for you."));
    assert!(!ran.path("a").exists());
    assert_eq!(ran.events_of_type("tool_result")[0]["ok"], false);
}

#[test]
fn only_allowed_tools_are_offered_and_a_wrong_name_is_told() {
    let run = calls(Openai, "", &[("run_command", r#"{"command":"touch a"}"#)]);
    let ran = AgentTest::new(Openai)
        .with(
            "tools",
            json!(["search", "read_file", "web_search", "Bash"]),
        )
        .run(vec![run, submit()]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        tool_names(&ran.asked[0].body),
        ["read_file", "search", "submit"]
    );
    assert!(!ran.path("a").exists());
    assert_eq!(
        ran.error(),
        "the assignment allows a tool `Bash`; there is none"
    );
}

#[test]
fn long_results_are_cut_and_old_ones_taken_away() {
    let read = |path: &str| {
        calls(
            Openai,
            "",
            &[("read_file", &json!({"path": path}).to_string())],
        )
    };
    let big = |mark: char| format!("first\n{}last\n", mark.to_string().repeat(100_000));
    let ran = AgentTest::new(Openai)
        .file("big", &big('x'))
        .file("second", &big('y'))
        .file("third", &big('z'))
        .file("small", "tiny")
        .options(|options| options.context_tokens = 10_000)
        .run(vec![
            read("big"),
            read("second"),
            read("third"),
            read("small"),
            submit(),
        ]);
    let given = |at: usize, turn: usize| {
        let text = &ran.asked[at].body["messages"][turn]["content"];
        text.as_str().unwrap().to_owned()
    };
    let long = given(1, 3);
    assert!(long.starts_with("first\nxxx"), "{}", &long[..20]);
    assert!(long.ends_with("xxxlast\n"));
    // A quarter of what the model takes in, at four characters a token.
    assert!(long.len() < 11_000 && long.contains("bytes left out here"));
    assert_eq!(given(2, 3), long, "the newest stay");
    assert!(given(4, 3).contains("were taken away to make room"));
    assert_eq!(given(4, 9), "tiny");
}

#[test]
fn the_web_is_searched_only_where_there_is_a_service() {
    let found = json!({"answer": null, "results": [
        {"title": "Rust", "url": "https://rust-lang.org", "content": "A language", "score": 0.9}]});
    let service = FakeModel::start(vec![CannedReply::ok(found.to_string())]);
    let base = format!("{}/", service.url);
    let search = calls(
        Openai,
        "",
        &[("web_search", r#"{"query":"rust","max_results":99}"#)],
    );
    let ran = AgentTest::new(Openai)
        .options(move |options| options.web_search = Some(base))
        .run(vec![search, submit()]);
    assert!(tool_names(&ran.asked[0].body).contains(&"web_search"));
    let asked = &service.received()[0];
    assert_eq!(asked.path, "/search");
    assert_eq!(asked.body, json!({"query": "rust", "max_results": 20}));
    assert_eq!(
        asked.header("authorization"),
        None,
        "that key is not for this service"
    );
    let result = &ran.asked[1].body["messages"][3]["content"];
    assert_eq!(result, "Rust\nhttps://rust-lang.org\nA language\n\n");
}
