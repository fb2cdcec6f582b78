//! Separates the tests of Rust that are in the files of what they test: a file as it was before a
//! change, with the tests that it has now.

use std::ops::Range;

use codeteam_context::language::Language;
use codeteam_context::outline::parse_source;

use crate::change::ChangedFile;

/// A file as it was, with the tests that it has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineTests {
    /// The file.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What becomes of a changed file whose tests are in it.
pub(super) enum InlineSeparation {
    /// The tests can be run on the old code.
    Separate(InlineTests),
    /// Nothing but the tests has changed.
    OnlyTests,
    /// The tests cannot be told apart from the code, or the code is new.
    Impossible,
}

/// Puts the tests of the new version of a file in the place of those of the old one.
pub(super) fn separate_tests(file: &ChangedFile) -> InlineSeparation {
    let is_rust = Language::from_path(&file.path) == Some(Language::Rust);
    let (Some(before), Some(after)) = (file.before.text(), file.after.text()) else {
        return InlineSeparation::Impossible;
    };
    let ranges = Some(()).filter(|()| is_rust);
    let ranges = ranges.and_then(|()| Some((test_ranges(before)?, test_ranges(after)?)));
    let Some((old, new)) = ranges else {
        return InlineSeparation::Impossible;
    };
    // A test elsewhere, in a nested module for example, stays where it is.
    let is_inside = |number: u32| {
        let at = line_start(after, number);
        new.iter().any(|range| range.contains(&at))
    };
    let marks = file.added.iter().filter(|line| line.text.contains("test]"));
    let mut marks = marks.peekable();
    if new.is_empty() || marks.any(|line| !is_inside(line.number)) {
        return InlineSeparation::Impossible;
    }
    let code = without(before, &old);
    if code
        .split_whitespace()
        .eq(without(after, &new).split_whitespace())
    {
        return InlineSeparation::OnlyTests;
    }
    let tests: Vec<&str> = new.iter().map(|range| &after[range.clone()]).collect();
    InlineSeparation::Separate(InlineTests {
        path: file.path.clone(),
        text: format!("{}\n{}\n", code.trim_end(), tests.join("\n")),
    })
}

/// Returns the ranges of the top-level items that are only compiled for tests, with their
/// attributes; `None` if the text cannot be understood.
fn test_ranges(text: &str) -> Option<Vec<Range<usize>>> {
    let tree = parse_source(text, Language::Rust)?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut ranges = Vec::new();
    let mut begin = None;
    let mut is_test = false;
    let mut cursor = root.walk();
    for item in root.named_children(&mut cursor) {
        match item.kind() {
            "attribute_item" => {
                let attribute = &text[item.byte_range()];
                begin.get_or_insert(item.start_byte());
                is_test |= attribute.contains("cfg(test)") || attribute.contains("test]");
            }
            // Comments may stand between an attribute and its item.
            "line_comment" | "block_comment" => {}
            kind => {
                let start = begin.take().unwrap_or(item.start_byte());
                if is_test && matches!(kind, "mod_item" | "function_item") {
                    ranges.push(start..item.end_byte());
                }
                is_test = false;
            }
        }
    }
    Some(ranges)
}

fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        rest.push_str(&text[at..range.start]);
        at = range.end;
    }
    rest + &text[at..]
}

/// Returns where the first word of a line begins.
fn line_start(text: &str, number: u32) -> usize {
    let before = text
        .split_inclusive('\n')
        .take((number as usize).saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let line = text[start..].split('\n').next().unwrap_or_default();
    start + (line.len() - line.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::ChangeSet;

    fn separate(before: &str, after: &str) -> Result<String, &'static str> {
        let change = ChangeSet::between_texts(&[("src/a.rs", Some(before), Some(after))]);
        match separate_tests(&change.files[0]) {
            InlineSeparation::Separate(tests) => Ok(tests.text),
            InlineSeparation::OnlyTests => Err("only tests"),
            InlineSeparation::Impossible => Err("impossible"),
        }
    }

    const BEFORE: &str = "fn a() -> u32 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}\n\nfn b() {}\n";

    #[test]
    fn old_code_is_put_together_with_new_tests() {
        let after = "fn a() -> u32 { 2 }\n\nfn b() {}\n\n#[cfg(test)]\n#[allow(unused)]\nmod tests {\n    #[test]\n    fn old() {}\n    #[test]\n    fn new() { assert_eq!(super::a(), 2); }\n}\n";
        let expected = "fn a() -> u32 { 1 }\n\n\n\nfn b() {}\n#[cfg(test)]\n#[allow(unused)]\nmod tests {\n    #[test]\n    fn old() {}\n    #[test]\n    fn new() { assert_eq!(super::a(), 2); }\n}\n";
        assert_eq!(separate(BEFORE, after).unwrap(), expected);
        let first = separate("fn a() {}\n", "fn a() { b() }\n#[test]\nfn new() {}\n");
        assert_eq!(first.unwrap(), "fn a() {}\n#[test]\nfn new() {}\n");
    }

    #[test]
    fn what_cannot_be_told_apart_stays_together() {
        let more = BEFORE.replace("fn old() {}", "fn old() {}\n    #[test]\n    fn new() {}");
        assert_eq!(separate(BEFORE, &more), Err("only tests"));
        for after in [
            "mod inner {\n    #[test]\n    fn nested() {}\n}\nfn a() {}\n",
            "fn a( {\n#[test]\nfn x() {}\n",
            "fn a() -> u32 { 2 }\n",
        ] {
            assert_eq!(separate(BEFORE, after), Err("impossible"), "{after}");
        }
    }
}
