//! Workers by name: who stands in for whom, whose quota is used up, what it costs, and what only
//! the user may say of them.

use serde_json::Value;

use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};

/// A coder with a stand-in that plays another script.
const TWO: &str = r"
start: code
roles:
  coder: { kind: implementer, workers: [scripted, second] }
  reviewer: { kind: gatekeeper, workers: [second] }
steps:
  code: { role: coder, next: verify }
  verify: { gate: project, next: review, on_fail: code }
  review: { role: reviewer, next: commit, on_reject: code }
  commit: { commit: branch, next: done }
";

const GOOD: &str = "version: 1
plays:
  - match: { role: coder }
    do: [ { write: { path: made.txt, content: made } }, { submit: { summary: Made it } } ]
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
";

/// A run in which the coder's first worker does this, and the second one does well.
fn run(project: &Project, first: &str) -> CommandResult {
    let first = project.write_outside(
        "first.yml",
        &format!("version: 1\nplays:\n  - do: [ {first} ]\n"),
    );
    let second = project.write_outside("second.yml", GOOD);
    project.config(&format!(
        "verification: {{ commands: [] }}\nscript: {first}\nworkers: {{ second: {{ dialect: scripted, model: {second} }} }}\n"
    ));
    let workflow = project.workflow(&TWO.replace(
        "workers: [scripted, second]",
        &format!("model: {first}, workers: [scripted, second]"),
    ));
    project.run(&["run", "x", "--workflow", &workflow])
}

fn workers(project: &Project) -> Vec<Value> {
    let events = project.events();
    let started = events
        .iter()
        .map(|event| &event["event"])
        .filter(|event| event["type"] == "attempt_started");
    let workers = started.map(|event| event["worker"].clone());
    workers.filter(|worker| !worker.is_null()).collect()
}

#[test]
fn another_stands_in_for_one_that_cannot_go_on() {
    let project = Project::new();
    let done = run(
        &project,
        "{ error: { message: Not logged in, status: 401 } }, { exit: 1 }",
    );
    done.expect(0)
        .says(&["given to another worker than scripted: Not logged in"]);
    assert_eq!(workers(&project), ["scripted", "second", "second"]);
    assert_eq!(project.committed_file("made.txt"), "made");
}

#[test]
fn an_honest_blocked_is_nobody_elses_business() {
    let project = Project::new();
    let done = run(&project, "{ submit: { blocked: There is no licence } }");
    done.expect(1).says(&["There is no licence"]);
    assert_eq!(workers(&project), ["scripted"]);
}

#[test]
fn a_limit_that_another_run_has_told_of_is_heeded() {
    let limit = "{ rate_limit: { resets_in_ms: 3600000 } }, { exit: 1 }";
    let project = Project::new();
    run(&project, limit)
        .expect(0)
        .says(&["scripted rests until"]);
    assert_eq!(workers(&project), ["scripted", "second", "second"]);
    // A script has no quota, so nobody else is told.
    let told = project.home().join(".local/state/codeteam/parks.json");
    assert!(!told.exists());
    // As another run would have told it, until the year 2100; it is believed for a month.
    std::fs::write(&told, r#"{"scripted":4102444800000}"#).unwrap();
    run(&project, limit)
        .expect(0)
        .says(&["scripted rests until"]);
    assert_eq!(workers(&project), ["second", "second"], "not even tried");
}

#[test]
fn workers_of_one_account_rest_together() {
    let project = Project::new();
    let second = project.write_outside("second.yml", GOOD);
    let limit =
        "version: 1\nplays:\n  - do: [ { rate_limit: { resets_in_ms: 400 } }, { exit: 1 } ]\n";
    let first = project.write_outside("first.yml", limit);
    project.config(&format!(
        "verification: {{ commands: [] }}\nworkers:\n  first: {{ dialect: scripted, model: {first}, account: mine }}\n  second: {{ dialect: scripted, model: {second}, account: mine }}\n"
    ));
    let workflow = project.workflow(&TWO.replace("[scripted, second]", "[first, second]"));
    let mut run = project.start(&["run", "x", "--workflow", &workflow]);
    run.until("mine rests until");
    // A script is read anew by every worker.
    project.write_outside("first.yml", GOOD);
    run.end().expect(0).says(&["mine may be used again"]);
    assert_eq!(workers(&project), ["first", "first", "second"]);
}

#[test]
fn files_in_an_answer_land_in_the_tree() {
    let project = Project::new();
    project.write("old.txt", "old\n");
    project.commit("something old");
    let script = project.script(
        r#"
version: 1
plays:
  - match: { role: coder, attempt: 1 }
    do: [ { submit: { summary: Out, edits: [ { path: ../out.txt, content: x } ] } } ]
  - match: { role: coder }
    do:
      - run: { command: "touch cannot.txt || echo as it should be" }
      - submit:
          summary: Made it
          edits: [ { path: src/new.txt, content: "new\n" }, { path: old.txt, delete: true } ]
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
"#,
    );
    let edits = ONE.replace("kind: implementer", "kind: implementer, mode: edits");
    let workflow = project.workflow(&edits);
    let done = project.run(&[
        "-v",
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ]);
    done.expect(0)
        .says(&["not a file of the worktree", "as it should be"]);
    assert_eq!(project.committed_files(), ["old.txt", "src/new.txt"]);
    assert_eq!(project.committed_file("src/new.txt"), "new");
    let log = project.run(&["log", "--json"]).stdout;
    assert!(
        !log.contains("new\\n"),
        "what is in the tree is not in the log: {log}"
    );
}

#[test]
fn tokens_have_a_price_where_one_is_said() {
    let project = Project::new();
    let script = |usage: &str| {
        format!(
            "version: 1\nplays:\n  - match: {{ role: coder }}\n    do: [ {{ usage: {usage} }}, {{ write: {{ path: a, content: x }} }}, {{ submit: {{ summary: x }} }} ]\n  - match: {{ role: reviewer }}\n    do: [ {{ usage: {{ input_tokens: 0, output_tokens: 0, cost_usd: 0 }} }}, {{ submit: {{ verdict: approve, reason: Good }} }} ]\n"
        )
    };
    let workflow = project.workflow(ONE);
    let cost = |usage: &str| {
        let script = project.script(&script(usage));
        let args = ["run", "x", "--script", &script, "--workflow", &workflow];
        project.run(&args).expect(0);
        project.shown_run()["cost"].clone()
    };
    let unknown = cost("{ input_tokens: 1000, output_tokens: 100 }");
    assert_eq!(unknown["unpriced_attempts"], 1);
    let told = cost("{ input_tokens: 1000, output_tokens: 100, cost_usd: 0.000077 }");
    assert_eq!(
        (&told["money_microusd"], &told["unpriced_attempts"]),
        (&77.into(), &0.into())
    );
}

#[test]
fn what_only_the_user_may_say() {
    let project = Project::new();
    for key in [
        "base_url: https://example.org",
        "key: MY_KEY",
        "program: ./claude",
        "login: .",
    ] {
        project.config(&format!("workers: {{ claude: {{ {key} }} }}\n"));
        let name = key.split(':').next().unwrap();
        project.run(&["run", "x"]).expect(2).says(&[
            &format!("`workers.claude.{name}`"),
            "the repository cannot say it",
        ]);
    }
    project.config("worker: scripted\nworkers: { mine: { model: x } }\n");
    project
        .run(&["run", "x", "--worker", "mine"])
        .expect(2)
        .says(&["does not know the worker `mine`"]);
    let workflow = ONE.replace(
        "kind: implementer",
        "kind: implementer, mcp_servers: [tickets]",
    );
    let workflow = project.workflow(&workflow);
    project
        .run(&["run", "x", "--workflow", &workflow])
        .expect(2)
        .says(&[
            "no MCP server `tickets`",
            "hint: name it under `mcp_servers:`",
        ]);
}

#[test]
fn a_cli_that_is_not_there_is_named_with_its_package() {
    let project = Project::new();
    let workflow = project.workflow(ONE);
    let mut run = project.codeteam(&["run", "x", "--workflow", &workflow, "--worker", "gemini"]);
    // Nothing but what codeteam itself needs.
    let tools = project.home().join("bin");
    std::fs::create_dir(&tools).unwrap();
    for program in ["git", "bwrap", "sh"] {
        let found = Project::program(std::path::Path::new("sh"))
            .args(["-c", &format!("command -v {program}")])
            .output()
            .unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        std::os::unix::fs::symlink(found.trim(), tools.join(program)).unwrap();
    }
    let done = run.env("PATH", &tools).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("`gemini` is not installed"), "{said}");
    assert!(said.contains("npm install -g @google/gemini-cli"), "{said}");
}
