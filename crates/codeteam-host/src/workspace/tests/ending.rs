//! What leaves a workspace for the user's repository: transferred trees and
//! snapshots.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::git::ExpectedRef;
use crate::test_support::signature;
use crate::workspace::snapshot::TRASH;

#[test]
fn the_users_git_directory_is_not_touched_before_the_transfer() {
    let bench = WorkspaceFixture::new();
    let before = listing(&bench.fixture.main());
    bench.prepare();
    bench.write("new", "x\n");
    let tree = bench.workspace.collect().unwrap();
    bench.workspace.diff(&bench.head.tree, &tree).unwrap();
    bench
        .workspace
        .checkout_into(&tree, &bench.fixture.path().join("scratch"))
        .unwrap();
    bench.prepare();
    assert_eq!(listing(&bench.fixture.main()), before);
}

#[test]
fn a_transferred_tree_is_whole_and_can_be_committed() {
    let fixture = GitFixture::new();
    fixture.write("deep/unchanged", "x\n");
    fixture.commit_all("second");
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    bench.write("deep/new", "new\n");
    bench.write("file", "changed\n");
    let tree = bench.workspace.collect().unwrap();
    bench.workspace.transfer(&tree, &bench.head.commit).unwrap();
    bench.workspace.transfer(&tree, &bench.head.tree).unwrap();
    let commit = bench
        .repo
        .commit(&tree, &[&bench.head.commit], "work", &signature())
        .unwrap();
    bench
        .repo
        .update_ref("refs/heads/run", &commit, ExpectedRef::Missing)
        .unwrap();
    fs::remove_dir_all(&bench.workspace.directory).unwrap();
    let main = bench.fixture.main();
    let report = bench
        .fixture
        .git(&main, &["fsck", "--strict", "--full", "--no-dangling"]);
    assert_eq!(report, "");
    assert_eq!(bench.fixture.git(&main, &["show", "run:deep/new"]), "new");
    // Only what was new was sent: two blobs and two trees, and the commit.
    let reachable = bench
        .fixture
        .git(&main, &["rev-list", "--objects", "--all"]);
    let loose = bench.fixture.git(&main, &["count-objects"]);
    assert_eq!(
        loose.split(' ').next().unwrap(),
        reachable.lines().count().to_string()
    );
}

#[test]
fn collecting_garbage_in_between_loses_nothing() {
    let bench = WorkspaceFixture::new();
    // The user's repository has this content by chance, in no commit.
    bench.fixture.write("stray", "the same\n");
    bench.fixture.git(&bench.fixture.main(), &["add", "stray"]);
    bench.fixture.git(
        &bench.fixture.main(),
        &["rm", "--quiet", "--cached", "stray"],
    );
    bench.prepare();
    bench.write("copy", "the same\n");
    bench.write("new", "new\n");
    let tree = bench.workspace.collect().unwrap();
    bench
        .fixture
        .git(&bench.fixture.main(), &["gc", "--quiet", "--prune=now"]);
    bench.workspace.transfer(&tree, &bench.head.commit).unwrap();
    let copy = bench.repo.cat_file(&tree, Path::new("copy")).unwrap();
    assert_eq!(copy.as_deref(), Some(&b"the same\n"[..]));
}

#[test]
fn a_removed_workspace_can_be_brought_back() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write(".gitignore", "ignored\n");
    bench.write("untracked/file", "x\n");
    bench.write("ignored", "x\n");
    fs::remove_file(bench.path("file")).unwrap();
    bench.worker(&["init", "--quiet", "nested"]);
    bench.write("nested/file", "x\n");
    let signature = signature();
    let snapshot = SnapshotRequest {
        reference: "refs/codeteam/run/worktree/task-1",
        parent: &bench.head.commit,
        known_tree: &bench.head.tree,
        message: "task-1, as it was left\n",
        signature: &signature,
    };
    let removed = bench.workspace.snapshot_and_remove(&snapshot).unwrap();
    let RemovalOutcome::Kept { commit } = removed else {
        panic!("{removed:?}")
    };
    assert_eq!(
        bench.repo.read_ref(snapshot.reference).unwrap(),
        Some(commit.clone())
    );
    let left = listing(&bench.fixture.path().join("spaces"));
    assert_eq!(left.len(), 1, "only the empty trash: {left:?}");
    let again = bench.workspace.snapshot_and_remove(&snapshot).unwrap();
    assert_eq!(again, RemovalOutcome::AlreadyGone);

    let restored = bench.fixture.path().join("restored");
    restore_snapshot(&bench.repo, &commit, &restored).unwrap();
    let mut files: Vec<PathBuf> = listing(&restored)
        .iter()
        .map(|line| PathBuf::from(line.split(' ').next().unwrap()))
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(&restored).unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [".gitignore", "nested/file", "untracked/file"].map(PathBuf::from)
    );
    assert!(matches!(
        restore_snapshot(&bench.repo, &commit, &restored),
        Err(Error::NotEmpty { .. })
    ));
    let report = bench.fixture.git(
        &bench.fixture.main(),
        &["fsck", "--strict", "--no-dangling"],
    );
    assert_eq!(report, "");
}

#[test]
fn a_workspace_stays_if_git_cannot_record_all_of_it() {
    for name in ["q/git~1/config", "w/.g\u{200c}it/config"] {
        let bench = WorkspaceFixture::new();
        bench.prepare();
        bench.write("new", "x\n");
        bench.write(name, "precious\n");
        let error = bench.close().unwrap_err();
        assert!(matches!(error, Error::NotKept { .. }), "{error:?}");
        let folder = name.split('/').next().unwrap();
        assert!(error.to_string().contains(folder), "{error}");
        assert_eq!(fs::read_to_string(bench.path(name)).unwrap(), "precious\n");
        fs::remove_file(bench.path(name)).unwrap();
        let closed = bench.close().unwrap();
        assert!(matches!(closed, RemovalOutcome::Kept { .. }), "{closed:?}");
    }
}

#[test]
fn a_nested_repository_is_kept_although_something_else_was_refused_before() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.worker(&["init", "--quiet", "lib"]);
    bench.write("lib/file", "precious\n");
    bench.worker(&["-C", "lib", "add", "file"]);
    bench.worker(&["-C", "lib", "commit", "--quiet", "-m", "lib"]);
    bench.write("git~1", "a name that means `.git` elsewhere\n");
    // The reason is that file, not git's warning about the repository.
    let error = bench.workspace.collect().unwrap_err();
    let Error::Unrecordable { reason } = &error else {
        panic!("{error:?}")
    };
    assert!(
        reason.starts_with("error: ") && reason.contains("git~1"),
        "{reason}"
    );
    assert!(!reason.contains("lib"), "{reason}");
    assert!(bench.close().is_err());
    fs::remove_file(bench.path("git~1")).unwrap();
    let RemovalOutcome::Kept { commit } = bench.close().unwrap() else {
        panic!("nothing was kept")
    };
    let kept = bench.repo.cat_file(&commit, Path::new("lib/file")).unwrap();
    assert_eq!(kept.as_deref(), Some(&b"precious\n"[..]));
}

#[test]
fn nothing_is_kept_of_a_workspace_without_work() {
    let bench = WorkspaceFixture::new();
    let signature = signature();
    let snapshot = SnapshotRequest {
        reference: "refs/codeteam/run/worktree/task-1",
        parent: &bench.head.commit,
        known_tree: &bench.head.tree,
        message: "",
        signature: &signature,
    };
    bench.prepare();
    let remove = || bench.workspace.snapshot_and_remove(&snapshot).unwrap();
    assert_eq!(remove(), RemovalOutcome::NothingToKeep);
    assert_eq!(bench.repo.refs_under("refs/codeteam/").unwrap(), []);
    // Killed while being removed, and while being made.
    write(&bench.fixture.path(), "spaces/.trash/task-1/tree/x", "x");
    assert_eq!(remove(), RemovalOutcome::AlreadyGone);
    assert!(!bench.fixture.path().join("spaces/.trash/task-1").exists());
    empty_trash(&bench.fixture.path().join("spaces")).unwrap();
    assert_eq!(listing(&bench.fixture.path().join("spaces")).len(), 0);
    bench.write("half", "x");
    assert_eq!(remove(), RemovalOutcome::NothingToKeep);
}

#[test]
fn two_may_be_removed_at_once() {
    let bench = WorkspaceFixture::new();
    let (workspace, trash) = (&bench.workspace, bench.workspace.root.join(TRASH));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // As the other one does, when nothing is left in it.
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let _ = fs::remove_dir(&trash);
            }
        });
        let mut all = (0..100).map(|_| {
            fs::create_dir_all(&workspace.directory).unwrap();
            workspace.remove()
        });
        let failed = all.find(Result::is_err);
        is_done.store(true, Ordering::Relaxed);
        failed.transpose().unwrap();
    });
    assert!(!workspace.directory.exists());
}

#[test]
fn no_gc_takes_a_merged_tree_or_what_a_patch_can_make_again() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("ours", "ours\n");
    let ours = bench.workspace.collect().unwrap();
    let diff = bench.workspace.diff(&bench.head.tree, &ours).unwrap();
    bench.gc();
    bench.fixture.write("theirs", "theirs\n");
    let tip = bench.fixture.commit_all("theirs");
    bench.gc();
    let base = &bench.head.commit;
    let merged = bench.workspace.merge_trees(base, &tip, &ours).unwrap();
    let merged = merged.tree().unwrap().clone();
    bench.gc();
    bench.workspace.transfer(&merged, &tip).unwrap();
    bench.repo.require_whole(&merged, &tip).unwrap();
    bench.gc();
    assert!(bench.repo.require_whole(&merged, &tip).is_err());
    bench.workspace.transfer(&merged, &tip).unwrap();

    // What was never copied, because the repository had it, is made again.
    let theirs = bench.repo.tree_of(&tip).unwrap();
    let rest = bench.repo.diff(&theirs, &merged).unwrap();
    bench.close().unwrap();
    bench.fixture.git(
        &bench.fixture.main(),
        &["update-ref", "-d", "refs/codeteam/run/worktree/task-1"],
    );
    bench.gc();
    let remade = bench
        .workspace
        .rebuild_tree(&tip, &theirs, &rest.text)
        .unwrap();
    assert_eq!(remade, merged);
    let remade = bench
        .workspace
        .rebuild_tree(base, &bench.head.tree, &diff.text);
    assert_eq!(remade.unwrap(), ours);
    bench.gc();
    bench.workspace.transfer(&ours, base).unwrap();
    bench.repo.require_whole(&ours, base).unwrap();
}
