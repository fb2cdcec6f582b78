//! Selects what a role sees of the project: a strategy chooses it, it is shortened to fit, and it
//! becomes part of the prompt.
//!
//! **No worker can speak to its reviewer through a document.** `AGENTS.md` is read from git's
//! objects, as it was before the task began; `.codeteam/context` is read from the user's checkout,
//! and the user's own `context` folder from their configuration: no worker writes to either.
//!
//! **Everything that is shown counts.** The fixed parts (the role, the task, earlier answers) are
//! measured first; the rest is shortened and left out until everything fits the role's budget, and
//! both the prompt and the log report what was left out.

mod documents;
pub(crate) mod exact;
mod git_tree_files;
mod lazy_project;
mod mentions;
mod rendering;
pub mod strategies;

pub use self::documents::PLACEHOLDERS;
pub(crate) use self::git_tree_files::GitTreeFiles;
pub(crate) use self::lazy_project::{LazyProject, PromptSubject};
pub use self::rendering::Error;
pub(crate) use self::rendering::{
    PromptRequest, RenderedPrompt, list_context_files, render_prompt,
};

use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;

use codeteam_host::git::{Oid, Repo};

/// The places where documents for a prompt are found.
pub(crate) struct DocumentSources<'a> {
    /// The user's repository.
    pub(crate) repo: &'a Repo,
    /// The tree that the task began with.
    pub(crate) base: &'a Oid,
    /// The project's `.codeteam` folder.
    pub(crate) folder: &'a Path,
    /// The user's own folder, if there is one: its `context` folder is for all projects.
    pub(crate) user_folder: Option<PathBuf>,
    /// A folder of the repository with more documents, for everybody who works in it.
    pub(crate) notes: Option<&'static str>,
}

/// Returns true if a file is one that `codeteam init` writes for editors: it is large and not part
/// of the project.
pub(crate) fn is_for_editors(path: &str) -> bool {
    path.starts_with(".codeteam/schema/")
}

/// Describes an assignment in words: what is to be done, and what was wrong with it.
pub(crate) fn describe_assignment(assignment: &Assignment) -> String {
    let task = assignment.task.as_ref();
    let mut words = match task {
        Some(task) => vec![task.title.as_str(), task.description.as_str()],
        None => vec![assignment.goal.as_str()],
    };
    words.extend(
        task.into_iter()
            .flat_map(|task| &task.acceptance)
            .map(String::as_str),
    );
    words.extend(assignment.earlier.requirements.as_deref());
    let findings = assignment
        .feedback
        .findings
        .iter()
        .map(|finding| finding.report.title.as_str());
    words.extend(findings);
    words.join("\n")
}
