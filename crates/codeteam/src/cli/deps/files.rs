//! Reads and writes the files of `deps`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use codeteam_context::imports::{ImportGraph, SourceFile};
use codeteam_context::language::Language;
use codeteam_context::outline::{Import, outline};
use codeteam_core::plan::Plan;
use codeteam_host::git::Repo;
use codeteam_survey::FileReadOutcome;

use super::suggest::FileOwners;
use crate::cli::read_named_file;
use codeteam_engine::problem::Problem;

/// The largest number of files inspected in a repository.
const MAX_FILES: usize = 1_000_000;

/// Builds the import graph of the files of a plan's tasks, as they are in the checkout. Files that
/// a task will write can be imported before they exist.
pub(super) fn import_graph(
    repo: &Repo,
    plan: &Plan,
    notes: &mut Vec<String>,
) -> Result<ImportGraph, Problem> {
    let root = repo.top_level();
    let (mut paths, has_more) = repo.checkout_files(MAX_FILES)?;
    if has_more {
        notes.push(format!("only the first {MAX_FILES} files were looked at"));
    }
    let owners = FileOwners::from_plan(plan);
    let mut imports: Vec<Vec<Import>> = Vec::with_capacity(paths.len());
    for path in &paths {
        let language = Language::from_path(path);
        let found = match language.filter(|_| !owners.owners_of(path).is_empty()) {
            Some(language) => match codeteam_survey::read_below(root, path) {
                FileReadOutcome::Text(text) => outline(&text, language).imports,
                // Git may list files that no longer exist.
                FileReadOutcome::Unreadable(_) if !root.join(path).exists() => Vec::new(),
                FileReadOutcome::Unreadable(why) => {
                    notes.push(format!("`{path}` {why}, so its imports are not known"));
                    Vec::new()
                }
            },
            None => Vec::new(),
        };
        imports.push(found);
    }
    let planned: Vec<String> = owners.paths().map(str::to_owned).collect();
    imports.resize_with(paths.len() + planned.len(), Vec::new);
    paths.extend(planned);
    let sources: Vec<SourceFile<'_>> = paths
        .iter()
        .zip(&imports)
        .map(|(path, imports)| SourceFile { path, imports })
        .collect();
    let read = |path: &str| match codeteam_survey::read_below(root, path) {
        FileReadOutcome::Text(text) => Some(text),
        FileReadOutcome::Unreadable(_) => None,
    };
    Ok(ImportGraph::from_sources(&sources, &read))
}

/// Refuses a plan inside the repository that links out of it: whoever made the link must not
/// control what is written elsewhere.
pub(super) fn refuse_outside_repo(path: &Path, root: &Path) -> Result<(), Problem> {
    let (Ok(real), Ok(real_root)) = (path.canonicalize(), root.canonicalize()) else {
        // A missing file is reported when it is read.
        return Ok(());
    };
    let is_own = path.starts_with(root) || path.starts_with(&real_root);
    if is_own && !real.starts_with(&real_root) {
        let shown = path.display();
        return Err(
            Problem::user(format!("`{shown}` leads out of the repository")).hint(format!(
                "name the file itself: `codeteam deps {}`",
                real.display()
            )),
        );
    }
    Ok(())
}

/// Reads a plan file.
pub(super) fn read_plan(path: &Path) -> Result<String, Problem> {
    read_named_file(path).map_err(|error| {
        Problem::environment(format!("could not read `{}`", path.display())).caused_by(&error)
    })
}

/// Replaces a file atomically, if it still has the content that was read.
pub(super) fn replace_plan(path: &Path, before: &str, text: &str) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::environment(format!("could not write `{}`", path.display())).caused_by(&error)
    };
    // A link is kept, and its target is changed.
    let path = path.canonicalize().map_err(failed)?;
    let beside = path.with_extension("codeteam-new");
    let mut new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&beside)
        .map_err(failed)?;
    let done = new
        .write_all(text.as_bytes())
        .and_then(|()| new.sync_all())
        .and_then(|()| fs::set_permissions(&beside, path.metadata()?.permissions()))
        .and_then(|()| fs::read_to_string(&path));
    let done = match done {
        Ok(now) if now == before => fs::rename(&beside, &path).map_err(failed),
        Ok(_) => Err(Problem::user(format!(
            "`{}` has changed since it was read",
            path.display()
        ))
        .hint("nothing was written; `codeteam deps` again looks at it as it is now")),
        Err(error) => Err(failed(error)),
    };
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}
