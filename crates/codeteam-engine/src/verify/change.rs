//! A change as it is looked at: each file before and after, and the lines that came and went.

use std::collections::{BTreeMap, HashMap};

use codeteam_context::quoted::unquote;

/// A longer file is not looked into.
pub const LONGEST: usize = 2 << 20;
/// Nor is more of one change, both ends of all files together.
pub const MOST: usize = 32 << 20;

/// The difference between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The files that differ, in the order of their paths.
    pub files: Vec<ChangedFile>,
}

/// A file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where it is, with `/`.
    pub path: String,
    /// What it was.
    pub before: FileVersion,
    /// What it is.
    pub after: FileVersion,
    /// Lines that came, with their numbers after.
    pub added: Vec<SourceLine>,
    /// Lines that went, with their numbers before.
    pub removed: Vec<SourceLine>,
}

/// A file at one end of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileVersion {
    /// It is not there.
    #[default]
    Absent,
    /// A text.
    Text(String),
    /// Bytes that are no text, as far as they can be read as one: another encoding, or some text with
    /// bytes in it that keep programs from showing it.
    Bytes(String),
    /// Too long to be looked into, by itself or with the rest of the change.
    Long,
    /// Something else: a link, or another repository's commit.
    Other,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// From 1.
    pub number: u32,
    /// What it says, without its end.
    pub text: String,
}

impl FileVersion {
    /// What the bytes of a file are.
    pub fn of(bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Absent,
            Some(bytes) if bytes.len() > LONGEST => Self::Long,
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !bytes.contains(&0) => Self::Text(text.to_owned()),
                _ => Self::Bytes(legible(bytes)),
            },
        }
    }

    /// Its text, if it can be read as one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Bytes(text) => Some(text),
            Self::Absent | Self::Long | Self::Other => None,
        }
    }

    /// Whether there is a file at all.
    pub fn is_there(&self) -> bool {
        *self != Self::Absent
    }
}

impl ChangedFile {
    /// Whether the file is new.
    pub fn is_new(&self) -> bool {
        !self.before.is_there() && self.after.is_there()
    }

    /// Whether the file is gone.
    pub fn is_gone(&self) -> bool {
        self.before.is_there() && !self.after.is_there()
    }
}

impl ChangeSet {
    /// A change from the files that differ, each with its two ends, and the patch.
    pub fn new(
        files: impl IntoIterator<Item = (String, FileVersion, FileVersion)>,
        patch: &[u8],
    ) -> Self {
        let mut lines = hunks(patch);
        let mut files: Vec<ChangedFile> = files
            .into_iter()
            .map(|(path, before, after)| {
                let (added, removed) = lines.remove(&path).unwrap_or_else(|| {
                    // Git has no lines of what it takes for bytes, and none of what only changed
                    // its mode. A byte more must not hide a file.
                    let of = |side: &FileVersion| side.text().unwrap_or_default().to_owned();
                    between(&of(&before), &of(&after))
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

    /// A file of it.
    pub fn file(&self, path: &str) -> Option<&ChangedFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path));
        self.files.get(at.ok()?)
    }

    /// A change between texts, for tests: what came and what went is found line by line.
    #[cfg(test)]
    pub(crate) fn between(files: &[(&str, Option<&str>, Option<&str>)]) -> Self {
        let side = |text: Option<&str>| FileVersion::of(text.map(str::as_bytes));
        let files = files
            .iter()
            .map(|(path, before, after)| ((*path).to_owned(), side(*before), side(*after)));
        Self::new(files, b"")
    }
}

/// Bytes as a text: in two bytes a letter if they look like it, and with a sign for what is none.
fn legible(bytes: &[u8]) -> String {
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

/// The lines of one text that are not in the other, as often as they are not, both ways.
fn between(before: &str, after: &str) -> ChangedLines {
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

/// Lines that came and lines that went.
type ChangedLines = (Vec<SourceLine>, Vec<SourceLine>);

/// The lines of a patch, by the path of their file.
pub fn hunks(bytes: &[u8]) -> BTreeMap<String, ChangedLines> {
    let mut found: BTreeMap<String, ChangedLines> = BTreeMap::new();
    let (mut earlier, mut file) = (String::new(), String::new());
    // What the hunk has left of either side, and where it stands there.
    let (mut left, mut right) = ((0_u32, 0_u32), (0_u32, 0_u32));
    for line in bytes.split(|byte| *byte == b'\n') {
        if left.0 > 0 || right.0 > 0 {
            let (sign, rest) = match line.split_first() {
                Some((sign, text)) => (*sign, text),
                // Some programs leave the space of an empty line out.
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
            earlier = named(name);
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            file = match named(name) {
                none if none.is_empty() => earlier.clone(),
                name => name,
            };
        } else if let Some((from, to)) = ranges(line) {
            (left, right) = (from, to);
        }
    }
    found
}

fn step(side: &mut (u32, u32)) {
    side.0 = side.0.saturating_sub(1);
    side.1 += 1;
}

/// `a/path` or `b/path`, quoted or not; nothing for `/dev/null`.
fn named(name: &[u8]) -> String {
    // A name with a space in it has a tab after it.
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

/// `@@ -from,count +from,count @@`: how many lines of either side, and the first one's number.
fn ranges(line: &[u8]) -> Option<((u32, u32), (u32, u32))> {
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
        let found = hunks(patch);
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
        assert_eq!(FileVersion::of(None), FileVersion::Absent);
        assert_eq!(
            FileVersion::of(Some(b"a\n")),
            FileVersion::Text("a\n".to_owned())
        );
        assert_eq!(
            FileVersion::of(Some(b"a\0b")),
            FileVersion::Bytes("a\u{fffd}b".to_owned())
        );
        assert_eq!(
            FileVersion::of(Some(b"\xe4b")),
            FileVersion::Bytes("\u{fffd}b".to_owned())
        );
        let wide = |text: &str, turn: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(turn).collect()
        };
        for turn in [u16::to_le_bytes, u16::to_be_bytes] {
            for text in ["\u{feff}key = 1\n", "key = 1234567\n"] {
                let side = FileVersion::of(Some(&wide(text, turn)));
                assert_eq!(side.text(), Some(text.trim_start_matches('\u{feff}')));
            }
        }
        assert_eq!(
            FileVersion::of(Some(&vec![b'a'; LONGEST + 1])),
            FileVersion::Long
        );
    }

    #[test]
    fn a_byte_more_hides_no_lines() {
        let file = |text: &str| FileVersion::of(Some(text.as_bytes()));
        let files = [("a.js".to_owned(), file("a\nb\n"), file("a\n\0c\nb\nb\n"))];
        // Git says `Binary files differ`.
        let change = ChangeSet::new(files, b"diff --git a/a.js b/a.js\n");
        let numbers: Vec<u32> = change.files[0].added.iter().map(|l| l.number).collect();
        assert_eq!(numbers, [2, 4]);
        assert_eq!(change.files[0].removed, []);
    }
}
