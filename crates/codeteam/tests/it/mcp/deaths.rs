//! A session may die, and two may meet.

use serde_json::json;

use super::client::SdkClient;
use super::raw::RawClient;
use super::{approval, change, design, project, requirements};

#[test]
fn a_new_session_goes_on_where_the_old_one_was_killed() {
    let project = project();
    let mut old = RawClient::new(&project);
    let run = old.call("start_task", json!({"task": "Add a reset"}))["run"].clone();
    old.call("submit", json!({"submission": requirements()}));
    old.kill();
    let mut new = RawClient::new(&project);
    let status = new.call("get_status", json!({}));
    assert_eq!(status["run"], run);
    assert_eq!(status["state"], "in_progress");
    assert_eq!(status["current_role"], "architect");
    assert_eq!(
        status["confirmed_requirements"],
        "1. Reset by mail, 24 hours."
    );
    assert_eq!(status["next"]["type"], "role_assignment");
    let coder = new.call(
        "submit",
        json!({"submission": design(), "assignment": status["next"]["assignment"]}),
    );
    assert_eq!(coder["role"], "coder", "{coder}");
    // The first thing a session says may also be an answer.
    new.kill();
    let mut third = RawClient::new(&project);
    project.write("reset.txt", "works\n");
    let qa = third.call("submit", json!({"role": "coder", "submission": change()}));
    assert_eq!(qa["role"], "qa", "{qa}");
    assert_eq!(third.close(), 0);
}

#[test]
fn a_new_session_is_told_of_a_task_whose_end_the_old_one_may_not_have_heard() {
    let project = project();
    let mut old = RawClient::new(&project);
    old.call("start_task", json!({"task": "Add a reset"}));
    old.call("submit", json!({"submission": requirements()}));
    old.call("submit", json!({"submission": design()}));
    project.write("reset.txt", "works\n");
    for submission in [change(), approval(), approval()] {
        old.call("submit", json!({ "submission": submission }));
    }
    old.kill();
    let mut new = RawClient::new(&project);
    // Once looked for, and once known.
    for _ in 0..2 {
        let status = new.call("get_status", json!({}));
        assert_eq!(status["state"], "not_started");
        let expected = status["do_next"].as_str().unwrap();
        assert!(
            expected.contains("\"Add a reset\", has ended: completed; `"),
            "{expected}"
        );
    }
}

#[test]
fn the_second_of_two_clients_is_told_who_leads() {
    let project = project();
    let first = SdkClient::new(&project);
    let run = first.start().value["run"].clone();
    let mut second = RawClient::new(&project);
    for (tool, arguments) in [
        ("start_task", json!({"task": "Another"})),
        ("submit", json!({"submission": requirements()})),
        ("resume", json!({"input": "yes"})),
        ("abort", json!({})),
    ] {
        let refused = second.call(tool, arguments);
        assert_eq!(refused["type"], "refused", "{refused}");
        let why = refused["errors"][0].as_str().unwrap();
        assert!(why.contains("`tester 1.2` (process "), "{why}");
        assert_eq!(refused["run"], run);
    }
    let status = second.call("get_status", json!({}));
    assert_eq!(
        (&status["run"], &status["current_role"]),
        (&run, &json!("ba"))
    );
    assert!(status["held_by"].as_str().unwrap().contains("tester"));
    assert_eq!(first.submit(requirements()).role(), "architect");
    let history = second.call("get_history", json!({"role": "ba"}));
    assert_eq!(
        history["submissions"][0]["outcome"], "confirmed",
        "{history}"
    );
    first.close();
    let status = second.call("get_status", json!({}));
    assert_eq!(status["next"]["role"], "architect", "{status}");
    let coder = second.call("submit", json!({"submission": design()}));
    assert_eq!(coder["role"], "coder");
}

#[test]
fn of_several_that_begin_at_once_one_does() {
    let project = project();
    project.write("begun.txt", "not committed\n");
    let mut all: Vec<RawClient> = (0..4).map(|_| RawClient::new(&project)).collect();
    let call = json!({"name": "start_task", "arguments": {"task": "Add a reset"}});
    let asked = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call});
    for raw in &mut all {
        raw.line(&asked.to_string());
    }
    let answers: Vec<_> = all.iter_mut().map(RawClient::next).collect();
    let kind = |answer: &serde_json::Value| answer["result"]["structuredContent"]["type"].clone();
    let begun = answers.iter().filter(|a| kind(a) == "role_assignment");
    assert_eq!(begun.count(), 1, "{answers:?}");
    let told = answers.iter().filter(|a| kind(a) == "refused");
    assert!(
        told.clone()
            .all(|a| a.to_string().contains("is led by `raw 1`")),
        "{answers:?}"
    );
    assert_eq!(told.count(), 3);
}
