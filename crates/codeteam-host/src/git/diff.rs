//! Computes the difference between two trees: the patch, the files, and an id that stays the same
//! when the same patch is made on another base.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use codeteam_context::quoted::unquote;

use super::command::{GitCall, GitProgram};
use super::objects::parse_path;
use super::{Error, Oid};

/// The file mode of a gitlink, a reference to another repository's commit.
const GITLINK: u32 = 0o160_000;

/// The difference between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDiff {
    /// The patch, in the format `git apply` reads, including binary files.
    pub text: Vec<u8>,
    /// The files that differ, in git's order.
    pub files: Vec<DiffEntry>,
    /// A hash of the patch without the parts that depend on where it applies: the same change on
    /// another base has the same id.
    pub patch_id: String,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffEntry {
    /// The path relative to the top of the tree.
    pub path: PathBuf,
    /// The kind of change.
    pub change: DiffStatus,
    /// The mode before (0 if the file did not exist).
    pub old_mode: u32,
    /// The mode after (0 if the file no longer exists).
    pub new_mode: u32,
    /// The id of the content before, if the file existed.
    pub old: Option<Oid>,
    /// The id of the content after, if the file exists.
    pub new: Option<Oid>,
}

/// The kind of change to a file. A rename counts as a deletion and an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStatus {
    /// It is new.
    Added,
    /// Its content or its mode changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It changed its type, for example from a file to a link.
    TypeChanged,
}

impl TreeDiff {
    /// Returns true if a file has a name that git, here or on another system, may take for one of
    /// its own.
    pub fn touches_git_names(&self) -> bool {
        self.files.iter().any(|file| {
            let name = file.path.as_os_str().as_bytes();
            let says_git = name
                .windows(3)
                .any(|part| part.eq_ignore_ascii_case(b"git"));
            says_git || name.iter().any(|&byte| byte == b'~' || !byte.is_ascii())
        })
    }

    /// Returns true if the trees are the same.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of lines added and removed in total. Returns `None` if the diff contains
    /// binary files, links, gitlinks or mode changes, for which lines cannot be counted.
    pub fn changed_lines(&self) -> Option<u32> {
        let is_plain = |mode: u32| matches!(mode, 0 | 0o100_644 | 0o100_755);
        let is_of_lines = |file: &DiffEntry| {
            let same_mode = file.old_mode == 0 || file.new_mode == 0;
            is_plain(file.old_mode)
                && is_plain(file.new_mode)
                && (same_mode || file.old_mode == file.new_mode)
        };
        if !self.files.iter().all(is_of_lines) {
            return None;
        }
        let mut count = 0_u32;
        // The remaining lines of the current hunk: of the old file, and of the new one.
        let mut left = (0_u64, 0_u64);
        for line in self.text.split(|&byte| byte == b'\n') {
            match (left, line.first()) {
                ((0, 0), _) if line.starts_with(b"GIT binary patch") => return None,
                ((0, 0), _) if line.starts_with(b"@@ ") => left = hunk_lengths(line)?,
                ((0, 0), _) | (_, Some(b'\\')) => {}
                (_, Some(b'+')) => {
                    left.1 = left.1.saturating_sub(1);
                    count = count.saturating_add(1);
                }
                (_, Some(b'-')) => {
                    left.0 = left.0.saturating_sub(1);
                    count = count.saturating_add(1);
                }
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
        }
        Some(count)
    }

    /// Returns new or changed references to other repositories' commits, whose content nobody has
    /// reviewed.
    pub fn gitlinks(&self) -> impl Iterator<Item = &DiffEntry> {
        self.files.iter().filter(|file| file.new_mode == GITLINK)
    }
}

/// Parses `@@ -12,3 +12,4 @@` and returns how many lines of the old and of the new file follow.
fn hunk_lengths(line: &[u8]) -> Option<(u64, u64)> {
    let words = String::from_utf8_lossy(line);
    let mut ranges = words
        .split(' ')
        .skip(1)
        .map(|range| match range.split_once(',') {
            Some((_, length)) => length.parse().ok(),
            None => Some(1),
        });
    Some((ranges.next()??, ranges.next()??))
}

/// Computes the diff. `call` selects the repository.
pub(super) fn diff_trees(
    git: &GitProgram,
    call: GitCall,
    from: &Oid,
    to: &Oid,
) -> Result<TreeDiff, Error> {
    let call = call.arg("diff-tree").args(["--raw", "--patch", "--binary"]);
    let call = diff_call(call, &[from, to]);
    let output = git.run(&call)?;
    parse_diff(&output).ok_or_else(|| call.unexpected_output("a garbled list of files"))
}

/// Computes the diff between a tree and the index. `call` selects the repository.
pub(super) fn diff_index(git: &GitProgram, call: GitCall, from: &Oid) -> Result<TreeDiff, Error> {
    let call = call.args(["diff-index", "--cached", "--raw", "--patch", "--binary"]);
    let call = diff_call(call, &[from]);
    let output = git.run(&call)?;
    parse_diff(&output).ok_or_else(|| call.unexpected_output("a garbled list of files"))
}

/// Returns the files that differ, without their content.
pub(super) fn diff_entries(
    git: &GitProgram,
    call: GitCall,
    from: &Oid,
    to: &Oid,
) -> Result<Vec<DiffEntry>, Error> {
    let call = diff_call(call.args(["diff-tree", "--raw"]), &[from, to]);
    let diff = parse_diff(&git.run(&call)?);
    let diff = diff.ok_or_else(|| call.unexpected_output("a garbled list of files"))?;
    Ok(diff.files)
}

/// Returns a patch with the lines that differ, leaving out binary files and files longer than
/// `longest`.
pub(super) fn diff_lines(
    git: &GitProgram,
    call: GitCall,
    from: &Oid,
    to: &Oid,
    longest: usize,
) -> Result<Vec<u8>, Error> {
    // Git does not even read files above this size.
    let option = format!("core.bigFileThreshold={longest}");
    let call = call.args(["-c", &option, "diff-tree", "--patch"]);
    git.run(&diff_call(call, &[from, to]))
}

/// Adds the options of all diffs. They are spelt out so that the repository's configuration cannot
/// change a patch.
fn diff_call(call: GitCall, trees: &[&Oid]) -> GitCall {
    call.args(["-r", "--no-abbrev", "--full-index"])
        .args([
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-relative",
        ])
        .args([
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--unified=3",
            "--inter-hunk-context=0",
        ])
        .args([
            "--diff-algorithm=histogram",
            "--indent-heuristic",
            "--submodule=short",
        ])
        .args([
            "--ignore-submodules=none",
            "-O/dev/null",
            "--end-of-options",
        ])
        .args(trees)
}

/// Parses the output: the raw lines, an empty line, the patch.
///
/// The `-z` option is not used: it would also leave unusual file names unquoted in the patch, which
/// could then not be applied.
fn parse_diff(output: &[u8]) -> Option<TreeDiff> {
    let mut files = Vec::new();
    let mut rest = output;
    while rest.starts_with(b":") {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        files.push(parse_entry(&rest[1..end])?);
        rest = &rest[end + 1..];
    }
    let text = rest.strip_prefix(b"\n").unwrap_or(rest);
    Some(TreeDiff {
        text: text.to_vec(),
        files,
        patch_id: patch_id(text),
    })
}

/// Parses `old_mode new_mode old new letter<TAB>path`.
fn parse_entry(line: &[u8]) -> Option<DiffEntry> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    let mut fields = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let old_mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let new_mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let old = Oid::parse(fields.next()?)?;
    let new = Oid::parse(fields.next()?)?;
    let change = match fields.next()? {
        "A" => DiffStatus::Added,
        "M" => DiffStatus::Modified,
        "D" => DiffStatus::Deleted,
        "T" => DiffStatus::TypeChanged,
        _ => return None,
    };
    let path = parse_path(&unquote(&line[tab + 1..]));
    let there = |oid: Oid| (!oid.is_zero()).then_some(oid);
    Some(DiffEntry {
        path,
        change,
        old_mode,
        new_mode,
        old: there(old),
        new: there(new),
    })
}

/// Hashes the patch without the lines that depend on where it applies: blob ids, and the position
/// and the enclosing function of each hunk.
fn patch_id(patch: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    for line in patch.split_inclusive(|&byte| byte == b'\n') {
        // Content begins with a space, a sign or a backslash, and binary data
        // has no spaces, so neither prefix can be content.
        if line.starts_with(b"index ") {
            continue;
        }
        hasher.update(if line.starts_with(b"@@ ") {
            b"@@\n"
        } else {
            line
        });
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_id_ignores_where_the_patch_applies() {
        let here = b"diff --git a/f b/f\nindex 1..2 100644\n@@ -1 +1 @@ fn a() {\n-x\n+y\n";
        let there = b"diff --git a/f b/f\nindex 3..4 100644\n@@ -9 +9 @@\n-x\n+y\n";
        let other = b"diff --git a/f b/f\nindex 3..4 100644\n@@ -9 +9 @@\n-x\n+z\n";
        assert_eq!(patch_id(here), patch_id(there));
        assert_ne!(patch_id(here), patch_id(other));
    }
}
