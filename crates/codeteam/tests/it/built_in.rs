//! Every built-in workflow, from a goal to its commits, with scripted workers.

use crate::project::{CommandResult, Project};

/// A planner, implementers, and gatekeepers that approve. What a test wants otherwise comes first.
fn script(first: &str) -> String {
    let rest = r#"
  - match: { kind: planner }
    do:
      - submit:
          plan: { description: One thing, tasks: [ { id: one, title: First, files: [one.txt, tests/] } ] }
  - match: { role: test_engineer }
    do:
      - write: { path: tests/integration.sh, content: "test -e one.txt\n" }
      - submit: { summary: Tests the parts together }
  - match: { step: changelog }
    do:
      - write: { path: CHANGELOG.md, content: "- one\n" }
      - submit: { summary: An entry }
  - match: { kind: implementer }
    do:
      - write: { path: one.txt, content: "round {{round}}\n" }
      - write: { path: tests/one.sh, content: "test -e one.txt\n" }
      - submit: { summary: Made one }
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Good } } ]
  - match: { kind: designer }
    do: [ { submit: { design: "The design of {{step}}" } } ]
  - match: { kind: scribe }
    do: [ { submit: { message: "Make {{role}}" } } ]
"#;
    format!("version: 1\nplays:{first}{rest}")
}

/// Starts a run that is to end with this code.
fn start(project: &Project, workflow: &str, script: &str, code: i32) -> CommandResult {
    let script = project.script(script);
    let args = ["run", "x", "--workflow", workflow, "--script", &script];
    project.run(&args).expect(code)
}

/// Says yes to a question that has these words, and goes on until the run ends with this code.
fn say_yes(project: &Project, question: &str, code: i32) -> CommandResult {
    let run = project.shown();
    let questions = run["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 1, "{run:#}");
    let text = questions[0]["text"].as_str().unwrap();
    assert!(text.contains(question), "{text}");
    let yes = questions[0]["answers"][0].as_str().unwrap();
    let run = run["run"].as_str().unwrap();
    project.run(&["answer", run, yes]).expect(0);
    project.run(&["resume"]).expect(code)
}

/// The messages of the run's commits, newest first.
fn commits(project: &Project) -> Vec<String> {
    let log = project.git(&[
        "log",
        "--branches=codeteam/*",
        "--not",
        "main",
        "--format=%s",
    ]);
    log.lines().map(str::to_owned).collect()
}

#[test]
fn codeteam() {
    let project = Project::new();
    let reject = "
  - match: { role: security, round: 1 }
    do: [ { submit: { verdict: reject, reason: Not yet } } ]";
    let done = start(&project, "codeteam", &script(reject), 0);
    done.says(&[
        "prompter wrote",
        "review by 4 reviewers: `tests/one.sh` is a risky path",
        "security rejects",
        "back to code",
        "round 2",
    ]);
    assert_eq!(commits(&project), ["Make committer"]);
    assert_eq!(project.made("one.txt"), "round 2");
}

#[test]
fn codeteam_asks_one_reviewer_about_a_small_change() {
    let first = "
  - match: { kind: planner }
    do:
      - submit:
          plan:
            description: One thing
            tasks:
              - id: one
                title: Say how it went
                description: The file one.txt says in one line how often this was tried so far.
                files: [one.txt]
                acceptance: [one.txt has one line]
  - match: { kind: implementer }
    do:
      - write: { path: one.txt, content: \"round {{round}}\\n\" }
      - submit: { summary: Made one }
  - match: { role: reviewer, round: 1 }
    do: [ { submit: { verdict: reject, reason: Not yet } } ]
  - match: { role: security }
    do: [ { submit: { verdict: reject, reason: Nobody asks me } } ]";
    let config = |more: &str| {
        format!(
            "worker: scripted\nverification:\n  commands: [ {{ name: made, command: test -e one.txt }} ]\n{more}"
        )
    };
    let project = Project::new();
    project.config(&config(""));
    let done = start(&project, "codeteam", &script(first), 0);
    let facts = "1 file, 1 line, no risky path, checks passed";
    let done = done.says(&[
        "prompt is skipped: the task names 1 file and 1 criterion",
        &format!("review by one reviewer: {facts}"),
        "reviewer rejects",
        "back to code",
        "round 2",
    ]);
    assert!(!done.stdout.contains("security"), "{}", done.stdout);
    assert_eq!(project.made("one.txt"), "round 2");
    let shown = project.run(&["log"]).expect(0).stdout;
    assert!(shown.contains(facts), "{shown}");
    let shown = project.run(&["show"]).expect(0).stdout;
    for line in [
        "depth     one: prompt is skipped: the task names 1 file and 1 criterion",
        &format!("depth     one: review by one reviewer: {facts}"),
    ] {
        assert!(shown.contains(line), "lacks {line:?}:\n{shown}");
    }

    // A project that wants to hear all four says so.
    let project = Project::new();
    project.config(&config("  small_change: { max_lines: 0 }\n"));
    start(&project, "codeteam", &script(first), 1)
        .says(&["review by 4 reviewers", "security rejects"]);
}

#[test]
fn lean() {
    let project = Project::new();
    let reject = "
  - match: { role: reviewer, round: 1 }
    do: [ { submit: { verdict: reject, reason: Not yet } } ]";
    start(&project, "lean", &script(reject), 0).says(&["back to code", "round 2"]);
    assert_eq!(commits(&project), ["Make committer"]);
    assert_eq!(project.made("one.txt"), "round 2");
}

#[test]
fn mvp() {
    let project = Project::new();
    let reject = "
  - match: { step: quick_review, round: 1 }
    do: [ { submit: { verdict: reject, reason: Not yet } } ]";
    start(&project, "mvp", &script(reject), 0).says(&["back to implement"]);
    assert_eq!(commits(&project), ["one: First"]);
    assert_eq!(project.made("one.txt"), "round 2");
}

#[test]
fn standard() {
    let project = Project::new();
    let reject = "
  - match: { step: plan_review, generation: 1 }
    do: [ { submit: { verdict: reject, reason: Too vague } } ]
  - match: { role: reviewer_codex, round: 1 }
    do: [ { submit: { verdict: reject, reason: Not yet } } ]";
    let done = start(&project, "standard", &script(reject), 0);
    done.says(&[
        "back to plan",
        "back to implement",
        "check passed: tests are part of the change",
    ]);
    assert_eq!(commits(&project), ["one: First"]);
    assert_eq!(
        project.made_files(),
        ["one.txt", "tests/integration.sh", "tests/one.sh"]
    );
}

#[test]
fn without_a_test_a_standard_change_is_not_committed() {
    let project = Project::new();
    let untested = r#"
  - match: { kind: implementer }
    do:
      - write: { path: one.txt, content: "round {{round}}\n" }
      - submit: { summary: Made one }"#;
    let done = start(&project, "standard", &script(untested), 1);
    done.says(&["check failed: tests are part of the change"]);
}

#[test]
fn enterprise() {
    let project = Project::new();
    let reject = "
  - match: { step: security_review, round: 1 }
    do: [ { submit: { verdict: reject, reason: It reaches a shell } } ]";
    start(&project, "enterprise", &script(reject), 3);
    say_yes(&project, "The plan is reviewed", 3);
    say_yes(&project, "The interfaces are defined", 3).says(&["back to implement"]);
    say_yes(&project, "The reviewers approve", 3);
    assert!(commits(&project).is_empty());
    say_yes(&project, "Commit it?", 0);
    assert_eq!(commits(&project), ["one: First"]);
    assert_eq!(project.made("one.txt"), "round 2");
}

#[test]
fn security_critical() {
    let project = Project::new();
    start(&project, "security_critical", &script(""), 3);
    say_yes(&project, "The plan is reviewed", 3);
    say_yes(&project, "The interfaces are defined", 3);
    say_yes(&project, "Both security reviews", 3);
    say_yes(&project, "The reviewers approve", 3);
    say_yes(&project, "Commit it?", 0);
    assert_eq!(commits(&project), ["one: First"]);
    // What everybody was told is kept; builders and attackers know the threats.
    let run = project.shown()["run"].as_str().unwrap().to_owned();
    let audit = project.path(&format!(".codeteam/runs/{run}/audit"));
    for step in ["implement", "penetration_test", "security_review"] {
        let files = std::fs::read_dir(&audit).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        let told = files.find(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.contains(&format!("-{step}.")) && name.ends_with("prompt.md")
        });
        let told = std::fs::read_to_string(told.unwrap()).unwrap();
        assert!(told.contains("The design of threat_modeling"), "{told}");
        assert!(
            told.contains("The design of interface_definition"),
            "{told}"
        );
    }
}

#[test]
fn open_source() {
    let project = Project::new();
    let done = start(&project, "open_source", &script(""), 3);
    // The question says what a yes runs, to the letter.
    done.says(&[
        "Open a draft pull request",
        "`open` runs this on your machine, outside the sandbox: git push --set-upstream origin",
        "gh pr create --draft --head \"$CODETEAM_BRANCH\"",
    ]);
    assert_eq!(commits(&project).len(), 2, "the change and the changelog");
    assert_eq!(project.made("CHANGELOG.md"), "- one");
    let run = project.shown()["run"].as_str().unwrap().to_owned();
    project.run(&["answer", &run, "leave"]).expect(0);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.count("published"), 0);
}

#[test]
fn solo() {
    let project = Project::new();
    let failing = r#"
  - match: { kind: implementer, round: 1 }
    do:
      - write: { path: tests/one.sh, content: "exit 1\n" }
      - submit: { summary: Made one }"#;
    let done = start(&project, "solo", &script(failing), 0);
    done.says(&["back to execute", "1 of 1 task done"]);
    let plan = project.read(".codeteam/planning/feature-0001/plan.yml");
    assert!(plan.contains("status: \"completed\""), "{plan}");
    assert_eq!(commits(&project), ["x"]);
    assert_eq!(project.made("one.txt"), "round 2");
}

#[test]
fn team() {
    let project = Project::new();
    let reject = "
  - match: { role: quality_validator, round: 1 }
    do: [ { submit: { verdict: reject, reason: 0.4 for tests } } ]
  - match: { role: leader, round: 2 }
    do: [ { submit: { verdict: reject, reason: Another approach } } ]";
    let done = start(&project, "team", &script(reject), 0);
    done.says(&["assembler wrote", "leader rejects"]);
    assert_eq!(commits(&project), ["one: First"]);
    assert_eq!(project.made("one.txt"), "round 3");
}

const ADVERSARIAL: &str = r#"
version: 1
plays:
  - match: { role: ba }
    do: [ { submit: { confirmed_requirements: It greets } } ]
  - match: { role: architect }
    do: [ { submit: { design: Simple } } ]
  - match: { role: coder }
    do:
      - write: { path: one.txt, content: "round {{round}}\n" }
      - submit: { summary: Made one, files_changed: [one.txt], proof: it ran }
  - match: { role: qa, generation: 4 }
    do: [ { submit: { approved: true, reason: Good } } ]
  - match: { role: qa }
    do: [ { submit: { approved: false, reason: Not shown, issues: [no test] } } ]
  - match: { role: reviewer }
    do: [ { submit: { approved: true, reason: Good, issues: [] } } ]
"#;

#[test]
fn adversarial() {
    let project = Project::new();
    start(&project, "adversarial", ADVERSARIAL, 3).says(&["back to coder"]);
    let done = say_yes(&project, "Should the architect look", 0);
    done.says(&["architect at work"]);
    assert_eq!(commits(&project), ["x"]);
    assert_eq!(project.made("one.txt"), "round 4");
}

const STRICT: &str = r#"
version: 1
plays:
  - match: { role: planner }
    do:
      - submit:
          plan_id: plan_0001
          tasks:
            - { id: T1, title: One, rationale: r, acceptance: a, artifacts: [one.txt] }
            - { id: T2, title: Two, rationale: r, acceptance: a, artifacts: [two.txt] }
  - match: { role: coder, task: T1 }
    do: [ { submit: { edits: [ { path: one.txt, content: "one\n" } ] } } ]
  - match: { role: coder }
    do: [ { submit: { edits: [ { path: two.txt, content: "two\n" } ] } } ]
  - match: { role: tester, task: FAILS }
    do: [ { submit: { task_id: FAILS, passed: false, report: 1 failed } } ]
  - match: { role: tester }
    do: [ { submit: { task_id: "{{task.id}}", passed: true, report: 1 passed } } ]
"#;

#[test]
fn strict() {
    let project = Project::new();
    start(&project, "strict", STRICT, 0);
    assert_eq!(commits(&project), ["T2: Two", "T1: One"]);
    assert_eq!(project.made_files(), ["one.txt", "two.txt"]);

    let project = Project::new();
    let done = start(&project, "strict", &STRICT.replace("FAILS", "T1"), 1);
    // Whoever says that tests failed which did not is not believed, and halts it all the same.
    done.says(&["tester failed: at `passed`: it must be `true`"])
        .lacks(&["T2           begun"]);
    assert_eq!(project.count("committed"), 0);
}
