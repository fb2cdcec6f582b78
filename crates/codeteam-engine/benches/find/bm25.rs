//! The baseline: BM25 with its usual parameters, over the words of the text and of the path, by the
//! same splitter.

use codeteam_context::find::CandidateFile;
use codeteam_context::find::words::WordBag;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The first files for a text.
pub(crate) fn rank<'a>(text: &str, files: &[CandidateFile<'a>], limit: usize) -> Vec<&'a str> {
    let query = WordBag::from_text(text);
    let paths: Vec<WordBag> = files
        .iter()
        .map(|file| WordBag::from_text(file.path))
        .collect();
    let lengths: Vec<f64> = files
        .iter()
        .zip(&paths)
        .map(|(file, path)| f64::from(file.sketch.words.length() + path.length()))
        .collect();
    let mean = lengths.iter().sum::<f64>() / files.len() as f64;
    let mut scores = vec![0.0; files.len()];
    for (word, times) in query.iter() {
        let counts: Vec<f64> = files
            .iter()
            .zip(&paths)
            .map(|(file, path)| f64::from(file.sketch.words.count(word) + path.count(word)))
            .collect();
        let having = counts.iter().filter(|count| **count > 0.0).count() as f64;
        let idf = (1.0 + (files.len() as f64 - having + 0.5) / (having + 0.5)).ln();
        for ((score, count), length) in scores.iter_mut().zip(&counts).zip(&lengths) {
            let long = 1.0 - B + B * length / mean;
            *score += f64::from(times) * idf * count * (K1 + 1.0) / (count + K1 * long);
        }
    }
    let mut order: Vec<usize> = (0..files.len()).filter(|at| scores[*at] > 0.0).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order
        .into_iter()
        .take(limit)
        .map(|at| files[at].path)
        .collect()
}
