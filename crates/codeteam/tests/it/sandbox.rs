//! Hostile workers and hostile checks, confined; the tests look on the host for what they did.
//!
//! Where it does no harm, the same attack is made with `--no-sandbox` as well, and succeeds there:
//! an attack that cannot succeed anywhere shows nothing.

mod absent;
mod daemons;
mod gates;
mod limits;
mod network;
mod repository;
mod roles;
mod secrets;
mod setup;
mod trees;
mod trust;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};

const NO_SANDBOX: &str = "--no-sandbox";

/// Returns a play in which a worker runs this, then answers.
fn play(whom: &Value, commands: &str, answer: &Value) -> Value {
    json!({ "match": whom, "do": [ { "run": commands }, { "submit": answer } ] })
}

/// A coder that runs this and always makes a change.
fn coder(commands: &str) -> Value {
    coder_of(&json!({ "role": "coder" }), commands)
}

/// The same for some assignments only.
fn coder_of(whom: &Value, commands: &str) -> Value {
    let commands = format!("{commands}\necho made > made.txt");
    play(whom, &commands, &json!({ "summary": "Made it" }))
}

/// A reviewer that runs this and approves.
fn reviewer(commands: &str) -> Value {
    let answer = json!({ "verdict": "approve", "reason": "Good" });
    play(&json!({ "role": "reviewer" }), commands, &answer)
}

/// A command that writes a test which the project's gate runs: a worker's code in a gate's place. It
/// fails without the rest of the change, as a test should.
fn test_that_runs(commands: &str) -> String {
    format!(
        "mkdir -p tests; cat > tests/attack.sh <<'END'\n[ -e made.txt ] || exit 1\n{commands}\nEND"
    )
}

/// The arguments of a run in which these play.
fn cast(project: &Project, workflow: &str, plays: &[Value]) -> Vec<String> {
    // Whatever a gate runs is to be seen once.
    let config = project.home().join(".config/codeteam/config.yml");
    let text = std::fs::read_to_string(&config).unwrap();
    if !text.contains("repeats:") {
        let once = "verification: { repeats: { mode: off } }\n";
        std::fs::write(&config, format!("{text}{once}")).unwrap();
    }
    let script = json!({ "version": 1, "plays": plays }).to_string();
    let (script, workflow) = (project.script(&script), project.workflow(workflow));
    let args = ["-v", "run", "x", "--script", &script, "--workflow"];
    let args = args.into_iter().map(str::to_owned);
    args.chain([workflow]).collect()
}

/// Lets these play, to the end.
fn attack(project: &Project, plays: &[Value], more: &[&str]) -> CommandResult {
    attack_by(project, ONE, plays, more)
}

/// The same by another workflow.
fn attack_by(project: &Project, workflow: &str, plays: &[Value], more: &[&str]) -> CommandResult {
    let args = cast(project, workflow, plays);
    let args: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    project.run(&args)
}

/// Every file of this name in the project, its home and all that is in there.
fn found(project: &Project, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![project.root(), project.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() == name {
                found.push(entry.path());
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

impl CommandResult {
    /// Returns what one of them printed, line by line.
    fn said(&self, whose: &str) -> Vec<&str> {
        let mark = format!(" | {whose}> ");
        let lines = self.stderr.lines();
        lines
            .filter_map(|line| Some(line.split_once(&mark)?.1))
            .collect()
    }
}

/// Makes a command say whose output it is.
fn by(whose: &str, commands: &str) -> String {
    format!("{{ {commands}\n}} 2>&1 | sed 's/^/{whose}> /'")
}
