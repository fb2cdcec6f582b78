//! Every built-in workflow, from a goal to its commits, with scripted workers.

use crate::project::{CommandResult, Project};

/// A planner, implementers, and gatekeepers that approve. What a test wants otherwise comes first.
pub(crate) fn script(first: &str) -> String {
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
    do:
      - submit:
          design: "The design of {{step}}\n\n## threat_model\n\nNone.\n\n## security_requirements\n\nNone."
          interfaces: [ { name: One, type: text, definition: One line } ]
  - match: { kind: scribe }
    do: [ { submit: { message: "Make {{role}}" } } ]
"#;
    format!("version: 1\nplays:{first}{rest}")
}

/// Starts a run that is to end with this code.
pub(crate) fn start(project: &Project, workflow: &str, script: &str, code: i32) -> CommandResult {
    let script = project.script(script);
    let args = ["run", "x", "--workflow", workflow, "--script", &script];
    project.run(&args).expect(code)
}

/// Says yes to a question that has these words, and goes on until the run ends with this code.
pub(crate) fn say_yes(project: &Project, question: &str, code: i32) -> CommandResult {
    let run = project.shown_run();
    let questions = run["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 1, "{run:#}");
    let text = questions[0]["text"].as_str().unwrap();
    assert!(text.contains(question), "{text}");
    let yes = questions[0]["answers"][0].as_str().unwrap();
    let run = run["run"].as_str().unwrap();
    project.run(&["answer", run, yes]).expect(0);
    project.run(&["resume"]).expect(code)
}

/// What the closing message of a run offers is what `--json` offers, and all of it works as it is
/// printed; its commits are merged with that.
#[track_caller]
pub(crate) fn merges_as_offered(project: &Project, done: &CommandResult) {
    let run = project.shown_run();
    assert_eq!(run.get("plans_only"), None, "{run:#}");
    let steps = run["next_steps"].as_array().unwrap();
    let actions: Vec<&str> = steps
        .iter()
        .map(|step| step["action"]["type"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(actions, ["commits", "merge"], "{steps:?}");
    for step in steps {
        let command = step["command"].as_str().unwrap();
        let line = format!("  {:<7} {command}\n", step["label"].as_str().unwrap());
        assert!(done.stderr.contains(&line), "{line}: {}", done.stderr);
        project.paste(command).expect(0);
    }
    let tip = run["tip"].as_str().unwrap();
    project.git(&["merge-base", "--is-ancestor", tip, "main"]);
}

/// The messages of the run's commits, newest first.
pub(crate) fn commits(project: &Project) -> Vec<String> {
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
    let done = done.says(&[
        "prompter wrote",
        "review by 4 reviewers: `tests/one.sh` is a risky path",
        "security rejects",
        "back to code",
        "round 2",
    ]);
    assert_eq!(commits(&project), ["Make committer"]);
    assert_eq!(project.committed_file("one.txt"), "round 2");
    merges_as_offered(&project, &done);
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
        &format!("message is skipped: {facts}"),
    ]);
    assert!(!done.stdout.contains("security"), "{}", done.stdout);
    assert_eq!(commits(&project), ["one: Say how it went"]);
    assert_eq!(project.committed_file("one.txt"), "round 2");
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
    let done = start(&project, "lean", &script(reject), 0).says(&["back to code", "round 2"]);
    assert_eq!(commits(&project), ["Make committer"]);
    assert_eq!(project.committed_file("one.txt"), "round 2");
    merges_as_offered(&project, &done);
}

#[test]
fn mvp() {
    let project = Project::new();
    let reject = "
  - match: { step: quick_review, round: 1 }
    do: [ { submit: { verdict: reject, reason: Not yet } } ]";
    let done = start(&project, "mvp", &script(reject), 0).says(&["back to implement"]);
    assert_eq!(commits(&project), ["one: First"]);
    assert_eq!(project.committed_file("one.txt"), "round 2");
    merges_as_offered(&project, &done);
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
    let done = done.says(&[
        "back to plan",
        "back to implement",
        "check passed: tests are part of the change",
    ]);
    assert_eq!(commits(&project), ["one: First"]);
    assert_eq!(
        project.committed_files(),
        ["one.txt", "tests/integration.sh", "tests/one.sh"]
    );
    merges_as_offered(&project, &done);
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

/// A plan in phases, for workflows that break each one down.
const PHASED: &str = "
  - match: { role: feature_planner }
    do:
      - submit:
          plan: { description: One thing, phases: [ { id: all, sequence: 1 } ], tasks: [] }
  - match: { role: tech_lead }
    do:
      - submit:
          design: The design of one thing
          components: [ { id: one, title: First, files: [one.txt, tests/] } ]
          interfaces: [ { name: One, type: text, definition: One line } ]";

#[test]
fn enterprise() {
    let project = Project::new();
    let reject = "
  - match: { step: security_review, round: 1 }
    do: [ { submit: { verdict: reject, reason: It reaches a shell } } ]";
    start(
        &project,
        "enterprise",
        &script(&format!("{PHASED}{reject}")),
        3,
    );
    say_yes(&project, "The plan has been reviewed", 3);
    say_yes(&project, "The interfaces are defined", 3).says(&[
        "phase all has locked One in interfaces/One.md",
        "back to implement",
    ]);
    say_yes(&project, "The reviewers approve", 3);
    let locked = "Settle the interfaces of phase all";
    assert_eq!(commits(&project), [locked]);
    say_yes(&project, "Commit it?", 3);
    assert_eq!(commits(&project), ["one: First", locked]);
    assert_eq!(project.committed_file("one.txt"), "round 2");
    project.run(&["answer", "leave"]).expect(0);
    let done = project.run(&["resume"]).expect(0);
    merges_as_offered(&project, &done);
}

#[test]
fn security_critical() {
    let project = Project::new();
    start(&project, "security_critical", &script(PHASED), 3);
    say_yes(&project, "The plan has been reviewed", 3);
    say_yes(&project, "The interfaces are defined", 3);
    say_yes(&project, "Both security reviews", 3);
    say_yes(&project, "The reviewers approve", 3);
    say_yes(&project, "Commit it?", 3);
    let locked = "Settle the interfaces of phase all";
    assert_eq!(commits(&project), ["one: First", locked]);
    project.run(&["answer", "leave"]).expect(0);
    let done = project.run(&["resume"]).expect(0);
    merges_as_offered(&project, &done);
    // What everybody was told is kept; builders and attackers know the threats.
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
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
        assert!(told.contains("The design of one thing"), "{told}");
    }
}

#[test]
fn open_source() {
    let project = Project::new();
    let done = start(&project, "open_source", &script(""), 3);
    // The question says what a yes runs, to the letter.
    done.says(&[
        "Open a draft pull request",
        "`open` runs this on your machine, outside the sandbox: git push --force-with-lease --set-upstream origin",
        "gh pr create --draft --head \"$CODETEAM_BRANCH\"",
    ]);
    assert_eq!(commits(&project).len(), 2, "the change and the changelog");
    assert_eq!(project.committed_file("CHANGELOG.md"), "- one");
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    project.run(&["answer", &run, "leave"]).expect(0);
    let done = project.run(&["resume"]).expect(0);
    assert_eq!(project.count("published"), 0);
    merges_as_offered(&project, &done);
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
    let done = done.says(&["back to execute", "1 of 1 task done"]);
    let plan = project.read(".codeteam/planning/feature-0001/plan.yml");
    assert!(plan.contains("status: \"completed\""), "{plan}");
    assert_eq!(commits(&project), ["x"]);
    assert_eq!(project.committed_file("one.txt"), "round 2");
    merges_as_offered(&project, &done);
}

/// Two missions: the first needs facts and then words, the second builds on it.
const TEAM: &str = r#"
version: 1
plays:
  - match: { role: decomposer }
    do:
      - submit:
          plan:
            description: A report and a page
            tasks:
              - { id: one, title: First, files: [one.txt, tests/], acceptance: [it has facts, it has words] }
              - { id: two, title: Second, files: [two.txt, tests/], dependencies: [one] }
  - match: { role: assembler, attempt: 1 }
    do:
      - submit:
          assignments:
            - { task: one, roles: [poet], reason: It rhymes }
  - match: { role: assembler }
    do:
      - submit:
          assignments:
            - { task: one, roles: [market_researcher, writer], reason: Facts before words }
            - { task: two, roles: [developer], alternatives: [writer], reason: It is code }
  - match: { role: market_researcher }
    do:
      - write: { path: one.txt, content: "facts\n" }
      - submit: { summary: Found facts, notes: [Mind the units] }
  - match: { role: writer, task: one }
    do:
      - write: { path: one.txt, content: "facts and words, round {{round}}\n" }
      - write: { path: tests/one.sh, content: "test -e one.txt\n" }
      - submit: { summary: Wrote words }
  - match: { role: writer, task: two }
    do:
      - write: { path: two.txt, content: "an introduction\n" }
      - submit: { summary: Wrote an introduction }
  - match: { role: developer }
    do:
      - write: { path: two.txt, content: "a page, round {{round}}\n" }
      - write: { path: tests/two.sh, content: "test -e two.txt\n" }
      - submit: { summary: Built a page }
  - match: { role: quality_validator, task: one, generation: 1, attempt: 1 }
    do: [ { submit: { overall_score: 101, criteria_scores: { criterion_1: 90, criterion_2: 40 } } } ]
  - match: { role: quality_validator, task: one, generation: 1 }
    do: [ { submit: { overall_score: 64, criteria_scores: { criterion_1: 90, criterion_2: 40 }, issues: [No words] } } ]
  - match: { role: quality_validator, task: one }
    do: [ { submit: { overall_score: 85, criteria_scores: { criterion_1: 90, criterion_2: 80 } } } ]
  - match: { role: quality_validator, task: two, generation: 1 }
    do: [ { submit: { overall_score: 50 } } ]
  - match: { role: quality_validator }
    do: [ { submit: { overall_score: 70 } } ]
  - match: { role: leader, task: one, generation: 1, attempt: 1 }
    do: [ { submit: { intervention: CONTINUE, reason: I like it } } ]
  - match: { role: leader, task: one, generation: 1 }
    do: [ { submit: { intervention: enhance, reason: It was vague, criteria: [it has facts, it has words for a child] } } ]
  - match: { role: leader, task: two, generation: 1 }
    do: [ { submit: { intervention: escalate, reason: It begins too abruptly, role: writer, request: Write the introduction } } ]
"#;

/// Checks what `show` says of the team's tasks, scores and decisions.
#[track_caller]
fn shows_the_team(project: &Project) {
    let shown = project.run(&["show"]).expect(0).stdout;
    for wanted in [
        "one  First, by market_researcher, then writer",
        "scored 85 of 100; 70 are needed",
        "enhance in round 1: It was vague",
        "escalate in round 1: It begins too abruptly",
        "continue in round 2, by rule: it scored 85, and 70 is enough",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    let layers = project.run(&["show", "--layers"]).expect(0).stdout;
    assert!(layers.contains("two  Second, by developer"), "{layers}");
    let run = project.shown_run();
    let quality = &run["tasks"][0]["quality"];
    assert_eq!(
        (&quality["score"], &quality["needed"]),
        (&85.into(), &70.into())
    );
    assert_eq!(quality["criteria"][0]["criterion"], "it has facts");
    assert_eq!(
        run["tasks"][1]["interventions"][0]["intervention"],
        "escalate"
    );
}

#[test]
fn team() {
    let project = Project::new();
    let done = start(&project, "team", TEAM, 0);
    let done = done.says(&[
        "there is no role `poet`",
        "the team is assembled",
        "- one: market_researcher, then writer (Facts before words)",
        "market_researcher at work",
        "101 is not a whole number from 0 to 100",
        "64 points are too little: 70 are needed",
        "it scored 64, and 70 is needed",
        "the task is refined and tried again (enhance: It was vague)",
        "- it has words",
        "+ it has words for a child",
        "the result is good enough to build on, by rule (continue: it scored 85, and 70 is enough)",
        "writer helps: Write the introduction",
        "developer at work",
    ]);
    assert_eq!(commits(&project), ["two: Second", "one: First"]);
    merges_as_offered(&project, &done);
    assert_eq!(
        project.committed_file("one.txt"),
        "facts and words, round 2"
    );
    assert_eq!(project.committed_file("two.txt"), "a page, round 2");
    shows_the_team(&project);
    let plan = project.read(".codeteam/planning/feature-0001/plan.yml");
    assert!(
        plan.contains("roles: [\"market_researcher\", \"writer\"]"),
        "{plan}"
    );
    assert!(plan.contains("it has words for a child"), "{plan}");
    let file = |name: &str| {
        let run = project.shown_run()["run"].as_str().unwrap().to_owned();
        project.read(&format!(".codeteam/runs/{run}/{name}"))
    };
    let quality = file("QUALITY_REPORT.md");
    for wanted in [
        "| one | 1 | 64 | 70 | not enough |",
        "| two | 2 | 70 | 70 | enough |",
        "- No words",
    ] {
        assert!(quality.contains(wanted), "{wanted}: {quality}");
    }
    let led = file("INTERVENTIONS.md");
    for wanted in [
        "## ENHANCE: one\n",
        "> It was vague",
        "- it has words for a child",
        "## ESCALATE: two",
        "- Helper: writer, asked for: Write the introduction",
        "## CONTINUE: two",
    ] {
        assert!(led.contains(wanted), "{wanted}: {led}");
    }
    let deliverable = file("DELIVERABLE.md");
    assert!(deliverable.contains("> Found facts"), "{deliverable}");
    let state: serde_json::Value = serde_json::from_str(&file("workflow_state.json")).unwrap();
    assert_eq!(state["workflow_status"], "COMPLETED");
}

#[test]
fn a_plan_that_names_a_role_nobody_has_is_refused_before_anything_runs() {
    let project = Project::new();
    project.write(
        "plan.yml",
        "tasks:\n  - { id: one, role: poet, files: [one.txt] }\n",
    );
    let script = project.script(TEAM);
    let args = [
        "run",
        "--plan",
        "plan.yml",
        "--workflow",
        "team",
        "--script",
        &script,
    ];
    let refused = project.run(&args).expect(2);
    refused.says(&[
        "the plan names roles that cannot carry out its tasks",
        "`poet`",
    ]);
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
    let done = done.says(&["architect at work"]);
    assert_eq!(commits(&project), ["x"]);
    assert_eq!(project.committed_file("one.txt"), "round 4");
    merges_as_offered(&project, &done);
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
    let done = start(&project, "strict", STRICT, 0);
    assert_eq!(commits(&project), ["T2: Two", "T1: One"]);
    assert_eq!(project.committed_files(), ["one.txt", "two.txt"]);
    merges_as_offered(&project, &done);

    let project = Project::new();
    let done = start(&project, "strict", &STRICT.replace("FAILS", "T1"), 1);
    // Whoever says that tests failed which did not is not believed, and halts it all the same.
    done.says(&["tester failed: at `passed`: it must be `true`"])
        .lacks(&["T2           begun"]);
    assert_eq!(project.count("committed"), 0);
}

/// Two phases, of which the second builds on the interface of the first.
const FEATURE: &str = r#"version: 1
plays:
  - match: { role: feature_planner }
    do:
      - submit:
          plan:
            description: Users
            phases:
              - { id: backend, title: The model, description: Everything that stores users, sequence: 1 }
              - { id: frontend, title: The form, sequence: 2 }
            tasks: []
  - match: { role: tech_lead, phase: backend, attempt: 1 }
    do: [ { submit: { design: "It needs no parts" } } ]
  - match: { role: tech_lead, phase: backend }
    do:
      - submit:
          design: One model and its service
          components:
            - { id: model, title: The model, files: [model.txt, tests/model.sh] }
            - { id: service, title: The service, files: [service.txt, tests/service.sh], depends_on: [model] }
          interfaces:
            - { name: User, type: python, file: api/user.pyi, definition: "class User:\n    name: str\n" }
  - match: { role: tech_lead, phase: frontend }
    do:
      - submit:
          design: One form
          components:
            - { id: form, title: The form, files: [form.txt, tests/form.sh], depends_on: [backend.model], assigned_role: component_builder }
  - match: { kind: implementer }
    do:
      - write: { path: "{{task.id}}.txt", content: "by {{role}}\n" }
      - write: { path: "tests/{{task.id}}.sh", content: "test -e {{task.id}}.txt\n" }
      - submit: { summary: "Made {{task.id}}" }
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Good } } ]
"#;

#[test]
fn feature() {
    let project = Project::new();
    let done = start(&project, "feature", FEATURE, 0);
    let done = done.says(&[
        "planned 2 phases",
        "`components` is missing: phase `backend` has no tasks",
        "phase backend has 2 tasks now",
        "and 1 interface:",
        "phase backend has locked User in api/user.pyi",
        "phase frontend has 1 task now",
    ]);
    assert_eq!(
        commits(&project),
        [
            "form: The form",
            "service: The service",
            "model: The model",
            "Settle the interfaces of phase backend"
        ]
    );
    assert_eq!(
        project.committed_file("api/user.pyi"),
        "class User:\n    name: str"
    );
    merges_as_offered(&project, &done);
    assert_eq!(project.committed_file("form.txt"), "by component_builder");
    assert_eq!(project.committed_file("model.txt"), "by implementer");
    let run = project.shown_run();
    let (run, plan) = (run["run"].as_str().unwrap(), run["plan"].as_str().unwrap());
    let design = project.read(&format!(".codeteam/runs/{run}/design-backend.md"));
    assert!(design.contains("**service** The service"), "{design}");
    assert!(design.contains("### User (`api/user.pyi`)"), "{design}");
    let plan = project.read(&format!(".codeteam/planning/{plan}/plan.yml"));
    assert!(
        plan.contains("        definition: |\n          class User:\n              name: str\n"),
        "{plan}"
    );
    assert!(plan.contains("  - id: \"form\"\n"), "{plan}");
}
