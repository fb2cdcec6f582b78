//! Finds the files of a checkout that matter for a task: walks it, reads its history, and has
//! [`codeteam_context::find`] rank.

use std::path::{Path, PathBuf};
use std::thread;

use codeteam_context::cache;
use codeteam_context::find::meaning::{self, EmbeddingModel};
use codeteam_context::find::{
    CandidateFile, Commit, CommitHistory, RankedFile, RankingOptions, SearchCorpus, SketchIndex,
    rank,
};
use codeteam_context::tree::{self, FileTree};
use serde::{Deserialize, Serialize};

use crate::git::{self, Oid, Repo};

/// The most commits that are looked back at.
const COMMITS: usize = 10_000;
/// The file with past commits in the folder of the cache, and its version.
const HISTORY: &str = "history";
const VERSION: u32 = 1;

/// Where to look.
#[derive(Clone, Debug)]
pub struct FileSearch<'a> {
    /// The top of the checkout, or of a folder that is none.
    pub root: &'a Path,
    /// Only files below this folder of it, as `src/web`; all if empty.
    pub below: &'a str,
    /// Whose history counts, and from which commit.
    pub history: Option<(&'a Repo, &'a Oid)>,
    /// The folder of a model of meanings.
    pub model: Option<PathBuf>,
    /// Where what was worked out is kept.
    pub cache: Option<PathBuf>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct SearchResults {
    /// The files, best first.
    pub found: Vec<RankedFile>,
    /// Among how many.
    pub files: usize,
    /// By how many past commits.
    pub commits: usize,
    /// What could not be taken into account.
    pub notes: Vec<String>,
}

/// Why nothing could be found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files cannot be had.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] meaning::Error),
}

/// How far it is: so many files of so many.
pub type SearchProgress<'p> = &'p (dyn Fn(usize, usize) + Sync);

/// Ranks the files of a checkout for the text of a task.
pub fn find(
    text: &str,
    search: &FileSearch<'_>,
    options: &RankingOptions,
    progress: SearchProgress<'_>,
) -> Result<SearchResults, Error> {
    let model = search
        .model
        .as_deref()
        .map(EmbeddingModel::load)
        .transpose()?;
    let cache = search.cache.as_deref();
    let tree = FileTree::walk(search.root, &tree::TreeOptions::default(), &|_| {})?;
    // Git takes a core of its own meanwhile.
    let (sketches, past) = thread::scope(|scope| {
        let past = scope.spawn(|| search.history.map(|(repo, tip)| past(repo, tip, cache)));
        let sketches = SketchIndex::take_with(&tree, cache, progress);
        (sketches, past.join().unwrap_or_default())
    });
    let mut notes = Vec::new();
    let commits = match past.transpose() {
        Ok(commits) => commits.unwrap_or_default(),
        Err(error) => {
            notes.push(format!("the history is not taken into account: {error}"));
            Vec::new()
        }
    };
    let within = |candidate: &CandidateFile<'_>| is_below(candidate.path, search.below);
    let files: Vec<CandidateFile<'_>> = sketches.candidates().filter(within).collect();
    let history = (!commits.is_empty())
        .then(|| CommitHistory::new(&commits, files.iter().map(|file| file.path)));
    let meaning = model.map(|model| model.nearness(text, &files, &tree, cache));
    let corpus = SearchCorpus {
        files,
        look: Some(&sketches),
        history: history.as_ref(),
        meaning,
    };
    let found = rank(text, &corpus, options);
    // What cannot be kept is worked out again.
    let _ = sketches.save();
    Ok(SearchResults {
        found,
        files: corpus.files.len(),
        commits: commits.len(),
        notes,
    })
}

/// Whether a file is below a folder.
fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
}

/// Past commits, as they are kept.
#[derive(Serialize, Deserialize)]
struct CachedCommits {
    tip: String,
    commits: Vec<Commit>,
}

/// The commits up to `tip`, newest first. Those that were read before are not read again.
pub(crate) fn past(
    repo: &Repo,
    tip: &Oid,
    cache: Option<&Path>,
) -> Result<Vec<Commit>, git::Error> {
    let place = cache.map(|folder| folder.join(HISTORY));
    let kept: Option<CachedCommits> = place.as_ref().and_then(|place| cache::load(place, VERSION));
    let commits = match kept {
        Some(kept) if kept.tip == tip.as_str() => return Ok(kept.commits),
        Some(kept) => after(repo, tip, kept)?,
        None => None,
    };
    let commits = match commits {
        Some(commits) => commits,
        None => repo.history(tip, None, COMMITS)?,
    };
    let kept = CachedCommits {
        tip: tip.as_str().to_owned(),
        commits,
    };
    if let Some(place) = place {
        // What cannot be kept is read again.
        let _ = cache::save(&place, VERSION, &kept);
    }
    Ok(kept.commits)
}

/// The commits up to `tip`, if it comes after what is kept.
fn after(repo: &Repo, tip: &Oid, kept: CachedCommits) -> Result<Option<Vec<Commit>>, git::Error> {
    let Some(known) = Oid::parse(&kept.tip) else {
        return Ok(None);
    };
    if !repo.is_ancestor(&known, tip)? {
        return Ok(None);
    }
    let mut commits = repo.history(tip, Some(&known), COMMITS)?;
    commits.extend(kept.commits);
    commits.truncate(COMMITS);
    Ok(Some(commits))
}
