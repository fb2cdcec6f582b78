//! A person decides, from any terminal: the run waits, says how to answer, and takes it from there.

use std::time::{Duration, SystemTime};

use crate::project::{CommandResult, Project};

/// A coder, a question to a person, a commit.
const ASKED: &str = r"
start: code
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: ask }
  ask:
    person: Is it good?
    answers:
      approve: commit
      reject: { next: code, rejects: true }
      not now: fail
  commit: { commit: branch, next: done }
";

const CODER: &str = r#"
version: 1
plays:
  - match: { role: coder }
    do:
      - write: { path: made.txt, content: "round {{round}}\n" }
      - submit: { summary: Made it }
"#;

/// A run that waits for a person, and what it said.
fn asked() -> (Project, CommandResult) {
    let project = Project::new();
    let (script, workflow) = (project.script(CODER), project.workflow(ASKED));
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    let done = project.run(&args).expect(3);
    (project, done)
}

#[test]
fn without_anyone_to_ask_the_run_ends_with_3_and_its_commands_work() {
    let (project, done) = asked();
    let done = done.says(&["a person must decide:", "Is it good?"]);
    let commands = done.commands("answer");
    assert_eq!(commands.len(), 3, "{}", done.stderr);
    assert!(commands[2].contains("'not now'"), "{commands:?}");

    let answered = project.paste(&commands[0]).expect(0);
    let answered = answered.says(&["kept: no codeteam is working on the run now"]);
    assert_eq!(
        project.count("answered"),
        0,
        "it keeps until the run goes on"
    );
    let go_on = answered.commands("go on");
    let done = project.paste(&go_on[0]).expect(0);
    done.says(&["ada answered: approve", "committed", "codeteam merge"]);
    assert_eq!(project.committed_file("made.txt"), "round 1");
}

#[test]
fn an_answer_with_a_space_in_it_can_be_pasted() {
    let (project, done) = asked();
    project.paste(&done.commands("answer")[2]).expect(0);
    project.run(&["resume"]).expect(1).says(&["not done:"]);
}

#[test]
fn approve_and_reject_are_answers() {
    let (project, _) = asked();
    let inbox = project.json(&["inbox", "--json"]);
    let events = project.events();
    let asked = events.iter().find(|e| e["event"]["type"] == "asked");
    let asked = &asked.unwrap()["event"]["question"];
    assert_eq!(inbox[0]["question_id"], asked["id"]);
    assert_eq!(inbox[0]["since"], asked["asked_at"], "{inbox}");
    project.run(&["reject", "-m", "Say it louder"]).expect(0);
    project
        .run(&["resume"])
        .expect(3)
        .says(&["ada answered: reject (Say it louder)", "round 2"]);
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.committed_file("made.txt"), "round 2");
}

#[test]
fn a_wrong_answer_is_refused_with_those_on_offer() {
    let (project, _) = asked();
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    project.run(&["answer", &run, "perhaps"]).expect(2).says(&[
        "`perhaps` is not an answer to: Is it good?",
        "`approve`, `reject`, `not now`",
    ]);
    project
        .run(&["answer", "nobody", "approve"])
        .expect(2)
        .says(&["there is no run `nobody`", "codeteam status"]);
    project
        .run(&["approve", "--task", "other"])
        .expect(2)
        .says(&["is not waiting for a decision"]);
    project.run(&["resume"]).expect(3);
    assert_eq!(project.count("decision_refused"), 0);
}

#[test]
fn nothing_is_open_once_it_is_answered() {
    let (project, _) = asked();
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(0);
    for command in ["approve", "reject"] {
        project
            .run(&[command])
            .expect(2)
            .says(&["is not waiting for a decision", "hint: `codeteam status"]);
    }
}

#[test]
fn a_run_whose_project_is_removed_is_let_go() {
    let (project, _) = asked();
    let mut waiting = project.start(&["resume", "--wait"]);
    waiting.until("waiting on: a person");
    std::fs::remove_dir_all(project.root()).unwrap();
    let ended = waiting.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    ended.says(&[
        "state.db` was removed, moved or replaced",
        "codeteam resume",
    ]);
}

#[test]
fn a_decision_from_another_process_is_picked_up_at_once() {
    let project = Project::new();
    let (script, workflow) = (project.script(CODER), project.workflow(ASKED));
    let args = [
        "run",
        "x",
        "--wait",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ];
    let mut run = project.start(&args);
    run.until("a person must decide");
    let before = SystemTime::now();
    project
        .run(&["approve"])
        .expect(0)
        .says(&["taken by the codeteam that drives"]);
    run.until("ada answered: approve");
    let done = run.end().expect(0);
    done.says(&["done: x"]);

    let events = project.events();
    let answered = events.iter().find(|e| e["event"]["type"] == "answered");
    let at: jiff::Timestamp = answered.unwrap()["ts"].as_str().unwrap().parse().unwrap();
    let latency = SystemTime::from(at)
        .duration_since(before)
        .unwrap_or_default();
    println!("from before `approve` was started to its event: {latency:?}");
    assert!(latency < Duration::from_secs(2), "{latency:?}");
}

#[test]
fn two_questions_at_once_are_told_apart_by_their_tasks() {
    let project = Project::new();
    let script = project.script(CODER);
    let steps = ASKED
        .split_once("steps:\n")
        .unwrap()
        .1
        .replace('\n', "\n    ");
    let workflow = project.workflow(&format!(
        "start: tasks\nroles: {{ coder: {{ kind: implementer }} }}\nsteps:\n  tasks:\n    each: task\n    cap: 2\n    next: done\n    steps:\n    {steps}"
    ));
    let plan = "tasks: [ { id: left, files: [made.txt] }, { id: right, files: [other.txt] } ]\n";
    let plan = project.write_outside("plan.yml", plan);
    let args = [
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--plan",
        &plan,
    ];
    let done = project.run(&args).expect(3);
    project.run(&["approve"]).expect(2).says(&[
        "several questions are open",
        "--task",
        "left",
        "right",
    ]);
    let commands = done.commands("answer");
    let approvals = commands.iter().filter(|c| c.contains(" approve"));
    for command in approvals {
        project.paste(command).expect(0);
    }
    project.run(&["resume"]).expect(0);
    assert_eq!(project.count("answered"), 2);
}

const ANALYST: &str = r#"
version: 1
plays:
  - match: { role: ba, generation: 1 }
    do: [ { submit: { questions: ["Which colour?", "How big?"] } } ]
  - match: { role: ba }
    do: [ { submit: { confirmed_requirements: "A green one" } } ]
  - match: { role: architect }
    do: [ { submit: { design: Paint it } } ]
  - match: { role: coder }
    do:
      - write: { path: colour.txt, content: "green\n" }
      - submit: { summary: Painted, files_changed: [colour.txt], proof: Seen }
  - match: { kind: gatekeeper }
    do: [ { submit: { approved: true, reason: Green indeed } } ]
"#;

#[test]
fn an_analysts_questions_are_answered_in_words() {
    let project = Project::new();
    let script = project.script(ANALYST);
    let args = [
        "run",
        "Paint",
        "--script",
        &script,
        "--workflow",
        "adversarial",
    ];
    let done = project
        .run(&args)
        .expect(3)
        .says(&["Which colour?", "How big?"]);
    let command = &done.commands("answer")[0];
    assert!(command.contains('…'), "{command}");
    project
        .run(&["approve"])
        .expect(2)
        .says(&["`approve` does not say enough here", "any text"]);
    project
        .paste(&command.replace('…', "Green, and small"))
        .expect(0);
    project
        .run(&["resume"])
        .expect(0)
        .says(&["answered: Green, and small"]);
    assert_eq!(project.committed_file("colour.txt"), "green");
}

/// A planner that asks, whatever it is told, until it is answered.
const ASKING_PLANNER: &str = r#"
version: 1
plays:
  - match: { role: planner, generation: 1 }
    do: [ { submit: { questions: ["Loud or quiet?", "Which file?"] } } ]
  - match: { role: planner }
    do:
      - submit: { plan: { description: A word, tasks: [ { id: task-001, title: Greet, files: [greet.txt] } ] } }
  - match: { role: coder }
    do:
      - write: { path: greet.txt, content: "hello\n" }
      - submit: { summary: Greeted }
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Fine } } ]
  - match: { kind: scribe }
    do: [ { submit: { message: Greet } } ]
"#;

#[test]
fn a_planners_questions_without_a_terminal_wait_for_an_answer() {
    let project = Project::new();
    let script = project.script(ASKING_PLANNER);
    let asked = ["Loud or quiet?", "Which file?"];
    let run = [
        "run",
        "Greet",
        "--workflow",
        "codeteam",
        "--script",
        &script,
    ];
    let done = project.run(&run).expect(3).says(&asked);
    for command in ["status", "show", "log"] {
        let CommandResult { stdout, stderr, .. } = project.run(&[command]).expect(0);
        let told = format!("{stdout}{stderr}");
        for question in asked {
            assert!(told.contains(question), "{command}: {told}");
        }
    }
    let status = project.run(&["status"]).expect(0);
    status.says(&["answer: codeteam answer "]);
    let command = &done.commands("answer")[0];
    assert!(command.contains('…'), "{command}");
    // The newest run is meant if none is named.
    project
        .run(&["skip", "nine"])
        .expect(2)
        .says(&["there is no task `nine`"]);
    project.run(&["answer", "Quiet"]).expect(0);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.committed_file("greet.txt"), "hello");
}

#[test]
fn a_plan_that_is_talked_about_is_found_again() {
    let project = Project::new();
    let script = project.script(ASKING_PLANNER);
    let asked = [
        "Loud or quiet?",
        "Which file?",
        "codeteam plan feature-0001",
    ];
    let done = project.run(&["plan", "Greet", "--script", &script]);
    let done = done.expect(3).says(&asked);
    let status = project.run(&["status"]).expect(0);
    status.says(&["feature-0001 is not accepted yet; go on: codeteam plan feature-0001"]);
    let not_yet = [
        "has not been made and accepted yet",
        "`codeteam plan feature-0001`",
    ];
    project
        .run(&["run", "feature-0001"])
        .expect(2)
        .says(&not_yet);
    let none = ["no plan is accepted", "`codeteam plan feature-0001`"];
    project.run(&["run"]).expect(2).says(&none);
    let command = &done.commands("answer")[0];
    project.paste(&command.replace('…', "Quiet")).expect(0);
    // Now there is a draft, and the question is whether that is it.
    project.run(&["plan", "feature-0001"]).expect(3);
    let status = project.run(&["status"]).expect(0);
    status.says(&["feature-0001 is not accepted yet; go on: codeteam plan feature-0001"]);
    project
        .run(&["run", "feature-0001"])
        .expect(2)
        .says(&["`codeteam plan feature-0001`"]);
    project.run(&["run"]).expect(2).says(&none);
}

#[test]
fn a_later_decision_replaces_one_that_is_only_kept() {
    let (project, _) = asked();
    project.run(&["reject"]).expect(0);
    let status = project.run(&["status"]).expect(0);
    assert!(
        status
            .stdout
            .contains("decided: `reject` as the answer for the run (by ada)"),
        "{}",
        status.stdout
    );
    project
        .run(&["reject", "-m", "Use printf"])
        .expect(0)
        .says(&["this replaces what was decided before", "`reject`"]);
    let shown = project.run(&["show"]).expect(0);
    assert!(
        shown
            .stdout
            .contains("decided   `reject` as the answer for the run: \"Use printf\" (by ada); `codeteam resume "),
        "{}",
        shown.stdout
    );
    let shown = project.shown_run();
    assert_eq!(
        shown["kept_decisions"][0]["decision"]["note"], "Use printf",
        "{shown}"
    );
    project
        .run(&["approve"])
        .expect(0)
        .says(&["this replaces what was decided before", "Use printf"]);
    let resumed = project.run(&["resume"]).expect(0);
    assert!(
        !resumed.stderr.contains("cannot be followed"),
        "{}",
        resumed.stderr
    );
    assert_eq!(project.count("answered"), 1);
    assert_eq!(project.committed_file("made.txt"), "round 1");
}
