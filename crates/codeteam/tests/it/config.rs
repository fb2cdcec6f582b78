//! `codeteam config`, and the configuration on its way into a run.

use std::path::Path;

use expect_test::expect;

use crate::project::{CommandResult, Project};

/// Made up, and put together here so that nobody takes this file for a leak.
fn key() -> String {
    ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

fn with(project: &Project, variables: &[(&str, &str)], args: &[&str]) -> CommandResult {
    let mut command = project.codeteam(args);
    command.envs(variables.iter().copied());
    CommandResult::from(command.output().unwrap())
}

#[test]
fn every_value_is_shown_with_the_place_it_was_said_at() {
    let project = Project::new();
    project.user_config("# mine\nlimits: { max_minutes: 1, max_disk_mb: 9 }\n");
    project.config("worker: claude\nlimits:\n  max_disk_mb: 2\n  max_tokens: 2\n");
    let args = ["config", "show", "limits", "--origin"];
    let args = [&args[..], &["--set", "limits.max_cost_usd=4"]].concat();
    let done = with(&project, &[("CODETEAM_LIMITS__MAX_TOKENS", "3")], &args).expect(0);
    expect![[r"
        step_timeout_seconds: 1800   # built-in configuration:100
        workflow_max_steps: 100      # built-in configuration:101
        max_tasks: 10000             # built-in configuration:102
        default_token_budget: 50000  # built-in configuration:104
        max_token_budget: 200000     # built-in configuration:105
        max_minutes: 1               # ~/.config/codeteam/config.yml:2
        max_disk_mb: 2               # .codeteam/config.yml:3
        max_tokens: 3                # $CODETEAM_LIMITS__MAX_TOKENS
        max_cost_usd: 4              # command line (`--set`)
    "]]
    .assert_eq(&done.stdout);
    assert_eq!(done.stderr, "");
}

#[test]
fn programs_get_files_and_lines() {
    let project = Project::new();
    project.config("verification:\n  commands:\n    - { command: make }\nrules: []\n");
    let shown = project.json(&["config", "show", "--origin", "--json"]);
    let file = project.path(".codeteam/config.yml").display().to_string();
    let told = &shown["verification.commands.0.command"];
    assert_eq!(told["value"], "make");
    assert_eq!(told["origin"]["file"], file.as_str());
    assert_eq!(told["origin"]["line"], 3);
    assert_eq!(shown["limits.max_tasks"]["value"], 10_000);
    assert_eq!(shown["rules"]["value"], serde_json::json!([]));
    let nested = project.json(&["config", "show", "--json"]);
    assert_eq!(nested["verification"]["commands"][0]["command"], "make");
    let set = ["config", "show", "limits", "--json", "--origin", "--set"];
    let set = project.json(&[&set[..], &["limits.max_tasks=7"]].concat());
    assert_eq!(set["limits.max_tasks"]["value"], 7);
    assert!(set["limits.max_tasks"]["origin"]["line"].is_null());
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    let project = Project::new();
    let nested = project.json(&["config", "show", "--json"]);
    let text = project.run(&["config", "show"]).expect(0).stdout;
    // Who people are, no project can say.
    let (before, people) = text.split_once("people:\n").unwrap();
    let rest = people.lines().skip_while(|line| line.starts_with(' '));
    let rest: Vec<&str> = rest.collect();
    project.config(&format!("{before}{}\n", rest.join("\n")));
    project.user_config("");
    project.trust();
    let again = project.json(&["config", "show", "--json"]);
    // Lists add up, so those that are built in stand there twice now.
    assert_eq!(again["limits"], nested["limits"]);
    assert_eq!(again["policies"], nested["policies"]);
    assert_eq!(again["sandbox"], nested["sandbox"]);
}

#[test]
fn a_key_by_its_path() {
    let project = Project::new();
    project.user_config("prices:\n  gpt-5.1: { input: 1, output: 2 }\n");
    project.config("worker: scripted\n");
    let show = |key: &str| project.run(&["config", "show", key]);
    assert_eq!(show("worker").expect(0).stdout, "scripted\n");
    assert_eq!(show("prices.gpt-5.1.output").expect(0).stdout, "2\n");
    let pattern = "verification.test_paths.0";
    assert_eq!(show(pattern).expect(0).stdout, "test/**\n");
    let unset = show("limits.max_tokens").expect(0);
    assert_eq!(unset.stdout, "");
    unset.says(&["`limits.max_tokens` is not set. Tokens, read and written."]);
    let unset = project.json(&["config", "show", "limits.max_tokens", "--json"]);
    assert!(unset.is_null());
    show("limits.max_tokns").expect(2).says(&[
        "the configuration has no key `limits.max_tokns`",
        "did you mean `limits.max_tokens`?",
    ]);
    show("banana")
        .expect(2)
        .says(&["no key `banana`", "hint: "]);
}

#[test]
fn secrets_are_not_shown() {
    let project = Project::new();
    let key = key();
    let server = "{ command: t, args: [--verbose], env: { TICKETS_PASSWORD: correct horse, PROJECT: website } }";
    project.user_config(&format!("mcp_servers:\n  tickets: {server}\n"));
    let text =
        format!("rules: [ \"the key is {key}\" ]\nscript: https://ada:hunter2hunter2@host/x.yml\n");
    project.config(&text);
    for args in [
        &["config", "show"][..],
        &["config", "show", "--origin"],
        &["config", "show", "--json"],
        &["config", "show", "--json", "--origin"],
        &["config", "show", "mcp_servers.tickets.env"],
    ] {
        let done = project.run(args).expect(0);
        for secret in [&key, "correct horse", "website", "hunter2hunter2"] {
            assert!(!done.stdout.contains(secret), "{args:?}\n{}", done.stdout);
            assert!(!done.stderr.contains(secret), "{args:?}\n{}", done.stderr);
        }
        assert!(done.stdout.contains("TICKETS_PASSWORD"), "{}", done.stdout);
    }
    // What is wrong is shown with its line, and the line may hold one.
    project.config(&format!("rulez: [ \"the key is {key}\" ]\n"));
    project
        .run(&["config", "validate"])
        .expect(2)
        .says(&["unknown key `rulez`"])
        .lacks(&[&key]);
}

#[test]
fn what_has_no_effect_yet_is_said_where_it_belongs() {
    let project = Project::new();
    project.config("adaptive: { enabled: true }\n");
    let note = "note: `adaptive` has no effect yet: workers are not chosen by how they did before \
                (.codeteam/config.yml:1)";
    let done = project.run(&["config", "show"]).expect(0).says(&[note]);
    assert!(!done.stdout.contains("note"));
    project
        .run(&["config", "show", "adaptive"])
        .expect(0)
        .says(&[note]);
    let other = project.run(&["config", "show", "limits"]).expect(0);
    assert_eq!(other.stderr, "");
    let quiet = project.run(&["-q", "config", "show"]).expect(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn outside_of_a_repository_there_is_the_users_own() {
    let project = Project::empty();
    project.user_config("worker: codex\n");
    let shown = project.run(&["config", "show", "worker", "--origin"]);
    let shown = shown.expect(0).stdout;
    assert_eq!(shown, "codex  # ~/.config/codeteam/config.yml:1\n");
    project.run(&["config", "validate"]).expect(0);
    project.run(&["config", "schema"]).expect(0);
    project
        .run(&["config", "schema", "--write"])
        .expect(2)
        .says(&["is not in a git repository"]);
    // A repository without a commit is one all the same.
    project.git(&["init", "--quiet"]);
    project.config("worker: gemini\n");
    let shown = project.run(&["config", "show", "worker"]).expect(0).stdout;
    assert_eq!(shown, "gemini\n");
}

#[test]
fn schemas_are_printed_and_written_where_editors_look() {
    let project = Project::new();
    for of in ["config", "role", "workflow", "strategy"] {
        let done = project.run(&["config", "schema", of]).expect(0);
        assert_eq!(done.value()["title"], format!("codeteam {of}"));
        assert!(done.stdout.lines().count() > 50, "it is for people, too");
    }
    let all = project.run(&["config", "schema"]).expect(0).value();
    assert_eq!(all["title"], "codeteam config");
    let done = project.run(&["config", "schema", "--write"]).expect(0);
    assert_eq!(done.stdout.lines().count(), 4, "{}", done.stdout);
    let written = project.read(".codeteam/schema/config.json");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&written).unwrap(),
        all
    );
    project.git(&["add", "-A"]);
    let kept = project.git(&["diff", "--cached", "--name-only"]);
    assert!(kept.contains(".codeteam/schema/role.json"), "{kept}");
    project.run(&["config", "schema", "banana"]).expect(2);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let project = Project::new();
    let good = project.run(&["config", "validate"]).expect(0);
    assert_eq!(good.stdout, "nothing is wrong with the configuration\n");
    project.user_config("wrkers: {}\n");
    project.config("limits: { max_tasks: many, max_mintes: 3 }\nworkr: claude\nrules: no\n");
    project.write(
        ".codeteam/roles/mine.yml",
        "extends: codr\ncontext: { strategy: all }\n",
    );
    project.write(".codeteam/roles/torn.yml", "kind: [\n");
    project.write(
        ".codeteam/agents/quick/agent.yaml",
        "kind: implementer\nmax_turns: few\n",
    );
    let flow = "start: code\nsteps:\n  code: { role: codr, next: done }\n";
    project.write(".codeteam/workflows/flow.yml", flow);
    project.run(&["config", "validate"]).expect(2).says(&[
        "~/.config/codeteam/config.yml:1:1: unknown key `wrkers` (did you mean `workers`?)",
        ".codeteam/config.yml:1:22: expected a whole number, found `many`",
        ".codeteam/config.yml:1:28: unknown key `max_mintes` (did you mean `max_minutes`?)",
        ".codeteam/config.yml:2:1: unknown key `workr` (did you mean `worker`?)",
        ".codeteam/config.yml:3:8: expected a list, found `no`",
        ".codeteam/roles/mine.yml:1:10: there is no role `codr` (did you mean `coder`?)",
        ".codeteam/roles/mine.yml:2:22: there is no context strategy `all`",
        ".codeteam/roles/torn.yml:1:7: invalid YAML",
        ".codeteam/agents/quick/agent.yaml:2:12: expected a whole number, found `few`",
        ".codeteam/workflows/flow.yml:3:17: there is no role `codr`",
    ]);
    let strategy = "parts: [diff, { name: mine, include: [$TARGETS] }]\n";
    project.write(".codeteam/strategies/wide.yml", strategy);
    let told = project.run(&["config", "validate", "--json"]).expect(2);
    let told = told.value();
    assert_eq!(told["valid"], false);
    assert_eq!(told["problems"].as_array().unwrap().len(), 11, "{told:#}");
    assert_eq!(told["problems"][1]["line"], 1);
}

#[test]
fn strategies_are_judged_too() {
    let project = Project::new();
    let strategy = "parts:\n  - diff\n  - { name: mine, include: [$TARGETS] }\n";
    project.write(".codeteam/strategies/wide.yml", strategy);
    for command in ["config", "role"] {
        project.run(&[command, "validate"]).expect(2).says(&[
            ".codeteam/strategies/wide.yml:3:5: `$TARGETS`",
            "(did you mean `$TARGET`?)",
        ]);
    }
}

#[test]
fn names_of_what_there_is_not_are_found() {
    let project = Project::new();
    project.config(
        "worker: claud\nsecurity_role: sekurity\nverifier_instances: { revewer: 3, judge: 2 }\n\
         continuity: { continuation_roles: [codr] }\n",
    );
    // A role that only a workflow has is one.
    let flow = "roles: { judge: { extends: reviewer } }\nsequence: [coder, judge]\n";
    project.write(".codeteam/workflows/flow.yml", flow);
    project.run(&["config", "validate"]).expect(2).says(&[
        ".codeteam/config.yml:1:9: codeteam does not know the worker `claud` (did you mean `claude`?)",
        ".codeteam/config.yml:2:16: there is no role `sekurity` (did you mean `security`?)",
        ".codeteam/config.yml:3:23: there is no role `revewer` (did you mean `reviewer`?)",
        ".codeteam/config.yml:4:36: there is no role `codr` (did you mean `coder`?)",
        "these are 4 problems",
    ]);
    project.config("workflw: strict\nrols: {}\n");
    project.run(&["config", "validate"]).expect(2).says(&[
        "unknown key `workflw` (did you mean `workflow`?)",
        "unknown key `rols` (did you mean `roles`?)",
    ]);
}

#[test]
fn two_broken_files_are_both_named() {
    let project = Project::new();
    project.user_config("a: [ # people:\n");
    project.config("b: {\n");
    let says = [
        "~/.config/codeteam/config.yml:1:",
        ".codeteam/config.yml:1:",
    ];
    project.run(&["config", "validate"]).expect(2).says(&says);
    project
        .run(&["config", "show"])
        .expect(2)
        .says(&["invalid YAML"]);
    project
        .run(&["role", "list"])
        .expect(2)
        .says(&["invalid YAML"]);
}

#[test]
fn a_workflow_in_the_configuration_is_judged_too() {
    let project = Project::new();
    project.config("workflow: codetaem\n");
    project.run(&["config", "validate"]).expect(2).says(&[
        ".codeteam/config.yml:1:11: there is no workflow `codetaem` (did you mean `codeteam`?)",
    ]);
    project.config("workflow:\n  overrides: { nowhere: { timeout_seconds: 3 } }\n");
    project
        .run(&["config", "validate"])
        .expect(2)
        .says(&[".codeteam/config.yml:2:", "nowhere"]);
}

const FLOW: &str = "start: code\nroles: { coder: { kind: implementer } }\nsteps:\n  code: { role: coder, next: commit }\n  commit: { commit: branch, next: done }\n";

const CODER: &str = "version: 1\nplays:\n  - do: [ { write: { path: made.txt, content: \"by {{role}}\\n\" } }, { submit: { summary: Made it } } ]\n";

/// The arguments of a run with a coder, and these.
fn run(project: &Project, more: &[&str]) -> Vec<String> {
    let (script, flow) = (project.script(CODER), project.workflow(FLOW));
    let args = ["run", "x", "--script", &script, "--workflow", &flow];
    args.iter().chain(more).map(ToString::to_string).collect()
}

/// A run that is refused, with nothing left behind.
#[track_caller]
fn refused(project: &Project, variables: &[(&str, &str)], more: &[&str], says: &[&str]) {
    let args = run(project, more);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = with(project, variables, &args).expect(2).says(says);
    assert_eq!(done.stdout, "");
    assert!(!Path::new(&project.path(".codeteam/state.db")).exists());
}

#[test]
fn what_is_set_for_a_run_is_pinned_in_it() {
    let project = Project::new();
    let args = run(&project, &["--set", "limits.step_timeout_seconds=600"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    project.run(&args).expect(0);
    let started = &project.events()[0]["event"];
    assert_eq!(started["type"], "run_started");
    let code = &started["workflow"]["steps"]["code"]["kind"];
    assert_eq!(code["timeout_ms"], 600_000);
}

#[test]
fn another_role_plays_a_workflows() {
    let project = Project::new();
    let args = run(&project, &["--role", "coder=rust_dev"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    project.run(&args).expect(0).says(&["rust_dev at work"]);
    let started = &project.events()[0]["event"];
    let prompt = started["roles"]["rust_dev"]["prompt"].as_str().unwrap();
    assert!(prompt.contains("You write Rust"), "{prompt}");
    assert!(started["roles"]["coder"].is_null());
    assert_eq!(project.committed_file("made.txt"), "by rust_dev");
}

#[test]
fn what_makes_no_sense_starts_nothing() {
    let project = Project::new();
    refused(
        &project,
        &[],
        &["--set", "limits.step_timout_seconds=1"],
        &[
            "command line (`--set`): unknown key `step_timout_seconds`",
            "did you mean `step_timeout_seconds`?",
        ],
    );
    refused(
        &project,
        &[],
        &["--set", "limits.max_tasks=many"],
        &["command line (`--set`): expected a whole number, found `many`"],
    );
    refused(
        &project,
        &[],
        &["--set", "limits"],
        &["`--set limits` sets nothing"],
    );
    refused(
        &project,
        &[],
        &["--role", "codr=rust_dev"],
        &["the workflow has no role `codr`", "did you mean `coder`?"],
    );
    refused(
        &project,
        &[],
        &["--role", "banana=rust_dev"],
        &["the workflow has no role `banana`", "it has coder"],
    );
    refused(
        &project,
        &[],
        &["--role", "coder=rust_dve"],
        &["there is no role `rust_dve`", "did you mean `rust_dev`?"],
    );
    refused(
        &project,
        &[],
        &["--role", "coder=reviewer"],
        &[
            "`reviewer` is a gatekeeper, so it cannot play `coder`, which is an implementer",
            "choose an implementer",
        ],
    );
    refused(&project, &[], &["--role", "coder"], &["coder=quant_dev"]);
}

#[test]
fn the_environment_counts_and_a_wrong_variable_is_named() {
    let project = Project::new();
    let plan = project.write_outside("plan.yml", "tasks: [ { id: a }, { id: b } ]\n");
    let args = ["--plan", &plan];
    refused(
        &project,
        &[("CODETEAM_LIMITS__MAX_TASKS", "1")],
        &args,
        &["plan.yml", "2"],
    );
    refused(
        &project,
        &[("CODETEAM_LIMITS__MAX_TASK", "1")],
        &args,
        &[
            "environment variable `CODETEAM_LIMITS__MAX_TASK`: unknown key `max_task`",
            "did you mean `max_tasks`?",
        ],
    );
    refused(
        &project,
        &[("CODETEAM_LIMITS__MAX_TASKS", "one")],
        &args,
        &[
            "environment variable `CODETEAM_LIMITS__MAX_TASKS`: expected a whole number, found `one`",
        ],
    );
}

#[test]
fn what_is_wrong_with_a_value_of_the_command_line_is_said_of_the_command_line() {
    let project = Project::new();
    let sets = [
        "roles.coder.knd=planner",
        "workflow.settings.require_tets=true",
    ];
    for set in sets {
        let done = project.run(&["run", "x", "--set", set]).expect(2);
        done.says(&["error: command line (`--set`): ", "did you mean"]);
    }
}
