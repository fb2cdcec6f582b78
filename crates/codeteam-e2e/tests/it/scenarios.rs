//! Tests of which play is played, and of the errors in a wrong file.

use codeteam_e2e::{
    Fault, FaultKind, ModelServer, Play, Protocol, Scenario, SubmissionRoute, TokenUsage, Turn,
};
use serde_json::{Value, json};

use crate::client::post;

fn ask(server: &ModelServer, system: &str, messages: &Value) -> String {
    let question = json!({"model": "claude-x", "system": system, "messages": messages});
    let said = post(server, "/v1/messages", &question).json();
    said["content"][0]["text"].as_str().unwrap().to_owned()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[test]
fn the_first_play_that_fits_is_played() {
    let says = |text: &str| Turn::say(text);
    let scenario = Scenario::new()
        .play(
            Play::new()
                .role("coder")
                .round(2)
                .turn(says("coder, round 2")),
        )
        .play(
            Play::new()
                .role("coder")
                .task("task-7")
                .turn(says("coder, task 7")),
        )
        .play(Play::new().role("coder").turn(says("coder")))
        .play(
            Play::new()
                .step("review")
                .attempt(3)
                .turn(says("review, attempt 3")),
        )
        .play(Play::new().protocol(Protocol::Chat).turn(says("chat")))
        .play(Play::new().model("claude-y").turn(says("another model")))
        .play(Play::new().says("boom").turn(says("it went boom")));
    let server = ModelServer::start(scenario).unwrap();
    let said = |text: &str| ask(&server, "", &json!([user(text)]));
    assert_eq!(said("Role: coder\nRound: 2 of 5"), "coder, round 2");
    assert_eq!(said("Role: coder\nRound: 1\nTask: task-7"), "coder, task 7");
    assert_eq!(said("  Role: coder\nRound: 3"), "coder");
    assert_eq!(
        said("Role: reviewer\nStep: review\nAttempt: 3"),
        "review, attempt 3"
    );
    assert_eq!(said("What went boom?"), "it went boom");
    server.assert_no_problems();
    assert!(said("Role: reviewer").contains("no play fits"));
    assert_eq!(server.problems().len(), 1);
}

#[test]
fn the_last_mark_counts_and_tools_results_have_none() {
    let scenario = Scenario::new().play(Play::new().turn(Turn::say("yes")));
    let server = ModelServer::start(scenario).unwrap();
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "x", "content": "Role: intruder\nRound: 9"}]});
    let messages = json!([
        user("Role: coder\nRound: 1\nsome Role: words"),
        assistant("hm"),
        result
    ]);
    ask(&server, "Role: planner\nStep: plan\nRound: 7", &messages);
    let requests = server.requests();
    let marks = &requests.last().unwrap().marks;
    assert_eq!(marks.role.as_deref(), Some("coder"));
    assert_eq!(marks.step.as_deref(), Some("plan"));
    assert_eq!(marks.round, Some(1));
    assert_eq!(requests.of_role("coder").len(), 1);
    assert!(requests.of_role("intruder").is_empty());
}

#[test]
fn turns_are_counted_since_the_last_prompt_of_codeteam() {
    let round = |round: u32| {
        let say = |turn: u32| Turn::say(&format!("round {round}, turn {turn}"));
        Play::new().round(round).turn(say(1)).turn(say(2))
    };
    let server = ModelServer::start(Scenario::new().play(round(1)).play(round(2))).unwrap();
    let mut messages = vec![user("Round: 1")];
    for (reply, next) in [
        ("round 1, turn 1", user("go on")),
        ("round 1, turn 2", user("Round: 2")),
        ("round 2, turn 1", user("a nudge of the CLI's own")),
        ("round 2, turn 2", user("and another")),
    ] {
        assert_eq!(ask(&server, "", &json!(messages)), reply);
        messages.extend([assistant(reply), next]);
    }
    server.assert_no_problems();
    assert!(ask(&server, "", &json!(messages)).contains("was asked for one more"));
    assert_eq!(server.problems().len(), 1);
}

#[test]
fn yaml_says_the_same_as_rust() {
    let text = r#"
plays:
  - name: first
    when: {role: coder, step: code, task: t, round: 2, attempt: 1, protocol: gemini, model: m, says: hey}
    turns:
      - text: hello
        tools:
          - write: {path: a, content: "x\n"}
          - edit: {path: a, old: x, new: y}
          - read: {path: a}
          - run: {command: ls}
          - call: {name: Glob, input: {pattern: "*"}}
        usage: {input: 1, output: 2}
      - submit: {ok: true}
        road: fenced
        fault: {kind: rate_limit, times: 2, retry_after: 1}
      - fault: overloaded
      - fault: {kind: hold, gate: here}
      - fault: {kind: usage_limit, resets_in: 60}
"#;
    let fault = |fault: Fault| Turn::new().fault(fault);
    let usage = TokenUsage {
        input: 1,
        output: 2,
        ..TokenUsage::default()
    };
    let play = Play::new()
        .named("first")
        .role("coder")
        .step("code")
        .task("t")
        .round(2)
        .attempt(1)
        .protocol(Protocol::Gemini)
        .model("m")
        .says("hey")
        .turn(
            Turn::say("hello")
                .write("a", "x\n")
                .edit("a", "x", "y")
                .read("a")
                .run("ls")
                .call("Glob", json!({"pattern": "*"}))
                .usage(usage),
        )
        .turn(
            Turn::submit(json!({"ok": true}))
                .road(SubmissionRoute::Fenced)
                .fault(Fault::new(FaultKind::RateLimit).times(2).retry_after(1)),
        )
        .turn(fault(Fault::new(FaultKind::Overloaded)))
        .turn(fault(Fault::new(FaultKind::Hold).gate("here")))
        .turn(fault(Fault::new(FaultKind::UsageLimit).resets_in(60)));
    assert_eq!(
        Scenario::parse("s.yml", text).unwrap(),
        Scenario::new().play(play)
    );
}

#[test]
fn a_wrong_file_says_where_and_what_was_meant() {
    let told = |text: &str| Scenario::parse("s.yml", text).unwrap_err().to_string();
    let cases = [
        (
            "plays:\n  - when: {rolle: coder}\n    turns: [{text: x}]\n",
            ["s.yml:2:", "`rolle`", "did you mean `role`?"],
        ),
        (
            "plays:\n  - turns:\n      - tools:\n          - wirte: {path: a, content: b}\n",
            [
                "s.yml:4:",
                "wirte: {path: a, content: b}",
                "did you mean `write`?",
            ],
        ),
        (
            "plays:\n  - turns:\n      - fault: {kind: overlaoded}\n",
            ["s.yml:3:", "`overlaoded`", "did you mean `overloaded`?"],
        ),
        (
            "plays:\n  - turns:\n      - fault: overlaoded\n",
            ["s.yml:3:", "`overlaoded`", "did you mean `overloaded`?"],
        ),
        (
            "plays:\n  - when: {round: soon}\n    turns: [{text: x}]\n",
            ["s.yml:2:", "soon", "- when: {round: soon}"],
        ),
        (
            "plays:\n  - turns:\n      - tools:\n          - write: {path: a}\n",
            ["s.yml:4:", "`content` is missing", "- write: {path: a}"],
        ),
        (
            "plays:\n  - name: empty\n",
            ["s.yml", "play 1 has no turns", "`turns:`"],
        ),
        ("plays: [\n", ["s.yml:", ":", ""]),
    ];
    for (text, words) in cases {
        let told = told(text);
        for word in words {
            assert!(told.contains(word), "`{word}` in: {told}\nfor:\n{text}");
        }
    }
}

#[test]
fn a_missing_file_says_so() {
    let error = Scenario::load("/nowhere/s.yml".as_ref()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/s.yml: could not be read"),
        "{error}"
    );
}

#[test]
fn says_looks_at_what_was_said_last() {
    let scenario = Scenario::new()
        .play(
            Play::new()
                .says("boom")
                .turn(Turn::say("a boom"))
                .turn(Turn::say("a late boom")),
        )
        .play(Play::new().turn(Turn::say("one")).turn(Turn::say("two")));
    let server = ModelServer::start(scenario).unwrap();
    let result = |text: &str| {
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": text}]})
    };
    let after = |result: Value| json!([user("boom?"), assistant("hm"), result]);
    assert_eq!(ask(&server, "", &after(result("all is well"))), "two");
    assert_eq!(ask(&server, "", &after(result("boom!"))), "a late boom");
    server.assert_no_problems();
}
