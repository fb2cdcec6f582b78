//! Every short way of saying something, and what it says in full.

use expect_test::{Expect, expect};

use crate::role::{Book, Layer};
use crate::workflow::graph::Graph;
use crate::workflow::{Check, CheckKind, Compiled, Surroundings, build};
use crate::yaml::{Sources, read};

const ROLES: &[(&str, &str)] = &[
    ("ana", "kind: analyst"),
    ("des", "kind: designer"),
    ("pla", "kind: planner"),
    ("imp", "kind: implementer"),
    ("rev", "kind: gatekeeper"),
    ("sec", "kind: gatekeeper"),
    ("aud", "kind: gatekeeper"),
    (
        "risky",
        "{ kind: implementer, gates: [ { name: risk, command: check-risk, on_fail: block }, { name: cover, command: cov } ] }",
    ),
    ("wary", "{ kind: gatekeeper, gates: [ { name: backtest, command: bt } ] }"),
];

fn compiled(text: &str) -> Result<Compiled, String> {
    let mut sources = Sources::default();
    let mut book = Book::default();
    for (name, role) in ROLES {
        book.add(Layer::BuiltIn, name, read(&mut sources, name, role).unwrap());
    }
    let check = |name: &str, command: &str| Check {
        name: name.to_owned(),
        what: CheckKind::Command(command.to_owned()),
        timeout_ms: 1_000,
    };
    let mut surroundings = Surroundings {
        book,
        checks: vec![check("tests", "make test"), check("Lint", "make lint")],
        security_role: Some("aud".to_owned()),
        tests: vec!["tests/**".to_owned()],
        ..Surroundings::default()
    };
    let node = read(&mut sources, "flow.yml", text).map_err(|f| sources.problems([f]).to_string())?;
    let built = build("flow", node, &mut surroundings, &mut |_, _| Ok(None));
    built.map_err(|faults| sources.problems(faults).to_string())
}

fn says(text: &str, expected: Expect) {
    let compiled = compiled(text).unwrap_or_else(|error| panic!("{error}"));
    let mut said = Graph::of(&compiled).text();
    for note in &compiled.notes {
        said.push_str(&format!("note: {note}\n"));
    }
    expected.assert_eq(&said);
}

fn refuses(text: &str, expected: Expect) {
    expected.assert_eq(&compiled(text).unwrap_err());
}

const STEPS: &str = "
steps:
  code: { role: imp, next: review }
  review: { role: rev, next: commit, on_reject: code }
  commit: { commit: branch }
";

#[test]
fn a_plain_list_is_gone_through_in_its_order() {
    says(
        "steps:\n  plan: { role: pla }\n  code: { role: imp }\n  commit: { commit: branch }\n",
        expect![""],
    );
}

#[test]
fn other_words_for_gates() {
    says(
        "
initial_step: code
steps:
  code: { role: imp, next: test, outputs: [files_modified] }
  test: { gate_type: orchestrator, command: make test, next: wait, on_fail: code, max_retries: 3 }
  wait: { type: human_gate, description: Go on?, next: commit }
  commit: { type: orchestrator_gate, command: git commit, terminal: true }
",
        expect![""],
    );
}

#[test]
fn words_that_reviewers_print_are_verdicts_by_schema() {
    says(
        "
steps:
  code: { role: imp, next: both }
  both: { parallel: true, roles: [rev, sec], gate: BOTH_APPROVED, next: one, on_reject: code }
  one: { role: rev, gate: 'REVIEW_STATUS: APPROVED', next: commit, on_reject: code }
  commit: { commit: branch }
",
        expect![""],
    );
}

#[test]
fn a_person_approves_after_a_role_and_before_a_commit() {
    says(
        "
steps:
  plan: { role: pla, next: code, human_approval: Is this the plan? }
  code: { role: imp, next: review }
  review: { role: rev, next: commit, on_reject: code, human_approval: true }
  commit: { commit: branch, human_approval: true }
",
        expect![""],
    );
}

#[test]
fn a_roles_own_gates_run_when_it_has_submitted() {
    says(
        "
steps:
  code: { role: risky, next: review }
  review: { role: wary, next: commit, on_reject: code }
  commit: { commit: branch }
",
        expect![""],
    );
}

#[test]
fn hooks_are_named_checks_at_fixed_places() {
    let text = format!(
        "checks: {{ types: mypy . }}\nhooks: {{ pre_commit: [lint, types, missing], post_implement: [tests], pre_review: [types] }}\n{STEPS}"
    );
    says(&text, expect![""]);
    refuses(&format!("hooks: {{ pre_comit: [lint] }}\n{STEPS}"), expect![""]);
}

#[test]
fn settings_change_what_they_say() {
    let with = |settings: &str| format!("settings: {settings}\n{STEPS}");
    says(&with("{ require_tests: true, require_changelog: true }"), expect![""]);
    says(&with("{ security_review: true, dual_review: true }"), expect![""]);
    says(&with("{ human_approval: true }"), expect![""]);
    says(&with("{ auto_pr: true }"), expect![""]);
    refuses(&with("{ require_test: true }"), expect![""]);
}

#[test]
fn settings_switch_off_too() {
    says(
        "
settings: { parallel_reviews: false, human_approval: false, security_review: false, auto_pr: false }
steps:
  code: { role: imp, next: security_review }
  security_review: { role: sec, next: review, on_reject: code, human_approval: true }
  review: { roles: [rev, sec], next: commit, on_reject: code, human_approval: true }
  commit: { commit: branch, next: ask }
  ask: { person: Publish?, answers: { yes: publish, no: done } }
  publish: { publish: git push, next: done }
",
        expect![""],
    );
}

#[test]
fn a_setting_that_a_step_asks_for_means_what_the_workflow_says() {
    says(
        &format!("settings: {{ require_tests: true }}\n{STEPS}")
            .replace("review: { role: rev,", "review: { role: rev, when: { setting: require_tests },"),
        expect![""],
    );
}

#[test]
fn after_the_last_try_a_person_may_be_asked() {
    says(
        "
policies: { patient: { max_attempts: 9 } }
steps:
  plan: { role: pla, retry_policy: patient, next: code }
  code: { role: imp, retry_policy: { max_attempts: 3, on_failure: ask_human }, next: commit }
  commit: { commit: branch }
",
        expect![""],
    );
}

#[test]
fn a_sequence_sends_back_to_the_nearest_implementer() {
    says(
        "
sequence:
  - { role: ana, type: analyst }
  - { role: des, type: designer }
  - { role: imp, type: implementer }
  - { role: rev, type: gatekeeper }
  - sec
max_iterations: 4
rebound: { after_failures: 3 }
on_max_iterations: escalate
",
        expect![""],
    );
    refuses("sequence: [rev, imp]", expect![""]);
    refuses("sequence: [{ role: imp, type: gatekeeper }]", expect![""]);
    refuses("sequence: [imp, revv]", expect![""]);
}

#[test]
fn what_cannot_be_said_gets_advice() {
    refuses(
        "steps:\n  code: { role: imp, next: pr }\n  pr: { type: orchestrator_gate, command: gh pr create, next: done }\n",
        expect![""],
    );
    refuses("steps:\n  code: { role: imp, gate: make it good }\n", expect![""]);
    refuses("steps:\n  code: { type: magic_gate, command: x }\n", expect![""]);
    refuses("steps:\n  code: { role: imp }\n  wait: { type: orchestrator_gate }\n", expect![""]);
    refuses("steps:\n  code: { role: imp, retry: oftn }\n", expect![""]);
    refuses("{}", expect![""]);
}
