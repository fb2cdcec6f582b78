//! A toy git: enough of one to be wrong in the ways the real one can be.
//!
//! A tree's id is its content (`a=1,b=2`), and a patch's is what it does to each file, so that
//! transcripts can be read and equal things have equal names.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::{FrameChange, Tip};
use codeteam_core::ids::{AttemptId, Commit, PatchId, Tree};
use codeteam_core::input::{IntegrationOutcome, RebaseOutcome};
use codeteam_core::workflow::DeliveryMethod;

/// The files of a tree.
pub(crate) type GitFiles = BTreeMap<String, String>;

/// A run's branch, from its first commit to its tip.
#[derive(Clone, Debug)]
pub(crate) struct FakeGit {
    commits: Vec<FakeCommit>,
    /// What the branch had before it was moved back.
    kept: Vec<FakeCommit>,
}

#[derive(Clone, Debug)]
struct FakeCommit {
    tip: Tip,
    /// The lasting id of the attempt that made it.
    trailer: String,
    message: String,
}

impl FakeGit {
    pub(crate) fn new() -> Self {
        let tree = tree(&GitFiles::from([("README.md".into(), "0".into())]));
        let commit = Commit::from("c0");
        Self {
            commits: vec![FakeCommit {
                tip: Tip { commit, tree },
                trailer: String::new(),
                message: String::new(),
            }],
            kept: Vec::new(),
        }
    }

    /// The name of the next commit. Two commits never have the same one.
    fn next_name(&self) -> Commit {
        Commit(format!("c{}", self.commits.len() + self.kept.len()))
    }

    /// Moves the branch back to one of its commits, and keeps the others.
    pub(crate) fn move_back(&mut self, to: &Tip) -> Commit {
        let found = self.tip().commit;
        let at = self.commits.iter().position(|c| c.tip == *to);
        let gone = self.commits.split_off(at.unwrap() + 1);
        self.kept.extend(gone);
        found
    }

    /// Attempts of another run have the same names, and its trailers tell them apart.
    pub(crate) fn begin_another_run(&mut self) {
        for commit in &mut self.commits {
            commit.trailer = format!("of another run: {}", commit.trailer);
        }
    }

    /// The names of the commits that the branch had before it was moved back.
    pub(crate) fn kept(&self) -> Vec<String> {
        self.kept.iter().map(|c| c.tip.commit.0.clone()).collect()
    }

    pub(crate) fn tip(&self) -> Tip {
        self.commits.last().map(|c| c.tip.clone()).unwrap()
    }

    /// The trees on the branch, in order.
    pub(crate) fn history(&self) -> Vec<String> {
        self.commits.iter().map(|c| c.tip.tree.0.clone()).collect()
    }

    /// Commits a tree on top of the tip, unless that has been done already.
    pub(crate) fn integrate(
        &mut self,
        id: &AttemptId,
        tree: &Tree,
        onto: &Tip,
        message: &str,
    ) -> IntegrationOutcome {
        let trailer = id.without_fence();
        if let Some(made) = self.commits.iter().find(|c| c.trailer == trailer) {
            return IntegrationOutcome::Committed {
                commit: made.tip.commit.clone(),
                tree: made.tip.tree.clone(),
                message: made.message.clone(),
            };
        }
        if self.tip() != *onto {
            return IntegrationOutcome::TipMoved(self.tip());
        }
        let commit = self.next_name();
        self.commits.push(FakeCommit {
            tip: Tip {
                commit: commit.clone(),
                tree: tree.clone(),
            },
            trailer,
            message: message.to_owned(),
        });
        IntegrationOutcome::Committed {
            commit,
            tree: tree.clone(),
            message: message.to_owned(),
        }
    }

    /// Hands over what was committed: the user's branch, called `main`, is where the run began.
    pub(crate) fn deliver(&self, how: &DeliveryMethod, tip: &Tip) -> DeliveryOutcome {
        assert_eq!(
            self.tip(),
            *tip,
            "what is handed over is not what was committed"
        );
        match how {
            DeliveryMethod::Forward {
                branch: Some(branch),
                at,
            } => DeliveryOutcome::Forward {
                branch: branch.clone(),
                from: at.clone(),
            },
            DeliveryMethod::Forward { branch: None, .. } => DeliveryOutcome::Left {
                why: "no branch".to_owned(),
            },
            DeliveryMethod::Patch => DeliveryOutcome::Patch {
                file: "changes.patch".to_owned(),
            },
        }
    }

    /// Someone else commits to the branch.
    pub(crate) fn push(&mut self, file: &str, content: &str) {
        let mut files = files(&self.tip().tree);
        files.insert(file.to_owned(), content.to_owned());
        let commit = self.next_name();
        self.commits.push(FakeCommit {
            tip: Tip {
                commit,
                tree: tree(&files),
            },
            trailer: "someone else".to_owned(),
            message: String::new(),
        });
    }
}

/// Replays a change on the tip.
pub(crate) fn rebase(id: &AttemptId, base: &Tip, changed: &Tree, onto: &Tip) -> RebaseOutcome {
    let (old, ours, theirs) = (files(&base.tree), files(changed), files(&onto.tree));
    let mut merged = theirs.clone();
    let mut conflicts = Vec::new();
    for name in touched(&old, &ours) {
        let (was, mine, other) = (old.get(&name), ours.get(&name), theirs.get(&name));
        if other == was || other == mine {
            match mine {
                Some(content) => merged.insert(name, content.clone()),
                None => merged.remove(&name),
            };
        } else if name.starts_with("shared") {
            merged.insert(name, union(was, mine, other));
        } else {
            conflicts.push(name);
        }
    }
    if conflicts.is_empty() {
        let tree = tree(&merged);
        let change = change(&id.without_fence(), &onto.tree, &tree);
        let base = onto.clone();
        RebaseOutcome::Clean { base, tree, change }
    } else {
        RebaseOutcome::Conflict {
            base: onto.clone(),
            files: conflicts,
        }
    }
}

/// Two sides that added to a list.
fn union(was: Option<&String>, mine: Option<&String>, other: Option<&String>) -> String {
    let words = |text: Option<&String>| -> Vec<String> {
        let text = text.map_or("", String::as_str);
        text.split('+')
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (was, mut all) = (words(was), words(other));
    for word in words(mine) {
        if !was.contains(&word) && !all.contains(&word) {
            all.push(word);
        }
    }
    all.join("+")
}

fn touched(old: &GitFiles, new: &GitFiles) -> BTreeSet<String> {
    old.keys()
        .chain(new.keys())
        .filter(|name| old.get(*name) != new.get(*name))
        .cloned()
        .collect()
}

/// The tree of these files.
pub(crate) fn tree(files: &GitFiles) -> Tree {
    let parts: Vec<String> = files.iter().map(|(n, c)| format!("{n}={c}")).collect();
    Tree(parts.join(","))
}

/// The files of a tree.
pub(crate) fn files(tree: &Tree) -> GitFiles {
    let parts = tree.0.split(',').filter_map(|part| part.split_once('='));
    parts.map(|(n, c)| (n.to_owned(), c.to_owned())).collect()
}

/// What leads from one tree to another.
pub(crate) fn change(by: &str, base: &Tree, to: &Tree) -> FrameChange {
    let (old, new) = (files(base), files(to));
    let files: Vec<String> = touched(&old, &new).into_iter().collect();
    let none = String::new();
    let parts: Vec<String> = files
        .iter()
        .map(|name| {
            let from = old.get(name).unwrap_or(&none);
            let to = new.get(name).unwrap_or(&none);
            format!("{name}:{from}>{to}")
        })
        .collect();
    let patch = parts.join(",");
    FrameChange {
        by: by.to_owned(),
        diff: format!("diff {patch}").into(),
        patch: PatchId(patch),
        lines: u32::try_from(files.len()).ok(),
        files,
    }
}
