//! Words of texts, paths and identifiers, in a form in which related ones are equal.
//!
//! An identifier is one word and, if it is made of several, also each of them: `parseHTTPHeader` is
//! `parsehttpheader`, `parse`, `http` and `header`. Endings are taken off ([`stem`]), so that
//! `parsing`, `parsed` and `parser` are one word.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

/// A word, by its hash. Two of the hundred thousand words of a large repository may share one; that
/// one of the few words of a task meets such another is a matter of one in ten thousand.
pub type WordHash = u32;

/// The longest run of letters that is taken for a word; beyond are keys, sums and pictures.
const LONGEST: usize = 64;

/// Words that say nothing, sorted.
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

/// Endings, longer ones first where one ends in another, and how much must be left without them.
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

/// How often each word is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordBag {
    /// The words in their order, each once, with its count.
    words: Vec<(WordHash, u32)>,
    /// How many there are, an identifier of several counting once for each of its parts.
    length: u32,
}

impl WordBag {
    /// The words of a text.
    pub fn of(text: &str) -> Self {
        let mut runs: HashMap<&str, u32, FnvBuildHasher> = HashMap::default();
        each_run(text, |run| *runs.entry(run).or_default() += 1);
        let mut counts: HashMap<WordHash, u32, FnvBuildHasher> = HashMap::default();
        let mut length = 0;
        for (run, count) in runs {
            let mut parts = 0;
            each_word(run, |word| {
                *counts.entry(word.hash).or_default() += count;
                parts += u32::from(!word.whole);
            });
            length += parts * count;
        }
        let mut words: Vec<(WordHash, u32)> = counts.into_iter().collect();
        words.sort_unstable();
        Self { words, length }
    }

    /// All of it and of another.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
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

    /// How often a word is there.
    pub fn count(&self, word: WordHash) -> u32 {
        let at = self.words.binary_search_by_key(&word, |(word, _)| *word);
        at.map_or(0, |at| self.words[at].1)
    }

    /// How long the text is, in words.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words, each once, with their counts, in the order of their hashes.
    pub fn iter(&self) -> impl Iterator<Item = (WordHash, u32)> + '_ {
        self.words.iter().copied()
    }
}

/// A word as it is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordOccurrence {
    /// Its hash.
    pub(super) hash: WordHash,
    /// Whether it is an identifier that is made of several, all of it.
    pub(super) whole: bool,
}

/// Runs of letters, digits and `_`.
pub(super) fn each_run<'t>(text: &'t str, mut take: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !belongs(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && belongs(bytes[at]) {
            at += 1;
        }
        // A byte above ASCII belongs, so that runs begin and end between characters.
        if at - start > 1 && at - start <= LONGEST {
            take(&text[start..at]);
        }
    }
}

/// Letters, digits, `_`, and whatever is not ASCII.
fn belongs(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The words of a run: its parts, and all of it if it has several. Stop words are left out.
pub(super) fn each_word(run: &str, mut take: impl FnMut(WordOccurrence)) {
    let mut parts = 0;
    each_part(run, |part| {
        parts += 1;
        if part.len() > 1 || !part.is_ascii() {
            let lower = part.to_lowercase();
            if !is_stop(&lower) {
                take(WordOccurrence {
                    hash: hash(stem(&lower)),
                    whole: false,
                });
            }
        }
    });
    if parts > 1 {
        take(WordOccurrence {
            hash: whole(run),
            whole: true,
        });
    }
}

/// The word that a whole identifier is, however it is spelt: `parse_header`, `parseHeader`.
pub(super) fn whole(run: &str) -> WordHash {
    let mut hasher = FnvHasher::default();
    // Apart from words of one part, whose ends are taken off.
    hasher.write(b"=");
    for c in run.chars().filter(|c| *c != '_') {
        for c in c.to_lowercase() {
            hasher.write(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    fold(hasher.finish())
}

/// The parts of an identifier: `HTTPServer2_url` has `HTTP`, `Server`, `2`, `url`.
pub(super) fn each_part<'r>(run: &'r str, mut take: impl FnMut(&'r str)) {
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
            // `HTTPServer`: the last capital begins the next word; `URLs` is one.
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

/// Whether a word says nothing.
pub(super) fn is_stop(lower: &str) -> bool {
    STOP.binary_search(&lower).is_ok()
}

/// A word without its ending, so that its forms are equal: `routes`, `routed` and `routing` are
/// `rout`. What is left need not be a word.
pub fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.len() < 4 {
        return word;
    }
    let mut word = word;
    if let Some(short) = plural(word) {
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
    single(short.filter(|short| short.len() > 2).unwrap_or(word))
}

/// One of several.
fn plural(word: &str) -> Option<&str> {
    if let Some(short) = word.strip_suffix("ies").filter(|short| short.len() > 1) {
        // `queries` as `query`, whose `y` goes.
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

/// Without the second of two equal letters at the end: `runn`.
fn single(word: &str) -> &str {
    match word.as_bytes() {
        [.., a, b] if a == b && word.len() > 3 && b.is_ascii_alphabetic() => {
            &word[..word.len() - 1]
        }
        _ => word,
    }
}

/// The hash of a word without its ending.
pub(super) fn hash(stem: &str) -> WordHash {
    let mut hasher = FnvHasher::default();
    hasher.write(stem.as_bytes());
    fold(hasher.finish())
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// A hasher without a secret: who writes a repository to make finding slow only makes their own slow.
pub(super) type FnvBuildHasher = BuildHasherDefault<FnvHasher>;

/// FNV-1a, with eight bytes at a time.
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
        each_part(run, |part| parts.push(part));
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
        let bag = WordBag::of("parseHeader(parse_header, the header)");
        assert_eq!(bag.count(whole("parse_header")), 2);
        assert_eq!(bag.count(hash(stem("parse"))), 2);
        assert_eq!(bag.count(hash(stem("headers"))), 3);
        assert_eq!(bag.count(hash(stem("the"))), 0);
        assert_eq!(bag.length(), 5);
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP.is_sorted());
    }
}
