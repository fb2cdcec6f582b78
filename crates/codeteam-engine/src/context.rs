//! What a role is shown of the project: chosen by a strategy, made to fit, put into its prompt.
//!
//! **No worker speaks to its reviewer through a document.** `AGENTS.md` is read from git's objects,
//! as it was before the task began; `.codeteam/context` is read from the user's checkout, and the
//! user's own `context` folder from their configuration: no worker writes either.
//!
//! **Everything that is shown counts.** What there is in any case (the role, the task, what was
//! answered) is measured first; the rest is shortened and left out until all of it is within the
//! role's budget, and both the prompt and the log say so.

mod documents;
pub(crate) mod exact;
mod mentions;
mod objects;
mod sight;
pub mod strategies;
mod told;

pub use self::documents::PLACEHOLDERS;
pub(crate) use self::objects::GitTreeFiles;
pub(crate) use self::sight::{LazyProject, PromptSubject};
pub use self::told::Error;
pub(crate) use self::told::{PromptRequest, RenderedPrompt, named, told};

use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;

use crate::git::{Oid, Repo};

/// Where documents are.
pub(crate) struct DocumentSources<'a> {
    /// The user's repository.
    pub(crate) repo: &'a Repo,
    /// The tree that the task began with.
    pub(crate) base: &'a Oid,
    /// `.codeteam`.
    pub(crate) folder: &'a Path,
    /// The user's own folder, if there is one: its `context` is for all projects.
    pub(crate) user_folder: Option<PathBuf>,
    /// A folder of the repository with more of them, for all who work in it.
    pub(crate) notes: Option<&'static str>,
}

/// Whether a file is one that `codeteam init` writes for editors: large, and nothing of the project.
pub(crate) fn is_for_editors(path: &str) -> bool {
    path.starts_with(".codeteam/schema/")
}

/// What an assignment is about, in words: what it is to do, and what was wrong with it.
pub(crate) fn words(assignment: &Assignment) -> String {
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
    words.extend(assignment.requirements.as_deref());
    let findings = assignment
        .findings
        .iter()
        .map(|finding| finding.report.title.as_str());
    words.extend(findings);
    words.join("\n")
}
