//! What past commits say of a task.

use super::history::CommitHistory;
use super::lexical;
use super::query::TaskQuery;
use super::words::WordBag;

/// How many of the commits most alike are looked at.
const ALIKE: usize = 40;
/// After so many commits a change counts half.
const FORGOTTEN: f64 = 200.0;
/// A file that was changed so few times says little of what it is changed with.
pub(super) const DOUBT: f64 = 3.0;

/// The past commits most like a task, by their messages, with how much: the most alike is 1.
pub(super) fn alike(query: &TaskQuery, history: &CommitHistory<'_>) -> Vec<(usize, f64)> {
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

/// For each file, how much such commits changed it. One that touched many files says less of each.
pub(super) fn changed_by(alike: &[(usize, f64)], history: &CommitHistory<'_>) -> Vec<f64> {
    let mut found = vec![0.0; history.of_file.len()];
    for (at, part) in alike {
        let commit = &history.commits[*at];
        for file in &commit.files {
            found[*file as usize] += part * part / commit.breadth();
        }
    }
    found
}

/// How often each file was changed, changes long ago counting less.
pub(super) fn often(history: &CommitHistory<'_>) -> Vec<f64> {
    let recent = |at: &u32| 1.0 / (1.0 + f64::from(*at) / FORGOTTEN);
    let often = |commits: &Vec<u32>| commits.iter().map(recent).sum::<f64>().ln_1p();
    history.of_file.iter().map(often).collect()
}

/// For each file, how much it was changed together with what was found.
pub(super) fn together(history: &CommitHistory<'_>, seeds: &[(usize, f64)]) -> Vec<f64> {
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
