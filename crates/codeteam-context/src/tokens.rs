//! Counts tokens, as a measure of how long a text is for a model.
//!
//! It is the count of one encoding, OpenAI's `o200k`. Models of others count in their own ways, some
//! by a fifth more, so this is for people who compare and for budgets; what a worker has used, it
//! says itself.

mod blocks;
mod classes;
#[expect(
    clippy::cast_possible_truncation,
    reason = "hashes are cut, and tables are small"
)]
mod hash;
mod merge;
mod pieces;
mod vocabulary;

use std::cell::RefCell;

use merge::TokenMerger;

thread_local! {
    static COUNTER: RefCell<TokenCounter> = RefCell::default();
}

/// Counts the tokens of a text. Each thread has a [`TokenCounter`] for this.
pub fn count(text: &str) -> usize {
    COUNTER.with_borrow_mut(|counter| counter.count(text))
}

/// Returns how many bytes of a text are at most `max` tokens. See [`TokenCounter::prefix_length`].
pub fn prefix_length(text: &str, max: usize) -> usize {
    COUNTER.with_borrow_mut(|counter| counter.prefix_length(text, max))
}

/// Counts tokens; remembers pieces it has met, a fixed number of them.
pub struct TokenCounter {
    /// Keys of short pieces, each where its hash says, with its count in the four uppermost bits.
    seen_pieces: Box<[u128]>,
    merger: TokenMerger,
}

/// The most pieces that a counter remembers.
const MET: usize = 1 << 15;
/// The position of a piece's count.
const COUNT: u32 = 124;
/// A block, and enough after it to read a key from any place of it.
const WINDOW: usize = blocks::BLOCK + 16;

impl Default for TokenCounter {
    fn default() -> Self {
        Self {
            seen_pieces: vec![0; MET].into(),
            merger: TokenMerger::default(),
        }
    }
}

impl TokenCounter {
    /// One that has met nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts the tokens of a text.
    pub fn count(&mut self, text: &str) -> usize {
        self.walk(text.as_bytes(), usize::MAX).1
    }

    /// Returns how many bytes of a text are at most `max` tokens: the text up to there, by itself,
    /// has no more. It ends between two words or the like, never within one, so there may be room
    /// for a part of the next.
    pub fn prefix_length(&mut self, text: &str, max: usize) -> usize {
        let text = text.as_bytes();
        let length = self.walk(text, max).0;
        pieces::stable_cut(text, length)
    }

    /// Counts pieces as long as they are at most `max` tokens: how many bytes and tokens that are.
    fn walk(&mut self, text: &[u8], max: usize) -> (usize, usize) {
        let mut start = 0;
        let mut count = 0;
        while start < text.len() {
            if let Some(window) = text[start..].first_chunk() {
                let (length, tokens, whole) = self.count_block(window);
                if count + tokens <= max {
                    start += length;
                    count += tokens;
                    if whole {
                        continue;
                    }
                }
            }
            let end = pieces::piece_end(text, start);
            let tokens = self.count_piece(&text[start..end]);
            if count + tokens > max {
                break;
            }
            count += tokens;
            start = end;
        }
        (start, count)
    }

    /// Counts what pieces end in a block: how many bytes and tokens they are, and whether the next
    /// piece may be looked for in a block, too.
    #[inline]
    fn count_block(&mut self, window: &[u8; WINDOW]) -> (usize, usize, bool) {
        let starts = match window.first_chunk() {
            Some(block) => blocks::find_piece_starts(block),
            None => return (0, 0, false),
        };
        let mut rest = starts.bits & !1;
        let mut start = 0;
        let mut count = 0;
        while rest != 0 {
            let end = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let length = end - start;
            count += if length <= hash::SHORT {
                let key = hash::key_at(window, start, length);
                self.count_short_piece(key, &window[start..end])
            } else {
                self.count_long_piece(&window[start..end])
            };
            start = end;
        }
        (start, count, starts.whole && start > 0)
    }

    fn count_piece(&mut self, piece: &[u8]) -> usize {
        if piece.len() <= hash::SHORT {
            self.count_short_piece(hash::key(piece), piece)
        } else {
            self.count_long_piece(piece)
        }
    }

    #[inline]
    fn count_short_piece(&mut self, key: u128, piece: &[u8]) -> usize {
        let place = hash::place(hash::hash_key(key), MET);
        let met = self.seen_pieces[place];
        if met & !(0xf << COUNT) == key {
            return (met >> COUNT) as usize;
        }
        self.count_new_piece(key, piece, place)
    }

    #[cold]
    #[inline(never)]
    fn count_new_piece(&mut self, key: u128, piece: &[u8], place: usize) -> usize {
        let count = if vocabulary::has_key(key) {
            1
        } else {
            self.merger.count(piece)
        };
        self.seen_pieces[place] = key | (count as u128) << COUNT;
        count
    }

    fn count_long_piece(&mut self, piece: &[u8]) -> usize {
        if vocabulary::has_long(piece) {
            1
        } else {
            self.merger.count(piece)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn words_are_mostly_one_token_each() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("fn main() {}\n"), 4);
        let long = "The quick brown fox jumps over the lazy dog. ".repeat(1_000);
        assert_eq!(count(&long), 10_001);
    }
}
