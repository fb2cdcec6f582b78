//! A change as the rules see it: each file before and after, with the added and the removed lines.

use std::collections::{BTreeMap, HashMap};

use codeteam_context::quoted::unquote;

/// The largest file that is inspected.
pub const LONGEST: usize = 2 << 20;
/// The most bytes of one change that are inspected, both versions of all files together.
pub const MOST: usize = 32 << 20;

/// The difference between two trees; the input of every rule in this crate.
///
/// Create it with [`ChangeSet::new`], from both versions of each file that differs and the patch
/// that git wrote. The patch provides the added and removed lines. Where it has none, because git
/// takes the file for binary or only the mode changed, the lines are computed from the two
/// versions: a stray byte must not hide a file from the rules.
///
/// Invariants: the files are sorted by path, which [`ChangeSet::file`] relies on. Line numbers
/// start at 1; those of added lines refer to the new version, those of removed lines to the old
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The files that differ, sorted by path.
    pub files: Vec<ChangedFile>,
}

/// A file that differs between the two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path from the root, with `/` as separator.
    pub path: String,
    /// The old version.
    pub before: FileVersion,
    /// The new version.
    pub after: FileVersion,
    /// The added lines, with their numbers in the new version.
    pub added: Vec<SourceLine>,
    /// The removed lines, with their numbers in the old version.
    pub removed: Vec<SourceLine>,
}

/// One version of a file in a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileVersion {
    /// The file does not exist.
    #[default]
    Absent,
    /// The file is UTF-8 text.
    Text(String),
    /// The file is not valid text; this is what can be decoded of it. It may have another encoding,
    /// or be a text with some bytes in it that keep programs from showing it.
    Bytes(String),
    /// The file is too long to inspect, by itself or together with the rest of the change.
    Long,
    /// Something other than a regular file: a link, or a commit of another repository.
    Other,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The line number, from 1.
    pub number: u32,
    /// The text without the line break.
    pub text: String,
}

impl FileVersion {
    /// Classifies the bytes of a file.
    pub fn from_bytes(bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Absent,
            Some(bytes) if bytes.len() > LONGEST => Self::Long,
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !bytes.contains(&0) => Self::Text(text.to_owned()),
                _ => Self::Bytes(decode_text(bytes)),
            },
        }
    }

    /// Returns the text, if the file can be read as text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Bytes(text) => Some(text),
            Self::Absent | Self::Long | Self::Other => None,
        }
    }

    /// Returns true if the file exists in this version.
    pub fn exists(&self) -> bool {
        *self != Self::Absent
    }
}

impl ChangedFile {
    /// Returns true if the change creates the file.
    pub fn is_new(&self) -> bool {
        !self.before.exists() && self.after.exists()
    }

    /// Returns true if the change deletes the file.
    pub fn is_deleted(&self) -> bool {
        self.before.exists() && !self.after.exists()
    }
}

impl ChangeSet {
    /// Creates a change from both versions of the files that differ, and the patch.
    pub fn new(
        files: impl IntoIterator<Item = (String, FileVersion, FileVersion)>,
        patch: &[u8],
    ) -> Self {
        let mut lines = parse_hunks(patch);
        let mut files: Vec<ChangedFile> = files
            .into_iter()
            .map(|(path, before, after)| {
                let (added, removed) = lines.remove(&path).unwrap_or_else(|| {
                    // Git shows no lines for files that it takes for binary, nor for a mode change.
                    // An extra byte must not hide a file.
                    let of = |side: &FileVersion| side.text().unwrap_or_default().to_owned();
                    diff_texts(&of(&before), &of(&after))
                });
                ChangedFile {
                    path,
                    before,
                    after,
                    added,
                    removed,
                }
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// Returns the file with this path, if the change touches it.
    pub fn file(&self, path: &str) -> Option<&ChangedFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path));
        self.files.get(at.ok()?)
    }

    /// Creates a change between texts, for tests. The changed lines are computed line by line.
    #[cfg(test)]
    pub(crate) fn between_texts(files: &[(&str, Option<&str>, Option<&str>)]) -> Self {
        let side = |text: Option<&str>| FileVersion::from_bytes(text.map(str::as_bytes));
        let files = files
            .iter()
            .map(|(path, before, after)| ((*path).to_owned(), side(*before), side(*after)));
        Self::new(files, b"")
    }
}

/// Decodes bytes as text: as UTF-16 if they look like it, otherwise as UTF-8 with replacement
/// characters.
fn decode_text(bytes: &[u8]) -> String {
    let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let none_at = |odd: usize| {
        bytes
            .iter()
            .skip(odd)
            .step_by(2)
            .filter(|b| **b == 0)
            .count()
    };
    let (even, odd) = (none_at(0), none_at(1));
    let most = bytes.len() / 2;
    if is_wide || (most > 4 && even.max(odd) * 10 > most * 4 && even.min(odd) * 10 < most) {
        let big = bytes.starts_with(&[0xfe, 0xff]) || (!is_wide && even > odd);
        let pairs = bytes.chunks_exact(2).map(|pair| match (pair, big) {
            ([a, b], true) => u16::from_be_bytes([*a, *b]),
            ([a, b], false) => u16::from_le_bytes([*a, *b]),
            _ => 0,
        });
        let text: String = char::decode_utf16(pairs)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        return text.trim_start_matches('\u{feff}').to_owned();
    }
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// Returns the lines that only one of the two texts has, for both. A line that occurs more often on
/// one side counts that many times.
fn diff_texts(before: &str, after: &str) -> ChangedLines {
    let only_in = |one: &str, other: &str| {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for line in other.lines() {
            *left.entry(line).or_default() += 1;
        }
        let mut found = Vec::new();
        for (number, text) in (1..).zip(one.lines()) {
            match left.get_mut(text) {
                Some(count) if *count > 0 => *count -= 1,
                _ => found.push(SourceLine {
                    number,
                    text: text.to_owned(),
                }),
            }
        }
        found
    };
    if before == after {
        return ChangedLines::default();
    }
    (only_in(after, before), only_in(before, after))
}

/// The added and the removed lines.
type ChangedLines = (Vec<SourceLine>, Vec<SourceLine>);

/// Extracts the changed lines of a patch, by file path.
pub(crate) fn parse_hunks(bytes: &[u8]) -> BTreeMap<String, ChangedLines> {
    let mut found: BTreeMap<String, ChangedLines> = BTreeMap::new();
    let (mut earlier, mut file) = (String::new(), String::new());
    // For each side of the hunk: the number of remaining lines, and the current line number.
    let (mut left, mut right) = ((0_u32, 0_u32), (0_u32, 0_u32));
    for line in bytes.split(|byte| *byte == b'\n') {
        if left.0 > 0 || right.0 > 0 {
            let (sign, rest) = match line.split_first() {
                Some((sign, text)) => (*sign, text),
                // Some programs omit the space of an empty context line.
                None => (b' ', line),
            };
            let entry = found.entry(file.clone()).or_default();
            let text = || {
                String::from_utf8_lossy(rest)
                    .trim_end_matches('\r')
                    .to_owned()
            };
            match sign {
                b'+' => {
                    let (number, text) = (right.1, text());
                    entry.0.push(SourceLine { number, text });
                    step(&mut right);
                }
                b'-' => {
                    let (number, text) = (left.1, text());
                    entry.1.push(SourceLine { number, text });
                    step(&mut left);
                }
                b'\\' => {}
                _ => {
                    step(&mut left);
                    step(&mut right);
                }
            }
            continue;
        }
        if line.starts_with(b"diff --git ") {
            (earlier, file) = (String::new(), String::new());
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            earlier = parse_path(name);
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            file = match parse_path(name) {
                none if none.is_empty() => earlier.clone(),
                name => name,
            };
        } else if let Some((from, to)) = parse_ranges(line) {
            (left, right) = (from, to);
        }
    }
    found
}

fn step(side: &mut (u32, u32)) {
    side.0 = side.0.saturating_sub(1);
    side.1 += 1;
}

/// Parses `a/path` or `b/path`, quoted or not; returns an empty string for `/dev/null`.
fn parse_path(name: &[u8]) -> String {
    // Git appends a tab to a name that contains a space.
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    if name == b"/dev/null" {
        return String::new();
    }
    let name = unquote(name);
    let name = String::from_utf8_lossy(&name).into_owned();
    match name.get(2..) {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// Parses `@@ -from,count +from,count @@` into the line count and the first line number of each
/// side.
fn parse_ranges(line: &[u8]) -> Option<((u32, u32), (u32, u32))> {
    let text = std::str::from_utf8(line.strip_prefix(b"@@ -")?).ok()?;
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (from, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((count.parse().ok()?, from.parse().ok()?))
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_read_line_by_line_whatever_its_lines_look_like() {
        let patch = b"diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n\
            @@ -2,3 +2,4 @@ def f():\n kept\n-gone\n+++ b/not-a-name\n+diff --git a/y b/y\n kept\n\
            \\ No newline at end of file\n\
            diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n\
            @@ -1 +0,0 @@\n-last\n\
            diff --git \"a/\\303\\244 b\" \"b/\\303\\244 b\"\n--- /dev/null\n+++ \"b/\\303\\244 b\"\t\n\
            @@ -0,0 +1 @@\n+first\n";
        let found = parse_hunks(patch);
        let line = |number, text: &str| SourceLine {
            number,
            text: text.to_owned(),
        };
        let (added, removed) = &found["x.py"];
        assert_eq!(
            *added,
            [line(3, "++ b/not-a-name"), line(4, "diff --git a/y b/y")]
        );
        assert_eq!(*removed, [line(3, "gone")]);
        assert_eq!(found["gone"], (vec![], vec![line(1, "last")]));
        assert_eq!(found["ä b"], (vec![line(1, "first")], vec![]));
    }

    #[test]
    fn what_is_no_text_is_read_as_far_as_it_can_be() {
        assert_eq!(FileVersion::from_bytes(None), FileVersion::Absent);
        assert_eq!(
            FileVersion::from_bytes(Some(b"a\n")),
            FileVersion::Text("a\n".to_owned())
        );
        assert_eq!(
            FileVersion::from_bytes(Some(b"a\0b")),
            FileVersion::Bytes("a\u{fffd}b".to_owned())
        );
        assert_eq!(
            FileVersion::from_bytes(Some(b"\xe4b")),
            FileVersion::Bytes("\u{fffd}b".to_owned())
        );
        let wide = |text: &str, turn: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(turn).collect()
        };
        for turn in [u16::to_le_bytes, u16::to_be_bytes] {
            for text in ["\u{feff}key = 1\n", "key = 1234567\n"] {
                let side = FileVersion::from_bytes(Some(&wide(text, turn)));
                assert_eq!(side.text(), Some(text.trim_start_matches('\u{feff}')));
            }
        }
        assert_eq!(
            FileVersion::from_bytes(Some(&vec![b'a'; LONGEST + 1])),
            FileVersion::Long
        );
    }

    #[test]
    fn a_byte_more_hides_no_lines() {
        let file = |text: &str| FileVersion::from_bytes(Some(text.as_bytes()));
        let files = [("a.js".to_owned(), file("a\nb\n"), file("a\n\0c\nb\nb\n"))];
        // Git says `Binary files differ`.
        let change = ChangeSet::new(files, b"diff --git a/a.js b/a.js\n");
        let numbers: Vec<u32> = change.files[0].added.iter().map(|l| l.number).collect();
        assert_eq!(numbers, [2, 4]);
        assert_eq!(change.files[0].removed, []);
    }
}
