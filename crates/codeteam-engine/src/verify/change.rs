//! A change as it is looked at: each file before and after, and the lines that came and went.

use std::collections::BTreeMap;

use codeteam_context::quoted::unquote;

/// A longer file is not looked into.
pub const LONGEST: usize = 2 << 20;

/// The difference between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The files that differ, in the order of their paths.
    pub files: Vec<Changed>,
}

/// A file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Where it is, with `/`.
    pub path: String,
    /// What it was.
    pub before: Side,
    /// What it is.
    pub after: Side,
    /// Lines that came, with their numbers after.
    pub added: Vec<Line>,
    /// Lines that went, with their numbers before.
    pub removed: Vec<Line>,
}

/// A file at one end of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// It is not there.
    #[default]
    Absent,
    /// A text.
    Text(String),
    /// Something else: bytes, a link, or too long to be looked into.
    Other,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: u32,
    /// What it says, without its end.
    pub text: String,
}

impl Side {
    /// What the bytes of a file are.
    pub fn of(bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Absent,
            Some(bytes) if bytes.len() > LONGEST || bytes.contains(&0) => Self::Other,
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::Other,
            },
        }
    }

    /// Its text, if it has one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Other => None,
        }
    }

    /// Whether there is a file at all.
    pub fn is_there(&self) -> bool {
        *self != Self::Absent
    }
}

impl Changed {
    /// Whether the file is new.
    pub fn is_new(&self) -> bool {
        !self.before.is_there() && self.after.is_there()
    }

    /// Whether the file is gone.
    pub fn is_gone(&self) -> bool {
        self.before.is_there() && !self.after.is_there()
    }
}

impl Change {
    /// A change from the files that differ, each with its two ends, and the patch.
    pub fn new(files: impl IntoIterator<Item = (String, Side, Side)>, patch: &[u8]) -> Self {
        let mut lines = hunks(patch);
        let mut files: Vec<Changed> = files
            .into_iter()
            .map(|(path, before, after)| {
                let (added, removed) = lines.remove(&path).unwrap_or_default();
                Changed {
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
    pub fn file(&self, path: &str) -> Option<&Changed> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path));
        self.files.get(at.ok()?)
    }

    /// A change between texts, for tests: what came and what went is found line by line.
    #[cfg(test)]
    pub(crate) fn between(files: &[(&str, Option<&str>, Option<&str>)]) -> Self {
        let side = |text: Option<&str>| text.map_or(Side::Absent, |t| Side::Text(t.to_owned()));
        let mut files: Vec<Changed> = files
            .iter()
            .map(|(path, before, after)| {
                let old: Vec<&str> = before.unwrap_or_default().lines().collect();
                let new: Vec<&str> = after.unwrap_or_default().lines().collect();
                Changed {
                    path: (*path).to_owned(),
                    before: side(*before),
                    after: side(*after),
                    added: only_in(&new, &old),
                    removed: only_in(&old, &new),
                }
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }
}

/// The lines of one text that are not in the other, as often as they are not.
#[cfg(test)]
fn only_in(one: &[&str], other: &[&str]) -> Vec<Line> {
    let mut left: Vec<&str> = other.to_vec();
    let mut found = Vec::new();
    for (number, text) in (1..).zip(one) {
        match left.iter().position(|line| line == text) {
            Some(at) => {
                left.remove(at);
            }
            None => found.push(Line {
                number,
                text: (*text).to_owned(),
            }),
        }
    }
    found
}

/// Lines that came and lines that went.
type Lines = (Vec<Line>, Vec<Line>);

/// The lines of a patch, by the path of their file.
pub fn hunks(bytes: &[u8]) -> BTreeMap<String, Lines> {
    let mut found: BTreeMap<String, Lines> = BTreeMap::new();
    let (mut earlier, mut path) = (String::new(), String::new());
    // What the hunk has left of either side, and where it stands there.
    let (mut left, mut right) = ((0_u32, 0_u32), (0_u32, 0_u32));
    for line in bytes.split(|byte| *byte == b'\n') {
        if left.0 > 0 || right.0 > 0 {
            let (sign, rest) = match line.split_first() {
                Some((sign, text)) => (*sign, text),
                // Some programs leave the space of an empty line out.
                None => (b' ', line),
            };
            let entry = found.entry(path.clone()).or_default();
            let text = || {
                String::from_utf8_lossy(rest)
                    .trim_end_matches('\r')
                    .to_owned()
            };
            match sign {
                b'+' => {
                    let (number, text) = (right.1, text());
                    entry.0.push(Line { number, text });
                    step(&mut right);
                }
                b'-' => {
                    let (number, text) = (left.1, text());
                    entry.1.push(Line { number, text });
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
            (earlier, path) = (String::new(), String::new());
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            earlier = named(name);
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            path = match named(name) {
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
        let line = |number, text: &str| Line {
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
    fn what_is_no_text_is_not_looked_into() {
        assert_eq!(Side::of(None), Side::Absent);
        assert_eq!(Side::of(Some(b"a\0b")), Side::Other);
        assert_eq!(Side::of(Some(&[0xff, 0xfe])), Side::Other);
        assert_eq!(Side::of(Some(b"a\n")).text(), Some("a\n"));
    }
}
