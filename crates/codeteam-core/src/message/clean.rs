//! Removes from a message what its author is not entitled to say.

use std::sync::LazyLock;

use regex::Regex;

/// Trailers that give instructions to other people's machines; only the user may write them.
const NOT_THEIRS: &[&str] = &["skip-checks", "request-checks", "on-behalf-of"];
/// The suffix of trailers that speak for people (`Signed-off-by`, `Reviewed-by`).
const FOR_PEOPLE: &str = "-by";
/// The prefix of codeteam's own trailers.
const OWN: &str = "codeteam-";

/// Returns a message without trailers that speak for codeteam or for people, with plain line ends
/// and at most one empty line in a row.
pub fn clean_message(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut lines: Vec<&str> = Vec::new();
    let mut taken_out = false;
    for line in text.split('\n').map(str::trim_end) {
        // An indented line below a trailer belongs to it.
        let goes_on = taken_out && line.starts_with([' ', '\t']);
        taken_out = goes_on || is_forbidden_trailer(line);
        let doubled = line.is_empty() && lines.last().is_none_or(|last| last.is_empty());
        if !taken_out && !doubled {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Returns true if a line is a trailer that its author may not write. Whatever git recognises as
/// one counts, and so does one that is not among the last lines: they may become the last.
fn is_forbidden_trailer(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>', '*', '-']);
    let Some((key, _)) = line.split_once([':', '=', '#']) else {
        return false;
    };
    let key = key.trim().to_lowercase();
    let is_word = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !word.is_empty() && word.chars().all(plain)
    };
    let is_own = key.strip_prefix(OWN).is_some_and(is_word);
    let is_for_people = key.strip_suffix(FOR_PEOPLE).is_some_and(is_word);
    is_own || is_for_people || NOT_THEIRS.contains(&key.as_str())
}

/// Markers that keep services from checking a commit (`[skip ci]`, `***NO_CI***`), as the services
/// read them: anywhere in a message, in any case.
static SKIPS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"(?ix) \[ \s* (?: skip [\s_-]+ [a-z]+ | no [\s_-]+ (?:ci|cd|actions|checks|build)
        | [a-z]+ [\s_-]+ skip ) \s* \] | \*\*\* \s* no_ci \s* \*\*\*";
    Regex::new(pattern).ok()
});

/// Returns the first marker in a text that keeps services from checking a commit.
pub(super) fn find_skip_marker(text: &str) -> Option<&str> {
    let found = SKIPS.as_ref()?.find(text)?;
    Some(found.as_str())
}

/// Returns a text without such markers, on one line.
pub(crate) fn without_skip_markers(text: &str) -> String {
    let Some(pattern) = SKIPS.as_ref() else {
        return text.to_owned();
    };
    let text = pattern.replace_all(text, " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
