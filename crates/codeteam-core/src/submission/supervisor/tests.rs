//! The contract by its own examples, and what goes back to the worker.

use serde_json::{Value, json};

use super::*;
use crate::plan;
use crate::role::{Contract, EditMode, RoleKind};
use crate::submission::{AnswerForm, example, parse};

fn form(kind: RoleKind) -> AnswerForm {
    AnswerForm {
        kind,
        contract: Contract::Supervisor,
        mode: EditMode::Tools,
        asks: false,
        requests: false,
    }
}

fn read(kind: RoleKind, answer: &Value) -> Result<Submission, String> {
    parse(form(kind), &answer.to_string())
}

fn refused(kind: RoleKind, answer: &Value) -> String {
    read(kind, answer).unwrap_err()
}

/// The example with some keys changed.
fn with(kind: RoleKind, changed: Value) -> Value {
    let mut answer = example(form(kind));
    let Value::Object(changed) = changed else {
        panic!("not an object")
    };
    answer.as_object_mut().unwrap().extend(changed);
    answer
}

fn planned(answer: &Value) -> plan::Plan {
    match read(RoleKind::Planner, answer) {
        Ok(Submission::Plan(planned)) => planned.plan,
        other => panic!("{other:?}"),
    }
}

fn reviewed(answer: &Value) -> Verdict {
    match read(RoleKind::Gatekeeper, answer) {
        Ok(Submission::Verdict(verdict)) => verdict,
        other => panic!("{other:?}"),
    }
}

fn blocked_by(answer: &Value, kind: RoleKind) -> String {
    match read(kind, answer) {
        Ok(Submission::Blocked(blocked)) => blocked.blocked,
        other => panic!("{other:?}"),
    }
}

/// What a plan makes wait for what.
fn waits(plan: &plan::Plan) -> Vec<(String, String)> {
    let mut waits = Vec::new();
    for task in &plan.tasks {
        for on in &task.dependencies {
            waits.push((task.id.0.clone(), on.0.clone()));
        }
    }
    waits
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn phases_and_components_are_phases_and_tasks() {
    let plan = planned(&json!({
        "status": "COMPLETE",
        "phases": [
            {"id": "backend", "sequence": 1, "components": [
                {"id": "user_model", "files": ["models/user.py", "migrations/001_users.py"], "depends_on": []},
                {"id": "auth_service", "files": ["services/auth.py"], "depends_on": ["user_model"]},
                {"id": "auth_endpoints", "files": ["api/auth.py"], "depends_on": ["user_model", "auth_service"]}]},
            {"id": "frontend", "sequence": 2, "components": [
                {"id": "login_form", "files": ["components/Login.tsx"], "depends_on": ["backend.auth_endpoints"]}]}],
        "dependencies": [
            {"component": "frontend.login_form", "depends_on": "auth_service"},
            {"component": "login_form", "depends_on": ["auth_endpoints"]}],
        "estimated_components": 4,
        "risks": ["sessions expire", " "],
    }));
    assert_eq!(plan.check(9), []);
    assert_eq!(plan.phase_order_problem(), None);
    assert_eq!(plan.phase_ranks(), [0, 0, 0, 1]);
    let expected = pairs(&[
        ("auth_service", "user_model"),
        ("auth_endpoints", "user_model"),
        ("auth_endpoints", "auth_service"),
        ("login_form", "auth_endpoints"),
        ("login_form", "auth_service"),
    ]);
    assert_eq!(waits(&plan), expected);
    assert_eq!(
        plan.tasks[0].files,
        ["models/user.py", "migrations/001_users.py"]
    );
    assert_eq!(plan.description, "Risks: sessions expire");
}

#[test]
fn phases_without_a_number_follow_each_other() {
    let mut answer = example(form(RoleKind::Planner));
    for phase in answer["phases"].as_array_mut().unwrap() {
        phase.as_object_mut().unwrap().remove("sequence");
    }
    let sequences: Vec<u32> = planned(&answer).phases.iter().map(|p| p.sequence).collect();
    assert_eq!(sequences, [1, 2]);
    answer["phases"][0]["sequence"] = json!(4);
    let mixed = refused(RoleKind::Planner, &answer);
    assert_eq!(mixed, "either every phase has a `sequence` or none has");
}

#[test]
fn what_a_phase_relies_on_is_a_part_of_it() {
    let mut answer = example(form(RoleKind::Planner));
    answer["phases"][0]["interfaces"] = json!([
        {"name": "LoginRequest", "type": "typescript_interface", "definition": "interface LoginRequest {}\n"},
        {"name": "login", "type": "openapi", "definition": "/login: {}", "file": "api/login.yml"}]);
    let plan = planned(&answer);
    let interfaces = plan.phases[0].interfaces.iter();
    let files: Vec<String> = interfaces.map(plan::Interface::path).collect();
    assert_eq!(files, ["types/LoginRequest.d.ts", "api/login.yml"]);
    let descriptions: Vec<&str> = plan.tasks.iter().map(|t| t.description.as_str()).collect();
    assert_eq!(descriptions, ["…", "…", "…"]);

    answer["phases"][0]["interfaces"][1]["definition"] = json!("");
    assert_eq!(
        refused(RoleKind::Planner, &answer),
        "`phases[0].interfaces[1].definition` must not be empty"
    );
}

#[test]
fn a_component_without_words_is_called_by_its_id() {
    let mut answer = example(form(RoleKind::Planner));
    answer["phases"][0]["interfaces"] =
        json!([{"name": "login", "type": "openapi", "definition": "/login: {}"}]);
    answer["phases"][0]["components"] = json!([{"id": "user_model", "files": ["a.py"]}]);
    answer["phases"][1]["components"][0]["depends_on"] = json!([]);
    answer["dependencies"] = json!([]);
    let plan = planned(&answer);
    assert_eq!(plan.tasks[0].headline(), "user_model");
    assert_eq!(plan.tasks[0].description, "");
}

#[test]
fn a_dependency_on_nothing_is_named_by_its_place() {
    let mut answer = example(form(RoleKind::Planner));
    answer["phases"][1]["components"][0]["depends_on"] = json!(["user_model", "backend.login"]);
    assert_eq!(
        refused(RoleKind::Planner, &answer),
        "at `phases[1].components[0].depends_on[1]`: `backend.login` is not a component of the plan"
    );
    answer["phases"][1]["components"][0]["depends_on"] = json!(["login_endpont"]);
    assert!(refused(RoleKind::Planner, &answer).ends_with("(did you mean `login_endpoint`?)"));
    // A component of another phase than the one it is said to be in is another component.
    answer["phases"][1]["components"][0]["depends_on"] = json!(["frontend.user_model"]);
    assert!(refused(RoleKind::Planner, &answer).contains("is not a component of the plan"));

    let waiting = with(
        RoleKind::Planner,
        json!({"dependencies": [{"component": "nobody", "depends_on": ["user_model"]}]}),
    );
    assert_eq!(
        refused(RoleKind::Planner, &waiting),
        "at `dependencies[0].component`: `nobody` is not a component of the plan"
    );
    let huge = with(RoleKind::Planner, json!({"estimated_components": 1e300}));
    assert!(
        refused(RoleKind::Planner, &huge).starts_with("at `estimated_components`: invalid type")
    );
}

/// Each of these would take hours or all memory if it were read without care.
#[test]
fn an_answer_made_to_be_slow_is_not() {
    let plan = |components: &[Value], interfaces: Value, on: Value| {
        json!({"status": "COMPLETE", "estimated_components": 1,
            "phases": [{"id": "p", "components": components, "interfaces": interfaces}],
            "dependencies": [{"component": "c0", "depends_on": on}]})
    };
    let component = |i: usize| json!({"id": format!("c{i}"), "files": []});
    let many: Vec<Value> = (0..20_000).map(component).collect();
    let long = "x".repeat(1 << 20);
    let interface = json!([{"name": "a", "type": "text", "definition": long}]);
    // It is a part of the phase once, and not of each of its tasks.
    let long_plan = planned(&plan(&many, interface, json!([])));
    assert_eq!(long_plan.phases[0].interfaces[0].definition.len(), 1 << 20);

    let dots = ".".repeat(1 << 20);
    let longer = [component(0), json!({"id": long, "files": []})];
    for name in [dots, format!("{long}x")] {
        let unknown = refused(RoleKind::Planner, &plan(&longer, json!([]), json!([name])));
        assert!(unknown.starts_with("at `dependencies[0].depends_on[0]`"));
    }
    let all: Vec<String> = (1..20_000).map(|i| format!("c{i}")).collect();
    let all = [all.clone(), all].concat();
    let plan = planned(&plan(&many, json!([]), json!(all)));
    assert_eq!(plan.tasks[0].dependencies.len(), 19_999);
}

#[test]
fn only_a_complete_plan_is_one() {
    let unrefined = with(RoleKind::Planner, json!({"status": "NEEDS_REFINEMENT"}));
    assert!(refused(RoleKind::Planner, &unrefined).contains("answer `COMPLETE`"));
    let blocked = json!({"status": "BLOCKED", "phases": [], "dependencies": [],
        "estimated_components": 0, "risks": ["no access to the schema", "no contact"]});
    assert_eq!(
        blocked_by(&blocked, RoleKind::Planner),
        "no access to the schema; no contact"
    );
    let silent = with(
        RoleKind::Planner,
        json!({"status": "BLOCKED", "risks": [""]}),
    );
    assert!(refused(RoleKind::Planner, &silent).contains("must say in `risks`"));
    let shouted = with(RoleKind::Planner, json!({"status": "complete"}));
    assert!(
        refused(RoleKind::Planner, &shouted).starts_with("at `status`: unknown variant `complete`")
    );
}

#[test]
fn a_design_is_components_in_words_and_interfaces_as_they_are() {
    let answer = json!({
        "components": [
            {"id": "user_model", "files": ["models/user.py"]},
            {"id": "login", "title": "Login", "description": "POST.\nAnswers 401.",
             "files": ["api/auth.py", "api/routes.py"], "depends_on": ["user_model"]}],
        "interfaces": [{"name": "LoginRequest", "type": "openapi", "definition": "…"}],
    });
    let Ok(Submission::Design(design)) = read(RoleKind::Designer, &answer) else {
        panic!("not a design")
    };
    assert_eq!(
        design.design,
        "Components:\n\n- `user_model`\n  files: `models/user.py`\n\
         - `login`: Login\n  POST.\n  Answers 401.\n  files: `api/auth.py`, `api/routes.py`\n  \
         after: `user_model`"
    );
    assert_eq!(design.interfaces, [answer["interfaces"][0].clone()]);

    let interface = &answer["interfaces"][0];
    let twice = with(
        RoleKind::Designer,
        json!({"interfaces": [interface, interface]}),
    );
    assert_eq!(
        refused(RoleKind::Designer, &twice),
        "at `interfaces[1]`: `LoginRequest` is defined twice"
    );
    let nothing = json!({"components": [], "interfaces": []});
    assert!(refused(RoleKind::Designer, &nothing).contains("must not both be empty"));
}

#[test]
fn success_is_a_change() {
    let answer = json!({"status": "SUCCESS", "files_created": ["a.py", "tests/test_a.py"],
        "files_modified": ["b.py"], "tests_written": ["tests/test_a.py"]});
    let Ok(Submission::Change(change)) = read(RoleKind::Implementer, &answer) else {
        panic!("not a change")
    };
    assert_eq!(
        change.summary,
        "created `a.py`, `tests/test_a.py`; modified `b.py`"
    );
    assert_eq!(change.files, ["a.py", "tests/test_a.py", "b.py"]);
    assert_eq!(change.proof, "tests written: `tests/test_a.py`");
}

#[test]
fn what_is_not_done_is_never_a_change() {
    let said = |status: &str, blockers: Value| {
        with(
            RoleKind::Implementer,
            json!({"status": status, "blockers": blockers}),
        )
    };
    let none = json!([]);
    for (status, words) in [("PARTIAL", "do all of it"), ("FAILED", "try another way")] {
        let words_said = refused(RoleKind::Implementer, &said(status, none.clone()));
        assert!(words_said.contains(words), "{words_said}");
    }
    let blockers = json!(["no key", "no network"]);
    let blocked = |status| blocked_by(&said(status, blockers.clone()), RoleKind::Implementer);
    assert_eq!(blocked("FAILED"), "no key; no network");
    assert_eq!(blocked("PARTIAL"), "done in part only: no key; no network");
    let both = refused(RoleKind::Implementer, &said("SUCCESS", blockers));
    assert!(both.starts_with("`SUCCESS` has no `blockers`"), "{both}");
}

#[test]
fn issues_and_concerns_are_findings() {
    let verdict = reviewed(&json!({
        "status": "CHANGES_REQUESTED",
        "issues": [
            {"severity": "critical", "file": "a.py", "line": 7, "title": "Wrong sum",
             "description": "It adds twice.", "suggestion": "Add once."},
            {"severity": "minor", "description": "Bad name.\nIt misleads."}],
        "suggestions": ["Use a set", ""],
        "security_concerns": ["The token is logged"],
    }));
    assert_eq!(verdict.verdict, VerdictChoice::Reject);
    assert_eq!(
        verdict.reason,
        "changes requested: Wrong sum (and 2 more)\nSuggested: Use a set"
    );
    let expected = [
        ReportedFinding {
            severity: Severity::Critical,
            title: "Wrong sum".to_owned(),
            detail: "It adds twice.\nSuggested: Add once.".to_owned(),
            file: Some("a.py".to_owned()),
            line: Some(7),
        },
        ReportedFinding {
            severity: Severity::Minor,
            title: "Bad name.".to_owned(),
            detail: "It misleads.".to_owned(),
            ..ReportedFinding::default()
        },
        ReportedFinding {
            severity: Severity::Major,
            title: "The token is logged".to_owned(),
            ..ReportedFinding::default()
        },
    ];
    assert_eq!(verdict.findings, expected);
}

#[test]
fn the_status_is_the_verdict_and_a_rejection_says_why() {
    let said = |status: &str, suggestions: Value| json!({"status": status, "issues": [], "suggestions": suggestions});
    let approved = reviewed(&said("APPROVED", json!([])));
    assert_eq!(approved.verdict, VerdictChoice::Approve);
    assert_eq!(approved.reason, "approved");
    let doubted = with(
        RoleKind::Gatekeeper,
        json!({"status": "APPROVED", "suggestions": []}),
    );
    assert_eq!(reviewed(&doubted).reason, "approved, but: …");
    for status in ["CHANGES_REQUESTED", "REJECTED"] {
        let why = refused(RoleKind::Gatekeeper, &said(status, json!([])));
        assert!(why.contains("needs at least one of `issues`"), "{why}");
    }
    // Suggestions alone are a reason, and never a finding that would be too small to count.
    let rejected = reviewed(&said("REJECTED", json!(["Start over"])));
    assert_eq!(rejected.verdict, VerdictChoice::Reject);
    assert_eq!(rejected.reason, "rejected\nSuggested: Start over");
    assert_eq!(rejected.findings, []);

    let unsaid = with(
        RoleKind::Gatekeeper,
        json!({"issues": [{"severity": "major", "title": " "}]}),
    );
    assert_eq!(
        refused(RoleKind::Gatekeeper, &unsaid),
        "at `issues[0]`: it does not say what is wrong"
    );
    let empty = with(RoleKind::Gatekeeper, json!({"security_concerns": [""]}));
    assert!(refused(RoleKind::Gatekeeper, &empty).starts_with("at `security_concerns[0]`"));
}
