//! Values that have the right form and cannot be meant.

use std::path::{Component, Path};

use codeteam_core::message::MessageFormat;

use super::Config;

/// A session is gone on with at most so often in a row.
const MAX_CONTINUATION_TURNS: u32 = 3;

/// The key of a value, what is wrong with it, and what to do.
type WrongValue = (&'static str, String, &'static str);

impl Config {
    /// The values that cannot be meant.
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
            wrong.push((key, message, "a long memory costs more than it knows"));
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

/// Why the stories of runs cannot be written to a folder, if they cannot: it must lie in the repository,
/// and not where git keeps its own.
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
