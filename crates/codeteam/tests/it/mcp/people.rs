//! Where only a person decides, and not in the session.

use serde_json::json;

use super::client::Client;
use super::{change, project};
use crate::project::Project;

const FLOW: &str = "workflow:\n  start: coder\n  steps:\n    coder: { role: coder, next: look }\n    \
    look: { person: Is it good?, answers: { approve: commit, reject: coder } }\n    \
    commit: { commit: branch, next: done }\n";

/// A task that waits for a person, and the name of its run.
fn paused(project: &Project, client: &Client) -> String {
    let coder = client.start();
    assert_eq!(coder.role(), "coder");
    project.write("reset.txt", "works\n");
    let paused = client.submit(change());
    assert_eq!(paused.kind(), "task_paused", "{paused:?}");
    assert_eq!(paused.value["questions"], json!(["Is it good?"]));
    let run = coder.value["run"].as_str().unwrap().to_owned();
    let told = format!("codeteam approve {run}");
    assert!(paused.text.contains(&told), "{}", paused.text);
    run
}

fn with_a_person() -> Project {
    let project = project();
    project.config(FLOW);
    project.commit("flow");
    project
}

#[test]
fn a_step_for_a_person_waits_for_one_outside_of_the_session() {
    let project = with_a_person();
    let client = Client::apart(&project);
    let run = paused(&project, &client);
    for tried in [
        client.call("resume", json!({"input": "approve"})),
        client.submit(super::approval()),
    ] {
        assert!(tried.is_error, "{tried:?}");
        let told = format!("codeteam approve {run}");
        assert!(tried.text.contains(&told), "{}", tried.text);
    }
    assert_eq!(client.status().value["state"], "paused");
    let done = project.run(&["approve", &run]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
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
fn a_command_from_inside_of_the_session_decides_nothing() {
    let project = with_a_person();
    let client = Client::new(&project);
    let run = paused(&project, &client);
    // The test itself is the client here, and this is what the client's shell would start.
    let done = project.run(&["approve", &run]);
    assert_ne!(done.code, Some(0), "{}", done.stdout);
    assert!(
        done.stderr.contains("called from inside"),
        "{}",
        done.stderr
    );
    assert_eq!(client.status().value["state"], "paused");
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
