//! Decisions that only a person makes, outside the session.

use serde_json::json;

use super::client::{SdkClient, ToolReply};
use super::{approval, change, project};
use crate::project::Project;

const FLOW: &str = "workflow:\n  start: coder\n  steps:\n    coder: { role: coder, next: look }\n    \
    look: { person: Is it good?, answers: { approve: commit, reject: coder } }\n    \
    commit: { commit: branch, next: done }\n";

/// A task that waits for a person, and the name of its run.
fn paused(project: &Project, client: &SdkClient) -> String {
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
    project.config(&format!("worker: scripted\n{FLOW}"));
    project.commit("flow");
    project
}

#[test]
fn a_step_for_a_person_waits_for_one_outside_of_the_session() {
    let project = with_a_person();
    let client = SdkClient::apart(&project);
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
    let state = until(&client, |status| {
        status.value["state"] != "paused" && status.value["next"]["type"] != "checking"
    });
    assert_eq!(state.value["state"], "complete", "{state:?}");
    assert_eq!(state.value["next"]["type"], "task_complete");
}

#[test]
fn a_command_from_inside_of_the_session_decides_nothing() {
    let project = with_a_person();
    let client = SdkClient::new(&project);
    let run = paused(&project, &client);
    // The test itself is the client here, and this is what the client's shell would start.
    let answers = project.write_outside("answers", "approve\n");
    for tried in [
        &["approve", &run][..],
        &["reject", &run],
        &["answer", &run, "approve"],
        &["retry", &run],
        &["skip", &run, "a-task"],
        &["edit", &run],
        &["resume", &run, "--answers", &answers],
        &["resume", &run, "--max-attempts", "99"],
        &["run", "--continue", &run, "--answers", &answers],
    ] {
        refused_inside(&project, tried);
    }
    assert_eq!(client.status().value["state"], "paused");
    // Nor once workers have it, or nobody.
    project.run(&["run", "--continue", &run]).expect(3);
    refused_inside(&project, &["approve", &run]);
}

#[test]
fn a_program_between_client_and_server_hides_nothing() {
    let project = with_a_person();
    let client = SdkClient::wrapped(&project);
    let run = paused(&project, &client);
    refused_inside(&project, &["approve", &run]);
    assert_eq!(client.status().value["state"], "paused");
}

/// A session whose change waits for an approval by the user's policy; no step asks.
fn waiting_for_approval(client: impl Fn(&Project) -> SdkClient) -> (Project, SdkClient, String) {
    let project = project();
    project.config(
        "worker: scripted\nworkflow:\n  start: coder\n  steps:\n    coder: { role: coder, next: commit }\n    \
         commit: { commit: branch, next: done }\n",
    );
    project.commit("flow");
    project.user_config("approval_gates: { all: { conditions: [], action: require_approval } }\n");
    let client = client(&project);
    let coder = client.start();
    project.write("reset.txt", "works\n");
    let paused = client.submit(change());
    assert_eq!(paused.kind(), "task_paused", "{paused:?}");
    let run = coder.value["run"].as_str().unwrap().to_owned();
    (project, client, run)
}

#[test]
fn the_approval_policy_asks_a_person_outside_of_the_session() {
    let (project, client, run) = waiting_for_approval(SdkClient::apart);
    let tried = client.call("resume", json!({"input": "approve"}));
    assert!(tried.is_error, "{tried:?}");
    project.run(&["approve", &run]).expect(0);
    let state = until(&client, |status| {
        status.value["state"] != "paused" && status.value["next"]["type"] != "checking"
    });
    assert_eq!(state.value["state"], "complete", "{state:?}");
}

#[test]
fn a_vote_from_inside_of_the_session_is_refused() {
    let (project, client, run) = waiting_for_approval(SdkClient::new);
    for tried in [
        &["approve", &run][..],
        &["reject", &run, "-m", "no"],
        &["answer", &run, "approve"],
    ] {
        refused_inside(&project, tried);
    }
    assert_eq!(client.status().value["state"], "paused");
}

fn refused_inside(project: &Project, command: &[&str]) {
    let done = project.run(command).expect(2);
    let why = "called from inside `";
    assert!(done.stderr.contains(why), "{command:?}: {}", done.stderr);
}

#[test]
fn a_person_outside_may_take_what_the_checks_refuse_and_that_is_told() {
    let project = project();
    let client = SdkClient::apart(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    client.submit(super::requirements());
    client.submit(super::design());
    project.write("reset.txt", "broken\n");
    let again = client.submit(change());
    assert_eq!(
        (again.role(), &again.value["iteration"]),
        ("coder", &json!(2))
    );
    let done = project
        .run(&["approve", &run, "-m", "known to be slow"])
        .expect(0);
    assert!(done.stderr.contains("this overrules"), "{}", done.stderr);
    let qa = until(&client, |status| status.value["current_role"] == "qa");
    let shown = &qa.value["next"]["evidence"];
    assert_eq!(shown["passed"], false, "{shown}");
    let told = shown["accepted"].as_str().unwrap();
    assert!(told.contains("known to be slow"), "{told}");
    assert!(qa.text.contains(told), "{}", qa.text);
    // That is for the checks of this change; the judges are still asked, and may say no to what else
    // is wrong. A person may go over that, too.
    let coder = client.submit(super::rejection("It says nothing of HTTP"));
    assert_eq!(coder.role(), "coder");
    let feedback = coder.value["feedback"].as_str().unwrap();
    assert!(!feedback.contains("verify"), "{feedback}");
    project.run(&["approve", &run, "-m", "later"]).expect(0);
    let reviewer = until(&client, |status| status.value["current_role"] == "reviewer");
    let told = reviewer.value["next"]["evidence"]["accepted"]
        .as_str()
        .unwrap();
    assert!(told.contains("qa") && told.contains("later"), "{told}");
    let done = client.submit(super::approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
    assert!(
        done.text.contains("accepted it despite `tests`, `qa`."),
        "{}",
        done.text
    );
    assert_eq!(done.value["accepted_over"], json!(["tests", "qa"]));
    let summary = format!("{}/summary.md", done.value["run_path"].as_str().unwrap());
    let summary = project.read(&summary);
    let by = done.value["accepted_by"].as_str().unwrap();
    let told = format!(
        "## Result: ⚠️ DONE — {by} accepted the change, though `tests`, `qa` rejected it\n"
    );
    assert!(summary.contains(&told), "{summary}");
    assert!(!done.text.contains("every gate"), "{}", done.text);
    let branch = done.value["git_branch"].as_str().unwrap();
    let message = project.git(&["log", "-1", "--format=%B", branch]);
    assert!(message.contains("Codeteam-Accepted-By"), "{message}");
}

/// Asks until something is so.
fn until(client: &SdkClient, so: impl Fn(&ToolReply) -> bool) -> ToolReply {
    let begun = std::time::Instant::now();
    loop {
        let status = client.status();
        if so(&status) {
            return status;
        }
        assert!(begun.elapsed().as_secs() < 120, "{status:?}");
    }
}

#[test]
fn what_no_worker_can_do_stays_in_the_session_and_it_is_said_why() {
    let project = project();
    let client = SdkClient::new(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    let done = project.run(&["run", "--continue", &run]).expect(2);
    let why = "stays in its session: there was no worker for the role";
    assert!(done.stderr.contains(why), "{}", done.stderr);
    assert_eq!(client.submit(super::requirements()).role(), "architect");
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
    let client = SdkClient::new(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    assert_eq!(client.submit(super::requirements()).role(), "architect");
    let done = project.run(&["run", "--continue", &run]);
    assert_eq!(done.code, Some(3), "{} {}", done.stdout, done.stderr);
    let tried = client.submit(super::design());
    assert!(tried.is_error, "{tried:?}");
    assert!(tried.text.contains("take back"), "{}", tried.text);
    assert!(tried.text.contains("wait for a person"), "{}", tried.text);
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

#[test]
fn what_workers_made_is_taken_back_into_the_checkout_and_judged_there() {
    let project = project();
    let script = project.script(
        "version: 1\nplays:\n  - match: { role: coder }\n    do:\n      - write: { path: reset.txt, \
         content: \"works\\n\" }\n      - submit: { summary: Made by a worker, files: [reset.txt] }\n  \
         - match: { role: qa }\n    do: [ { submit: { blocked: no browser here } } ]\n",
    );
    project.config(&format!(
        "worker: scripted\nscript: {script}\nverification:\n  \
         commands:\n    - {{ name: tests, command: grep -q works reset.txt }}\n"
    ));
    project.commit("workers");
    let client = SdkClient::new(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    client.submit(super::requirements());
    assert_eq!(client.submit(super::design()).role(), "coder");
    let done = project.run(&["run", "--continue", &run]);
    assert_eq!(done.code, Some(3), "{} {}", done.stdout, done.stderr);
    assert!(!project.path("reset.txt").exists());
    let back = client.call("resume", json!({"input": "take back"}));
    assert_eq!(back.kind(), "task_escalate", "{back:?}");
    let said = "The workers' changes are in the checkout now: reset.txt.";
    assert!(back.text.contains(said), "{}", back.text);
    assert_eq!(project.read("reset.txt"), "works\n");

    // As if the server had died before that.
    client.close();
    std::fs::remove_file(project.path("reset.txt")).unwrap();
    let client = SdkClient::new(&project);
    client.status();
    assert_eq!(project.read("reset.txt"), "works\n");
    let qa = client.call("resume", json!({"input": "continue"}));
    assert_eq!(qa.role(), "qa", "{qa:?}");
    let diff = qa.value["reviewing"]["diff"].as_str().unwrap();
    let words: Vec<&str> = diff.split(' ').skip(1).collect();
    assert!(project.git(&words).contains("+works"), "{diff}");
    assert_eq!(client.submit(approval()).role(), "reviewer");
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
}

#[test]
fn roles_of_a_projects_own_workflow_are_told_and_take_the_same_forms() {
    let project = project();
    project.config(
        "workflow:\n  start: code\n  steps:\n    code: { role: maker, next: review }\n    review: { role: \
         judge, next: commit, on_reject: code }\n    commit: { commit: branch, next: done }\n  roles:\n    \
         maker: { kind: implementer }\n    judge: { kind: gatekeeper }\n",
    );
    project.commit("workflow");
    let client = SdkClient::new(&project);
    assert_eq!(client.start().role(), "maker");
    project.write("reset.txt", "works\n");
    let judge = client.submit(change());
    assert_eq!(judge.role(), "judge", "{judge:?}");
    for form in ["\"approved\":true", "\"approved\":false"] {
        assert!(judge.text.contains(form), "{}", judge.text);
    }
    let back = client.submit(super::rejection("It says nothing of HTTP"));
    assert_eq!(back.role(), "maker", "{back:?}");
    project.write("reset.txt", "works by HTTP\n");
    client.submit(change());
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
}

#[test]
fn a_yes_to_how_to_go_on_is_not_taken_for_an_acceptance() {
    let project = project();
    let client = SdkClient::apart(&project);
    let run = client.start().value["run"].as_str().unwrap().to_owned();
    client.submit(super::requirements());
    client.submit(super::design());
    let mut offer = None;
    for text in ["broken\n", "still broken\n", "broken again\n"] {
        project.write("reset.txt", text);
        offer = Some(client.submit(change()));
    }
    assert_eq!(offer.unwrap().kind(), "task_rebound_offer");
    let done = project.run(&["approve", &run]).expect(0);
    assert!(
        done.stderr.contains("`yes` is the answer to: "),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("accepts no change"), "{}", done.stderr);
    let back = until(&client, |status| {
        status.value["current_role"] == "architect"
    });
    assert_eq!(back.value["next"]["role"], "architect");
}
