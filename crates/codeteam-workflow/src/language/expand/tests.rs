//! Every short way of saying something, and what it says in full.

use std::fmt::Write as _;

use codeteam_core::ids::RoleName;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::{Check, CheckKind, CommitApproval, ExhaustionPolicy, StepKind};
use expect_test::{Expect, expect};

use crate::graph::WorkflowGraph;
use crate::language::{CompileInputs, CompiledWorkflow, compile_workflow};
use crate::roles::{RoleCatalog, SourceLayer};
use crate::yaml::{SourceFiles, read};

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
    (
        "wary",
        "{ kind: gatekeeper, gates: [ { name: backtest, command: bt } ] }",
    ),
];

fn compiled(text: &str) -> Result<CompiledWorkflow, String> {
    compiled_asking(text, CommitApproval::Nothing)
}

fn compiled_asking(text: &str, asks_before: CommitApproval) -> Result<CompiledWorkflow, String> {
    let mut sources = SourceFiles::default();
    let mut book = RoleCatalog::default();
    for (name, role) in ROLES {
        book.add(
            SourceLayer::BuiltIn,
            name,
            read(&mut sources, name, role).unwrap(),
        );
    }
    let check = |name: &str, command: &str| Check {
        name: name.to_owned(),
        what: CheckKind::Command(command.to_owned()),
        timeout_ms: 1_000,
    };
    let mut surroundings = CompileInputs {
        roles: book,
        checks: vec![check("tests", "make test"), check("Lint", "make lint")],
        security_role: Some("aud".to_owned()),
        test_paths: vec!["tests/**".to_owned()],
        asks_before,
        ..CompileInputs::default()
    };
    let node =
        read(&mut sources, "flow.yml", text).map_err(|f| sources.to_problems([f]).to_string())?;
    let built = compile_workflow("flow", node, &mut surroundings, &mut |_, _| Ok(None));
    built.map_err(|faults| sources.to_problems(faults).to_string())
}

fn says(text: &str, expected: &Expect) {
    let compiled = compiled(text).unwrap_or_else(|error| panic!("{error}"));
    let mut said = WorkflowGraph::from_compiled(&compiled).text();
    for note in &compiled.notes {
        writeln!(said, "note: {note}").unwrap();
    }
    expected.assert_eq(&said);
}

fn refuses(text: &str, expected: &Expect) {
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● plan    planner: pla
            │         → code
            ● code    implementer: imp
            │         → commit
            ✓ commit  commit to the run's branch
                      → done
                      ↩ on_conflict → code ↑
        "]],
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code    implementer: imp
            │         → test
            ◆ test    gate: test
            │         → wait
            │         ✗ on_fail → code ↑ (at most 3 times)
            ○ wait    person: Go on?
            │         ? continue → commit
            │         ? stop → fail
            ✓ commit  commit to the run's branch
                      → done
                      ↩ on_conflict → code ↑
            note: `commit`: `git commit` is a `commit` step: codeteam commits what was judged
        "]],
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code    implementer: imp
            │         → both
            ● both    gatekeeper: rev, sec (all approve)
            │         → one
            │         ↩ on_reject → code ↑
            ● one     gatekeeper: rev
            │         → commit
            │         ↩ on_reject → code ↑
            ✓ commit  commit to the run's branch
                      → done
                      ↩ on_conflict → code ↑
            note: `both`: `gate: BOTH_APPROVED` is read as the verdicts that reviewers submit by schema; each of them must approve
            note: `one`: `gate: REVIEW_STATUS: APPROVED` is read as the verdicts that reviewers submit by schema; each of them must approve
        "]],
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● plan             planner: pla
            │                  → plan-approval
            ○ plan-approval    person: Is this the plan?
            │                  ? approve → code
            │                  ? reject → plan ↑
            ● code             implementer: imp
            │                  → review
            ● review           gatekeeper: rev
            │                  → review-approval
            │                  ↩ on_reject → code ↑
            ○ review-approval  person: `review` is done. Go on with it?
            │                  ? approve → commit-approval
            │                  ? reject → code ↑
            ○ commit-approval  person: `commit` comes next. Go on?
            │                  ? approve → commit
            │                  ? reject → code ↑
            ✓ commit           commit to the run's branch
                               → done
                               ↩ on_conflict → code ↑
        "]],
    );
}

fn asks(text: &str, asks: CommitApproval, expected: &Expect) {
    let compiled = compiled_asking(text, asks).unwrap();
    expected.assert_eq(&WorkflowGraph::from_compiled(&compiled).text());
}

#[test]
fn a_project_may_want_to_be_asked_before_commits() {
    asks(
        STEPS,
        CommitApproval::Each,
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code            implementer: imp
        │                 → review
        ● review          gatekeeper: rev
        │                 → commit-preview
        │                 ↩ on_reject → code ↑
        ○ commit-preview  person: This would be committed. Commit it?
        │                 ? commit → commit
        │                 ? reject → code ↑
        │                 ? leave → fail
        ✓ commit          commit to the run's branch
                          → done
                          ↩ on_conflict → code ↑
    "]],
    );
    asks(
        STEPS,
        CommitApproval::First,
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code            implementer: imp
            │                 → review
            ● review          gatekeeper: rev
            │                 → commit-preview
            │                 ↩ on_reject → code ↑
            ○ commit-preview  person: This would be committed. Commit it? Later commits are
            │                 made without asking.
            │                 only if nothing was committed yet
            │                 ? commit → commit
            │                 ? reject → code ↑
            │                 ? leave → fail
            │                 · left out → commit
            ✓ commit          commit to the run's branch
                              → done
                              ↩ on_conflict → code ↑
        "]],
    );
}

#[test]
fn who_is_asked_already_is_not_asked_twice_and_every_other_way_to_the_commit_is_seen() {
    let asked = "
steps:
  code: { role: imp, next: judge }
  judge:
    person: Good?
    answers: { ok: commit, no: { next: code, rejects: true }, later: mend }
  mend: { role: imp, next: commit }
  commit: { commit: branch, human_approval: true }
";
    asks(
        asked,
        CommitApproval::Each,
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code             implementer: imp
        │                  → judge
        ○ judge            person: Good?
        │                  ? ok → commit-approval
        │                  ? no → code ↑
        │                  ? later → mend
        ● mend             implementer: imp
        │                  → commit-approval
        ○ commit-approval  person: `commit` comes next. Go on?
        │                  ? approve → commit
        │                  ? reject → code ↑
        ✓ commit           commit to the run's branch
                           → done
                           ↩ on_conflict → code ↑
    "]],
    );
    let sometimes = "
settings: { judge: false }
steps:
  code: { role: imp, next: judge }
  judge:
    person: Good?
    when: { setting: judge }
    next: commit
    answers: { ok: commit, no: { next: code, rejects: true } }
  commit: { commit: branch }
";
    asks(
        sometimes,
        CommitApproval::Each,
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code            implementer: imp
        │                 → judge
        ○ judge           person: Good?
        │                 only if judge is on
        │                 ? ok → commit
        │                 ? no → code ↑
        │                 · left out → commit-preview
        ○ commit-preview  person: This would be committed. Commit it?
        │                 ? commit → commit
        │                 ? reject → code ↑
        │                 ? leave → fail
        ✓ commit          commit to the run's branch
                          → done
                          ↩ on_conflict → code ↑
    "]],
    );
    let person = asked.replace(", human_approval: true", "");
    asks(
        &person,
        CommitApproval::Each,
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code            implementer: imp
        │                 → judge
        ○ judge           person: Good?
        │                 ? ok → commit
        │                 ? no → code ↑
        │                 ? later → mend
        ● mend            implementer: imp
        │                 → commit-preview
        ○ commit-preview  person: This would be committed. Commit it?
        │                 ? commit → commit
        │                 ? reject → code ↑
        │                 ? leave → fail
        ✓ commit          commit to the run's branch
                          → done
                          ↩ on_conflict → code ↑
    "]],
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code          implementer: risky
            │               → code-blocks
            ◆ code-blocks   gate: risk
            │               → code-gates
            ◆ code-gates    gate: cover
            │               → review
            │               ✗ on_fail → code ↑
            ● review        gatekeeper: wary
            │               → review-gates
            │               ↩ on_reject → code ↑
            ◆ review-gates  gate: backtest
            │               → commit
            │               ✗ on_fail → code ↑
            ✓ commit        commit to the run's branch
                            → done
                            ↩ on_conflict → code ↑
        "]],
    );
}

#[test]
fn a_roles_validators_come_before_its_gates() {
    says(
        "
roles:
  formal:
    kind: implementer
    validators:
      - { file: a.md, words: { min: 3 } }
      - { file: b.json, schema: { type: object }, name: strict, on_fail: block }
    gates: [ { name: cover, command: cov } ]
steps:
  code: { role: formal, next: commit }
  commit: { commit: branch }
",
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code         implementer: formal
            │              → code-blocks
            ◆ code-blocks  gate: strict
            │              → code-gates
            ◆ code-gates   gate: form of a.md, cover
            │              → commit
            │              ✗ on_fail → code ↑
            ✓ commit       commit to the run's branch
                           → done
                           ↩ on_conflict → code ↑
        "]],
    );
}

#[test]
fn hooks_are_named_checks_at_fixed_places() {
    let text = format!(
        "checks: {{ types: mypy . }}\nhooks: {{ pre_commit: [lint, types, missing], post_implement: [tests], pre_review: [types] }}\n{STEPS}"
    );
    says(
        &text,
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code                 implementer: imp
        │                      → code-post-implement
        ◆ code-post-implement  gate: tests
        │                      → review-pre-review
        │                      ✗ on_fail → code ↑
        ◆ review-pre-review    gate: types
        │                      → review
        │                      ✗ on_fail → code ↑
        ● review               gatekeeper: rev
        │                      → commit-pre-commit
        │                      ↩ on_reject → code ↑
        ◆ commit-pre-commit    gate: Lint, types
        │                      → commit
        │                      ✗ on_fail → code ↑
        ✓ commit               commit to the run's branch
                               → done
                               ↩ on_conflict → code ↑
        note: `hooks.pre_commit`: no check `missing` is configured, so it is left out
    "]],
    );
    refuses(
        &format!("hooks: {{ pre_comit: [lint] }}\n{STEPS}"),
        &expect![[r"
        flow.yml:1:10: there is no hook `pre_comit` (did you mean `pre_commit`?)
            | hooks: { pre_comit: [lint] }
            |          ^"]],
    );
}

#[test]
fn settings_change_what_they_say() {
    let with = |settings: &str| format!("settings: {settings}\n{STEPS}");
    says(
        &with("{ require_tests: true, require_changelog: true }"),
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code                 implementer: imp
        │                      → review
        ● review               gatekeeper: rev
        │                      → commit-requirements
        │                      ↩ on_reject → code ↑
        ◆ commit-requirements  gate: tests are part of the change, the changelog is part
        │                      of the change
        │                      → commit
        │                      ✗ on_fail → code ↑
        ✓ commit               commit to the run's branch
                               → done
                               ↩ on_conflict → code ↑
    "]],
    );
    says(
        &with("{ security_review: true, dual_review: true }"),
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code                    implementer: imp
        │                         → review
        ● review                  gatekeeper: rev ×2 (all approve)
        │                         → commit-security-review
        │                         ↩ on_reject → code ↑
        ● commit-security-review  gatekeeper: aud
        │                         → commit
        │                         ↩ on_reject → code ↑
        ✓ commit                  commit to the run's branch
                                  → done
                                  ↩ on_conflict → code ↑
    "]],
    );
    says(
        &with("{ human_approval: true }"),
        &expect![[r"
        flow
        at most 100 steps, then it fails

        ● code             implementer: imp
        │                  → review
        ● review           gatekeeper: rev
        │                  → commit-approval
        │                  ↩ on_reject → code ↑
        ○ commit-approval  person: `commit` comes next. Go on?
        │                  ? approve → commit
        │                  ? reject → code ↑
        ✓ commit           commit to the run's branch
                           → done
                           ↩ on_conflict → code ↑
    "]],
    );
    says(
        &with("{ auto_pr: true }"),
        &expect![[r#"
            flow
            at most 100 steps, then it fails

            ● code                   implementer: imp
            │                        → review
            ● review                 gatekeeper: rev
            │                        → commit
            │                        ↩ on_reject → code ↑
            ✓ commit                 commit to the run's branch
            │                        → pull_request-approval
            │                        ↩ on_conflict → code ↑
            ○ pull_request-approval  person: The work is done. Open a draft pull request for
            │                        it?
            │                        ? open → pull_request
            │                        ? leave → done
            ▲ pull_request           publish: git push --force-with-lease --set-upstream
                                     origin "$CODETEAM_BRANCH" && url=$(gh pr list --head
                                     "$CODETEAM_BRANCH" --state open --json url --jq
                                     '.[0].url // empty') && if [ -n "$url" ]; then gh pr
                                     edit "$url" --body "$PR_BODY" > /dev/null && echo
                                     "$url"; else gh pr create --draft --head
                                     "$CODETEAM_BRANCH" --title "$PR_TITLE" --body
                                     "$PR_BODY"; fi
                                     → done
        "#]],
    );
    refuses(
        &with("{ require_test: true }"),
        &expect![[r"
        flow.yml:1:27: nothing asks for the setting `require_test` (did you mean `require_tests`?)
            | settings: { require_test: true }
            |                           ^"]],
    );
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code        implementer: imp
            │             → review
            ● review      gatekeeper: rev
            │             → review-sec
            │             ↩ on_reject → code ↑
            ● review-sec  gatekeeper: sec
            │             → commit
            │             ↩ on_reject → code ↑
            ✓ commit      commit to the run's branch
            │             → ask
            │             ↩ on_conflict → code ↑
            ○ ask         person: Publish?
                          ? yes → done
                          ? no → done
        "]],
    );
}

#[test]
fn a_setting_that_a_step_asks_for_means_what_the_workflow_says() {
    says(
        &format!("settings: {{ require_tests: true }}\n{STEPS}").replace(
            "review: { role: rev,",
            "review: { role: rev, when: { setting: require_tests },",
        ),
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● code    implementer: imp
            │         → review
            ● review  gatekeeper: rev
            │         only if require_tests is on
            │         → commit
            │         ↩ on_reject → code ↑
            ✓ commit  commit to the run's branch
                      → done
                      ↩ on_conflict → code ↑
        "]],
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
        &expect![[r"
            flow
            at most 100 steps, then it fails

            ● plan       planner: pla
            │            → code
            ● code       implementer: imp
            │            → commit
            │            ✗ on_fail → code-help
            ✓ commit     commit to the run's branch
            │            → done
            │            ↩ on_conflict → code ↑
            ○ code-help  person: `code` failed again and again. Try once more?
                         ? again → code ↑
                         ? give_up → fail
        "]],
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
        &expect![[r"
            flow
            at most 4 rounds and 100 steps, then a person decides

            ● ana         analyst: ana
            │             → des
            ● des         designer: des
            │             → imp
            ● imp         implementer: imp
            │             → imp-checks
            ◆ imp-checks  gate: tests, Lint
            │             → rev
            │             ✗ on_fail → imp ↑ (at most 4 rounds)
            │             ↩ after 3 rejections → rebound
            ● rev         gatekeeper: rev
            │             → sec
            │             ↩ on_reject → imp ↑ (at most 4 rounds)
            │             ↩ after 3 rejections → rebound
            ● sec         gatekeeper: sec
            │             → commit
            │             ↩ on_reject → imp ↑ (at most 4 rounds)
            │             ↩ after 3 rejections → rebound
            ✓ commit      commit to the run's branch
            │             → done
            │             ↩ on_conflict → imp ↑ (at most 4 rounds)
            ○ rebound     person: The change was rejected. Should `des` look at the approach
                          again?
                          ? yes → des ↑
                          ? no → imp ↑
        "]],
    );
    refuses(
        "sequence: [rev, imp]",
        &expect![[r"
        flow.yml:1:12: `rev` has nobody before it to go back to (put an implementer before every gatekeeper)
            | sequence: [rev, imp]
            |            ^"]],
    );
    refuses(
        "sequence: [{ role: imp, type: gatekeeper }]",
        &expect![[r"
        flow.yml:1:12: the role `imp` is an implementer, not a gatekeeper
            | sequence: [{ role: imp, type: gatekeeper }]
            |            ^"]],
    );
    refuses(
        "sequence: [imp, revv]",
        &expect![[r"
        flow.yml:1:17: there is no role `revv` (did you mean `rev`?)
            | sequence: [imp, revv]
            |                 ^"]],
    );
}

#[test]
fn a_question_that_only_a_rejection_leads_to_is_no_approval() {
    let compiled =
        compiled("sequence: [ana, des, imp, rev]\nsettings: { human_approval: true }\n").unwrap();
    let steps = &compiled.workflow.steps;
    assert!(steps.contains_key(&"rebound".into()), "it has a rebound");
    let approval = &steps[&"commit-approval".into()].kind;
    assert!(matches!(approval, StepKind::Person { .. }), "{approval:?}");
}

#[test]
fn a_sequence_has_its_defaults() {
    let compiled = compiled("sequence: [ana, des, imp, rev]\n").unwrap();
    let workflow = &compiled.workflow;
    assert_eq!(workflow.max_rounds, Some(5));
    assert_eq!(
        workflow.max_stagnant_rounds, None,
        "five rounds are five rounds"
    );
    assert_eq!(workflow.on_exhausted, ExhaustionPolicy::Ask);
    let rebound = workflow.steps[&"rev".into()].rebound.as_ref().unwrap();
    assert_eq!(rebound.after, 3);
    assert_eq!(compiled.rules.len(), 5);
}

#[test]
fn what_a_sequence_says_itself_holds() {
    let text = "sequence: [des, imp, rev]\nmax_rounds: 2\non_max_iterations: fail\n\
                rebound: { after_failures: 1 }\nrules: [mine]\n";
    let compiled = compiled(text).unwrap();
    let workflow = &compiled.workflow;
    assert_eq!(
        (workflow.max_rounds, workflow.on_exhausted),
        (Some(2), ExhaustionPolicy::Fail)
    );
    let rebound = workflow.steps[&"rev".into()].rebound.as_ref().unwrap();
    assert_eq!(rebound.after, 1);
    assert_eq!(compiled.rules, ["mine"]);
}

#[test]
fn a_sequence_gives_a_role_its_kind() {
    let mut sources = SourceFiles::default();
    let mut surroundings = CompileInputs::default();
    for (name, role) in [
        ("imp", "{ kind: implementer }"),
        ("lawyer", "{ prompt: You are LAWYER. }"),
    ] {
        let node = read(&mut sources, name, role).unwrap();
        surroundings.roles.add(SourceLayer::Project, name, node);
    }
    let mut built = |text: &str| {
        let node = read(&mut sources, "flow.yml", text).unwrap();
        let built = compile_workflow("flow", node, &mut surroundings.clone(), &mut |_, _| {
            Ok(None)
        });
        built.map_err(|faults| sources.to_problems(faults).to_string())
    };
    let compiled = built("sequence: [imp, { role: lawyer, type: gatekeeper }]\n").unwrap();
    assert_eq!(
        compiled.roles[&RoleName::from("lawyer")].kind,
        RoleKind::Gatekeeper
    );
    let error = built("sequence: [imp, lawyer]\n").unwrap_err();
    assert!(error.contains("the role `lawyer` has no `kind`"), "{error}");
}

/// A workflow over one that has bounds and an offer of its own.
fn over(text: &str) -> Result<CompiledWorkflow, String> {
    const BELOW: &str = "
limits: { max_rounds: 5, max_stagnant_rounds: 3 }
on_exhausted: ask
rules: [below]
steps:
  des: { role: des, next: imp }
  imp: { role: imp, next: rev }
  rev: { role: rev, next: commit, on_reject: imp, rebound: { after: 3, to: offer } }
  offer: { person: Again?, answers: { again: des, go_on: imp } }
  commit: { commit: branch }
";
    let mut sources = SourceFiles::default();
    let mut surroundings = CompileInputs::default();
    for (name, role) in ROLES {
        let node = read(&mut sources, name, role).unwrap();
        surroundings.roles.add(SourceLayer::BuiltIn, name, node);
    }
    let node = read(&mut sources, "flow.yml", text).unwrap();
    let below = read(&mut sources, "below.yml", BELOW).unwrap();
    let plain = read(&mut sources, "plain.yml", STEPS).unwrap();
    let mut find = |name: &str, _: usize| {
        Ok(match name {
            "below" => Some(below.clone()),
            "plain" => Some(plain.clone()),
            _ => None,
        })
    };
    let built = compile_workflow("flow", node, &mut surroundings, &mut find);
    built.map_err(|faults| sources.to_problems(faults).to_string())
}

#[test]
fn short_keys_work_beside_extends() {
    for bound in [
        "max_iterations: 2",
        "max_rounds: 2",
        "limits: { max_rounds: 2 }",
    ] {
        let compiled = over(&format!("extends: below\n{bound}\n")).unwrap();
        assert_eq!(compiled.workflow.max_rounds, Some(2), "{bound}");
        assert_eq!(compiled.workflow.max_stagnant_rounds, None, "{bound}");
    }
    let both =
        over("extends: below\nmax_iterations: 9\nlimits: { max_stagnant_rounds: 4 }\n").unwrap();
    assert_eq!(
        (both.workflow.max_rounds, both.workflow.max_stagnant_rounds),
        (Some(9), Some(4))
    );
    let same = over("extends: below\n").unwrap();
    assert_eq!(same.workflow.max_stagnant_rounds, Some(3));
    for end in ["on_max_iterations: fail", "on_exhausted: fail"] {
        let compiled = over(&format!("extends: below\n{end}\n")).unwrap();
        assert_eq!(
            compiled.workflow.on_exhausted,
            ExhaustionPolicy::Fail,
            "{end}"
        );
    }
    let rebound = over("extends: below\nrebound: { after_failures: 1 }\nrules: [own]\n").unwrap();
    let step = &rebound.workflow.steps[&"rev".into()];
    assert_eq!(step.rebound.as_ref().unwrap().after, 1);
    assert_eq!(rebound.rules, ["below", "own"]);
}

#[test]
fn short_keys_that_can_mean_nothing_are_refused() {
    let error = over("extends: plain\nrebound: { after_failures: 2 }\n").unwrap_err();
    assert!(
        error.contains("flow.yml:2:10: no step of the workflow that is extended"),
        "{error}"
    );
    let error = over("extends: below\nmax_iterations: 2\nlimits: { max_rounds: 3 }\n").unwrap_err();
    assert!(
        error.contains("`max_iterations` and `limits.max_rounds` say the same thing"),
        "{error}"
    );
    for zero in ["extends: below\n", "sequence: [des, imp, rev]\n"] {
        let error = over(&format!("{zero}rebound: {{ after_failures: 0 }}\n")).unwrap_err();
        assert!(error.contains("`after_failures` is 0"), "{error}");
    }
    let error = over("extends: below\nversion: 2\n").unwrap_err();
    assert!(
        error.contains("`version` is `2`, and this codeteam reads version 1"),
        "{error}"
    );
}

#[test]
fn the_configuration_says_how_many_tasks_go_side_by_side() {
    let cap = |cap: &str, most: Option<usize>| {
        let text = format!(
            "steps:\n  tasks:\n    each: task\n    {cap}\n    next: done\n    steps:\n      \
             imp: {{ role: imp, next: commit }}\n      commit: {{ commit: branch }}\n"
        );
        let mut sources = SourceFiles::default();
        let mut surroundings = CompileInputs {
            max_parallel_tasks: most,
            ..CompileInputs::default()
        };
        let role = read(&mut sources, "imp", "{ kind: implementer }").unwrap();
        surroundings.roles.add(SourceLayer::BuiltIn, "imp", role);
        let node = read(&mut sources, "flow.yml", &text).unwrap();
        let built =
            compile_workflow("flow", node, &mut surroundings, &mut |_, _| Ok(None)).unwrap();
        let StepKind::Each { cap, .. } = &built.workflow.steps[&"tasks".into()].kind else {
            panic!("{text}");
        };
        (*cap, built.notes.len())
    };
    assert_eq!(cap("cap: 2", None), (2, 0));
    assert_eq!(cap("cap: 2", Some(6)), (6, 0));
    assert_eq!(cap("cap: 2", Some(1)), (1, 0));
    assert_eq!(cap("description: x", Some(3)), (3, 0));
    assert_eq!(
        cap("cap: 1", Some(3)),
        (1, 1),
        "one after the other stays so"
    );
}

#[test]
fn what_cannot_be_said_gets_advice() {
    refuses(
        "steps:\n  code: { role: imp, next: pr }\n  pr: { type: orchestrator_gate, command: gh pr create, next: done }\n",
        &expect![[r"
            flow.yml:3:43: `gh pr create` leaves this machine, and gates are confined (make it a `publish` step, and let a `person` step lead to it)
                |   pr: { type: orchestrator_gate, command: gh pr create, next: done }
                |                                           ^"]],
    );
    refuses(
        "steps:\n  code: { role: imp, gate: make it good }\n",
        &expect![[r"
        flow.yml:2:28: the step `code` has a role and the gate `make it good` (make the gate a step of its own; a role's verdict needs none)
            |   code: { role: imp, gate: make it good }
            |                            ^"]],
    );
    refuses(
        "steps:\n  code: { type: magic_gate, command: x }\n",
        &expect![[r"
        flow.yml:2:17: `magic_gate` is not a type of step (known here: `orchestrator_gate`, `human_gate`)
            |   code: { type: magic_gate, command: x }
            |                 ^"]],
    );
    refuses(
        "steps:\n  code: { role: imp }\n  wait: { type: orchestrator_gate }\n",
        &expect![[r"
        flow.yml:3:3: the gate `wait` has no `command` (`gate: project` runs the project's own checks)
            |   wait: { type: orchestrator_gate }
            |   ^"]],
    );
    refuses(
        "steps:\n  code: { role: imp, retry: oftn }\n",
        &expect![[r"
        flow.yml:2:29: there is no retry policy `oftn` (known here: `default`, `aggressive`, `conservative`, `none`)
            |   code: { role: imp, retry: oftn }
            |                             ^"]],
    );
    refuses(
        "{}",
        &expect![[r"
        flow.yml:1:1: the workflow `flow` has no steps (say `steps`, a `sequence`, or which workflow it `extends`)
            | {}
            | ^"]],
    );
}

#[test]
fn turns_are_limited_by_the_role_then_the_configuration_then_the_workflow() {
    let turns = |limits: &str, configured: Option<u32>| {
        let text = format!(
            "{limits}steps:\n  imp: {{ role: imp, next: own }}\n  own: {{ role: own, next: done }}\n"
        );
        let mut sources = SourceFiles::default();
        let mut surroundings = CompileInputs {
            max_turns: configured,
            ..CompileInputs::default()
        };
        for (name, role) in [
            ("imp", "{ kind: implementer }"),
            ("own", "{ kind: implementer, max_turns: 7 }"),
        ] {
            let role = read(&mut sources, name, role).unwrap();
            surroundings.roles.add(SourceLayer::BuiltIn, name, role);
        }
        let node = read(&mut sources, "flow.yml", &text).unwrap();
        let built =
            compile_workflow("flow", node, &mut surroundings, &mut |_, _| Ok(None)).unwrap();
        let of = |name: &str| built.roles[&name.into()].means.max_turns;
        (of("imp"), of("own"))
    };
    assert_eq!(turns("", None), (None, Some(7)));
    let limited = "limits: { max_turns: 30 }\n";
    assert_eq!(turns(limited, None), (Some(30), Some(7)));
    assert_eq!(turns(limited, Some(60)), (Some(60), Some(7)));
    assert_eq!(turns("", Some(60)), (Some(60), Some(7)));
    let unlimited = "limits: { max_turns: unlimited }\n";
    assert_eq!(turns(unlimited, None), (None, Some(7)));
}

#[test]
fn nobody_is_left_without_a_turn() {
    let error = compiled(&format!("limits: {{ max_turns: 0 }}{STEPS}")).unwrap_err();
    let place = "flow.yml:1:22: `limits.max_turns` is 0, so that no worker";
    assert!(error.contains(place), "{error}");
    assert!(error.contains("leave it out for no limit"), "{error}");
    let role = "roles:\n  own: { kind: implementer, max_turns: 0 }\n";
    let text = format!("{role}steps:\n  code: {{ role: own, next: done }}\n");
    let error = compiled(&text).unwrap_err();
    let place = "flow.yml:2:40: `max_turns` is 0, so that the worker";
    assert!(error.contains(place), "{error}");
}
