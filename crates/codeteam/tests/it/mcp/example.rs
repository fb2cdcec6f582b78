//! The example of the design, from the first question to the commit, through a real client.

use serde_json::json;

use super::client::SdkClient;
use super::{approval, change, design, gated, project, rejection};

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one session, from its first word to its last"
)]
fn from_the_first_question_to_the_commit() {
    let project = project();
    let head = project.git(&["rev-parse", "HEAD"]);
    let client = SdkClient::new(&project);
    assert_eq!(
        client.server(),
        ("codeteam".to_owned(), env!("CARGO_PKG_VERSION").to_owned())
    );
    let none = client.status();
    assert_eq!(none.value["state"], "not_started");

    let first = client.start();
    assert_eq!(first.role(), "ba");
    assert_eq!(first.value["role_type"], "analyst");
    assert_eq!(first.value["iteration"], 1);
    assert_eq!(first.value["task"], "Add password reset functionality");
    assert_eq!(
        first.value["expected_output"]["one_of"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert!(first.value["instructions"].as_str().unwrap().len() > 100);

    let questions = ["By mail or text?", "When does it expire?"];
    let paused = client.submit(json!({
        "questions": questions, "context": "a reset", "partial_spec": "single use",
    }));
    assert_eq!(paused.kind(), "task_paused");
    assert_eq!(paused.value["role"], "ba");
    assert_eq!(paused.value["questions"], json!(questions));
    assert_eq!(paused.value["context"], "a reset");
    assert_eq!(paused.value["partial_spec"], "single use");
    assert!(
        paused.text.contains("Do not answer in their place"),
        "{}",
        paused.text
    );
    assert_eq!(client.status().value["state"], "paused");

    let second = client.call("resume", json!({"input": "Mail, 24 hours"}));
    assert_eq!(second.role(), "architect");
    let told = second.value["requirements"].as_str().unwrap();
    assert!(told.contains("When does it expire?") && told.contains("Mail, 24 hours"));

    let third = client.submit(design());
    assert_eq!(third.role(), "coder");
    assert!(
        third.value["design"]
            .as_str()
            .unwrap()
            .contains("TokenService")
    );

    project.write("reset.txt", "it works\n");
    let mut claimed = change();
    claimed["files_changed"] = json!(["reset.txt", "tests/reset.sh"]);
    let judged = client.submit(claimed);
    assert_eq!(judged.role(), "qa");
    assert_eq!(judged.value["reviewing"]["summary"], "Implemented it.");
    let evidence = &judged.value["evidence"];
    assert_eq!(evidence["passed"], true);
    assert_eq!(
        evidence["checks"][0],
        json!({"name": "tests", "passed": true})
    );
    assert_eq!(evidence["files_changed"], json!(["reset.txt"]));
    assert_eq!(evidence["claimed_not_changed"], json!(["tests/reset.sh"]));

    let back = client.submit(rejection("No HTTP request shown"));
    assert_eq!(
        (back.role(), &back.value["iteration"]),
        ("coder", &json!(2))
    );
    let feedback = back.value["feedback"].as_str().unwrap();
    assert!(feedback.contains("No HTTP request shown"), "{feedback}");
    assert_eq!(feedback.matches("No HTTP request shown").count(), 1);

    project.write("reset.txt", "it works, by HTTP\n");
    project.write("tests/reset.sh", "grep -q HTTP reset.txt\n");
    let mut claimed = change();
    claimed["files_changed"] = json!([project.path("reset.txt")]);
    let again = client.submit(claimed);
    assert_eq!(again.role(), "qa");
    assert_eq!(
        again.value["evidence"]["changed_not_claimed"],
        json!(["tests/reset.sh"])
    );
    assert_eq!(client.submit(approval()).role(), "reviewer");
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
    assert_eq!(done.value["success"], true);
    assert_eq!(done.value["iterations"], 2);
    assert_eq!(
        done.value["files_changed"],
        json!(["reset.txt", "tests/reset.sh"])
    );
    let branch = done.value["git_branch"].as_str().unwrap();
    assert_eq!(
        project.git(&["show", &format!("{branch}:reset.txt")]),
        "it works, by HTTP"
    );
    assert_eq!(
        project.git(&["rev-parse", "HEAD"]),
        head,
        "not theirs to move"
    );
    let summary = format!("{}/summary.md", done.value["run_path"].as_str().unwrap());
    let summary = project.read(&summary);
    let required = "## Requirements (from BA)\nClear before the user was asked:\n1. single use\n\n\
        Answered by the user:\n2. Asked: By mail or text?\n   and: When does it expire?\n   \
        The user said: Mail, 24 hours\n\nWhat the analyst understood of it:\na reset\n";
    assert!(summary.contains(required), "{summary}");
    assert!(summary.contains("## Result: ✅ SUCCESS\n"), "{summary}");
    let file = format!(
        "{}/requirements.md",
        done.value["run_path"].as_str().unwrap()
    );
    let file = project.read(&file);
    assert!(file.contains("Mail, 24 hours"), "{file}");

    let status = client.status();
    assert_eq!(status.value["state"], "complete");
    let outcomes: Vec<String> = status.value["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            format!(
                "{} {}",
                e["role"].as_str().unwrap(),
                e["outcome"].as_str().unwrap()
            )
        })
        .collect();
    let expected = [
        "ba asked",
        "user answered",
        "architect designed",
        "coder submitted",
        "verify approved",
        "qa rejected",
        "coder submitted",
        "verify approved",
        "qa approved",
        "reviewer approved",
        "codeteam committed",
    ];
    assert_eq!(outcomes, expected);
    client.close();
}

#[test]
fn the_client_lists_tools_prompts_and_resources_and_opens_them() {
    let project = project();
    let client = SdkClient::new(&project);
    let names: Vec<String> = client.tools().iter().map(|t| t.name.to_string()).collect();
    let expected = [
        "start_task",
        "submit",
        "resume",
        "get_status",
        "get_history",
        "abort",
    ];
    assert_eq!(names, expected);
    assert!(client.resources().is_empty());
    let (prompts, told) = client.prompts("team", json!({"task": "Add a reset"}));
    assert_eq!(prompts, ["team", "team-status"]);
    assert!(
        told.contains("start_task") && told.contains("Add a reset"),
        "{told}"
    );

    let run = client.start().value["run"].as_str().unwrap().to_owned();
    client.submit(super::requirements());
    client.submit(design());
    let resources = client.resources();
    let address = |part: &str| format!("codeteam://run/{run}{part}");
    let parts = ["", "/plan", "/report", "/assignment"].map(address);
    assert_eq!(resources, parts);
    let status: serde_json::Value = serde_json::from_str(&client.read(&parts[0]).unwrap()).unwrap();
    assert_eq!(status["current_role"], "coder");
    let plan = client.read(&parts[1]).unwrap();
    assert!(
        plan.contains("24 hours") && plan.contains("TokenService"),
        "{plan}"
    );
    assert!(
        client
            .read(&parts[2])
            .unwrap()
            .contains("Nothing was judged yet")
    );
    let assignment = client.read(&parts[3]).unwrap();
    assert!(
        assignment.starts_with("You are now `coder`"),
        "{assignment}"
    );
    for wrong in [
        "codeteam://run/nope",
        "file:///etc/passwd",
        &address("/../x"),
    ] {
        let error = client.read(wrong).unwrap_err();
        assert!(error.contains("there is no resource"), "{error}");
    }
}

#[test]
fn a_rejection_by_checks_carries_its_evidence_and_three_of_them_an_offer() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    client.submit(super::requirements());
    client.submit(design());
    for round in 1..3 {
        project.write("reset.txt", &format!("broken {round}\n"));
        let back = client.submit(change());
        assert_eq!(
            (back.role(), &back.value["iteration"]),
            ("coder", &json!(round + 1))
        );
        let feedback = back.value["feedback"].as_str().unwrap();
        assert!(feedback.contains("`tests` failed"), "{feedback}");
        assert_eq!(back.value["evidence"]["checks"][0]["passed"], false);
    }
    project.write("reset.txt", "broken 3\n");
    let offer = client.submit(change());
    assert_eq!(offer.kind(), "task_rebound_offer", "{offer:?}");
    assert_eq!(offer.value["failures"], 3);
    let pattern = offer.value["pattern"].as_str().unwrap();
    assert!(
        pattern.contains("rejections say: the check `tests` failed"),
        "{pattern}"
    );
    assert!(
        offer.value["last_rejection"]
            .as_str()
            .unwrap()
            .contains("`tests` failed")
    );
    assert_eq!(client.status().value["state"], "rebound_offered");
    let refused = client.call("resume", json!({"input": "perhaps"}));
    assert!(refused.is_error, "{refused:?}");
    let designer = client.call("resume", json!({"input": "yes"}));
    assert_eq!(designer.role(), "architect");
    let failure = designer.value["failure_context"].as_str().unwrap();
    assert!(failure.contains("`tests` failed"), "{failure}");
}

#[test]
fn rounds_that_are_used_up_are_escalated_and_can_be_given_up() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    client.submit(super::requirements());
    client.submit(design());
    let blocked = client.submit(json!({"blocked": "there is no such table"}));
    assert_eq!(blocked.kind(), "task_escalate", "{blocked:?}");
    assert!(
        blocked.value["reason"]
            .as_str()
            .unwrap()
            .contains("no such table")
    );
    assert_eq!(blocked.value["iterations"], 1);
    let ended = client.call("resume", json!({"input": "fail"}));
    assert_eq!(ended.kind(), "task_escalate", "{ended:?}");
    assert_eq!(client.status().value["state"], "escalated");
}

#[test]
fn long_checks_are_answered_before_they_are_done() {
    let wait = "while [ ! -e GO ]; do sleep 0.05; done; grep -q works reset.txt";
    let project = gated("true");
    let go = project.go();
    let command = wait.replace("GO", &go.display().to_string());
    project.config(&format!(
        "verification:\n  commands:\n    - {{ name: tests, command: '{command}' }}\n"
    ));
    project.commit("slow");
    let client = SdkClient::with(&project, &["--wait", "1"]);
    client.start();
    client.submit(super::requirements());
    client.submit(design());
    project.write("reset.txt", "works\n");
    let checking = client.submit(change());
    assert_eq!(checking.kind(), "checking", "{checking:?}");
    assert_eq!(
        checking.value["running"],
        json!(["the checks of `verify` are running"])
    );
    assert!(!client.progress().is_empty(), "it was told meanwhile");
    let begun = std::time::Instant::now();
    let status = client.status();
    assert_eq!(status.value["next"]["type"], "checking");
    assert!(
        begun.elapsed().as_millis() >= 1_000,
        "a status waits as a submission does"
    );
    let early = client.submit(approval());
    assert!(early.is_error, "{early:?}");
    std::fs::write(&go, "").unwrap();
    let begun = std::time::Instant::now();
    let next = loop {
        let status = client.status();
        if status.value["next"]["type"] != "checking" {
            break status.value["next"].clone();
        }
        assert!(begun.elapsed().as_secs() < 120, "{status:?}");
    };
    assert_eq!(next["role"], "qa", "{next}");
    assert_eq!(next["evidence"]["passed"], true);
}
