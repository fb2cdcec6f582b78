//! Counts the tokens of one piece by merging: of all neighbours, the two with the lowest rank
//! become one token, the leftmost first, until nothing merges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary;

/// Up to here neighbours are looked through for each merge; beyond, a heap knows the next one.
const SMALL: usize = 64;
/// Bits of a place in it.
const PLACE_BITS: u32 = 6;
/// Longer pieces are counted in parts.
const PART: usize = 4096;
/// The length of a part that is counted again with the next one. No token is longer than half of
/// it.
const OVERLAP: usize = 256;

/// Nothing merges here.
const NEVER: u32 = u32::MAX;

/// Merges; keeps its memory from piece to piece.
#[derive(Default)]
pub(super) struct TokenMerger {
    /// By the place of a token's first byte: the token, what it merges to with the next one, and
    /// where the next and the one before begin.
    nodes: Vec<MergeNode>,
    /// The merges to come: what two tokens merge to, in front of the place of the first.
    heap: BinaryHeap<Reverse<u64>>,
    /// The ends of the tokens of a part.
    ends: Vec<usize>,
}

#[derive(Clone, Copy)]
struct MergeNode {
    token: u32,
    merged: u32,
    next: u32,
    before: u32,
}

impl TokenMerger {
    /// Counts the tokens of a piece.
    pub(super) fn count(&mut self, piece: &[u8]) -> usize {
        match piece.len() {
            0..=16 => small::<16>(piece),
            17..=SMALL => small::<SMALL>(piece),
            _ => self
                .count_in_parts(piece, PART, OVERLAP)
                .unwrap_or_else(|| self.token_ends(piece).len()),
        }
    }

    /// Counts part by part. Tokens in a row are what merging gives if each two neighbours of them
    /// are what merging gives. So a part may be cut between two of its tokens, and what follows be
    /// merged by itself, if its first token and the last one before it stay as they are when merged
    /// with each other; else there is no count.
    fn count_in_parts(&mut self, piece: &[u8], part: usize, overlap: usize) -> Option<usize> {
        let mut count = 0;
        let mut start = 0;
        let mut before = 0..0;
        loop {
            let stop = piece.len().min(start + part);
            let ends = self.token_ends(&piece[start..stop]);
            let first = *ends.first()?;
            let last = if stop == piece.len() {
                ends.len()
            } else {
                ends.partition_point(|&end| end <= part - overlap)
            };
            count += last;
            let end = ends[last - 1];
            let begin = if last > 1 { ends[last - 2] } else { 0 };
            let joint = before.start..start + first;
            if start > 0 && self.token_ends(&piece[joint]) != [before.len(), before.len() + first] {
                return None;
            }
            if stop == piece.len() {
                return Some(count);
            }
            before = start + begin..start + end;
            start += end;
        }
    }

    /// Returns the ends of the tokens of some bytes.
    fn token_ends(&mut self, bytes: &[u8]) -> &[usize] {
        self.lay_out(bytes);
        while let Some(Reverse(merge)) = self.heap.pop() {
            let (merged, at) = ((merge >> 32) as u32, (merge & 0xffff_ffff) as u32);
            let own = self.nodes[at as usize];
            if own.merged != merged {
                continue;
            }
            let gone = self.nodes[own.next as usize];
            self.nodes[own.next as usize].merged = NEVER;
            self.nodes[at as usize].token = merged;
            self.nodes[at as usize].next = gone.next;
            if let Some(after) = self.nodes.get_mut(gone.next as usize) {
                after.before = at;
            }
            self.update_merge(at);
            if at > 0 {
                self.update_merge(own.before);
            }
        }
        self.ends.clear();
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            at = node.next as usize;
            self.ends.push(at);
        }
        &self.ends
    }

    fn lay_out(&mut self, bytes: &[u8]) {
        self.nodes.clear();
        let nodes = (0..).zip(bytes).map(|(at, &byte)| MergeNode {
            token: vocabulary::byte_token(byte),
            merged: NEVER,
            next: at + 1,
            before: at.saturating_sub(1),
        });
        self.nodes.extend(nodes);
        self.heap.clear();
        for at in (0..).take(bytes.len()) {
            self.update_merge(at);
        }
    }

    /// Looks what a token merges to with the next one.
    fn update_merge(&mut self, at: u32) {
        let own = self.nodes[at as usize];
        let next = self.nodes.get(own.next as usize);
        let merged = next.and_then(|next| vocabulary::merged(own.token, next.token));
        self.nodes[at as usize].merged = merged.unwrap_or(NEVER);
        if let Some(merged) = merged {
            let merge = u64::from(merged) << 32 | u64::from(at);
            self.heap.push(Reverse(merge));
        }
    }
}

/// Counts a piece of at most [`SMALL`] bytes, of which there are at most `N`.
fn small<const N: usize>(piece: &[u8]) -> usize {
    // By the place of a token's first byte: the token, and what it merges to with the next one, in
    // front of its place, so that the least of these is the next merge.
    let mut tokens = [0; SMALL];
    let mut next = [NEVER; N];
    let look = |left: u32, right: u32, at: u32| match vocabulary::merged(left, right) {
        Some(token) => (token << PLACE_BITS) | at,
        None => NEVER,
    };
    for (token, &byte) in tokens.iter_mut().zip(piece) {
        *token = vocabulary::byte_token(byte);
    }
    for ((at, two), next) in (0..).zip(tokens[..piece.len()].windows(2)).zip(&mut next) {
        *next = look(two[0], two[1], at);
    }
    // Where tokens begin, as bits.
    let mut begins = u64::MAX >> (SMALL - piece.len().clamp(1, SMALL));
    loop {
        let least = next.iter().fold(NEVER, |least, &next| least.min(next));
        if least == NEVER {
            return begins.count_ones() as usize;
        }
        let (token, at) = (least >> PLACE_BITS, least % (1 << PLACE_BITS));
        let place = at as usize;
        let behind = u64::MAX << at << 1;
        let gone = (begins & behind).trailing_zeros() as usize % SMALL;
        begins &= !(1 << gone);
        next[gone] = NEVER;
        tokens[place] = token;
        next[place] = match begins & behind {
            0 => NEVER,
            after => look(token, tokens[after.trailing_zeros() as usize], at),
        };
        let before = begins & !(u64::MAX << at);
        if before != 0 {
            let before = before.ilog2();
            next[before as usize] = look(tokens[before as usize], token, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts this short, cut at their ends, are often cut where a token would be.
    #[test]
    fn parts_are_counted_as_the_whole_or_not_at_all() {
        let mut merger = TokenMerger::default();
        let (mut counted, mut refused) = (0, 0);
        let words = "internationalisationaaaaaaabcabcabc____________======漢字仮名交じり文";
        let text = words.repeat(3);
        for start in 0..words.len() {
            for length in 1..100 {
                let piece = &text.as_bytes()[start..start + length];
                let whole = merger.token_ends(piece).len();
                for part in [3, 7, 16, 40] {
                    match merger.count_in_parts(piece, part, 0) {
                        Some(count) => {
                            assert_eq!(count, whole, "{start} {length} {part}");
                            counted += 1;
                        }
                        None => refused += 1,
                    }
                }
            }
        }
        assert!(counted > 1000 && refused > 1000, "{counted} {refused}");
    }

    #[test]
    fn long_pieces_are_counted_in_parts() {
        let mut merger = TokenMerger::default();
        for text in ["a", "ab", " ", "漢", "international", "=-"] {
            let piece = text.repeat(40_000 / text.len());
            let count = merger.count_in_parts(piece.as_bytes(), PART, OVERLAP);
            assert_eq!(
                count,
                Some(merger.token_ends(piece.as_bytes()).len()),
                "{text}"
            );
        }
    }

    #[test]
    fn small_pieces_are_merged_as_long_ones_are() {
        let mut merger = TokenMerger::default();
        let text = "antidisestablishmentarianism-漢字仮名交じり文{}();//  \t\t__init__".repeat(2);
        for start in 0..text.len() {
            for end in start + 1..text.len().min(start + SMALL) {
                let piece = &text.as_bytes()[start..end];
                assert_eq!(
                    merger.count(piece),
                    merger.token_ends(piece).len(),
                    "{piece:?}"
                );
            }
        }
    }
}
