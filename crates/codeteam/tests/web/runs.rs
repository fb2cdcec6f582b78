//! Runs that the tests show in pages: real ones, whose workers are scripted.

use crate::live::RunningCodeteam;
use crate::project::Project;
use crate::pty::Terminal;

/// A coder who does as many rounds as a person wants.
const CODER: &str = r#"
version: 1
plays:
  - match: { role: coder }
    do:
      - text: Writing greet.sh
      - write: { path: greet.sh, content: "echo hello\necho round {{round}}\necho bye\n" }
      - submit: { summary: "Wrote round {{round}}", files_changed: [greet.sh], proof: Ran it }
  - match: { role: reviewer }
    do:
      - submit:
          verdict: approve
          reason: Short and clear
          findings: [ { severity: minor, title: Says no name, detail: A name would be nicer, file: greet.sh, line: 1 } ]
  - match: { kind: scribe }
    do: [ { submit: { message: Write greet.sh. } } ]
"#;

/// A task that a reviewer looks at and a person judges.
const JUDGED: &str = r"
start: work
roles: { coder: { kind: implementer }, reviewer: { kind: gatekeeper } }
steps:
  work:
    each: task
    next: done
    steps:
      code: { role: coder, next: review }
      review: { role: reviewer, next: judge, on_reject: code }
      judge:
        person: Acceptable?
        answers:
          accept: commit
          reject: { next: code, rejects: true }
      commit: { commit: branch, next: done }
";

const PLAN: &str = r"
plan_id: feature-0001
description: Greet people
tasks:
  - id: task-001
    title: Greet users
    description: A script that greets
    files: [greet.sh]
    acceptance: [It prints a greeting]
";

/// The arguments that start such a run.
fn judged_args(project: &Project) -> [String; 8] {
    let (script, flow) = (project.script(CODER), project.workflow(JUDGED));
    let plan = project.write_outside("plan.yml", PLAN);
    [
        "run",
        "Greet people",
        "--script",
        &script,
        "--workflow",
        &flow,
        "--plan",
        &plan,
    ]
    .map(str::to_owned)
}

/// A project with a run that waits for a person, and that nobody drives.
pub(crate) fn waiting_project() -> Project {
    let project = Project::new();
    let args = judged_args(&project);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    project.run(&args).expect(3);
    project
}

/// A coder who says lines and waits for the file that `Project::go` names, between every two of them.
fn waiting_coder(project: &Project) -> String {
    let go = project.go().display().to_string();
    format!(
        r#"
version: 1
plays:
  - match: {{ role: coder }}
    do:
      - text: The first line of the worker
      - wait_for: {{ path: {go}-1 }}
      - text: The second line of the worker
      - wait_for: {{ path: {go}-2 }}
      - write: {{ path: greet.sh, content: "echo hello\n" }}
      - submit: {{ summary: Wrote it }}
  - match: {{ kind: scribe }}
    do: [ {{ submit: {{ message: Write greet.sh. }} }} ]
"#
    )
}

/// A run without a person, driven by a process of its own, whose worker waits for the test.
pub(crate) fn started_run(project: &Project) -> RunningCodeteam {
    let script = project.script(&waiting_coder(project));
    let flow = project.workflow(
        "start: code\nroles: { coder: { kind: implementer } }\nsteps:\n  code: { role: coder, next: commit }\n  commit: { commit: branch, next: done }\n",
    );
    project.start(&[
        "run",
        "Greet people",
        "--script",
        &script,
        "--workflow",
        &flow,
    ])
}

/// Lets the waiting worker go on to its next line.
pub(crate) fn let_worker_go_on(project: &Project, step: u32) {
    let go = format!("{}-{step}", project.go().display());
    std::fs::write(go, "").unwrap();
}

/// The same task on a screen, which drives it until somebody has decided.
pub(crate) fn driven_run(project: &Project) -> Terminal {
    let args = judged_args(project);
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    args.push("--tui");
    project.terminal(&args)
}
