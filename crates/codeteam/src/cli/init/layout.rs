//! Proposes the missing files of a layout. Existing files are not touched.

use std::path::Path;

use codeteam_engine::engine::Error as EngineError;
use codeteam_engine::layout;
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_survey::{DetectedFeature, RepoSurvey};
use codeteam_workflow::yaml::SourceFiles;

use super::config;
use super::files::{ProposedFile, read_existing};
use codeteam_engine::problem::Problem;

/// The ignore file that keeps the logs of runs out of commits.
const IGNORED: &str =
    "# What runs write. `git add --force` commits it nevertheless.\n*\n!.gitignore\n";

/// Removes from the survey what the layout itself defines: the workflow, and what tests it.
pub(super) fn apply_layout(survey: &mut RepoSurvey) {
    survey.template = DetectedFeature {
        name: "strict".to_owned(),
        why: "`--layout` names it".to_owned(),
    };
    survey.cast = None;
    survey.packs.clear();
    survey.checks.clear();
    survey
        .notes
        .retain(|note| note != codeteam_survey::NO_CHECK);
}

/// Adds the missing files.
pub(super) fn propose_layout_files(
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
    files.push(("kb/project.md".to_owned(), config::context_document(survey)));
    files.push(("runs/.gitignore".to_owned(), IGNORED.to_owned()));
    if has_readme(root) {
        files.retain(|(path, _)| path != "README.md");
    }
    files.sort();
    for (path, text) in files {
        if read_existing(root, &path)?.is_none() {
            proposed.push(ProposedFile {
                path,
                before: None,
                text,
            });
        }
    }
    Ok(())
}

/// Returns true if the repository has a README in any format.
fn has_readme(root: &Path) -> bool {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().to_lowercase());
    names.any(|name| name == "readme" || name.starts_with("readme."))
}
