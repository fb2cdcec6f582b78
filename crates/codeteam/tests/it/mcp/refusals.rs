//! The order is codeteam's: what is out of it is refused, and nothing moves.

use serde_json::{Value, json};

use super::client::{SdkClient, ToolReply};
use super::{approval, change, design, project, rejection, requirements};

/// Checks that a call was refused, why, and that it says what is expected now.
fn refused(called: &ToolReply, why: &str) {
    assert!(called.is_error, "{called:?}");
    assert_eq!(called.kind(), "refused");
    let errors = called.value["errors"].to_string();
    assert!(errors.contains(why), "{errors}");
    let expected = called.value["do_next"].as_str().unwrap();
    assert!(
        !expected.is_empty() && called.text.contains(expected),
        "{called:?}"
    );
}

#[test]
fn without_a_task_there_is_nothing_to_do() {
    let project = project();
    let client = SdkClient::new(&project);
    for (tool, arguments) in [
        ("submit", json!({"submission": {"design": "x"}})),
        ("resume", json!({"input": "yes"})),
        ("abort", json!({})),
    ] {
        let called = client.call(tool, arguments);
        refused(&called, "no task is open here");
        assert!(called.text.contains("start_task"), "{}", called.text);
    }
    assert!(
        !project.path(".codeteam/state.db").exists(),
        "nothing was made"
    );
    refused(
        &client.call("start_task", json!({"task": "  "})),
        "the task is empty",
    );
    let history = client.call("get_history", json!({}));
    assert_eq!(history.value["submissions"], json!([]));
}

#[test]
fn a_repository_that_is_not_trusted_starts_no_task() {
    let project = project();
    let own = project.read(".codeteam/config.yml");
    project.config(&format!("{own}sandbox: none\n"));
    let client = SdkClient::new(&project);
    let called = client.call("start_task", json!({"task": "x"}));
    refused(&called, "asks for more than your own configuration allows");
    for part in ["without a sandbox", "a person decides", "codeteam trust"] {
        assert!(called.text.contains(part), "{part}: {}", called.text);
    }
    assert!(
        !project.path(".codeteam/state.db").exists(),
        "nothing was made"
    );
    // The session does not decide it in the user's place.
    let refused = project.run(&["trust", "--yes"]).expect(3);
    refused.says(&["this is called from inside", "a person decides"]);
    drop(client);
    project.trust();
    SdkClient::new(&project).start();
}

#[test]
fn nobody_plays_out_of_turn() {
    let project = project();
    let client = SdkClient::new(&project);
    let first = client.start();
    let id = first.value["assignment"].clone();
    refused(&client.submit(approval()), "unknown field `approved`");
    refused(
        &client.call("resume", json!({"input": "yes"})),
        "no question is open",
    );
    let role = |role: &str, submission: Value| {
        client.call("submit", json!({"role": role, "submission": submission}))
    };
    refused(&role("reviewer", approval()), "`reviewer` is not the role");
    assert_eq!(role("ba", requirements()).role(), "architect");
    let stale = json!({"assignment": id, "submission": design()});
    refused(
        &client.call("submit", stale),
        "is over: it is `run:architect",
    );
    refused(
        &client.submit(json!({"design": "x", "patterns": [1]})),
        "at `patterns[0]`",
    );
    refused(
        &client.submit(json!({"design": " "})),
        "`design` must not be empty",
    );
    assert_eq!(client.submit(design()).role(), "coder");
    refused(&role("qa", approval()), "`qa` is not the role");
    project.write("reset.txt", "works\n");
    assert_eq!(client.submit(change()).role(), "qa");
    refused(
        &client.submit(json!({"approved": false, "reason": "no"})),
        "at `issues`",
    );
    refused(&role("coder", change()), "`coder` is not the role");
    refused(&role("reviewer", approval()), "`reviewer` is not the role");
    assert_eq!(client.status().value["current_role"], "qa");
    assert_eq!(client.submit(rejection("more")).role(), "coder");
}

#[test]
fn what_the_kernel_refuses_is_told_with_the_new_id() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    client.submit(requirements());
    let coder = client.submit(design());
    let nothing = client.submit(change());
    refused(&nothing, "Nothing was changed");
    assert_eq!(nothing.value["role"], "coder");
    assert_ne!(nothing.value["assignment"], coder.value["assignment"]);
    project.write("reset.txt", "broken\n");
    assert_eq!(client.submit(change()).value["iteration"], 2);
    refused(&client.submit(change()), "the change of round 1 again");
    project.write("reset.txt", "works\n");
    assert_eq!(client.submit(change()).role(), "qa");
}

#[test]
fn a_second_task_is_started_only_if_it_is_asked_for() {
    let project = project();
    let client = SdkClient::new(&project);
    let first = client.start();
    let second = client.call("start_task", json!({"task": "Another thing"}));
    refused(&second, "a task is open in this checkout");
    assert_eq!(second.value["run"], first.value["run"]);
    let other = client.call(
        "start_task",
        json!({"task": "Another thing", "another": true}),
    );
    assert_eq!(other.role(), "ba");
    assert_ne!(other.value["run"], first.value["run"]);
    let ended = client.call("abort", json!({"reason": "not needed"}));
    assert_eq!(ended.kind(), "aborted", "{ended:?}");
    assert_eq!(ended.value["reason"], "not needed");
    // The first one waits where it was left.
    let status = client.status();
    assert_eq!(status.value["run"], first.value["run"], "{status:?}");
    assert_eq!(client.submit(requirements()).role(), "architect");
    client.call("abort", json!({}));
    assert_eq!(client.status().value["state"], "aborted");
    refused(&client.submit(requirements()), "no task is open here");
    assert_eq!(
        client.start().role(),
        "ba",
        "an ended task is in nobody's way"
    );
}

#[test]
fn edits_made_after_the_submission_are_not_judged_and_are_told() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    client.submit(requirements());
    client.submit(design());
    project.write("reset.txt", "works\n");
    assert_eq!(client.submit(change()).role(), "qa");
    project.write("reset.txt", "broken behind your back\n");
    let reviewer = client.submit(approval());
    assert_eq!(reviewer.role(), "reviewer");
    assert_eq!(
        reviewer.value["evidence"]["edited_since"],
        json!(["reset.txt"])
    );
    let done = client.submit(approval());
    let told = "Edited in the checkout after it was submitted, and not part of it: reset.txt.";
    assert!(done.text.contains(told), "{}", done.text);
    let branch = done.value["git_branch"].as_str().unwrap();
    let committed = project.git(&["show", &format!("{branch}:reset.txt")]);
    assert_eq!(committed, "works", "what was judged, and nothing else");
}

const JUDGES: &str = "workflow:\n  start: coder\n  steps:\n    coder: { role: coder, next: judges }\n    \
    judges: { roles: [qa, reviewer], join: all, next: schema, on_reject: coder }\n    \
    schema: { role: architect, when: { changed: ['*.sql'] }, next: commit }\n    \
    commit: { commit: branch, next: done }\n";

#[test]
fn judges_side_by_side_are_asked_one_after_the_other_and_all_count() {
    let project = project();
    project.config(JUDGES);
    project.commit("judges");
    let client = SdkClient::new(&project);
    assert_eq!(client.start().role(), "coder");
    project.write("reset.txt", "works\n");
    assert_eq!(client.submit(change()).role(), "qa");
    assert_eq!(client.submit(approval()).role(), "reviewer");
    let again = client.submit(rejection("no test"));
    assert_eq!(again.role(), "coder");
    assert!(again.text.contains("no test"), "{}", again.text);
    project.write("reset.txt", "works, and is tested\n");
    // One who has approved another change has not approved this one.
    assert_eq!(client.submit(change()).role(), "qa");
    assert_eq!(client.submit(approval()).role(), "reviewer");
    // What is only for other changes is left out.
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
}

#[test]
fn a_step_with_a_condition_is_asked_for_when_it_holds() {
    let project = project();
    project.config(JUDGES);
    project.commit("judges");
    let client = SdkClient::new(&project);
    client.start();
    project.write("table.sql", "create table t (a);\n");
    client.submit(
        json!({"summary": "A table.", "files_changed": ["table.sql"], "proof": "$ sqlite3"}),
    );
    client.submit(approval());
    assert_eq!(client.submit(approval()).role(), "architect");
    let done = client.submit(design());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
}
