//! Checks that fail before anything is changed, and what a person changes between two tries.

use crate::project::{CommandResult, Project};

/// A coder, the project's checks and a commit; a rejection is final.
const FLOW: &str = "start: tasks\nroles: { coder: { kind: implementer } }\nsteps:\n  tasks:\n    each: task\n    next: done\n    steps:\n      code: { role: coder, next: verify, retry: { max_attempts: 1 } }\n      verify: { gate: project, next: commit }\n      commit: { commit: branch, next: done }\n";

/// A package of which one test fails, for a reason that has nothing to do with the goal.
fn project() -> Project {
    let project = Project::new();
    project.write(".gitignore", "__pycache__/\n");
    project.write("app.py", "def double(n):\n    return 2 * n\n");
    project.write(
        "test_app.py",
        "import unittest\n\nimport app\n\n\nclass TestApp(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(app.double(2), 4)\n\n    def test_broken(self):\n        self.assertEqual(1, 2)\n",
    );
    project.config("worker: scripted\nverification:\n  commands: [ { name: Tests, command: python3 -m unittest -q } ]\n");
    project.commit("first");
    project
}

fn go(project: &Project, code: &str, more: &[&str]) -> CommandResult {
    let code = serde_json::to_string(code).unwrap();
    let script = project.script(&format!("version: 1\nplays:\n  - match: {{ role: coder }}\n    do:\n      - write: {{ path: app.py, content: {code} }}\n      - submit: {{ summary: Done }}\n"));
    let flow = project.workflow(FLOW);
    let plan = project.write_outside(
        "plan.yml",
        "tasks:\n  - { id: T1, description: Triple, files: [ app.py ] }\n",
    );
    let args = [
        "run",
        "Triple",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    let args: Vec<&str> = args.into_iter().chain(more.iter().copied()).collect();
    let mut command = project.codeteam(&args);
    command.env_remove("CODETEAM_VERIFICATION__BASELINE");
    CommandResult::from(command.output().unwrap())
}

const TRIPLE: &str = "def double(n):\n    return 2 * n\n\n\ndef triple(n):\n    return 3 * n\n";

#[test]
fn a_check_that_fails_already_stops_the_run_before_a_model_is_asked() {
    let project = project();
    go(&project, TRIPLE, &[]).expect(1).says(&[
        "`Tests` fails before anything is changed, and would refuse every change",
        "$ python3 -m unittest -q",
        "test_broken",
        "--baseline new_failures",
        "--baseline must_pass",
        "no model was asked",
    ]);
    assert!(!project.path(".codeteam/runs").exists());
    assert_eq!(project.survivors(), Vec::<String>::new());
}

#[test]
fn only_new_failures_count_if_somebody_says_so() {
    let project = project();
    go(&project, TRIPLE, &["--baseline", "new_failures"])
        .expect(0)
        .says(&[
            "fails before anything is changed (test_broken",
            "only new failures count",
        ]);
    let events = project.events();
    let gate = events
        .iter()
        .map(|event| &event["event"])
        .rfind(|event| event["type"] == "gate_judged")
        .unwrap();
    let tests = &gate["results"][0];
    assert_eq!(
        (&tests["passed"], &tests["remark"]),
        (&true.into(), &"noted".into())
    );
    let said = tests["summary"].as_str().unwrap();
    assert!(
        said.contains("only what failed before the run fails"),
        "{said}"
    );
    let worse = "def double(n):\n    return n\n";
    go(&project, worse, &["--baseline", "new_failures"])
        .expect(1)
        .says(&["check failed: Tests"]);
    let report = project.run(&["report"]);
    assert!(
        report
            .stdout
            .contains("these did not fail before the run, or were repaired since: test_double"),
        "{}",
        report.stdout
    );
}

#[test]
fn what_names_no_tests_cannot_be_compared() {
    let project = project();
    project.config("worker: scripted\nverification:\n  baseline: new_failures\n  commands: [ { name: Lint, command: 'echo bad style; exit 1' } ]\n");
    go(&project, TRIPLE, &[]).expect(1).says(&[
        "`Lint` fails before anything is changed, and its output does not name every test",
        "bad style",
    ]);
}

#[test]
fn what_passes_is_tried_once_for_a_commit() {
    let project = project();
    project.config("worker: scripted\nverification:\n  commands: [ { name: Slow, command: 'echo \"tried> $(ls | wc -l)\"' } ]\n");
    project.commit("second");
    let tried = |done: &CommandResult| done.stderr.matches("| tried>").count();
    let first = go(&project, TRIPLE, &["-v"]).expect(0);
    let again = go(&project, TRIPLE, &["-v"]).expect(0);
    assert_eq!(
        tried(&first),
        tried(&again) + 1,
        "{}\n{}",
        first.stderr,
        again.stderr
    );
}

/// A run whose only change touches a file that the plan keeps for another task.
fn refused() -> Project {
    let project = Project::new();
    project.config(
        "worker: scripted\nverification:\n  commands: [ { name: Tests, command: 'true' } ]\n",
    );
    project.commit("first");
    let script = project.script("version: 1\nplays:\n  - match: { role: coder, task: T1 }\n    do:\n      - write: { path: a.txt, content: a }\n      - write: { path: b.txt, content: b }\n      - submit: { summary: Done }\n  - match: { role: coder, task: T2 }\n    do:\n      - write: { path: c.txt, content: c }\n      - submit: { summary: Done }\n");
    let flow = project.workflow(FLOW);
    let plan = project.write_outside(
        "plan.yml",
        "tasks:\n  - { id: T1, description: One, files: [ a.txt ] }\n  - { id: T2, description: Two, files: [ b.txt, c.txt ], dependencies: [ T1 ] }\n",
    );
    let args = [
        "run",
        "Do it",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    project
        .run(&args)
        .expect(1)
        .says(&["check failed: scope", "approve", "overrules scope"])
        .says(&["  change  codeteam diff "]);
    let shown = project.run(&["diff"]).expect(0);
    shown.says(&["nothing is committed yet; `codeteam diff ", " --task "]);
    project
}

fn attempts(project: &Project) -> u64 {
    project.shown_run()["cost"]["attempts"].as_u64().unwrap()
}

#[test]
fn a_person_accepts_what_a_check_refused_after_the_run_has_ended() {
    let project = refused();
    let before = attempts(&project);
    project
        .run(&["approve", "-m", "needed"])
        .expect(0)
        .says(&["this overrules scope", "codeteam resume"]);
    project.run(&["resume"]).expect(0);
    assert_eq!(
        attempts(&project),
        before + 1,
        "only the second task was paid for"
    );
    assert_eq!(project.committed_files(), ["a.txt", "b.txt", "c.txt"]);
    let events = project.events();
    let accepted = events.iter().find(|e| e["event"]["type"] == "accepted");
    assert_eq!(accepted.unwrap()["event"]["over"][0], "verify");
}

#[test]
fn files_added_to_the_plan_count_in_the_next_round() {
    let project = refused();
    let before = attempts(&project);
    let folder = project.path(".codeteam/planning/feature-0001/plan.yml");
    let plan = std::fs::read_to_string(&folder).unwrap();
    let plan = plan
        .replace("files: [\"a.txt\"]", "files: [\"a.txt\", \"b.txt\"]")
        .replace("files: [\"b.txt\", \"c.txt\"]", "files: [\"c.txt\"]");
    std::fs::write(&folder, plan).unwrap();
    project.run(&["retry"]).expect(0).says(&[
        "the plan was changed by hand",
        "the plan was changed, 2 tasks now",
    ]);
    assert_eq!(
        attempts(&project),
        before + 1,
        "the change was judged again as it was"
    );
    assert_eq!(project.committed_files(), ["a.txt", "b.txt", "c.txt"]);
}

#[test]
fn other_checks_count_in_the_next_round() {
    let project = refused();
    let before = attempts(&project);
    project.config("worker: scripted\nverification:\n  honesty: { scope: report }\n  commands: [ { name: Tests, command: 'true' } ]\n");
    project.run(&["retry"]).expect(0).says(&[
        "the checks are configured differently now",
        "changed the checks of verify",
    ]);
    assert_eq!(attempts(&project), before + 1);
    assert_eq!(project.committed_files(), ["a.txt", "b.txt", "c.txt"]);
}

/// A package of two modules; a test fails for each of them. The first task writes what it is given
/// into `a.py`, the second one what it is given into `a.py` and `b.py`.
fn two_repairs(first: &str, second: [&str; 2], more: &[&str]) -> (Project, CommandResult) {
    let project = Project::new();
    project.write(".gitignore", "__pycache__/\n");
    project.write("a.py", "N = 0\n");
    project.write("b.py", "N = 0\n");
    project.write(
        "test_app.py",
        "import unittest\n\nimport a\nimport b\n\n\nclass TestApp(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(a.N, 1)\n\n    def test_b(self):\n        self.assertEqual(b.N, 1)\n",
    );
    project.config("worker: scripted\nverification:\n  commands: [ { name: Tests, command: python3 -m unittest -q } ]\n");
    project.commit("first");
    let [a, b] = second;
    let script = project.script(&format!("version: 1\nplays:\n  - match: {{ role: coder, task: T1 }}\n    do:\n      - write: {{ path: a.py, content: \"N = {first}\\n\" }}\n      - submit: {{ summary: Done }}\n  - match: {{ role: coder, task: T2 }}\n    do:\n      - write: {{ path: a.py, content: \"N = {a}\\n\" }}\n      - write: {{ path: b.py, content: \"N = {b}\\n\" }}\n      - submit: {{ summary: Done }}\n"));
    let flow = project.workflow(FLOW);
    let plan = project.write_outside(
        "plan.yml",
        "tasks:\n  - { id: T1, description: One, files: [ a.py ] }\n  - { id: T2, description: Two, files: [ a.py, b.py ], dependencies: [ T1 ] }\n",
    );
    let args = [
        "run",
        "Repair",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    let args: Vec<&str> = args.into_iter().chain(more.iter().copied()).collect();
    let mut command = project.codeteam(&args);
    command.env_remove("CODETEAM_VERIFICATION__BASELINE");
    let done = CommandResult::from(command.output().unwrap());
    (project, done)
}

#[test]
fn a_test_that_a_task_has_repaired_must_not_fail_again() {
    let (project, done) = two_repairs("1", ["0", "2"], &["--baseline", "new_failures"]);
    done.expect(1).says(&["check failed: Tests"]);
    let report = project.run(&["report"]);
    assert!(
        report
            .stdout
            .contains("these did not fail before the run, or were repaired since: test_a"),
        "{}",
        report.stdout
    );
}

#[test]
fn what_still_fails_at_the_end_is_said() {
    let (project, done) = two_repairs("1", ["1", "2"], &["--baseline", "new_failures"]);
    done.expect(0).says(&[
        "check passed: Tests (1 test that failed before the run still fails)",
        "1 test that failed before the run still fails: test_b",
    ]);
    let runs = std::fs::read_dir(project.path(".codeteam/runs")).unwrap();
    let run = runs.flatten().next().unwrap().path();
    let summary = std::fs::read_to_string(run.join("summary.md")).unwrap();
    assert!(
        summary
            .contains("## Result: ⚠️ DONE — 1 test that failed before the run still fails: test_b"),
        "{summary}"
    );
}

#[test]
fn tasks_may_make_a_check_pass_one_after_the_other() {
    let (_, done) = two_repairs("1", ["1", "1"], &["--baseline", "must_pass"]);
    let done = done.expect(0);
    assert!(!done.stderr.contains("still fails: "), "{}", done.stderr);
}

#[test]
fn the_last_task_must_make_the_check_pass() {
    let (_, done) = two_repairs("1", ["1", "2"], &["--baseline", "must_pass"]);
    done.expect(1).says(&[
        "check passed: Tests (1 test that failed before the run still fails)",
        "check failed: Tests",
    ]);
}
