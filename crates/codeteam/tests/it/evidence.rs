//! What codeteam finds out about the tests themselves: whether they notice mistakes in the changed
//! lines, whether they pass each time, and which changed lines they run.
//!
//! The project is a small Python package. Its gate is a real one: `python3 -m unittest`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::project::{CommandResult, Project};

/// One coder, the project's checks and a reviewer; a rejection is final.
const FLOW: &str = r"
start: tasks
settings: { audit_trail: true }
roles: { coder: { kind: implementer }, reviewer: { kind: gatekeeper } }
steps:
  tasks:
    each: task
    next: done
    steps:
      code: { role: coder, next: verify, retry: { max_attempts: 1 } }
      verify: { gate: project, next: review }
      review: { role: reviewer, next: commit }
      commit: { commit: branch, next: done }
";

const PRICE: &str = "def price(count):\n    return 3 * count\n";
const PRICE_TEST: &str = "import unittest\n\nfrom app.cart import price\n\n\nclass TestPrice(unittest.TestCase):\n    def test_price(self):\n        self.assertEqual(price(2), 6)\n";

/// The change: a discount from more than ten items on.
const DISCOUNT: &str = "def price(count):\n    return 3 * count\n\n\ndef discount(count):\n    if count > 10:\n        return 5\n    return 0\n";

fn discount_test(asserted: &[&str]) -> String {
    let mut text = "import unittest\n\nfrom app.cart import discount\n\n\nclass TestDiscount(unittest.TestCase):\n".to_owned();
    for (n, (call, expected)) in asserted
        .iter()
        .filter_map(|a| a.split_once(" is "))
        .enumerate()
    {
        writeln!(
            text,
            "    def test_{n}(self):\n        self.assertEqual({call}, {expected})\n"
        )
        .unwrap();
    }
    text
}

fn project(verification: &str) -> Project {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write(".gitignore", "__pycache__/\n*.state\n");
    project.write("app/__init__.py", "");
    project.write("app/cart.py", PRICE);
    project.write("tests/__init__.py", "");
    project.write("tests/test_price.py", PRICE_TEST);
    project.config(&format!(
        "worker: scripted\nverification:\n  commands:\n    - {{ name: Tests, command: python3 -m unittest discover -q, timeout_seconds: 60 }}\n{verification}"
    ));
    project.commit("first");
    project
}

fn write(path: &str, content: &str) -> String {
    let content = serde_json::to_string(content).unwrap();
    format!("write: {{ path: {path}, content: {content} }}")
}

fn go(project: &Project, actions: &[String]) -> CommandResult {
    go_through(project, FLOW, actions)
}

fn go_through(project: &Project, flow: &str, actions: &[String]) -> CommandResult {
    let mut script = "version: 1\nplays:\n  - match: { role: coder }\n    do:\n".to_owned();
    for action in actions {
        writeln!(script, "      - {action}").unwrap();
    }
    script.push_str("      - submit: { summary: Done }\n  - match: { role: reviewer }\n    do: [ { submit: { verdict: approve, reason: Good } } ]\n");
    let plan =
        "tasks:\n  - { id: T1, description: Add a discount, files: [ app/cart.py, tests/** ] }\n";
    let (plan, flow) = (
        project.write_outside("plan.yml", plan),
        project.workflow(flow),
    );
    let script = project.script(&script);
    let args = [
        "run",
        "Add a discount",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    project.run(&args)
}

/// The last result of a check, if it has one.
fn result(project: &Project, name: &str) -> Option<Value> {
    let events = project.events();
    let mut gates = events.iter().map(|event| &event["event"]);
    let gate = gates.rfind(|event| event["type"] == "gate_judged");
    let gate = gate.unwrap_or_else(|| panic!("no gate: {events:?}"));
    let results = gate["results"].as_array().unwrap();
    results
        .iter()
        .find(|result| result["name"] == name)
        .cloned()
}

/// The findings that were opened, by their titles.
fn findings(project: &Project) -> Vec<String> {
    let events = project.events();
    let events = events.iter().map(|event| &event["event"]);
    let opened = events
        .filter(|event| event["type"] == "findings_changed")
        .flat_map(|event| event["opened"].as_array().into_iter().flatten());
    opened
        .map(|finding| finding["report"]["title"].as_str().unwrap().to_owned())
        .collect()
}

/// What the reviewer was told.
fn reviewer_prompt(project: &Project) -> String {
    let mut found = String::new();
    for run in std::fs::read_dir(project.path(".codeteam/runs")).unwrap() {
        let audit = run.unwrap().path().join("audit");
        for file in std::fs::read_dir(audit).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            if path.to_string_lossy().contains("prompt") && text.contains("Role: reviewer\n") {
                found.push_str(&text);
            }
        }
    }
    found
}

const MUTANTS: &str = "Mutants Noticed";
const REPEATED: &str = "Tests Repeated";

#[test]
fn mistakes_that_no_test_notices_are_left_to_the_reviewer() {
    let project = project("");
    let tests = discount_test(&["discount(20) is 5", "discount(1) is 0"]);
    let actions = [
        write("app/cart.py", DISCOUNT),
        write("tests/test_discount.py", &tests),
    ];
    go(&project, &actions).expect(0);
    let found = result(&project, MUTANTS).unwrap();
    assert_eq!(found["class"], "evidence");
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &Value::Null),
        "{found}"
    );
    assert_eq!(found["measures"][0]["found"], "4 of 6", "{found}");
    let summary = found["summary"].as_str().unwrap();
    assert_eq!(
        summary,
        "no test noticed: `>` became `>=` at app/cart.py:6\nno test noticed: `10` became `11` at app/cart.py:6"
    );
    let title = "no test noticed 2 of 6 mistakes put into the changed lines";
    assert_eq!(findings(&project), [title]);
    let report = project.run(&["report"]).expect(0).stdout;
    assert!(
        report.contains("`>` became `>=` at app/cart.py:6"),
        "{report}"
    );
    let told = reviewer_prompt(&project);
    for text in [
        "- Mutants Noticed: passed: 4 of 6\n  no test noticed: `>` became `>=` at app/cart.py:6",
        "- Tests Repeated: passed: 5 further runs",
        "do not run them again",
        title,
    ] {
        assert!(told.contains(text), "lacks {text:?}: {told}");
    }
    // What was tried is gone.
    assert_eq!(project.committed_file("app/cart.py"), DISCOUNT.trim_end());
    assert!(project.worktrees().is_empty());
}

#[test]
fn tests_that_notice_every_mistake_have_nothing_to_say() {
    let project = project("");
    let tests = discount_test(&["discount(11) is 5", "discount(10) is 0"]);
    let actions = [
        write("app/cart.py", DISCOUNT),
        write("tests/test_discount.py", &tests),
    ];
    go(&project, &actions).expect(0);
    let found = result(&project, MUTANTS).unwrap();
    assert_eq!(found["measures"][0]["found"], "6 of 6", "{found}");
    assert_eq!(found["summary"], Value::Null, "{found}");
    assert_eq!(findings(&project), [""; 0]);
}

/// A worker tidies up, and holds on to what was there before with a test.
#[test]
fn idle_tests_are_left_to_the_reviewer_where_tests_notice_each_mistake() {
    let project = project("");
    let tidy = PRICE.replace("    return 3", "    unit = 3\n    return unit");
    let test = PRICE_TEST
        .replace("TestPrice", "TestMore")
        .replace("price(2), 6", "price(3), 9");
    let actions = [
        write("app/cart.py", &tidy),
        write("tests/test_more.py", &test),
    ];
    go(&project, &actions).expect(0);
    let found = result(&project, "Tests Proved").unwrap();
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &"noted".into()),
        "{found}"
    );
    assert_eq!(
        findings(&project),
        ["the changed tests pass without the rest of the change"]
    );
    // Without the trial of mutants nothing speaks for the tests.
    let without = self::project("  mutants: { max_count: 0 }\n");
    go(&without, &actions)
        .expect(1)
        .says(&["check failed: Tests Proved"]);
}

#[test]
fn tests_that_are_only_renamed_need_not_prove_anything() {
    let (project, done) = with_unit_tests(|tests| {
        tests.replace(
            "    #[test]\n    fn nothing_costs_nothing",
            "    #[test] fn nothing_is_free",
        )
    });
    done.expect(0);
    let found = result(&project, "Tests Proved").unwrap();
    assert_eq!(found["passed"], true, "{found}");
    assert!(
        findings(&project)
            .contains(&"the changed tests pass without the rest of the change".into()),
        "{found}"
    );
}

#[test]
fn code_that_no_test_runs_is_pointed_out_and_a_limit_refuses_it() {
    let actions = [write("app/cart.py", DISCOUNT)];
    let lenient = project("");
    go(&lenient, &actions)
        .expect(0)
        .says(&["noted: Mutants Noticed"]);
    let found = result(&lenient, MUTANTS).unwrap();
    assert_eq!(found["remark"], "noted");
    let summary = found["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("no test noticed anything that was made wrong in the changed lines:"),
        "{summary}"
    );
    assert_eq!(
        findings(&lenient),
        ["no test noticed any of 6 mistakes put into the changed lines"]
    );
    let strict = project("  mutants: { max_surviving_percent: 50 }\n");
    go(&strict, &actions)
        .expect(1)
        .says(&["check failed: Mutants Noticed"]);
    let events = strict.events();
    let rejected = events
        .iter()
        .find(|event| event["event"]["type"] == "step_judged")
        .unwrap();
    let feedback = rejected["event"]["feedback"][0]["text"].as_str().unwrap();
    assert!(
        feedback.contains("`>` became `>=` at app/cart.py:6"),
        "{feedback}"
    );
    // Fewer are not asked for by default, and none where the user says so.
    let without = project("  mutants: { max_count: 0 }\n");
    go(&without, &actions).expect(0);
    assert_eq!(result(&without, MUTANTS), None);
}

#[test]
fn a_change_without_code_or_tests_in_its_language_has_nothing_to_try() {
    let project = project("");
    go(&project, &[write("notes.md", "1 < 2\n")]).expect(0);
    let found = result(&project, MUTANTS).unwrap();
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &Value::Null)
    );
    let summary = found["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("nothing was tried: the change has no line"),
        "{summary}"
    );
    let report = project.run(&["report"]).expect(0).stdout;
    assert!(report.contains("NONE"), "{report}");
}

/// A project whose coder adds a test file with this class.
fn with_test(verification: &str, class: &str) -> (Project, CommandResult) {
    let project = project(verification);
    let tests = format!("import os\nimport unittest\n\nfrom app.cart import discount\n\n\n{class}");
    let actions = [
        write("app/cart.py", DISCOUNT),
        write("tests/test_discount.py", &tests),
    ];
    let done = go(&project, &actions);
    (project, done)
}

/// A test that passes once in each tree.
const ONCE: &str = "class TestOnce(unittest.TestCase):\n    def test_once(self):\n        self.assertEqual(discount(11), 5)\n        self.assertFalse(os.path.exists('once.state'))\n        open('once.state', 'w').close()\n";

#[test]
fn a_test_that_does_not_pass_each_time_is_refused() {
    let (project, done) = with_test("", ONCE);
    done.expect(1).says(&["check failed: Tests Repeated"]);
    let found = result(&project, REPEATED).unwrap();
    let summary = found["summary"].as_str().unwrap();
    assert!(summary.contains("test_once"), "{summary}");
    assert!(
        summary.contains("failed when run again on the same tree"),
        "{summary}"
    );
    // Nothing is made wrong in a change that is refused.
    assert_eq!(result(&project, MUTANTS), None);
    let (project, done) = with_test("  repeats: { mode: report }\n", ONCE);
    done.expect(0).says(&["noted: Tests Repeated"]);
    assert!(
        findings(&project).contains(&"a test of the change does not pass each time".to_owned())
    );
    let (project, done) = with_test("  repeats: { mode: 'off' }\n", ONCE);
    done.expect(0);
    assert_eq!(result(&project, REPEATED), None);
}

#[test]
fn a_new_test_that_needs_another_one_is_refused() {
    let class = "SEEN = []\n\n\nclass TestOrder(unittest.TestCase):\n    def test_a(self):\n        SEEN.append(discount(11))\n        self.assertEqual(SEEN, [5])\n\n    def test_b(self):\n        self.assertEqual(discount(10), 0)\n        self.assertEqual(SEEN, [5])\n";
    let (project, done) = with_test("", class);
    done.expect(1);
    let found = result(&project, REPEATED).unwrap();
    let summary = found["summary"].as_str().unwrap();
    for text in [
        "fails in another order",
        "tests/test_discount.py::TestOrder::test_b: fails alone",
    ] {
        assert!(summary.contains(text), "lacks {text:?}: {summary}");
    }
    assert!(!summary.contains("test_a: fails alone"), "{summary}");
}

#[test]
fn tests_that_pass_each_time_have_nothing_to_say() {
    let project = project("");
    let tests = discount_test(&["discount(11) is 5", "discount(10) is 0"]);
    let actions = [
        write("app/cart.py", DISCOUNT),
        write("tests/test_discount.py", &tests),
    ];
    go(&project, &actions).expect(0);
    let found = result(&project, REPEATED).unwrap();
    assert_eq!(
        (&found["passed"], &found["summary"]),
        (&true.into(), &Value::Null),
        "{found}"
    );
    // Twice together, once in another order, and both alone.
    assert_eq!(found["measures"][0]["found"], "5 further runs", "{found}");
}

#[test]
fn changed_lines_that_the_tests_did_not_run_are_shown() {
    let project = project("");
    project.write(
        "check.sh",
        "python3 -m unittest discover -q || exit 1\nprintf 'SF:%s/app/cart.py\\nDA:1,1\\nDA:6,3\\nDA:7,0\\nDA:8,2\\nend_of_record\\n' \"$PWD\" > coverage.state\nmv coverage.state coverage/lcov.info 2>/dev/null || true\n",
    );
    project.write("coverage/.gitignore", "*\n!.gitignore\n");
    project.config("worker: scripted\nverification:\n  commands:\n    - { name: Tests, command: sh check.sh, timeout_seconds: 60 }\n");
    project.commit("coverage");
    let tests = discount_test(&["discount(1) is 0"]);
    let actions = [
        write("app/cart.py", DISCOUNT),
        write("tests/test_discount.py", &tests),
    ];
    go(&project, &actions).expect(0);
    let found = result(&project, "Tests").unwrap();
    assert_eq!(
        found["coverage"],
        serde_json::json!({ "report": "coverage/lcov.info", "covered": 2, "lines": 3, "missed": ["app/cart.py:7"] })
    );
    let report = project.run(&["report"]).expect(0).stdout;
    let said = "- **Changed Lines Run:** 2 of 3 (coverage/lcov.info); not run: app/cart.py:7";
    assert!(report.contains(said), "{report}");
}

#[test]
fn what_a_step_demands_of_its_tests_is_checked() {
    let project = project("");
    project.write(
        "check.sh",
        "python3 -m unittest discover -q || exit 1\nprintf 'SF:%s/app/cart.py\\nDA:1,1\\nDA:6,3\\nDA:7,0\\nDA:8,2\\nend_of_record\\n' \"$PWD\" > coverage.state\nmv coverage.state coverage/lcov.info 2>/dev/null || true\n",
    );
    project.write("coverage/.gitignore", "*\n!.gitignore\n");
    project.config("worker: scripted\nverification:\n  commands:\n    - { name: Tests, command: sh check.sh, timeout_seconds: 60 }\n");
    project.commit("coverage");
    let tests = discount_test(&["discount(1) is 0"]);
    let actions = [
        write("app/cart.py", DISCOUNT),
        write("tests/test_discount.py", &tests),
    ];
    let demand = |config: &str| {
        let step = format!("code: {{ role: coder, config: {{ {config} }}, next");
        FLOW.replace("code: { role: coder, next", &step)
    };
    let checked = |config: &str, code: i32, check: &str| {
        go_through(&project, &demand(config), &actions).expect(code);
        let found = result(&project, check).unwrap();
        assert_eq!(found["passed"], code == 0, "{found}");
        found["summary"].as_str().unwrap_or_default().to_owned()
    };
    let summary = checked("min_tests_per_component: 2", 1, "number of tests");
    assert!(summary.contains("at least 2 tests"), "{summary}");
    assert_eq!(
        checked("min_tests_per_component: 1", 0, "number of tests"),
        ""
    );
    let summary = checked("coverage: 80", 1, "coverage");
    assert!(summary.contains("2 of 3 (coverage/lcov.info)"), "{summary}");
    assert_eq!(checked("coverage: 60", 0, "coverage"), "");
}

/// What the first process has seen is in the log.
#[test]
fn a_check_that_passes_after_a_restart_on_the_tree_that_it_failed_on_is_marked() {
    let project = project("");
    project.config("worker: scripted\nverification:\n  commands:\n    - { name: Build, command: 'test -e ~/meet/once || { touch ~/meet/once; exit 1; }' }\n");
    project.commit("flaky");
    let script = "version: 1\nplays:\n  - match: { role: coder }\n    do: [ { write: { path: notes.md, content: x } }, { submit: { summary: Done } } ]\n  - match: { role: reviewer }\n    do: [ { submit: { verdict: approve, reason: Good } } ]\n";
    let (script, flow) = (project.script(script), project.workflow(FLOW));
    let plan = project.write_outside("plan.yml", "tasks: [ { id: T1, description: Notes } ]\n");
    let args = [
        "run",
        "Notes",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
        "--baseline",
        "must_pass",
    ];
    project.run(&args).expect(1);
    project.run(&["retry"]).expect(0);
    project.run(&["resume"]).expect(0);
    let found = result(&project, "Build").unwrap();
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &"noted".into()),
        "{found}"
    );
    let summary = found["summary"].as_str().unwrap();
    assert!(
        summary.contains("before codeteam was started again"),
        "{summary}"
    );
}

/// A gate whose command fails the first time in a run, wherever it is.
#[test]
fn a_check_that_fails_and_then_passes_on_the_same_tree_is_marked() {
    let project = project("");
    project.config("worker: scripted\nverification:\n  commands:\n    - { name: Build, command: 'test -e ~/meet/once || { touch ~/meet/once; exit 1; }' }\n");
    project.commit("flaky");
    let flow = FLOW.replace(
        "verify: { gate: project, next: review }",
        "verify: { gate: project, next: review, on_fail: again }\n      again: { gate: project, next: review }",
    );
    let script = "version: 1\nplays:\n  - match: { role: coder }\n    do: [ { write: { path: notes.md, content: x } }, { submit: { summary: Done } } ]\n";
    let (script, flow) = (project.script(script), project.workflow(&flow));
    let plan = project.write_outside("plan.yml", "tasks: [ { id: T1, description: Notes } ]\n");
    project.run(&[
        "run",
        "Notes",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
        "--baseline",
        "must_pass",
    ]);
    let found = result(&project, "Build").unwrap();
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &"noted".into()),
        "{found}"
    );
    let summary = found["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("flaky: it failed on the same tree before"),
        "{summary}"
    );
    assert!(findings(&project).contains(&"the check `Build` is flaky".to_owned()));
}

/// A crate whose coder changes its code and the tests in the same file.
fn with_unit_test(body: &str) -> (Project, CommandResult) {
    with_unit_tests(|tests| {
        format!("{tests}\n    #[test]\n    fn new() {{\n        {body}\n    }}\n")
    })
}

/// The same, with the tests of the file changed like this.
fn with_unit_tests(change: impl Fn(&str) -> String) -> (Project, CommandResult) {
    let project = Project::empty();
    let toolchain = crate::package::toolchain();
    let toolchain = toolchain.display();
    project.user_config(&format!("sandbox:\n  toolchains: [ {toolchain} ]\n"));
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write(".gitignore", "target\nCargo.lock\n");
    project.write(
        "Cargo.toml",
        "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    let code = "pub fn price(count: u32) -> u32 {\n    2 * count\n}\n";
    let tests = "\n#[cfg(test)]\nmod tests {\n    use super::price;\n\n    #[test]\n    fn nothing_costs_nothing() {\n        assert_eq!(price(0), 0);\n    }\n";
    project.write("src/lib.rs", &format!("{code}{tests}}}\n"));
    project.config(&format!(
        "worker: scripted\nverification:\n  commands:\n    - name: cargo test\n      command: PATH={toolchain}/bin:$PATH cargo test --offline --lib\n"
    ));
    project.commit("first");
    let code = code.replace("2 * count", "3 * count");
    let changed = format!("{code}{}}}\n", change(tests));
    let script = format!(
        "version: 1\nplays:\n  - match: {{ role: coder }}\n    do:\n      - {}\n      - submit: {{ summary: Done }}\n  - match: {{ role: reviewer }}\n    do: [ {{ submit: {{ verdict: approve, reason: Good }} }} ]\n",
        write("src/lib.rs", &changed)
    );
    let (script, flow) = (project.script(&script), project.workflow(FLOW));
    let plan = project.write_outside(
        "plan.yml",
        "tasks: [ { id: T1, description: Prices, files: [src/lib.rs] } ]\n",
    );
    let args = [
        "run",
        "Prices",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    let done = project.run(&args);
    (project, done)
}

#[test]
fn unit_tests_of_rust_are_proved_on_the_old_code() {
    let (project, done) = with_unit_test("assert_eq!(price(2), 6);");
    done.expect(0);
    let found = result(&project, "Tests Proved").unwrap();
    assert_eq!(
        (&found["passed"], &found["remark"]),
        (&true.into(), &Value::Null),
        "{found}"
    );
    assert!(
        found["output"].is_string(),
        "how it failed is kept: {found}"
    );
    let found = result(&project, MUTANTS).unwrap();
    assert_eq!(found["measures"][0]["passed"], true, "{found}");
    let (project, done) = with_unit_test("assert_eq!(price(0), 0);");
    done.expect(1);
    let found = result(&project, "Tests Proved").unwrap();
    let summary = found["summary"].as_str().unwrap();
    assert!(
        summary.contains("they prove nothing (src/lib.rs)"),
        "{summary}"
    );
}

#[test]
fn new_tests_that_pass_without_the_change_are_named_for_reviewers() {
    let (project, done) = with_unit_test(
        "assert_eq!(price(2), 6);\n    }\n\n    #[test]\n    fn idle() {\n        assert_eq!(1, 1);",
    );
    done.expect(0);
    let found = result(&project, "Tests Proved").unwrap();
    assert_eq!(
        found["findings"][0]["title"],
        "new tests pass without the change, too"
    );
    let detail = found["findings"][0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("tests::idle:"), "{detail}");
}

/// Tests of another runner, which it runs by file.
#[test]
fn scripts_of_node_are_proved_repeated_and_mutated() {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write("cart.js", "exports.price = (count) => 2 * count;\n");
    project.write("test/old.test.js", "const test = require('node:test');\nconst assert = require('node:assert');\ntest('old', () => assert.strictEqual(require('../cart.js').price(0), 0));\n");
    project.config("worker: scripted\nverification:\n  commands:\n    - { name: Tests, command: node --test test/, timeout_seconds: 60 }\n");
    project.commit("first");
    let actions = [
        write(
            "cart.js",
            "exports.price = (count) => 2 * count;\nexports.discount = (count) => {\n  if (count > 10) return 5;\n  return 0;\n};\n",
        ),
        write(
            "test/discount.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { discount } = require('../cart.js');\ntest('discount', () => {\n  assert.strictEqual(discount(11), 5);\n  assert.strictEqual(discount(10), 0);\n});\n",
        ),
    ];
    let mut script = "version: 1\nplays:\n  - match: { role: coder }\n    do:\n".to_owned();
    for action in actions {
        writeln!(script, "      - {action}").unwrap();
    }
    script.push_str("      - submit: { summary: Done }\n  - match: { role: reviewer }\n    do: [ { submit: { verdict: approve, reason: Good } } ]\n");
    let plan = project.write_outside("plan.yml", "tasks: [ { id: T1, description: Discount } ]\n");
    let (script, flow) = (project.script(&script), project.workflow(FLOW));
    project
        .run(&[
            "run",
            "Discount",
            "--plan",
            &plan,
            "--script",
            &script,
            "--workflow",
            &flow,
        ])
        .expect(0);
    for (name, found) in [
        ("Tests Proved", None),
        (REPEATED, Some("2 further runs")),
        (MUTANTS, Some("6 of 6")),
    ] {
        let result = result(&project, name).unwrap();
        assert_eq!(
            (&result["passed"], &result["remark"]),
            (&true.into(), &Value::Null),
            "{result}"
        );
        assert_eq!(result["measures"][0]["found"].as_str(), found, "{result}");
    }
}

#[test]
fn what_the_tests_are_worth_is_not_found_out_again_for_a_replay() {
    let project = project("");
    let play = |task: &str, name: &str| {
        let code = format!("def {name}(count):\n    return 3 * count\n");
        let tests = format!(
            "import unittest\n\nfrom app.{name} import {name}\n\n\nclass Test{task}(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual({name}(2), 6)\n"
        );
        format!(
            "  - match: {{ role: coder, task: {task} }}\n    do:\n      - {}\n      - {}\n      - submit: {{ summary: Done }}\n",
            write(&format!("app/{name}.py"), &code),
            write(&format!("tests/test_{name}.py"), &tests)
        )
    };
    let script = format!(
        "version: 1\nplays:\n{}{}  - match: {{ role: reviewer }}\n    do: [ {{ submit: {{ verdict: approve, reason: Good }} }} ]\n",
        play("T1", "one"),
        play("T2", "two")
    );
    let tasks = "tasks:\n  - { id: T1, description: One, files: [ app/one.py ] }\n  - { id: T2, description: Two, files: [ app/two.py ] }\n";
    let flow = FLOW.replace("each: task\n", "each: task\n    cap: 2\n");
    let (script, flow) = (project.script(&script), project.workflow(&flow));
    let path = project.write_outside("plan.yml", tasks);
    project
        .run(&[
            "run",
            "Two",
            "--plan",
            &path,
            "--script",
            &script,
            "--workflow",
            &flow,
        ])
        .expect(0);
    let events = project.events();
    let gates: Vec<&Value> = events
        .iter()
        .map(|event| &event["event"])
        .filter(|event| event["type"] == "gate_judged")
        .collect();
    let [.., replayed] = gates[..] else {
        panic!("{gates:?}")
    };
    assert_eq!(gates.len(), 3, "{gates:?}");
    let first = gates
        .iter()
        .find(|gate| gate["id"]["frame"] == replayed["id"]["frame"])
        .unwrap();
    assert_ne!(first["tree"], replayed["tree"]);
    let of = |gate: &Value| {
        let results = gate["results"].as_array().unwrap().clone();
        let named = results.into_iter().find(|result| result["name"] == MUTANTS);
        named.unwrap()
    };
    assert_eq!(of(first), of(replayed));
    assert_eq!(of(first)["measures"][0]["passed"], true);
}
