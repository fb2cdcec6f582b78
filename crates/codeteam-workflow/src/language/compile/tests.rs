//! Every mistake in a workflow file names its place and its remedy.

use super::*;

const HEAD: &str = "
name: sample
start: code
roles:
  maker: { kind: implementer, worker: scripted }
  judge: { kind: gatekeeper, worker: scripted }
steps:
";

fn problems(steps: &str) -> String {
    match compile_file("flow.yml", &format!("{HEAD}{steps}"), &[]) {
        Ok(_) => panic!("it compiles:\n{steps}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn a_good_one_compiles() {
    let text = format!(
        "{HEAD}
  code: {{ role: maker, next: test }}
  test:
    gate: [ {{ name: unit, command: make test }}, {{ exists: README.md }} ]
    next: review
    on_fail: code
  review: {{ roles: [judge, judge], join: majority, next: ask, on_reject: code }}
  ask:
    person: Ship it?
    answers: {{ yes: commit, no: {{ next: code, rejects: true }} }}
  commit: {{ commit: branch, next: done }}
"
    );
    let compiled = compile_file("flow.yml", &text, &[]).unwrap();
    assert_eq!(compiled.workflow.steps.len(), 5);
    assert_eq!(compiled.workflow.max_steps, Some(MAX_STEPS));
    let StepKind::Commit { on_conflict } = &compiled.workflow.steps[&StepId::from("commit")].kind
    else {
        panic!("not a commit")
    };
    assert_eq!(on_conflict.as_ref().map(StepId::as_str), Some("code"));
}

#[test]
fn mistakes_name_their_place_and_remedy() {
    let cases = [
        (
            "  code: { role: maker }\n  test: { gate: project, next: done }\n",
            "flow.yml:8:3: the step `code` has no `next` (name a step, `done` or `fail`)",
        ),
        (
            "  code: { role: makr, next: done }\n",
            "there is no role `makr` (did you mean `maker`?)",
        ),
        (
            "  code: { role: maker, next: comit }\n  commit: { commit: branch, next: done }\n",
            "flow.yml:8:30: `next` of `code` leads to `comit`, which is not a step (did you mean `commit`?)",
        ),
        (
            "  code: { role: maker, next: done }\n  lost: { gate: project, next: done }\n",
            "flow.yml:9:3: no step leads to `lost`",
        ),
        (
            "  code: { role: maker, gate: project, next: done }\n",
            "make the gate a step of its own",
        ),
        (
            "  code: { role: maker, commit: branch, next: done }\n",
            "must say one thing to do",
        ),
        (
            "  code: { role: maker, on_reject: code, next: done }\n",
            "not a gatekeeper",
        ),
        (
            "  code: { roles: [maker, judge], next: done }\n",
            "different kinds",
        ),
        (
            "  code: { role: maker, retry: often, next: done }\n",
            "there is no retry policy `often`",
        ),
        (
            "  code: { person: Really?, next: done }\n",
            "allows no answer",
        ),
        (
            "  code: { publish: git push, next: done }\n",
            "only an answer of a `person` step may lead to it",
        ),
        (
            "  done: { role: maker, next: done }\n",
            "`done` cannot be the name of a step",
        ),
        ("  code: { role: maker, nxt: done }\n", "nxt"),
    ];
    for (steps, expected) in cases {
        let found = problems(steps);
        assert!(found.contains(expected), "{found}\nlacks\n{expected}");
    }
    let found = compile_file("flow.yml", "start: a\nsteps: {}\n", &[])
        .unwrap_err()
        .to_string();
    assert!(found.contains("flow.yml:1:8: `start` names `a`"), "{found}");
}

#[test]
fn a_loop_needs_an_end() {
    let steps = "
  code: { role: maker, next: review }
  review: { role: judge, next: done, on_reject: code }
";
    let limits = |limits: &str| {
        compile_file("flow.yml", &format!("limits: {limits}{HEAD}{steps}"), &[]).map(|_| ())
    };
    assert!(limits("{}").is_ok(), "there is a default limit");
    let found = limits("{ max_steps: unlimited }").unwrap_err().to_string();
    assert!(
        found.contains("the loop `code` → `review` → `code` may never end"),
        "{found}"
    );
    assert!(limits("{ max_steps: unlimited, max_rounds: 3 }").is_ok());

    let bounded = steps.replace("on_reject: code", "on_reject: code, max_rounds: 2");
    let text = format!("limits: {{ max_steps: unlimited }}{HEAD}{bounded}");
    assert!(compile_file("flow.yml", &text, &[]).is_ok());
    let asked = steps.replace("on_reject: code", "on_reject: ask")
        + "  ask: { person: Again?, answers: { yes: code, no: fail } }\n";
    let text = format!("limits: {{ max_steps: unlimited }}{HEAD}{asked}");
    assert!(
        compile_file("flow.yml", &text, &[]).is_ok(),
        "a person ends it"
    );
}

/// Rounds count rejections. A loop of steps that succeed, fail or are left out needs another end.
#[test]
fn a_bound_on_rounds_does_not_bound_other_loops() {
    let rounds = "limits: { max_steps: unlimited, max_rounds: 3 }";
    for steps in [
        "
  code: { role: maker, next: tidy }
  tidy: { role: maker, next: code }
",
        "
  code: { role: maker, next: done, on_fail: code }
",
        "
  code: { role: maker, when: { plan: present }, next: ask }
  ask: { person: Again?, when: { plan: present }, answers: { no: done }, next: code }
",
    ] {
        let found = compile_file("flow.yml", &format!("{rounds}{HEAD}{steps}"), &[]);
        let found = found.unwrap_err().to_string();
        assert!(found.contains("may never end"), "{found}");
    }
}

#[test]
fn where_a_person_who_is_left_out_leads_is_checked() {
    let found = problems(
        "
  code: { person: Go?, when: { plan: present }, answers: { yes: done }, next: nowhere }
",
    );
    assert!(
        found.contains("`next` of `code` leads to `nowhere`"),
        "{found}"
    );
}

#[test]
fn graphs_below_each_are_their_own() {
    let found = problems(
        "
  code: { role: maker, next: tasks }
  tasks:
    each: task
    next: done
    steps:
      make: { role: maker, next: code }
",
    );
    assert!(
        found.contains("`next` of `make` leads to `code`, which is in another graph"),
        "{found}"
    );
}

/// A workflow whose plan names roles, one of which has a gate of its own.
const ASSIGNED: &str = "
name: led
start: tasks
quality_threshold: 80
digest_from: 900
roles:
  maker: { kind: implementer, worker: scripted }
  writer: { kind: implementer, worker: scripted, quality_threshold: 60, gates: [ { name: words, command: make words } ] }
  judge: { kind: gatekeeper, worker: scripted }
  broken: { kind: implementer, contract: supervisor, mode: edits, worker: scripted }
steps:
  tasks:
    each: task
    next: done
    steps:
      work: { role: assigned, default_role: maker, next: review }
      review: { role: judge, next: done, on_reject: work }
";

#[test]
fn a_step_may_leave_its_roles_to_the_plan() {
    let compiled = compile_file("flow.yml", ASSIGNED, &[]).unwrap_or_else(|e| panic!("{e}"));
    let StepKind::Role(work) = &compiled.workflow.steps[&StepId::from("work")].kind else {
        panic!("not a role")
    };
    assert!(work.assigned);
    assert_eq!(work.slots, ["maker".into()]);
    let names: Vec<&str> = compiled.assignable.iter().map(RoleName::as_str).collect();
    assert_eq!(names, ["writer"], "only what has a form of answer");
    assert_eq!(
        compiled.roles[&RoleName::from("writer")].quality_threshold,
        Some(60)
    );
    let gates = &compiled.workflow.steps[&StepId::from("work-writer-gates")];
    let condition = serde_json::to_value(&gates.when).unwrap();
    assert_eq!(condition, serde_json::json!({ "assigned": ["writer"] }));
    assert_eq!(gates.on_fail, Some(ExitTarget::Step("work".into())));
    assert_eq!(compiled.workflow.quality_threshold, Some(80));
    assert_eq!(compiled.workflow.digest_from, Some(900));
}

#[test]
fn mistakes_with_assigned_roles_and_thresholds_are_named() {
    let cases = [
        (
            "default_role: maker, ",
            "",
            "`role: assigned` needs a `default_role`",
        ),
        (
            "role: assigned, ",
            "role: judge, ",
            "`default_role` is for steps with `role: assigned`",
        ),
        (
            "quality_threshold: 80",
            "quality_threshold: 101",
            "`quality_threshold` must be a whole number from 0 to 100, not 101",
        ),
        (
            "judge: { kind: gatekeeper, worker: scripted }",
            "judge: { kind: gatekeeper, contract: assembly, worker: scripted }",
            "the contract `assembly` has no form for a gatekeeper",
        ),
    ];
    for (from, to, message) in cases {
        let text = ASSIGNED.replacen(from, to, 1);
        let problems = match compile_file("flow.yml", &text, &[]) {
            Ok(_) => panic!("it compiles:\n{text}"),
            Err(problems) => problems.to_string(),
        };
        assert!(problems.contains(message), "{problems}");
        assert!(!problems.contains("no role `assigned`"), "{problems}");
    }
    let led = ASSIGNED.replacen(
        "kind: gatekeeper,",
        "kind: gatekeeper, contract: intervention,",
        1,
    );
    assert!(compile_file("flow.yml", &led, &[]).is_ok());
    let led = led.replacen(", on_reject: work", "", 1);
    let problems = match compile_file("flow.yml", &led, &[]) {
        Ok(_) => panic!("it compiles:\n{led}"),
        Err(problems) => problems.to_string(),
    };
    assert!(
        problems.contains("the leader at `review` has no `on_reject`"),
        "{problems}"
    );
}
