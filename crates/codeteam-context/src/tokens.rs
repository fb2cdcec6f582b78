//! Counts tokens, as a measure of how long a text is for a model.
//!
//! It is the count of one encoding, OpenAI's `o200k`. Models of others count in their own ways, some
//! by a fifth more, so this is for people who compare; what a worker has used, it says itself.

/// How many tokens a text is. The first call takes some tens of milliseconds, for the dictionary.
pub fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
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
