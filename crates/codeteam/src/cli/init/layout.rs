//! The files of a layout that are not there yet. Nothing that is there is touched.

use std::path::Path;

use codeteam_core::yaml::SourceFiles;
use codeteam_engine::engine::Error as EngineError;
use codeteam_engine::layout;
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_engine::survey::{DetectedFeature, RepoSurvey};

use super::config;
use super::files::{ProposedFile, read};
use crate::problem::Problem;

/// What the logs of runs are kept out of commits by.
const IGNORED: &str =
    "# What runs write. `git add --force` commits it nevertheless.\n*\n!.gitignore\n";

/// Leaves to the layout what it says itself: which workflow, and what tests it.
pub(super) fn fit(survey: &mut RepoSurvey) {
    survey.template = DetectedFeature {
        name: "strict".to_owned(),
        why: "`--layout` names it".to_owned(),
    };
    survey.cast = None;
    survey.packs.clear();
    survey.checks.clear();
    survey
        .notes
        .retain(|note| note != codeteam_engine::survey::NO_CHECK);
}

/// Adds the files that are missing.
pub(super) fn propose(
    root: &Path,
    survey: &RepoSurvey,
    proposed: &mut Vec<ProposedFile>,
) -> Result<(), Problem> {
    let library = Library::read(LibraryFolders::default(), SourceFiles::default(), None);
    let mut files = Vec::new();
    for agent in ["planner", "coder", "tester"] {
        let role = library.resolve(&format!("strict/{agent}"));
        let prompt = role.map_err(EngineError::from)?.role.prompt;
        files.push((
            format!("prompts/{agent}.md"),
            format!("{}\n", prompt.trim_end()),
        ));
    }
    let scaffold = layout::scaffold();
    files.extend(scaffold.map(|(path, text)| (path.to_owned(), text.to_owned())));
    files.push(("kb/project.md".to_owned(), config::context(survey)));
    files.push(("runs/.gitignore".to_owned(), IGNORED.to_owned()));
    if has_readme(root) {
        files.retain(|(path, _)| path != "README.md");
    }
    files.sort();
    for (path, text) in files {
        if read(root, &path)?.is_none() {
            proposed.push(ProposedFile {
                path,
                before: None,
                text,
            });
        }
    }
    Ok(())
}

/// Whether the repository says what it is, in a file of whatever form.
fn has_readme(root: &Path) -> bool {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().to_lowercase());
    names.any(|name| name == "readme" || name.starts_with("readme."))
}
