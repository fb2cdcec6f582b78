//! What `deps` reads and writes.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use codeteam_context::imports::{ImportGraph, SourceFile};
use codeteam_context::language::Language;
use codeteam_context::outline::{Import, outline};
use codeteam_core::plan::Plan;
use codeteam_engine::git::Repo;
use codeteam_engine::survey::{self, FileReadOutcome};

use super::suggest::FileOwners;
use crate::problem::Problem;

/// How many files of a repository are looked at.
const MAX_FILES: usize = 1_000_000;

/// The imports of the files of a plan's tasks, as they are in the checkout. What a task will write
/// can be imported before it is there.
pub(super) fn graph(
    repo: &Repo,
    plan: &Plan,
    notes: &mut Vec<String>,
) -> Result<ImportGraph, Problem> {
    let root = repo.top_level();
    let (mut paths, has_more) = repo.files(MAX_FILES)?;
    if has_more {
        notes.push(format!("only the first {MAX_FILES} files were looked at"));
    }
    let owners = FileOwners::of(plan);
    let mut imports: Vec<Vec<Import>> = Vec::with_capacity(paths.len());
    for path in &paths {
        let language = Language::of(path);
        let found = match language.filter(|_| !owners.owning(path).is_empty()) {
            Some(language) => match survey::read_below(root, path) {
                FileReadOutcome::Text(text) => outline(&text, language).imports,
                // Git knows files that are no longer there.
                FileReadOutcome::Not(_) if !root.join(path).exists() => Vec::new(),
                FileReadOutcome::Not(why) => {
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
    let read = |path: &str| match survey::read_below(root, path) {
        FileReadOutcome::Text(text) => Some(text),
        FileReadOutcome::Not(_) => None,
    };
    Ok(ImportGraph::of(&sources, &read))
}

/// Refuses a plan of the repository that leads out of it: whoever made the link has no say in what is
/// written elsewhere.
pub(super) fn stays(path: &Path, root: &Path) -> Result<(), Problem> {
    let (Ok(real), Ok(real_root)) = (path.canonicalize(), root.canonicalize()) else {
        // What is not there is said when it is read.
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

/// The text of a plan's file.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    fs::read_to_string(path).map_err(|error| {
        Problem::environment(format!("could not read `{}`", path.display())).caused_by(&error)
    })
}

/// Replaces a file, whole or not at all, if it still says what was read.
pub(super) fn replace(path: &Path, before: &str, text: &str) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::environment(format!("could not write `{}`", path.display())).caused_by(&error)
    };
    // A link stays one, and what it leads to is changed.
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
