//! Merging trees, and merging into the user's checkout.

use std::path::PathBuf;

use super::super::merge;
use super::*;

fn oid(text: &str) -> Oid {
    Oid::parse(text).unwrap()
}

#[test]
fn trees_are_merged_or_the_conflicts_named() {
    let fixture = GitFixture::new();
    let (repo, base) = fixture.open();
    fixture.write("file", "one\ntwo\nours\n");
    let ours = fixture.tree_of_checkout();
    fixture.write("file", "one\ntwo\ntheirs\n");
    let clash = fixture.tree_of_checkout();
    fixture.write("file", "one\ntwo\nthree\n");
    fixture.write("new", "new\n");
    let theirs = fixture.tree_of_checkout();

    let MergeOutcome::Clean { tree } = repo.merge_trees(&base.commit, &ours, &theirs).unwrap()
    else {
        panic!("a conflict")
    };
    assert_eq!(
        repo.ls_tree_paths(&tree).unwrap(),
        [Path::new("file"), Path::new("new")]
    );
    let text = repo.cat_file(&tree, Path::new("file")).unwrap();
    assert_eq!(text.as_deref(), Some(&b"one\ntwo\nours\n"[..]));
    assert_eq!(repo.cat_file(&tree, Path::new("absent")).unwrap(), None);

    let conflict = MergeOutcome::Conflict {
        files: vec![PathBuf::from("file")],
    };
    assert_eq!(
        repo.merge_trees(&base.tree, &ours, &clash).unwrap(),
        conflict
    );
    // What an older git needs comes to the same.
    assert_eq!(
        merge::merge_as_commits(&repo.git, &repo.plumbing(), &base.commit, &ours, &clash).unwrap(),
        conflict
    );
    let clean =
        merge::merge_as_commits(&repo.git, &repo.plumbing(), &base.tree, &ours, &theirs).unwrap();
    assert_eq!(clean, MergeOutcome::Clean { tree });
    assert!(
        repo.merge_trees(&base.tree, &ours, &oid(&"1".repeat(40)))
            .is_err()
    );
}

/// A branch with one commit beside the user's, which changes `file`.
fn run_branch(repo: &Repo, fixture: &GitFixture, head: &CheckoutHead, text: &str) -> Oid {
    fixture.write("file", text);
    let tree = fixture.tree_of_checkout();
    fixture.git(&fixture.main(), &["reset", "--quiet", "--hard"]);
    repo.commit(&tree, &[&head.commit], "work", &signature())
        .unwrap()
}

#[test]
fn the_users_checkout_is_fast_forwarded_if_nothing_is_in_the_way() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let work = run_branch(&repo, &fixture, &head, "work\n");
    fixture.write("file", "mine\n");
    let merge = || repo.merge_into_checkout(&work, MergeStrategy::FastForward);
    assert!(matches!(merge(), Err(Error::Dirty { files }) if files == [Path::new("file")]));
    fixture.git(&fixture.main(), &["checkout", "--quiet", "file"]);
    write(
        &fixture.main(),
        ".git/hooks/post-merge",
        "#!/bin/sh\ntouch ran\n",
    );
    let hook = fixture.main().join(".git/hooks/post-merge");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write("untracked", "stays\n");
    let expected = BranchMove {
        before: head.commit.clone(),
        after: work.clone(),
    };
    assert_eq!(merge().unwrap(), expected);
    assert_eq!(repo.head().unwrap().branch.as_deref(), Some("main"));
    assert_eq!(
        std::fs::read_to_string(fixture.main().join("file")).unwrap(),
        "work\n"
    );
    assert!(!fixture.main().join("ran").exists());
}

#[test]
fn a_branch_that_has_moved_on_is_merged_or_left_alone() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let work = run_branch(&repo, &fixture, &head, "work\n");
    fixture.write("other", "mine\n");
    let mine = fixture.commit_all("mine");
    let error = repo
        .merge_into_checkout(&work, MergeStrategy::FastForward)
        .unwrap_err();
    assert!(matches!(error, Error::NotFastForward { branch, .. } if branch == "main"));
    assert_eq!(repo.head().unwrap().commit, mine);
    let merged = repo.merge_into_checkout(&work, by("merge it")).unwrap();
    let commits = repo.commits_since(&mine, &merged.after).unwrap();
    assert_eq!(commits[0].subject, "merge it");
    assert_eq!(commits[0].parents, [mine, work]);
}

#[test]
fn a_conflicting_merge_is_undone() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let work = run_branch(&repo, &fixture, &head, "work\n");
    fixture.write("file", "mine\n");
    let mine = fixture.commit_all("mine");
    let error = repo.merge_into_checkout(&work, by("merge")).unwrap_err();
    assert!(matches!(error, Error::MergeConflict { files } if files == [Path::new("file")]));
    assert_eq!(repo.head().unwrap().commit, mine);
    assert!(!repo.is_dirty().unwrap());
    assert!(!fixture.main().join(".git/MERGE_HEAD").exists());
}

fn by(message: &str) -> MergeStrategy<'_> {
    static ME: std::sync::LazyLock<GitIdentity> = std::sync::LazyLock::new(GitIdentity::default);
    MergeStrategy::MergeCommit { by: &ME, message }
}
