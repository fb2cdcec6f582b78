//! Interfaces of a phase: written to files of the branch and locked before anybody builds on them.

use std::os::unix::fs::PermissionsExt as _;

use crate::project::{CommandResult, Project};

/// One phase with an interface; what its component does comes first.
fn script(component: &str) -> String {
    let rest = r#"
  - match: { role: feature_planner }
    do:
      - submit:
          plan: { description: Users, phases: [ { id: backend, title: The model, sequence: 1 } ], tasks: [] }
  - match: { role: tech_lead }
    do:
      - submit:
          design: One model
          components: [ { id: model, title: The model, files: [model.txt, tests/model.sh] } ]
          interfaces: [ { name: User, type: python, file: api/user.pyi, definition: "class User:\n    name: str\n" } ]
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Good } } ]
"#;
    format!("version: 1\nplays:{component}{rest}")
}

const BUILDS: &str = r#"
      - write: { path: model.txt, content: "model\n" }
      - write: { path: tests/model.sh, content: "test -e model.txt\n" }
      - submit: { summary: Made the model }"#;

fn start(project: &Project, script: &str, more: &[&str], code: i32) -> CommandResult {
    let script = project.script(script);
    let mut args = vec!["run", "x", "--workflow", "feature", "--script", &script];
    args.extend(more);
    project.run(&args).expect(code)
}

/// What the first rejection told the worker.
fn feedback(project: &Project) -> String {
    let events = project.events();
    let mut events = events.iter().map(|event| event["event"].to_string());
    let rejected = |event: &String| event.contains("step_judged") && event.contains("feedback");
    events.find(rejected).unwrap_or_default()
}

#[test]
fn interfaces_are_files_that_no_worker_can_change() {
    let project = Project::new();
    let writes = format!(
        "\n  - match: {{ kind: implementer }}\n    do:\n      - run: {{ command: '! (echo other > api/user.pyi) && ! rm -f api/user.pyi', must: true }}{BUILDS}"
    );
    start(&project, &script(&writes), &[], 0)
        .says(&["phase backend has locked User in api/user.pyi"]);
    let definition = "class User:\n    name: str";
    assert_eq!(project.committed_file("api/user.pyi"), definition);
    let log = project.git(&[
        "log",
        "--branches=codeteam/*",
        "--not",
        "main",
        "--format=%s",
        "--",
        "api",
    ]);
    assert_eq!(log, "Settle the interfaces of phase backend");
}

#[test]
fn a_change_to_a_locked_file_goes_back_with_what_differs() {
    let project = Project::new();
    let breaks = format!(
        "\n  - match: {{ kind: implementer, round: 1 }}\n    do:\n      - write: {{ path: api/user.pyi, content: \"class User:\\n    name: bytes\\n\" }}{BUILDS}\n  - match: {{ kind: implementer }}\n    do:\n      - write: {{ path: api/user.pyi, content: \"class User:\\n    name: str\\n\" }}{BUILDS}"
    );
    // Without a sandbox, nothing keeps the worker from writing: the check notices.
    start(&project, &script(&breaks), &["--no-sandbox"], 0).says(&[
        "check failed: interfaces",
        "the change changes `api/user.pyi`, the interface `User` of phase `backend`",
        "back to implement",
    ]);
    let definition = "class User:\n    name: str";
    assert_eq!(project.committed_file("api/user.pyi"), definition);
    let told = feedback(&project);
    assert!(
        told.contains("-    name: str") && told.contains("+    name: bytes"),
        "{told}"
    );
}

#[test]
fn an_interface_does_not_take_the_place_of_what_the_checks_run() {
    let project = Project::new();
    let config = project.read(".codeteam/config.yml");
    project.config(&format!(
        "{config}    - {{ name: lint, command: sh ci/run.sh }}\n"
    ));
    project.write("ci/run.sh", "grep -q hello hello.txt\n");
    project.commit("a script of the checks");
    let first = format!(
        r#"
  - match: {{ role: tech_lead, round: 1 }}
    do:
      - submit:
          design: One model
          components: [ {{ id: model, title: The model, files: [model.txt] }} ]
          interfaces: [ {{ name: User, type: text, file: ci/run.sh, definition: "exit 0" }} ]
  - match: {{ kind: implementer }}
    do:{BUILDS}"#
    );
    start(&project, &script(&first), &[], 0)
        .says(&["check failed: gate_kept", "back to interface_definition"]);
    let kept = project.committed_file("ci/run.sh");
    assert_eq!(kept, "grep -q hello hello.txt");
}

#[test]
fn a_locked_interface_changes_when_a_task_asks_for_it() {
    let project = Project::new();
    let asks = format!(
        r#"
  - match: {{ kind: implementer, generation: 1 }}
    do:
      - submit:
          interface_change: {{ interface: User, definition: "class User:\n    name: str\n    mail: str\n", reason: A user has an address }}
  - match: {{ kind: implementer }}
    do:
      - run: {{ command: 'grep mail api/user.pyi && ! (echo other > api/user.pyi)', must: true }}{BUILDS}"#
    );
    start(&project, &script(&asks), &[], 0).says(&[
        "another interface User of phase backend is asked for: A user has an address",
        "the interface User of phase backend in api/user.pyi was changed",
    ]);
    let definition = "class User:\n    name: str\n    mail: str";
    assert_eq!(project.committed_file("api/user.pyi"), definition);
    let log = project.git(&[
        "log",
        "--branches=codeteam/*",
        "--not",
        "main",
        "--format=%s",
        "--",
        "api",
    ]);
    assert_eq!(
        log,
        "model: Change the interface User of phase backend\nSettle the interfaces of phase backend"
    );
    // A commit with the task's name would say that the task is done.
    let whose = "--format=%(trailers:key=Codeteam-Task,valueonly,separator=)";
    let args = [
        "log",
        "--branches=codeteam/*",
        "--not",
        "main",
        whose,
        "--",
        "api",
    ];
    assert_eq!(project.git(&args), "backend\nbackend");
    let plans = project.path(".codeteam/planning");
    let plan = std::fs::read_dir(plans).unwrap().next().unwrap().unwrap();
    let plan = std::fs::read_to_string(plan.path().join("plan.yml")).unwrap();
    assert!(plan.contains("mail: str"), "{plan}");
}

#[test]
fn whoever_accepts_a_breakdown_sees_its_tasks_and_the_interfaces() {
    let project = Project::new();
    let script = project.script(&script(&format!(
        "\n  - match: {{ kind: implementer }}\n    do:{BUILDS}"
    )));
    let set = "workflow={ extends: feature, settings: { accept: true } }";
    let args = ["run", "x", "--script", &script, "--set", set];
    project.run(&args).expect(3);
    project.run(&["answer", "approve"]).expect(0);
    let shown = [
        "the tasks of phase backend:",
        "model  The model",
        "files   model.txt, tests/model.sh",
        "User (python) in api/user.pyi",
        "      name: str",
    ];
    project.run(&["resume"]).expect(3).says(&shown);
    let show = project.run(&["show"]).expect(0).says(&shown);
    let running = "phase     backend: running";
    assert!(show.stdout.contains(running), "{}", show.stdout);
    let asked = &project.shown_run()["questions"][0];
    assert_eq!(asked["breakdown"]["interfaces"][0]["file"], "api/user.pyi");
    assert_eq!(asked["breakdown"]["interfaces"][0]["locked"], false);
    project.run(&["answer", "approve"]).expect(0);
    project.run(&["resume"]).expect(0);
}

#[test]
fn a_function_with_other_parameters_than_the_interface_goes_back() {
    let project = Project::new();
    let first = r#"
  - match: { role: tech_lead }
    do:
      - submit:
          design: One store
          components: [ { id: store, title: The store, files: [store.py, tests/store.sh] } ]
          interfaces: [ { name: Store, type: python, definition: "def find(key: str, limit: int) -> list: ...\n" } ]
  - match: { kind: implementer, round: 1 }
    do:
      - write: { path: store.py, content: "def find(key):\n    return [key]\n" }
      - write: { path: tests/store.sh, content: "test -e store.py\n" }
      - submit: { summary: Made the store }
  - match: { kind: implementer }
    do:
      - write: { path: store.py, content: "def find(key, limit=1):\n    return [key][:limit]\n" }
      - submit: { summary: Takes the limit }"#;
    start(&project, &script(first), &[], 0)
        .says(&["check failed: interfaces", "back to implement"]);
    let told = feedback(&project);
    let differs =
        "store.py:1: `def find(key)` is `def find(key: str, limit: int) -> list` in the interface";
    assert!(told.contains(differs), "{told}");
}

#[test]
fn the_type_checker_of_the_project_tells_whether_a_change_fits() {
    let project = Project::new();
    project.write("tsconfig.json", "{}\n");
    // It stands for the real one: it knows no types, but ends as that does.
    project.write(
        "node_modules/.bin/tsc",
        "#!/bin/sh\nif grep -q 'id: 7' *.ts; then echo \"user.ts(1,7): error TS2322\"; exit 2; fi\n",
    );
    let tool = project.path("node_modules/.bin/tsc");
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.commit("a type checker");
    let first = r#"
  - match: { role: tech_lead }
    do:
      - submit:
          design: One user
          components: [ { id: user, title: The user, files: [user.ts, tests/user.sh] } ]
          interfaces: [ { name: User, type: typescript, definition: "export interface User { id: string }\n" } ]
  - match: { kind: implementer, round: 1 }
    do:
      - write: { path: user.ts, content: "const user: User = { id: 7 };\n" }
      - write: { path: tests/user.sh, content: "test -e user.ts\n" }
      - submit: { summary: Made the user }
  - match: { kind: implementer }
    do:
      - write: { path: user.ts, content: "const user: User = { id: 'seven' };\n" }
      - submit: { summary: The id is a text }"#;
    start(&project, &script(first), &[], 0).says(&[
        "check failed: interfaces",
        "error TS2322",
        "back to implement",
    ]);
    let told = feedback(&project);
    assert!(
        told.contains("`tsc` says that the change does not fit"),
        "{told}"
    );
}
