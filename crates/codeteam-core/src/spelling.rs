//! Guesses which known word a mistyped one was meant to be.

/// Returns the word nearest to `typed`, if it is near enough to be a likely misspelling of it.
pub fn nearest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long text is not a misspelt word, and comparing it would take time.
    if typed.len() > 100 {
        return None;
    }
    words
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|(distance, word)| *distance <= 1 + word.len().max(typed.len()) / 4)
        .min()
        .map(|(_, word)| word)
}

/// Suggests a replacement for an unknown word: the nearest known one, or all if they are few.
pub fn suggest_word<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let words: Vec<&str> = words.into_iter().collect();
    match nearest(typed, words.iter().copied()) {
        Some(word) => Some(format!("did you mean `{word}`?")),
        None if words.is_empty() || words.len() > 24 => None,
        None => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            Some(format!("known here: {}", words.join(", ")))
        }
    }
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let words = ["implement", "review", "commit"];
        assert_eq!(nearest("implemnt", words), Some("implement"));
        assert_eq!(nearest("comit", words), Some("commit"));
        assert_eq!(nearest("banana", words), None);
    }
}
