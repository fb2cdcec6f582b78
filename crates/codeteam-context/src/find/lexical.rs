//! Ranks texts by words, with BM25.

use super::query::QueryTerm;
use super::words::WordBag;

/// BM25's k1: how quickly repetitions of a word stop counting.
const K1: f64 = 1.2;
/// BM25's b for texts whose lengths vary as those of files do.
pub(super) const LONG: f64 = 0.75;
/// BM25's b for short texts, such as paths.
pub(super) const SHORT: f64 = 0.5;

/// Returns the BM25 score of each text; rare words weigh more.
pub(super) fn bm25(terms: &[QueryTerm], texts: &[&WordBag], b: f64) -> Vec<f64> {
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
                *score += term.weight * rarity * count * (K1 + 1.0) / (count + K1 * long);
            }
        }
    }
    scores
}

/// Returns how rare each word is in the texts.
pub(super) fn word_rarities(terms: &[QueryTerm], texts: &[&WordBag]) -> Vec<f64> {
    let having = |term: &QueryTerm| {
        texts
            .iter()
            .filter(|text| text.count(term.word) > 0)
            .count()
    };
    terms
        .iter()
        .map(|term| rarity(having(term), texts.len()))
        .collect()
}

/// Returns the information value of a word that `having` of `all` texts contain.
#[expect(clippy::cast_precision_loss, reason = "a logarithm needs no more")]
fn rarity(having: usize, all: usize) -> f64 {
    (1.0 + (all as f64 - having as f64 + 0.5) / (having as f64 + 0.5)).ln()
}

/// Returns 1 if a task that names these paths names this file, and 0 otherwise.
pub(super) fn named_path_score(named: &[String], path: &str) -> f64 {
    let fits = |name: &String| {
        path.strip_suffix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    f64::from(u8::from(named.iter().any(fits)))
}
