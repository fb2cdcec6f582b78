//! A person on the loop, at a real terminal: the conversation about a plan, judging, editing, leaving
//! and coming back; and the same from files and pipes.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use rustix::process::Signal;

use crate::project::{CommandResult, Project};

/// A planner that asks twice, a plan checker with an opinion, a coder who counts rounds.
const TEAM: &str = r#"
version: 1
plays:
  - match: { role: planner, generation: 1 }
    do:
      - text: Looking around
      - submit: { context: You want a greeting., questions: ["Which language?", "Loud or quiet?"] }
  - match: { role: planner, generation: 2 }
    do:
      - submit: { questions: ["By which name?"] }
  - match: { role: planner }
    do:
      - submit:
          plan:
            description: A greeting
            tasks:
              - id: task-001
                title: Greet by name
                description: Write greet.sh
                files: [greet.sh]
                acceptance: ["`sh greet.sh Ada` prints `Hello, Ada`"]
  - match: { role: plan_verifier }
    do:
      - submit: { verdict: reject, reason: Too coarse, findings: [ { severity: major, title: No tests, detail: Nobody could tell. } ] }
  - match: { role: coder }
    do:
      - write: { path: greet.sh, content: "echo round {{round}}\n" }
      - submit: { summary: "Wrote round {{round}}", files_changed: [greet.sh], proof: Ran it }
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Fine } } ]
  - match: { role: committer }
    do: [ { submit: { message: Greet by name } } ]
  - match: { kind: scribe }
    do: [ { submit: { message: Write greet.sh. } } ]
"#;

/// A coder, checks, and a person who judges whatever they say.
const JUDGED: &str = r"
start: code
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: verify }
  verify: { gate: project, next: judge, on_fail: judge }
  judge:
    person: Is this what you want?
    answers:
      accept: commit
      reject: { next: code, rejects: true }
      edit: { next: verify, edits: true }
  commit: { commit: branch, next: done }
";

/// An editor that does to its first file what a script says.
fn editor(project: &Project, script: &str) -> String {
    let path = project.write_outside("editor.sh", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn the_whole_conversation_and_the_coding_loop() {
    let project = Project::new();
    let script = project.script(TEAM);
    let edits = "sed -i 's/Greet by name/Greet everybody/' \"$1\"";
    let editor = editor(&project, edits);
    let mut plan = project.terminal_with(
        &["plan", "Greet people", "--script", &script],
        &[("EDITOR", &editor)],
    );
    plan.shows(&["feature-0001: Greet people", "Looking around"]);
    plan.shows(&[
        "You want a greeting.",
        "1. Which language?",
        "2. Loud or quiet?",
    ]);
    plan.until("plan feature-0001> ");
    plan.line("/acept_plan");
    plan.until("there is no `/acept_plan`");
    plan.line("/accept_plan");
    plan.until("there is no plan yet; answer what is asked, or `/save_plan` has it written");
    // Two lines, by Alt-Enter.
    plan.keys("Shell,\u{1b}\rand quiet\r");
    plan.until("1. By which name?");
    plan.line("/save_plan Ada, and no more questions");
    plan.shows(&["Plan feature-0001, 1 task:", "task-001  Greet by name"]);
    plan.until("Do you want to /accept_plan or /request_feedback_round?");
    plan.line("/request_feedback_round");
    plan.shows(&[
        "The plan should be changed: Too coarse",
        "No tests (major)",
        "Nobody could tell.",
    ]);
    plan.until("plan feature-0001> ");
    plan.line("/edit");
    plan.shows(&["Plan feature-0001, 1 task:", "task-001  Greet everybody"]);
    plan.line("/show");
    plan.until("done if `sh greet.sh Ada` prints `Hello, Ada`");
    plan.line("/accept_plan");
    plan.shows(&["accepted: feature-0001", "codeteam run feature-0001"]);
    plan.end(0);
    let file = project.read(".codeteam/planning/feature-0001/plan.yml");
    assert!(
        file.contains("accepted") && file.contains("Greet everybody"),
        "{file}"
    );
    assert!(file.contains("status: \"pending\""), "{file}");
    project
        .run(&["plan", "feature-0001"])
        .expect(2)
        .says(&["feature-0001 is accepted already"]);
    let status = project.run(&["status"]).expect(0).stdout;
    assert!(
        status.contains("feature-0001 is accepted: a plan of 1 task"),
        "{status}"
    );
    let answers = project.events();
    let answers = answers.iter().filter(|e| e["event"]["type"] == "answered");
    let answers: Vec<_> = answers.map(|e| e["event"]["answer"].clone()).collect();
    assert_eq!(answers[0], "Shell,\nand quiet");
    assert_eq!(answers[1], "/save_plan Ada, and no more questions");

    the_coding_loop(&project, &script);
}

/// The plan that was accepted is carried out, and every change judged.
fn the_coding_loop(project: &Project, script: &str) {
    let args = ["run", "--workflow", "codeteam", "--script", script];
    let mut run = project.terminal_with(
        &args,
        &[
            ("EDITOR", &editor(project, "echo 'echo by hand' >> \"$1\"")),
            ("PAGER", "cat; echo LESS is $LESS"),
        ],
    );
    run.until("you judge every change");
    run.shows(&[
        "task-001: Is this change what you want?",
        "judge task-001> ",
    ]);
    run.keys("d");
    run.shows(&["+++ b/greet.sh", "+echo round 1"]);
    // What fits the screen stays on it.
    run.shows(&["LESS is FRX", "judge task-001> "]);
    run.keys("?");
    run.shows(&[
        "/accept_changes [words]",
        "/reject_changes <feedback>",
        "judge task-001> ",
    ]);
    run.line("/reject_changes");
    run.until("say what is wrong");
    run.line("/reject_changes Say it louder");
    run.shows(&["Is this change what you want?", "judge task-001> "]);
    run.line("/edit");
    run.shows(&["the change is in", "+echo by hand", "handed back: greet.sh"]);
    run.shows(&["Is this change what you want?", "judge task-001> "]);
    run.line("/report");
    run.until("# Verification Report for Task: task-001");
    run.line("/accept_changes thank you");
    run.shows(&["committed", "done: "]);
    run.end(0);
    assert_eq!(
        project.committed_file("greet.sh"),
        "echo round 2\necho by hand"
    );
    assert_eq!(project.committed_files(), ["greet.sh"]);
    let report = project.run(&["report", "--markdown"]).expect(0);
    assert!(
        report
            .stdout
            .contains("**Round 2:** changed by hand by ada (judge)"),
        "{}",
        report.stdout
    );
    project
        .run(&["run"])
        .expect(2)
        .says(&["the plan feature-0001 is done", "codeteam run \"add a"]);
}

/// A change that waits to be judged by somebody at another terminal.
fn to_judge(project: &Project, check: &str) -> (String, String) {
    project.config(&format!(
        "worker: scripted\nverification:\n  commands: [ {{ name: tests, command: '{check}' }} ]\n"
    ));
    (project.script(TEAM), project.workflow(JUDGED))
}

#[test]
fn accepting_over_failing_checks_is_asked_once_more_and_recorded() {
    let project = Project::new();
    let (script, workflow) = to_judge(&project, "exit 1");
    let args = ["run", "x", "--workflow", &workflow, "--script", &script];
    let mut run = project.terminal(&args);
    run.until("judge run> ");
    run.line("/quit");
    run.shows(&["left: run waits for you", "go on   codeteam resume "]);
    run.end(3);
    let mut run = project.terminal(&["resume"]);
    run.until("judge run> ");
    run.line("/accept_changes");
    run.until("1 check fails: accept all the same? y/N ");
    run.line("");
    run.until("judge run> ");
    run.line("/accept_changes");
    run.until("accept all the same? y/N ");
    run.line("y");
    run.until("over the rejection of verify");
    run.end(0);
    let events = project.events();
    let answered = events.iter().find(|e| e["event"]["type"] == "answered");
    assert_eq!(answered.unwrap()["event"]["over"][0], "verify");
}

#[test]
fn what_is_answered_elsewhere_ends_the_prompt() {
    let project = Project::new();
    let (script, workflow) = to_judge(&project, "true");
    let args = ["run", "x", "--workflow", &workflow, "--script", &script];
    let mut run = project.terminal(&args);
    run.until("judge run> ");
    run.keys("/reject_changes half a thou");
    run.until("half a thou");
    project.run(&["reject", "-m", "Not like that"]).expect(0);
    run.until("run was answered elsewhere (ada: reject)");
    run.until("judge run> ");
    // What was being written is not lost, and did not land on the next question.
    run.keys("\u{1b}[A");
    run.until("/reject_changes half a thou");
    run.keys("\u{3}");
    project.run(&["approve"]).expect(0);
    run.until("run was answered elsewhere (ada: accept)");
    run.end(0);
    assert_eq!(project.committed_file("greet.sh"), "echo round 2");
}

#[test]
fn two_questions_are_asked_one_at_a_time() {
    let project = Project::new();
    let go = project.go();
    let script = project.script(&format!(
        r#"
version: 1
plays:
  - match: {{ role: coder, task: left }}
    do: [ {{ write: {{ path: left.sh, content: "left\n" }} }}, {{ submit: {{ summary: Made it }} }} ]
  - match: {{ role: coder, task: right }}
    do:
      - wait_for: {{ path: "{}" }}
      - write: {{ path: right.sh, content: "right\n" }}
      - submit: {{ summary: Made it }}
"#,
        go.display()
    ));
    let steps = JUDGED.split_once("steps:\n").unwrap().1;
    let steps = steps.replace('\n', "\n    ");
    let workflow = project.workflow(&format!(
        "start: tasks\nroles: {{ coder: {{ kind: implementer }} }}\nsteps:\n  tasks:\n    each: task\n    cap: 2\n    next: done\n    steps:\n    {steps}"
    ));
    let plan = "tasks: [ { id: left, files: [left.sh] }, { id: right, files: [right.sh] } ]\n";
    let plan = project.write_outside("plan.yml", plan);
    let args = [
        "run",
        "x",
        "--workflow",
        &workflow,
        "--script",
        &script,
        "--plan",
        &plan,
    ];
    let mut run = project.terminal(&args);
    run.until("judge left> ");
    // What happens meanwhile is told above what is being written.
    run.keys("/ne");
    std::fs::write(&go, "").unwrap();
    run.shows(&["right waits for you, too: /next", "judge left> /ne"]);
    run.line("xt");
    run.shows(&["1 other question waits", "judge right> "]);
    run.line("/skip");
    run.shows(&["was skipped", "judge left> "]);
    run.line("/accept_changes");
    run.end(0);
    assert_eq!(project.committed_files(), ["left.sh"]);
}

#[test]
fn a_change_is_edited_from_another_terminal() {
    let project = Project::new();
    let (script, workflow) = to_judge(&project, "true");
    let args = ["run", "x", "--workflow", &workflow, "--script", &script];
    project.run(&args).expect(3);
    let looked = editor(&project, "pwd");
    let shell = CommandResult::from(
        project
            .codeteam(&["edit", "--shell"])
            .env("SHELL", looked)
            .output()
            .unwrap(),
    );
    shell
        .expect(0)
        .says(&["run@hand/tree", "nothing was changed"]);
    let nothing = editor(&project, "true");
    let done = CommandResult::from(
        project
            .codeteam(&["edit"])
            .env("EDITOR", nothing)
            .output()
            .unwrap(),
    );
    done.expect(0).says(&["nothing was changed"]);
    let adds = editor(
        &project,
        "echo more >> \"$1\"; echo new > new.txt; mkdir -p sub && cd sub && git init -q .",
    );
    let nested = CommandResult::from(
        project
            .codeteam(&["edit"])
            .env("EDITOR", adds)
            .output()
            .unwrap(),
    );
    nested.expect(0).says(&["it cannot be taken", "sub"]);
    // Taken up as it was left, with what stood in the way removed.
    let mends = editor(&project, "rm -rf sub");
    let done = CommandResult::from(
        project
            .codeteam(&["edit"])
            .env("EDITOR", mends)
            .output()
            .unwrap(),
    );
    done.expect(0).says(&[
        "(as you left it)",
        "+more",
        "handed back: greet.sh, new.txt",
    ]);
    project
        .run(&["resume"])
        .expect(3)
        .says(&["Is this what you want?"]);
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.committed_file("greet.sh"), "echo round 1\nmore");
    assert_eq!(project.committed_files(), ["greet.sh", "new.txt"]);
}

#[test]
fn killed_at_the_prompt_it_goes_on_where_it_was() {
    let project = Project::new();
    let script = project.script(TEAM);
    let mut plan = project.terminal(&["plan", "Greet people", "--script", &script]);
    plan.until("plan feature-0001> ");
    plan.keys("half an ans");
    plan.until("half an ans");
    plan.kill();
    let mut again = project.terminal(&["plan"]);
    again.shows(&[
        "feature-0001: Greet people",
        "1. Which language?",
        "plan feature-0001> ",
    ]);
    again.line("Shell");
    again.until("1. By which name?");
    again.line("/quit");
    again.until("left: feature-0001 waits for you");
    again.end(3);
    assert_eq!(project.count("answered"), 1);
    let mut last = project.terminal(&["plan", "feature-0001"]);
    last.shows(&["By which name?", "plan feature-0001> "]);
    last.line("/save_plan");
    last.shows(&["Do you want to /accept_plan", "plan feature-0001> "]);
    last.keys("\u{4}");
    last.end(3);
}

#[test]
fn keys_do_what_they_do_elsewhere() {
    let project = Project::new();
    let script = project.script(TEAM);
    let mut plan = project.terminal(&["plan", "Greet people", "--script", &script]);
    plan.until("plan feature-0001> ");
    // Ctrl-C clears; Tab completes; a paste of several lines is one answer.
    plan.keys("nonsense\u{3}/sh");
    plan.until("/sh");
    plan.keys("\u{3}/he\t");
    plan.until("/help ");
    plan.keys("\r");
    plan.until("/save_plan [words]");
    plan.resize(30);
    plan.keys("\u{1b}[200~first line\rsecond line\u{1b}[201~ third\u{1}Now: ");
    plan.until("third");
    plan.resize(90);
    plan.keys("\r");
    plan.until("By which name?");
    plan.until("plan feature-0001> ");
    plan.keys("\u{3}");
    plan.until("left: feature-0001 waits for you");
    plan.end(3);
    let events = project.events();
    let answered = events.iter().find(|e| e["event"]["type"] == "answered");
    assert_eq!(
        answered.unwrap()["event"]["answer"],
        "first line\nNow: second line third"
    );
    let history = std::fs::read_dir(project.home().join(".local/state/codeteam")).unwrap();
    let history = history.map(|entry| entry.unwrap().path().join("history"));
    let history: Vec<_> = history.filter(|path| path.is_file()).collect();
    let mode = std::fs::metadata(&history[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_terminal_that_can_only_print_will_do() {
    let project = Project::new();
    let script = project.script(TEAM);
    let args = ["plan", "Greet people", "--script", &script];
    let mut plan = project.terminal_with(&args, &[("TERM", "dumb"), ("NO_COLOR", "1")]);
    plan.until("plan feature-0001> ");
    plan.keys("Shell\n");
    plan.until("By which name?");
    plan.keys("/quit\n");
    let all = plan.end(3);
    assert!(!all.contains('\u{1b}'), "{all}");
}

#[test]
fn a_signal_at_the_prompt_stops_cleanly() {
    let project = Project::new();
    let script = project.script(TEAM);
    let mut plan = project.terminal(&["plan", "Greet people", "--script", &script]);
    plan.until("plan feature-0001> ");
    plan.signal(Signal::TERM);
    plan.end(130);
}

#[test]
fn answers_come_from_a_file() {
    let project = Project::new();
    let script = project.script(TEAM);
    let answers = project.write_outside(
        "answers",
        "# what to say\nShell,\nand quiet\n---\n/save_plan\n",
    );
    let args = [
        "plan",
        "Greet people",
        "--script",
        &script,
        "--answers",
        &answers,
    ];
    let done = project.run(&args).expect(3);
    done.says(&[
        "> Shell,",
        "> /save_plan",
        "Is this the plan you want?",
        "codeteam plan feature-0001",
    ])
    .lacks(&["plan feature-0001> "]);
    // What is left after the plan was accepted judges the change.
    let rest = "/accept_plan\n/reject_changes louder\n/accept_changes\n";
    let rest = project.write_outside("rest", rest);
    let mut args = vec!["plan", "--answers", &rest, "--run", "--script", &script];
    args.extend(["--set", "workflow=codeteam"]);
    project.run(&args).expect(0).says(&["done: "]);
    assert_eq!(project.committed_file("greet.sh"), "echo round 2");
}

#[test]
fn answers_come_from_a_pipe() {
    let project = Project::new();
    let script = project.script(TEAM);
    let mut plan = project.codeteam(&["plan", "Greet people", "--script", &script, "--json"]);
    plan.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut plan = plan.spawn().unwrap();
    let said = b"Shell\n\"\"\"\nBy\nhers\n\"\"\"\nsmaller, please\n/accept_plan\n";
    plan.stdin.take().unwrap().write_all(said).unwrap();
    let done = CommandResult::from(plan.wait_with_output().unwrap()).expect(0);
    assert_eq!(done.value()["status"], "completed");
    let events = project.events();
    let answers = events.iter().filter(|e| e["event"]["type"] == "answered");
    let answers: Vec<_> = answers
        .map(|e| (e["event"]["answer"].clone(), e["event"]["note"].clone()))
        .collect();
    assert_eq!(answers[1].0, "By\nhers");
    assert_eq!(answers[2], ("change".into(), "smaller, please".into()));
}

#[test]
fn a_run_is_judged_from_a_file_too() {
    let project = Project::new();
    let (script, workflow) = to_judge(&project, "true");
    let answers = project.write_outside("answers", "/diff\n/reject_changes Again\n/accept\n");
    let args = [
        "run",
        "x",
        "--workflow",
        &workflow,
        "--script",
        &script,
        "--answers",
        &answers,
    ];
    project
        .run(&args)
        .expect(0)
        .says(&["+echo round 1", "> /reject_changes Again"]);
    assert_eq!(project.committed_file("greet.sh"), "echo round 2");
}

#[test]
fn a_plan_changed_by_hand_is_read_back_with_its_errors() {
    let project = Project::new();
    let script = project.script(TEAM);
    let mut plan = project.terminal(&["plan", "Greet people", "--script", &script]);
    plan.until("plan feature-0001> ");
    plan.line("Shell");
    plan.until("By which name?");
    plan.line("/save_plan");
    plan.until("Do you want to /accept_plan");
    let file = ".codeteam/planning/feature-0001/plan.yml";
    let text = project.read(file);
    project.write(
        file,
        &text.replace("dependencies: []", "dependencies: [task-009]"),
    );
    plan.line("/accept_plan");
    plan.shows(&[
        "plan.yml:",
        "task `task-001` depends on `task-009`",
        "plan feature-0001> ",
    ]);
    project.write(file, &text.replace("Greet by name", "Greet everybody"));
    plan.line("/accept_plan");
    plan.shows(&[
        "the plan was changed by hand:",
        "Greet everybody",
        "accepted: feature-0001",
    ]);
    plan.end(0);
    assert!(project.read(file).contains("Greet everybody"));
}

#[test]
fn without_a_plan_or_a_goal_there_is_nothing_to_run() {
    let project = Project::new();
    project
        .run(&["plan"])
        .expect(2)
        .says(&["no plan is being made", "codeteam plan \"what you want\""]);
    project.run(&["plan", ""]).expect(2);
}

#[test]
fn what_was_typed_before_a_question_was_shown_does_not_answer_it() {
    let project = Project::new();
    let go = project.go();
    let script = project.script(&format!(
        "version: 1
plays:
  - match: {{ role: coder }}
    do:
      - run: while [ ! -e {} ]; do sleep 0.02; done
      - write: {{ path: greet.sh, content: echo }}
      - submit: {{ summary: Wrote it }}
",
        go.display()
    ));
    let flow = project.workflow(JUDGED);
    let mut run = project.terminal_with(
        &["run", "Greet", "--script", &script, "--workflow", &flow],
        &[],
    );
    run.until("coder at work");
    run.line("/accept_changes");
    std::fs::write(&go, "").unwrap();
    run.until("Is this what you want?");
    // It is on the line, and waits for Enter.
    run.until("> /accept_changes");
    assert_eq!(project.count("committed"), 0);
    run.keys("\r");
    run.until("done:");
}

#[test]
fn nobody_takes_a_worktree_away_from_under_an_editor() {
    let project = Project::new();
    let go = project.go();
    let slow = format!(
        "echo editing\nwhile [ ! -e {} ]; do sleep 0.02; done\necho mine > greet.sh && echo saved",
        go.display()
    );
    let editor = editor(&project, &slow);
    let script = project.script(TEAM);
    let flow = project.workflow(JUDGED);
    let args = ["run", "Greet", "--script", &script, "--workflow", &flow];
    let mut run = project.terminal_with(&args, &[("EDITOR", &editor)]);
    run.until("Is this what you want?");
    run.line("/edit");
    run.until("editing");
    project.run(&["approve"]).expect(0);
    while project.count("run_ended") == 0 {}
    std::fs::write(&go, "").unwrap();
    run.until("saved");
    run.until("done:");
    let is_mine = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path.join("tree/greet.sh")).is_ok_and(|text| text == "mine\n")
    };
    let left = project.worktrees();
    assert!(left.iter().any(is_mine), "{left:?}");
}
