//! The texts for a session and its user: enough to continue, and nothing that is not true.

use serde_json::json;

use super::client::SdkClient;
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
    let client = SdkClient::new(&project);
    let first = client.start();
    assert!(
        first.text.contains("No checks are configured"),
        "{}",
        first.text
    );
    assert!(first.text.contains("codeteam init"), "{}", first.text);
    let notes = first.value["tell_user"].to_string();
    assert!(notes.contains("No checks are configured"), "{notes}");
    let told = "First tell the user what is under `tell_user`.";
    assert!(first.value["do_next"].as_str().unwrap().starts_with(told));
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
    let client = SdkClient::new(&project);
    let first = client.start();
    assert!(!first.text.contains("no checks"), "{}", first.text);
    let told = "Uncommitted changes in the checkout become the first commit";
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
    let client = SdkClient::new(&project);
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
    let client = SdkClient::new(&project);
    let first = client.start();
    for form in [
        "{\"questions\":[\"…\"],\"context\":",
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
    let client = SdkClient::new(&project);
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
    let client = SdkClient::apart(&project);
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
    let client = SdkClient::apart(&project);
    assert_eq!(client.status().value["current_role"], "architect");
    let report = project.run(&["report", &run]).expect(0).stdout;
    assert!(!report.contains("Accepted over"), "{report}");
    assert!(report.contains("yes"), "{report}");
}

#[test]
fn what_was_chosen_when_a_task_began_is_not_chosen_again() {
    let project = project();
    let client = SdkClient::new(&project);
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
    let client = SdkClient::new(&project);
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
    // And to everybody who goes by what these checks say.
    client.submit(requirements());
    client.submit(design());
    project.write("reset.txt", "broken\n");
    let qa = client.submit(change());
    for judge in [&qa, &client.submit(approval())] {
        let edited = &judge.value["evidence"]["configuration_not_as_committed"];
        assert_eq!(edited, &json!([".codeteam/config.yml"]), "{judge:?}");
        let told = "differs from the committed one; see";
        assert!(judge.text.contains(told), "{}", judge.text);
    }
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
    let next = done.value["do_next"].as_str().unwrap();
    assert!(next.contains(told), "{next}");
    let summary = format!("{}/summary.md", done.value["run_path"].as_str().unwrap());
    assert!(project.read(&summary).contains(told));
    for command in ["log", "show", "report"] {
        let said = project.run(&[command]).expect(0);
        let said = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(told), "{command}: {said}");
    }
}

#[test]
fn a_configuration_that_was_never_committed_is_told_too() {
    let project = Project::new();
    project.config("verification:\n  commands:\n    - { name: tests, command: 'true' }\n");
    let client = SdkClient::new(&project);
    let told = "configuration is not as it is committed (.codeteam/config.yml)";
    let first = client.start();
    assert!(first.text.contains(told), "{}", first.text);
}

#[test]
fn what_was_clear_before_the_analyst_asked_reaches_every_later_role() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    let both = json!({"questions": ["By mail?"], "confirmed_requirements": "1. By mail"});
    let refused = client.submit(both);
    assert!(refused.is_error, "{refused:?}");
    assert!(
        refused.text.contains("one or the other"),
        "{}",
        refused.text
    );
    let paused = client.submit(json!({
        "questions": ["By mail? (yes is my choice)"], "context": "There is a mailer.",
        "partial_spec": "1. It expires after 24 hours",
    }));
    assert_eq!(paused.value["partial_spec"], "1. It expires after 24 hours");
    let told = "Clear before the user was asked:\n1. It expires after 24 hours\n\nAnswered by the \
        user:\n2. Asked: By mail? (yes is my choice)\n   The user said: yes\n\nWhat the analyst \
        understood of it:\nThere is a mailer.";
    let architect = client.call("resume", json!({"input": "yes"}));
    let coder = client.submit(design());
    project.write("reset.txt", "works\n");
    let qa = client.submit(change());
    let reviewer = client.submit(approval());
    for (role, assigned) in [
        ("architect", &architect),
        ("coder", &coder),
        ("qa", &qa),
        ("reviewer", &reviewer),
    ] {
        assert_eq!(assigned.role(), role);
        assert_eq!(assigned.value["requirements"], told, "{role}");
        assert!(assigned.text.contains(told), "{}", assigned.text);
    }
    // Who asked, who answered and through whom, can be looked up by role and by kind of role.
    let answered = client.call("get_history", json!({"role": "user"}));
    let entry = &answered.value["submissions"][0];
    assert_eq!(entry["through"], "tester 1.2", "{entry}");
    for name in ["ba", "BA", "analyst"] {
        let asked = client.call("get_history", json!({"role": name}));
        let entry = &asked.value["submissions"][0];
        assert_eq!(
            entry["partial_spec"], "1. It expires after 24 hours",
            "{name}"
        );
    }
    let none = client.call("get_history", json!({"role": "cook"}));
    assert!(
        none.text
            .contains("entries of: `ba` (analyst), `user` (person)"),
        "{}",
        none.text
    );
}

#[test]
fn a_coder_may_name_the_files_of_its_own_round_only() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    client.submit(requirements());
    client.submit(design());
    project.write("reset.txt", "works\n");
    client.submit(change());
    client.submit(rejection("No test"));
    project.write("more.txt", "more\n");
    let qa = client.submit(json!({
        "summary": "More.", "files_changed": ["more.txt"], "proof": "$ grep works",
    }));
    assert_eq!(qa.role(), "qa");
    let evidence = &qa.value["evidence"];
    assert_eq!(evidence["files_changed"], json!(["more.txt", "reset.txt"]));
    for held in ["changed_not_claimed", "claimed_not_changed"] {
        assert_eq!(evidence.get(held), None, "{evidence}");
    }
}

#[test]
fn a_role_may_be_named_by_its_kind_and_in_any_case() {
    let project = project();
    let client = SdkClient::new(&project);
    client.start();
    let named = |role: &str, submission| {
        client.call("submit", json!({"role": role, "submission": submission}))
    };
    assert_eq!(named("analyst", requirements()).role(), "architect");
    assert_eq!(named("ARCHITECT", design()).role(), "coder");
    assert!(named("designer", design()).is_error);
}

#[test]
fn a_wanted_change_of_a_test_has_a_way_through() {
    let test = "tests/test_reset.sh";
    let asks = |client: &SdkClient, design: &str| {
        client.start();
        client.submit(requirements());
        let coder = client.submit(json!({"design": design, "patterns": []}));
        assert_eq!(coder.role(), "coder");
    };
    let project = gated("sh tests/test_reset.sh");
    project.write(test, "grep -q dash reset.txt\n");
    project.write("reset.txt", "dash\n");
    project.commit("tests");
    let edit = || {
        project.write(test, "grep -q underscore reset.txt\n");
        project.write("reset.txt", "underscore\n");
    };
    let changed = json!({
        "summary": "Underscores.", "files_changed": ["reset.txt", test], "proof": "$ sh tests",
    });
    let client = SdkClient::new(&project);
    // Nobody has said that the test is to change: it is sent back, with the way out.
    asks(&client, "Join with underscores.");
    edit();
    let back = client.submit(changed.clone());
    assert_eq!(back.role(), "coder", "{back:?}");
    let way = back.value["if_the_user_disagrees"].as_str().unwrap();
    assert!(way.contains("codeteam approve"), "{way}");
    assert!(back.text.contains(way), "{}", back.text);
    let feedback = back.value["feedback"].as_str().unwrap();
    assert!(feedback.contains("have to be named"), "{feedback}");
    client.call("abort", json!({}));
    project.git(&["checkout", "--quiet", "--", "."]);
    // The design says so.
    asks(
        &client,
        "Join with underscores.\nChange tests/test_reset.sh: it expects underscores.",
    );
    edit();
    let qa = client.submit(changed);
    assert_eq!(qa.role(), "qa", "{qa:?}");
    let told = "tests/test_reset.sh: changed, because the goal, the task, its requirements or its design \
                say so";
    assert!(qa.text.contains(told), "{}", qa.text);
}

#[test]
fn rejections_are_counted_since_the_last_design_and_that_is_said() {
    let project = project();
    let client = SdkClient::new(&project);
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
    let told = "rejected 3 times. Tell the user why and ask them: Should the architect look";
    assert!(offer.text.contains(told), "{}", offer.text);
    client.call("resume", json!({"input": "yes"}));
    client.submit(design());
    let offer = reject(3);
    let told = "rejected 3 times since the last design, 6 times in all. Tell";
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
    let client = SdkClient::new(&project);
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
    assert!(
        !paused.text.contains("understood so far"),
        "{}",
        paused.text
    );
    assert_eq!(paused.value["context"], "");
}

#[test]
fn what_was_given_up_before_anything_was_made_is_on_no_branch() {
    let project = project();
    let client = SdkClient::new(&project);
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
    let client = SdkClient::new(&project);
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
    let client = SdkClient::new(&project);
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
