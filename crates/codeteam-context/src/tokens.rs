//! Counts tokens, as a measure of how long a text is for a model.
//!
//! It is the count of one encoding, OpenAI's `o200k`. Models of others count in their own ways, some
//! by a fifth more, so this is for people who compare and for budgets; what a worker has used, it
//! says itself.

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

use merge::Merger;

/// How many tokens a text is.
pub fn count(text: &str) -> usize {
    thread_local! {
        static COUNTER: RefCell<Counter> = RefCell::default();
    }
    COUNTER.with_borrow_mut(|counter| counter.count(text))
}

/// Counts tokens; remembers the pieces it has met.
#[derive(Default)]
pub struct Counter {
    merger: Merger,
}

impl Counter {
    /// One that has met nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many tokens a text is.
    pub fn count(&mut self, text: &str) -> usize {
        let text = text.as_bytes();
        let mut start = 0;
        let mut count = 0;
        while start < text.len() {
            let end = pieces::end(text, start);
            count += self.piece(&text[start..end]);
            start = end;
        }
        count
    }

    fn piece(&mut self, piece: &[u8]) -> usize {
        let known = if piece.len() <= hash::SHORT {
            vocabulary::has_key(hash::key(piece))
        } else {
            vocabulary::has_long(piece)
        };
        if known { 1 } else { self.merger.count(piece) }
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
