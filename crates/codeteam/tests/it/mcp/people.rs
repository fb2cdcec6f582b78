//! Where only a person decides, and not in the session.

use serde_json::json;

use super::client::Client;
use super::{change, project};

#[test]
fn a_step_for_a_person_waits_for_one_outside_of_the_session() {
    let project = project();
    let flow = "workflow:\n  start: coder\n  steps:\n    coder: { role: coder, next: look }\n    \
                look: { person: Is it good?, answers: { approve: commit, reject: coder } }\n    \
                commit: { commit: branch, next: done }\n";
    project.config(flow);
    project.commit("flow");
    let client = Client::new(&project);
    let coder = client.start();
    assert_eq!(coder.role(), "coder");
    let run = coder.value["run"].as_str().unwrap().to_owned();
    project.write("reset.txt", "works\n");
    let paused = client.submit(change());
    assert_eq!(paused.kind(), "task_paused", "{paused:?}");
    assert_eq!(paused.value["questions"], json!(["Is it good?"]));
    assert!(
        paused.text.contains(&format!("codeteam approve {run}")),
        "{}",
        paused.text
    );
    for tried in [
        client.call("resume", json!({"input": "approve"})),
        client.submit(super::approval()),
    ] {
        assert!(tried.is_error, "{tried:?}");
        assert!(
            tried.text.contains(&format!("codeteam approve {run}")),
            "{}",
            tried.text
        );
    }
    assert_eq!(client.status().value["state"], "paused");
    project.run(&["approve", &run]);
    let begun = std::time::Instant::now();
    let state = loop {
        let status = client.status();
        if status.value["state"] != "paused" && status.value["next"]["type"] != "checking" {
            break status;
        }
        assert!(begun.elapsed().as_secs() < 120, "{status:?}");
    };
    assert_eq!(state.value["state"], "complete", "{state:?}");
    assert_eq!(state.value["next"]["type"], "task_complete");
}

#[test]
fn workers_go_on_with_a_task_and_the_session_takes_it_back() {
    let project = project();
    let script = project.script(
        "version: 1\nplays:\n  - match: { role: architect }\n    do: [ { submit: { design: Made by a \
         worker } } ]\n  - match: { role: coder }\n    do: [ { submit: { blocked: no such table } } ]\n",
    );
    project.config(&format!(
        "worker: scripted\nscript: {script}\nverification:\n  \
         commands:\n    - {{ name: tests, command: grep -q works reset.txt }}\n"
    ));
    project.commit("workers");
    let client = Client::new(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    assert_eq!(client.submit(super::requirements()).role(), "architect");
    let done = project.run(&["run", "--continue", &run]);
    assert_eq!(done.code, Some(3), "{} {}", done.stdout, done.stderr);
    let tried = client.submit(super::design());
    assert!(tried.is_error, "{tried:?}");
    assert!(tried.text.contains("take back"), "{}", tried.text);
    let status = client.status();
    assert_eq!(
        status.value["current_design"], "Made by a worker",
        "{status:?}"
    );
    let back = client.call("resume", json!({"input": "take back"}));
    assert_eq!(back.kind(), "task_escalate", "{back:?}");
    assert!(
        back.value["reason"]
            .as_str()
            .unwrap()
            .contains("no such table")
    );
    let coder = client.call("resume", json!({"input": "continue"}));
    assert_eq!(coder.role(), "coder");
    project.write("reset.txt", "works\n");
    assert_eq!(client.submit(change()).role(), "qa");
}
