//! `codeteam deps`: what imports tell about a plan, what is asked, and what is written.

use expect_test::expect;
use serde_json::json;

use crate::project::{CommandResult, Project};

/// The plan of the design documents, without the dependencies that are to be found.
const PLAN: &str = r#"# The plan for users to log in.
feature:
  id: P1T5
  title: "User Authentication System"

  phases:
    - id: backend
      sequence: 1
      components:
        - id: user_model
          files: ["models/user.py", "migrations/001_users.py"]
          depends_on: []

        - id: auth_service # signs people in
          files: ["services/auth.py"]

        - id: auth_endpoints
          files: ["api/auth.py"]
          depends_on: [] # not known yet

    - id: frontend
      sequence: 2  # Can start after backend interfaces defined
      components:
        - id: login_form
          files: ["components/Login.tsx"]
"#;

/// A project of which parts are written; the user's model is not.
fn project() -> Project {
    let project = Project::new();
    project.write("services/auth.py", "import redis\nimport hashlib\n");
    project.write(
        "api/auth.py",
        "import json\n\nfrom models.user import User\nfrom services.auth import AuthService\n\n\ndef late():\n    from models.user import Session\n",
    );
    project.write(
        "components/Login.tsx",
        "import React from 'react';\nimport { login } from '@/api/auth';\n",
    );
    project.write("package.json", r#"{ "dependencies": { "react": "19" } }"#);
    project.write("plan.yml", PLAN);
    project.commit("parts");
    project
}

/// Answers the questions of `deps` on a terminal.
fn answered(project: &Project, answers: &str) -> CommandResult {
    let binary = env!("CARGO_BIN_EXE_codeteam");
    let line = format!("printf '{answers}' | script -qec '\"{binary}\" deps plan.yml' /dev/null");
    project.paste(&line)
}

#[test]
fn without_a_terminal_it_shows_and_changes_nothing() {
    let project = project();
    let done = project.run(&["deps", "plan.yml"]).expect(0);
    let done = done.says(&["nothing was added; `codeteam deps plan.yml --yes` adds what is new"]);
    expect![[r#"
        Detected dependencies:
          auth_endpoints → user_model (from: "from models.user import User", api/auth.py:3, and 1 more)
          auth_endpoints → auth_service (from: "from services.auth import AuthService", api/auth.py:4)

        In the plan already:
          login_form → auth_endpoints (from: "import { login } from '@/api/auth';", components/Login.tsx:2)

        Unconfirmed, neither a file of a task nor a known package:
          auth_service → redis (from: "import redis", services/auth.py:1)
    "#]].assert_eq(&done.stdout);
    assert_eq!(project.read("plan.yml"), PLAN);
}

#[test]
fn yes_adds_what_is_sure_and_leaves_the_rest_as_it_is_written() {
    let project = project();
    let done = project.run(&["deps", "plan.yml", "--yes"]).expect(0);
    done.says(&["added 2 dependencies to plan.yml"]);
    let expected = PLAN.replace(
        "depends_on: [] # not known yet",
        "depends_on: [user_model, auth_service] # not known yet",
    );
    assert_eq!(project.read("plan.yml"), expected);
    // What is there is said to be there, and not written again.
    let done = project.run(&["deps", "plan.yml", "--yes"]).expect(0);
    assert!(
        done.stdout.contains("In the plan already:"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains("Detected"), "{}", done.stdout);
    assert_eq!(project.read("plan.yml"), expected);
    assert_eq!(project.git(&["status", "--short"]), " M plan.yml");
}

#[test]
fn json_says_it_all() {
    let project = project();
    let value = project.json(&["deps", "plan.yml", "--json"]);
    let expected = json!({
        "plan": "plan.yml",
        "dependencies": [
            {
                "task": "auth_endpoints", "on": "user_model", "standing": "new",
                "file": "api/auth.py", "line": 3, "statement": "from models.user import User",
                "imports": 2,
            },
            {
                "task": "auth_endpoints", "on": "auth_service", "standing": "new",
                "file": "api/auth.py", "line": 4,
                "statement": "from services.auth import AuthService", "imports": 1,
            },
            {
                "task": "login_form", "on": "auth_endpoints", "standing": "present",
                "file": "components/Login.tsx", "line": 2,
                "statement": "import { login } from '@/api/auth';", "imports": 1,
            },
        ],
        "unconfirmed": [{
            "task": "auth_service", "module": "redis",
            "file": "services/auth.py", "line": 1, "statement": "import redis",
        }],
        "added": [],
        "notes": [],
    });
    assert_eq!(value, expected);
    let value = project.json(&["deps", "plan.yml", "--json", "--yes"]);
    assert_eq!(
        value["added"][0],
        json!({ "task": "auth_endpoints", "on": "user_model" })
    );
}

#[test]
fn on_a_terminal_it_asks() {
    let project = project();
    let no = answered(&project, "skip\\nn\\n");
    assert!(
        no.stdout.contains("[component/external/skip]"),
        "{}",
        no.stdout
    );
    assert!(
        no.stdout.contains("Add these to the plan? [Y/n/edit]"),
        "{}",
        no.stdout
    );
    assert!(no.stdout.contains("nothing was added"), "{}", no.stdout);
    assert_eq!(project.read("plan.yml"), PLAN);
    // The end of the input is no answer.
    answered(&project, "external\\n");
    assert_eq!(project.read("plan.yml"), PLAN);
    let some = answered(&project, "what\\nexternal\\nedit\\nn\\ny\\n");
    assert!(
        some.stdout.contains("added 1 dependency"),
        "{}",
        some.stdout
    );
    assert!(
        project
            .read("plan.yml")
            .contains("depends_on: [auth_service] # not")
    );
}

#[test]
fn an_import_that_nobody_knows_may_be_made_by_a_task() {
    let project = project();
    let done = answered(&project, "component\\nuser_modle\\nuser_model\\n\\n");
    assert!(
        done.stdout.contains("did you mean `user_model`?"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("added 3 dependencies"),
        "{}",
        done.stdout
    );
    let plan = project.read("plan.yml");
    let expected =
        "        - id: auth_service # signs people in\n          dependencies: [user_model]\n";
    assert!(plan.contains(expected), "{plan}");
}

#[test]
fn what_cannot_be_is_said_and_never_written() {
    let project = Project::new();
    project.write("a.py", "import b\n");
    project.write("b.py", "import a\nimport late\n");
    project.write("done.py", "import a\n");
    project.write("c.py", "import a\nimport b\n");
    project.write("late.py", "");
    let plan = "phases:\n  - id: one\n  - id: two\ntasks:
  - { id: a, files: [a.py], phase: one }
  - { id: b, files: [b.py], phase: one }
  - { id: c, files: [c.py], phase: one, dependencies: [b] }
  - { id: done, files: [done.py], phase: one, status: completed }
  - { id: late, files: [late.py], phase: two }
";
    project.write("plan.yml", plan);
    let done = project.run(&["deps", "plan.yml", "--yes"]).expect(0);
    expect![[r#"
        Detected dependencies:
          c → a (from: "import a", c.py:1)

        In the plan already:
          c → b (from: "import b", c.py:2)

        Not added, as these tasks would wait for each other:
          a → b (from: "import b", a.py:1)
          b → a (from: "import a", b.py:1)

        Not added, as these need a task of a later phase:
          b → late (from: "import late", b.py:2)

        Not added, as these tasks have begun and can no longer be changed:
          done → a (from: "import a", done.py:1)
    "#]]
    .assert_eq(&done.stdout);
    let after = plan.replace(
        "{ id: c, files: [c.py], phase: one, dependencies: [b] }",
        "{ id: c, files: [c.py], phase: one, dependencies: [b, a] }",
    );
    assert_eq!(project.read("plan.yml"), after);
}

#[test]
fn folders_of_tasks_hold_what_will_be_written() {
    let project = Project::new();
    project.write("go.mod", "module example.org/shop\n");
    project.write(
        "main.go",
        "package main\n\nimport \"example.org/shop/cart\"\n",
    );
    project.write(
        "app.py",
        "from shop.cart.lines import Line\nimport nowhere\n",
    );
    project.write("plan.yml", "tasks:\n  - { id: main, files: [main.go, app.py] }\n  - { id: cart, files: [cart/] }\n  - { id: lines, files: [shop/] }\n");
    let value = project.json(&["deps", "plan.yml", "--json"]);
    let found = value["dependencies"].as_array().unwrap();
    let found: Vec<_> = found.iter().map(|d| (&d["task"], &d["on"])).collect();
    let (main, cart, lines) = (json!("main"), json!("cart"), json!("lines"));
    assert_eq!(found, [(&main, &cart), (&main, &lines)]);
    assert_eq!(value["unconfirmed"][0]["module"], "nowhere");
}

#[test]
fn the_newest_plan_is_meant() {
    let project = Project::new();
    let none = project.run(&["deps"]).expect(2);
    none.says(&[
        "there is no plan",
        "hint: name a file: `codeteam deps plan.yml`",
    ]);
    project.write("b.py", "import a\n");
    let plan = "tasks:\n  - { id: a, files: [a.py] }\n  - { id: b, files: [b.py] }\n";
    project.write(".codeteam/planning/feature-0001/plan.yml", plan);
    let value = project.json(&["deps", "--json"]);
    assert_eq!(value["plan"], ".codeteam/planning/feature-0001/plan.yml");
    assert_eq!(value["dependencies"][0]["on"], "a");
    project.run(&["deps", "missing.yml"]).expect(2);
    project.write("plan.yml", "tasks:\n  - id: a\n    dependencies: [b]\n");
    let bad = project.run(&["deps", "plan.yml"]).expect(2);
    bad.says(&["plan.yml:2:5", "depends on `b`"]);
}

#[test]
fn what_a_repository_says_does_nothing_to_a_terminal_and_no_link_is_followed() {
    let project = Project::new();
    project.write(
        "a.py",
        "import \u{1b}[2J\nfrom b import c # \u{1b}]0;x\u{7}\nimport d\u{202e}e\n",
    );
    project.write_outside("secret.py", "from secret_of_ada import key\n");
    std::os::unix::fs::symlink(project.home().join("secret.py"), project.path("link.py")).unwrap();
    project.write(
        "plan.yml",
        "tasks:\n  - { id: a, files: [a.py, link.py] }\n  - { id: b, files: [b.py] }\n",
    );
    let done = project.run(&["deps", "plan.yml"]).expect(0);
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{said:?}");
    assert!(!said.contains("secret_of_ada"), "{said}");
    assert!(
        said.contains("`link.py` is, or is behind, a symbolic link"),
        "{said}"
    );
    assert!(said.contains("a → b"), "{said}");
}

#[test]
fn a_plan_is_not_changed_while_it_is_carried_out() {
    let project = Project::new();
    project.write("last.py", "import right\n");
    project.commit("parts");
    let script = project.script("version: 1\nplays:\n  - match: { role: coder }\n    do: [ { write: { path: left.py, content: '' } }, { submit: { summary: Made it } } ]\n");
    let workflow = project.workflow("start: tasks\nroles: { coder: { kind: implementer } }\nsteps:\n  tasks:\n    each: task\n    next: done\n    steps:\n      code: { role: coder, next: ask }\n      ask: { person: Good?, answers: { approve: commit } }\n      commit: { commit: branch, next: done }\n");
    let plan = "tasks:\n  - { id: left, files: [left.py] }\n  - { id: right, files: [right.py], dependencies: [left] }\n  - { id: last, files: [last.py], dependencies: [left] }\n";
    let plan = project.write_outside("plan.yml", plan);
    let args = [
        "run",
        "x",
        "--wait",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--plan",
        &plan,
    ];
    let mut run = project.start(&args);
    run.until("a person must decide");
    let before = project.json(&["deps", "--json"]);
    assert_eq!(before["dependencies"][0]["standing"], "new");
    project
        .run(&["deps", "--yes"])
        .expect(2)
        .says(&["is under way and carries this plan out", "hint: stop it"]);
    project.run(&["abort"]).expect(0);
    run.end();
    project
        .run(&["deps", "--yes"])
        .expect(0)
        .says(&["added 1 dependency"]);
    let written = project.read(before["plan"].as_str().unwrap());
    assert!(
        written.contains("dependencies: [\"left\", \"right\"]"),
        "{written}"
    );
}

#[test]
fn no_import_tells_a_secret() {
    let key = ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let project = project();
    project.write("services/auth.py", &format!("import {key}\n"));
    for args in [&["deps", "plan.yml"][..], &["deps", "plan.yml", "--json"]] {
        let done = project.run(args);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(!done.stdout.contains(&key), "{}", done.stdout);
        assert!(done.stdout.contains("[redacted: "), "{}", done.stdout);
    }
}

#[test]
fn a_link_of_the_repository_does_not_lead_out_of_it() {
    let project = project();
    let outside = project.write_outside("plan.yml", PLAN);
    std::os::unix::fs::symlink(&outside, project.path("linked.yml")).unwrap();
    let done = project.run(&["deps", "linked.yml", "--yes"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(
        done.stderr.contains("leads out of the repository"),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), PLAN);
    project.run(&["deps", &outside, "--yes"]).expect(0);
    assert_ne!(std::fs::read_to_string(&outside).unwrap(), PLAN);
}
