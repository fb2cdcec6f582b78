//! What a session and its user are told: enough to go on, and nothing that is not so.

use serde_json::json;

use super::client::Client;
use super::{approval, change, design, gated, project, rejection, requirements};
use crate::project::Project;

#[test]
fn a_project_without_checks_is_told_so_from_the_beginning_to_the_end() {
    let project = Project::new();
    project.config("worker: scripted\n");
    project.write(".codeteam/schema/config.json", "{\"reset\": 1}\n");
    project.commit("schemas");
    let doctor = project.run(&["doctor"]);
    let said = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(said.contains("no checks are configured"), "{said}");
    let client = Client::new(&project);
    let first = client.start();
    assert!(
        first.text.contains("no checks are configured"),
        "{}",
        first.text
    );
    assert!(first.text.contains("codeteam init"), "{}", first.text);
    let files = first.value["context"].to_string();
    assert!(!files.contains("schema"), "for editors only: {files}");
    client.submit(requirements());
    client.submit(design());
    project.write("reset.txt", "works\n");
    let qa = client.submit(change());
    assert_eq!(qa.role(), "qa");
    assert_eq!(
        qa.value["evidence"]["project_checks"],
        "none are configured"
    );
    assert!(
        qa.text.contains("no check of the project was run"),
        "{}",
        qa.text
    );
    assert!(!qa.text.contains("Concerns"), "there are none: {}", qa.text);
    client.submit(approval());
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
    assert!(
        done.text.contains("no check of the project was run"),
        "{}",
        done.text
    );
}

#[test]
fn with_checks_nothing_of_that_is_said_and_what_was_not_committed_is() {
    let project = project();
    project.write("notes.txt", "mine\n");
    let client = Client::new(&project);
    let first = client.start();
    assert!(!first.text.contains("no checks"), "{}", first.text);
    let told = "what was not committed in the checkout becomes the first commit";
    assert!(first.text.contains(told), "{}", first.text);
    client.submit(requirements());
    client.submit(design());
    project.write("reset.txt", "works\n");
    let qa = client.submit(change());
    assert_eq!(qa.value["evidence"]["project_checks"], "run");
    // What is judged can be looked at, to the letter.
    let diff = qa.value["reviewing"]["diff"].as_str().unwrap();
    assert!(qa.text.contains(diff), "{}", qa.text);
    let args: Vec<&str> = diff.split(' ').skip(1).collect();
    let shown = project.git(&args);
    assert!(shown.contains("+works"), "{shown}");
    assert!(!shown.contains("mine"), "not of this change: {shown}");
    client.submit(approval());
    project.write("reset.txt", "edited\n");
    let done = client.submit(approval());
    assert!(!done.text.contains("no check of"), "{}", done.text);
    assert!(
        done.text.contains("not part of it: reset.txt"),
        "{}",
        done.text
    );
}

#[test]
fn what_a_check_says_is_said_once_and_names_files_of_the_checkout() {
    let project = gated("echo \"$PWD/reset.txt is wrong\"; grep -q works reset.txt");
    let client = Client::new(&project);
    client.start();
    client.submit(requirements());
    let coder = client.submit(design());
    assert!(!coder.text.contains("sent back"), "{}", coder.text);
    project.write("reset.txt", "broken\n");
    let again = client.submit(change());
    assert_eq!(again.value["iteration"], 2);
    assert!(again.text.contains("sent back"), "{}", again.text);
    let diff = project.run(&["diff"]).expect(0);
    assert!(diff.stdout.contains("+broken"), "{}", diff.stdout);
    assert!(
        diff.stderr.contains("nothing is committed"),
        "{}",
        diff.stderr
    );
    let said = again.text.matches("reset.txt is wrong").count();
    assert_eq!(said, 1, "{}", again.text);
    assert!(
        again.text.contains("\nreset.txt is wrong"),
        "{}",
        again.text
    );
}

#[test]
fn every_way_to_answer_is_shown_and_shown_again_with_a_refusal() {
    let project = project();
    let client = Client::new(&project);
    let first = client.start();
    for form in [
        "{\"questions\":[\"…\"]}",
        "{\"confirmed_requirements\":\"…\"}",
        "{\"blocked\":",
    ] {
        assert!(first.text.contains(form), "{}", first.text);
        let wrong = client.submit(json!({"design": "x"}));
        assert!(wrong.is_error && wrong.text.contains(form), "{wrong:?}");
        let role = json!({"role": "qa", "submission": approval()});
        let wrong = client.call("submit", role);
        assert!(wrong.is_error && wrong.text.contains(form), "{wrong:?}");
    }
    // The open task is told in full to one who begins another, after what can be done about it.
    let second = client.call("start_task", json!({"task": "Another thing"}));
    assert_eq!(
        second.value["next"]["assignment"],
        first.value["assignment"]
    );
    assert!(second.text.contains("another: true"), "{}", second.text);
    assert!(second.text.trim_end().ends_with('}'), "{}", second.text);
    client.submit(json!({"questions": ["By mail?"]}));
    let early = client.submit(requirements());
    assert!(
        early.is_error && early.text.contains("- By mail?"),
        "{early:?}"
    );
    assert_eq!(early.value["questions"], json!(["By mail?"]));
}

#[test]
fn an_approval_with_issues_is_not_taken_for_a_rejection() {
    let project = project();
    let client = Client::new(&project);
    client.start();
    client.submit(requirements());
    client.submit(design());
    project.write("reset.txt", "works\n");
    let qa = client.submit(change());
    assert!(qa.text.contains("\"approved\":true"), "{}", qa.text);
    let both = json!({"approved": true, "reason": "fine", "issues": ["a name is odd"]});
    let refused = client.submit(both);
    assert!(refused.is_error, "{refused:?}");
    assert!(
        refused.text.contains("To approve, name none"),
        "{}",
        refused.text
    );
    assert_eq!(client.status().value["current_role"], "qa");
    assert_eq!(client.submit(approval()).role(), "reviewer");
}

#[test]
fn yes_to_another_design_is_no_yes_to_the_change() {
    let project = project();
    let client = Client::apart(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    client.submit(requirements());
    client.submit(design());
    for round in 1..=3 {
        project.write("reset.txt", &format!("works {round}\n"));
        assert_eq!(client.submit(change()).role(), "qa");
        let answer = client.submit(rejection("No test"));
        if round == 3 {
            assert_eq!(answer.kind(), "task_rebound_offer", "{answer:?}");
        }
    }
    client.close();
    let said = project.run(&["approve", &run]).expect(0);
    assert!(!said.stderr.contains("goes over"), "{}", said.stderr);
    assert!(said.stderr.contains("run --continue"), "{}", said.stderr);
    let client = Client::apart(&project);
    assert_eq!(client.status().value["current_role"], "architect");
    let report = project.run(&["report", &run]).expect(0).stdout;
    assert!(!report.contains("Accepted over"), "{report}");
    assert!(report.contains("yes"), "{report}");
}

#[test]
fn what_was_chosen_when_a_task_began_is_not_chosen_again() {
    let project = project();
    let client = Client::new(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    for chosen in [&["--worker", "claude"][..], &["--auto"], &["--no-sandbox"]] {
        let command = [&["run", "--continue", &run], chosen].concat();
        let refused = project.run(&command).expect(2);
        assert!(
            refused.stderr.contains("cannot be used with"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_configuration_that_was_edited_is_told_when_a_task_begins() {
    let project = project();
    let told = "configuration is not as it is committed";
    let client = Client::new(&project);
    let first = client.start();
    assert!(!first.text.contains(told), "{}", first.text);
    client.call("abort", json!({}));
    project.config("verification:\n  commands:\n    - { name: tests, command: 'true' }\n");
    let second = client.start();
    assert!(second.text.contains(told), "{}", second.text);
    assert!(
        second.text.contains(".codeteam/config.yml"),
        "{}",
        second.text
    );
}

#[test]
fn rejections_are_counted_since_the_last_design_and_that_is_said() {
    let project = project();
    let client = Client::new(&project);
    client.start();
    client.submit(requirements());
    client.submit(design());
    let mut made = 0;
    let mut reject = |times: usize| {
        let mut last = None;
        for _ in 0..times {
            made += 1;
            project.write("reset.txt", &format!("broken {made}\n"));
            last = Some(client.submit(change()));
        }
        last.unwrap()
    };
    let offer = reject(3);
    assert_eq!(offer.kind(), "task_rebound_offer", "{offer:?}");
    let told = "rejected 3 times. Ask";
    assert!(offer.text.contains(told), "{}", offer.text);
    client.call("resume", json!({"input": "yes"}));
    client.submit(design());
    let offer = reject(3);
    let told = "rejected 3 times since the last design, 6 times in all. Ask";
    assert!(offer.text.contains(told), "{}", offer.text);
    client.call("resume", json!({"input": "no"}));
    let stuck = reject(2);
    assert_eq!(stuck.kind(), "task_escalate", "{stuck:?}");
    let told = "rejected in 5 rounds since a person last said to go on, 8 in all";
    assert!(stuck.text.contains(told), "{}", stuck.text);
}

#[test]
fn what_is_not_known_is_not_told_as_understood() {
    let project = project();
    let client = Client::new(&project);
    client.start();
    let empty = client.submit(json!({}));
    assert!(empty.is_error, "{empty:?}");
    let told = "missing field `confirmed_requirements`";
    assert!(empty.text.contains(told), "{}", empty.text);
    let blank = client.submit(json!({"confirmed_requirements": " "}));
    let told = "`confirmed_requirements` must not be empty";
    assert!(blank.text.contains(told), "{}", blank.text);
    let paused = client.submit(json!({"questions": ["By mail?"]}));
    assert_eq!(paused.kind(), "task_paused", "{paused:?}");
    assert!(!paused.text.contains("Understood"), "{}", paused.text);
    assert_eq!(paused.value["context"], "");
}

#[test]
fn what_was_given_up_before_anything_was_made_is_on_no_branch() {
    let project = project();
    let client = Client::new(&project);
    client.start();
    client.submit(json!({"blocked": "nothing to ask"}));
    let ended = client.call("resume", json!({"input": "fail"}));
    assert!(
        ended.text.contains("nothing was submitted"),
        "{}",
        ended.text
    );
    assert!(!ended.text.contains("is on `codeteam/"), "{}", ended.text);
}

#[test]
fn a_task_that_nobody_leads_is_stopped_wherever_it_is_shown() {
    let project = project();
    let client = Client::new(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    let shown = |args: &[&str]| project.run(args).expect(0).stdout;
    assert!(shown(&["show"]).contains("status    running: "));
    client.close();
    for args in [&["status"][..], &["status", &run], &["show", &run]] {
        let text = shown(args);
        assert!(text.contains("stopped"), "{args:?}: {text}");
        assert!(!text.contains("running"), "{args:?}: {text}");
    }
}

#[test]
fn what_a_project_says_of_roles_and_rounds_holds_in_its_session() {
    let project = project();
    let known = project.read(".codeteam/config.yml");
    project.config(&format!(
        "{known}workflow: {{ max_iterations: 2, disable: [message] }}\n"
    ));
    project.write(
        ".codeteam/agents/ba/prompt.md",
        "You are the analyst of this project.\n",
    );
    project.commit("our own");
    let client = Client::new(&project);
    let first = client.start();
    assert_eq!(
        first.role(),
        "ba",
        "the session's workflow is still its own"
    );
    let told = format!("{}{}", first.text, first.value);
    for said in [
        "You are the analyst of this project.",
        "No placeholder implementations",
        "`workflow.disable` has no effect in a session",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    client.submit(requirements());
    client.submit(design());
    for round in 1..=2 {
        project.write("reset.txt", &format!("it works {round}\n"));
        let judged = client.submit(change());
        assert_eq!(judged.role(), "qa", "{judged:?}");
        let issue = format!("issue {round}");
        let back = client.submit(rejection(&issue));
        let expected = if round == 1 {
            "role_assignment"
        } else {
            "task_escalate"
        };
        assert_eq!(back.kind(), expected, "{back:?}");
    }
}
