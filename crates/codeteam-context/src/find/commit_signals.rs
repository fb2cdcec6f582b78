//! Computes the signals that come from past commits.

use super::history::CommitHistory;
use super::lexical;
use super::query::TaskQuery;
use super::words::WordBag;

/// The number of most similar commits that are considered.
const ALIKE: usize = 40;
/// The age, in commits, at which a change counts half.
const FORGOTTEN: f64 = 200.0;
/// Smoothing for co-changes: a file that changed only a few times says little about what it changes
/// with.
pub(super) const DOUBT: f64 = 3.0;

/// Returns the past commits whose messages are most similar to the task, with their similarity; the
/// most similar has 1.
pub(super) fn similar_commits(query: &TaskQuery, history: &CommitHistory<'_>) -> Vec<(usize, f64)> {
    let messages: Vec<&WordBag> = history.commits.iter().map(|commit| commit.words).collect();
    let scores = lexical::bm25(&query.terms, &messages, lexical::SHORT).into_iter();
    let mut best: Vec<(usize, f64)> = scores
        .enumerate()
        .filter(|(_, score)| *score > 0.0)
        .collect();
    best.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    best.truncate(ALIKE);
    let most = best.first().map_or(1.0, |(_, score)| *score);
    for (_, score) in &mut best {
        *score /= most;
    }
    best
}

/// Returns, for each file, how much the similar commits changed it. A commit that touched many
/// files says less about each.
pub(super) fn message_scores(alike: &[(usize, f64)], history: &CommitHistory<'_>) -> Vec<f64> {
    let mut found = vec![0.0; history.of_file.len()];
    for (at, part) in alike {
        let commit = &history.commits[*at];
        for file in &commit.files {
            found[*file as usize] += part * part / commit.breadth();
        }
    }
    found
}

/// Returns how often each file was changed, with older changes counting less.
pub(super) fn frequency_scores(history: &CommitHistory<'_>) -> Vec<f64> {
    let recent = |at: &u32| 1.0 / (1.0 + f64::from(*at) / FORGOTTEN);
    let often = |commits: &Vec<u32>| commits.iter().map(recent).sum::<f64>().ln_1p();
    history.of_file.iter().map(often).collect()
}

/// Returns, for each file, how much it was changed together with the results so far.
pub(super) fn co_change_scores(history: &CommitHistory<'_>, seeds: &[(usize, f64)]) -> Vec<f64> {
    let mut found = vec![0.0; history.of_file.len()];
    for (seed, part) in seeds {
        let commits = &history.of_file[*seed];
        #[expect(clippy::cast_precision_loss, reason = "thousands of commits")]
        let share = part / (commits.len() as f64 + DOUBT);
        for at in commits {
            let commit = &history.commits[*at as usize];
            let others = commit.files.iter().filter(|file| **file as usize != *seed);
            for file in others {
                found[*file as usize] += share / commit.breadth();
            }
        }
    }
    found
}
