//! Finds the files of a checkout that matter for a task: walks the checkout, reads its history, and
//! lets [`codeteam_context::find`] rank the files.

use std::path::{Path, PathBuf};
use std::thread;

use codeteam_context::cache;
use codeteam_context::find::{
    CandidateFile, Commit, CommitHistory, RankedFile, RankingOptions, SearchCorpus, SketchIndex,
    rank_files,
};
use codeteam_context::tree::{self, FileProgress, FileTree};
use serde::{Deserialize, Serialize};

use codeteam_host::git::{self, Oid, Repo};

/// The maximum number of past commits that are read.
const COMMITS: usize = 10_000;
/// The name of the file with past commits in the cache folder, and its version.
const HISTORY: &str = "history";
const VERSION: u32 = 1;

/// The scope and the sources of a search.
#[derive(Clone, Debug)]
pub struct FileSearch<'a> {
    /// The top level of the checkout, or a folder that is not a checkout.
    pub root: &'a Path,
    /// Restricts the search to files below this folder, such as `src/web`; empty for all files.
    pub below: &'a str,
    /// The repository and the commit whose history is used.
    pub history: Option<(&'a Repo, &'a Oid)>,
    /// The folder in which computed facts are cached.
    pub cache: Option<PathBuf>,
}

/// The results of a search.
#[derive(Clone, Debug)]
pub struct SearchResults {
    /// The files, best first.
    pub found: Vec<RankedFile>,
    /// The number of files that were ranked.
    pub files: usize,
    /// The number of past commits that were considered.
    pub commits: usize,
    /// Notes about what could not be considered.
    pub notes: Vec<String>,
}

/// The reasons why a search fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files cannot be listed.
    #[error(transparent)]
    Tree(#[from] tree::Error),
}

/// What a search is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStage {
    /// Files are being listed.
    Listing(FileProgress),
    /// Files are being read.
    Reading {
        /// The number of files done.
        files: usize,
        /// The total number of files.
        of: usize,
    },
    /// The files are done, and git is still reading past commits.
    History,
    /// The files are being ranked.
    Ranking,
}

/// Receives the stage of a search.
pub type SearchProgress<'p> = &'p (dyn Fn(SearchStage) + Sync);

/// Ranks the files of a checkout for the text of a task.
pub fn find_files(
    text: &str,
    search: &FileSearch<'_>,
    options: &RankingOptions,
    progress: SearchProgress<'_>,
) -> Result<SearchResults, Error> {
    let cache = search.cache.as_deref();
    let listed = |files| progress(SearchStage::Listing(files));
    let tree = FileTree::walk(search.root, &tree::TreeOptions::default(), &listed)?;
    // Git reads the history on another core meanwhile.
    let (sketches, past) = thread::scope(|scope| {
        let past = scope.spawn(|| {
            search
                .history
                .map(|(repo, tip)| load_history(repo, tip, cache))
        });
        let read = |files, of| progress(SearchStage::Reading { files, of });
        let sketches = SketchIndex::build_with_progress(&tree, cache, &read);
        progress(SearchStage::History);
        (sketches, past.join().unwrap_or_default())
    });
    progress(SearchStage::Ranking);
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
    let corpus = SearchCorpus {
        files,
        lookup: Some(&sketches),
        history: history.as_ref(),
    };
    let found = rank_files(text, &corpus, options);
    // If the sketches cannot be saved, they are computed again.
    let _ = sketches.save();
    Ok(SearchResults {
        found,
        files: corpus.files.len(),
        commits: commits.len(),
        notes,
    })
}

/// Returns true if a file is below a folder.
fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
}

/// Past commits in the cache.
#[derive(Serialize, Deserialize)]
struct CachedCommits {
    tip: String,
    commits: Vec<Commit>,
}

/// Returns the commits up to `tip`, newest first. Cached commits are not read again.
pub(crate) fn load_history(
    repo: &Repo,
    tip: &Oid,
    cache: Option<&Path>,
) -> Result<Vec<Commit>, git::Error> {
    let place = cache.map(|folder| folder.join(HISTORY));
    let kept: Option<CachedCommits> = place.as_ref().and_then(|place| cache::load(place, VERSION));
    let commits = match kept {
        Some(kept) if kept.tip == tip.as_str() => return Ok(kept.commits),
        Some(kept) => extend_history(repo, tip, kept)?,
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
        // If the commits cannot be cached, they are read again.
        let _ = cache::save(&place, VERSION, &kept);
    }
    Ok(kept.commits)
}

/// Returns the commits up to `tip`, if it descends from the cached tip.
fn extend_history(
    repo: &Repo,
    tip: &Oid,
    kept: CachedCommits,
) -> Result<Option<Vec<Commit>>, git::Error> {
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
