//! Finds files that git would pass through a program before storing them, as `filter` in
//! `.gitattributes` says: encryption (git-crypt), large files (LFS).
//!
//! codeteam runs no filter when it collects a worker's changes, because a worker may write both the
//! attributes and the content. Some files must not be stored as they are: the filter is `required`,
//! or its name shows that it encrypts or belongs to LFS. This module finds such files, so that they
//! can be refused by name. Content that has already passed through a filter is recognised by its
//! first bytes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::command::{GitCall, GitProgram};
use super::objects::parse_path;
use super::{Error, Oid, PrivateGitDir, Repo, TreeDiff};

/// The first bytes of files that have passed through a filter.
const CLEAN: &[(&str, &[u8])] = &[
    ("lfs", b"version https://git-lfs.github.com/spec/"),
    ("crypt", b"\0GITCRYPT\0"),
    // transcrypt, and everything else that uses `openssl enc`.
    ("crypt", b"U2FsdGVkX1"),
];

/// Words in a filter's name that reveal its purpose, whether it is configured here or not.
const DECLARED: &[&str] = &["crypt", "lfs", "gpg", "sops", "vault", "secret"];

/// A file that must not be stored as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The filter it has to pass through.
    pub filter: String,
}

/// The filters in the user's configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct FilterSettings {
    required: HashSet<String>,
    configured: HashSet<String>,
    /// Whether the user has an attributes file of their own.
    has_attributes: bool,
    /// Whether something is configured that decides how objects are stored.
    has_storage_options: bool,
}

impl FilterSettings {
    /// Returns true if a file must not be stored without having passed through this filter.
    fn is_needed(&self, filter: &str) -> bool {
        let name = filter.to_ascii_lowercase();
        self.required.contains(filter) || DECLARED.iter().any(|word| name.contains(word))
    }
}

impl Repo {
    /// Returns the files of a change in a private directory that must pass through a filter and
    /// have not. `has_attributes` says whether either tree has attributes of its own. No process if
    /// there are none, except the first time.
    pub fn unfiltered_files(
        &self,
        private: &PrivateGitDir,
        base: &Oid,
        tree: &Oid,
        diff: &TreeDiff,
        has_attributes: bool,
    ) -> Result<Vec<FilteredFile>, Error> {
        let settings = self.filter_settings()?;
        let has_own = settings.has_attributes || self.common_dir().join("info/attributes").exists();
        let changed = changed_blobs(diff);
        if changed.is_empty() || !(has_attributes || has_own) {
            return Ok(Vec::new());
        }
        let names: Vec<&Path> = changed.iter().map(|(path, _)| *path).collect();
        let mut filters = self.filters_by(base, &names)?;
        // Attributes in the change itself count too, but cannot remove a filter.
        filters.extend(filters_of(
            private.git(),
            private.objects_call(),
            tree,
            &names,
        )?);
        filters.retain(|(_, filter)| settings.is_needed(filter));
        if filters.is_empty() {
            return Ok(filters_to_files(filters));
        }
        let known: HashSet<Oid> = private
            .all_tree_files(base)?
            .into_iter()
            .map(|file| file.id)
            .collect();
        let ids: BTreeMap<&Path, &Oid> = changed.into_iter().collect();
        let wanted: Vec<&Oid> = ids.values().copied().collect();
        let blobs = private.read_blobs(&wanted)?;
        filters.retain(|(path, filter)| {
            let Some(id) = ids.get(path.as_path()) else {
                return false;
            };
            // A file that was merely moved still has its old content.
            !known.contains(*id) && blobs.get(*id).is_none_or(|bytes| !is_clean(filter, bytes))
        });
        Ok(filters_to_files(filters))
    }

    /// Returns the files of a change in the user's own checkout whose filter is not configured
    /// here, so that the user's git stored them as they are. Three processes.
    pub fn unencrypted_files(
        &self,
        base: &Oid,
        diff: &TreeDiff,
    ) -> Result<Vec<FilteredFile>, Error> {
        let changed = changed_blobs(diff);
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let settings = self.filter_settings()?;
        let names: Vec<&Path> = changed.iter().map(|(path, _)| *path).collect();
        let mut filters = self.filters_by(base, &names)?;
        filters.retain(|(_, filter)| {
            settings.is_needed(filter) && !settings.configured.contains(filter)
        });
        if filters.is_empty() {
            return Ok(Vec::new());
        }
        let ids: BTreeMap<&Path, &Oid> = changed.into_iter().collect();
        let wanted: Vec<&Oid> = ids.values().copied().collect();
        let blobs = self.read_blobs(&wanted)?;
        let old: HashSet<&Oid> = diff.files.iter().filter_map(|f| f.old.as_ref()).collect();
        filters.retain(|(path, filter)| {
            let id = ids.get(path.as_path());
            let is_moved = id.is_some_and(|id| old.contains(*id));
            let bytes = id.and_then(|id| blobs.get(*id));
            !is_moved && bytes.is_none_or(|bytes| !is_clean(filter, bytes))
        });
        Ok(filters_to_files(filters))
    }

    /// Returns the filters of paths, according to the attributes of a tree and the user's own. One
    /// process.
    fn filters_by(&self, tree: &Oid, names: &[&Path]) -> Result<Vec<(PathBuf, String)>, Error> {
        let call = GitCall::checkout(self.top_level()).git_dir(&self.git_dir);
        filters_of(&self.git, call, tree, names)
    }

    /// Reads the configured filters, once. One process.
    /// Returns true if git stores a new object of this repository as a file with the usual
    /// permissions, compression and care for the disk. One process, the first time.
    pub(super) fn stores_plain_files(&self) -> Result<bool, Error> {
        Ok(!self.filter_settings()?.has_storage_options)
    }

    fn filter_settings(&self) -> Result<&FilterSettings, Error> {
        if let Some(known) = self.filters.get() {
            return Ok(known);
        }
        let call = self.checkout().args(["config", "-z", "--get-regexp"]);
        let storage = "compression|loosecompression|createobject|sharedrepository|fsync.*";
        let call = call.arg(format!(
            r"^(filter\..*|core\.attributesfile|core\.({storage}))$"
        ));
        // Git fails if none is configured.
        let output = self.git.run_with_status(&call)?;
        Ok(self
            .filters
            .get_or_init(|| read_settings(&output.stdout, self.git.has_attributes())))
    }
}

/// Parses the output of `git config -z`.
fn read_settings(output: &[u8], has_attributes: bool) -> FilterSettings {
    let mut settings = FilterSettings {
        has_attributes,
        ..FilterSettings::default()
    };
    for entry in String::from_utf8_lossy(output).split('\0') {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let is_attributes = key.eq_ignore_ascii_case("core.attributesfile");
        settings.has_attributes |= is_attributes;
        settings.has_storage_options |= key.starts_with("core.") && !is_attributes;
        let filter = key.strip_prefix("filter.");
        match filter.and_then(|rest| rest.rsplit_once('.')) {
            Some((name, "required")) if matches!(value, "true" | "yes" | "on" | "1" | "") => {
                settings.required.insert(name.to_owned());
            }
            Some((name, "clean" | "process")) if !value.is_empty() => {
                settings.configured.insert(name.to_owned());
            }
            _ => {}
        }
    }
    settings
}

/// Returns the regular files that a change has created or modified.
fn changed_blobs(diff: &TreeDiff) -> Vec<(&Path, &Oid)> {
    let files = diff.files.iter();
    let plain = files.filter(|file| matches!(file.new_mode, 0o100_644 | 0o100_755));
    plain
        .filter_map(|file| Some((file.path.as_path(), file.new.as_ref()?)))
        .collect()
}

/// Returns the filters of paths, according to the attributes of a tree. `call` selects the
/// repository.
fn filters_of(
    git: &GitProgram,
    call: GitCall,
    tree: &Oid,
    names: &[&Path],
) -> Result<Vec<(PathBuf, String)>, Error> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut input = Vec::new();
    for name in names {
        input.extend_from_slice(name.as_os_str().as_bytes());
        input.push(0);
    }
    let call = call
        .arg(format!("--attr-source={tree}"))
        .args(["check-attr", "-z", "--stdin", "filter"])
        .stdin(input);
    let output = git.run(&call)?;
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let (entries, _) = fields.as_chunks::<3>();
    Ok(entries
        .iter()
        .filter(|[.., value]| !matches!(*value, b"unspecified" | b"unset" | b"set"))
        .map(|[name, _, value]| {
            (
                parse_path(name),
                String::from_utf8_lossy(value).into_owned(),
            )
        })
        .collect())
}

/// Returns true if the content is the output of this filter, or empty.
fn is_clean(filter: &str, content: &[u8]) -> bool {
    let name = filter.to_ascii_lowercase();
    let mut marks = CLEAN.iter().filter(|(word, _)| name.contains(word));
    content.is_empty() || marks.any(|(_, mark)| content.starts_with(mark))
}

fn filters_to_files(filters: Vec<(PathBuf, String)>) -> Vec<FilteredFile> {
    let mut files: Vec<FilteredFile> = filters
        .into_iter()
        .map(|(path, filter)| FilteredFile { path, filter })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_configured_of_filters_is_read() {
        let text = b"filter.lfs.clean\ngit-lfs clean -- %f\0filter.lfs.required\ntrue\0\
            filter.a.b.required\0filter.nb.clean\nnbstripout\0";
        let settings = read_settings(text, false);
        assert!(settings.is_needed("lfs") && settings.is_needed("a.b"));
        assert!(settings.is_needed("git-crypt-ops") && !settings.is_needed("nb"));
        assert!(settings.configured.contains("nb") && !settings.has_attributes);
    }

    #[test]
    fn what_a_filter_has_been_through_is_told_by_how_it_begins() {
        assert!(is_clean(
            "lfs",
            b"version https://git-lfs.github.com/spec/v1\noid"
        ));
        assert!(is_clean("git-crypt", b"\0GITCRYPT\0..."));
        assert!(is_clean("crypt", b"") && !is_clean("crypt", b"KEY=1\n"));
        assert!(!is_clean("lfs", b"\0GITCRYPT\0"));
    }
}
