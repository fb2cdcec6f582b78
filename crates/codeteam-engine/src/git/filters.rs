//! Files that git would hand to a program before it stores them, as `filter` in `.gitattributes` says:
//! encryption (git-crypt), large files (LFS).
//!
//! codeteam runs no filter when it collects what a worker has done, because a worker may write the
//! attributes and the content. A file that must not be stored as it is (the filter is `required`, or
//! its name says that it encrypts or belongs to LFS) is therefore found here, so that it can be
//! refused by name. What a filter has already been through is told by its first bytes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::command::{GitCall, GitProgram};
use super::objects::path;
use super::{Error, Oid, PrivateGitDir, Repo, TreeDiff};

/// How a file begins that a filter has been through.
const CLEAN: &[(&str, &[u8])] = &[
    ("lfs", b"version https://git-lfs.github.com/spec/"),
    ("crypt", b"\0GITCRYPT\0"),
    // transcrypt, and everything else that goes by `openssl enc`.
    ("crypt", b"U2FsdGVkX1"),
];

/// Words in the name of a filter that say what it is for, whether it is configured here or not.
const DECLARED: &[&str] = &["crypt", "lfs", "gpg", "sops", "vault", "secret"];

/// A file that must not be stored as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredFile {
    /// Where it is.
    pub path: PathBuf,
    /// The filter it has to go through.
    pub filter: String,
}

/// What the user's configuration says of filters.
#[derive(Debug, Clone, Default)]
pub(super) struct FilterSettings {
    required: HashSet<String>,
    configured: HashSet<String>,
    /// Whether attributes are kept in a file of the user's own.
    has_attributes: bool,
}

impl FilterSettings {
    /// Whether a file must not be stored without having been through a filter.
    fn is_needed(&self, filter: &str) -> bool {
        let name = filter.to_ascii_lowercase();
        self.required.contains(filter) || DECLARED.iter().any(|word| name.contains(word))
    }
}

impl Repo {
    /// The files of a change in a private directory that must go through a filter and have not.
    /// `has_attributes` says whether either tree has attributes of its own. No process where there
    /// are none, except the first time.
    pub fn unfiltered(
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
        // What the change itself declares counts, and takes nothing back.
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
            .all_files_of(base)?
            .into_iter()
            .map(|file| file.id)
            .collect();
        let ids: BTreeMap<&Path, &Oid> = changed.into_iter().collect();
        let wanted: Vec<&Oid> = ids.values().copied().collect();
        let blobs = private.blobs(&wanted)?;
        filters.retain(|(path, filter)| {
            let Some(id) = ids.get(path.as_path()) else {
                return false;
            };
            // A file that was moved is as it was.
            !known.contains(*id) && blobs.get(*id).is_none_or(|bytes| !is_clean(filter, bytes))
        });
        Ok(filters_to_files(filters))
    }

    /// The files of a change of the user's own checkout, which their git has put through its filters,
    /// whose filter is not configured here, so that they were stored as they are. Three processes.
    pub fn unencrypted(&self, base: &Oid, diff: &TreeDiff) -> Result<Vec<FilteredFile>, Error> {
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
        let blobs = self.blobs(&wanted)?;
        let old: HashSet<&Oid> = diff.files.iter().filter_map(|f| f.old.as_ref()).collect();
        filters.retain(|(path, filter)| {
            let id = ids.get(path.as_path());
            let is_moved = id.is_some_and(|id| old.contains(*id));
            let bytes = id.and_then(|id| blobs.get(*id));
            !is_moved && bytes.is_none_or(|bytes| !is_clean(filter, bytes))
        });
        Ok(filters_to_files(filters))
    }

    /// The filters of paths by the attributes of a tree and the user's own. One process.
    fn filters_by(&self, tree: &Oid, names: &[&Path]) -> Result<Vec<(PathBuf, String)>, Error> {
        let call = GitCall::checkout(self.top_level()).git_dir(&self.git_dir);
        filters_of(&self.git, call, tree, names)
    }

    /// What is configured of filters, asked once. One process.
    fn filter_settings(&self) -> Result<&FilterSettings, Error> {
        if let Some(known) = self.filters.get() {
            return Ok(known);
        }
        let call = self.checkout().args(["config", "-z", "--get-regexp"]);
        let call = call.arg(r"^(filter\..*|core\.attributesfile)$");
        // None configured is a failure.
        let output = self.git.attempt(&call)?;
        Ok(self
            .filters
            .get_or_init(|| read_settings(&output.stdout, self.git.has_attributes())))
    }
}

/// Reads what `git config -z` has printed.
fn read_settings(output: &[u8], has_attributes: bool) -> FilterSettings {
    let mut settings = FilterSettings {
        has_attributes,
        ..FilterSettings::default()
    };
    for entry in String::from_utf8_lossy(output).split('\0') {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        settings.has_attributes |= key.eq_ignore_ascii_case("core.attributesfile");
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

/// The plain files that a change has made or changed.
fn changed_blobs(diff: &TreeDiff) -> Vec<(&Path, &Oid)> {
    let files = diff.files.iter();
    let plain = files.filter(|file| matches!(file.new_mode, 0o100_644 | 0o100_755));
    plain
        .filter_map(|file| Some((file.path.as_path(), file.new.as_ref()?)))
        .collect()
}

/// The filters of paths by the attributes of a tree, with a call that says in which repository.
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
        .map(|[name, _, value]| (path(name), String::from_utf8_lossy(value).into_owned()))
        .collect())
}

/// Whether a content is what a filter makes, or nothing at all.
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
