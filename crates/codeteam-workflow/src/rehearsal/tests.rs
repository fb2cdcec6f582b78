use codeteam_core::role::{Contract, EditMode, RoleKind};
use codeteam_core::submission::AnswerForm;
use serde_json::json;

use super::answers::ScriptedAct;
use super::forms::AnswerInputs;
use super::*;
use crate::language::compile_file;

const FLOW: &str = "
name: flow
start: plan
limits: { max_rounds: 3 }
on_exhausted: ask
settings: { careful: false }
roles:
  planner: { kind: planner }
  maker: { kind: implementer }
  judge: { kind: gatekeeper }
  asker: { kind: analyst, contract: team_mcp }
  pen: { kind: scribe }
steps:
  plan: { role: planner, when: { plan: missing }, next: know }
  know: { role: asker, max_question_rounds: 2, next: tasks }
  tasks:
    each: task
    cap: 2
    next: accept
    steps:
      make: { role: maker, next: test }
      test: { gate: [{ name: unit, command: make test }], next: review, on_fail: make }
      review: { roles: [judge, judge, judge], join: majority, next: look, on_reject: make }
      look: { person: Fine?, when: { setting: careful }, answers: { fine: commit }, next: commit }
      commit: { commit: branch, next: done }
  accept:
    person: Take it?
    answers: { approve: push, reject: { next: know, rejects: true } }
  push: { publish: git push, next: done, on_fail: accept }
";

fn compiled(text: &str) -> CompiledWorkflow {
    compile_file("flow.yml", text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn case(text: &str) -> RehearsalCase {
    let text = format!("workflow: flow\ncases:\n  - name: it\n{text}");
    let file = RehearsalSuite::parse("test.yml", &text).unwrap_or_else(|e| panic!("{e}"));
    file.cases.into_iter().next().unwrap()
}

fn outcome(text: &str) -> RehearsalOutcome {
    case(text).run(&compiled(FLOW))
}

/// Returns the problems of a file, in words.
fn wrong(text: &str) -> String {
    let outcome = outcome(text);
    let problems = outcome.problems.iter();
    let problems = problems.map(|p| match &p.hint {
        Some(hint) => format!("{}: {} ({hint})", p.line, p.message),
        None => format!("{}: {}", p.line, p.message),
    });
    let differences = outcome.differences.iter().map(ToString::to_string);
    problems
        .chain(differences)
        .collect::<Vec<String>>()
        .join("\n")
}

#[track_caller]
fn passes(text: &str) {
    assert_eq!(wrong(text), "", "{:#?}", outcome(text).path);
}

#[test]
fn steps_that_are_not_scripted_go_well_and_a_person_never_answers_unasked() {
    passes("    path: [plan, know, make, test, review, commit, accept]\n    asks: accept\n");
    passes(
        "    answers: { accept: approve }\n    path: [plan, know, tasks, make, test, review, commit, accept, push]\n",
    );
}

#[test]
fn a_list_is_used_up_and_its_last_stays() {
    passes(
        "    answers: { test: [fail, pass], accept: [reject, approve] }
    path: [plan, know, make, test, make, test, review, commit, accept, know, accept, push]
",
    );
}

#[test]
fn every_slot_votes_and_its_join_is_the_kernels() {
    passes(
        "    answers: { review: [{ slots: [reject, approve, reject] }, { slots: [approve, reject] }] }
    path: [plan, know, make, test, review, make, test, review, commit, accept]
    asks: accept
",
    );
}

#[test]
fn one_task_can_be_scripted_alone_and_frames_go_in_the_order_of_opening() {
    passes(
        "    plan: { tasks: [{ id: b, files: [b] }, { id: a, files: [a] }] }
    answers: { test@a: [{ fail: no }, pass], accept: approve }
    path: [know, make@b, make@a, test@b, review@b, commit@b, test@a, make@a, test@a, review@a, commit@a, accept, push]
    paths: { b: [make, test, review, commit], run: [know, accept, push] }
",
    );
}

#[test]
fn what_codeteam_asks_is_answered_at_its_step() {
    passes(
        "    answers: { know: [{ ask: [Which?] }, { ask: And then? }], know?: [This., That.] }
    path: [plan, know, know, make, test, review, commit, accept]
    asks: accept
",
    );
    passes(
        "    answers: { test: fail, test?@task-001: skip }
    paths: { task-001: [make, test, make, test, make, test], run: [plan, know, accept] }
    asks: accept
",
    );
}

#[test]
fn conflicts_crashes_and_failed_commands_are_scripted_too() {
    passes(
        "    answers: { commit: [conflict, ok], push: [{ fail: no remote }, ok], accept: approve, make: [crash, empty, ok] }
    path: [plan, know, make, test, review, commit, make, test, review, commit, accept, push, accept, push]
",
    );
}

#[test]
fn settings_are_for_who_compiles() {
    let case = case("    settings: { careful: true }\n    asks: look\n");
    assert_eq!(case.settings["careful"], Value::Bool(true));
    let mut compiled = compiled(FLOW);
    assert!(!case.run(&compiled).passed());
    compiled.workflow.settings.insert("careful".into(), true);
    assert!(case.run(&compiled).passed());
}

#[test]
fn where_a_path_parts_is_shown_with_what_was_said_there() {
    expect_test::expect![[r#"
        the path diverges after `review` (step 5), where the answer was: reject: no test; reject: no test; reject: no test
            …
            test
            review
          + make
          + test
          + review
            commit
            accept"#]]
    .assert_eq(&wrong(
        "    answers: { review: [{ reject: no test }, approve] }
    path: [plan, know, make, test, review, commit, accept]
    asks: accept
",
    ));
    expect_test::expect![[r#"
        the path of `task-001` diverges after `make` (step 1), where the answer was: blocked: no access
            make
          - test
        it should have ended `completed`
          but is waiting at `make@task-001`: This does not get anywhere: `make` gave up: no access. Go on, or give it up? (continue | skip | fail)"#]]
    .assert_eq(&wrong(
        "    answers: { make: { blocked: no access } }
    paths: { task-001: [make, test] }
",
    ));
    expect_test::expect![[r#"
        `know` should have asked
          but `accept` does: Take it? `approve` runs this on your machine, outside the sandbox: git push"#]]
    .assert_eq(&wrong("    asks: know\n"));
}

#[test]
fn mistakes_are_found_before_anything_is_played() {
    expect_test::expect![[r#"
        5: the workflow has no step `revew` (did you mean `review`?)
        6: `tasks` goes through tasks or phases (script the steps in it; `step@task` is for one task only)
        7: `test`: "maybe" is not something that a gate can do (`pass`, `fail`, `{ fail: what it said }` or `crash`)
        8: `make`: "approve" is not something that an implementer can do (`empty`, `{ change: [path] }`, `ok`, `blocked`, `crash`, `wrong` or a submission)
        9: `yes` is not an answer to `accept` (`approve`, `reject`)
        10: `know` cannot be the answer of `asker`: at `questions`: invalid type: integer `3`, expected a list (`wrong` is an answer that cannot be read)
        11: `plan` cannot be the answer of `planner`: in `plan`: unknown field `taks`, expected one of `plan_id`, `description`, `phases`, `missions`, `tasks`, `forbidden` (`wrong` is an answer that cannot be read)
        12: `commit`: "fail" is not something that a commit can do (`ok`, `conflict` or `crash`)
        13: `review` has 3 slots, not 4
        14: the workflow has no step `mak` (did you mean `make`?)"#]].assert_eq(&wrong(
        "    answers:
      revew: approve
      tasks: ok
      test: maybe
      make: approve
      accept: yes
      know: { questions: 3 }
      plan: { plan: { taks: [] } }
      commit: fail
      review: { slots: [approve, approve, approve, approve] }
    path: [plan, mak]
",
    ));
}

#[test]
fn the_file_is_read_strictly() {
    let wrong = |text: &str| {
        RehearsalSuite::parse("t.yml", text)
            .unwrap_err()
            .to_string()
    };
    expect_test::expect![[r#"
        t.yml:2:8: there is no case in it (each has a `name`, `answers` and a `path`)
            | cases: []
            |        ^
        t.yml:4:5: unknown key `anwsers` (did you mean `answers`?)
            |     anwsers: {}
            |     ^
        t.yml:4:11: unknown word `done` (known here: `completed`, `failed`, `aborted`, `waiting`)
            |     ends: done
            |           ^
        t.yml:4:11: two cases are called `a`
            |   - name: a
            |           ^
        t.yml:5:16: `make` has no answer in its list
            |     answers: { make: [] }
            |                ^
        t.yml:4:26: `make` occurs here twice
            |     answers: { make: ok, make: crash }
            |                          ^
        t.yml:4:11: in the plan: task `a` depends on `b`, which is not in the plan
            |     plan: { tasks: [{ id: a, dependencies: [b] }] }
            |           ^
        t.yml:5:11: nobody is asked in the end if it ends `failed` (`ends: waiting`)
            |     asks: b
            |           ^
        t.yml:1:1: `workflow` is missing
            | cases:
            | ^"#]].assert_eq(
        &[
            "workflow: x\ncases: []\n",
            "workflow: x\ncases:\n  - name: a\n    anwsers: {}\n",
            "workflow: x\ncases:\n  - name: a\n    ends: done\n",
            "workflow: x\ncases:\n  - name: a\n  - name: a\n    answers: { make: [] }\n",
            "workflow: x\ncases:\n  - name: a\n    answers: { make: ok, make: crash }\n",
            "workflow: x\ncases:\n  - name: a\n    plan: { tasks: [{ id: a, dependencies: [b] }] }\n",
            "workflow: x\ncases:\n  - name: a\n    ends: failed\n    asks: b\n",
            "cases:\n  - name: a\n",
        ]
        .map(wrong)
        .join("\n"),
    );
}

#[test]
fn answers_nobody_asked_for_are_told_and_no_failure() {
    let outcome = outcome("    answers: { look: fine, test: pass }\n    asks: accept\n");
    assert!(outcome.passed());
    assert_eq!(outcome.unreached, ["look"]);
}

#[test]
fn a_run_without_an_end_is_told() {
    let flow = compiled(
        "start: a\nlimits: { max_steps: unlimited }\nroles: {}\nsteps:\n  a: { person: Again?, answers: { again: a } }\n",
    );
    let outcome = case("    answers: { a: again }\n").run(&flow);
    assert_eq!(outcome.ended, RehearsalEnd::Endless);
    assert!(!outcome.passed());
}

#[test]
fn a_bare_yes_is_a_yes() {
    let flow = compiled(
        "start: a\nsteps:\n  a: { person: Well?, answers: { \"yes\": done, \"no\": fail } }\n",
    );
    for (said, ends) in [
        ("yes", "completed"),
        ("no", "failed"),
        ("\"yes\"", "completed"),
    ] {
        let case = case(&format!("    answers: {{ a: {said} }}\n    ends: {ends}\n"));
        assert!(case.run(&flow).passed(), "{said}");
    }
}

#[test]
fn every_word_can_be_said_under_every_contract() {
    let act = |kind: RoleKind| {
        let well = [
            ScriptedAct::Succeed,
            ScriptedAct::Blocked("no access".to_owned()),
        ]
        .to_vec();
        let own = match kind {
            RoleKind::Gatekeeper => {
                let why = "no test".to_owned();
                vec![ScriptedAct::Approve(why.clone()), ScriptedAct::Reject(why)]
            }
            RoleKind::Implementer => vec![ScriptedAct::Change(Vec::new())],
            RoleKind::Planner => vec![ScriptedAct::Plan(
                json!({"tasks": [{"id": "T1", "files": ["a"]}]}),
            )],
            RoleKind::Analyst => vec![ScriptedAct::Ask(vec!["Which?".to_owned()])],
            RoleKind::Designer | RoleKind::Scribe => Vec::new(),
        };
        [well, own].concat()
    };
    let told = AnswerInputs {
        files: vec![("a".to_owned(), Some("text".to_owned()))],
        ..AnswerInputs::default()
    };
    for contract in Contract::ALL {
        let mode = match contract {
            Contract::Strict => EditMode::Edits,
            _ => EditMode::Tools,
        };
        for kind in contract.supported_kinds().iter().copied() {
            let form = AnswerForm {
                kind,
                contract,
                mode,
                asks: false,
                requests: false,
            };
            for act in act(kind) {
                let said = forms::compose_answer(&act, form, &told);
                assert!(said.is_ok(), "{contract:?} {kind:?} {act:?}: {said:?}");
            }
        }
    }
}

#[test]
fn the_same_script_takes_the_same_path() {
    let text = "    answers: { test: [fail, pass], accept: [reject, approve] }\n";
    assert_eq!(outcome(text).path, outcome(text).path);
}
