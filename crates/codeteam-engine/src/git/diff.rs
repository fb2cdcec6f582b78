//! What changed between two trees: the patch, the files, and an id that stays
//! the same when the same patch is made on another base.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use codeteam_context::quoted::unquote;

use super::command::{GitCall, GitProgram};
use super::objects::path;
use super::{Error, Oid};

/// The mode of a reference to another repository's commit.
const GITLINK: u32 = 0o160_000;

/// The difference between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDiff {
    /// The patch, as `git apply` takes it; binary files included.
    pub text: Vec<u8>,
    /// The files that differ, in git's order.
    pub files: Vec<DiffEntry>,
    /// A hash of the patch without what depends on where it applies: the same
    /// change on another base has the same id.
    pub patch_id: String,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffEntry {
    /// Where, relative to the top of the tree.
    pub path: PathBuf,
    /// What happened to it.
    pub change: DiffStatus,
    /// Its mode before (0 if it was not there).
    pub old_mode: u32,
    /// Its mode after (0 if it is not there).
    pub new_mode: u32,
    /// Its content before, if it was there.
    pub old: Option<Oid>,
    /// Its content after, if it is there.
    pub new: Option<Oid>,
}

/// What happened to a file. A renamed one is deleted here and added there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffStatus {
    /// It is new.
    Added,
    /// Its content or its mode changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It became another kind of thing: a file a link, or the like.
    TypeChanged,
}

impl TreeDiff {
    /// Whether a file has a name that git, here or on another system, may take
    /// for one of its own.
    pub fn has_to_do_with_git(&self) -> bool {
        self.files.iter().any(|file| {
            let name = file.path.as_os_str().as_bytes();
            let says_git = name
                .windows(3)
                .any(|part| part.eq_ignore_ascii_case(b"git"));
            says_git || name.iter().any(|&byte| byte == b'~' || !byte.is_ascii())
        })
    }

    /// Whether the trees are the same.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many lines it adds and removes, all together. Nobody can say of bytes, links, references to
    /// other repositories, and of files whose mode changes.
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
        // What is left of the hunk: lines of the old file, and of the new one.
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

    /// New or changed references to other repositories' commits, whose content
    /// nobody has seen.
    pub fn gitlinks(&self) -> impl Iterator<Item = &DiffEntry> {
        self.files.iter().filter(|file| file.new_mode == GITLINK)
    }
}

/// `@@ -12,3 +12,4 @@`: how many lines of the old and of the new file follow.
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

/// Runs the diff with a call that says in which repository.
pub(super) fn run(
    git: &GitProgram,
    call: GitCall,
    from: &Oid,
    to: &Oid,
) -> Result<TreeDiff, Error> {
    let call = call.arg("diff-tree").args(["--raw", "--patch", "--binary"]);
    let call = between(call, from, to);
    let output = git.run(&call)?;
    parse(&output).ok_or_else(|| call.unexpected("a garbled list of files"))
}

/// The files that differ, and nothing of what is in them.
pub(super) fn files(
    git: &GitProgram,
    call: GitCall,
    from: &Oid,
    to: &Oid,
) -> Result<Vec<DiffEntry>, Error> {
    let call = between(call.args(["diff-tree", "--raw"]), from, to);
    let diff = parse(&git.run(&call)?);
    let diff = diff.ok_or_else(|| call.unexpected("a garbled list of files"))?;
    Ok(diff.files)
}

/// The lines that differ, but for bytes and longer files.
pub(super) fn lines(
    git: &GitProgram,
    call: GitCall,
    from: &Oid,
    to: &Oid,
    longest: usize,
) -> Result<Vec<u8>, Error> {
    // What is longer is not even read.
    let option = format!("core.bigFileThreshold={longest}");
    let call = call.args(["-c", &option, "diff-tree", "--patch"]);
    git.run(&between(call, from, to))
}

/// The options of all diffs, spelt out, so that no configuration of the repository changes a patch.
fn between(call: GitCall, from: &Oid, to: &Oid) -> GitCall {
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
        .arg(from)
        .arg(to)
}

/// The raw lines, an empty line, the patch.
///
/// Not `-z`: it would also leave odd file names unquoted in the patch, which
/// could then not be applied.
fn parse(output: &[u8]) -> Option<TreeDiff> {
    let mut files = Vec::new();
    let mut rest = output;
    while rest.starts_with(b":") {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        files.push(changed(&rest[1..end])?);
        rest = &rest[end + 1..];
    }
    let text = rest.strip_prefix(b"\n").unwrap_or(rest);
    Some(TreeDiff {
        text: text.to_vec(),
        files,
        patch_id: patch_id(text),
    })
}

/// `old_mode new_mode old new letter<TAB>path`
fn changed(line: &[u8]) -> Option<DiffEntry> {
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
    let path = path(&unquote(&line[tab + 1..]));
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

/// Hashes the patch without the lines that say where it applies: blob ids, and
/// the positions and the enclosing function of each hunk.
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
