//! Configured values take effect: keys on their way into a run, through the real binary.

use crate::project::Project;
use crate::samples::THREE_TASKS;

fn add_config(project: &Project, text: &str) {
    let known = project.read(".codeteam/config.yml");
    project.config(&format!("{known}{text}"));
}

#[test]
fn stories_of_runs_are_written_where_the_project_says() {
    let project = Project::new();
    add_config(&project, "output: { runs_dir: .team/runs }\n");
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "Three things", "--script", &script])
        .expect(0);
    let id = project.shown_run()["run"].as_str().unwrap().to_owned();
    let summary = project.read(&format!(".team/runs/{id}/summary.md"));
    assert!(summary.contains("Three things"), "{summary}");
    assert!(!project.path(".codeteam/runs").exists());
    let status = project.git(&["status", "--porcelain"]);
    assert!(!status.contains(".team"), "{status}");
}

#[test]
fn what_workers_say_is_shown_if_the_configuration_says_so() {
    let script = "version: 1\nplays:\n  - match: { role: maker }\n    do:\n      \
                  - text: a word of the worker\n      - submit: { summary: Nothing to do }\n";
    let flow = "roles: { maker: { kind: implementer } }\nsteps:\n  \
                work: { role: maker, next: done, allow_empty: true }\n";
    for (config, told) in [("", false), ("output: { verbose: true }\n", true)] {
        let project = Project::new();
        add_config(&project, config);
        let (script, flow) = (project.script(script), project.workflow(flow));
        let done = project.run(&["run", "x", "--script", &script, "--workflow", &flow]);
        assert_eq!(
            done.stderr.contains("a word of the worker"),
            told,
            "{}",
            done.stderr
        );
        let quiet = project.run(&["-q", "run", "y", "--script", &script, "--workflow", &flow]);
        assert!(
            !quiet.stderr.contains("a word of the worker"),
            "{}",
            quiet.stderr
        );
    }
}

#[test]
fn every_run_warns_of_what_has_no_effect() {
    let project = Project::new();
    add_config(
        &project,
        "adaptive: { enabled: true }\nlimits: { max_parallel_tasks: 3 }\n",
    );
    project.write(".codeteam/roles/torn.yml", "extends: torn\n");
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "Three things", "--script", &script])
        .expect(0)
        .says(&[
            "warning: `adaptive` has no effect yet",
            "warning: the role `torn` cannot be used, and this run does without it: \
             .codeteam/roles/torn.yml:1: `torn` extends itself",
        ]);
    let doctor = project.run(&["doctor"]).stdout;
    assert!(doctor.contains("`torn` cannot be used"), "{doctor}");
    add_config(&project, "workflow:\n  overrides: { tasks: { cap: 1 } }\n");
    project
        .run(&["run", "Three more", "--script", &script])
        .says(&["`limits.max_parallel_tasks` has no effect here: `tasks` takes one task after the other"]);
}

#[test]
fn how_many_tasks_go_side_by_side_is_said_by_a_flag_or_a_key() {
    let cap = |config: &str, args: &[&str]| {
        let project = Project::new();
        add_config(&project, config);
        let script = project.script(THREE_TASKS);
        let run = ["run", "Three things", "--script", &script];
        project.run(&[&run[..], args].concat()).expect(0);
        let events = project.events();
        let started = &events[0]["event"]["workflow"]["steps"]["tasks"]["kind"];
        started["cap"].as_u64()
    };
    assert_eq!(cap("", &[]), Some(2));
    assert_eq!(cap("limits: { max_parallel_tasks: 5 }\n", &[]), Some(5));
    assert_eq!(
        cap(
            "limits: { max_parallel_tasks: 5 }\n",
            &["--max-parallel", "1"]
        ),
        Some(1)
    );
    let project = Project::new();
    project.run(&["run", "x", "--max-parallel", "0"]).expect(2);
}

#[test]
fn a_role_says_in_which_workflows_it_counts() {
    let project = Project::new();
    project.write(
        ".codeteam/agents/coder/prompt.md",
        "You are the coder of this project.\n",
    );
    project
        .run(&["role", "validate", "coder"])
        .expect(0)
        .says(&[
            ".codeteam/agents/coder/prompt.md: in adversarial, codeteam, enterprise, feature, lean, security_critical, strict",
        ]);
    for (workflow, role) in [
        ("adversarial", "coder"),
        ("strict", "coder"),
        ("lean", "coder"),
    ] {
        let told = project
            .run(&["role", "render", role, "--workflow", workflow])
            .expect(0);
        assert!(
            told.stdout.contains("You are the coder of this project."),
            "{workflow}"
        );
    }
    let listed = project.json(&["role", "list", "--json"]);
    let coder = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|role| role["name"] == "coder")
        .unwrap();
    assert!(
        coder["workflows"]
            .as_array()
            .unwrap()
            .contains(&"adversarial".into()),
        "{coder}"
    );
}

#[test]
fn a_tool_that_no_worker_has_is_refused_before_anything_runs() {
    let project = Project::new();
    project.write(
        ".codeteam/roles/coder.yml",
        "allowed_tools: [read_file, backtest_runner]\n",
    );
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "x", "--script", &script])
        .expect(2)
        .says(&[
            "may use the tool `backtest_runner`, which no worker has",
            "`mcp_servers`",
        ]);
    project
        .run(&["role", "validate", "coder"])
        .expect(2)
        .says(&["no worker has a tool `backtest_runner`"])
        .lacks(&["read_file`"]);
}
