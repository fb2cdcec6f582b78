//! Collects what a model was shown of codeteam's answers, step by step, from the requests of its
//! client, which may show it the fields, the text, or something of its own.

use std::fmt;

use codeteam_e2e::{Scenario, ToolAction};
use serde_json::Value;

use super::programs;
use super::project::Project;

/// The answer shown after a call.
pub(crate) struct ShownAnswer {
    /// The tool that was called.
    pub(crate) tool: String,
    /// The text that the model got, without what differs each time.
    pub(crate) text: String,
}

impl fmt::Display for ShownAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "==== {} ====\n{}", self.tool, lines(&self.text))
    }
}

/// A field a line, where it is an object.
fn lines(text: &str) -> String {
    let Some(at) = text.find('{') else {
        return text.to_owned();
    };
    let (before, object) = text.split_at(at);
    match serde_json::from_str::<Value>(object) {
        Ok(Value::Object(fields)) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}: {value}"));
            format!("{before}{}", fields.collect::<Vec<_>>().join("\n"))
        }
        _ => text.to_owned(),
    }
}

/// Returns what the model was shown after each call of one of codeteam's tools.
pub(crate) fn shown(scenario: &Scenario, project: &Project) -> Vec<ShownAnswer> {
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let requests = project.server.requests().to_models();
    let mut all = Vec::new();
    for play in &scenario.plays {
        for (turn, done) in (1..).zip(&play.turns) {
            let Some(ToolAction::Team { tool, .. }) = done.tools.first() else {
                continue;
            };
            // The first question after the call; there may be others, such as a search for a tool.
            let mut after = requests
                .iter()
                .filter(|request| request.play == play.name && request.turn == Some(turn));
            let request = after.next().unwrap();
            all.push(ShownAnswer {
                tool: tool.clone(),
                text: plain(&request.last_user_text(), project, &run),
            });
        }
    }
    all
}

/// A text without what is different each time.
fn plain(text: &str, project: &Project, run: &str) -> String {
    let text = text
        .replace(&programs::codeteam().display().to_string(), "codeteam")
        .replace(&project.root().display().to_string(), "PROJECT")
        .replace(run, "RUN");
    let mut out = String::new();
    for line in text.lines() {
        // How long codex has waited.
        if line.starts_with("Wall time") {
            out.push_str("Wall time\n");
            continue;
        }
        out.push_str(&without_hashes(line));
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// A line without names of git's objects.
fn without_hashes(line: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in line.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        let is_hash = word.len() >= 12 && word.bytes().all(|b| b.is_ascii_hexdigit());
        out.push_str(if is_hash { "HASH" } else { &word });
        word.clear();
        out.push(c);
    }
    out.trim_end_matches('\n').to_owned()
}
