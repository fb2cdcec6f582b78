//! Judges the form of a file: what it contains, its words, its JSON, its links.
//!
//! These are the validators of roles. They are made for documents as much as for code, ask no model,
//! and say of everything that is missing what it is, so that a worker can put it right in one round.

mod links;
mod schema;

use codeteam_core::text_pattern::TextPattern;
use codeteam_core::workflow::{FormatRules, WordBounds};
use serde_json::Value;

pub use self::links::LinkTarget;

/// The most faults of one kind that are listed for one file.
const LISTED: usize = 10;

/// What [`check_format`] has to know of the repository besides the file.
pub trait FormatSurroundings {
    /// Returns what is at a path relative to the root of the repository.
    fn link_target(&self, path: &str) -> LinkTarget;
}

/// Returns what is wrong with a file, one line for each fault; none if it has the form that is asked
/// for.
///
/// `schema` is the JSON Schema of the rules, if they have one, already read.
pub fn check_format(
    path: &str,
    text: &str,
    rules: &FormatRules,
    schema: Option<&Value>,
    surroundings: &dyn FormatSurroundings,
) -> Vec<String> {
    let mut faults = Vec::new();
    for wanted in &rules.contains {
        match find_pattern(wanted, text) {
            Ok(Some(_)) => {}
            Ok(None) => faults.push(format!("{path}: it does not contain `{wanted}`; add it")),
            Err(why) => faults.push(format!("{path}: `contains: {wanted}` {why}")),
        }
    }
    for unwanted in &rules.lacks {
        match find_pattern(unwanted, text) {
            Ok(None) => {}
            Ok(Some(at)) => {
                let line = line_number(text, at);
                faults.push(format!(
                    "{path}:{line}: it contains `{unwanted}`; take that out"
                ));
            }
            Err(why) => faults.push(format!("{path}: `lacks: {unwanted}` {why}")),
        }
    }
    if let Some(schema) = schema {
        let found = schema::check_json(path, text, schema);
        faults.extend(describe_first(found, |fault| fault));
    }
    faults.extend(
        rules
            .words
            .and_then(|bounds| word_fault(path, text, bounds)),
    );
    if rules.links {
        let found = links::find_broken_links(path, text, surroundings);
        faults.extend(describe_first(found, |broken| {
            let line = line_number(text, broken.at);
            format!(
                "{path}:{line}: the link to `{}` {}",
                broken.link, broken.why
            )
        }));
    }
    faults
}

/// Returns why a JSON Schema cannot be used, if it cannot.
pub fn schema_problem(schema: &Value) -> Option<String> {
    schema::compile_schema(schema).err()
}

fn find_pattern(pattern: &str, text: &str) -> Result<Option<usize>, String> {
    TextPattern::parse(pattern).map(|pattern| pattern.find(text))
}

fn line_number(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Counts words: whatever stands between spaces and has a letter or a digit.
fn count_words(text: &str) -> u64 {
    let words = text.split_whitespace();
    words
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .count() as u64
}

fn word_fault(path: &str, text: &str, bounds: WordBounds) -> Option<String> {
    let words = count_words(text);
    if let Some(min) = bounds.min.filter(|min| words < *min) {
        let missing = min - words;
        return Some(format!(
            "{path}: it has {words} words, {missing} fewer than the {min} that are asked for"
        ));
    }
    let max = bounds.max.filter(|max| words > *max)?;
    let beyond = words - max;
    Some(format!(
        "{path}: it has {words} words, {beyond} more than the {max} that are allowed"
    ))
}

/// Describes the first faults of a kind, and says how many more there are.
fn describe_first<T>(mut faults: Vec<T>, describe: impl Fn(T) -> String) -> Vec<String> {
    let more = faults.len().saturating_sub(LISTED);
    faults.truncate(LISTED);
    let mut lines: Vec<String> = faults.into_iter().map(describe).collect();
    if more > 0 {
        lines.push(format!("and {more} more of this kind"));
    }
    lines
}

#[cfg(test)]
mod tests;
