//! Detects values that have the right form but cannot be intended.

use std::path::{Component, Path};

use codeteam_core::message::MessageFormat;
use codeteam_workflow::roles::quality_points;

use super::Config;

/// The maximum number of times in a row that a session is continued.
const MAX_CONTINUATION_TURNS: u32 = 3;

/// The key of a value, what is wrong with it, and a hint.
type WrongValue = (&'static str, String, &'static str);

impl Config {
    /// Returns the values that cannot be intended.
    pub(super) fn wrong_values(&self) -> Vec<WrongValue> {
        let mut wrong: Vec<WrongValue> = Vec::new();
        if let Some(why) = self.output.runs_dir.as_deref().and_then(runs_dir_problem) {
            wrong.push((
                "output.runs_dir",
                format!("`output.runs_dir` {why}"),
                "name a folder of the repository, from its top, such as `.team/runs`",
            ));
        }
        let form = self.git.commit_message_format.as_deref();
        if let Some(Err(message)) = form.map(MessageFormat::parse) {
            let key = "git.commit_message_format";
            wrong.push((key, format!("`{key}`: {message}"), ""));
        }
        let turns = self.continuity.max_continuation_turns;
        if let Some(turns) = turns.filter(|turns| *turns > MAX_CONTINUATION_TURNS) {
            let key = "continuity.max_continuation_turns";
            let message = format!("`{key}` is {turns}, more than {MAX_CONTINUATION_TURNS}");
            wrong.push((key, message, "a long conversation costs more than it helps"));
        }
        if let Some(Err(message)) = self.quality_threshold.map(quality_points) {
            wrong.push(("quality_threshold", message, ""));
        }
        if self.limits.max_parallel_tasks == Some(0) {
            let key = "limits.max_parallel_tasks";
            wrong.push((
                key,
                format!("`{key}` is 0, so nothing would be done"),
                "at least 1",
            ));
        }
        wrong
    }
}

/// Returns why run reports cannot be written to a folder, if they cannot: it must be in the
/// repository, and not in git's own folder.
fn runs_dir_problem(folder: &Path) -> Option<String> {
    let shown = folder.display();
    if folder.as_os_str().is_empty() {
        return Some("is empty".to_owned());
    }
    let mut parts = folder.components();
    if parts
        .clone()
        .any(|part| !matches!(part, Component::Normal(_)))
    {
        return Some(format!("is `{shown}`, which leads out of the repository"));
    }
    let is_git = parts.any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    is_git.then(|| format!("is `{shown}`, which is git's own"))
}
