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
fn a_merge_with_conflicts_touches_nothing() {
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

/// A branch of a run with the files `src/b` and `src/d`, while the user's own has moved on and
/// ignores what lies in their places.
fn ignored_in_the_way(fixture: &GitFixture, ignored: &str) -> (Repo, Oid, Oid) {
    let (repo, head) = fixture.open();
    fixture.write("src/b", "the run's\n");
    fixture.write("src/d", "the run's\n");
    let tree = fixture.tree_of_checkout();
    fixture.git(&fixture.main(), &["reset", "--quiet", "--hard"]);
    let work = repo.commit(&tree, &[&head.commit], "work", &signature());
    fixture.write(".gitignore", ignored);
    let mine = fixture.commit_all("mine");
    (repo, work.unwrap(), mine)
}

#[test]
fn a_merge_keeps_what_the_user_ignores() {
    let cases = [
        ("src/b\n", "src/b", "src/b"),
        // A folder in the place of a file, and a file in the place of a folder.
        ("src/d/\n", "src/d/notes", "src/d"),
        ("src\n", "src", "src"),
    ];
    for (ignored, file, named) in cases {
        let fixture = GitFixture::new();
        let (repo, work, mine) = ignored_in_the_way(&fixture, ignored);
        fixture.write(file, "precious\n");
        let error = repo.merge_into_checkout(&work, by("merge")).unwrap_err();
        let Error::InTheWay { files } = &error else {
            panic!("{error}")
        };
        assert!(files.iter().any(|file| file == Path::new(named)), "{error}");
        let kept = std::fs::read_to_string(fixture.main().join(file));
        assert_eq!(kept.unwrap(), "precious\n");
        assert_eq!(repo.head().unwrap().commit, mine);
        assert!(!repo.is_dirty().unwrap());
    }
}

#[test]
fn a_merge_keeps_edits_that_git_was_told_to_overlook() {
    for overlook in ["--assume-unchanged", "--skip-worktree"] {
        let fixture = GitFixture::new();
        let (repo, head) = fixture.open();
        let work = run_branch(&repo, &fixture, &head, "work\n");
        fixture.write("other", "mine\n");
        let mine = fixture.commit_all("mine");
        fixture.git(&fixture.main(), &["update-index", overlook, "file"]);
        fixture.write("file", "my edit\n");
        let error = repo.merge_into_checkout(&work, by("merge")).unwrap_err();
        assert!(
            matches!(&error, Error::Dirty { files } if files == &[Path::new("file")]),
            "{overlook}: {error}"
        );
        let kept = std::fs::read_to_string(fixture.main().join("file"));
        assert_eq!(kept.unwrap(), "my edit\n");
        assert_eq!(repo.head().unwrap().commit, mine);
    }
}

#[test]
fn a_branch_that_cannot_be_moved_leaves_the_checkout_as_it_was() {
    let locked = "refs/heads/main.lock";
    // Git cannot write the branch's history either, which it notices later.
    for obstacle in [locked, "logs/refs/heads/main/in-the-way"] {
        for has_moved in [false, true] {
            let fixture = GitFixture::new();
            let (repo, head) = fixture.open();
            let work = run_branch(&repo, &fixture, &head, "work\n");
            let mut strategy = MergeStrategy::FastForward;
            if has_moved {
                fixture.write("other", "mine\n");
                fixture.commit_all("mine");
                strategy = by("merge");
            }
            let before = repo.head().unwrap();
            let _ = std::fs::remove_file(fixture.main().join(".git/logs/refs/heads/main"));
            write(&fixture.main().join(".git"), obstacle, "");
            let error = repo.merge_into_checkout(&work, strategy).unwrap_err();
            let is_named = match &error {
                Error::RefLocked { .. } => obstacle == locked,
                Error::NotMoved { branch, .. } => branch == "main",
                _ => false,
            };
            assert!(is_named, "{obstacle}: {error}");
            assert_eq!(repo.head().unwrap(), before);
            assert!(!repo.is_dirty().unwrap(), "{obstacle}");
            let kept = std::fs::read_to_string(fixture.main().join("file"));
            assert_eq!(kept.unwrap(), "one\ntwo\nthree\n");
        }
    }
}

fn by(message: &str) -> MergeStrategy<'_> {
    static ME: std::sync::LazyLock<CommitSignature> = std::sync::LazyLock::new(signature);
    MergeStrategy::MergeCommit { by: &ME, message }
}
