//! Tools of MCP servers.

use std::fs;

use codeteam_agent::builtin::Protocol::{Anthropic, Openai};
use serde_json::{Value, json};

use crate::job::{AgentTest, AgentTestRun};
use crate::model::{CannedReply, calls};

/// The server of `tests/mcp_server.rs`.
const SERVER: &str = env!("CARGO_BIN_EXE_mcp-server");

/// Works on a job with the listed servers.
fn run(job: AgentTest, servers: &Value, answers: Vec<CannedReply>) -> AgentTestRun {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("servers.json");
    fs::write(&list, json!({"servers": servers}).to_string()).unwrap();
    job.options(move |options| options.mcp_servers = Some(list))
        .run(answers)
}

fn submit() -> CannedReply {
    calls(Openai, "", &[("submit", r#"{"summary":"x"}"#)])
}

#[test]
fn a_servers_tools_are_called_by_its_name_and_theirs() {
    let ran = run(
        AgentTest::new(Anthropic),
        &json!({"test": {"command": SERVER, "args": ["one"], "env": {"TWO": "two"}}}),
        vec![
            calls(
                Anthropic,
                "",
                &[
                    ("test__echo", r#"{"text":"hi"}"#),
                    ("test__fail_now", "{}"),
                    ("test__where", "{}"),
                ],
            ),
            calls(Anthropic, "", &[("submit", r#"{"summary":"x"}"#)]),
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.output);
    let tools = ran.asked[0].body["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "test__echo");
    let tool = tool.unwrap();
    assert_eq!(tool["description"], "Says it again");
    assert_eq!(tool["input_schema"]["required"], json!(["text"]));
    assert!(tools.iter().any(|tool| tool["name"] == "test__fail_now"));
    let results = &ran.asked[1].body["messages"][2]["content"];
    assert_eq!(results[0]["content"], "one two: hi");
    assert_eq!(results[1]["content"], "it failed");
    assert_eq!(results[1]["is_error"], true);
    let tree = ran.path("").canonicalize().unwrap();
    assert_eq!(results[2]["content"], tree.to_str().unwrap());
    assert_eq!(ran.events_of_type("tool")[0]["detail"], "hi");
}

#[test]
fn a_server_that_does_not_start_is_told_and_left_out() {
    let ran = run(
        AgentTest::new(Openai),
        &json!({"absent": {"command": "/no/such/program"}, "mute": {"command": "true"}}),
        vec![submit()],
    );
    assert_eq!(ran.code, 0);
    let errors = ran.events_of_type("error");
    let told = |at: usize| errors[at]["message"].as_str().unwrap();
    let absent = "the MCP server `absent` is left out: `/no/such/program` does not start: No such";
    assert!(told(0).starts_with(absent), "{}", told(0));
    assert!(
        told(1).starts_with("the MCP server `mute` is left out: "),
        "{}",
        told(1)
    );
}

#[test]
fn a_server_nobody_may_use_is_not_started() {
    let servers = json!({"test": {"command": "/no/such/program"}});
    let job = AgentTest::new(Openai).with("tools", json!(["read_file"]));
    let ran = run(job, &servers, vec![submit()]);
    assert_eq!(ran.events_of_type("error").len(), 0);

    let job = AgentTest::new(Openai).with("tools", json!(["test__echo"]));
    let ran = run(job, &json!({"test": {"command": SERVER}}), vec![submit()]);
    let tools = ran.asked[0].body["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["test__echo", "submit"]);
}

#[test]
fn a_list_that_cannot_be_read_is_bad_usage() {
    let ran = run(AgentTest::new(Openai), &json!([1]), vec![submit()]);
    assert_eq!(ran.code, 2);
    assert!(ran.error().contains("is not a list of MCP servers: "));
}
