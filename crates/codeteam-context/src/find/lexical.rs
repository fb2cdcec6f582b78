//! Ranking by words: BM25.

use super::query::Term;
use super::words::Bag;

/// How well each text fits the words: BM25, rare words weighing more.
pub(super) fn bm25(terms: &[Term], texts: &[&Bag], k1: f64, b: f64) -> Vec<f64> {
    let mut scores = vec![0.0; texts.len()];
    let total: u64 = texts.iter().map(|text| u64::from(text.length())).sum();
    if texts.is_empty() || total == 0 {
        return scores;
    }
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more")]
    let mean = total as f64 / texts.len() as f64;
    let mut counts = vec![0_u32; texts.len()];
    for term in terms {
        let mut having = 0;
        for (count, text) in counts.iter_mut().zip(texts) {
            *count = text.count(term.word);
            having += usize::from(*count > 0);
        }
        if having == 0 {
            continue;
        }
        let rarity = rarity(having, texts.len());
        for ((score, count), text) in scores.iter_mut().zip(&counts).zip(texts) {
            if *count > 0 {
                let count = f64::from(*count);
                let long = 1.0 - b + b * f64::from(text.length()) / mean;
                *score += term.weight * rarity * count * (k1 + 1.0) / (count + k1 * long);
            }
        }
    }
    scores
}

/// How much it says that a text has a word, which so many of all have.
#[expect(clippy::cast_precision_loss, reason = "a logarithm needs no more")]
pub(super) fn rarity(having: usize, all: usize) -> f64 {
    (1.0 + (all as f64 - having as f64 + 0.5) / (having as f64 + 0.5)).ln()
}

/// How much a task that names these paths names this file.
pub(super) fn named(named: &[String], path: &str) -> f64 {
    let fits = |name: &String| {
        path.strip_suffix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    f64::from(u8::from(named.iter().any(fits)))
}
