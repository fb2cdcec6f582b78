//! Simulated git trees: files in memory, with a name derived from their content.

use std::collections::BTreeMap;

use codeteam_core::frame::{FrameChange, Tip};
use codeteam_core::ids::{BodyId, Commit, PatchId, Tree, fnv_hash};
use codeteam_core::input::RebaseOutcome;

type TreeFiles = BTreeMap<String, String>;

/// All trees that have existed, and the number of commits.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulatedTrees {
    known: BTreeMap<Tree, TreeFiles>,
    commits: u32,
}

impl SimulatedTrees {
    /// Creates the commit that a run starts from.
    pub(super) fn base(&mut self) -> Tip {
        let tree = self.add(TreeFiles::new());
        self.commit(tree)
    }

    /// Commits a tree.
    pub(super) fn commit(&mut self, tree: Tree) -> Tip {
        self.commits += 1;
        Tip {
            commit: Commit(format!("commit-{}", self.commits)),
            tree,
        }
    }

    /// Creates a commit by someone else on top of a tip.
    pub(super) fn foreign(&mut self, on: &Tip) -> Tip {
        let text = format!("by someone else, on {}", on.commit);
        let tree = self.write(&on.tree, &[("elsewhere.txt".to_owned(), Some(text))]);
        self.commit(tree)
    }

    /// Writes or removes files and returns the resulting tree.
    pub(super) fn write(&mut self, on: &Tree, files: &[(String, Option<String>)]) -> Tree {
        let mut tree = self.files(on);
        for (path, text) in files {
            match text {
                Some(text) => tree.insert(path.clone(), text.clone()),
                None => tree.remove(path),
            };
        }
        self.add(tree)
    }

    /// Returns the change that leads from one tree to another.
    pub(super) fn change(&self, by: &str, from: &Tree, to: &Tree) -> FrameChange {
        let (old, new) = (self.files(from), self.files(to));
        let touched = touched(&old, &new);
        let parts: Vec<String> = touched
            .iter()
            .map(|path| format!("{path:?} {:?}", new.get(path)))
            .collect();
        let patch = format!("patch-{:016x}", fnv_hash(&parts.join("\n")));
        FrameChange {
            by: by.to_owned(),
            diff: BodyId(format!("diff of {patch}")),
            patch: PatchId(patch),
            lines: Some(lines_between(&touched, &old, &new)),
            files: touched,
        }
    }

    /// Replays a change on a tip. It always succeeds, because conflicts are scripted.
    pub(super) fn rebase(
        &mut self,
        by: &str,
        base: &Tip,
        changed: &Tree,
        onto: &Tip,
    ) -> RebaseOutcome {
        let (old, ours) = (self.files(&base.tree), self.files(changed));
        let files: Vec<(String, Option<String>)> = touched(&old, &ours)
            .into_iter()
            .map(|path| {
                let text = ours.get(&path).cloned();
                (path, text)
            })
            .collect();
        let tree = self.write(&onto.tree, &files);
        RebaseOutcome::Clean {
            base: onto.clone(),
            change: self.change(by, &onto.tree, &tree),
            tree,
        }
    }

    fn files(&self, tree: &Tree) -> TreeFiles {
        self.known.get(tree).cloned().unwrap_or_default()
    }

    fn add(&mut self, files: TreeFiles) -> Tree {
        let tree = Tree(format!("tree-{:016x}", fnv_hash(&format!("{files:?}"))));
        self.known.insert(tree.clone(), files);
        tree
    }
}

/// Returns an upper bound for the lines that a diff between the files would add and remove.
fn lines_between(touched: &[String], old: &TreeFiles, new: &TreeFiles) -> u32 {
    let lines = |files: &TreeFiles, path: &String| files.get(path).map_or(0, |t| t.lines().count());
    let changed = touched
        .iter()
        .map(|path| lines(old, path) + lines(new, path));
    u32::try_from(changed.sum::<usize>()).unwrap_or(u32::MAX)
}

/// Returns the files that differ.
fn touched(old: &TreeFiles, new: &TreeFiles) -> Vec<String> {
    let mut all: Vec<&String> = old.keys().chain(new.keys()).collect();
    all.sort_unstable();
    all.dedup();
    let differs = |path: &&&String| old.get(**path) != new.get(**path);
    all.iter().filter(differs).map(|p| (*p).clone()).collect()
}
