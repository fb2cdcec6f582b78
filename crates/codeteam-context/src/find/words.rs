//! Splits texts, paths and identifiers into words, normalised so that related words are equal.
//!
//! An identifier is one word and, if it consists of several, also each of them: `parseHTTPHeader`
//! is `parsehttpheader`, `parse`, `http` and `header`. Endings are removed ([`stem`]), so that
//! `parsing`, `parsed` and `parser` are one word.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

/// A word, represented by its hash. Two of the hundred thousand words of a large repository may
/// collide; the chance that one of a task's few words does is about one in ten thousand.
pub type WordHash = u32;

/// The longest run of letters that counts as a word; longer ones are keys, checksums and images.
const LONGEST: usize = 64;

/// Stop words, sorted.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "although", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "both", "but", "by", "can", "cannot", "could",
    "did", "do", "does", "doing", "don", "each", "either", "else", "etc", "ever", "every", "few",
    "for", "from", "had", "has", "have", "having", "he", "her", "here", "his", "how", "however",
    "i", "if", "in", "instead", "into", "is", "it", "its", "itself", "just", "like", "ll", "may",
    "me", "might", "more", "most", "much", "must", "my", "no", "nor", "not", "now", "of", "off",
    "on", "once", "only", "or", "other", "our", "out", "over", "own", "per", "please", "rather",
    "re", "same", "she", "should", "since", "so", "some", "still", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "though", "through",
    "thus", "to", "too", "under", "until", "up", "upon", "us", "ve", "very", "via", "was", "we",
    "well", "were", "what", "when", "where", "whether", "which", "while", "who", "why", "will",
    "with", "within", "without", "would", "yet", "you", "your",
];

/// Endings, longer ones first where one ends in another, with the number of letters that must
/// remain.
const ENDINGS: &[(&str, usize)] = &[
    ("ization", 3),
    ("isation", 3),
    ("ation", 3),
    ("ating", 3),
    ("ated", 3),
    ("ator", 3),
    ("ate", 3),
    ("ment", 4),
    ("ness", 4),
    ("able", 4),
    ("ible", 4),
    ("ion", 4),
    ("ing", 3),
    ("ize", 3),
    ("ise", 4),
    ("ed", 3),
    ("er", 3),
    ("or", 4),
    ("ly", 4),
    ("al", 5),
    ("ive", 4),
];

/// A text's words with their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordBag {
    /// The distinct words in order, with their counts.
    words: Vec<(WordHash, u32)>,
    /// The number of words; an identifier counts once for each of its parts.
    length: u32,
}

impl WordBag {
    /// Counts the words of a text.
    pub fn from_text(text: &str) -> Self {
        let mut runs: HashMap<&str, u32, FnvBuildHasher> = HashMap::default();
        for_each_run(text, |run| *runs.entry(run).or_default() += 1);
        let mut counts: HashMap<WordHash, u32, FnvBuildHasher> = HashMap::default();
        let mut length = 0;
        for (run, count) in runs {
            let mut parts = 0;
            for_each_word(run, |word| {
                *counts.entry(word.hash).or_default() += count;
                parts += u32::from(!word.whole);
            });
            length += parts * count;
        }
        let mut words: Vec<(WordHash, u32)> = counts.into_iter().collect();
        words.sort_unstable();
        Self { words, length }
    }

    /// Returns the sum of both bags.
    #[must_use]
    pub fn merged_with(&self, other: &Self) -> Self {
        let mut words: Vec<(WordHash, u32)> =
            Vec::with_capacity(self.words.len() + other.words.len());
        words.extend(self.iter().chain(other.iter()));
        words.sort_unstable();
        words.dedup_by(|(word, count), (kept, sum)| {
            let same = word == kept;
            *sum += u32::from(same) * *count;
            same
        });
        Self {
            words,
            length: self.length + other.length,
        }
    }

    /// Returns how often a word occurs.
    pub fn count(&self, word: WordHash) -> u32 {
        let at = self.words.binary_search_by_key(&word, |(word, _)| *word);
        at.map_or(0, |at| self.words[at].1)
    }

    /// Returns the length of the text, in words.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Returns true if there are no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the distinct words with their counts, in the order of their hashes.
    pub fn iter(&self) -> impl Iterator<Item = (WordHash, u32)> + '_ {
        self.words.iter().copied()
    }
}

/// A word found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordOccurrence {
    /// The word's hash.
    pub(super) hash: WordHash,
    /// Whether it is a whole identifier that consists of several words.
    pub(super) whole: bool,
}

/// Calls `take` for each run of letters, digits and `_`.
pub(super) fn for_each_run<'t>(text: &'t str, mut take: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word_byte(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word_byte(bytes[at]) {
            at += 1;
        }
        // Non-ASCII bytes belong to the run, so that runs begin and end between characters.
        if at - start > 1 && at - start <= LONGEST {
            take(&text[start..at]);
        }
    }
}

/// Returns true for letters, digits, `_`, and everything outside ASCII.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Calls `take` for the words of a run: its parts, and the whole if it has several. Stop words are
/// left out.
pub(super) fn for_each_word(run: &str, mut take: impl FnMut(WordOccurrence)) {
    let mut parts = 0;
    for_each_part(run, |part| {
        parts += 1;
        if part.len() > 1 || !part.is_ascii() {
            let lower = part.to_lowercase();
            if !is_stop_word(&lower) {
                take(WordOccurrence {
                    hash: hash_stem(stem(&lower)),
                    whole: false,
                });
            }
        }
    });
    if parts > 1 {
        take(WordOccurrence {
            hash: hash_identifier(run),
            whole: true,
        });
    }
}

/// Returns the hash of a whole identifier, however it is spelt: `parse_header`, `parseHeader`.
pub(super) fn hash_identifier(run: &str) -> WordHash {
    let mut hasher = FnvHasher::default();
    // The prefix keeps identifiers apart from single words, whose endings are removed.
    hasher.write(b"=");
    for c in run.chars().filter(|c| *c != '_') {
        for c in c.to_lowercase() {
            hasher.write(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    fold(hasher.finish())
}

/// Calls `take` for each part of an identifier: `HTTPServer2_url` has `HTTP`, `Server`, `2`, `url`.
pub(super) fn for_each_part<'r>(run: &'r str, mut take: impl FnMut(&'r str)) {
    #[derive(Clone, Copy, PartialEq)]
    enum IdentifierByte {
        Lower,
        Upper,
        Digit,
        Between,
    }
    let class = |byte: u8| match byte {
        b'A'..=b'Z' => IdentifierByte::Upper,
        b'0'..=b'9' => IdentifierByte::Digit,
        b'_' => IdentifierByte::Between,
        _ => IdentifierByte::Lower,
    };
    let bytes = run.as_bytes();
    let mut start = 0;
    for at in 1..=bytes.len() {
        let before = class(bytes[at - 1]);
        let here = bytes
            .get(at)
            .map_or(IdentifierByte::Between, |byte| class(*byte));
        let next = bytes.get(at + 1).map(|byte| class(*byte));
        let ends = match (before, here) {
            (IdentifierByte::Between, _) => {
                start = at;
                false
            }
            // In `HTTPServer` the last capital begins the next word; `URLs` is one word.
            (IdentifierByte::Upper, IdentifierByte::Upper) => {
                next == Some(IdentifierByte::Lower)
                    && !(bytes[at + 1] == b's' && at + 2 == bytes.len())
            }
            (IdentifierByte::Upper, IdentifierByte::Lower) => false,
            (one, other) => one != other,
        };
        if ends {
            take(&run[start..at]);
            start = at;
        }
    }
}

/// Returns true for stop words.
pub(super) fn is_stop_word(lower: &str) -> bool {
    STOP.binary_search(&lower).is_ok()
}

/// Removes a word's ending, so that its forms are equal: `routes`, `routed` and `routing` become
/// `rout`. The result need not be a word.
pub fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.len() < 4 {
        return word;
    }
    let mut word = word;
    if let Some(short) = strip_plural(word) {
        word = short;
    }
    for (ending, least) in ENDINGS {
        let Some(short) = word.strip_suffix(ending) else {
            continue;
        };
        let vowel = short.bytes().any(|b| b"aeiouy".contains(&b));
        let ion = *ending != "ion" || short.ends_with(['s', 't']);
        if short.len() >= *least && vowel && ion {
            word = short;
            break;
        }
    }
    let short = word.strip_suffix(['e', 'y', 'i']);
    strip_doubled_letter(short.filter(|short| short.len() > 2).unwrap_or(word))
}

/// Returns the singular of a plural.
fn strip_plural(word: &str) -> Option<&str> {
    if let Some(short) = word.strip_suffix("ies").filter(|short| short.len() > 1) {
        // `queries` becomes the stem of `query`, whose `y` is removed as well.
        return Some(short);
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if word.ends_with(ending) {
            return Some(&word[..word.len() - 2]);
        }
    }
    let short = word.strip_suffix('s')?;
    let stays = ["s", "u", "i"].iter().any(|end| short.ends_with(end));
    (!stays && short.len() > 2).then_some(short)
}

/// Removes the second of two equal letters at the end: `runn`.
fn strip_doubled_letter(word: &str) -> &str {
    match word.as_bytes() {
        [.., a, b] if a == b && word.len() > 3 && b.is_ascii_alphabetic() => {
            &word[..word.len() - 1]
        }
        _ => word,
    }
}

/// Returns the hash of a stem.
pub(super) fn hash_stem(stem: &str) -> WordHash {
    let mut hasher = FnvHasher::default();
    hasher.write(stem.as_bytes());
    fold(hasher.finish())
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// A hasher without a random key: whoever crafts a repository to make searching slow only slows
/// down their own search.
pub(super) type FnvBuildHasher = BuildHasherDefault<FnvHasher>;

/// FNV-1a, eight bytes at a time.
#[derive(Clone, Debug)]
pub(super) struct FnvHasher(u64);

impl Default for FnvHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl FnvHasher {
    fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
}

impl Hasher for FnvHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut eight = [0; 8];
            eight.copy_from_slice(chunk);
            self.add(u64::from_le_bytes(eight));
        }
        let mut last = [0; 8];
        let rest = chunks.remainder();
        if !rest.is_empty() {
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(run: &str) -> Vec<&str> {
        let mut parts = Vec::new();
        for_each_part(run, |part| parts.push(part));
        parts
    }

    #[test]
    fn identifiers_fall_into_parts() {
        for (run, expected) in [
            ("parse_header", vec!["parse", "header"]),
            ("parseHTTPHeader", vec!["parse", "HTTP", "Header"]),
            ("HTTPServer2_url", vec!["HTTP", "Server", "2", "url"]),
            ("__init__", vec!["init"]),
            ("URLs", vec!["URLs"]),
            ("utf8", vec!["utf", "8"]),
            ("x", vec!["x"]),
            ("_", vec![]),
            ("größeÄndern", vec!["größeÄndern"]),
        ] {
            assert_eq!(parts(run), expected, "{run}");
        }
    }

    #[test]
    fn forms_of_a_word_are_equal() {
        for forms in [
            &["route", "routes", "routed", "routing", "router"][..],
            &["parse", "parser", "parsing", "parsed", "parses"],
            &[
                "validate",
                "validation",
                "validating",
                "validator",
                "validated",
            ],
            &["query", "queries", "querying"],
            &["class", "classes"],
            &["run", "running", "runs"],
            &["connect", "connection", "connected", "connecting"],
        ] {
            for form in forms {
                assert_eq!(stem(form), stem(forms[0]), "{form} and {}", forms[0]);
            }
        }
        for (one, other) in [
            ("string", "strike"),
            ("port", "pore"),
            ("status", "state"),
            ("bus", "but"),
        ] {
            assert_ne!(stem(one), stem(other), "{one} and {other}");
        }
    }

    #[test]
    fn an_identifier_is_counted_whole_and_in_parts() {
        let bag = WordBag::from_text("parseHeader(parse_header, the header)");
        assert_eq!(bag.count(hash_identifier("parse_header")), 2);
        assert_eq!(bag.count(hash_stem(stem("parse"))), 2);
        assert_eq!(bag.count(hash_stem(stem("headers"))), 3);
        assert_eq!(bag.count(hash_stem(stem("the"))), 0);
        assert_eq!(bag.length(), 5);
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP.is_sorted());
    }
}
