//! Roles that cannot answer as their contract says are found before anything runs.

use crate::language::compile_file;

/// Returns the problems of a workflow with one role.
fn said(role: &str) -> String {
    let text = format!(
        "name: one\nstart: work\nroles:\n  it: {{ worker: claude, {role} }}\nsteps:\n  work: {{ role: it, next: done }}\n"
    );
    match compile_file("flow.yml", &text, &[]) {
        Ok(_) => String::new(),
        Err(problems) => {
            let told = problems.to_string();
            told.lines().next().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn a_contract_without_a_form_for_the_kind_is_a_problem() {
    assert_eq!(
        said("kind: analyst, contract: strict"),
        "flow.yml:6:3: `work` cannot use the role `it`: the contract `strict` has no form for an \
         analyst (it has one for planner, implementer, gatekeeper; leave `contract` out for the \
         native one)"
    );
    for (contract, kinds) in [
        ("strict", ["designer", "scribe"]),
        ("supervisor", ["analyst", "scribe"]),
        ("team_mcp", ["planner", "scribe"]),
    ] {
        for kind in kinds {
            let said = said(&format!("kind: {kind}, contract: {contract}"));
            assert!(
                said.contains("has no form for a"),
                "{contract} {kind}: {said}"
            );
        }
    }
}

#[test]
fn whole_files_and_tools_go_with_contracts() {
    assert_eq!(
        said("kind: implementer, contract: strict"),
        "flow.yml:6:3: `work` cannot use the role `it`: the contract `strict` has whole files in \
         an implementer's answer, and no tools (add `mode: edits` to the role)"
    );
    let supervisor = said("kind: implementer, contract: supervisor, mode: edits");
    assert!(
        supervisor.contains("no place for whole files"),
        "{supervisor}"
    );
    for role in [
        "kind: implementer, contract: strict, mode: edits",
        "kind: implementer, contract: supervisor",
        "kind: implementer, contract: team_mcp, mode: edits",
        "kind: planner, contract: strict",
        "kind: gatekeeper, contract: strict",
        "kind: designer, contract: supervisor",
        "kind: scribe",
    ] {
        assert_eq!(said(role), "");
    }
}

#[test]
fn nothing_is_published_unless_a_person_has_answered() {
    let flow = |steps: &str| {
        let text = format!("name: one\nsteps:\n{steps}");
        match compile_file("flow.yml", &text, &[]) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    };
    let asks =
        "  ask: { person: Go?, answers: { yes: push, no: done } }\n  push: { publish: git push }\n";
    assert_eq!(flow(asks), "");
    let left_out = "  ask: { person: Go?, when: { plan: given }, next: push, answers: { yes: push } }\n  \
                    push: { publish: git push }\n";
    let at_once =
        "  tasks:\n    each: task\n    next: done\n    steps:\n      push: { publish: git push }\n";
    for steps in [left_out, at_once, "  push: { publish: git push }\n"] {
        let said = flow(steps);
        assert!(said.contains("only an answer of a `person` step"), "{said}");
    }
}

#[test]
fn an_implementer_asks_for_another_interface_and_a_lock_among_its_steps_writes_it() {
    let problem = |asks: &str, weighs: &str| {
        let text = format!(
            "name: one
start: phases
limits: {{ max_rounds: 5 }}
roles:
  lead: {{ worker: claude, kind: designer }}
  it: {{ worker: claude, kind: implementer }}
  judge: {{ worker: claude, kind: gatekeeper }}
steps:
  phases:
    each: phase
    next: done
    start: design
    steps:
      design: {{ role: lead, next: lock }}
      lock: {{ lock: interfaces, next: keep }}
      keep: {{ commit: branch, on_conflict: lock, next: tasks }}
      tasks:
        each: task
        next: done
        start: make
        steps:
          make: {{ role: it, {asks} next: test }}
          test: {{ gate: [{{ command: make test }}], on_fail: make, next: commit }}
          commit: {{ commit: branch, on_conflict: make, next: done }}
          weigh: {{ role: judge, {weighs} on_reject: make, next: write }}
          write: {{ lock: interfaces, next: store }}
          store: {{ commit: branch, on_conflict: make, next: make }}
"
        );
        match compile_file("flow.yml", &text, &[]) {
            Ok(_) => String::new(),
            Err(problems) => problems.to_string(),
        }
    };
    let asks = "on_interface_change: weigh,";
    assert_eq!(problem(asks, ""), "");
    let judge = problem(asks, "on_interface_change: write,");
    let words = "`weigh` has `on_interface_change`, but its role is not an implementer";
    assert!(judge.contains(words), "{judge}");
    let nobody = problem("", "");
    assert!(
        nobody.contains("`write` locks interfaces, which belong to a phase"),
        "{nobody}"
    );
}
