//! The checks of codeteam itself besides commands: lengths, import cycles, tests that prove
//! something.

use serde_json::Value;

use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};

/// A script in which the coder does this in its first round and that in its second.
fn rounds(first: &str, second: &str) -> String {
    format!(
        "version: 1\nplays:\n  - match: {{ role: coder, round: 1 }}\n    do:\n{first}      - \
         submit: {{ summary: First }}\n  - match: {{ role: coder }}\n    do:\n{second}      - \
         submit: {{ summary: Second }}\n  - match: {{ role: reviewer }}\n    do: [ {{ submit: {{ \
         verdict: approve, reason: Good }} }} ]\n"
    )
}

fn write(path: &str, content: &str) -> String {
    let content = serde_json::to_string(content).unwrap();
    format!("      - write: {{ path: {path}, content: {content} }}\n")
}

fn run(project: &Project, script: &str) -> CommandResult {
    let (script, workflow) = (project.script(script), project.workflow(ONE));
    project.run(&[
        "-v",
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ])
}

/// The results of the gates, one list a gate.
fn results(project: &Project) -> Vec<Vec<Value>> {
    let gates = project.events().into_iter().map(|e| e["event"].clone());
    gates
        .filter(|event| event["type"] == "gate_judged")
        .map(|event| event["results"].as_array().unwrap().clone())
        .collect()
}

/// The result of one check in the first gate, second gate, …
fn of<'r>(gates: &'r [Vec<Value>], name: &str) -> Vec<&'r Value> {
    let named = |gate: &'r Vec<Value>| gate.iter().find(|result| result["name"] == name);
    gates.iter().map(|gate| named(gate).unwrap()).collect()
}

/// A file that one check has rewritten is neither what the next one judges, nor what is committed.
#[test]
fn a_check_that_fixes_files_hides_nothing_from_the_next() {
    let project = Project::new();
    project.write("kept.txt", "kept\n");
    project.config(
        "worker: scripted\nverification:\n  commands:\n    - { name: fix, command: \"sed -i s/bad/good/ new.txt; rm kept.txt\" }\n    - { name: look, command: grep -q good new.txt && test -e kept.txt }\n",
    );
    project.commit("checks");
    let script = rounds(&write("new.txt", "bad\n"), &write("new.txt", "good\n"));
    run(&project, &script).expect(0);
    let gates = results(&project);
    let (fix, look) = (of(&gates, "fix"), of(&gates, "look"));
    assert_eq!(look[0]["passed"], false, "{gates:?}");
    assert_eq!(look[1]["passed"], true, "{gates:?}");
    let summary = fix[0]["summary"].as_str().unwrap();
    assert!(
        summary.contains("this check changed `kept.txt`, `new.txt`, which codeteam put back"),
        "{summary}"
    );
    assert_eq!(project.committed_file("new.txt"), "good");
}

#[test]
fn what_is_too_long_or_goes_round_in_rings_goes_back_to_the_coder() {
    let project = Project::new();
    let old = "x = 1\n".repeat(60);
    project.write("app/old.py", &old);
    project.write("app/a.py", "from app import b\n");
    project.write("app/b.py", "");
    project.config(
        "worker: scripted\nverification:\n  metrics: { max_file_lines: 50, max_function_lines: 10, max_import_cycles: 0 }\n",
    );
    project.commit("sources");
    let long = format!("def get_user():\n{}", "    x = 1\n".repeat(14));
    let short = format!("def get_user():\n{}", "    x = 1\n".repeat(8));
    let script = rounds(
        &[
            write("app/b.py", "import os\nfrom app import a\n"),
            write("app/user.py", &(long + &"y = 2\n".repeat(40))),
            write("app/old.py", &format!("x = 2\n{}", &old[6..])),
        ]
        .concat(),
        &[
            write("app/b.py", "import os\n"),
            write("app/user.py", &short),
        ]
        .concat(),
    );
    run(&project, &script).expect(0).says(&[
        "check failed: File Length, Method Length, Import Cycles",
        "back to code",
    ]);
    let gates = results(&project);
    let [first, second] = of(&gates, "File Length")[..] else {
        panic!("{gates:?}");
    };
    assert_eq!(first["class"], "metric");
    assert_eq!(
        first["measures"],
        serde_json::json!([
            { "of": "File Length (app/b.py)", "passed": true, "found": "2/50 lines" },
            { "of": "File Length (app/old.py)", "passed": true, "found": "60/50 lines" },
            { "of": "File Length (app/user.py)", "passed": false, "found": "55/50 lines" },
        ])
    );
    assert!(
        first["summary"]
            .as_str()
            .unwrap()
            .starts_with("app/user.py:51: the file has 55 lines, the limit is 50;"),
        "{first}"
    );
    assert_eq!(
        (&second["passed"], &second["remark"]),
        (&true.into(), &"noted".into())
    );
    let length = of(&gates, "Method Length");
    assert_eq!(length[0]["measures"][0]["of"], "Method Length (get_user)");
    assert_eq!(length[0]["measures"][0]["found"], "15/10 lines");
    assert_eq!(length[1]["measures"][0]["found"], "9/10 lines");
    let rings = of(&gates, "Import Cycles");
    let said = rings[0]["summary"].as_str().unwrap();
    assert!(
        said.starts_with("app/b.py:2: `from app import a` closes a ring of imports (app/a.py"),
        "{said}"
    );
    assert_eq!(rings[1]["passed"], true);
}

#[test]
fn a_workflows_gate_can_name_a_limit() {
    let project = Project::new();
    project.config("worker: scripted\nverification: { metrics: { max_file_lines: 1 } }\n");
    let workflow = ONE.replace("gate: project", "gate: file_length");
    let script = rounds(&write("a.py", "a\nb\n"), &write("a.py", "a\n"));
    let (script, workflow) = (project.script(&script), project.workflow(&workflow));
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    project.run(&args).expect(0);
    assert_eq!(project.committed_file("a.py"), "a");
    assert_eq!(results(&project).len(), 2);
}

/// A script for `sh`, and a test of it.
const GREET: &str = "echo \"hello $1\"\n";
const TEST: &str = "[ \"$(sh greet.sh you)\" = 'hello you' ] || exit 1\n";
/// A test that passes whatever happens.
const VAIN: &str = "echo fine\n";

/// The result of `Tests Proved` in the last gate of a run in which the coder does this.
fn proved(project: &Project, actions: &[String]) -> (CommandResult, Value) {
    let actions = actions.concat();
    let done = run(project, &rounds(&actions, &actions));
    let gates = results(project);
    let last = of(&gates, "Tests Proved").pop().unwrap().clone();
    (done, last)
}

#[test]
fn tests_that_fail_without_the_change_are_proved() {
    let project = Project::new();
    let actions = [write("greet.sh", GREET), write("tests/greet.sh", TEST)];
    let (done, found) = proved(&project, &actions);
    done.expect(0).says(&["check passed: tests"]);
    assert_eq!(found["class"], "proof");
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &Value::Null)
    );
    assert!(
        found["output"].is_string(),
        "how it failed is kept: {found}"
    );
    assert!(project.worktrees().is_empty());
}

#[test]
fn tests_that_prove_nothing_go_back() {
    let project = Project::new();
    let script = rounds(
        &[write("greet.sh", GREET), write("tests/greet.sh", VAIN)].concat(),
        &write("tests/greet.sh", TEST),
    );
    run(&project, &script)
        .expect(0)
        .says(&["check failed: Tests Proved", "back to code"]);
    let gates = results(&project);
    let [first, second] = of(&gates, "Tests Proved")[..] else {
        panic!("{gates:?}");
    };
    let said = first["summary"].as_str().unwrap();
    assert!(
        said.starts_with("the changed tests pass without the rest of the change: they prove nothing (tests/greet.sh)"),
        "{said}"
    );
    assert_eq!(second["passed"], true);
    assert_eq!(project.committed_file("tests/greet.sh"), TEST.trim_end());
}

#[test]
fn what_cannot_be_separated_is_unproved() {
    // Nothing but tests.
    let project = Project::new();
    let (done, found) = proved(&project, &[write("tests/vain.sh", VAIN)]);
    done.expect(0).says(&["unproved: Tests Proved"]);
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &"unproved".into())
    );
    assert!(found["summary"].as_str().unwrap().contains("only tests"));
    // The project's tests have failed before.
    let project = Project::new();
    project.write("tests/red.sh", "[ -e greet.sh ]\n");
    project.commit("red");
    let (done, found) = proved(
        &project,
        &[write("greet.sh", GREET), write("tests/vain.sh", VAIN)],
    );
    done.expect(0);
    assert_eq!(found["remark"], "unproved");
    let said = found["summary"].as_str().unwrap();
    assert!(said.contains("failed before the change already"), "{said}");
    // Without the change they never end.
    let project = Project::new();
    project.config("worker: scripted\nverification:\n  commands:\n    - { name: tests, command: 'for t in tests/*.sh; do [ ! -e \"$t\" ] || sh \"$t\" || exit 1; done', timeout_seconds: 1 }\n");
    let endless = "while [ ! -e greet.sh ]; do sleep 0.05; done\n";
    let (done, found) = proved(
        &project,
        &[write("greet.sh", GREET), write("tests/e.sh", endless)],
    );
    done.expect(0);
    assert_eq!(found["remark"], "unproved");
    let said = found["summary"].as_str().unwrap();
    assert!(said.contains("did not end within 1 s"), "{said}");
}

#[test]
fn a_proof_can_run_only_the_files_that_changed_and_only_be_told() {
    let project = Project::new();
    let config = |mode: &str| {
        format!(
            "worker: scripted\nverification:\n  proof: {{ commands: ['for t in {{files}}; do sh \"$t\" || exit 1; done'], mode: {mode} }}\n"
        )
    };
    project.config(&config("require"));
    project.write("tests/red.sh", "exit 1\n");
    project.commit("red");
    let name = "tests/it's new.sh";
    let test = write(&format!("\"{name}\""), TEST);
    let (done, found) = proved(&project, &[write("greet.sh", GREET), test]);
    done.expect(0);
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &Value::Null),
        "{found}"
    );
    project.config(&config("report"));
    let vain = write("tests/vain.sh", VAIN);
    let (done, found) = proved(&project, &[write("greet.sh", GREET), vain.clone()]);
    done.expect(0).says(&["noted: Tests Proved"]);
    assert!(found["summary"].as_str().unwrap().contains("prove nothing"));
    project.config(&config("\"off\""));
    run(&project, &rounds(&vain, &vain))
        .expect(0)
        .says(&["rules of codeteam's own passed; no checks are configured"]);
}

/// The commands are in one gate, and codeteam's rules in another.
#[test]
fn rules_in_a_gate_of_their_own_protect_what_the_other_gate_runs() {
    let project = Project::new();
    project.config(
        "worker: scripted\nverification:\n  commands: [ { name: lint, command: sh ci/lint.sh } ]\n",
    );
    let lint = "grep -q hello hello.txt\n";
    project.write("ci/lint.sh", lint);
    project.commit("a script of the checks");
    let both = |lint: &str, hello: &str| write("ci/lint.sh", lint) + &write("hello.txt", hello);
    let script = project.script(&rounds(
        &both("exit 0\n", "bye\n"),
        &both(lint, "hello, bye\n"),
    ));
    let workflow = project.workflow(
        "start: code\nroles: { coder: { kind: implementer } }\nsteps:\n  code: { role: coder, next: lint }\n  \
         lint: { gate: project_commands, on_fail: code, next: rules }\n  rules: { gate: project_rules, \
         on_fail: code, next: commit }\n  commit: { commit: branch, next: done }\n",
    );
    let args = [
        "run",
        "Say bye",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ];
    let done = project.run(&args).expect(0).says(&[
        "check failed: gate_kept",
        "`ci/lint.sh` is what `sh ci/lint.sh` runs",
        "rules of codeteam's own passed",
    ]);
    assert!(
        !done.stderr.contains("no checks are configured"),
        "{}",
        done.stderr
    );
    assert_eq!(project.committed_file("ci/lint.sh"), lint.trim_end());
}
