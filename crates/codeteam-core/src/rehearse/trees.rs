//! Trees that were never on a disk: files in memory, named by what they hold.

use std::collections::BTreeMap;

use crate::frame::{FrameChange, Tip};
use crate::ids::{BodyId, Commit, PatchId, Tree, fnv};
use crate::input::RebaseOutcome;

type TreeFiles = BTreeMap<String, String>;

/// Every tree there has been, and how many commits.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulatedTrees {
    known: BTreeMap<Tree, TreeFiles>,
    commits: u32,
}

impl SimulatedTrees {
    /// The commit a run starts from.
    pub(super) fn base(&mut self) -> Tip {
        let tree = self.add(TreeFiles::new());
        self.commit(tree)
    }

    /// A commit of a tree.
    pub(super) fn commit(&mut self, tree: Tree) -> Tip {
        self.commits += 1;
        Tip {
            commit: Commit(format!("commit-{}", self.commits)),
            tree,
        }
    }

    /// Someone else's commit on top of a tip.
    pub(super) fn foreign(&mut self, on: &Tip) -> Tip {
        let text = format!("by someone else, on {}", on.commit);
        let tree = self.write(&on.tree, &[("elsewhere.txt".to_owned(), Some(text))]);
        self.commit(tree)
    }

    /// A tree with files written, or removed.
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

    /// What leads from one tree to another.
    pub(super) fn change(&self, by: &str, from: &Tree, to: &Tree) -> FrameChange {
        let (old, new) = (self.files(from), self.files(to));
        let touched = touched(&old, &new);
        let parts: Vec<String> = touched
            .iter()
            .map(|path| format!("{path:?} {:?}", new.get(path)))
            .collect();
        let patch = format!("patch-{:016x}", fnv(&parts.join("\n")));
        FrameChange {
            by: by.to_owned(),
            diff: BodyId(format!("diff of {patch}")),
            patch: PatchId(patch),
            lines: Some(lines_between(&touched, &old, &new)),
            files: touched,
        }
    }

    /// Replays a change on a tip. It always goes through: conflicts are scripted.
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
        let tree = Tree(format!("tree-{:016x}", fnv(&format!("{files:?}"))));
        self.known.insert(tree.clone(), files);
        tree
    }
}

/// How many lines a diff between the files would add and remove at most.
fn lines_between(touched: &[String], old: &TreeFiles, new: &TreeFiles) -> u32 {
    let lines = |files: &TreeFiles, path: &String| files.get(path).map_or(0, |t| t.lines().count());
    let changed = touched
        .iter()
        .map(|path| lines(old, path) + lines(new, path));
    u32::try_from(changed.sum::<usize>()).unwrap_or(u32::MAX)
}

/// The files that are not the same.
fn touched(old: &TreeFiles, new: &TreeFiles) -> Vec<String> {
    let mut all: Vec<&String> = old.keys().chain(new.keys()).collect();
    all.sort_unstable();
    all.dedup();
    let differs = |path: &&&String| old.get(**path) != new.get(**path);
    all.iter().filter(differs).map(|p| (*p).clone()).collect()
}
