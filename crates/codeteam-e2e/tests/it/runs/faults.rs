//! Faults on the way to a model end in the right category and action, and nothing is lost. Each
//! fault is shown with the CLI that handles it fastest; the recorded folds of the dialects have the
//! rest.

use codeteam_e2e::{Fault, FaultKind, Play, Protocol, RecordedRequest, Scenario, Turn};
use serde_json::json;

use super::project::Project;
use super::samples::{RIGHT, alone, writes, written};

/// A coder whose first attempt has this fault when it would submit, while later ones succeed.
fn once(fault: Fault) -> Scenario {
    Scenario::new()
        .play(Play::new().attempt(1).turn(written().fault(fault)))
        .play(writes(Play::new()))
}

/// Checks the result, which is the same after every fault.
#[track_caller]
fn is_made(project: &Project) {
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    assert_eq!(project.commits(), 1);
}

/// Checks the one failed attempt, and that nothing of its cost or its output is lost.
#[track_caller]
fn failed_once(project: &Project, category: &str, action: &str) -> serde_json::Value {
    let failed = project.events("attempt_failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["category"], category, "{failed:?}");
    assert_eq!(failed[0]["action"], action, "{failed:?}");
    assert!(failed[0]["transcript"].is_string(), "{failed:?}");
    failed[0]["facts"].clone()
}

/// A worker whose first attempt has this fault fails it so, and does well in the second one.
#[track_caller]
fn is_tried_again(worker: &str, fault: Fault, step: &str) -> Project {
    let project = Project::new(once(fault));
    project
        .goal(&alone("", step), &["--worker", worker])
        .expect(0);
    is_made(&project);
    assert_eq!(project.workers(), [worker, worker]);
    project
}

/// A coder who succeeds, and whose API has this fault when it would submit.
fn at_the_end(fault: Fault) -> Scenario {
    let play = Play::new()
        .turn(Turn::new().write("add.sh", RIGHT))
        .turn(written().fault(fault));
    Scenario::new().play(play)
}

/// A worker whose API has this fault for longer than the CLI itself is patient is started again
/// until it answers, and no try is used up.
#[track_caller]
fn is_waited_for(worker: &str, fault: Fault, category: &str, action: &str) -> Project {
    let project = Project::new(at_the_end(fault));
    project
        .goal(&alone("", ""), &["--worker", worker])
        .expect(0);
    is_made(&project);
    let failed = project.events("attempt_failed");
    assert!(!failed.is_empty(), "the CLI got over it by itself");
    for failed in &failed {
        assert_eq!(failed["category"], category, "{failed:?}");
        assert_eq!(failed["action"], action, "{failed:?}");
    }
    let started = project.events("attempt_started");
    let numbers = started.iter().filter(|event| event["worker"].is_string());
    let numbers: Vec<&serde_json::Value> = numbers.map(|event| &event["id"]["attempt"]).collect();
    assert!(numbers.len() > 1 && numbers.iter().all(|number| **number == 1));
    project
}

#[test]
fn too_many_requests_park_the_account() {
    let fault = Fault::new(FaultKind::RateLimit).times(1);
    let project = is_waited_for("codex", fault, "resource", "park");
    let parked = &project.events("account_parked")[0];
    assert_eq!(
        (&parked["account"], &parked["why"]),
        (&json!("codex"), &json!("rate_limit"))
    );
}

#[test]
fn too_many_requests_for_longer_than_claude_waits_park_its_account_for_as_long_as_is_asked() {
    let fault = Fault::new(FaultKind::RateLimit).times(4).retry_after(1);
    let project = is_waited_for("claude", fault, "resource", "park");
    let facts = &project.events("attempt_failed")[0]["facts"];
    assert_eq!(
        (&facts["http_status"], &facts["retry_after_ms"]),
        (&json!(429), &json!(1_000))
    );
    let asked = project.asked();
    let faults: Vec<u64> = asked
        .iter()
        .filter(|r| r.fault == Some(FaultKind::RateLimit))
        .map(|r| r.at_ms)
        .collect();
    let waits = faults.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(waits.min() >= Some(900), "{faults:?}");
}

/// The CLI itself waits as long as the API asks.
#[test]
fn too_many_requests_with_a_time_to_wait_are_no_failure() {
    let fault = Fault::new(FaultKind::RateLimit).times(1).retry_after(1);
    let play = Play::new()
        .turn(Turn::new().write("add.sh", RIGHT))
        .turn(written().fault(fault));
    let project = Project::new(Scenario::new().play(play));
    project
        .goal(&alone("", ""), &["--worker", "codex"])
        .expect(0);
    is_made(&project);
    assert_eq!(project.failures(), []);
    let asked = project.asked();
    let (refused, again) = (&asked.0[1], &asked.0[2]);
    assert_eq!(refused.fault, Some(FaultKind::RateLimit));
    assert!(again.at_ms - refused.at_ms >= 1000, "it waits");
}

#[test]
fn an_error_of_the_server_is_waited_out() {
    let fault = Fault::new(FaultKind::ServerError).times(12);
    is_waited_for("codex", fault, "network", "wait_out");
}

#[test]
fn errors_of_the_server_for_longer_than_claude_waits_are_waited_out() {
    let fault = Fault::new(FaultKind::ServerError).times(4);
    is_waited_for("claude", fault, "network", "wait_out");
}

#[test]
fn an_overloaded_server_is_waited_out() {
    let fault = Fault::new(FaultKind::Overloaded).times(4);
    let project = is_waited_for("claude", fault, "network", "wait_out");
    let facts = &project.events("attempt_failed")[0]["facts"];
    assert_eq!(facts["http_status"], 529);
    // The address inside the sandbox means nothing to anybody outside.
    let message = facts["message"].as_str().unwrap();
    let server = project.server.base_url().replace("http://", "");
    assert!(
        !message.contains("127.0.0.1") || message.contains(&server),
        "{message}"
    );
    let parked = &project.events("account_parked")[0];
    assert_eq!(parked["why"], "outage");
}

#[test]
fn an_outage_longer_than_the_limit_stops_the_run_and_resume_goes_on() {
    let fault = Fault::new(FaultKind::Overloaded).times(2);
    let project = Project::new(at_the_end(fault));
    let args = ["--worker", "claude", "--max-outage-minutes", "0"];
    let done = project.goal(&alone("", ""), &args).expect(4);
    done.says(&["has not answered for too long", "resume"]);
    assert_eq!(project.commits(), 0);
    project.run(&["resume"]).expect(0);
    is_made(&project);
    let started = project.events("attempt_started");
    let mut numbers = started.iter().filter(|event| event["worker"].is_string());
    assert!(numbers.all(|event| event["id"]["attempt"] == 1));
}

#[test]
fn a_stream_that_is_cut_is_waited_out() {
    let fault = Fault::new(FaultKind::CutStream).times(8);
    let project = is_waited_for("codex", fault, "network", "wait_out");
    let facts = &project.events("attempt_failed")[0]["facts"];
    assert_eq!(facts["trouble"], "unreachable");
}

#[test]
fn a_stream_that_stalls_is_ended_and_tried_again() {
    let stall = Fault::new(FaultKind::Hold);
    let project = is_tried_again("codex", stall, "stall_seconds: 15");
    let facts = failed_once(&project, "network", "retry_same");
    assert_eq!(facts["stage"], "stalled");
    assert_eq!(facts["message"], "it said nothing for 15 s");
    assert!(project.server.wait_held("gate", 0), "it is gone");
}

/// The first request of a coder's second attempt.
fn asked_again(project: &Project) -> RecordedRequest {
    let second = project.asked().filtered(|r| r.marks.attempt == Some(2));
    second.0[0].clone()
}

/// Returns the feedback for the coder's second attempt.
fn told_again(project: &Project) -> String {
    asked_again(project).user_text()
}

#[test]
fn an_answer_that_is_no_json_goes_back_with_the_schema_and_an_example() {
    let project = is_tried_again("codex", Fault::new(FaultKind::BadAnswer), "");
    let facts = failed_once(&project, "parsing", "retry_with_feedback");
    let told = told_again(&project);
    assert!(told.contains(facts["message"].as_str().unwrap()), "{told}");
    assert!(told.contains("\"summary\": \"…\""), "{told}");
    // Codex hands the schema over itself, so the prompt need not have it.
    let asked = asked_again(&project).body;
    let schema = asked.pointer("/text/format/schema/properties/summary");
    assert!(schema.is_some(), "{asked}");
}

#[test]
fn an_answer_that_does_not_fit_goes_back_with_what_is_wrong() {
    let wrong = Turn::submit(json!({"summary": "done", "lines": 3}));
    let scenario = Scenario::new()
        .play(Play::new().attempt(1).turn(wrong))
        .play(writes(Play::new()));
    let project = Project::new(scenario);
    project
        .goal(&alone("", ""), &["--worker", "codex"])
        .expect(0);
    is_made(&project);
    failed_once(&project, "validation", "retry_with_feedback");
    let told = told_again(&project);
    assert!(told.contains("unknown field `lines`"), "{told}");
}

/// An answer that fits and is not true: nothing was changed.
#[test]
fn an_answer_without_a_change_goes_back() {
    let scenario = Scenario::new()
        .play(Play::new().attempt(1).turn(written()))
        .play(writes(Play::new()));
    let project = Project::new(scenario);
    project
        .goal(&alone("", ""), &["--worker", "codex"])
        .expect(0);
    is_made(&project);
    failed_once(&project, "logic", "retry_with_feedback");
    assert!(told_again(&project).contains("Nothing was changed."));
}

/// The first worker has this fault, and the second one replaces it.
#[track_caller]
fn stands_in(kind: FaultKind, workers: [&str; 2], first: Protocol) -> Project {
    let fault = Fault::new(kind);
    let scenario = Scenario::new()
        .play(Play::new().protocol(first).turn(written().fault(fault)))
        .play(writes(Play::new()));
    let project = Project::new(scenario);
    let roles = format!("workers: [{}, {}]", workers[0], workers[1]);
    project.goal(&alone(&roles, ""), &[]).expect(0);
    is_made(&project);
    assert_eq!(project.workers(), workers);
    project
}

#[test]
fn another_worker_stands_in_for_one_without_a_login() {
    let project = stands_in(
        FaultKind::Unauthorized,
        ["codex", "claude"],
        Protocol::Responses,
    );
    let facts = failed_once(&project, "cli", "escalate");
    assert_eq!(facts["trouble"], "login");
    assert_eq!(project.events("worker_replaced")[0]["worker"], "codex");
}

#[test]
fn another_worker_stands_in_for_one_without_a_model() {
    let project = stands_in(
        FaultKind::UnknownModel,
        ["codex", "claude"],
        Protocol::Responses,
    );
    let facts = failed_once(&project, "cli", "escalate");
    assert_eq!(facts["trouble"], "model");
}

#[test]
fn another_worker_stands_in_for_one_that_is_not_paid_for() {
    let project = stands_in(FaultKind::Quota, ["codex", "claude"], Protocol::Responses);
    let facts = failed_once(&project, "resource", "escalate");
    assert_eq!(facts["trouble"], "billing");
}

#[test]
fn another_worker_stands_in_for_one_that_refuses() {
    let project = stands_in(FaultKind::Refusal, ["claude", "codex"], Protocol::Anthropic);
    let facts = failed_once(&project, "logic", "escalate");
    assert_eq!(facts["trouble"], "refusal");
}

#[test]
fn a_refusal_ends_the_work_where_nobody_stands_in() {
    let project = Project::new(once(Fault::new(FaultKind::Refusal)));
    let done = project.goal(&alone("worker: claude", ""), &[]).expect(1);
    done.says(&["not done:"]);
    failed_once(&project, "logic", "escalate");
    assert_eq!(project.commits(), 0);
    assert_eq!(project.asked().len(), 1, "it is not asked twice");
}
