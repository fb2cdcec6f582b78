//! What surrounds a team: validators, costs, traces, layers, and the files of a run.

use std::fs;

use serde_json::{Value, json};

use crate::project::Project;

/// A workflow of two tasks at a time, whose documents have a form; it asks for the files of a team.
const FLOW: &str = r###"
settings: { team_files: true }
roles:
  planner: { kind: planner }
  writer:
    kind: implementer
    validators:
      - file: docs/report.md
        contains: ["## Sources", "/^\\| *Provider/"]
        lacks: TODO
        words: { min: 8, max: 100 }
        links: true
      - { file: "data/*.json", schema: schemas/provider.json, name: Providers }
  coder: { kind: implementer }
  reviewer: { kind: gatekeeper }
steps:
  plan: { role: planner, when: { plan: missing }, next: tasks }
  tasks:
    each: task
    cap: 1
    next: done
    steps:
      work: { role: writer, next: review }
      review: { role: reviewer, next: commit, on_reject: work }
      commit: { commit: branch }
"###;

const SCHEMA: &str =
    r#"{ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } }"#;

const SCRIPT: &str = r##"
version: 1
plays:
  - match: { role: planner }
    do:
      - usage: { input_tokens: 10, output_tokens: 5, cost_usd: 0.001 }
      - submit:
          plan:
            description: A market and its report
            tasks:
              - { id: research, title: Research the market, files: [docs/, data/, schemas/] }
              - { id: again, title: Look again, dependencies: [research], files: [docs/, data/] }
  # Everything is wrong, and the schema is bent to fit.
  - match: { role: writer, task: research, round: 1 }
    do:
      - text: I begin with a sketch
      - usage: { input_tokens: 100, output_tokens: 50 }
      - write: { path: docs/report.md, content: "# Report\n\nTODO [more](missing.md)\n" }
      - write: { path: data/one.json, content: "{ \"name\": 7 }\n" }
      - write: { path: schemas/provider.json, content: "{}\n" }
      - submit: { summary: A sketch }
  - match: { role: writer }
    do:
      - usage: { input_tokens: 200, output_tokens: 70, cost_usd: 0.02 }
      - write: { path: docs/report.md, content: "# Report of {{task.id}}\n\n| Provider | Share |\n| --- | --- |\n| One | 7 |\n\n## Sources\n\n[Data](../data/one.json), [above](#sources)\n" }
      - write: { path: data/one.json, content: "{ \"name\": \"{{task.id}}\" }\n" }
      - submit: { summary: "The report of {{task.id}}", concerns: [One source only] }
  - match: { role: reviewer, task: research, round: 1 }
    do: [ { submit: { verdict: approve, reason: Nobody asks me } } ]
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
"##;

fn research() -> Project {
    let project = Project::new();
    project.write("schemas/provider.json", SCHEMA);
    project.commit("A schema");
    let (flow, script) = (project.workflow(FLOW), project.script(SCRIPT));
    let args = [
        "run",
        "Research a market",
        "--workflow",
        &flow,
        "--script",
        &script,
    ];
    project.run(&args).expect(0);
    project
}

fn run_file(project: &Project, name: &str) -> String {
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    project.read(&format!(".codeteam/runs/{run}/{name}"))
}

#[test]
fn the_form_of_what_a_role_has_made_is_checked_before_anybody_judges() {
    let project = research();
    let log = project.run(&["log", "--json"]).expect(0).stdout;
    let judged: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .filter(|event| event["type"] == "gate_judged")
        .collect();
    let first = &judged[0];
    assert_eq!(first["passed"], false);
    let told: Vec<&str> = first["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["summary"].as_str().unwrap())
        .collect();
    let report = told[0];
    for wanted in [
        "docs/report.md: it does not contain `## Sources`",
        "it does not contain `/^\\| *Provider/`",
        "docs/report.md:3: it contains `TODO`",
        "it has 3 words, 5 fewer than the 8",
        "the link to `missing.md` leads nowhere: there is no `docs/missing.md`",
    ] {
        assert!(report.contains(wanted), "{wanted}: {report}");
    }
    // The schema is the one of the commit that the run began with.
    assert!(told[1].contains("data/one.json: at `/name`"), "{}", told[1]);
    assert_eq!(first["results"][1]["name"], "Providers");
    // Nobody was asked about it, and the second round passes.
    let asked = log
        .lines()
        .filter(|line| line.contains(r#""role":"reviewer""#));
    assert_eq!(
        asked
            .filter(|line| line.contains("attempt_started"))
            .count(),
        2
    );
    assert_eq!(judged.len(), 3, "{log}");
    let feedback = log
        .lines()
        .find(|line| line.contains("step_judged"))
        .unwrap();
    assert!(
        feedback.contains("it does not contain `## Sources`"),
        "{feedback}"
    );
}

#[test]
fn a_validator_that_cannot_be_used_is_refused_before_anything_starts() {
    let project = Project::new();
    project.config("worker: scripted\nscript: script.yml\n");
    project.write("script.yml", SCRIPT);
    let flow = project.workflow(FLOW);
    let refused = project.run(&["run", "x", "--workflow", &flow]).expect(2);
    refused.says(&[
        "`Providers`",
        "`schemas/provider.json` is not in the commit",
        "nothing was started",
    ]);
    let wrong = FLOW.replace("lacks: TODO", "lacks: /(/");
    let wrong = project.workflow(&wrong);
    let refused = project.run(&["run", "x", "--workflow", &wrong]).expect(2);
    refused.says(&[
        "a validator of `writer` cannot be used",
        "`/(/` is not a regular expression",
    ]);
}

#[test]
fn what_a_run_costs_is_shown_by_model_role_worker_and_task() {
    let project = research();
    let costs = project.json(&["show", "--cost", "--json"]);
    let total = &costs["total"];
    assert_eq!(total["attempts"], 6);
    assert_eq!(total["input_tokens"], 510);
    assert_eq!(total["money_microusd"], 41_000);
    // The sketch and the reviewers have no price, which is not a price of nothing.
    assert_eq!(total["unpriced_attempts"], 3);
    assert_eq!(total["money"], "$0.0410 and 3 without a known price");
    let line = |side: &str, name: Value| {
        let lines = costs[side].as_array().unwrap();
        lines
            .iter()
            .find(|line| line["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(line("roles", json!("writer"))["attempts"], 3);
    assert_eq!(
        line("roles", json!("reviewer"))["money_microusd"],
        json!(null)
    );
    assert_eq!(line("workers", json!("scripted"))["attempts"], 6);
    assert_eq!(line("tasks", json!("research"))["attempts"], 3);
    assert_eq!(line("tasks", json!(null))["money_microusd"], 1_000);
    assert_eq!(line("models", json!(null))["attempts"], 6);
    let written: Value = serde_json::from_str(&run_file(&project, "cost.json")).unwrap();
    assert_eq!(written, costs);
    let shown = project.run(&["show", "--cost"]).expect(0).stdout;
    for wanted in [
        "model",
        "(not reported)",
        "(no task)",
        "an unknown price",
        "total",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

#[test]
fn how_a_worker_got_to_its_answer_is_shown() {
    let project = research();
    let all = project.json(&["trace", "--all", "--json"]);
    let attempts = all["attempts"].as_array().unwrap();
    let roles: Vec<&str> = attempts
        .iter()
        .map(|a| a["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "planner", "writer", "writer", "reviewer", "writer", "reviewer"
        ]
    );
    let steps = attempts[1]["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|s| s["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"prompt"));
    assert!(
        kinds.contains(&"message") && kinds.contains(&"call"),
        "{kinds:?}"
    );
    assert_eq!(kinds.last(), Some(&"answer"));
    assert_eq!(attempts[1]["outcome"], "answered");
    // The second prompt has what was wrong with the first result.
    let prompt = project.json(&["trace", "--attempt", "3", "--full", "--json"]);
    let prompt = prompt["attempts"][0]["steps"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        prompt.contains("it does not contain `## Sources`"),
        "{prompt}"
    );

    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let shown = project
        .run(&["trace", &run, "research", "--attempt", "2"])
        .expect(0)
        .stdout;
    assert!(
        shown.contains(">   2  writer for research (scripted): answered"),
        "{shown}"
    );
    assert!(shown.contains("I begin with a sketch"), "{shown}");
    assert!(!shown.contains("for again"), "{shown}");
    project
        .run(&["trace", &run, "nothing"])
        .expect(2)
        .says(&["no worker has started on `nothing`"]);
    project
        .run(&["trace", "--attempt", "99"])
        .expect(2)
        .says(&["there is no attempt 99"]);
}

#[test]
fn a_traced_worker_cannot_write_to_the_terminal() {
    let project = Project::new();
    let script = SCRIPT.replace("I begin with a sketch", r#""\e[2J\e]0;mine\a over""#);
    project.write("schemas/provider.json", SCHEMA);
    project.commit("A schema");
    let (flow, script) = (project.workflow(FLOW), project.script(&script));
    project
        .run(&["run", "x", "--workflow", &flow, "--script", &script])
        .expect(0);
    let shown = project.run(&["trace", "--all"]).expect(0).stdout;
    assert!(shown.contains("over"), "{shown}");
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{7}'),
        "{shown:?}"
    );
}

#[test]
fn tasks_are_shown_in_layers() {
    let project = research();
    let layers = project.json(&["show", "--layers", "--json"]);
    let ids: Vec<Vec<&str>> = layers["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| {
            let tasks = layer["tasks"].as_array().unwrap();
            tasks
                .iter()
                .map(|task| task["id"].as_str().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(ids, [["research"], ["again"]]);
    let shown = project.run(&["show", "--layers"]).expect(0).stdout;
    assert!(
        shown.contains("layer 2\n  completed  again  Look again (after research)"),
        "{shown}"
    );
    let plan = project.shown_run()["plan"].as_str().unwrap().to_owned();
    let plan = project.read(&format!(".codeteam/planning/{plan}/plan.yml"));
    assert!(
        plan.contains("# layer 1: research\n# layer 2: again\ntasks:"),
        "{plan}"
    );
}

#[test]
fn a_team_leaves_a_deliverable_a_state_and_traces() {
    let project = research();
    let state: Value = serde_json::from_str(&run_file(&project, "workflow_state.json")).unwrap();
    assert_eq!(state["workflow_status"], "COMPLETED");
    assert_eq!(state["current_mode"], "team");
    assert_eq!(state["current_role"], json!(null));
    assert_eq!(
        state["completed_roles"],
        json!(["planner", "writer", "reviewer"])
    );
    assert_eq!(state["failed_roles"], json!([]));
    assert_eq!(state["total_cost_usd"], 0.041);
    assert_eq!(state["unpriced_attempts"], 3);
    let deliverable = run_file(&project, "DELIVERABLE.md");
    for wanted in [
        "2 of 2 tasks are done",
        "## research: Research the market",
        "> The report of research",
        "- [`docs/report.md`](../../../docs/report.md)",
        "Open points:\n\n- One source only",
    ] {
        assert!(deliverable.contains(wanted), "{wanted}: {deliverable}");
    }
    assert!(!deliverable.contains("A sketch"), "{deliverable}");
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let folder = project.path(&format!(".codeteam/runs/{run}/traces"));
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!(names[1], "002_research_writer.md");
    let trace = run_file(&project, "traces/002_research_writer.md");
    assert!(
        trace.starts_with("# Trace of `writer` for `research`\n"),
        "{trace}"
    );
    assert!(
        trace.contains("## 1. prompt") && trace.contains("I begin with a sketch"),
        "{trace}"
    );
}

#[test]
fn other_runs_have_none_of_these_files_but_their_costs() {
    let project = Project::new();
    let script = project.script(crate::samples::ONE_TASK);
    project
        .run(&["run", "One thing", "--script", &script])
        .expect(0);
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    for (name, is_there) in [
        ("cost.json", true),
        ("workflow_state.json", false),
        ("DELIVERABLE.md", false),
        ("traces", false),
    ] {
        let path = project.path(&format!(".codeteam/runs/{run}/{name}"));
        assert_eq!(path.exists(), is_there, "{name}");
    }
}

/// Every worker is blocked: it only matters which workflow is followed, and with what goal.
const BLOCKED: &str =
    "version: 1\nplays:\n  - match: {}\n    do: [ { submit: { blocked: Not now } } ]\n";

fn started(config: &str, args: &[&str]) -> (String, String) {
    let project = Project::new();
    let user = project.home().join(".config/codeteam/config.yml");
    fs::remove_file(user).unwrap();
    let script = project.script(BLOCKED);
    project.config(&format!("worker: scripted\n{config}"));
    let mut all = vec!["run", "--script", &script];
    all.extend(args);
    project.run(&all);
    let run = project.shown_run();
    let text = |key: &str| run[key].as_str().unwrap().to_owned();
    (text("workflow"), text("goal"))
}

#[test]
fn the_configuration_says_whether_one_worker_or_a_team_works() {
    let told = |workflow: &str, goal: &str| (workflow.to_owned(), goal.to_owned());
    let goal = "task:\n  goal: \"Research elderly care market\"\n";
    let prompt = "task:\n  initial_prompt: Count the words\n";
    assert_eq!(
        started(goal, &[]),
        told("team", "Research elderly care market")
    );
    assert_eq!(started(prompt, &[]), told("solo", "Count the words"));
    // What is named wins.
    assert_eq!(
        started(goal, &["--workflow", "solo"]),
        told("solo", "Research elderly care market")
    );
    assert_eq!(
        started(&format!("workflow: lean\n{goal}"), &[]),
        told("lean", "Research elderly care market")
    );
    // A goal on the command line has nothing to do with the one in the configuration.
    assert_eq!(
        started(goal, &["Something else"]),
        told("codeteam", "Something else")
    );
}

/// A team of one task whose result scores too little, and whose leader gives it up.
const GIVEN_UP: &str = r#"
version: 1
plays:
  - match: { role: decomposer }
    do: [ { submit: { plan: { tasks: [{ id: one, title: First, files: [one.txt, tests/] }] } } } ]
  - match: { role: assembler }
    do: [ { submit: { assignments: [{ task: one, roles: [developer], reason: It is code }] } } ]
  - match: { role: developer }
    do:
      - write: { path: one.txt, content: "a page\n" }
      - write: { path: tests/one.sh, content: "test -e one.txt\n" }
      - submit: { summary: Built a page }
  - match: { role: quality_validator }
    do: [ { submit: { overall_score: 20 } } ]
  - match: { role: leader }
    do: [ { submit: { intervention: terminate, reason: It leads nowhere } } ]
"#;

#[test]
fn a_person_takes_what_a_leader_has_given_up() {
    let project = Project::new();
    let script = project.script(GIVEN_UP);
    let args = ["run", "x", "--workflow", "team", "--script", &script];
    let ended = project.run(&args).expect(1);
    ended.says(&[
        "the leader gave it up: It leads nowhere",
        "codeteam approve",
    ]);
    project.run(&["approve", "--task", "one"]).expect(0);
    let resumed = project.run(&["resume"]).expect(0);
    let told = &resumed.stderr;
    assert!(!told.contains("developer at work"), "{told}");
    assert_eq!(project.committed_file("one.txt"), "a page");
}

#[test]
fn the_roles_that_a_plan_assigns_are_in_the_graph_of_the_run() {
    let project = Project::new();
    let script = project.script(GIVEN_UP);
    let args = ["run", "x", "--workflow", "team", "--script", &script];
    project.run(&args).expect(1);
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let drawn = |more: &[&str]| {
        let args = [&["workflow", "graph"], more].concat();
        project.run(&args).expect(0).stdout
    };
    let line = "implementer: as assigned, or developer";
    let text = drawn(&["--run", &run]);
    let work = text.lines().position(|text| text.contains(line)).unwrap();
    assert!(
        text.lines()
            .nth(work + 1)
            .unwrap()
            .ends_with(" one: developer"),
        "{text}"
    );
    let mermaid = drawn(&["--run", &run, "--format", "mermaid"]);
    assert!(mermaid.contains("one: developer"), "{mermaid}");
    // The workflow itself knows nothing of tasks.
    let own = drawn(&["team"]);
    assert!(
        own.contains(line) && !own.contains("one: developer"),
        "{own}"
    );
    let both = ["workflow", "graph", "team", "--run", &run];
    project.run(&both).expect(2).says(&["cannot be used with"]);
}

/// A workflow that names who does the work.
const NAMED: &str = r"
roles:
  coder: { kind: implementer }
  writer: { kind: implementer }
steps:
  tasks:
    each: task
    next: done
    steps:
      work: { role: coder, next: commit }
      commit: { commit: branch }
";

#[test]
fn a_role_that_a_plan_names_in_vain_is_warned_of_and_not_shown() {
    let project = Project::new();
    project.write(
        "plan.yml",
        "tasks:\n  - { id: one, title: First, role: writer, files: [one.txt] }\n",
    );
    let flow = project.workflow(NAMED);
    let script = project.script(
        r#"
version: 1
plays:
  - match: { role: coder }
    do:
      - write: { path: one.txt, content: "one\n" }
      - submit: { summary: Wrote it }
"#,
    );
    let args = [
        "run",
        "--plan",
        "plan.yml",
        "--workflow",
        &flow,
        "--script",
        &script,
    ];
    let done = project.run(&args).expect(0);
    done.says(&["`role:` of task `one` has no effect here"]);
    let shown = project.run(&["show"]).expect(0).stdout;
    assert!(shown.contains("First"), "{shown}");
    assert!(!shown.contains("by writer"), "{shown}");
}
