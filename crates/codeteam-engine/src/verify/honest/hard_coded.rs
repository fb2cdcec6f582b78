//! A change has no answer made for one test only: what a test asserts of one input is not written
//! down in the code as the answer to that input.
//!
//! Looked for are an input and an expected value, as literals of one assertion about a function that
//! changed, next to each other in one added statement: `if n == 10: return 55`, `{10: 55}`,
//! `10 => 55`, `case 10: return 55`. A table most of which no test asks for is a table, and so is a
//! constant of some length: that all of it is tested is told, and nothing more. Not found are answers
//! that are put together from parts, and those of tests that get them from elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::language::Language;
use codeteam_context::outline::outline;

use super::{HonestySubject, brief, unlooked};
use crate::verify::CheckFindings;
use crate::verify::source::is_source;

/// A constant with at least so many entries is a lookup table, even if tests ask for all of them.
const TABLE_ENTRIES: usize = 4;

/// What the added code answers to which input.
#[derive(Clone, Debug, Default)]
pub struct HardCodedAnswers {
    /// Each with its file, line and text.
    found: Vec<HardCodedAnswer>,
    /// The functions it may be about.
    functions: FunctionNames,
    /// The first file that there was no time for.
    unlooked: Option<String>,
}

#[derive(Clone, Debug)]
struct HardCodedAnswer {
    path: String,
    line: u32,
    said: String,
    input: String,
    answer: String,
    /// The line on which the constant begins that this is an entry of.
    table: Option<u32>,
}

impl HardCodedAnswers {
    /// Those of a change; nothing of its tests.
    pub fn of(subject: &HonestySubject<'_>) -> Self {
        let mut pairs = Self::default();
        for file in &subject.change.files {
            if !is_source(&file.path) || subject.tests.has(&file.path) {
                continue;
            }
            if !(subject.go_on)() {
                pairs.unlooked = Some(file.path.clone());
                break;
            }
            let mut above: Option<(u32, &str)> = None;
            let before = pairs.found.len();
            let mut table = OpenTable::default();
            for line in &file.added {
                let text = line.text.as_str();
                let begun = table.follow(line.number, text);
                let mut here = answers(text, None);
                if here.is_empty()
                    && let Some((number, condition)) = above
                    && number + 1 == line.number
                {
                    here = answers(text, Some(condition));
                }
                above = Some((line.number, text));
                pairs
                    .found
                    .extend(here.into_iter().map(|(input, answer)| HardCodedAnswer {
                        path: file.path.clone(),
                        line: line.number,
                        said: brief(text),
                        input,
                        answer,
                        table: begun,
                    }));
            }
            if pairs.found.len() == before {
                continue;
            }
            let stem = file.path.rsplit('/').next().unwrap_or_default();
            let stem = stem.split('.').next().unwrap_or_default();
            pairs.functions.insert(stem.to_owned());
            if let (Some(text), Some(language)) = (file.after.text(), Language::of(&file.path)) {
                let names = outline(text, language);
                let names = names.functions().map(|function| function.name.clone());
                for name in names.filter(|name| name.len() > 2) {
                    pairs.functions.insert(name);
                }
            }
        }
        pairs
    }

    /// Whether there is nothing to compare with tests.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.unlooked.is_none()
    }
}

/// The constant that the lines of a file are in, one after the other.
#[derive(Default)]
struct OpenTable {
    /// Where it begins, and the last line of it so far.
    lines: Option<(u32, u32)>,
}

impl OpenTable {
    /// Takes the next added line; says where the constant begins that the line is a part of.
    fn follow(&mut self, number: u32, text: &str) -> Option<u32> {
        if opens_constant(text) {
            let is_closed = text.trim_end().ends_with(['}', ']', ')', ';']);
            self.lines = (!is_closed).then_some((number, number));
            return Some(number);
        }
        let (begun, last) = self.lines?;
        let goes_on = last + 1 == number && !text.trim_start().starts_with(['}', ']', ')']);
        self.lines = goes_on.then_some((begun, number));
        goes_on.then_some(begun)
    }
}

/// Whether a line begins a constant with a list or a mapping in it: `NAMES = {` at the left edge, or
/// behind a word that says so.
fn opens_constant(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "const ",
        "static ",
        "pub const ",
        "pub static ",
        "final ",
        "private ",
        "public ",
        "protected ",
        "readonly ",
        "export ",
    ];
    let code = text.trim_start();
    let is_outside = code.len() == text.len() || WORDS.iter().any(|word| code.starts_with(word));
    let Some((name, value)) = code.split_once('=') else {
        return false;
    };
    let is_comparison = value.starts_with('=') || name.ends_with(['!', '<', '>', '=']);
    is_outside && !is_comparison && !name.contains("if ") && value.contains(['{', '[', '('])
}

/// Names of functions, found in a line by its words.
#[derive(Clone, Debug, Default)]
struct FunctionNames {
    words: BTreeSet<String>,
    /// Those that are more than a word: `$get`, `my-script`. More of them are no names.
    odd: BTreeSet<String>,
}

impl FunctionNames {
    fn insert(&mut self, name: String) {
        const ODD: usize = 50;
        if name.chars().all(joins) {
            self.words.insert(name);
        } else if self.odd.len() < ODD {
            self.odd.insert(name);
        }
    }

    /// The names in a line, each with where it stands first.
    fn in_line<'a>(&'a self, line: &'a str) -> BTreeMap<&'a str, usize> {
        let mut found = BTreeMap::new();
        let mut at = 0;
        for piece in line.split_inclusive(|c| !joins(c)) {
            let word = piece.trim_end_matches(|c| !joins(c));
            if self.words.contains(word) {
                found.entry(word).or_insert(at);
            }
            at += piece.len();
        }
        for name in &self.odd {
            if let Some(at) = word(line, name) {
                found.insert(name.as_str(), at);
            }
        }
        found
    }
}

/// Whether a character is a part of a word.
fn joins(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Compares what the code answers with what these tests ask, as long as there is time.
pub fn hard_coded<'a, S: AsRef<str>>(
    pairs: &'a HardCodedAnswers,
    tests: impl Iterator<Item = (S, S)>,
    go_on: &dyn Fn() -> bool,
) -> CheckFindings {
    let mut found = CheckFindings {
        unproved: pairs.unlooked.as_deref().map(unlooked),
        ..CheckFindings::default()
    };
    // What is asked, and where first.
    let mut asked: BTreeMap<(String, String), String> = BTreeMap::new();
    let wanted: BTreeSet<&str> = pairs
        .found
        .iter()
        .map(|pair| pair.answer.as_str())
        .collect();
    for (path, text) in tests {
        let (path, text) = (path.as_ref(), text.as_ref());
        if !go_on() {
            found.unproved = Some(unlooked(path));
            break;
        }
        for (number, line) in (1..).zip(text.lines()) {
            for (input, expected) in assertion(line, &pairs.functions) {
                if wanted.contains(expected.as_str()) {
                    let place = || format!("{path}:{number}");
                    asked.entry((input, expected)).or_insert_with(place);
                }
            }
        }
    }
    let mut files: BTreeMap<&str, Vec<&HardCodedAnswer>> = BTreeMap::new();
    for pair in &pairs.found {
        files.entry(&pair.path).or_default().push(pair);
    }
    for all in files.into_values() {
        let mut entries: BTreeMap<u32, usize> = BTreeMap::new();
        for begun in all.iter().filter_map(|pair| pair.table) {
            *entries.entry(begun).or_default() += 1;
        }
        let is_long = |begun: u32| entries.get(&begun) >= Some(&TABLE_ENTRIES);
        let (tables, plain): (Vec<&HardCodedAnswer>, Vec<&HardCodedAnswer>) =
            all.iter().partition(|pair| pair.table.is_some_and(is_long));
        let hits = |of: &[&'a HardCodedAnswer]| -> Vec<(&'a HardCodedAnswer, String)> {
            let hit = |pair: &&'a HardCodedAnswer| {
                let test = asked.get(&(pair.input.clone(), pair.answer.clone()))?;
                let is_telling = is_telling(&pair.input) || is_telling(&pair.answer);
                Some((*pair, test.clone(), is_telling))
            };
            let all: Vec<_> = of.iter().filter_map(hit).collect();
            // A table of which the tests ask for a part only is more than an answer to them.
            if all.len() * 2 < of.len() {
                return Vec::new();
            }
            let mut lines = BTreeSet::new();
            all.into_iter()
                .filter(|(pair, _, is_telling)| *is_telling && lines.insert(pair.line))
                .map(|(pair, test, _)| (pair, test))
                .collect()
        };
        found
            .wrong
            .extend(hits(&plain).into_iter().map(|(pair, test)| {
                format!(
                    "{}:{}: `{}` is the answer to one test ({test}): work it out instead",
                    pair.path, pair.line, pair.said
                )
            }));
        let tested: BTreeMap<Option<u32>, &HardCodedAnswer> = hits(&tables)
            .into_iter()
            .rev()
            .map(|(pair, _)| (pair.table, pair))
            .collect();
        found.told.extend(tested.into_values().map(|pair| {
            format!(
                "{}:{}: `{}` is a table, most of which tests ask for entry by entry",
                pair.path, pair.line, pair.said
            )
        }));
    }
    found
}

/// Whether a literal is one that does not stand everywhere.
fn is_telling(literal: &str) -> bool {
    match literal.parse::<f64>() {
        Ok(number) => number.abs() >= 10.0 || number.fract() != 0.0,
        Err(_) => literal.chars().count() >= 3,
    }
}

/// A literal in a line, and where it stands.
struct LineLiteral {
    text: String,
    start: usize,
    end: usize,
}

/// Numbers and texts of a line.
fn literals(line: &str) -> Vec<LineLiteral> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if matches!(byte, b'"' | b'\'' | b'`') {
            let end = (at + 1..bytes.len()).find(|i| bytes[*i] == byte && bytes[i - 1] != b'\\');
            let Some(end) = end else {
                break;
            };
            // `"$(sh fib.sh 10)"` is no text but what is in it.
            let inner = &line[at + 1..end];
            if inner.starts_with('$') {
                found.extend(literals(inner).into_iter().map(|inside| LineLiteral {
                    start: inside.start + at + 1,
                    end: inside.end + at + 1,
                    ..inside
                }));
            } else {
                found.push(LineLiteral {
                    text: inner.to_owned(),
                    start: at,
                    end: end + 1,
                });
            }
            at = end + 1;
        } else if byte.is_ascii_digit() {
            let is_part = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'_');
            let mut end = at;
            while end < bytes.len() && is_part(bytes[end]) {
                end += 1;
            }
            let joined = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            let of_a_name = at > 0 && joined(bytes[at - 1]);
            // `10u32` is a number, `0x10` none that is compared.
            let negative = at > 0
                && bytes[at - 1] == b'-'
                && line[..at - 1]
                    .trim_end()
                    .ends_with(['(', ',', '=', ':', '>', '[', 'n']);
            let start = if negative { at - 1 } else { at };
            if !of_a_name {
                let text = line[start..end].replace('_', "");
                found.push(LineLiteral {
                    text: text.trim_end_matches('.').to_owned(),
                    start,
                    end,
                });
            }
            while end < bytes.len() && joined(bytes[end]) {
                end += 1;
            }
            at = end;
        } else if matches!(byte, b'#') && at > 0 && bytes[at - 1] == b' ' {
            break;
        } else {
            at += 1;
        }
    }
    found
}

/// What a line of code answers to what: a condition and its answer, or entries of a table. The
/// condition may stand on the line above.
fn answers(line: &str, above: Option<&str>) -> Vec<(String, String)> {
    let code = line.trim();
    let is_comment = ["//", "#", "*", "/*"]
        .iter()
        .any(|mark| code.starts_with(mark));
    if is_comment || code.len() > 2_000 {
        return Vec::new();
    }
    if let Some(condition) = above {
        let gives = ["return ", "echo ", "yield ", "print(", "printf "];
        let Some(value) = gives.iter().find_map(|word| code.strip_prefix(word)) else {
            return Vec::new();
        };
        let input = literals(condition).into_iter().next_back();
        let answer = literals(value).into_iter().next();
        let alone = is_only_a_literal(value);
        return match (compares(condition), input, answer) {
            (true, Some(input), Some(answer)) if alone => vec![(input.text, answer.text)],
            _ => Vec::new(),
        };
    }
    let found = literals(line);
    let mut pairs = Vec::new();
    for two in found.windows(2) {
        let between = line[two[0].end..two[1].start].trim();
        let after = line[two[1].end..].trim_start();
        let ends = after.is_empty() || after.starts_with([',', '}', ')', ']', ';', '/', '#', 'e']);
        let maps = matches!(between, ":" | "=>" | "->" | "=> return" | ": return" | "):")
            || matches!(
                between,
                ") echo" | "]; then echo" | "]]; then echo" | "])" | "] =" | ":return"
            )
            || between == ") return"
            || between == ") { return"
            || between == ": { return"
            || between == "then return"
            || between == "?";
        // `55 if n == 10 else …` has them the other way round.
        let turned = between.starts_with("if ") && between.ends_with("==");
        if maps && ends && (between != ":" || !is_a_slice(line, two[0].start)) {
            pairs.push((two[0].text.clone(), two[1].text.clone()));
        } else if turned {
            pairs.push((two[1].text.clone(), two[0].text.clone()));
        }
    }
    pairs
}

fn compares(condition: &str) -> bool {
    let text = condition.trim();
    let begins = [
        "if",
        "elif",
        "} else if",
        "else if",
        "case",
        "when",
        "elsif",
        "\"",
        "'",
    ]
    .iter()
    .any(|word| text.starts_with(word))
        || text.starts_with(|c: char| c.is_ascii_digit());
    let equal = text.contains("==") || text.contains(" = ") || text.contains(" -eq ");
    let case = text.starts_with("case") || text.starts_with("when") || text.ends_with(')');
    begins && (equal || case)
}

fn is_only_a_literal(text: &str) -> bool {
    let text = text
        .trim()
        .trim_end_matches([';', '}', ' '])
        .trim_end_matches(';');
    let found = literals(text);
    matches!(&found[..], [one] if one.start == 0 && one.end == text.len())
}

/// `x[10:55]` is a part of something.
fn is_a_slice(line: &str, at: usize) -> bool {
    line[..at].trim_end().ends_with('[')
}

/// What a line of a test says a function gives for an input.
fn assertion(line: &str, functions: &FunctionNames) -> Vec<(String, String)> {
    if line.len() > 2_000 {
        return Vec::new();
    }
    let found = literals(line);
    if found.len() < 2 {
        return Vec::new();
    }
    let call = functions.in_line(line).into_iter().find_map(|(name, at)| {
        let rest = &line[at + name.len()..];
        let open = rest.find('(').filter(|open| rest[..*open].trim().len() < 3);
        if let Some(open) = open {
            let start = at + name.len() + open;
            return Some((start, closing(line, start)));
        }
        // `sh fib.sh 10` in `$(…)`.
        let end = line[at..].find([')', '`']).map(|end| at + end)?;
        Some((at + name.len(), end))
    });
    let mut pairs = Vec::new();
    if let Some((start, end)) = call {
        let inside = |l: &&LineLiteral| l.start >= start && l.end <= end;
        let inputs: Vec<&LineLiteral> = found.iter().filter(inside).collect();
        let expected = found
            .iter()
            .filter(|l| l.start >= end)
            .chain(found.iter().filter(|l| l.end <= start))
            .next();
        if let (Some(expected), false) = (expected, inputs.is_empty()) {
            pairs.extend(
                inputs
                    .iter()
                    .map(|input| (input.text.clone(), expected.text.clone())),
            );
        }
        return pairs;
    }
    // A row of a table of cases: `(10, 55),` or `{10, 55},` or `[10, 55],`.
    let row = line.trim();
    let is_row = row.starts_with(['(', '{', '[']) && row.ends_with([')', '}', ']', ','])
        || row.contains("parametrize")
        || row.contains(".each(");
    if is_row {
        let pairwise = found.windows(2).filter(|two| {
            let between = line[two[0].end..two[1].start].trim();
            between == ","
        });
        pairs.extend(pairwise.map(|two| (two[0].text.clone(), two[1].text.clone())));
    }
    pairs
}

/// Where a name stands as a word of its own.
fn word(line: &str, name: &str) -> Option<usize> {
    line.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = line[..*at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

/// Where a bracket that is opened is closed, or the end.
fn closing(line: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in line.bytes().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    line.len()
}
