//! Measures the length of the files and functions that a change touches.
//!
//! What exceeded the limit before may stay but may not grow: somebody who sets a limit for an old
//! project does not have to fix all of it first.

use std::collections::{HashMap, HashSet};

use codeteam_context::language::Language;
use codeteam_context::outline::{Outline, outline};
use codeteam_core::checks::CheckMeasure;

use super::CheckFindings;
use super::change::{ChangeSet, ChangedFile, FileVersion};
use super::source::{is_generated, is_source};

/// Measures every new or changed source file.
pub fn file_lines(change: &ChangeSet, max: u64) -> CheckFindings {
    let mut found = CheckFindings::default();
    for file in &change.files {
        let Some(text) = measurable_text(file) else {
            continue;
        };
        let path = &file.path;
        let lines = count_lines(text);
        let before = match &file.before {
            FileVersion::Text(before) => Some(count_lines(before)),
            _ if lines > max => moved_from(text, change),
            _ => None,
        };
        let grown = lines > max && before.is_none_or(|before| lines > before);
        found.measures.push(CheckMeasure {
            of: format!("File Length ({path})"),
            passed: !grown,
            found: format!("{lines}/{max} lines"),
        });
        if grown {
            let was = before_text(before);
            found.failures.push(format!(
                "{path}:{}: the file has {lines} lines, the limit is {max}{was}; move parts of it \
                 into files of their own",
                max + 1
            ));
        } else if lines > max {
            found.notes.push(format!(
                "{path}: {lines} lines, above the limit of {max} as before"
            ));
        }
    }
    found
}

/// Measures every new or changed function of the changed files.
pub fn function_lines(change: &ChangeSet, max: u64) -> CheckFindings {
    let mut found = CheckFindings::default();
    let mut known: Option<EarlierFunctions> = None;
    for file in &change.files {
        let Some((text, language)) = measurable_text(file).zip(Language::from_path(&file.path))
        else {
            continue;
        };
        // Read all earlier functions once, because functions move from file to file.
        let known = known.get_or_insert_with(|| EarlierFunctions::read_before(change));
        let before = file.before.text().map(|text| outline(text, language));
        let before = before.as_ref().map(function_spans).unwrap_or_default();
        let after = outline(text, language);
        for (key, function) in function_spans(&after) {
            let body = unindented_lines(text, function.0, function.1);
            if known.bodies.contains(&body) {
                continue;
            }
            let lines = span_length(function);
            let earlier = before.get(&key).or_else(|| known.lengths.get(&key));
            let earlier = earlier.map(|function| span_length(*function));
            let grown = lines > max && earlier.is_none_or(|earlier| lines > earlier);
            let (path, name) = (&file.path, key.0.rsplit('.').next().unwrap_or(&key.0));
            found.measures.push(CheckMeasure {
                of: format!("Method Length ({name})"),
                passed: !grown,
                found: format!("{lines}/{max} lines"),
            });
            if grown {
                let was = before_text(earlier);
                found.failures.push(format!(
                    "{path}:{}: `{name}` has {lines} lines, the limit is {max}{was}; split it into \
                     smaller functions",
                    function.0
                ));
            } else if lines > max {
                found.notes.push(format!(
                    "{path}:{}: `{name}` has {lines} lines, above the limit of {max} as before",
                    function.0
                ));
            }
        }
    }
    found
}

/// Returns the text of a file that people write and that still exists.
fn measurable_text(file: &ChangedFile) -> Option<&str> {
    let text = file.after.text().filter(|_| is_source(&file.path))?;
    // The old version must be marked as generated: a new marker does not exempt a file.
    let was_generated = file.before.text().is_some_and(is_generated);
    (!was_generated && file.before.text() != Some(text)).then_some(text)
}

fn count_lines(text: &str) -> u64 {
    text.lines().count() as u64
}

fn before_text(before: Option<u64>) -> String {
    before.map_or_else(String::new, |before| format!(" (it had {before})"))
}

/// Returns the length of the deleted file that a new one was moved from, recognised by most of its
/// lines.
fn moved_from(text: &str, change: &ChangeSet) -> Option<u64> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let gone = change.files.iter().filter(|file| file.is_deleted());
    let mut texts = gone.filter_map(|file| file.before.text());
    texts.find_map(|before| {
        let known: HashSet<&str> = before.lines().map(str::trim).collect();
        let shared = lines.iter().filter(|line| known.contains(*line)).count();
        (2 * shared > lines.len()).then(|| count_lines(before))
    })
}

/// The first and the last line of a function.
type LineSpan = (u32, u32);
/// The name of a function, qualified with the enclosing definitions, and its index among functions
/// of that name.
type FunctionKey = (String, usize);

fn span_length(span: LineSpan) -> u64 {
    u64::from(span.1 - span.0) + 1
}

/// Returns the functions of a file in the order of the outline.
fn function_spans(outline: &Outline) -> FunctionSpans {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut functions = FunctionSpans::default();
    for function in outline.functions() {
        let mut name = function.name.clone();
        let mut inside = function.inside;
        while let Some(outer) = inside.and_then(|at| outline.definitions.get(at as usize)) {
            name = format!("{}.{name}", outer.name);
            inside = outer.inside;
        }
        let nth = seen.entry(name.clone()).or_default();
        functions
            .0
            .push(((name, *nth), (function.line, function.last_line)));
        *nth += 1;
    }
    functions
}

#[derive(Default)]
struct FunctionSpans(Vec<(FunctionKey, LineSpan)>);

impl FunctionSpans {
    fn get(&self, key: &FunctionKey) -> Option<&LineSpan> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, span)| span)
    }
}

impl IntoIterator for FunctionSpans {
    type Item = (FunctionKey, LineSpan);
    type IntoIter = std::vec::IntoIter<(FunctionKey, LineSpan)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The functions of the changed files before the change.
struct EarlierFunctions {
    /// The text of every function, without indentation.
    bodies: HashSet<String>,
    /// The positions of the functions of deleted files.
    lengths: HashMap<FunctionKey, LineSpan>,
}

impl EarlierFunctions {
    fn read_before(change: &ChangeSet) -> Self {
        let mut known = Self {
            bodies: HashSet::new(),
            lengths: HashMap::new(),
        };
        for file in &change.files {
            let (Some(text), Some(language)) =
                (file.before.text(), Language::from_path(&file.path))
            else {
                continue;
            };
            for (key, span) in function_spans(&outline(text, language)) {
                known.bodies.insert(unindented_lines(text, span.0, span.1));
                if file.is_deleted() {
                    known.lengths.insert(key, span);
                }
            }
        }
        known
    }
}

/// Returns some lines of a text without their indentation.
fn unindented_lines(text: &str, first: u32, last: u32) -> String {
    let skip = first.saturating_sub(1) as usize;
    let take = (last - first) as usize + 1;
    let lines = text.lines().skip(skip).take(take).map(str::trim);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(n: usize) -> String {
        let lines: Vec<String> = (0..n).map(|n| format!("x{n} = {n}\n")).collect();
        lines.concat()
    }

    fn function(name: &str, lines: usize) -> String {
        let body: Vec<String> = (0..lines - 1)
            .map(|n| format!("    x{n} = {n}\n"))
            .collect();
        format!("def {name}():\n{}", body.concat())
    }

    fn measures(found: &CheckFindings) -> Vec<String> {
        let measure = |m: &CheckMeasure| format!("{}: {} {}", m.of, m.passed, m.found);
        found.measures.iter().map(measure).collect()
    }

    #[test]
    fn files_are_measured_as_the_seed_prints_it() {
        let (short, long) = (lines(120), lines(501));
        let change = ChangeSet::between_texts(&[
            ("src/api/profile.py", None, Some(&short)),
            ("src/long.py", Some(&short), Some(&long)),
            ("README.md", None, Some(&long)),
        ]);
        let found = file_lines(&change, 500);
        assert_eq!(
            measures(&found),
            [
                "File Length (src/api/profile.py): true 120/500 lines",
                "File Length (src/long.py): false 501/500 lines",
            ]
        );
        assert_eq!(
            found.failures,
            [
                "src/long.py:501: the file has 501 lines, the limit is 500 (it had 120); move parts \
                 of it into files of their own"
            ]
        );
    }

    #[test]
    fn what_was_long_before_may_stay_and_not_grow() {
        let (long, longer) = (lines(600), lines(601));
        let shorter = lines(590);
        let same = ChangeSet::between_texts(&[("a.py", Some(&longer), Some(&long))]);
        let found = file_lines(&same, 500);
        assert_eq!(found.failures, Vec::<String>::new());
        assert_eq!(found.notes.len(), 1);
        let grown = ChangeSet::between_texts(&[("a.py", Some(&long), Some(&longer))]);
        assert_eq!(file_lines(&grown, 500).failures.len(), 1);
        let moved = ChangeSet::between_texts(&[
            ("a.py", Some(&long), None),
            ("b.py", None, Some(&shorter)),
        ]);
        assert_eq!(file_lines(&moved, 500).failures, Vec::<String>::new());
    }

    #[test]
    fn functions_are_measured_where_they_differ() {
        let before = function("kept", 90) + &function("get_user_profile", 30);
        let after = function("kept", 90) + &function("get_user_profile", 40) + &function("new", 81);
        let change = ChangeSet::between_texts(&[("a.py", Some(&before), Some(&after))]);
        let found = function_lines(&change, 80);
        assert_eq!(
            measures(&found),
            [
                "Method Length (get_user_profile): true 40/80 lines",
                "Method Length (new): false 81/80 lines",
            ]
        );
        assert!(
            found.failures[0].starts_with("a.py:131: `new` has 81 lines, the limit is 80; split"),
            "{:?}",
            found.failures
        );
    }

    #[test]
    fn a_function_that_moved_or_shrank_is_not_new() {
        let class = |name: &str, lines: usize| {
            let function = function(name, lines);
            format!(
                "class A:\n    {}\n",
                function.trim_end().replace('\n', "\n    ")
            )
        };
        let (before, after) = (function("f", 90), class("f", 90));
        let moved = ChangeSet::between_texts(&[
            ("a.py", Some(&before), None),
            ("b.py", None, Some(&after)),
        ]);
        assert_eq!(function_lines(&moved, 80), CheckFindings::default());
        let shrunk = function("f", 85);
        let shorter = ChangeSet::between_texts(&[("a.py", Some(&before), Some(&shrunk))]);
        let found = function_lines(&shorter, 80);
        assert_eq!((found.failures.len(), found.notes.len()), (0, 1));
    }

    #[test]
    fn functions_of_every_language_are_found() {
        let body = "\n".repeat(10);
        for (path, text) in [
            ("a.js", format!("function long() {{{body}}}\n")),
            ("a.ts", format!("const long = (): void => {{{body}}};\n")),
            ("a.tsx", format!("export function long() {{{body}}}\n")),
            ("a.rs", format!("impl A {{\n fn long() {{{body}}}\n}}\n")),
            ("a.go", format!("package a\nfunc (a A) long() {{{body}}}\n")),
            (
                "A.java",
                format!("class A {{\n void long_() {{{body}}}\n}}\n"),
            ),
        ] {
            let change = ChangeSet::between_texts(&[(path, None, Some(&text))]);
            let found = function_lines(&change, 5);
            assert_eq!(found.failures.len(), 1, "{path}: {found:?}");
        }
    }

    #[test]
    fn who_writes_a_file_anew_cannot_say_that_a_program_did() {
        let text = format!("# @generated\n{}", lines(600));
        let change = ChangeSet::between_texts(&[("a.py", None, Some(&text))]);
        assert_eq!(file_lines(&change, 500).failures.len(), 1);
        let more = format!("{text}\nx = 1\n");
        let change = ChangeSet::between_texts(&[("a.py", Some(&text), Some(&more))]);
        assert_eq!(file_lines(&change, 500), CheckFindings::default());
    }
}
