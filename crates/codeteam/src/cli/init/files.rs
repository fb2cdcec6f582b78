//! Proposes and writes the files of `init`: nothing is replaced that was not shown, and no link
//! leads a write out of the repository.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use codeteam_engine::engine::{IGNORE, make_project_folder};
use codeteam_survey::RepoSurvey;
use serde::Serialize;

use super::{LayoutArg, config};
use codeteam_engine::problem::Problem;

/// A file that `init` proposes to write.
#[derive(Debug, Serialize)]
pub(super) struct ProposedFile {
    /// The path from the repository's root.
    pub(super) path: String,
    /// The current content, if the file exists.
    pub(super) before: Option<String>,
    /// The proposed content.
    pub(super) text: String,
}

/// Proposes the files that are missing or would be extended. Nothing is written.
pub(super) fn propose_files(
    root: &Path,
    survey: &RepoSurvey,
    layout: Option<LayoutArg>,
    schemas: Vec<(String, String)>,
    notes: &mut Vec<String>,
) -> Result<Vec<ProposedFile>, Problem> {
    let mut files = Vec::new();
    let mut add = |path: String, before: Option<String>, text: String| {
        if before.as_ref() != Some(&text) {
            files.push(ProposedFile { path, before, text });
        }
    };
    let other = ".codeteam/config.yaml";
    let path = match read_existing(root, other)? {
        Some(_) if read_existing(root, ".codeteam/config.yml")?.is_none() => other,
        _ => ".codeteam/config.yml",
    };
    match read_existing(root, path)? {
        None => add(path.to_owned(), None, config::new_config(survey, layout)),
        Some(before) => {
            let text = config::complete_config(path, &before, survey, layout, notes)?;
            add(path.to_owned(), Some(before), text);
        }
    }
    let path = ".codeteam/.gitignore";
    match read_existing(root, path)? {
        None => add(path.to_owned(), None, IGNORE.to_owned()),
        Some(before) => {
            let text = complete_ignore_file(&before);
            add(path.to_owned(), Some(before), text);
        }
    }
    if !survey.unignored.is_empty() {
        let path = ".gitignore";
        match read_existing(root, path) {
            Ok(before) => {
                let text = with_lines(before.as_deref().unwrap_or_default(), &survey.unignored);
                add(path.to_owned(), before, text);
            }
            // A link belongs to the user and points to something that is not this repository's
            // alone.
            Err(_) => notes.push(format!(
                "add `{}` to `.gitignore`: what the set-up command installs must not be committed",
                survey.unignored.join("`, `")
            )),
        }
    }
    for (name, text) in schemas {
        let path = format!(".codeteam/{name}");
        let before = read_existing(root, &path)?;
        add(path, before, text);
    }
    let path = ".codeteam/context/project.md";
    let told = ["AGENTS.md", "CLAUDE.md"];
    let is_told = told
        .iter()
        .any(|name| root.join(name).symlink_metadata().is_ok());
    if layout.is_none() && !is_told && read_existing(root, path)?.is_none() {
        add(path.to_owned(), None, config::context_document(survey));
    }
    Ok(files)
}

/// Appends the lines that a text lacks.
fn with_lines(before: &str, lines: &[String]) -> String {
    let mut text = before.to_owned();
    for line in lines {
        if text.lines().any(|known| known == line) {
            continue;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Appends the lines that codeteam's own ignore file lacks. A file that a person wrote is left
/// alone.
fn complete_ignore_file(before: &str) -> String {
    let mut text = before.to_owned();
    if !before.lines().any(|line| line.trim() == "/*") {
        return text;
    }
    for line in IGNORE.lines().filter(|line| line.starts_with('!')) {
        if !before.lines().any(|known| known.trim() == line) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Writes the files. A file that has changed since it was shown is left as it is.
pub(super) fn write_files(root: &Path, files: &[ProposedFile]) -> Result<(), Problem> {
    for file in files {
        if read_existing(root, &file.path)? != file.before {
            return Err(
                Problem::user(format!("`{}` has changed since it was shown", file.path))
                    .hint("`codeteam init` again shows what would be written now"),
            );
        }
    }
    make_project_folder(&root.join(".codeteam"))?;
    for file in files {
        let path = root.join(&file.path);
        let failed = |error: io::Error| {
            Problem::environment(format!("could not write `{}`", file.path)).caused_by(&error)
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        match &file.before {
            // If the file was created meanwhile, as the ignore file is, it must have the content
            // that was shown.
            None if read_existing(root, &file.path)?.as_ref() == Some(&file.text) => {}
            None => {
                let new = OpenOptions::new().write(true).create_new(true).open(&path);
                let mut new = new.map_err(failed)?;
                new.write_all(file.text.as_bytes()).map_err(failed)?;
            }
            Some(_) => {
                let beside = path.with_extension("codeteam-new");
                let new = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&beside);
                let mut new = new.map_err(failed)?;
                let done = new.write_all(file.text.as_bytes()).and_then(|()| {
                    fs::set_permissions(&beside, path.metadata()?.permissions())?;
                    fs::rename(&beside, &path)
                });
                if done.is_err() {
                    let _ = fs::remove_file(&beside);
                }
                done.map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// Reads a file; returns `None` if it does not exist. A link on the way is refused, because the
/// write would go elsewhere.
pub(super) fn read_existing(root: &Path, path: &str) -> Result<Option<String>, Problem> {
    let mut at = root.to_owned();
    for part in path.split('/') {
        at.push(part);
        match at.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                let shown = at.strip_prefix(root).unwrap_or(&at).display().to_string();
                return Err(Problem::user(format!("`{shown}` is a symbolic link"))
                    .hint("`codeteam init` writes only into the repository itself; replace the link by what it leads to"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(
                    Problem::environment(format!("could not look at `{path}`")).caused_by(&error)
                );
            }
        }
    }
    fs::read_to_string(&at)
        .map(Some)
        .map_err(|error| Problem::environment(format!("could not read `{path}`")).caused_by(&error))
}
