//! The contract by its own examples, and what goes back to the worker.

use serde_json::json;

use super::*;
use crate::role::{Contract, EditMode, RoleKind};
use crate::submission::{AnswerForm, parse, parse_constrained};

fn form(kind: RoleKind) -> AnswerForm {
    AnswerForm {
        kind,
        contract: Contract::Strict,
        mode: EditMode::Edits,
        asks: false,
        requests: false,
    }
}

fn refused(kind: RoleKind, answer: &Value) -> String {
    parse(form(kind), &answer.to_string()).unwrap_err()
}

fn task(id: &str) -> Value {
    json!({"id": id, "title": "Do it", "rationale": "it is needed", "acceptance": "it is done",
           "artifacts": ["src/a.py"]})
}

#[test]
fn tasks_follow_each_other() {
    let answer = json!({"plan_id": "plan_0001", "tasks": [task("T1"), task("T2"), task("T3")]});
    let parsed = parse(form(RoleKind::Planner), &answer.to_string());
    let Ok(Submission::Plan(PlanSubmission { plan })) = parsed else {
        panic!("{parsed:?}")
    };
    let on: Vec<Vec<&str>> = plan
        .tasks
        .iter()
        .map(|t| t.dependencies.iter().map(TaskId::as_str).collect())
        .collect();
    assert_eq!(on, [vec![], vec!["T1"], vec!["T2"]]);
    assert_eq!(plan.plan_id, "", "the run has its own name for it");
    let first = &plan.tasks[0];
    assert_eq!(first.description, "it is needed");
    assert_eq!(first.acceptance, ["it is done"]);
    assert_eq!(first.files, ["src/a.py"]);
    assert_eq!(plan.check(9), []);
}

#[test]
fn what_is_wrong_with_a_plan_is_named_by_its_place() {
    let plan = |tasks: &[Value]| json!({"plan_id": "plan_0001", "tasks": tasks});
    let without = |key: &str, value: Value| {
        let mut task = task("T1");
        task[key] = value;
        refused(RoleKind::Planner, &plan(&[task]))
    };
    assert_eq!(
        refused(RoleKind::Planner, &plan(&[task("T1"), task("T3")])),
        "at `tasks[1].id`: it must be `T2`, not `T3`"
    );
    assert_eq!(
        without("title", json!("")),
        "`tasks[0].title` must not be empty"
    );
    assert_eq!(
        without("acceptance", json!(" ")),
        "`tasks[0].acceptance` must not be empty"
    );
    assert_eq!(
        without("artifacts", json!([])),
        "`tasks[0].artifacts` must name at least one file"
    );
    assert_eq!(
        without("artifacts", json!("a.py")),
        "at `tasks[0].artifacts`: invalid type: string \"a.py\", expected a list"
    );
    let missing = without("rationale", Value::Null);
    assert_eq!(missing, "at `tasks[0]`: missing field `rationale`");
}

#[test]
fn a_plan_has_the_name_that_was_told() {
    let answered = |plan_id: &str, told| -> Result<String, String> {
        let answer = json!({"plan_id": plan_id, "tasks": [task("T1")]}).to_string();
        let about = SubmissionConstraints {
            plan: Some(told),
            ..SubmissionConstraints::default()
        };
        match parse_constrained(form(RoleKind::Planner), &answer, &about)? {
            Submission::Plan(planned) => Ok(planned.plan.plan_id),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        answered("feature-0021", "feature-0021").unwrap(),
        "feature-0021"
    );
    assert_eq!(answered("plan_0001", "plan_0001").unwrap(), "plan_0001");
    assert_eq!(answered("plan_0001", "").unwrap(), "");
    for other in ["feature-0020", "plan_0001"] {
        assert_eq!(
            answered(other, "feature-0021").unwrap_err(),
            format!("at `plan_id`: `{other}` is not the plan's id; it must be `feature-0021`")
        );
    }
    assert_eq!(
        answered("mine", "").unwrap_err(),
        "at `plan_id`: `mine` is not the plan's id; it must be `plan_0001`"
    );
}

#[test]
fn edits_are_whole_files_in_the_order_of_their_paths() {
    let edit = |path: &str| json!({"path": path, "content": path});
    let answer = json!({"edits": [edit("src/b.py"), edit("README.md"), edit("src/a.py")]});
    let parsed = parse(form(RoleKind::Implementer), &answer.to_string());
    let Ok(Submission::Change(change)) = parsed else {
        panic!("{parsed:?}")
    };
    let paths: Vec<&str> = change.edits.iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, ["README.md", "src/a.py", "src/b.py"]);
    assert_eq!(change.summary, "3 files are given whole");

    let twice =
        |a: &str, b: &str| refused(RoleKind::Implementer, &json!({"edits": [edit(a), edit(b)]}));
    assert_eq!(twice("a.py", "a.py"), "`a.py` is edited twice");
    assert!(twice("src/a.py", "src//a.py").contains("is edited twice"));
    let none = refused(RoleKind::Implementer, &json!({"edits": []}));
    assert!(none.contains("every file that changes"), "{none}");
    let outside = refused(RoleKind::Implementer, &json!({"edits": [edit("../a.py")]}));
    assert!(outside.contains("not a file of the worktree"), "{outside}");
    let deleted = refused(
        RoleKind::Implementer,
        &json!({"edits": [{"path": "a.py", "delete": true}]}),
    );
    assert!(deleted.contains("unknown field `delete`"), "{deleted}");
}

fn judged(task: &str, passed: bool, report: &str) -> String {
    json!({"task_id": task, "passed": passed, "report": report}).to_string()
}

#[test]
fn a_report_is_the_reason_and_names_its_task() {
    let reason = |passed: bool, report: &str| {
        let parsed = parse(form(RoleKind::Gatekeeper), &judged("T1", passed, report));
        let Ok(Submission::Verdict(verdict)) = parsed else {
            panic!("{parsed:?}")
        };
        assert_eq!(verdict.verdict == VerdictChoice::Approve, passed);
        verdict.reason
    };
    assert_eq!(
        reason(true, "=== 5 passed in 0.12s ==="),
        "=== 5 passed in 0.12s ==="
    );
    assert_eq!(
        reason(false, "F\nE  assert 1 == 2\n1 failed in 0.03s\n"),
        "the tests failed: 1 failed in 0.03s\n\nF\nE  assert 1 == 2\n1 failed in 0.03s\n"
    );
    assert_eq!(reason(true, ""), "the tests passed and printed nothing");
    assert_eq!(reason(false, " "), "the tests failed and printed nothing");
    let about = |task: &str| {
        let task = TaskId::from(task);
        let about = SubmissionConstraints {
            task: Some(&task),
            ..SubmissionConstraints::default()
        };
        parse_constrained(form(RoleKind::Gatekeeper), &judged("T1", true, "x"), &about).map(|_| ())
    };
    assert_eq!(about("T1"), Ok(()));
    assert_eq!(
        about("T2").unwrap_err(),
        "at `task_id`: `T2` is to be judged, not `T1`"
    );
}

#[test]
fn a_gatekeeper_says_what_the_tests_say_in_the_order_that_is_fixed() {
    let said = |answer: &str, passed: bool| {
        let about = SubmissionConstraints {
            passed: Some(passed),
            ..SubmissionConstraints::default()
        };
        parse_constrained(form(RoleKind::Gatekeeper), answer, &about).map(|_| ())
    };
    assert_eq!(said(&judged("T1", true, "x"), true), Ok(()));
    assert_eq!(said(&judged("T1", false, "x"), false), Ok(()));
    assert_eq!(
        said(&judged("T1", true, "x"), false).unwrap_err(),
        "at `passed`: it must be `false`, because the tests did not end with 0"
    );
    assert_eq!(
        said(&judged("T1", false, "x"), true).unwrap_err(),
        "at `passed`: it must be `true`, because the tests ended with 0"
    );
    // What a CLI adds for the keys that are left out is not said.
    let with_nulls = r#"{"task_id":"T1","passed":true,"report":"x","status":null,"reason":null}"#;
    assert_eq!(said(with_nulls, true), Ok(()));
    let order = "the keys must be in this order: `task_id`, `passed`, `report`";
    for answer in [
        r#"{"passed":true,"task_id":"T1","report":"x"}"#,
        r#"{"task_id":"T1","report":"x","passed":true}"#,
    ] {
        assert_eq!(said(answer, true).unwrap_err(), order);
    }
    let more = said(
        r#"{"task_id":"T1","passed":true,"report":"x","notes":""}"#,
        true,
    );
    assert!(more.unwrap_err().starts_with("unknown field `notes`"));
}

#[test]
fn a_long_output_is_told_by_its_two_ends() {
    let exact = "ä".repeat(4_000);
    assert_eq!(shorten_report(&exact), exact);
    let long = format!(
        "{}{}{}",
        "a".repeat(2_500),
        "ß".repeat(501),
        "z".repeat(1_000)
    );
    let told = shorten_report(&long);
    assert_eq!(
        told,
        format!("{}\n...\n{}", "a".repeat(2_500), "z".repeat(1_000))
    );
    assert_eq!(shorten_report(&told), told, "once is enough");

    let answer = judged("T1", true, "all is well");
    let mended = with_report(&answer, &told).unwrap();
    assert_eq!(mended, judged("T1", true, &told));
    assert_eq!(with_report(&mended, &told), None);
    let long = judged("T1", true, &"x".repeat(4_001));
    assert_eq!(with_report(&long, "x"), None, "that is to be refused");
    assert_eq!(with_report("Here: {}", "x"), None);
}

#[test]
fn only_what_a_task_lists_is_touched() {
    let change = |path: &str, root: Option<&str>, files: &[&str]| {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let about = SubmissionConstraints {
            files: Some(&files),
            root,
            ..SubmissionConstraints::default()
        };
        let answer = json!({"edits": [{"path": path, "content": "x"}]}).to_string();
        match parse_constrained(form(RoleKind::Implementer), &answer, &about)? {
            Submission::Change(change) => Ok(change.edits[0].path.clone()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(change("a.py", None, &["b.py", "a.py"]).unwrap(), "a.py");
    assert_eq!(
        change("src//a.py", None, &["src/a.py"]).unwrap(),
        "src//a.py"
    );
    assert_eq!(change("docs/a.md", None, &["docs/"]).unwrap(), "docs/a.md");
    let other: Result<String, String> = change("c.py", None, &["a.py", "b.py"]);
    assert_eq!(
        other.unwrap_err(),
        "`c.py` is not one of the task's artifacts: a.py, b.py"
    );
    assert!(change("docsx/a.md", None, &["docs/"]).is_err());

    let root = Some("workspace");
    let files = ["workspace/src/a.py"];
    assert_eq!(
        change("src/a.py", root, &files).unwrap(),
        "workspace/src/a.py"
    );
    assert_eq!(
        change("workspace/src/a.py", root, &files).unwrap_err(),
        "`workspace/src/a.py` is not one of the task's artifacts: src/a.py"
    );
    for outside in [
        "../src/a.py",
        "/etc/passwd",
        "src/../../a.py",
        ".git/config",
    ] {
        let why = change(outside, root, &files).unwrap_err();
        assert_eq!(why, format!("`{outside}` is not a file of the worktree"));
    }
}

/// The seed's own example, to the letter, in and out of a folder.
#[test]
fn a_plan_is_told_as_it_was_given() {
    let given = r#"{"plan_id":"plan_0001","tasks":[{"id":"T1","title":"Implement get_user_stats","rationale":"Provide summary statistics for user data","acceptance":"get_user_stats(data) returns dict with count, mean","artifacts":["src/stats.py"]}]}"#;
    for root in [None, Some("workspace")] {
        let about = SubmissionConstraints {
            plan: Some("plan_0001"),
            root,
            ..SubmissionConstraints::default()
        };
        let parsed = parse_constrained(form(RoleKind::Planner), given, &about);
        let Ok(Submission::Plan(PlanSubmission { plan })) = parsed else {
            panic!("{parsed:?}")
        };
        let file = if root.is_some() {
            "workspace/src/stats.py"
        } else {
            "src/stats.py"
        };
        assert_eq!(plan.tasks[0].files, [file]);
        assert_eq!(plan_for_worker(&plan, root).to_string(), given);
    }
    let mut outside = task("T1");
    outside["artifacts"] = json!(["src/a.py", "../b.py"]);
    let plan = json!({"plan_id": "plan_0001", "tasks": [outside]});
    assert_eq!(
        refused(RoleKind::Planner, &plan),
        "at `tasks[0].artifacts`: `../b.py` is not a file of the project"
    );
}

#[test]
fn an_error_is_blocked() {
    for kind in [
        RoleKind::Planner,
        RoleKind::Implementer,
        RoleKind::Gatekeeper,
    ] {
        let parsed = parse(
            form(kind),
            r#"{"status":"error","reason":"no such file","edits":null}"#,
        );
        let blocked = "no such file".to_owned();
        assert_eq!(parsed, Ok(Submission::Blocked(BlockedReason { blocked })));
        for (answer, words) in [
            (json!({"status": "error"}), "missing field `reason`"),
            (
                json!({"status": "error", "reason": ""}),
                "`reason` must not be empty",
            ),
            (
                json!({"status": "ok", "reason": "x"}),
                "at `status`: unknown variant `ok`, expected `error`",
            ),
            (
                json!({"status": "error", "reason": "x", "passed": true}),
                ERROR_ALONE,
            ),
        ] {
            assert_eq!(refused(kind, &answer), words);
        }
        let native = refused(kind, &json!({"blocked": "x"}));
        assert!(native.starts_with("unknown field `blocked`"), "{native}");
        for words in ["Here it is: {}", "```json\n{}\n```", "{} Done.", "[]"] {
            let why = parse(form(kind), words).unwrap_err();
            assert!(why.starts_with("the answer "), "{why}");
        }
    }
}

#[test]
fn texts_are_short_and_files_are_not() {
    let (most, more) = ("ä".repeat(MAX_CHARS), "ä".repeat(MAX_CHARS + 1));
    let report = |report: &str| json!({"task_id": "T1", "passed": true, "report": report});
    assert!(parse(form(RoleKind::Gatekeeper), &report(&most).to_string()).is_ok());
    assert_eq!(
        refused(RoleKind::Gatekeeper, &report(&more)),
        "at `report`: 4001 characters are too many; a text may have 4000"
    );
    let mut long = task("T1");
    long["artifacts"] = json!(["a.py", more]);
    let plan = json!({"plan_id": "plan_0001", "tasks": [long]});
    assert!(refused(RoleKind::Planner, &plan).starts_with("at `tasks[0].artifacts[1]`: 4001"));
    assert!(
        refused(
            RoleKind::Planner,
            &json!({"status": "error", "reason": more})
        )
        .contains("`reason`")
    );
    assert!(refused(RoleKind::Planner, &json!({"blocked": more})).contains("`blocked`"));

    let hidden = json!({"edits": [{"path": "a.py", "content": {"content": more}}]});
    assert!(refused(RoleKind::Implementer, &hidden).contains("4001"));
    let edits = |path: &str| json!({"edits": [{"path": path, "content": more}]});
    assert!(parse(form(RoleKind::Implementer), &edits("a.py").to_string()).is_ok());
    assert!(refused(RoleKind::Implementer, &edits(&more)).starts_with("at `edits[0].path`: 4001"));
}

/// A place is written down once, and not for every value on the way.
#[test]
fn a_long_key_before_many_values_costs_nothing() {
    let answer = json!({"x".repeat(1 << 20): vec![0; 1 << 20]});
    assert!(refused(RoleKind::Planner, &answer).starts_with("unknown field"));
}
