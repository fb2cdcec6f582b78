//! Ranking by past commits.

use super::history::History;
use super::lexical;
use super::query::Query;
use super::words::Bag;

/// How many of the commits most alike are looked at.
const ALIKE: usize = 40;

/// For each file, how much past commits that changed it are like the task.
pub(super) fn alike(query: &Query, history: &History<'_>, files: usize) -> Vec<f64> {
    let mut found = vec![0.0_f64; files];
    let texts: Vec<&Bag> = history.commits.iter().map(|commit| commit.words).collect();
    let scores = lexical::bm25(&query.terms, &texts, 1.2, 0.5);
    let mut best: Vec<(usize, f64)> = scores.into_iter().enumerate().filter(|(_, s)| *s > 0.0).collect();
    best.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    best.truncate(ALIKE);
    let Some(most) = best.first().map(|(_, score)| *score) else {
        return found;
    };
    for (at, score) in &best {
        let commit = &history.commits[*at];
        #[expect(clippy::cast_precision_loss, reason = "a count of at most 50")]
        let spread = (commit.touched as f64).sqrt();
        for file in &commit.files {
            found[*file as usize] += (score / most).powi(2) / spread;
        }
    }
    let top = found.iter().copied().fold(0.0, f64::max);
    for value in &mut found {
        *value /= top;
    }
    found
}

/// How often each file was changed, changes long ago counting less.
#[expect(clippy::cast_precision_loss, reason = "thousands of commits")]
pub(super) fn often(history: &History<'_>) -> Vec<f64> {
    let recent = |at: &u32| 1.0 / (1.0 + f64::from(*at) / 200.0);
    let mut often: Vec<f64> = history
        .of_file
        .iter()
        .map(|commits| commits.iter().map(recent).sum::<f64>().ln_1p())
        .collect();
    let top = often.iter().copied().fold(0.0, f64::max);
    if top > 0.0 {
        for value in &mut often {
            *value /= top;
        }
    }
    often
}

/// For each file, how much it was changed together with what was found.
#[expect(clippy::cast_precision_loss, reason = "thousands of commits")]
pub(super) fn together(history: &History<'_>, seeds: &[(usize, f64)], files: usize) -> Vec<f64> {
    let mut found = vec![0.0_f64; files];
    let total: f64 = seeds.iter().map(|(_, score)| score).sum();
    for (seed, score) in seeds {
        let commits = &history.of_file[*seed];
        let mut with: Vec<(u32, f64)> = Vec::new();
        for at in commits {
            let commit = &history.commits[*at as usize];
            let weight = 1.0 / (commit.touched as f64).sqrt();
            with.extend(commit.files.iter().filter(|f| **f as usize != *seed).map(|f| (*f, weight)));
        }
        let share = score / total / (commits.len() as f64 + 3.0);
        for (file, weight) in with {
            found[file as usize] += weight * share;
        }
    }
    let top = found.iter().copied().fold(0.0, f64::max);
    if top > 0.0 {
        for value in &mut found {
            *value /= top;
        }
    }
    found
}
