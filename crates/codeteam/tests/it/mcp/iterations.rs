//! Rounds that are used up go to the user, with how many there were.

use serde_json::json;

use super::client::SdkClient;
use super::{change, design, project, rejection, requirements};

#[test]
fn a_task_that_is_rejected_again_and_again_is_escalated_with_the_number_of_its_changes() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    client.submit(requirements());
    let mut answer = client.submit(design());
    let mut changes = 0;
    for n in 0..40 {
        answer = match (answer.kind(), answer.value["role"].as_str()) {
            ("task_escalate", _) => break,
            ("task_rebound_offer", _) => client.call("resume", json!({"input": "no"})),
            (_, Some(role)) if role.ends_with("coder") => {
                changes += 1;
                project.write("reset.txt", &format!("works {n}\n"));
                client.submit(change())
            }
            _ => client.submit(rejection(&format!("issue {n}"))),
        };
    }
    assert_eq!(answer.kind(), "task_escalate", "{answer:?}");
    assert!(changes > 2, "{changes}");
    assert_eq!(answer.value["iterations"], changes, "{answer:?}");
    let last = answer.value["last_feedback"].as_str().unwrap();
    assert!(last.contains("issue"), "{last}");
    assert!(!answer.value["suggestion"].as_str().unwrap().is_empty());
    // What a session has cost nobody knows, so nothing is said of it as if it were known.
    client.call("resume", json!({"input": "fail"}));
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let summary = project.read(&format!(".codeteam/runs/{run}/summary.md"));
    assert!(
        summary.contains("- Money: at an unknown price"),
        "{summary}"
    );
    assert!(!summary.contains("$0.0000"), "{summary}");
    assert!(summary.contains("Decided: no"), "{summary}");
}
