//! Files that a person's words, or the plan made of them, say are to change.
//!
//! Existing tests are protected from whoever changes the code they test. The goal, the task, its
//! requirements and its design may name a test in a sentence which says that it changes; nothing
//! that the author of the change says counts. Sentences are read as plain English, and a sentence
//! that is not understood names nothing: a list in the task's `files` is always understood.

use crate::frame::Frame;
use crate::run::Run;

/// Verbs which say that something changes.
const CHANGES: &[&str] = &[
    "update", "change", "adapt", "adjust", "rewrite", "edit", "rename", "remove", "delete",
    "extend", "replace", "modify", "correct",
];

/// The ends of those verbs in all their forms, after what [`is_change_verb`] takes for their stem.
const FORMS: &[&str] = &[
    "", "e", "s", "es", "ed", "ing", "ten", "y", "ies", "ied", "ying",
];

/// Words which say that something does not change.
const KEEPS: &[&str] = &[
    "not",
    "never",
    "unchanged",
    "without",
    "keep",
    "keeps",
    "stay",
    "stays",
];

/// Words that end what a verb says of the files after it: what follows is the reason, the measure or
/// the means of the change, or another sentence.
const ENDS_CLAUSE: &[&str] = &[
    "so",
    "until",
    "till",
    "because",
    "since",
    "if",
    "when",
    "whenever",
    "while",
    "as",
    "to",
    "like",
    "per",
    "that",
    "which",
    "where",
    "whose",
    "using",
    "by",
    "via",
    "against",
    "according",
    "before",
    "after",
    "run",
    "make",
    "see",
    "check",
    "look",
    "follow",
    "match",
    "matching",
    "satisfy",
    "pass",
    "read",
    "use",
    "let",
    "is",
    "are",
    "was",
    "were",
];

/// The words of them before a reason or a measure: before others stands what a whole text asks for.
const MEASURES: &[&str] = &[
    "so",
    "until",
    "till",
    "because",
    "since",
    "like",
    "per",
    "via",
    "against",
    "according",
    "before",
    "after",
    "run",
    "check",
    "see",
    "follow",
    "match",
    "matching",
    "satisfy",
    "pass",
];

/// What a file does that is as it should be, or that says how things are to be.
const DESCRIBES: &[&str] = &[
    "pass",
    "passes",
    "fail",
    "fails",
    "succeed",
    "succeeds",
    "works",
    "runs",
    "says",
    "checks",
    "asserts",
    "expects",
    "covers",
    "shows",
    "describes",
    "wants",
];

/// Words after which a sentence says what a file must do or become.
const MODAL: &[&str] = &[
    "must", "should", "shall", "may", "can", "will", "needs", "need", "has", "have", "is", "are",
];

/// Words after which "change" and its like are nouns or adjectives.
const BEFORE_NOUN: &[&str] = &[
    "the", "a", "an", "this", "that", "these", "those", "its", "their", "any", "each", "every",
    "no",
];

/// Returns patterns of the files that the texts about a frame's work say are to change: the goal,
/// its tasks, and the requirements and the design of the frame and of those above it. The patterns
/// match files only: a sentence that names a directory allows nothing.
pub fn files_to_change(run: &Run, frame: &Frame) -> Vec<String> {
    let mut texts = vec![run.goal.clone()];
    for task in run.tasks_of(frame) {
        texts.extend([task.title.clone(), task.description.clone()]);
        texts.extend(task.acceptance.iter().cloned());
    }
    let mut at = Some(frame);
    while let Some(frame) = at {
        texts.push(frame.outputs.known_requirements());
        if let Some(design) = frame.outputs.merged_design() {
            texts.push(design.design);
            texts.extend(design.patterns);
        }
        at = frame.parent.as_ref().and_then(|path| run.frames.get(path));
    }
    patterns(texts.iter().flat_map(|text| named_to_change(text)))
}

/// Returns patterns of the files that a text says are to change.
pub(crate) fn changing_files(text: &str) -> Vec<String> {
    patterns(named_to_change(text).into_iter())
}

/// Returns patterns of the files that a text asks for something in: all that it names, but for those
/// which it names as a reason, a measure or an example, or says to leave alone.
pub(crate) fn places_of_change(text: &str) -> Vec<String> {
    let named =
        sentences(text).flat_map(|sentence| files_of_sentence(sentence, SentenceReading::Places));
    patterns(named)
}

/// Returns patterns by which files are found that are called like this.
fn patterns(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let anywhere = (!name.contains('/')).then(|| format!("**/{name}"));
        for pattern in [Some(name), anywhere].into_iter().flatten() {
            if !found.contains(&pattern) {
                found.push(pattern);
            }
        }
    }
    found
}

/// What is looked for in a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentenceReading {
    /// The files that it says are to change.
    Changes,
    /// The files that it asks for something in.
    Places,
}

/// One word of a sentence.
enum SentenceWord {
    /// A file name, as it is written.
    File(String),
    /// Any other word, in lower case.
    Plain(String),
}

/// Returns the files that a text names in a sentence which says that they change. A file that only
/// has to pass, or must stay as it is, is not included; a sentence in which something stays as it is
/// names nothing.
fn named_to_change(text: &str) -> Vec<String> {
    let sentences = sentences(text).filter(|sentence| {
        let words = split_words(sentence);
        !words.iter().any(|word| match word {
            SentenceWord::Plain(word) => is_negation(word),
            SentenceWord::File(_) => false,
        })
    });
    sentences
        .flat_map(|sentence| files_of_sentence(sentence, SentenceReading::Changes))
        .collect()
}

/// Splits a text into sentences and other parts that say one thing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split(['\n', ';', '!', '?']);
    lines.flat_map(|line| line.split(". "))
}

/// Returns the files of a sentence that it says something about.
fn files_of_sentence(sentence: &str, reading: SentenceReading) -> Vec<String> {
    let (mut is_changing, ends) = match reading {
        SentenceReading::Changes => (false, ENDS_CLAUSE),
        SentenceReading::Places => (true, MEASURES),
    };
    let words = split_words(sentence);
    let mut found = Vec::new();
    let mut is_negated = false;
    let mut previous = "";
    for (at, word) in words.iter().enumerate() {
        match word {
            SentenceWord::Plain(word) => {
                if is_negation(word) {
                    (is_changing, is_negated) = (false, true);
                } else if matches!(word.as_str(), "and" | "but") {
                    is_negated = false;
                } else if is_change_verb(word) && !is_noun_after(word, previous) {
                    is_changing = !is_negated;
                } else if ends.contains(&word.as_str()) {
                    is_changing = false;
                }
                previous = word;
            }
            SentenceWord::File(name) => {
                if said_of_file(&words[at + 1..], reading).unwrap_or(is_changing) {
                    found.push(name.clone());
                }
                previous = "";
            }
        }
    }
    found
}

fn is_negation(word: &str) -> bool {
    KEEPS.contains(&word) || word.ends_with("n't")
}

/// Returns whether a file changes by what follows its name, or nothing if that does not say it:
/// "has to be updated" says that it does, "must pass" that it does not.
fn said_of_file(rest: &[SentenceWord], reading: SentenceReading) -> Option<bool> {
    let mut rest = rest.iter().peekable();
    let mut is_modal = false;
    let mut is_explained = false;
    while let Some(word) = rest.next() {
        let SentenceWord::Plain(word) = word else {
            if is_explained {
                // "a.py: b.py fails" says nothing of the first.
                return None;
            }
            // "a.py, b.py must change"
            continue;
        };
        let word = word.as_str();
        if word == ":" {
            is_explained = true;
        } else if matches!(word, "and" | "or") {
            // Only other files may follow: "read a.py and update b.py" does not update the first.
            if !matches!(rest.peek(), Some(SentenceWord::File(_))) {
                return None;
            }
        } else if is_change_verb(word) && word != "correct" {
            let is_participle = word.ends_with("ed") || word.ends_with("ten");
            return (is_modal || is_participle).then_some(true);
        } else if DESCRIBES.contains(&word) || (is_negation(word) && (is_modal || word != "not")) {
            // "must not change", "stays", but also: "in a.py, not with a dash"
            return Some(false);
        } else if MODAL.contains(&word) || (is_modal && matches!(word, "be" | "to")) {
            is_modal = true;
        } else if word == "to" {
            // "for a.py to pass", but also: "change a.py to expect that"
            let passes = |next: &&&SentenceWord| match next {
                SentenceWord::Plain(next) => DESCRIBES.contains(&next.as_str()),
                SentenceWord::File(_) => false,
            };
            return rest.peek().filter(passes).map(|_| false);
        } else {
            // What must be otherwise is where something is to be done, but nothing says that this
            // file changes.
            let is_required = is_modal && reading == SentenceReading::Changes;
            return is_required.then_some(false);
        }
    }
    None
}

/// Returns true if a word is any form of a verb which says that something changes.
fn is_change_verb(word: &str) -> bool {
    CHANGES.iter().any(|verb| {
        let stem = verb.trim_end_matches(['e', 'y']);
        word.strip_prefix(stem)
            .is_some_and(|end| FORMS.contains(&end))
    })
}

/// Returns true if such a word is not a verb: "the change", "is correct".
fn is_noun_after(word: &str, previous: &str) -> bool {
    BEFORE_NOUN.contains(&previous)
        || (word == "correct" && matches!(previous, "is" | "are" | "be" | "more"))
}

fn split_words(sentence: &str) -> Vec<SentenceWord> {
    let parts = sentence.split(|c: char| c.is_whitespace() || "`\"()[]{}<>,".contains(c));
    let mut words = Vec::new();
    for part in parts {
        let name = part.trim_matches([':', '.', '*', '\'']);
        if is_file_name(name) {
            words.push(SentenceWord::File(name.to_owned()));
            if part.ends_with(':') {
                words.push(SentenceWord::Plain(":".to_owned()));
            }
            continue;
        }
        let plain = part.split(|c: char| !c.is_alphabetic() && c != '\'');
        let plain = plain.filter(|word| !word.is_empty());
        words.extend(plain.map(|word| SentenceWord::Plain(word.to_lowercase())));
    }
    words
}

/// Returns true if a word is a file name: something with an extension, with or without directories.
fn is_file_name(word: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or_default();
    let Some((stem, end)) = last.rsplit_once('.') else {
        return false;
    };
    let is_end = (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric());
    let is_number = stem.chars().all(|c| c.is_ascii_digit() || c == '.');
    !stem.is_empty() && is_end && !is_number && !word.contains("..") && !word.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_said_to_change_are_named() {
        for (text, names) in [
            (
                "Join with an underscore; update tests/test_slug.py and `test_url.py`.",
                &["tests/test_slug.py", "test_url.py"][..],
            ),
            (
                "Join with an underscore in slug.py; update the existing test in test_slug.py",
                &["test_slug.py"],
            ),
            ("Update the tests for dashes in a_test.go.", &["a_test.go"]),
            ("Change a.py and b.py to expect dashes", &["a.py", "b.py"]),
            (
                "a.py, b.py and c.py must be adapted",
                &["a.py", "b.py", "c.py"],
            ),
            ("a.test.ts has to change", &["a.test.ts"]),
            ("Tests that have to be updated: a.py", &["a.py"]),
            ("- tests/a.py: changed. tests/b.py fails", &["tests/a.py"]),
            ("You have to rewrite 'a.py'", &["a.py"]),
            ("As slug.py changes, update a.py", &["a.py"]),
        ] {
            assert_eq!(named_to_change(text), names, "{text}");
        }
    }

    #[test]
    fn a_text_asks_for_something_in_what_it_names_and_does_not_measure_by() {
        for (text, places) in [
            (
                "Mend `indent` in a.py: empty lines must not get it.",
                &["a.py"][..],
            ),
            ("Make the parser in a.rs faster", &["a.rs"]),
            ("The join in a.py is wrong", &["a.py"]),
            ("a.py must accept bytes, as b.py does", &["a.py", "b.py"]),
            (
                "Join with an underscore in a.py, not with a dash",
                &["a.py"],
            ),
            ("Mend a.py so that check.sh passes", &["a.py"]),
            ("Mend a.py: check.sh fails", &["a.py"]),
            ("Mend a.py, but leave b.py unchanged", &["a.py"]),
            ("Keep a.py as it is and change b.py", &["b.py"]),
            ("Do not touch a.py; b.py is slow", &["b.py"]),
            ("Make check.sh pass", &[]),
            ("Go on until check.sh is green", &[]),
            ("check.sh must pass", &[]),
        ] {
            let names = sentences(text).flat_map(|s| files_of_sentence(s, SentenceReading::Places));
            let names: Vec<String> = names.collect();
            assert_eq!(names, places, "{text}");
        }
    }

    #[test]
    fn files_that_have_to_pass_or_stay_are_not_named() {
        for text in [
            "Make tests/test_slug.py pass",
            "Do not change tests/test_slug.py",
            "Change it, tests/test_slug.py must not be touched",
            "tests/test_slug.py stays unchanged",
            "Update all of tests/ to version 1.2",
            "Update it as https://example.org/x.py says",
            "Change the code so that tests/test_slug.py passes",
            "Change the code for test_slug.py to pass",
            "Change it until test_slug.py is green",
            "Correct the code, test_slug.py describes it",
            "Change the code which is tested in test_slug.py",
            "Read test_slug.py and update the code",
            "See test_slug.py, update the code",
            "The correct answer stands in test_slug.py",
            "Everything in test_slug.py is correct",
            "It works correctly with test_slug.py",
            "Only edit the code (the tests are in test_slug.py)",
            "Update the code, test_slug.py is right",
            "The change is described in test_slug.py",
        ] {
            assert_eq!(named_to_change(text), [""; 0], "{text}");
        }
    }
}
