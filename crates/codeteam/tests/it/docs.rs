//! The reference of commands is what the program says of itself.

use std::fmt::Write as _;
use std::path::Path;

use codeteam_engine::config::{Schema, keys};
use expect_test::expect_file;

use crate::project::Project;

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
    for (of, name) in [(Schema::Config, "config"), (Schema::Role, "role")] {
        let mut table = String::from("| key | takes | meaning |\n|---|---|---|\n");
        for key in keys::keys(of) {
            let mut meaning = key.meaning;
            let default = &built_in[&key.path];
            if of == Schema::Config && default["origin"]["file"] == "built-in configuration" {
                let value = &default["value"];
                let value = value.as_str().map_or(value.to_string(), str::to_owned);
                let _ = write!(meaning, " *Built in: `{value}`.*");
            }
            if key.is_later {
                meaning.push_str(" *Not yet in force.*");
            }
            let takes = key.takes.replace('|', "\\|");
            let _ = writeln!(table, "| `{}` | {takes} | {meaning} |", key.path);
        }
        let start = format!("<!-- keys of {name}: generated -->\n");
        let (before, rest) = text.split_once(&start).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        text = format!("{before}{start}\n{table}\n<!-- end -->{after}");
    }
    expect_file![file].assert_eq(&text);
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
fn the_configurations_in_the_guide_of_workers_can_be_used() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workers.md");
    let guide = std::fs::read_to_string(file).unwrap();
    let project = Project::empty();
    let samples = guide.split("```yaml\n").skip(1);
    let samples = samples.filter_map(|rest| rest.split("```").next());
    let (roles, configurations): (Vec<_>, Vec<_>) =
        samples.partition(|sample| sample.starts_with("roles:"));
    assert_eq!((roles.len(), configurations.len()), (3, 4));
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
