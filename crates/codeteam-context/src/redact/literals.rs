//! One scan for many literals at once.
//!
//! Of every literal three bytes in a row are chosen, the rarest. Of three bytes in a row one pair
//! begins at an even place, so it is enough to look at every other pair of the text: a load and a
//! test each, none of which waits for another. Where a pair fits the three are looked at, and only
//! where they fit the literals. An automaton has a state to wait for at each byte, which takes more
//! than twice the time; `docs/decisions/0012-redaction.md` has the figures.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

/// Literals to look for, and what each is for.
#[derive(Debug)]
pub(super) struct LiteralMatcher<T> {
    /// The pairs of bytes that are part of a chosen three, one bit for each.
    pairs: Box<[u64; PAIRS / 64]>,
    /// The hashes of the chosen threes, one bit for each.
    threes: Box<[u64; THREES / 64]>,
    /// The literals by these hashes.
    entries: BTreeMap<usize, Vec<LiteralEntry<T>>>,
}

#[derive(Debug)]
struct LiteralEntry<T> {
    text: Vec<u8>,
    case: CaseSensitivity,
    /// The position of the chosen three in it.
    window: usize,
    payload: T,
}

/// The treatment of case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseSensitivity {
    /// It does.
    Exact,
    /// It does not; the literal is in lower case.
    Any,
}

/// A literal in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LiteralMatch<'l, T> {
    pub(super) range: Range<usize>,
    /// The position where a scan has to begin to find it and what comes after it.
    pub(super) window: usize,
    pub(super) payload: &'l T,
}

const PAIRS: usize = 1 << 16;
const THREES: usize = 1 << 15;
/// The bytes of ordinary text, the most frequent first.
const FREQUENT: &[u8] = b" etaoinsrlcdupmfhg_.yb(),:vw\"-kx/=;";

impl<T> LiteralMatcher<T> {
    /// Literals have at least three bytes; shorter ones are left out.
    pub(super) fn new(literals: impl IntoIterator<Item = (String, CaseSensitivity, T)>) -> Self {
        let mut new = Self {
            pairs: Box::new([0; PAIRS / 64]),
            threes: Box::new([0; THREES / 64]),
            entries: BTreeMap::new(),
        };
        for (text, case, what) in literals {
            new.add(text.into_bytes(), case, what);
        }
        new
    }

    fn add(&mut self, text: Vec<u8>, case: CaseSensitivity, what: T) {
        let cost = |window: &[u8]| {
            weight(window[0]) * weight(window[1]) + weight(window[1]) * weight(window[2])
        };
        let windows = text.windows(3).enumerate();
        let Some((window, three)) = windows.min_by_key(|(_, window)| cost(window)) else {
            return;
        };
        for pair in three.windows(2) {
            for a in [pair[0].to_ascii_lowercase(), pair[0].to_ascii_uppercase()] {
                for b in [pair[1].to_ascii_lowercase(), pair[1].to_ascii_uppercase()] {
                    let index = usize::from(u16::from_le_bytes([a, b]));
                    self.pairs[index / 64] |= 1 << (index % 64);
                }
            }
        }
        let hash = hash([three[0], three[1], three[2]]);
        self.threes[hash / 64] |= 1 << (hash % 64);
        self.entries.entry(hash).or_default().push(LiteralEntry {
            text,
            case,
            window,
            payload: what,
        });
    }

    /// The first literal whose window is at or after `at`.
    pub(super) fn find(&self, text: &str, at: usize) -> Option<LiteralMatch<'_, T>> {
        let mut first = None;
        let _ = self.scan(text, at, |found| {
            first = Some(found);
            ControlFlow::Break(())
        });
        first
    }

    /// Visits all literals whose windows are at or after `at`, overlapping ones too.
    pub(super) fn scan<'l>(
        &'l self,
        text: &str,
        at: usize,
        mut visit: impl FnMut(LiteralMatch<'l, T>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let bytes = text.as_bytes();
        let from = bytes.get(at..).unwrap_or_default();
        for (i, pair) in from.chunks_exact(2).enumerate() {
            let index = usize::from(u16::from_le_bytes([pair[0], pair[1]]));
            if self.pairs[index / 64] >> (index % 64) & 1 == 0 {
                continue;
            }
            // The pair begins the three or ends them.
            let place = at + i * 2;
            for window in place.saturating_sub(1).max(at)..=place {
                let Some(&[a, b, c]) = bytes.get(window..window + 3) else {
                    continue;
                };
                let hash = hash([a, b, c]);
                if self.threes[hash / 64] >> (hash % 64) & 1 == 1 {
                    self.visit_window(bytes, window, hash, &mut visit)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Visits the literals whose window is here.
    fn visit_window<'l>(
        &'l self,
        bytes: &[u8],
        window: usize,
        hash: usize,
        visit: &mut impl FnMut(LiteralMatch<'l, T>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for entry in self.entries.get(&hash).into_iter().flatten() {
            let Some(start) = window.checked_sub(entry.window) else {
                continue;
            };
            let range = start..start + entry.text.len();
            let fits = bytes
                .get(range.clone())
                .is_some_and(|here| match entry.case {
                    CaseSensitivity::Exact => here == entry.text,
                    CaseSensitivity::Any => here.eq_ignore_ascii_case(&entry.text),
                });
            if fits {
                visit(LiteralMatch {
                    range,
                    window,
                    payload: &entry.payload,
                })?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the frequency of a byte.
fn weight(byte: u8) -> usize {
    let place = FREQUENT
        .iter()
        .position(|f| *f == byte.to_ascii_lowercase());
    place.map_or(1, |place| FREQUENT.len() + 1 - place)
}

/// The same for both cases of a letter.
fn hash([a, b, c]: [u8; 3]) -> usize {
    let three = u32::from_le_bytes([a, b, c, 0]) | 0x20_2020;
    let mixed = three.wrapping_mul(0x9E37_79B1) >> (u32::BITS - THREES.ilog2());
    mixed as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_are_found_wherever_they_are(
            literals in prop::collection::vec("[a-cé]{3,6}", 1..8),
            text in "[a-cA-Cé ]{0,80}",
            exact: bool,
        ) {
            let case = if exact { CaseSensitivity::Exact } else { CaseSensitivity::Any };
            let all = LiteralMatcher::new(literals.iter().map(|l| (l.clone(), case, l.clone())));
            let mut found = Vec::new();
            let _ = all.scan(&text, 0, |hit| {
                found.push((hit.range.start, hit.payload.clone()));
                ControlFlow::Continue(())
            });
            found.sort();
            let folded = if exact { text.clone() } else { text.to_ascii_lowercase() };
            let mut expected: Vec<(usize, String)> = literals
                .iter()
                .flat_map(|l| (0..text.len()).map(move |at| (at, l.clone())))
                .filter(|(at, l)| folded.as_bytes()[*at..].starts_with(l.as_bytes()))
                .collect();
            expected.sort();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(all.find(&text, 0).is_some(), !found.is_empty());
        }
    }
}
