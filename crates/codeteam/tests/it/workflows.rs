//! `codeteam workflow`: list, show, validate, graph, test, eject.

use std::path::Path;

use crate::project::{CommandResult, Project};

const FLOW: &str = "\
name: flow
description: Code and commit.
start: code
settings: { careful: false }
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: look }
  look: { person: Fine?, when: { setting: careful }, answers: { fine: commit }, next: commit }
  commit: { commit: branch, next: done }
";

/// A project with a workflow of its own.
fn project() -> Project {
    let project = Project::new();
    project.write(".codeteam/workflows/flow.yml", FLOW);
    project
}

#[track_caller]
fn shows(done: &CommandResult, texts: &[&str]) {
    for text in texts {
        assert!(
            done.stdout.contains(text),
            "lacks {text:?}:\n{}",
            done.stdout
        );
    }
}

#[test]
fn every_workflow_is_listed_with_the_layer_it_is_from() {
    let project = project();
    project.config("workflow: flow\n");
    project.write(".codeteam/workflows/broken.yml", "start: nowhere\n");
    let done = project.run(&["workflow", "list"]).expect(0);
    shows(
        &done,
        &[
            "* flow ",
            "project",
            "Code and commit.",
            "built-in",
            "workflow validate broken",
        ],
    );
    let rows = project.json(&["workflow", "list", "--json"]);
    let rows = rows.as_array().unwrap();
    let row = |name: &str| rows.iter().find(|r| r["name"] == name).unwrap();
    assert_eq!(row("flow")["steps"], 3);
    assert_eq!(row("flow")["default"], true);
    assert_eq!(row("broken")["valid"], false);
    assert_eq!(row("adversarial")["layer"], "built-in");
}

#[test]
fn a_file_of_the_project_goes_before_the_users_and_the_built_in() {
    let project = project();
    let mine = project.home().join(".config/codeteam/workflows");
    std::fs::create_dir_all(&mine).unwrap();
    std::fs::write(mine.join("flow.yml"), FLOW.replace("Code", "Mine")).unwrap();
    std::fs::write(mine.join("strict.yml"), FLOW).unwrap();
    let rows = project.json(&["workflow", "list", "--json"]);
    let layers: Vec<(String, String)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["name"].to_string(), r["layer"].to_string()))
        .filter(|(name, _)| name == "\"flow\"" || name == "\"strict\"")
        .collect();
    let expected = [("\"flow\"", "\"project\""), ("\"strict\"", "\"user\"")];
    assert_eq!(layers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn a_workflow_is_shown_as_it_is_and_as_it_is_followed() {
    let project = project();
    let done = project.run(&["workflow", "show", "flow"]).expect(0);
    assert_eq!(done.stdout, FLOW);
    let done = project
        .run(&["workflow", "show", "flow", "--resolved"])
        .expect(0);
    shows(
        &done,
        &["timeout_ms: ", "on_conflict: code", "kind: implementer"],
    );
    let value = project.json(&["workflow", "show", "flow", "--resolved", "--json"]);
    assert_eq!(
        value["workflow"]["steps"]["commit"]["kind"]["on_conflict"],
        "code"
    );
    project
        .run(&["workflow", "show", "flwo"])
        .expect(2)
        .says(&["there is no workflow `flwo`", "did you mean `flow`?"]);
}

#[test]
fn all_workflows_are_validated_and_mistakes_have_lines() {
    let project = project();
    let done = project.run(&["workflow", "validate"]).expect(0);
    shows(&done, &["ok  flow: 3 steps", "ok  codeteam"]);
    let bad = FLOW.replace("next: look", "next: lok");
    project.write("bad.yml", &bad);
    project
        .run(&["workflow", "validate", "flow", "bad.yml"])
        .expect(2)
        .says(&["bad.yml:7:3", "did you mean `look`?"]);
    let done = project
        .run(&["workflow", "validate", "bad.yml", "--json"])
        .expect(2);
    let value = done.value();
    assert_eq!(value["valid"], false);
    assert_eq!(value["workflows"][0]["valid"], false);
    assert_eq!(value["problems"][0]["line"], 7);
    assert_eq!(value["problems"][0]["hint"], "did you mean `look`?");
}

#[test]
fn the_workflow_of_the_configuration_is_one_like_the_others() {
    let project = project();
    project.config("workflow:\n  overrides:\n    review: { role: qa }\n");
    let rows = project.json(&["workflow", "list", "--json"]);
    assert_eq!(rows[0]["name"], "project");
    assert_eq!(rows[0]["default"], true);
    assert!(rows[0]["file"].as_str().unwrap().ends_with("config.yml"));
    let done = project.run(&["workflow", "list"]).expect(0);
    shows(
        &done,
        &[
            "* project",
            "`codeteam`, with what the configuration changes",
        ],
    );
    let done = project.run(&["workflow", "show"]).expect(0);
    assert_eq!(done.stdout, "overrides:\n  review:\n    role: qa\n");
    let done = project.run(&["workflow", "graph", "project"]).expect(0);
    shows(&done, &["gatekeeper: qa"]);
    let tests = "\
workflow: project
cases:
  - name: qa judges
    path: [plan, prompt, code, verify, review, commit]
  - name: and a person approves
    settings: { human_approval: true }
    path: [plan, prompt, code, verify, review, judge]
    asks: judge
";
    project.write(".codeteam/workflows/tests/project.yml", tests);
    let done = project.run(&["workflow", "test"]).expect(0);
    shows(&done, &["2 passed"]);
    // A run takes it by that name, too.
    let script = project.script("version: 1\nplays: []\n");
    let run = ["run", "x", "--workflow", "project", "--script", &script];
    project.run(&run).expect(1).says(&["planner"]);

    project.config("workflow:\n  overrides:\n    review: { role: qb }\n");
    project
        .run(&["workflow", "validate"])
        .expect(2)
        .says(&[".codeteam/config.yml:3:21", "qb"]);
}

#[test]
fn a_workflow_is_drawn_as_text_and_to_files_by_their_endings() {
    let project = project();
    project.config("workflow: flow\n");
    let done = project.run(&["workflow", "graph"]).expect(0);
    shows(
        &done,
        &[
            "● code",
            "implementer: coder",
            "only if careful is on",
            "→ done",
        ],
    );
    let done = project
        .run(&["workflow", "graph", "strict", "--format", "mermaid"])
        .expect(0);
    assert!(done.stdout.starts_with("flowchart TD\n"));
    project
        .run(&["workflow", "graph", "flow", "-o", "flow.svg"])
        .expect(0);
    assert!(project.read("flow.svg").starts_with("<svg xmlns="));
    project
        .run(&["workflow", "graph", "flow", "-o", "flow.mmd"])
        .expect(0);
    assert!(project.read("flow.mmd").starts_with("flowchart TD\n"));
    project
        .run(&["workflow", "graph", "flow", "-o", "flow.png"])
        .expect(2)
        .says(&["cannot be drawn as `.png`", "`.svg` is a picture"]);
    assert!(!project.path("flow.png").exists());
    project
        .run(&["workflow", "graph", "flow", "-o", "no/such/folder.svg"])
        .expect(1)
        .says(&["could not write"]);
}

#[test]
fn workflows_are_looked_at_without_a_project() {
    let project = Project::empty();
    project.run(&["workflow", "list"]).expect(0);
    project.run(&["workflow", "graph", "adversarial"]).expect(0);
    let done = project.run(&["workflow", "test", "--built-in"]).expect(0);
    shows(&done, &["adversarial", " passed"]);
}

#[test]
fn a_built_in_workflow_is_ejected_once() {
    let project = Project::new();
    let done = project.run(&["workflow", "eject", "strict"]).expect(0);
    assert_eq!(done.stdout, ".codeteam/workflows/strict.yml\n");
    let text = project.read(".codeteam/workflows/strict.yml");
    assert!(text.starts_with("# yaml-language-server: $schema=../schema/workflow.json\n"));
    assert!(project.path(".codeteam/schema/workflow.json").is_file());
    let shown = project
        .run(&["workflow", "show", "strict"])
        .expect(0)
        .stdout;
    assert_eq!(project.read(".codeteam/workflows/strict.yml"), shown);
    project.write(".codeteam/workflows/strict.yml", FLOW);
    project
        .run(&["workflow", "eject", "strict"])
        .expect(2)
        .says(&[
            "there is `.codeteam/workflows/strict.yml` already",
            "not touched",
        ]);
    assert_eq!(project.read(".codeteam/workflows/strict.yml"), FLOW);
    project
        .run(&["workflow", "eject", "adversaril"])
        .expect(2)
        .says(&["did you mean `adversarial`?"]);
    project
        .run(&["workflow", "eject", "solo", "--user"])
        .expect(0);
    assert!(
        project
            .home()
            .join(".config/codeteam/workflows/solo.yml")
            .is_file()
    );
    let outside = Project::empty();
    let problem = outside.run(&["workflow", "eject", "solo"]);
    problem
        .expect(2)
        .says(&["not in a git repository", "`--user`"]);
}

#[test]
fn tests_of_the_project_are_found_and_what_fails_is_shown() {
    let project = project();
    let tests = "\
workflow: flow
cases:
  - name: it goes through
    path: [code, commit]
  - name: somebody looks
    settings: { careful: true }
    answers: { look: fine }
    path: [code, look, commit]
";
    project.write(".codeteam/workflows/tests/flow.yml", tests);
    let done = project.run(&["workflow", "test"]).expect(0);
    shows(
        &done,
        &["✓ it goes through", "✓ somebody looks", "2 passed"],
    );

    let wrong = tests.replace("careful: true", "careful: false");
    project.write(".codeteam/workflows/tests/flow.yml", &wrong);
    let done = project.run(&["workflow", "test"]).expect(1);
    shows(
        &done,
        &[
            "✗ somebody looks (.codeteam/workflows/tests/flow.yml:5)",
            "the path diverges after `code` (step 1)",
            "- look",
            "never reached: `look`",
            "1 passed, 1 failed",
        ],
    );
    let done = project.run(&["workflow", "test", "--json"]).expect(1);
    let cases = &done.value()["cases"];
    assert_eq!(cases[0]["passed"], true);
    assert_eq!(cases[1]["differences"][0]["same"], 1);
    assert_eq!(cases[1]["unreached"][0], "look");
}

#[test]
fn a_workflow_beside_its_test_is_named_by_its_file() {
    let project = Project::new();
    project.write("some/flow.yml", FLOW);
    let tests = "workflow: flow.yml\ncases:\n  - name: it\n    path: [code, commit]\n";
    project.write("some/test.yml", tests);
    project
        .run(&["workflow", "test", "some/test.yml"])
        .expect(0);
}

#[test]
fn a_test_that_makes_no_sense_is_no_failing_test() {
    let project = project();
    let refused = |text: &str, says: &[&str]| {
        project.write("test.yml", text);
        project
            .run(&["workflow", "test", "test.yml"])
            .expect(2)
            .says(says);
    };
    refused(
        "workflow: flow\ncases:\n  - name: it\n    anwsers: {}\n",
        &["test.yml:4:5", "anwsers"],
    );
    refused(
        "workflow: flow\ncases:\n  - name: it\n    settings: { carefull: true }\n",
        &[
            "nothing asks for the setting `carefull`",
            "did you mean `careful`?",
            "for the case `it` (test.yml:3)",
        ],
    );
    refused(
        "workflow: nothing-like-it\ncases:\n  - name: it\n",
        &["no workflow"],
    );
    project
        .run(&["workflow", "test", "missing.yml"])
        .expect(2)
        .says(&["missing.yml"]);
    // A step that is not there is found when the workflow is known.
    project.write(
        "test.yml",
        "workflow: flow\ncases:\n  - name: it\n    answers: { cod: ok }\n",
    );
    let done = project.run(&["workflow", "test", "test.yml"]).expect(1);
    shows(
        &done,
        &["test.yml:4:16: the workflow has no step `cod` (did you mean `code`?)"],
    );
    project
        .run(&["workflow", "test"])
        .expect(2)
        .says(&["there are no tests", "--built-in"]);
}

#[test]
fn the_sample_of_the_guide_passes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = std::fs::read_to_string(file).unwrap();
    let sample = |start: &str| {
        let blocks = guide.split("```yaml\n").skip(1);
        let mut blocks = blocks.filter_map(|rest| rest.split("```").next());
        blocks
            .find(|block| block.starts_with(start))
            .unwrap()
            .to_owned()
    };
    let project = Project::new();
    project.write(".codeteam/workflows/careful.yml", &sample("name: careful"));
    project.write(
        ".codeteam/workflows/tests/careful.yml",
        &sample("workflow: careful"),
    );
    let done = project.run(&["workflow", "test"]).expect(0);
    shows(&done, &["5 passed"]);
    assert!(!done.stdout.contains("never reached"), "{}", done.stdout);
}
