//! Merges trees in the object store alone, and merges a run's branch into the user's checkout when
//! the user asked for it.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::command::{GitCall, GitOutput, GitProgram};
use super::commits::commit_tree;
use super::objects::parse_paths;
use super::refs::{LOCK_PAUSE, LOCK_TRIES};
use super::repo::parse_oid;
use super::{CheckoutHead, CommitSignature, Error, GitIdentity, Oid, Repo};

/// The result of merging two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The merge succeeded.
    Clean {
        /// The merged tree, written to the main repository.
        tree: Oid,
    },
    /// Both sides changed the same thing.
    Conflict {
        /// The files in conflict.
        files: Vec<PathBuf>,
    },
}

impl MergeOutcome {
    /// Returns the merged tree, if there is no conflict.
    pub fn tree(&self) -> Option<&Oid> {
        match self {
            Self::Clean { tree } => Some(tree),
            Self::Conflict { .. } => None,
        }
    }

    /// Returns the files in conflict.
    pub fn conflicts(&self) -> impl Iterator<Item = &PathBuf> {
        match self {
            Self::Clean { .. } => [].iter(),
            Self::Conflict { files } => files.iter(),
        }
    }
}

/// The way a run's branch is merged into the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStrategy<'a> {
    /// Only if the user's branch has no commits of its own.
    FastForward,
    /// Always with a merge commit.
    MergeCommit {
        /// The author and the time of the merge commit.
        by: &'a CommitSignature,
        /// The message of the merge commit.
        message: &'a str,
    },
}

/// The user's branch before and after a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMove {
    /// The commit it was at.
    pub before: Oid,
    /// The commit it is at now.
    pub after: Oid,
}

impl Repo {
    /// Merges `ours` and `theirs`, which both came from `base`, without touching any checkout. Each
    /// may be a commit or a tree. One process.
    ///
    /// Attributes are ignored, because a merge driver is a program.
    pub fn merge_trees(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<MergeOutcome, Error> {
        merge_trees(&self.git, &self.plumbing(), base, ours, theirs)
    }

    /// Returns the result of merging `target` into `onto` from their merge base, without doing it.
    /// Two processes.
    pub fn merge_commits(&self, onto: &Oid, target: &Oid) -> Result<MergeOutcome, Error> {
        let call = self.plumbing().arg("merge-base").arg(onto).arg(target);
        let output = self.git.run_with_status(&call)?;
        match parse_oid(&output.stdout) {
            Some(base) => self.merge_trees(&base, onto, target),
            None => Err(call.failure(output)),
        }
    }

    /// Merges `target` into the branch the user has checked out, and updates the checkout. Three
    /// processes; five with a merge commit.
    ///
    /// A merge commit is made in the object store alone, and the checkout is then fast-forwarded to
    /// it: only for a fast-forward does git leave alone what `.gitignore` names, and files whose
    /// edits it was told to overlook. A conflict is found before anything is touched.
    ///
    /// Changes to tracked files (other than codeteam's own) are refused before anything happens,
    /// unless they match what the merge would write; that takes five more processes. Untracked and
    /// ignored files stay where they are: if one is in the place of a file of the merge, the merge
    /// is refused. If the branch cannot be moved, the checkout is put back. The user's
    /// configuration applies, so that filters and merge drivers are theirs; hooks do not run and
    /// the merge commit is not signed.
    pub fn merge_into_checkout(
        &self,
        target: &Oid,
        strategy: MergeStrategy<'_>,
    ) -> Result<BranchMove, Error> {
        let changed = self.changed_files("--untracked-files=no")?;
        let before = self.head()?;
        let may_hold = !self.is_operation_in_progress();
        if !changed.is_empty() && !may_hold {
            return Err(Error::Dirty { files: changed });
        }
        self.refuse_locked_branch(&before)?;
        let target = &match strategy {
            MergeStrategy::FastForward => target.clone(),
            MergeStrategy::MergeCommit { by, message } => {
                let tree = self.merged_tree(&before.commit, target)?;
                self.commit(&tree, &[&before.commit, target], message, by)?
            }
        };
        let mut has_staged = false;
        if !changed.is_empty() {
            has_staged = self.stage_matching_files(&changed, &before.commit, target)?;
        }
        let done = self.fast_forward_checkout(target, &before, has_staged);
        // After the matching files are staged, whatever git still refuses really is in the way.
        let in_the_way = matches!(done, Err(Error::InTheWay { .. }));
        if in_the_way && changed.is_empty() && may_hold {
            let has_staged = self.stage_matching_files(&[], &before.commit, target)?;
            return self.fast_forward_checkout(target, &before, has_staged);
        }
        done
    }

    /// Returns the tree that merging `target` into `onto` gives with the user's own configuration,
    /// their attributes and merge drivers included. One process.
    fn merged_tree(&self, onto: &Oid, target: &Oid) -> Result<Oid, Error> {
        let call = self.checkout().args(MERGE_TREE).arg(onto).arg(target);
        match merge_outcome(&call, self.git.run_with_status(&call)?)? {
            MergeOutcome::Clean { tree } => Ok(tree),
            MergeOutcome::Conflict { files } => Err(Error::MergeConflict { files }),
        }
    }

    /// Refuses to start while the checked-out branch is locked: git would update the checkout
    /// first, and only then notice that the branch cannot follow. No process.
    fn refuse_locked_branch(&self, head: &CheckoutHead) -> Result<(), Error> {
        let branch = head.branch.as_ref();
        let name = branch.map(|branch| format!("refs/heads/{branch}"));
        let branch = name
            .as_ref()
            .map(|name| self.common_dir().join(format!("{name}.lock")));
        let own = Some(self.git_dir.join("HEAD.lock"));
        let name = name.as_deref().unwrap_or("HEAD");
        for lock in [branch, own].into_iter().flatten() {
            let is_held = || lock.symlink_metadata().is_ok();
            for _ in 0..LOCK_TRIES {
                if !is_held() {
                    break;
                }
                std::thread::sleep(LOCK_PAUSE);
            }
            if is_held() {
                let name = name.to_owned();
                return Err(Error::RefLocked { name, lock });
            }
        }
        Ok(())
    }

    /// Stages the files of the checkout that match `target` but not `before`: git skips them then,
    /// and would refuse the merge otherwise. All files in `changed` must match.
    ///
    /// Returns whether it staged anything. Whatever happens afterwards, the user finds at most
    /// content of `target` staged.
    fn stage_matching_files(
        &self,
        changed: &[PathBuf],
        before: &Oid,
        target: &Oid,
    ) -> Result<bool, Error> {
        let scratch = self.common_dir().join("codeteam-index");
        let held = self.snapshot(&scratch)?;
        let differ: HashSet<PathBuf> = self.differing_files(&held, target)?.into_iter().collect();
        let dirty = changed.iter().filter(|file| differ.contains(*file));
        let dirty: Vec<PathBuf> = dirty.cloned().collect();
        if !dirty.is_empty() {
            return Err(Error::Dirty { files: dirty });
        }
        if !self.is_ancestor(before, target)? {
            return Ok(false);
        }
        let mut names = Vec::new();
        for file in self.differing_files(before, target)? {
            if !differ.contains(&file) {
                names.extend_from_slice(file.as_os_str().as_bytes());
                names.push(0);
            }
        }
        if names.is_empty() {
            return Ok(false);
        }
        let call = self
            .checkout()
            .args(["reset", "--quiet", "--pathspec-from-file=-"])
            .arg("--pathspec-file-nul")
            .arg(target)
            .stdin(names);
        self.git.run(&call)?;
        Ok(true)
    }

    /// Fast-forwards the checked-out branch and the checkout to `target`. `has_staged` says whether
    /// files of `target` were staged for it.
    fn fast_forward_checkout(
        &self,
        target: &Oid,
        before: &CheckoutHead,
        has_staged: bool,
    ) -> Result<BranchMove, Error> {
        let call = self
            .checkout()
            .args(["merge", "--ff-only", "--no-stat", "--no-autostash"])
            // Ignored files belong to the user too. Git obeys this for a fast-forward only.
            .arg("--no-overwrite-ignore")
            .arg(target);
        let output = self.git.run_with_status(&call)?;
        if !output.status.success() {
            return Err(self.merge_failure(&call, output, before, target, has_staged));
        }
        Ok(BranchMove {
            before: before.commit.clone(),
            after: target.clone(),
        })
    }

    /// Returns the reason the merge failed, and puts the checkout back if git has updated it.
    fn merge_failure(
        &self,
        merge: &GitCall,
        output: GitOutput,
        before: &CheckoutHead,
        target: &Oid,
        has_staged: bool,
    ) -> Error {
        if output.stderr.contains("Not possible to fast-forward") {
            let branch = before.branch.clone();
            return Error::NotFastForward {
                branch: branch.unwrap_or_else(|| "HEAD".to_owned()),
                target: target.clone(),
            };
        }
        if let Some(refusal) = refusal(&output.stderr) {
            return refusal;
        }
        // What was staged is the user's own copy of those files, which must not be removed.
        if has_staged || !self.holds_only_index_of(before, target) {
            return merge.failure(output);
        }
        // Git compares before it writes: an edit made meanwhile stays, and this fails then.
        let back = self.checkout().args(["read-tree", "-m", "-u"]);
        match self.git.run(&back.arg(target).arg(&before.commit)) {
            Ok(_) => Error::NotMoved {
                branch: before.branch.clone().unwrap_or_else(|| "HEAD".to_owned()),
                reason: output.stderr,
            },
            Err(_) => merge.failure(output),
        }
    }

    /// Returns true if the branch is still at `before` while the index is that of `target`.
    fn holds_only_index_of(&self, before: &CheckoutHead, target: &Oid) -> bool {
        let is_there = self.head().is_ok_and(|now| now.commit == before.commit);
        let staged = self
            .checkout()
            .args(["diff-index", "--cached", "--quiet"])
            .arg(target);
        is_there && self.git.run(&staged).is_ok()
    }
}

/// Merges two trees. `call` selects the repository in which the result is written.
pub(super) fn merge_trees(
    git: &GitProgram,
    call: &GitCall,
    base: &Oid,
    ours: &Oid,
    theirs: &Oid,
) -> Result<MergeOutcome, Error> {
    let merge = merge_call(call, base, ours, theirs);
    let output = git.run_with_status(&merge)?;
    if output.status.code().is_some_and(|code| code > 1) {
        // Before version 2.45, git accepts only commits here.
        return merge_as_commits(git, call, base, ours, theirs);
    }
    merge_outcome(&merge, output)
}

/// Does the same for a git that requires commits. Four processes; nothing references the commits,
/// and git removes them in time.
pub(super) fn merge_as_commits(
    git: &GitProgram,
    call: &GitCall,
    base: &Oid,
    ours: &Oid,
    theirs: &Oid,
) -> Result<MergeOutcome, Error> {
    let signature = CommitSignature {
        identity: GitIdentity::default(),
        seconds: 0,
    };
    let commit = |treeish: &Oid| {
        // `commit-tree` takes only a tree, and a commit is already what is needed.
        match commit_tree(
            git,
            call.clone(),
            treeish,
            &[],
            "codeteam: merge",
            &signature,
        ) {
            Err(Error::Failed { .. }) => Ok(treeish.clone()),
            made => made,
        }
    };
    let merge = merge_call(call, &commit(base)?, &commit(ours)?, &commit(theirs)?);
    let output = git.run_with_status(&merge)?;
    merge_outcome(&merge, output)
}

/// Merges in the object store, and prints the tree and the names of the files in conflict.
const MERGE_TREE: [&str; 5] = [
    "merge-tree",
    "--write-tree",
    "-z",
    "--name-only",
    "--no-messages",
];

fn merge_call(call: &GitCall, base: &Oid, ours: &Oid, theirs: &Oid) -> GitCall {
    call.clone()
        .args(MERGE_TREE)
        .arg(format!("--merge-base={base}"))
        .arg(ours)
        .arg(theirs)
}

/// Converts git's refusal to touch files to an error. Git lists the files one per line below a
/// heading.
fn refusal(stderr: &str) -> Option<Error> {
    let below = |heading: &str| {
        let mut lines = stderr.lines().skip_while(|line| !line.contains(heading));
        lines.next()?;
        let named = lines.map_while(|line| line.strip_prefix('\t'));
        let mut files: Vec<PathBuf> = named.map(PathBuf::from).collect();
        // A file in the place of a folder is named once for each file of that folder.
        files.dedup();
        Some(files)
    };
    if let Some(files) = below("local changes to the following files would be") {
        return Some(Error::Dirty { files });
    }
    below("untracked working tree files would be")
        .or_else(|| below("directories would lose untracked files"))
        .map(|files| Error::InTheWay { files })
}

fn merge_outcome(call: &GitCall, output: GitOutput) -> Result<MergeOutcome, Error> {
    let (tree, files) = match output.stdout.iter().position(|&byte| byte == 0) {
        Some(end) => output.stdout.split_at(end),
        None => (&output.stdout[..], &[][..]),
    };
    match output.status.code() {
        Some(0) => match parse_oid(tree) {
            Some(tree) => Ok(MergeOutcome::Clean { tree }),
            None => Err(call.unexpected_output("no tree")),
        },
        Some(1) => Ok(MergeOutcome::Conflict {
            files: parse_paths(files),
        }),
        _ => Err(call.failure(output)),
    }
}
