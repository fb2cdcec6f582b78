//! The facts about a commit, and the parts of its message that follow from them.

use std::collections::BTreeSet;

/// The known facts about a commit before anybody describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitFacts {
    /// The task's id, as in the commit's trailer.
    pub task_id: String,
    /// Whether it is for a task of the plan.
    pub is_task: bool,
    /// The plan's id, or the run's if there is none.
    pub plan_id: String,
    /// The run's id.
    pub run: String,
    /// The role that made the change.
    pub role: String,
    /// The task, or the goal, in one line.
    pub headline: String,
    /// The description of the task; empty where there is no task.
    pub description: String,
    /// The files it touches.
    pub files: Vec<String>,
    /// A suffix for the summary where codeteam fills in a template: who has judged the change.
    pub marks: String,
}

impl CommitFacts {
    /// Returns the type of the change, derived from its headline and its files, and the headline
    /// without that type.
    pub(super) fn commit_type(&self) -> (&'static str, &str) {
        const SAID: &[(&str, &str)] = &[
            ("fix", "fix"),
            ("repair", "fix"),
            ("correct", "fix"),
            ("refactor", "refactor"),
            ("document", "docs"),
            ("speed up", "perf"),
        ];
        let headline = self.headline.as_str();
        let lower = headline.to_lowercase();
        if let Some((head, rest)) = headline.split_once(": ") {
            // The headline states its type already, in the conventional form.
            let word = head.split(['(', '!']).next().unwrap_or_default();
            let known = super::TYPES.iter().find(|known| **known == word);
            if let (Some(known), false) = (known, rest.trim().is_empty()) {
                return (known, rest);
            }
        }
        let all = |is: fn(&str) -> bool| {
            !self.files.is_empty() && self.files.iter().all(|file| is(&file.to_lowercase()))
        };
        let is_document = |file: &str| {
            let ends = [".md", ".rst", ".adoc"];
            file.starts_with("docs/") || ends.iter().any(|end| file.ends_with(end))
        };
        let is_test = |file: &str| {
            let mut parts = file.split(['/', '.', '_', '-']);
            parts.any(|part| matches!(part, "test" | "tests" | "spec"))
        };
        let said = SAID.iter().find(|(word, _)| {
            let rest = lower.strip_prefix(word);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() && c != 's'))
        });
        let kind = match said {
            Some((_, kind)) => kind,
            None if all(is_document) => "docs",
            None if all(is_test) => "test",
            None => "feat",
        };
        (kind, headline)
    }

    /// Returns the top-level directory that contains the whole change, or `project`.
    pub(super) fn scope(&self) -> &str {
        let first = |file: &'_ String| file.split_once('/').map(|(first, _)| first.to_owned());
        let folders: BTreeSet<Option<String>> = self.files.iter().map(first).collect();
        let one = folders.len() == 1;
        let folder = self.files.first().and_then(|file| file.split_once('/'));
        match folder {
            Some((folder, _)) if one && is_word(folder) => folder,
            _ => "project",
        }
    }
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(plain)
}
