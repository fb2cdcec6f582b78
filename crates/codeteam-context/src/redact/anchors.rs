//! The literals one of which every secret has in it or before it, and the one scan for them all.

use std::sync::LazyLock;

use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, MatchKind, StartKind};

use crate::redact::assignment::{self, Name};
use crate::redact::formats;

/// A literal that was found.
pub(super) struct Anchor {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static Kind,
}

/// What may be where a literal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of these formats begins.
    Formats(Vec<usize>),
    /// The colon of a Telegram bot's token.
    Bot,
    /// The name of something secret.
    Name(Name),
    /// The authority of a URL follows.
    Url,
    /// The value of the header follows.
    Authorization,
    /// A bearer's token follows.
    Bearer,
    /// A private key begins.
    Pem,
}

struct Anchors {
    automaton: DFA,
    kinds: Vec<Kind>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(build);

/// All literals, in lower case. None may contain another: the scan would stop at the inner one.
fn literals() -> Vec<(&'static str, Kind)> {
    let mut literals = vec![
        ("-----begin ", Kind::Pem),
        ("://", Kind::Url),
        (r":\/\/", Kind::Url),
        (":aa", Kind::Bot),
        ("authorization", Kind::Authorization),
        ("bearer", Kind::Bearer),
    ];
    literals.extend(assignment::NAMES.map(|(literal, name)| (literal, Kind::Name(name))));
    for (which, start) in formats::starts() {
        match literals.iter_mut().find(|(literal, _)| *literal == start) {
            Some((_, Kind::Formats(formats))) => formats.push(which),
            _ => literals.push((start, Kind::Formats(vec![which]))),
        }
    }
    literals
}

#[expect(
    clippy::expect_used,
    reason = "the literals are few and always the same"
)]
fn build() -> Anchors {
    let (literals, kinds): (Vec<_>, Vec<_>) = literals().into_iter().unzip();
    let automaton = DFA::builder()
        .match_kind(MatchKind::Standard)
        .start_kind(StartKind::Unanchored)
        .ascii_case_insensitive(true)
        .build(literals)
        .expect("an automaton of the anchors");
    Anchors { automaton, kinds }
}

/// The first literal at or after `at`.
pub(super) fn find(text: &str, at: usize) -> Option<Anchor> {
    let anchors = &*ANCHORS;
    let input = Input::new(text).range(at..).anchored(Anchored::No);
    let found = anchors.automaton.try_find(&input).ok()??;
    Some(Anchor {
        start: found.start(),
        end: found.end(),
        kind: anchors.kinds.get(found.pattern().as_usize())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_literal_hides_another() {
        let literals = literals();
        for (i, (outer, _)) in literals.iter().enumerate() {
            assert_eq!(*outer, outer.to_lowercase());
            for (j, (inner, _)) in literals.iter().enumerate() {
                assert!(
                    i == j || !outer.contains(inner),
                    "`{outer}` has `{inner}` in it"
                );
            }
        }
    }
}
