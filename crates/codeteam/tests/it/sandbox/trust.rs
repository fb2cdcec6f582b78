//! A repository is not trusted because it was cloned: `codeteam trust`, and what runs do without it.

use serde_json::{Value, json};

use super::{attack, by, cast, coder, reviewer};
use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};
use crate::samples::ONE_TASK;

/// A cloned repository whose configuration wants the user's own rights, beside its checks.
fn cloned() -> Project {
    let project = Project::new();
    let own = project.read(".codeteam/config.yml");
    project.config(&format!("{own}sandbox: none\n"));
    project.commit("as it was cloned");
    project
}

fn steal(project: &Project, more: &[&str]) -> CommandResult {
    project.write_outside("key", "the-key-of-the-user\n");
    let key = project.home().join("key");
    let theft = by("coder", &format!("cat {0} || echo nothing", key.display()));
    attack(project, &[coder(&theft), reviewer("")], more)
}

#[test]
fn a_repository_does_not_switch_the_sandbox_off() {
    for user in ["sandbox: { backend: bubblewrap }\n", "sandbox: {}\n"] {
        let project = cloned();
        project.user_config(user);
        let done = steal(&project, &[]).expect(3);
        let done = done.says(&[
            "this repository asks for more than your own configuration allows",
            "without a sandbox, with all your own rights (`sandbox.backend`, .codeteam/config.yml:",
            "`codeteam trust`",
            "`codeteam run --untrusted`",
        ]);
        assert_eq!(done.stdout, "");
        project.run(&["status"]).expect(0).lacks(&["running"]);
        // Without what it asks for, the run is confined.
        let done = steal(&project, &["--untrusted"]).expect(0);
        assert_eq!(done.said("coder").last(), Some(&"nothing"));
        done.says(&["`sandbox.backend`", "is left out"]);
    }
}

/// Whatever a command does, it does not go on with this log.
fn refuses_the_log(project: &Project, why: &str) {
    for command in ["status", "show", "log", "resume", "approve", "prune"] {
        let done = project.run(&[command]);
        assert_ne!(done.code, Some(0), "{command}");
        done.says(&[why]);
    }
    steal(project, &[]).expect(3).says(&[why]);
}

#[test]
fn trust_does_not_call_confined_what_would_not_be() {
    let project = cloned();
    let shown = project.run(&["trust"]).expect(3).stdout;
    assert!(shown.contains("Without a sandbox, its workers"), "{shown}");
    assert!(!shown.contains("run confined"), "{shown}");
}

#[test]
fn a_log_that_came_with_a_commit_is_not_used() {
    let project = Project::new();
    steal(&project, &["--no-sandbox"]).expect(0);
    project.run(&["status"]).expect(0);
    project.git(&["add", "--force", ".codeteam/state.db"]);
    project.git(&["commit", "--quiet", "-m", "as it was cloned"]);
    let why = "`.codeteam/state.db` is part of a commit of this repository";
    refuses_the_log(&project, why);
    project.git(&["rm", "--quiet", "--cached", ".codeteam/state.db"]);
    project.run(&["status"]).expect(0);
    // What SQLite would take over with it is as bad.
    project.write(".codeteam/state.db-wal", "");
    project.git(&["add", "--force", ".codeteam/state.db-wal"]);
    refuses_the_log(&project, "`.codeteam/state.db-wal` is part of a commit");
    project.git(&["rm", "--quiet", "--cached", ".codeteam/state.db-wal"]);
}

#[test]
fn a_log_that_somebody_else_has_written_is_not_used() {
    let project = Project::new();
    steal(&project, &["--no-sandbox"]).expect(0);
    let log = project.path(".codeteam/state.db");
    let copy = project.path(".codeteam/copy");
    std::fs::copy(&log, &copy).unwrap();
    std::fs::rename(&copy, &log).unwrap();
    let why = "was not written by your codeteam in this place";
    refuses_the_log(&project, why);
    project
        .run(&["trust", "--log"])
        .expect(3)
        .says(&["--log --yes"]);
    project
        .run(&["status"])
        .says(&[why, "`codeteam trust --log`"]);
    let taken = project.run(&["trust", "--log", "--yes"]).expect(0).stdout;
    assert!(taken.contains("completed"), "{taken}");
    project.run(&["status"]).expect(0);
}

#[test]
fn no_run_is_named_like_a_path() {
    let project = Project::new();
    steal(&project, &[]).expect(0);
    std::fs::create_dir(project.home().join("precious")).unwrap();
    project.write_outside("precious/file", "kept\n");
    let log = project.path(".codeteam/state.db");
    let forge = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute(\"update runs set id = '../../../../precious'\")\nc.commit()\n";
    let python = Project::program("/usr/bin/python3".as_ref())
        .args(["-c", forge])
        .arg(&log)
        .status();
    assert!(python.unwrap().success());
    for command in ["status", "prune", "resume"] {
        let done = project.run(&[command]);
        assert_ne!(done.code, Some(0), "{command}");
        done.says(&["which is not a name that codeteam gives runs"]);
    }
    assert!(project.home().join("precious/file").exists());
}

#[test]
fn a_repository_does_not_say_what_tokens_cost() {
    let project = Project::new();
    let own = project.read(".codeteam/config.yml");
    project.config(&format!(
        "{own}prices: {{ m: {{ input: 0, output: 0 }} }}\n"
    ));
    project.commit("as it was cloned");
    steal(&project, &["--max-cost", "1"])
        .expect(3)
        .says(&["`prices.m`", "codeteam trust"]);
}

#[test]
fn what_the_user_says_themselves_needs_no_trust() {
    let project = cloned();
    let done = steal(&project, &["--no-sandbox"]).expect(0);
    assert_eq!(done.said("coder"), ["the-key-of-the-user"]);
    project.user_config("sandbox: none\n");
    let done = steal(&project, &[]).expect(0);
    assert_eq!(done.said("coder"), ["the-key-of-the-user"]);
}

#[test]
fn trust_is_for_exactly_what_was_shown() {
    let project = cloned();
    let shown = project.run(&["trust"]).expect(3);
    assert!(
        shown.stdout.contains("without a sandbox"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("[new]"), "{}", shown.stdout);
    shown.says(&["nothing was trusted", "`codeteam trust --yes`"]);
    project.run(&["trust", "--yes"]).expect(0);
    let shown = project.run(&["trust"]).expect(0).stdout;
    assert!(shown.contains("[trusted]"), "{shown}");
    let done = steal(&project, &[]).expect(0);
    assert_eq!(done.said("coder"), ["the-key-of-the-user"]);
    let started = project.events().remove(0)["event"]["access"]["granted"].clone();
    assert_eq!(
        started,
        json!([{ "key": "sandbox.backend", "value": "none" }])
    );
    let shown = project.run(&["show"]).expect(0).stdout;
    assert!(shown.contains("trusted   sandbox.backend: none"), "{shown}");
    // What is new asks again, and what is new is told.
    let own = project.read(".codeteam/config.yml");
    project.config(&format!("{own}mcp_servers: {{ t: {{ command: evil }} }}\n"));
    let told = project.run(&["trust", "--json"]).expect(3);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let states: Vec<&Value> = told["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["state"])
        .collect();
    assert_eq!(states, ["trusted", "open"]);
    assert_eq!(told["trusted"], false);
    steal(&project, &[])
        .expect(3)
        .says(&["MCP server `t`, started as `evil`"]);
    // It is kept outside of the repository, and can be taken back.
    let listed = project.run(&["trust", "--list"]).expect(0).stdout;
    assert!(listed.contains("sandbox.backend: none"), "{listed}");
    project.config(&own);
    steal(&project, &[]).expect(0);
    project.run(&["trust", "--revoke"]).expect(0);
    steal(&project, &[]).expect(3);
    let listed: Value = project.json(&["trust", "--list", "--json"]);
    assert_eq!(listed, json!([]));
    let files = project.git(&["status", "--porcelain", "--ignored", "."]);
    assert!(!files.contains("trust"), "{files}");
}

#[test]
fn a_log_that_a_pull_replaces_is_kept_and_can_be_put_back() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.run(&["run", "x", "--script", &script]).expect(0);
    let own = project.json(&["status", "--json"]);
    let log = project.path(".codeteam/state.db");
    // What somebody else has committed comes in its place, as a checkout of git writes it.
    let theirs = project.path("theirs.db");
    std::fs::copy(&log, &theirs).unwrap();
    let blob = project.git(&["hash-object", "-w", "theirs.db"]);
    std::fs::remove_file(&theirs).unwrap();
    let entry = format!("100644,{blob},.codeteam/state.db");
    project.git(&["update-index", "--add", "--cacheinfo", &entry]);
    project.git(&["commit", "--quiet", "-m", "theirs"]);
    project.git(&["rm", "--quiet", "--cached", ".codeteam/state.db"]);
    project.git(&[
        "checkout",
        "--quiet",
        "--force",
        "HEAD",
        "--",
        ".codeteam/state.db",
    ]);
    let refused = project.run(&["status"]).expect(3);
    let refused = refused.says(&["is part of a commit", "which codeteam has kept"]);
    // What it says puts the own log back.
    let told = refused.stderr.replace('\n', " ");
    let told = told.split('`').find(|text| text.starts_with("git rm "));
    let command = told.unwrap().split_whitespace().collect::<Vec<_>>();
    project.paste(&command.join(" ")).expect(0);
    assert_eq!(project.json(&["status", "--json"]), own);
}

#[test]
fn the_user_can_forbid_it_for_good() {
    let project = cloned();
    project.trust();
    project.user_config("trust: { never: [ sandbox ] }\n");
    let done = steal(&project, &[]).expect(0);
    assert_eq!(done.said("coder").last(), Some(&"nothing"));
    done.says(&["`sandbox.backend`", "your own configuration forbids it"]);
    let shown = project.run(&["trust"]).expect(0).stdout;
    assert!(shown.contains("[forbidden]"), "{shown}");
    project.config("trust: ask\n");
    steal(&project, &[])
        .expect(2)
        .says(&["the repository cannot say it"]);
}

#[test]
fn a_run_at_a_terminal_asks() {
    let project = cloned();
    let script = project.script(ONE_TASK);
    let run = ["run", "x", "--script", &script, "--no-judge", "--no-talk"];
    let mut terminal = project.terminal(&run);
    terminal.until("run without it (w), or stop (N)?");
    terminal.line("");
    terminal.end(3);
    assert_eq!(
        project.run(&["trust", "--list"]).expect(0).stdout.trim(),
        "no repository is trusted with anything"
    );
    let mut terminal = project.terminal(&run);
    terminal.until("run without it (w), or stop (N)?");
    terminal.line("w");
    terminal.end(0);
    assert!(
        project.shown_run()["confinement"]
            .as_str()
            .unwrap()
            .starts_with("confined by")
    );
    let mut terminal = project.terminal(&run);
    terminal.until("run without it (w), or stop (N)?");
    terminal.line("y");
    terminal.end(0);
    assert!(
        project.shown_run()["confinement"]
            .as_str()
            .unwrap()
            .starts_with("not confined")
    );
    // Once is enough.
    project.terminal(&run).end(0);
}

#[test]
fn nothing_slips_in_between_start_and_resume() {
    let project = Project::new();
    let look = by("coder", "echo $HOME");
    let args = cast(&project, ONE, &[coder(&look), reviewer("")]);
    let killed = |more: &[&str]| {
        let mut command = project.codeteam(&[]);
        command.args(&args).args(more);
        let output = command.env("CODETEAM_FAILPOINT", "appended:1").output();
        assert_eq!(output.unwrap().status.code(), None);
    };
    let own = project.read(".codeteam/config.yml");
    let asking = format!(
        "{own}sandbox: {{ backend: none, toolchains: [ {} ] }}\n",
        project.home().join("meet").display()
    );
    // What came after it started is left out, and that is told.
    killed(&[]);
    project.config(&asking);
    let done = project.run(&["-v", "resume"]).expect(0);
    assert_eq!(done.said("coder"), ["/home/agent"]);
    // What it was started with is not what it goes on with, once that is revoked.
    project.trust();
    killed(&[]);
    project.run(&["trust", "--revoke"]).expect(0);
    project.run(&["-v", "resume"]).expect(3).says(&[
        "started with `sandbox.backend: none`",
        "you do not trust it with that any more",
        "codeteam abort",
    ]);
    // Whoever ends it needs no trust.
    project.run(&["abort"]).expect(0);
    project.trust();
    killed(&["--untrusted"]);
    project
        .run(&["resume"])
        .expect(3)
        .says(&["`--untrusted`", "codeteam trust --revoke"]);
    project.run(&["trust", "--revoke"]).expect(0);
    let done = project.run(&["-v", "resume"]).expect(0);
    assert_eq!(done.said("coder"), ["/home/agent"]);
}

#[test]
fn what_init_writes_on_the_users_word_is_trusted() {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write(
        "package.json",
        "{ \"name\": \"x\", \"scripts\": { \"test\": \"node t.js\" }, \"dependencies\": { \"a\": \"1.0.0\" } }\n",
    );
    project.write(
        "package-lock.json",
        "{ \"name\": \"x\", \"lockfileVersion\": 3, \"packages\": {} }\n",
    );
    // Something of the repository's own is not trusted on the way.
    project.write(".worktreeinclude", ".env\n");
    project.commit("first");
    project.run(&["init", "--yes"]).expect(0);
    assert!(
        project
            .read(".codeteam/config.yml")
            .contains("registry.npmjs.org")
    );
    let told = project.run(&["trust", "--json"]).expect(3);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    for request in told["requests"].as_array().unwrap() {
        let wanted = if request["key"] == ".worktreeinclude" {
            "open"
        } else {
            "trusted"
        };
        assert_eq!(request["state"], wanted, "{request}");
    }
    assert!(told["requests"].as_array().unwrap().len() > 1, "{told}");
}

#[test]
fn what_a_repository_asks_for_forges_no_lines() {
    let project = Project::new();
    let own = project.read(".codeteam/config.yml");
    project.config(&format!(
        "{own}mcp_servers: {{ t: {{ command: \"x\\n  - nothing else [trusted]\\e[2K\" }} }}\n"
    ));
    let shown = project.run(&["trust"]).expect(3).stdout;
    let lines: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("  - "))
        .collect();
    assert_eq!(lines.len(), 1, "{shown}");
    assert!(!shown.contains("\u{1b}[2K"), "{shown}");
}

#[test]
fn a_log_that_came_with_a_submodule_is_not_used() {
    let project = Project::new();
    steal(&project, &["--no-sandbox"]).expect(0);
    project.run(&["status"]).expect(0);
    project.write(".codeteam/.git", "gitdir: ../.git/modules/.codeteam\n");
    for command in ["status", "show", "log", "resume", "prune"] {
        let done = project.run(&[command]);
        assert_ne!(done.code, Some(0), "{command}");
        done.says(&["`.codeteam` is a repository of its own", "out of the way"]);
    }
}
