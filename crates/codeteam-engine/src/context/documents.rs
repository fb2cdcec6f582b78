//! Collects the documents of the project: the nearest `AGENTS.md`, `.codeteam/context/*.md`, those
//! of a folder that the project's layout has for it, and those that the user has for all projects.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use codeteam_core::assignment::Assignment;

use super::DocumentSources;
use crate::prompt::{ProjectDocument, PromptAttachments};
use codeteam_host::git;
use codeteam_host::repo_files;

/// The most bytes that are shown of one document.
const MAX_ONE: usize = 32 << 10;
/// The most bytes that are shown of all documents together.
const MAX_ALL: usize = 128 << 10;
/// The largest blob that is read at all.
const MAX_BLOB: u64 = 4 << 20;
/// The maximum number of places in the tree that are searched.
const MAX_PLACES: usize = 1_000;
/// The maximum length of a file's path.
const MAX_NAME: usize = 4_096;
/// The maximum number of documents.
const MAX_FILES: usize = 100;

const NAME: &str = "AGENTS.md";
/// The name of the folder of the user's own documents in prompts, wherever it is.
const USERS: &str = "~/.config/codeteam/context";

/// The placeholders in the document that `init` proposes, until somebody replaces them.
pub const PLACEHOLDERS: [&str; 2] = ["(one paragraph)", "(what a newcomer gets wrong)"];

/// Reads all documents: the tree's first, then the project's, then the user's, each sorted by name.
pub(super) fn read(
    assignment: &Assignment,
    place: &DocumentSources<'_>,
    attached: &mut PromptAttachments,
) -> Result<(), git::Error> {
    let mut room = MAX_ALL;
    let places = candidates(&assignment.shown.targets);
    let asked: BTreeSet<PathBuf> = places.iter().flatten().cloned().collect();
    let asked: Vec<PathBuf> = asked.into_iter().take(MAX_PLACES).collect();
    let there = place.repo.tree_files(place.base, &asked)?;
    let nearest: BTreeSet<&Path> = places
        .iter()
        .filter_map(|places| {
            let mut found = places
                .iter()
                .filter(|path| there.iter().any(|f| f.path == **path));
            found.next().map(PathBuf::as_path)
        })
        .collect();
    for file in there
        .iter()
        .filter(|file| nearest.contains(file.path.as_path()))
    {
        let path = file.path.display().to_string();
        if file.bytes > MAX_BLOB {
            attached.unshown.push(path);
            continue;
        }
        let bytes = place.repo.read_blob(&file.id)?;
        add(path, &bytes, bytes.len(), &mut room, attached);
    }
    let repository = place.repo.top_level();
    let own = [(place.folder.join("context"), ".codeteam/context")];
    let notes = place.notes.map(|name| (repository.join(name), name));
    let documents = own.into_iter().chain(notes).flat_map(|(folder, shown)| {
        let paths = documents_in(&folder).into_iter();
        paths.map(move |path| (path, shown))
    });
    for (path, shown) in documents {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{shown}/{name}");
        let is_own = repo_files::ensure_inside(&path, repository).is_ok();
        match beginning(&path).filter(|_| is_own) {
            Some((bytes, _)) if is_unfilled(&bytes) => {}
            Some((bytes, length)) => add(name, &bytes, length, &mut room, attached),
            None => attached.unshown.push(name),
        }
    }
    let users = place.user_folder.as_deref();
    for path in users
        .into_iter()
        .flat_map(|folder| documents_in(&folder.join("context")))
    {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{USERS}/{name}");
        match beginning(&path) {
            Some((bytes, length)) => add(name, &bytes, length, &mut room, attached),
            None => attached.unshown.push(name),
        }
    }
    Ok(())
}

/// Returns for each file of a task where its `AGENTS.md` may be, nearest first; the one in the root
/// if there are no files.
fn candidates(files: &[String]) -> Vec<Vec<PathBuf>> {
    if files.is_empty() {
        return vec![vec![NAME.into()]];
    }
    let of_file = |file: &String| {
        let path = Path::new(file);
        let is_plain = file.len() <= MAX_NAME
            && !file.contains(char::is_control)
            && path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
        let path = if is_plain { path } else { Path::new("") };
        // `docs/` is a folder; `docs/a.md` is a file in it.
        let folders = path
            .ancestors()
            .skip(usize::from(is_plain && !file.ends_with('/')));
        folders.map(|folder| folder.join(NAME)).collect()
    };
    files.iter().map(of_file).collect()
}

/// Returns the documents in a folder, sorted by name.
fn documents_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "md") && path.is_file())
        .collect();
    paths.sort_unstable();
    paths
}

/// Reads the beginning of a file, and returns its whole length too.
fn beginning(path: &Path) -> Option<(Vec<u8>, usize)> {
    let file = File::open(path).ok()?;
    let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
    let mut bytes = Vec::new();
    // Read a few bytes more, so that no character is cut needlessly.
    file.take(MAX_ONE as u64 + 4).read_to_end(&mut bytes).ok()?;
    Some((bytes, length))
}

/// Returns true if a document is the one that `init` proposes, unchanged: it tells nobody anything.
fn is_unfilled(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    PLACEHOLDERS
        .iter()
        .all(|placeholder| text.lines().any(|line| line.trim() == *placeholder))
}

/// Adds a document as far as there is room for it.
fn add(
    path: String,
    bytes: &[u8],
    length: usize,
    room: &mut usize,
    attached: &mut PromptAttachments,
) {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return;
    }
    if *room == 0 || attached.documents.len() >= MAX_FILES {
        attached.unshown.push(path);
        return;
    }
    let told = &text[..text.floor_char_boundary(MAX_ONE.min(*room))];
    let left_out = if told.len() == text.len() {
        0
    } else {
        length.saturating_sub(told.len()).max(1)
    };
    *room -= told.len();
    attached.documents.push(ProjectDocument {
        path,
        text: told.to_owned(),
        left_out,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_comes_first() {
        let files = [
            "src/a/b.rs".to_owned(),
            "docs/".to_owned(),
            "../x".to_owned(),
        ];
        let words = |places: &Vec<PathBuf>| -> Vec<String> {
            places.iter().map(|p| p.display().to_string()).collect()
        };
        let found: Vec<_> = candidates(&files).iter().map(words).collect();
        assert_eq!(found[0], ["src/a/AGENTS.md", "src/AGENTS.md", "AGENTS.md"]);
        assert_eq!(found[1], ["docs/AGENTS.md", "AGENTS.md"]);
        assert_eq!(found[2], ["AGENTS.md"]);
        assert_eq!(candidates(&[]), [[PathBuf::from("AGENTS.md")]]);
    }

    #[test]
    fn a_template_that_nobody_has_filled_in_is_told_to_nobody() {
        let [purpose, conventions] = PLACEHOLDERS;
        let template = format!("# This project\n\n{purpose}\n\n## Conventions\n\n{conventions}\n");
        assert!(is_unfilled(template.as_bytes()));
        let begun = template.replace(purpose, "It counts words.");
        assert!(!is_unfilled(begun.as_bytes()));
        assert!(!is_unfilled(b"# A project of somebody's own\n"));
    }

    #[test]
    fn there_is_room_for_so_much() {
        let (mut room, mut attached) = (MAX_ALL, PromptAttachments::default());
        let long = vec![b'x'; MAX_ONE + 10];
        for i in 0..6 {
            add(format!("{i}"), &long, long.len(), &mut room, &mut attached);
        }
        add("blank".to_owned(), b" \n", 2, &mut room, &mut attached);
        assert_eq!(attached.documents.len(), 4);
        assert!(
            attached
                .documents
                .iter()
                .all(|d| d.text.len() == MAX_ONE && d.left_out == 10)
        );
        assert_eq!(attached.unshown, ["4", "5"]);
    }
}
