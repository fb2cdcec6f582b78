//! The contract by its own examples, and what goes back to the worker.

use serde_json::json;

use super::*;
use crate::role::{Contract, Kind, Mode};
use crate::submission::{Form, parse, parse_about};

fn form(kind: Kind) -> Form {
    Form {
        kind,
        contract: Contract::Strict,
        mode: Mode::Edits,
        asks: false,
    }
}

fn refused(kind: Kind, answer: &Value) -> String {
    parse(form(kind), &answer.to_string()).unwrap_err()
}

fn task(id: &str) -> Value {
    json!({"id": id, "title": "Do it", "rationale": "it is needed", "acceptance": "it is done",
           "artifacts": ["src/a.py"]})
}

#[test]
fn tasks_follow_each_other() {
    let answer = json!({"plan_id": "plan_0001", "tasks": [task("T1"), task("T2"), task("T3")]});
    let parsed = parse(form(Kind::Planner), &answer.to_string());
    let Ok(Submission::Plan(Planned { plan })) = parsed else {
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
        refused(Kind::Planner, &plan(&[task]))
    };
    assert_eq!(
        refused(Kind::Planner, &plan(&[task("T1"), task("T3")])),
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
        "at `tasks[0].artifacts`: invalid type: string \"a.py\", expected a sequence"
    );
    let missing = without("rationale", Value::Null);
    assert_eq!(missing, "at `tasks[0]`: missing field `rationale`");
}

#[test]
fn a_plan_has_the_name_that_was_told() {
    let answered = |plan_id: &str, told| -> Result<String, String> {
        let answer = json!({"plan_id": plan_id, "tasks": [task("T1")]}).to_string();
        let about = About {
            plan: Some(told),
            task: None,
        };
        match parse_about(form(Kind::Planner), &answer, &about)? {
            Submission::Plan(planned) => Ok(planned.plan.plan_id),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        answered("feature-0021", "feature-0021").unwrap(),
        "feature-0021"
    );
    assert_eq!(answered("plan_0001", "feature-0021").unwrap(), "");
    assert_eq!(
        answered("feature-0020", "feature-0021").unwrap_err(),
        "at `plan_id`: `feature-0020` is not the plan's id; it must be `feature-0021` or `plan_0001`"
    );
    assert_eq!(
        answered("mine", "").unwrap_err(),
        "at `plan_id`: `mine` is not the plan's id; it must be `plan_0001`"
    );
}

#[test]
fn edits_are_whole_files_in_the_order_of_their_paths() {
    let edit = |path: &str| json!({"path": path, "content": path});
    let answer = json!({"edits": [edit("src/b.py"), edit("README.md"), edit("src/a.py")]});
    let parsed = parse(form(Kind::Implementer), &answer.to_string());
    let Ok(Submission::Change(change)) = parsed else {
        panic!("{parsed:?}")
    };
    let paths: Vec<&str> = change.edits.iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, ["README.md", "src/a.py", "src/b.py"]);
    assert_eq!(change.summary, "3 files are given whole");

    let twice =
        |a: &str, b: &str| refused(Kind::Implementer, &json!({"edits": [edit(a), edit(b)]}));
    assert_eq!(twice("a.py", "a.py"), "`a.py` is edited twice");
    assert!(twice("src/a.py", "src//a.py").contains("is edited twice"));
    let none = refused(Kind::Implementer, &json!({"edits": []}));
    assert!(none.contains("every file that changes"), "{none}");
    let outside = refused(Kind::Implementer, &json!({"edits": [edit("../a.py")]}));
    assert!(outside.contains("not a file of the worktree"), "{outside}");
    let deleted = refused(
        Kind::Implementer,
        &json!({"edits": [{"path": "a.py", "delete": true}]}),
    );
    assert!(deleted.contains("unknown field `delete`"), "{deleted}");
}

#[test]
fn a_report_is_the_reason_and_names_its_task() {
    let answer = |passed: bool| {
        json!({"task_id": "T1", "passed": passed, "report": "=== 5 passed in 0.12s ==="})
            .to_string()
    };
    for (passed, choice) in [(true, Choice::Approve), (false, Choice::Reject)] {
        let parsed = parse(form(Kind::Gatekeeper), &answer(passed));
        let Ok(Submission::Verdict(verdict)) = parsed else {
            panic!("{parsed:?}")
        };
        assert_eq!(verdict.verdict, choice);
        assert_eq!(verdict.reason, "=== 5 passed in 0.12s ===");
    }
    let about = |task: &str| {
        let task = TaskId::from(task);
        let about = About {
            task: Some(&task),
            plan: None,
        };
        parse_about(form(Kind::Gatekeeper), &answer(true), &about).map(|_| ())
    };
    assert_eq!(about("T1"), Ok(()));
    assert_eq!(
        about("T2").unwrap_err(),
        "at `task_id`: `T2` is to be judged, not `T1`"
    );
    let silent = json!({"task_id": "T1", "passed": true, "report": ""});
    assert_eq!(
        refused(Kind::Gatekeeper, &silent),
        "`report` must not be empty"
    );
}

#[test]
fn an_error_is_blocked() {
    for kind in [Kind::Planner, Kind::Implementer, Kind::Gatekeeper] {
        let parsed = parse(
            form(kind),
            r#"{"status":"error","reason":"no such file","edits":null}"#,
        );
        let blocked = "no such file".to_owned();
        assert_eq!(parsed, Ok(Submission::Blocked(Blocked { blocked })));
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
    }
}

#[test]
fn texts_are_short_and_files_are_not() {
    let (most, more) = ("ä".repeat(MAX_CHARS), "ä".repeat(MAX_CHARS + 1));
    let report = |report: &str| json!({"task_id": "T1", "passed": true, "report": report});
    assert!(parse(form(Kind::Gatekeeper), &report(&most).to_string()).is_ok());
    assert_eq!(
        refused(Kind::Gatekeeper, &report(&more)),
        "at `report`: 4001 characters are too many; a text may have 4000"
    );
    let mut long = task("T1");
    long["artifacts"] = json!(["a.py", more]);
    let plan = json!({"plan_id": "plan_0001", "tasks": [long]});
    assert!(refused(Kind::Planner, &plan).starts_with("at `tasks[0].artifacts[1]`: 4001"));
    assert!(
        refused(Kind::Planner, &json!({"status": "error", "reason": more})).contains("`reason`")
    );
    assert!(refused(Kind::Planner, &json!({"blocked": more})).contains("`blocked`"));

    let hidden = json!({"edits": [{"path": "a.py", "content": {"content": more}}]});
    assert!(refused(Kind::Implementer, &hidden).contains("4001"));
    let edits = |path: &str| json!({"edits": [{"path": path, "content": more}]});
    assert!(parse(form(Kind::Implementer), &edits("a.py").to_string()).is_ok());
    assert!(refused(Kind::Implementer, &edits(&more)).starts_with("at `edits[0].path`: 4001"));
}

/// A place is written down once, and not for every value on the way.
#[test]
fn a_long_key_before_many_values_costs_nothing() {
    let answer = json!({"x".repeat(1 << 20): vec![0; 1 << 20]});
    assert!(refused(Kind::Planner, &answer).starts_with("unknown field"));
}
