//! The reference of commands is what the program says of itself.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use codeteam_context::strategy::VARIABLES;
use codeteam_engine::built_in;
use codeteam_engine::config::SchemaKind;
use codeteam_engine::config::keys::{self, SchemaKey};
use codeteam_workflow::language::SETTINGS;
use expect_test::expect_file;
use serde_json::Value;

use crate::project::{CommandResult, Project};

#[test]
fn the_reference_of_commands_is_up_to_date() {
    let project = Project::new();
    let help = |args: &[&str]| project.run(args).expect(0).stdout;
    let mut text = String::from(
        "# Commands\n\nGenerated from the program: `UPDATE_EXPECT=1 cargo test -p codeteam docs`.\n",
    );
    let overview = help(&["--help"]);
    let _ = write!(text, "\n```\n{}\n```\n", overview.trim_end());
    for name in commands(&overview) {
        let said = help(&[name, "--help"]);
        section(&mut text, &format!("## codeteam {name}"), &said);
        for below in commands(&said) {
            let title = format!("### codeteam {name} {below}");
            section(&mut text, &title, &help(&[name, below, "--help"]));
        }
    }
    // Wrapping leaves blanks at the ends of lines, which nobody needs in a file.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    expect_file![file].assert_eq(&format!("{}\n", lines.join("\n")));
}

/// Every row of the page on the seeds says how a feature stands, and names tests that are there.
#[test]
fn every_test_that_the_seeds_name_is_there() {
    const STATES: [&str; 4] = ["there", "in part", "differently", "absent"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/seeds.md")).unwrap();
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| feature"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in rows {
        count += 1;
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [feature, state, shown] = cells[..] else {
            wrong.push(format!("three columns: {row}"));
            continue;
        };
        let word = state.split(':').next().unwrap_or_default();
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        if !STATES.contains(&word) || (named.is_empty() && word != "absent") {
            wrong.push(format!(
                "a state, and a test unless it is absent: {feature}"
            ));
        }
        for name in named {
            let is_there = name.split_once("::").is_some_and(|(file, test)| {
                let source = std::fs::read_to_string(root.join("crates").join(file));
                source.is_ok_and(|source| is_test(&source, test))
            });
            if !is_there {
                wrong.push(format!("no such test: {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 100, "{count}");
}

/// Returns true if a source has a test of this name.
fn is_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else {
        return false;
    };
    // Between the attribute and the name there is at most another attribute or two.
    let attributes = before.lines().rev().take(5);
    attributes.into_iter().any(|line| line.trim() == "#[test]")
}

/// The commands that a help names.
fn commands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

fn section(text: &mut String, title: &str, help: &str) {
    let _ = write!(text, "\n{title}\n\n```\n{}\n```\n", help.trim_end());
}

#[test]
fn the_reference_has_every_key() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let mut text = std::fs::read_to_string(&file).unwrap();
    let built_in = Project::empty().json(&["config", "show", "--json", "--origin"]);
    let flow = || keys::list_keys(SchemaKind::Workflow).into_iter();
    // A step is described once, wherever in a file it may stand.
    let is_below = |path: &str| ["steps.", "overrides."].iter().any(|s| path.starts_with(s));
    // And so are its conditions, in words, and its checks and policies, at the top.
    let elsewhere = |path: &str| {
        ["when.", "gate[].", "retry."]
            .iter()
            .any(|s| path.starts_with(s))
    };
    let step = flow().filter_map(|mut key| {
        key.path = key.path.strip_prefix("steps.*.")?.to_owned();
        (!is_below(&key.path) && !elsewhere(&key.path)).then_some(key)
    });
    let tables: [(&str, Vec<SchemaKey>); 5] = [
        ("strategy", keys::list_keys(SchemaKind::Strategy)),
        ("config", keys::list_keys(SchemaKind::Config)),
        ("role", keys::list_keys(SchemaKind::Role)),
        (
            "workflow",
            flow().filter(|key| !is_below(&key.path)).collect(),
        ),
        ("step", step.collect()),
    ];
    for (name, described) in tables {
        let mut table = String::from("| key | takes | meaning |\n|---|---|---|\n");
        for key in described {
            let mut meaning = key.meaning;
            let default = &built_in[&key.path];
            if name == "config" && default["origin"]["file"] == "built-in configuration" {
                let value = &default["value"];
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                let _ = write!(meaning, " *Built in: `{value}`.*");
            }
            if key.is_later {
                meaning.push_str(" *No effect yet.*");
            }
            let takes = key.takes.replace('|', "\\|");
            let _ = writeln!(table, "| `{}` | {takes} | {meaning} |", key.path);
        }
        text = filled(&text, &format!("keys of {name}"), &table);
    }
    let mut table = String::from("| variable | files |\n|---|---|\n");
    for variable in VARIABLES {
        let _ = writeln!(table, "| `{}` | {} |", variable.name, variable.meaning);
    }
    text = filled(&text, "variables of files", &table);
    let mut table = String::from("| strategy | what it shows | tokens |\n|---|---|---|\n");
    for (name, file) in built_in::folder("strategies", ".yml") {
        let line = |key: &str| {
            let mut lines = file.lines();
            lines
                .find_map(|line| line.strip_prefix(key))
                .unwrap()
                .trim()
        };
        let (what, budget) = (line("description:"), line("budget:"));
        let _ = writeln!(table, "| `{name}` | {what} | {budget} |");
    }
    text = filled(&text, "built-in strategies", &table);
    let mut table = String::from("| setting | what it changes |\n|---|---|\n");
    for setting in SETTINGS {
        let _ = writeln!(table, "| `{}` | {} |", setting.name, setting.changes);
    }
    expect_file![file].assert_eq(&filled(&text, "settings", &table));
}

/// A text with what is generated of it made anew.
fn filled(text: &str, name: &str, table: &str) -> String {
    let start = format!("<!-- {name}: generated -->\n");
    let (before, rest) = text.split_once(&start).unwrap();
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    format!("{before}{start}\n{table}\n<!-- end -->{after}")
}

#[test]
fn the_guide_says_what_each_workflow_costs() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = std::fs::read_to_string(file).unwrap();
    let project = Project::empty();
    for listed in project
        .json(&["workflow", "list", "--json"])
        .as_array()
        .unwrap()
    {
        let name = listed["name"].as_str().unwrap();
        let shown = project.json(&["workflow", "show", name, "--resolved", "--json"]);
        let counted =
            WorkerCalls::of_steps(&shown["workflow"]["steps"], &shown["workflow"]["start"]);
        let start = format!("| `{name}` |");
        let row = guide.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("the guide does not name `{name}`"));
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(
            columns[3..5],
            [&counted.of_a_run()[..], &counted.task.to_string()],
            "{row}"
        );
    }
}

/// The least and the largest number of workers that are started.
#[derive(Clone, Copy, Default)]
struct WorkerCallRange {
    least: usize,
    most: usize,
}

impl std::fmt::Display for WorkerCallRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self { least, most } if least == most => write!(f, "{most}"),
            Self { least, most } => write!(f, "{least} to {most}"),
        }
    }
}

/// The workers that a run, a phase and a task start if all goes well.
#[derive(Default)]
struct WorkerCalls {
    run: WorkerCallRange,
    phase: WorkerCallRange,
    task: WorkerCallRange,
}

impl WorkerCalls {
    fn of_a_run(&self) -> String {
        match self.phase.most {
            0 => self.run.to_string(),
            _ => format!("{}, and {} a phase", self.run, self.phase),
        }
    }

    /// Counts them from a step on, by the length of a task's text and the size of a change.
    fn of_steps(steps: &Value, start: &Value) -> Self {
        let mut calls = Self::default();
        let mut at = start.clone();
        while let Some(step) = at.as_str().and_then(|name| steps.get(name)) {
            match step["kind"]["does"].as_str().unwrap() {
                "role" => {
                    let slots = step["kind"]["slots"].as_array().unwrap().len();
                    let small = step["kind"]["small_from"].as_u64();
                    let usual = small.map_or(slots, |from| usize::try_from(from).unwrap());
                    let when = step["when"].to_string();
                    let is_optional = ["vague", "broad", "formatted", "result", "score"]
                        .iter()
                        .any(|word| when.contains(word));
                    calls.run.most += usual;
                    calls.run.least += match small {
                        _ if is_optional => 0,
                        Some(_) => slots - usual,
                        None => slots,
                    };
                }
                "each" => {
                    let each = Self::of_steps(steps, &step["kind"]["start"]);
                    if step["kind"]["over"] == "phase" {
                        calls.phase = each.run;
                        calls.task = each.task;
                    } else {
                        calls.task = each.run;
                    }
                }
                _ => {}
            }
            // A person's first answer is the one that leads on.
            let answer = &step["kind"]["answers"][0]["next"];
            at = if answer.is_null() {
                &step["next"]
            } else {
                answer
            }
            .clone();
        }
        calls
    }
}

#[test]
fn the_role_in_the_guide_can_be_used() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = std::fs::read_to_string(file).unwrap();
    let (_, part) = guide.split_once("## Make a role your own\n").unwrap();
    let sample = part.split("```yaml\n").nth(1).unwrap();
    let sample = sample.split("```").next().unwrap();
    let project = Project::new();
    project.write(".codeteam/roles/coder.yml", sample);
    project.run(&["role", "validate", "coder"]).expect(0);
    let told = project.json(&["role", "show", "--resolved", "coder", "--json"]);
    let prompt = told["role"]["prompt"].as_str().unwrap();
    assert!(
        prompt.len() > 1_000 && prompt.contains("French"),
        "{prompt}"
    );
}

#[test]
fn the_workflows_in_the_guide_can_be_used() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = std::fs::read_to_string(file).unwrap();
    let samples = guide.split("```yaml\n").skip(1);
    let samples: Vec<&str> = samples
        .filter_map(|rest| rest.split("```").next())
        .collect();
    let project = Project::new();
    let starting = |start: &str| {
        let found = samples.iter().find(|sample| sample.starts_with(start));
        found.unwrap_or_else(|| panic!("no sample starts with {start:?}"))
    };
    project.config(starting("workflow:\n"));
    project.write(".codeteam/workflows/short.yml", starting("description:"));
    let drawn = project.run(&["workflow", "graph"]).expect(0).stdout;
    for step in ["docs_check", "security_auditor", "commit-approval"] {
        assert!(drawn.contains(step), "{drawn}");
    }
    assert!(!drawn.contains("integration_tests"), "{drawn}");
    let drawn = project
        .run(&["workflow", "graph", "short"])
        .expect(0)
        .stdout;
    assert!(drawn.contains("after 2 rejections → rebound"), "{drawn}");
    project.run(&["config", "validate"]).expect(0);
}

#[test]
fn the_configurations_in_the_guide_of_workers_can_be_used() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workers.md");
    let guide = std::fs::read_to_string(file).unwrap();
    let project = Project::empty();
    let samples = guide.split("```yaml\n").skip(1);
    let samples = samples.filter_map(|rest| rest.split("```").next());
    let (roles, configurations): (Vec<_>, Vec<_>) =
        samples.partition(|sample| sample.starts_with("roles:"));
    assert_eq!((roles.len(), configurations.len()), (3, 5));
    for sample in configurations {
        project.user_config(sample);
        let listed = project.run(&["worker", "list", "--json"]).expect(0).value();
        assert!(listed.as_array().unwrap().len() >= 5, "{sample}");
    }
    let project = Project::new();
    for sample in roles {
        let names = sample
            .lines()
            .skip(1)
            .map(|line| line.trim().split(':').next());
        let steps: Vec<String> = names
            .enumerate()
            .map(|(n, name)| format!("  s{n}: {{ role: {}, next: s{} }}", name.unwrap(), n + 1))
            .collect();
        let last = format!(
            "  s{}: {{ person: Well?, answers: {{ yes: done }} }}",
            steps.len()
        );
        let steps = format!("start: s0\nsteps:\n{}\n{last}\n", steps.join("\n"));
        let flow = format!("name: mine\n{steps}{sample}");
        project.write(".codeteam/workflows/mine.yml", &flow);
        project.config("workflow: mine\nmcp_servers: { tickets: { command: t } }\n");
        // Nobody can be used here, but everything makes sense.
        let checks = project.run(&["doctor", "--json"]).value();
        let checks = checks.as_array().unwrap();
        assert!(
            checks.iter().all(|c| c["name"] != "workflow"),
            "{sample}\n{checks:#?}"
        );
    }
}

#[test]
fn the_git_that_is_needed_is_named_before_anything_is_built() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let needed = codeteam_host::git::NEEDED;
    for file in ["README.md", "docs/guide.md"] {
        let text = std::fs::read_to_string(top.join(file)).unwrap();
        assert!(text.contains(&format!("git {needed} or newer")), "{file}");
    }
    let project = Project::new();
    let with = |version: &str| {
        let folder = project.home().join(version);
        std::fs::create_dir_all(&folder).unwrap();
        let git = folder.join("git");
        std::fs::write(&git, format!("#!/bin/sh\necho git version {version}\n")).unwrap();
        std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut tools = Project::program(&top.join("tools"));
        tools.arg("git");
        tools.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        CommandResult::from(tools.output().unwrap())
    };
    for old in ["2.34.1", "2.9.5", "1.50.0"] {
        let told = format!("git {old} is too old: codeteam needs {needed} or newer");
        with(old).expect(1).says(&[&told]);
    }
    for new in [needed, "2.41.0.windows.1", "2.100.0", "3.0"] {
        with(new).expect(0);
    }
}
