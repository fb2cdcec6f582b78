//! Rule: a change does not hard-code the answer to a test. What a test asserts for one input must
//! not appear in the code as the answer to that input.
//!
//! The rule looks for an input and an expected value, which are literals of one assertion about a
//! changed function, next to each other in one added statement: `if n == 10: return 55`,
//! `{10: 55}`, `10 => 55`, `case 10: return 55`. A table counts as a table if most of its entries
//! are not tested, and so does a constant of some length; if all of it is tested, that is only
//! reported. Variables of a test stand for the literals that they were assigned. The rule does not
//! find answers that are composed from parts, nor those of tests that get their values from elsewhere.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::language::Language;
use codeteam_context::outline::outline;

use super::{HonestySubject, out_of_time_note, shorten_line};
use crate::CheckFindings;
use crate::source::is_source;

/// A constant with at least this many entries is a lookup table, even if tests cover all of them.
const TABLE_ENTRIES: usize = 4;

/// The answers that added code gives to literal inputs.
#[derive(Clone, Debug, Default)]
pub struct HardCodedAnswers {
    /// The answers, each with its file, line and text.
    found: Vec<HardCodedAnswer>,
    /// The functions that the answers may belong to.
    functions: FunctionNames,
    /// The first file that there was no time to inspect.
    first_unchecked: Option<String>,
}

#[derive(Clone, Debug)]
struct HardCodedAnswer {
    path: String,
    line: u32,
    text: String,
    input: String,
    answer: String,
    /// The line where the constant begins that this answer is an entry of.
    table: Option<u32>,
}

impl HardCodedAnswers {
    /// Collects the answers in a change, except in its tests.
    pub fn collect(subject: &HonestySubject<'_>) -> Self {
        let mut pairs = Self::default();
        for file in &subject.change.files {
            if !is_source(&file.path) || subject.tests.is_test(&file.path) {
                continue;
            }
            if !(subject.has_time)() {
                pairs.first_unchecked = Some(file.path.clone());
                break;
            }
            let mut above: Option<(u32, &str)> = None;
            let before = pairs.found.len();
            let mut table = OpenTable::default();
            for line in &file.added {
                let text = line.text.as_str();
                let begun = table.add_line(line.number, text);
                let mut here = answers_in_line(text, None);
                if here.is_empty()
                    && let Some((number, condition)) = above
                    && number + 1 == line.number
                {
                    here = answers_in_line(text, Some(condition));
                }
                above = Some((line.number, text));
                pairs
                    .found
                    .extend(here.into_iter().map(|(input, answer)| HardCodedAnswer {
                        path: file.path.clone(),
                        line: line.number,
                        text: shorten_line(text),
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
            if stem.len() > 2 {
                pairs.functions.insert(stem.to_owned());
            }
            if let (Some(text), Some(language)) =
                (file.after.text(), Language::from_path(&file.path))
            {
                let names = outline(text, language);
                let names = names.functions().map(|function| function.name.clone());
                for name in names.filter(|name| name.len() > 2) {
                    pairs.functions.insert(name);
                }
            }
        }
        pairs
    }

    /// Returns true if there is nothing to compare with tests.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.first_unchecked.is_none()
    }
}

/// Tracks the constant that consecutive lines of a file belong to.
#[derive(Default)]
struct OpenTable {
    /// The first line of the constant, and the last one so far.
    lines: Option<(u32, u32)>,
}

impl OpenTable {
    /// Adds the next added line. Returns where the constant begins that the line is part of.
    fn add_line(&mut self, number: u32, text: &str) -> Option<u32> {
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

/// Returns true if a line begins a constant with a list or a mapping: `NAMES = {` at the left
/// margin, or after a keyword for it.
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

/// Names of functions, which are looked up in a line word by word.
#[derive(Clone, Debug, Default)]
struct FunctionNames {
    words: BTreeSet<String>,
    /// Names that are more than one word: `$get`, `my-script`. Their number is limited.
    odd: BTreeSet<String>,
}

impl FunctionNames {
    fn insert(&mut self, name: String) {
        const ODD: usize = 50;
        if name.chars().all(is_word_character) {
            self.words.insert(name);
        } else if self.odd.len() < ODD {
            self.odd.insert(name);
        }
    }

    /// Returns the names in a line, each with its first position.
    fn names_in_line<'a>(&'a self, line: &'a str) -> BTreeMap<&'a str, usize> {
        let mut found = BTreeMap::new();
        let mut at = 0;
        for piece in line.split_inclusive(|c| !is_word_character(c)) {
            let word = piece.trim_end_matches(|c| !is_word_character(c));
            if self.words.contains(word) {
                found.entry(word).or_insert(at);
            }
            at += piece.len();
        }
        for name in &self.odd {
            if let Some(at) = find_word(line, name) {
                found.insert(name.as_str(), at);
            }
        }
        found
    }
}

/// Returns true if a character is part of a word.
fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Compares the answers in the code with what these tests ask, as long as there is time.
pub fn check_hard_coded<'a, S: AsRef<str>>(
    pairs: &'a HardCodedAnswers,
    tests: impl Iterator<Item = (S, S)>,
    go_on: &dyn Fn() -> bool,
) -> CheckFindings {
    let mut found = CheckFindings {
        inconclusive: pairs.first_unchecked.as_deref().map(out_of_time_note),
        ..CheckFindings::default()
    };
    // The asserted pairs, each with the first place where it is asserted.
    let mut asked: BTreeMap<(String, String), String> = BTreeMap::new();
    let wanted: BTreeSet<&str> = pairs
        .found
        .iter()
        .map(|pair| pair.answer.as_str())
        .collect();
    for (path, text) in tests {
        let (path, text) = (path.as_ref(), text.as_ref());
        if !go_on() {
            found.inconclusive = Some(out_of_time_note(path));
            break;
        }
        let mut named = NamedLiterals::default();
        for (number, line) in (1..).zip(text.lines()) {
            named.read_line(line);
            let line = named.fill_in(line);
            for (input, expected) in assertions_in_line(&line, &pairs.functions) {
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
                let is_telling = is_distinctive(&pair.input) || is_distinctive(&pair.answer);
                Some((*pair, test.clone(), is_telling))
            };
            let all: Vec<_> = of.iter().filter_map(hit).collect();
            // A table of which the tests cover only a part is more than an answer to them.
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
            .failures
            .extend(hits(&plain).into_iter().map(|(pair, test)| {
                format!(
                    "{}:{}: `{}` is the answer to one test ({test}): work it out instead",
                    pair.path, pair.line, pair.text
                )
            }));
        let tested: BTreeMap<Option<u32>, &HardCodedAnswer> = hits(&tables)
            .into_iter()
            .rev()
            .map(|(pair, _)| (pair.table, pair))
            .collect();
        found.notes.extend(tested.into_values().map(|pair| {
            format!(
                "{}:{}: `{}` is a table, most of which tests ask for entry by entry",
                pair.path, pair.line, pair.text
            )
        }));
    }
    found
}

/// Returns true if a literal is unusual enough to be meaningful.
fn is_distinctive(literal: &str) -> bool {
    match literal.parse::<f64>() {
        Ok(number) => number.abs() >= 10.0 || number.fract() != 0.0,
        Err(_) => literal.chars().count() >= 3,
    }
}

/// A literal and its position in a line.
struct LineLiteral {
    text: String,
    start: usize,
    end: usize,
}

/// Finds the numbers and texts of a line.
fn literals_in_line(line: &str) -> Vec<LineLiteral> {
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
            // `"$(sh fib.sh 10)"` is not a text; the literals inside it count.
            let inner = &line[at + 1..end];
            if inner.starts_with('$') {
                found.extend(
                    literals_in_line(inner)
                        .into_iter()
                        .map(|inside| LineLiteral {
                            start: inside.start + at + 1,
                            end: inside.end + at + 1,
                            ..inside
                        }),
                );
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
            // `10u32` is a number; `0x10` is not compared.
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

/// Finds the answers in a line of code: a condition with its answer, or entries of a table. The
/// condition may be on the line above.
fn answers_in_line(line: &str, above: Option<&str>) -> Vec<(String, String)> {
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
        let input = literals_in_line(condition).into_iter().next_back();
        let answer = literals_in_line(value).into_iter().next();
        let alone = is_only_a_literal(value);
        return match (has_comparison(condition), input, answer) {
            (true, Some(input), Some(answer)) if alone => vec![(input.text, answer.text)],
            _ => Vec::new(),
        };
    }
    let found = literals_in_line(line);
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
        // `55 if n == 10 else …` has them in reverse order.
        let turned = between.starts_with("if ") && between.ends_with("==");
        if maps && ends && (between != ":" || !is_a_slice(line, two[0].start)) {
            pairs.push((two[0].text.clone(), two[1].text.clone()));
        } else if turned {
            pairs.push((two[1].text.clone(), two[0].text.clone()));
        }
    }
    pairs
}

fn has_comparison(condition: &str) -> bool {
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
    let found = literals_in_line(text);
    matches!(&found[..], [one] if one.start == 0 && one.end == text.len())
}

/// Returns true for `x[10:55]`, which is a slice.
fn is_a_slice(line: &str, at: usize) -> bool {
    line[..at].trim_end().ends_with('[')
}

/// Finds what a line of a test asserts: the result of a function for an input.
fn assertions_in_line(line: &str, functions: &FunctionNames) -> Vec<(String, String)> {
    if line.len() > 2_000 {
        return Vec::new();
    }
    let found = literals_in_line(line);
    if found.len() < 2 {
        return Vec::new();
    }
    let call = functions
        .names_in_line(line)
        .into_iter()
        .find_map(|(name, at)| {
            let rest = &line[at + name.len()..];
            let open = rest.find('(').filter(|open| rest[..*open].trim().len() < 3);
            if let Some(open) = open {
                let start = at + name.len() + open;
                return Some((start, closing_bracket(line, start)));
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

/// The literals that variables of a test stand for: `ref = 'abc'`.
#[derive(Default)]
struct NamedLiterals<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> NamedLiterals<'a> {
    /// Reads an assignment. What a name stood for in the function above counts no more once it is
    /// assigned something else.
    fn read_line(&mut self, line: &'a str) {
        let code = line.trim();
        let code = ["const ", "let mut ", "let ", "var ", "final "]
            .iter()
            .find_map(|word| code.strip_prefix(word))
            .unwrap_or(code);
        let Some((name, value)) = code.split_once('=') else {
            return;
        };
        // `name: str = 'abc'`, `name := "abc"`
        let name = name
            .trim_end_matches([':', ' '])
            .split(':')
            .next()
            .unwrap_or_default();
        let name = name.trim();
        if name.is_empty() || !name.chars().all(is_word_character) {
            return;
        }
        let value = value.trim().trim_end_matches(';');
        if value.len() < 1_000 && is_only_a_literal(value) {
            self.0.insert(name, value);
        } else {
            self.0.remove(name);
        }
    }

    /// Returns a line with the literals in place of the names.
    fn fill_in<'l>(&self, line: &'l str) -> Cow<'l, str> {
        const LONGEST: usize = 2_000;
        let is_assertion = ["assert", "expect", "equal", "Equal", "==", "is(", "same"]
            .iter()
            .any(|word| line.contains(word));
        if self.0.is_empty() || !is_assertion || line.len() > LONGEST {
            return Cow::Borrowed(line);
        }
        let mut filled = String::with_capacity(line.len());
        let mut quote: Option<char> = None;
        let mut before = ' ';
        for piece in line.split_inclusive(|c| !is_word_character(c)) {
            let word = piece.trim_end_matches(|c| !is_word_character(c));
            let is_value =
                quote.is_none() && before != '.' && !piece[word.len()..].starts_with('(');
            match self.0.get(word).filter(|_| is_value) {
                Some(value) => filled.push_str(value),
                None => filled.push_str(word),
            }
            filled.push_str(&piece[word.len()..]);
            if let Some(last) = piece[word.len()..].chars().next_back() {
                before = last;
                match quote {
                    None if matches!(last, '"' | '\'' | '`') => quote = Some(last),
                    Some(open) if open == last => quote = None,
                    _ => {}
                }
            }
        }
        Cow::Owned(filled)
    }
}

/// Finds a name that is a separate word.
fn find_word(line: &str, name: &str) -> Option<usize> {
    line.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = line[..*at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(is_word_character) && !after.is_some_and(is_word_character)
    })
}

/// Returns the position of the closing bracket, or the end of the line.
fn closing_bracket(line: &str, open: usize) -> usize {
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
