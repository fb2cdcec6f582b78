//! A patch as git prints it, cut into files, hunks and lines.

mod blanks;
mod more_context;

use std::ops::Range;
use std::path::Path;

/// A file whose patch has more lines is folded at first.
const LARGE: usize = 1_000;
/// More of a patch than this is not shown.
const LARGEST: usize = 8 << 20;

/// A patch with its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchDocument {
    text: String,
    /// The files, in their order.
    pub files: Vec<PatchFile>,
    rows: Vec<PatchRow>,
    /// Whether the patch was too large to be read as a whole.
    pub is_cut: bool,
}

/// A file of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFile {
    /// Its path after the change, or before it if it was removed.
    pub path: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Whether it is large or generated, so that nobody reads it line by line.
    pub is_bulky: bool,
    /// A hash of its part of the patch.
    pub digest: [u8; 32],
    /// The object that has its content before the change, if the patch names one.
    pub old_blob: Option<String>,
    rows: Range<usize>,
    text: Range<usize>,
}

/// A line of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchRow {
    /// What it is.
    pub kind: PatchRowKind,
    /// Its number before the change, if it was there.
    pub old: Option<u32>,
    /// Its number after the change, if it is there.
    pub new: Option<u32>,
    text: Range<usize>,
}

/// What a line of a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchRowKind {
    /// The heading of a hunk.
    Hunk,
    /// A line that stays.
    Context,
    /// A line that is added.
    Added,
    /// A line that is removed.
    Removed,
    /// What git says about the file: a mode, a rename, that it is binary.
    Remark,
}

impl PatchDocument {
    /// Reads a patch.
    pub fn parse(bytes: &[u8]) -> Self {
        let is_cut = bytes.len() > LARGEST;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LARGEST)]).into_owned();
        let mut parser = PatchParser::default();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.trim_end_matches('\n').len();
            parser.read_line(&text[at..end], at..end);
            at += line.len();
        }
        let (mut files, rows) = (parser.files, parser.rows);
        for file in &mut files {
            let lines = file.rows.len();
            file.is_bulky = lines > LARGE || is_generated(&file.path);
            let part = &text[file.text.clone()];
            file.digest = *blake3::hash(part.as_bytes()).as_bytes();
        }
        Self {
            text,
            files,
            rows,
            is_cut,
        }
    }

    /// Returns the lines of a file.
    pub fn rows(&self, file: &PatchFile) -> &[PatchRow] {
        &self.rows[file.rows.clone()]
    }

    /// Returns the text of a line, without its sign.
    pub fn text(&self, row: &PatchRow) -> &str {
        let text = &self.text[row.text.clone()];
        match row.kind {
            PatchRowKind::Context | PatchRowKind::Added | PatchRowKind::Removed => {
                text.get(1..).unwrap_or_default()
            }
            PatchRowKind::Hunk | PatchRowKind::Remark => text,
        }
    }

    /// Puts other rows in the place of a file's.
    fn replace_rows(&mut self, number: usize, rows: Vec<PatchRow>) {
        let Some(file) = self.files.get_mut(number) else {
            return;
        };
        let count = |kind: PatchRowKind| rows.iter().filter(|row| row.kind == kind).count();
        file.added = count(PatchRowKind::Added);
        file.removed = count(PatchRowKind::Removed);
        let start = self.rows.len();
        self.rows.extend(rows);
        file.rows = start..self.rows.len();
    }

    /// Returns how many lines are added and removed.
    pub fn totals(&self) -> (usize, usize) {
        let files = self.files.iter();
        files.fold((0, 0), |sum, file| {
            (sum.0 + file.added, sum.1 + file.removed)
        })
    }
}

#[derive(Default)]
struct PatchParser {
    files: Vec<PatchFile>,
    rows: Vec<PatchRow>,
    /// The numbers of the next line before and after the change, and how many of each the hunk still
    /// has. A line that begins with `---` inside a hunk is a removed line.
    hunk: Option<HunkPosition>,
}

struct HunkPosition {
    old: u32,
    new: u32,
    old_left: u32,
    new_left: u32,
}

impl PatchParser {
    fn read_line(&mut self, line: &str, range: Range<usize>) {
        if self.hunk.is_some() && self.read_hunk_line(line, &range) {
            self.extend_file(range.end);
            return;
        }
        if line.starts_with("diff --git ") {
            self.hunk = None;
            let at = self.rows.len();
            self.files.push(PatchFile {
                path: path_of_header(line),
                added: 0,
                removed: 0,
                is_bulky: false,
                digest: [0; 32],
                old_blob: None,
                rows: at..at,
                text: range,
            });
            return;
        }
        let Some(file) = self.files.last_mut() else {
            return;
        };
        if let Some(path) = line.strip_prefix("+++ ") {
            if let Some(path) = path_after_prefix(path) {
                file.path = path;
            }
        } else if let Some(blobs) = line.strip_prefix("index ") {
            file.old_blob = old_blob_of(blobs);
        } else if let Some(hunk) = parse_hunk(line) {
            self.hunk = Some(hunk);
            self.push(PatchRowKind::Hunk, None, None, range.clone());
        } else if !line.starts_with("--- ") && !line.is_empty() {
            self.push(PatchRowKind::Remark, None, None, range.clone());
        }
        self.extend_file(range.end);
    }

    /// Reads a line of the hunk; returns false if it is none.
    fn read_hunk_line(&mut self, line: &str, range: &Range<usize>) -> bool {
        let Some(hunk) = &mut self.hunk else {
            return false;
        };
        if line.starts_with('\\') {
            self.push(PatchRowKind::Remark, None, None, range.clone());
            return true;
        }
        if hunk.old_left == 0 && hunk.new_left == 0 {
            self.hunk = None;
            return false;
        }
        let (kind, takes_old, takes_new) = match line.as_bytes().first() {
            Some(b'+') => (PatchRowKind::Added, false, true),
            Some(b'-') => (PatchRowKind::Removed, true, false),
            _ => (PatchRowKind::Context, true, true),
        };
        let old = takes_old.then_some(hunk.old);
        let new = takes_new.then_some(hunk.new);
        hunk.old += u32::from(takes_old);
        hunk.new += u32::from(takes_new);
        hunk.old_left = hunk.old_left.saturating_sub(u32::from(takes_old));
        hunk.new_left = hunk.new_left.saturating_sub(u32::from(takes_new));
        if let Some(file) = self.files.last_mut() {
            file.added += usize::from(kind == PatchRowKind::Added);
            file.removed += usize::from(kind == PatchRowKind::Removed);
        }
        self.push(kind, old, new, range.clone());
        true
    }

    fn push(&mut self, kind: PatchRowKind, old: Option<u32>, new: Option<u32>, text: Range<usize>) {
        self.rows.push(PatchRow {
            kind,
            old,
            new,
            text,
        });
        let end = self.rows.len();
        if let Some(file) = self.files.last_mut() {
            file.rows.end = end;
        }
    }

    fn extend_file(&mut self, end: usize) {
        if let Some(file) = self.files.last_mut() {
            file.text.end = end;
        }
    }
}

/// Returns the first object in `<old>..<new> <mode>`, if there is a file before the change.
fn old_blob_of(blobs: &str) -> Option<String> {
    let (old, _) = blobs.split_once("..")?;
    let is_there = old.bytes().any(|digit| digit != b'0');
    is_there.then(|| old.to_owned())
}

/// Parses `@@ -1,2 +3,4 @@`.
fn parse_hunk(line: &str) -> Option<HunkPosition> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let numbers = |range: &str| -> Option<(u32, u32)> {
        match range.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((range.parse().ok()?, 1)),
        }
    };
    let ((old, old_left), (new, new_left)) = (numbers(old)?, numbers(new)?);
    Some(HunkPosition {
        old,
        new,
        old_left,
        new_left,
    })
}

/// Returns the path in `diff --git a/x b/x`. Where the two differ, a later line says it.
fn path_of_header(line: &str) -> String {
    let rest = line.trim_start_matches("diff --git ");
    let second = rest.rfind(" b/").map(|at| &rest[at + 1..]);
    let second = second.or_else(|| rest.rfind(" \"b/").map(|at| &rest[at + 1..]));
    second
        .and_then(path_after_prefix)
        .unwrap_or_else(|| rest.to_owned())
}

/// Returns the path after `a/` or `b/`; `None` for `/dev/null`.
fn path_after_prefix(path: &str) -> Option<String> {
    let path = path.trim_end_matches('\t');
    let path = match path.strip_prefix('"') {
        Some(quoted) => unquote(quoted.strip_suffix('"').unwrap_or(quoted)),
        None => path.to_owned(),
    };
    let rest = path.strip_prefix("b/").or_else(|| path.strip_prefix("a/"));
    rest.map(str::to_owned)
}

/// Takes back git's quoting of a path with unusual characters: `\"`, `\t`, `\303\274`.
fn unquote(quoted: &str) -> String {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut code = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(digit) = rest.next_if(|next| matches!(next, b'0'..=b'7')) else {
                        break;
                    };
                    code = code * 8 + u32::from(digit - b'0');
                }
                bytes.extend(u8::try_from(code));
            }
            Some(letter) => bytes.push(match letter {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                other => other,
            }),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns true for files that programs write.
fn is_generated(path: &str) -> bool {
    const NAMES: [&str; 9] = [
        "Cargo.lock",
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "uv.lock",
        "go.sum",
        "composer.lock",
        "Gemfile.lock",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_snapshot = Path::new(name).extension() == Some("snap".as_ref());
    NAMES.contains(&name) || name.contains(".min.") || is_snapshot
}

/// Returns the lines of a file in the order in which they are listed, each with the removed line to
/// the left of it. The first line that a block removes stands beside the first one that it adds, and
/// so on; what is left over stands alone.
pub fn order_lines(kinds: &[PatchRowKind], is_paired: bool) -> Vec<(usize, Option<usize>)> {
    if !is_paired {
        return (0..kinds.len()).map(|at| (at, None)).collect();
    }
    let run_length = |from: usize, kind: PatchRowKind| {
        kinds[from..]
            .iter()
            .take_while(|other| **other == kind)
            .count()
    };
    let mut order = Vec::with_capacity(kinds.len());
    let mut at = 0;
    while at < kinds.len() {
        let removed = run_length(at, PatchRowKind::Removed);
        if removed == 0 {
            order.push((at, None));
            at += 1;
            continue;
        }
        let added = run_length(at + removed, PatchRowKind::Added);
        for position in 0..removed.max(added) {
            let (old, new) = (at + position, at + removed + position);
            order.push(match (position < removed, position < added) {
                (true, true) => (new, Some(old)),
                (true, false) => (old, None),
                _ => (new, None),
            });
        }
        at += removed + added;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,2 +3,3 @@ fn a()\n one\n--- two\n+++ two\n+three\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\ndiff --git a/Cargo.lock b/Cargo.lock\n--- a/Cargo.lock\n+++ b/Cargo.lock\n@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn a_patch_is_cut_into_files_and_lines() {
        let patch = PatchDocument::parse(PATCH.as_bytes());
        let files = patch.files.iter();
        let files: Vec<_> = files
            .map(|f| (f.path.as_str(), f.added, f.removed, f.is_bulky))
            .collect();
        assert_eq!(
            files,
            [
                ("src/a.rs", 2, 1, false),
                ("gone", 0, 1, false),
                ("Cargo.lock", 1, 1, true)
            ]
        );
        let rows: Vec<_> = patch
            .rows(&patch.files[0])
            .iter()
            .map(|row| (row.kind, row.old, row.new, patch.text(row)))
            .collect();
        assert_eq!(
            rows,
            [
                (PatchRowKind::Hunk, None, None, "@@ -3,2 +3,3 @@ fn a()"),
                (PatchRowKind::Context, Some(3), Some(3), "one"),
                (PatchRowKind::Removed, Some(4), None, "-- two"),
                (PatchRowKind::Added, None, Some(4), "++ two"),
                (PatchRowKind::Added, None, Some(5), "three"),
            ]
        );
        assert_eq!(patch.totals(), (3, 3));
        assert_ne!(patch.files[0].digest, patch.files[1].digest);
    }

    #[test]
    fn a_quoted_path_is_the_path_itself() {
        let patch = "diff --git \"a/\\303\\274 \\\"x\\\".md\" \"b/\\303\\274 \\\"x\\\".md\"\n--- \"a/\\303\\274 \\\"x\\\".md\"\n+++ \"b/\\303\\274 \\\"x\\\".md\"\n@@ -1 +1 @@\n-a\n+b\n";
        let patch = PatchDocument::parse(patch.as_bytes());
        assert_eq!(patch.files[0].path, "ü \"x\".md");
    }

    #[test]
    fn what_is_no_patch_has_no_files() {
        assert!(PatchDocument::parse(b"").files.is_empty());
        assert!(
            PatchDocument::parse(b"@@ nonsense\n+x\n\xff")
                .files
                .is_empty()
        );
    }

    fn order(signs: &str) -> Vec<(usize, Option<usize>)> {
        let kinds: Vec<PatchRowKind> = signs
            .chars()
            .map(|sign| match sign {
                '+' => PatchRowKind::Added,
                '-' => PatchRowKind::Removed,
                '@' => PatchRowKind::Hunk,
                _ => PatchRowKind::Context,
            })
            .collect();
        order_lines(&kinds, true)
    }

    #[test]
    fn removed_lines_stand_beside_those_in_their_place() {
        assert_eq!(order("@ -+"), [(0, None), (1, None), (3, Some(2))]);
        assert_eq!(order("--+"), [(2, Some(0)), (1, None)]);
        assert_eq!(order("-++"), [(1, Some(0)), (2, None)]);
        assert_eq!(order("- +"), [(0, None), (1, None), (2, None)]);
        assert_eq!(order("+-"), [(0, None), (1, None)]);
        assert_eq!(order(""), []);
    }
}
