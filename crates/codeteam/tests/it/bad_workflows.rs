//! A workflow that could not be followed to its end is refused before a run starts, with the line
//! of what is wrong.

use crate::project::Project;
use crate::samples::THREE_TASKS;

const ROLES: &str = "roles:\n  coder: { kind: implementer }\n";

/// A workflow of a coder and these steps; `line` is that of the first step.
#[track_caller]
fn refused(head: &str, steps: &[&str], line: usize, says: &[&str]) {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let head = format!("start: code\n{head}{ROLES}steps:\n");
    let first = head.lines().count() + 1;
    let steps = steps.join("\n  ");
    let workflow = project.workflow(&format!("{head}  {steps}\n"));
    let done = project
        .run(&["run", "x", "--script", &script, "--workflow", &workflow])
        .expect(2)
        .says(&[&format!("flow.yml:{}:", first + line)])
        .says(says);
    assert_eq!(done.stdout, "");
    assert!(!project.path(".codeteam/state.db").exists());
}

#[test]
fn a_step_nobody_leads_to() {
    refused(
        "",
        &[
            "code: { role: coder, next: commit }",
            "commit: { commit: branch, next: done }",
            "lost: { role: coder, next: commit }",
        ],
        2,
        &["no step leads to `lost`"],
    );
}

#[test]
fn a_role_nobody_has() {
    refused(
        "",
        &["code: { role: codr, next: done }"],
        0,
        &["there is no role `codr`", "did you mean `coder`?"],
    );
}

#[test]
fn a_step_without_a_next() {
    refused(
        "",
        &[
            "code: { role: coder }",
            "commit: { commit: branch, next: done }",
        ],
        0,
        &["the step `code` has no `next`", "`done` or `fail`"],
    );
}

#[test]
fn a_next_that_is_no_step() {
    refused(
        "",
        &[
            "code: { role: coder, next: comit }",
            "commit: { commit: branch, next: done }",
        ],
        0,
        &[
            "leads to `comit`, which is not a step",
            "did you mean `commit`?",
        ],
    );
}

#[test]
fn a_loop_without_an_end() {
    refused(
        "limits: { max_steps: unlimited }\n",
        &[
            "code: { role: coder, next: verify }",
            "verify: { gate: [ { command: 'false' } ], next: done, on_fail: code }",
        ],
        0,
        &["the loop", "may never end", "`max_rounds`"],
    );
}

#[test]
fn a_key_nobody_knows() {
    refused("", &["code: { role: coder, nxt: done }"], 0, &["nxt"]);
}
