//! Workers looked at, listed and tried out, with CLIs and a server made up for it.

mod fakes;

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};

use self::fakes::{CLAUDE, FakeApi, answering, claude, hello, login, say};
use crate::project::{CommandResult, Project};

/// Everything that codeteam has of a trial.
fn trials(project: &Project) -> Vec<PathBuf> {
    let folder = project.home().join(".local/state/codeteam/.trials");
    let trials = std::fs::read_dir(folder).into_iter().flatten();
    trials.map(|entry| entry.unwrap().path()).collect()
}

fn run(project: &Project, args: &[&str], env: &[(&str, &str)]) -> CommandResult {
    let mut command = project.codeteam(args);
    command.env("PATH", fakes::path(project));
    CommandResult::from(command.envs(env.iter().copied()).output().unwrap())
}

/// A worker as `doctor --json` tells of it.
fn worker<'v>(checks: &'v Value, name: &str) -> &'v Value {
    let mut checks = checks.as_array().unwrap().iter();
    let found = checks.find(|check| check["worker"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "my-own-key");

#[test]
fn a_doctor_looks_at_each_worker() {
    let project = Project::new();
    claude(&project, "2.1.197 (Claude Code)", &answering("ready"));
    let api = FakeApi::start(String::new());
    let env = [KEY, ("ANTHROPIC_BASE_URL", &api.url)];
    let done = run(&project, &["doctor", "--json"], &env).expect(0);
    assert_eq!(done.stderr, "", "JSON is all there is");
    let checks = done.value();
    let found = worker(&checks, "claude");
    assert_eq!(
        (&found["ok"], &found["note"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        found["worker"],
        json!({
            "name": "claude",
            "dialect": "claude",
            "model": null,
            "account": "claude",
            "program": {
                "installed": true,
                "path": fakes::bin(&project).join("claude"),
                "version": "2.1.197",
                "drivable": true,
            },
            "login": { "by": "key", "from": "ANTHROPIC_API_KEY", "state": "usable" },
            "network": { "host": api.host(), "reached": true },
            "usable": true,
            "objections": [],
            "remedies": [],
        })
    );
    // It was connected to from inside, and not asked for anything; nobody was told the key.
    let asked = api.asked();
    assert!(
        asked.iter().all(|asked| asked.starts_with("HEAD / ")),
        "{asked:#?}"
    );
    assert!(!asked.concat().contains(KEY.1) && !done.stdout.contains(KEY.1));
    let scripted = worker(&checks, "scripted");
    assert_eq!(scripted["worker"]["usable"], true);
    assert_eq!(scripted["worker"]["login"]["by"], "not_needed");
}

#[test]
fn what_a_cli_is_has_to_be_asked_once() {
    let project = Project::new();
    claude(&project, "2.1.197", &answering("ready"));
    let api = FakeApi::start(String::new());
    let env = [KEY, ("ANTHROPIC_BASE_URL", &api.url)];
    let connecting = format!("connecting to {} (at most ", api.host());
    run(&project, &["doctor"], &env)
        .expect(0)
        .says(&["asking `claude` for its version", &connecting]);
    let kept = project.home().join(".local/state/codeteam/workers.json");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains("2.1.197"), "{kept}");
    run(&project, &["doctor"], &env)
        .expect(0)
        .says(&[&connecting])
        .lacks(&["asking `claude`"]);
    let done = run(&project, &["doctor", "--quiet"], &env).expect(0);
    assert_eq!(done.stderr, "");
}

#[test]
fn a_worker_that_is_missing_is_pointed_out_and_fails_only_who_needs_it() {
    let project = Project::new();
    project.user_config("workers: { claude: { program: /nowhere/claude } }\n");
    let done = run(&project, &["doctor"], &[]).expect(0).stdout;
    let said = "note  claude     `/nowhere/claude` is not installed; it is not logged in";
    assert!(done.contains(said), "{done}");
    assert!(
        done.contains(
            "→ `npm install -g @anthropic-ai/claude-code` installs it; log in with `claude auth \
             login`, or set `ANTHROPIC_API_KEY`"
        ),
        "{done}"
    );
    project.config("worker: claude\n");
    let done = run(&project, &["doctor"], &[]).expect(1).stdout;
    assert!(done.contains("BAD   claude "), "{done}");
    assert!(done.contains("needed for `coder`, "), "{done}");
    assert!(!done.contains("BAD   codex "), "{done}");
    // The first of a role's workers may be missing, if another can stand in.
    let roles = "roles:\n  coder: { kind: implementer, workers: [ claude, scripted ] }\n";
    let steps = "steps:\n  code: { role: coder, next: done }\n";
    let flow = format!("name: mine\nstart: code\n{roles}{steps}");
    project.write(".codeteam/workflows/mine.yml", &flow);
    project.config("workflow: mine\n");
    let done = run(&project, &["doctor"], &[]).expect(0).stdout;
    assert!(done.contains("note  claude "), "{done}");
    project.config("worker: cluade\n");
    let done = run(&project, &["doctor"], &[]).expect(1).stdout;
    assert!(
        done.contains("BAD   workflow   codeteam does not know the worker `cluade`"),
        "{done}"
    );
}

#[test]
fn a_cli_that_cannot_be_driven_says_why_and_what_to_do() {
    let project = Project::new();
    let api = FakeApi::start(String::new());
    let env = [KEY, ("ANTHROPIC_BASE_URL", &api.url)];
    project.config("worker: claude\n");
    claude(&project, "1.0.3 (Claude Code)", "");
    let done = run(&project, &["doctor"], &env).expect(1).stdout;
    assert!(done.contains("1.0.3 is too old, 2.1.0 is needed"), "{done}");
    assert!(
        done.contains("→ update it: `npm install -g @anthropic-ai/claude-code`"),
        "{done}"
    );
    // Its interpreter is not shown inside.
    let script = format!("#!{}/sh\n{CLAUDE}", project.home().join("mine").display());
    std::fs::create_dir(project.home().join("mine")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", project.home().join("mine/sh")).unwrap();
    fakes::install(&project, "claude", &script);
    let done = run(&project, &["doctor"], &env).expect(1).stdout;
    assert!(done.contains("does not start in the sandbox"), "{done}");
    assert!(done.contains("under `sandbox.toolchains`"), "{done}");
}

#[test]
fn workers_are_listed_without_a_project() {
    let nowhere = Project::empty();
    nowhere.user_config(
        "workers:\n  mine: { dialect: claude, model: opus, account: work, key: WORK_KEY }\n",
    );
    claude(&nowhere, "2.1.197", "");
    login(&nowhere, 1);
    let listed = run(&nowhere, &["worker", "list"], &[("WORK_KEY", "k")]).expect(0);
    let rows: Vec<Vec<&str>> = listed
        .stdout
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|c| !c.is_empty())
                .collect()
        })
        .collect();
    let file = nowhere.home().join(".claude/.credentials.json");
    let renewed = format!("login in {}, to be renewed at its next use", file.display());
    assert_eq!(
        rows[0],
        ["NAME", "DIALECT", "MODEL", "ACCOUNT", "PROGRAM", "LOGIN"]
    );
    assert_eq!(
        rows[1],
        [
            "mine",
            "claude",
            "opus",
            "work",
            "2.1.197",
            "key in `WORK_KEY`"
        ]
    );
    assert_eq!(
        rows[2],
        ["claude", "claude", "-", "claude", "2.1.197", &renewed]
    );
    assert_eq!(rows.len(), 7, "{}", listed.stdout);
    let listed = run(&nowhere, &["worker", "list", "--json"], &[])
        .expect(0)
        .value();
    assert_eq!(listed[0]["name"], "mine");
    assert_eq!(listed[0]["remedies"], json!(["set `WORK_KEY`"]));
    assert_eq!(
        listed[0]["network"]["reached"],
        Value::Null,
        "nobody is connected to"
    );
}

#[test]
fn a_worker_is_tried_out_as_a_run_would_use_it_and_nothing_is_left() {
    let project = Project::new();
    claude(&project, "2.1.197", &answering("ready"));
    let before = project.checkout();
    let done = run(&project, &["worker", "test", "claude"], &[KEY]).expect(0);
    for line in [
        "ok    `claude` answered `ready`",
        "      model    claude-made-up",
        "      tokens   120 read (20 of them cached), 5 written",
        "      cost     $0.0042",
        "      network  nothing was asked for",
        "      sandbox  confined by bubblewrap",
    ] {
        assert!(
            done.stdout.contains(line),
            "lacks {line:?}\n{}",
            done.stdout
        );
    }
    let done = done.says(&["waiting for `claude` to answer (at most 120 s)"]);
    drop(done);
    let args = ["worker", "test", "claude", "--json", "--model", "my-model"];
    let tried = run(&project, &args, &[KEY]).expect(0).value();
    assert_eq!(tried["ok"], true);
    assert_eq!(tried["answer"], "ready");
    assert_eq!(tried["as_asked"], true);
    assert_eq!(tried["failure"], Value::Null);
    assert_eq!(tried["usage"]["cost_microusd"], 4200);
    assert_eq!(
        tried["model"], "my-model",
        "what it was asked for is what it says"
    );
    assert_eq!(trials(&project), Vec::<PathBuf>::new());
    assert!(project.worktrees().is_empty());
    assert_eq!(project.survivors(), Vec::<String>::new());
    assert!(!project.path(".codeteam/state.db").exists());
    assert_eq!(project.checkout(), before);
}

#[test]
fn a_trial_needs_no_project_and_takes_the_configuration_of_one() {
    let nowhere = Project::empty();
    run(&nowhere, &["worker", "test", "scripted"], &[]).expect(0);
    assert_eq!(trials(&nowhere), Vec::<PathBuf>::new());
    let project = Project::new();
    // Neither its set-up nor its script nor its limits are for a trial.
    project.config(
        "setup: { command: 'exit 1' }\nscript: nowhere.yml\nlimits: { max_tokens: 1 }\n\
         sandbox: none\nworkers: { mine: { dialect: scripted } }\n",
    );
    let tried = run(&project, &["worker", "test", "mine", "--json"], &[]);
    let tried = tried.expect(0).value();
    let confined = tried["confinement"].as_str().unwrap();
    assert!(confined.starts_with("confined by"), "{confined}");
    project.trust();
    let tried = run(&project, &["worker", "test", "mine", "--json"], &[]);
    let tried = tried.expect(0).value();
    assert_eq!(tried["answer"], "ready");
    assert!(
        tried["confinement"]
            .as_str()
            .unwrap()
            .starts_with("not confined")
    );
    run(&project, &["worker", "test", "nobody"], &[])
        .expect(2)
        .says(&["does not know the worker `nobody`", "known: mine, claude"]);
    run(&project, &["worker", "test", "mine", "--timeout", "0"], &[]).expect(2);
    project.config("workers: [\n");
    run(&project, &["worker", "test", "mine"], &[])
        .expect(2)
        .says(&["config.yml:1:"]);
}

#[test]
fn a_trial_that_fails_says_of_which_kind_it_is_and_what_to_do() {
    let project = Project::new();
    let refused = say(&[
        json!({ "type": "assistant", "error": "authentication_failed", "message": {} }),
        json!({ "type": "result", "subtype": "success", "is_error": true,
                "api_error_status": 401, "result": "Invalid API key" }),
    ]);
    claude(&project, "2.1.197", &format!("{refused}\nexit 1\n"));
    let done = run(&project, &["worker", "test", "claude"], &[KEY])
        .expect(1)
        .stdout;
    for line in [
        "BAD   `claude` did not answer: Invalid API key",
        "→ log in with `claude auth login`, or set `ANTHROPIC_API_KEY`",
        "category cli",
    ] {
        assert!(done.contains(line), "lacks {line:?}\n{done}");
    }
    let args = ["worker", "test", "claude", "--json"];
    let failure = &run(&project, &args, &[KEY]).expect(1).value()["failure"];
    assert_eq!(failure["category"], "cli");
    assert_eq!(failure["trouble"], "login");
    assert_eq!(failure["message"], "Invalid API key");

    let limited = say(&[
        json!({ "type": "rate_limit_event",
                "rate_limit_info": { "status": "rejected", "resetsAt": 32_503_680_000_u64 } }),
        json!({ "type": "result", "subtype": "success", "is_error": true,
                "api_error_status": 429, "result": "You've hit your session limit" }),
    ]);
    claude(&project, "2.1.197 ", &format!("{limited}\nexit 1\n"));
    let done = run(&project, &["worker", "test", "claude"], &[KEY])
        .expect(4)
        .stdout;
    // The day too: it may be weeks away.
    let until = done.split("→ wait until ").nth(1).unwrap();
    let until = until.split(", or use a worker").next().unwrap();
    assert!(until.contains(", ") && until.contains(':'), "{done}");
    assert!(done.contains("category resource"), "{done}");

    claude(&project, "2.1.197  ", &answering("what?"));
    let done = run(&project, &["worker", "test", "claude"], &[KEY])
        .expect(0)
        .stdout;
    assert!(
        done.contains("note  `claude` answered, but not the word"),
        "{done}"
    );
    assert!(done.contains("answer   what?"), "{done}");

    claude(&project, "2.1.197   ", "exec sleep 600\n");
    let args = ["worker", "test", "claude", "--timeout", "1"];
    let done = run(&project, &args, &[KEY]).expect(1).stdout;
    assert!(done.contains("it took longer than 1 s"), "{done}");
    assert!(done.contains("→ give it longer with `--timeout`"), "{done}");
    assert_eq!(trials(&project), Vec::<PathBuf>::new());
    assert_eq!(project.survivors(), Vec::<String>::new());
}

#[test]
fn the_built_in_worker_is_tried_out_with_a_server_of_ones_own() {
    let project = Project::empty();
    let reply = |message: Value| {
        json!({
            "id": "1", "object": "chat.completion", "model": "llama-made-up",
            "choices": [ { "index": 0, "finish_reason": "stop", "message": message } ],
            "usage": { "prompt_tokens": 500, "completion_tokens": 5, "total_tokens": 505 },
        })
        .to_string()
    };
    let answer = json!({ "message": "ready" }).to_string();
    let answers = reply(json!({ "role": "assistant", "content": answer }));
    let reads = reply(
        json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "1", "type": "function",
          "function": { "name": "read_file", "arguments": r#"{"path":"word.txt"}"# } } ] }),
    );
    let unable = answers.clone();
    let api = FakeApi::answering(move |asked| {
        let has_read = asked.contains(r#""role":"tool""#);
        let next = if has_read { &answers } else { &reads };
        next.clone()
    });
    let url = &api.url;
    let config = |key: &str| {
        project.user_config(&format!(
            "workers:\n  builtin:\n    protocol: openai\n    base_url: {url}/v1\n    model: llama\n{key}\
             prices: {{ 'llama*': {{ input: 1, output: 10 }} }}\n"
        ));
    };
    config("");
    let args = ["worker", "test", "builtin", "--json"];
    let tried = run(&project, &args, &[]).expect(0).value();
    assert_eq!(tried["answer"], "ready");
    assert_eq!(tried["usage"]["input_tokens"], 1000);
    assert_eq!(tried["usage"]["cost_microusd"], 1100);
    assert_eq!(tried["hosts"][0]["host"], api.host());
    assert_eq!(
        tried["hosts"][0]["allowed"], 2,
        "it calls a tool and answers"
    );
    let asked = api.asked().concat();
    assert!(asked.starts_with("POST /v1/chat/completions "), "{asked}");
    assert!(asked.contains(r#""model":"llama""#), "{asked}");
    assert!(asked.contains(r#""name":"read_file""#), "{asked}");
    config("    key: MY_KEY\n");
    run(&project, &args, &[]).expect(1);
    run(&project, &args, &[("MY_KEY", "hush")]).expect(0);
    let last = api.asked().pop().unwrap();
    assert!(
        last.to_lowercase().contains("authorization: bearer hush"),
        "{last}"
    );
    // A server that is not there. The worker would try it for longer.
    project.user_config(
        "workers: { builtin: { protocol: openai, base_url: 'http://127.0.0.1:9/v1', model: m } }\n",
    );
    let args = ["worker", "test", "builtin", "--timeout", "2"];
    let done = run(&project, &args, &[]).expect(1).stdout;
    assert!(done.contains("category network"), "{done}");
    assert!(
        done.contains("→ see whether the server at `http://127.0.0.1:9/v1` is running"),
        "{done}"
    );
    assert!(done.contains("127.0.0.1:9 not reached"), "{done}");
    // A model that cannot call tools, which every run would find out later.
    let api = FakeApi::start(unable);
    let url = &api.url;
    project.user_config(&format!(
        "workers: {{ builtin: {{ protocol: openai, base_url: '{url}/v1', model: m }} }}\n"
    ));
    let done = run(&project, &["worker", "test", "builtin"], &[]).expect(1);
    assert!(
        done.stdout.contains("without calling the tool"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("`mode: edits`"), "{}", done.stdout);
}

#[test]
fn a_trial_can_be_interrupted() {
    let project = Project::new();
    claude(
        &project,
        "2.1.197",
        &format!("{}\nexec sleep 600\n", hello()),
    );
    let path = fakes::path(&project);
    let env = [("PATH", path.to_str().unwrap()), KEY];
    let mut live = project.start_with(&["-v", "worker", "test", "claude"], &env);
    live.until("here I am");
    live.signal(Signal::INT);
    let done = live.end().expect(130);
    assert!(done.stdout.contains("interrupted"), "{}", done.stdout);
    assert_eq!(trials(&project), Vec::<PathBuf>::new());
    assert_eq!(project.survivors(), Vec::<String>::new());
}

#[test]
fn what_a_killed_trial_has_left_the_next_one_gives_back_and_removes() {
    let project = Project::new();
    let renew = r#"sed -i s/1800000000000/1900000000000/ "$HOME/.claude/.credentials.json""#;
    let body = format!("{renew}\n{}\nexec sleep 600\n", hello());
    claude(&project, "2.1.197", &body);
    let file = login(&project, 1_800_000_000_000);
    let path = fakes::path(&project);
    let env = [("PATH", path.to_str().unwrap())];
    let mut live = project.start_with(&["-v", "worker", "test", "claude"], &env);
    live.until("here I am");
    live.kill();
    assert_eq!(trials(&project).len(), 1);
    run(&project, &["worker", "test", "scripted"], &[]).expect(0);
    assert_eq!(trials(&project), Vec::<PathBuf>::new());
    let renewed = std::fs::read_to_string(file).unwrap();
    assert!(renewed.contains("1900000000000"), "{renewed}");
}

/// It would ask an API that its sandbox does not let it reach, and be waited for as if that were out.
#[test]
fn a_worker_that_is_not_logged_in_is_not_started() {
    let project = Project::new();
    claude(&project, "2.1.197", &answering("ready"));
    let done = run(&project, &["worker", "test", "claude"], &[])
        .expect(1)
        .stdout;
    for line in [
        "`claude` did not answer: `claude` is not logged in",
        "→ log in with `claude auth login`, or set `ANTHROPIC_API_KEY`",
        "category cli",
    ] {
        assert!(done.contains(line), "lacks {line:?}\n{done}");
    }
}
