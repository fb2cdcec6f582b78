//! Workspaces against a real git, in temporary directories.

mod ending;
mod git_dirs;
mod hostile;
mod reuse;

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::git::CheckoutHead;
use crate::git::fixture::{GitFixture, write};
use crate::test_support::listing;

/// A repository, and a workspace beside it.
struct WorkspaceFixture {
    fixture: GitFixture,
    repo: Repo,
    head: CheckoutHead,
    workspace: Workspace,
}

impl WorkspaceFixture {
    fn new() -> WorkspaceFixture {
        WorkspaceFixture::on(GitFixture::new())
    }

    fn on(fixture: GitFixture) -> WorkspaceFixture {
        let (repo, head) = fixture.open();
        let workspace = Workspace::open(&repo, &fixture.path().join("spaces"), "task-1").unwrap();
        WorkspaceFixture {
            fixture,
            repo,
            head,
            workspace,
        }
    }

    /// Prepares the workspace as the user's `HEAD` is.
    fn prepare(&self) -> PrepareOutcome {
        self.prepare_tree(&self.head.tree)
    }

    fn prepare_tree(&self, tree: &Oid) -> PrepareOutcome {
        self.workspace
            .prepare(tree, &self.head.commit, IgnoredFiles::Remove)
            .unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.tree_dir().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.workspace.tree_dir(), name, text);
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// Runs git as the worker would.
    fn worker(&self, args: &[&str]) -> String {
        self.fixture.git(&self.workspace.tree_dir(), args)
    }

    /// The files of the work tree, apart from `.git`.
    fn files(&self) -> Vec<String> {
        let tree = self.workspace.tree_dir();
        let prefix = format!("{}/", tree.display());
        let lines = listing(&tree).into_iter();
        let names = lines.map(|line| line.replace(&prefix, ""));
        let names = names.map(|line| line.split(' ').next().unwrap().to_owned());
        names.filter(|name| name != ".git").collect()
    }

    /// Keeps what there is, and removes the workspace.
    fn close(&self) -> Result<RemovalOutcome, Error> {
        self.workspace.snapshot_and_remove(&SnapshotRequest {
            reference: "refs/codeteam/run/worktree/task-1",
            parent: &self.head.commit,
            known_tree: &self.head.tree,
            message: "task-1, as it was left\n",
            signature: &crate::test_support::signature(),
        })
    }

    /// Clears away what nothing in the user's repository refers to.
    fn gc(&self) {
        let main = self.fixture.main();
        self.fixture
            .git(&main, &["reflog", "expire", "--expire=now", "--all"]);
        self.fixture.git(&main, &["gc", "--quiet", "--prune=now"]);
    }

    /// Collects, and lists what differs from the user's `HEAD`.
    fn changes(&self) -> Vec<PathBuf> {
        let tree = self.workspace.collect().unwrap();
        let diff = self.workspace.diff(&self.head.tree, &tree).unwrap();
        diff.files.into_iter().map(|file| file.path).collect()
    }
}

#[test]
fn a_fresh_workspace_is_the_wanted_tree_and_a_repository_for_the_worker() {
    let bench = WorkspaceFixture::new();
    assert_eq!(bench.prepare(), PrepareOutcome::Fresh);
    assert_eq!(bench.read("file").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    assert_eq!(bench.worker(&["status", "--porcelain"]), "");
    assert_eq!(
        bench.worker(&["rev-parse", "HEAD"]),
        bench.head.commit.as_str()
    );
    bench.write("file", "changed\n");
    bench.worker(&["commit", "--quiet", "-a", "-m", "mine"]);
    assert_eq!(bench.worker(&["log", "--format=%s"]), "mine\nfirst");
    // Committed or not, what is in the files counts.
    assert_eq!(bench.changes(), [Path::new("file")]);
}

#[test]
fn what_a_worker_did_is_collected_from_its_files() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("new/deep file", "x\n");
    bench.write(".gitignore", "target/\n");
    bench.write("target/out", "built\n");
    bench.write(".codeteam/config.yml", "mine\n");
    fs::remove_file(bench.path("file")).unwrap();
    let expected = [".gitignore", "file", "new/deep file"].map(PathBuf::from);
    assert_eq!(bench.changes(), expected);
    // Again, without anything having happened, and after a change back.
    assert_eq!(bench.changes(), expected);
    bench.write("file", "one\ntwo\nthree\n");
    assert_eq!(bench.changes(), [expected[0].as_path(), &expected[2]]);
}

#[test]
fn codeteams_own_directory_stays_as_it_was() {
    let fixture = GitFixture::new();
    fixture.write(".codeteam/config.yml", "theirs\n");
    fixture.commit_all("configured");
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    bench.write(".codeteam/config.yml", "hijacked\n");
    bench.write(".codeteam/roles/new.yml", "new\n");
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    // It is not left for the next worker, either.
    assert!(matches!(
        bench.prepare(),
        PrepareOutcome::Rebuilt {
            found_tree: Some(_)
        }
    ));
    assert_eq!(
        bench.read(".codeteam/config.yml").as_deref(),
        Some("theirs\n")
    );
    assert_eq!(bench.read(".codeteam/roles/new.yml"), None);
}

#[test]
fn preparing_again_keeps_what_is_right_and_records_what_is_not() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write(".gitignore", "cache\n");
    bench.write("new", "x\n");
    bench.write("cache", "x\n");
    fs::create_dir(bench.path("empty")).unwrap();
    let tree = bench.workspace.collect().unwrap();
    let keep = |tree| {
        bench
            .workspace
            .prepare(tree, &bench.head.commit, IgnoredFiles::Keep)
            .unwrap()
    };
    assert_eq!(keep(&tree), PrepareOutcome::Same);
    assert_eq!(
        bench.files(),
        [".gitignore", "cache", "empty", "file", "new"]
    );
    assert_eq!(bench.prepare_tree(&tree), PrepareOutcome::Same);
    assert_eq!(bench.files(), [".gitignore", "file", "new"]);

    bench.write("cache", "x\n");
    bench.write("untracked/deep", "x\n");
    let PrepareOutcome::Rebuilt {
        found_tree: Some(found),
    } = keep(&tree)
    else {
        panic!("not rebuilt")
    };
    assert_eq!(bench.files(), [".gitignore", "cache", "file", "new"]);
    // What was found can still be looked at.
    let diff = bench.workspace.diff(&tree, &found).unwrap();
    assert_eq!(diff.files[0].path, Path::new("untracked/deep"));
    assert_eq!(
        bench.prepare(),
        PrepareOutcome::Rebuilt {
            found_tree: Some(tree)
        }
    );
    assert_eq!(bench.files(), ["file"]);
    assert_eq!(bench.worker(&["status", "--porcelain"]), "");
}

#[test]
fn what_was_done_before_can_be_taken_back_by_who_goes_on() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("file", "an earlier round\n");
    bench.write("new", "x\n");
    let tree = bench.workspace.collect().unwrap();
    bench.prepare_tree(&tree);
    bench.workspace.unstage(&bench.head.commit).unwrap();
    assert_eq!(bench.worker(&["status", "--porcelain"]), " M file\n?? new");
    bench.worker(&["checkout", "--quiet", "file"]);
    assert_eq!(bench.read("file").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(bench.changes(), [Path::new("new")]);
}

#[test]
fn a_tracked_file_that_is_also_ignored_is_not_lost() {
    let fixture = GitFixture::new();
    fixture.write("tracked.log", "x\n");
    fixture.commit_all("log");
    fixture.write(".gitignore", "*.log\n");
    fixture.commit_all("ignore");
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    fs::remove_file(bench.workspace.directory.join("collect/index")).unwrap();
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    fs::write(bench.workspace.directory.join("collect/index"), "DIRC").unwrap();
    assert_eq!(bench.prepare(), PrepareOutcome::Same);
}

/// Damages a workspace in some way a killed process, or a bad disk, could.
type WorkspaceDamage = fn(&WorkspaceFixture);

#[test]
fn a_half_made_workspace_is_made_again() {
    let stages: &[(&str, WorkspaceDamage)] = &[
        ("nothing but the directory", |bench| {
            fs::remove_dir_all(&bench.workspace.directory).unwrap();
            fs::create_dir(&bench.workspace.directory).unwrap();
        }),
        ("no state", |bench| remove(bench, "state")),
        ("a garbled state", |bench| damage(bench, "state", "rea")),
        ("a partial checkout", |bench| {
            remove(bench, "state");
            remove(bench, "collect/index");
            remove(bench, "tree/file");
            damage(bench, "collect/index.lock", "");
            bench.write("half", "x");
        }),
        ("no work tree", |bench| {
            fs::remove_dir_all(bench.workspace.tree_dir()).unwrap();
        }),
        ("no git directory", |bench| {
            fs::remove_dir_all(bench.workspace.git_dir()).unwrap();
        }),
        ("stale locks", |bench| {
            damage(bench, "collect/index.lock", "");
            damage(bench, "git/index.lock", "");
            damage(bench, "git/HEAD.lock", "");
        }),
        ("a truncated index", |bench| {
            let path = bench.workspace.directory.join("collect/index");
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("an empty index", |bench| damage(bench, "collect/index", "")),
        ("a corrupt index", |bench| {
            let path = bench.workspace.directory.join("collect/index");
            let mut bytes = fs::read(&path).unwrap();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("no `.git` file", |bench| remove(bench, "tree/.git")),
    ];
    for (stage, damage) in stages {
        let bench = WorkspaceFixture::new();
        bench.prepare();
        damage(&bench);
        bench.prepare();
        assert_eq!(bench.files(), ["file"], "{stage}");
        assert_eq!(
            bench.workspace.collect().unwrap(),
            bench.head.tree,
            "{stage}"
        );
        assert_eq!(bench.worker(&["status", "--porcelain"]), "", "{stage}");
        assert_eq!(bench.prepare(), PrepareOutcome::Same, "{stage}");
    }
}

fn remove(bench: &WorkspaceFixture, name: &str) {
    fs::remove_file(bench.workspace.directory.join(name)).unwrap();
}

fn damage(bench: &WorkspaceFixture, name: &str, text: &str) {
    write(&bench.workspace.directory, name, text);
}

#[test]
fn a_rebuild_that_was_killed_still_knows_what_it_found() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("work", "x\n");
    let found = bench.workspace.collect().unwrap();
    bench
        .workspace
        .set_state(&WorkspaceState::Rebuilding {
            found: Some(found.clone()),
        })
        .unwrap();
    assert!(matches!(
        bench.workspace.collect(),
        Err(Error::NotPrepared { .. })
    ));
    assert_eq!(
        bench.prepare(),
        PrepareOutcome::Rebuilt {
            found_tree: Some(found.clone())
        }
    );
    assert_eq!(bench.files(), ["file"]);
    // And it is still there to be looked at, or to go on from.
    assert_eq!(
        bench.prepare_tree(&found),
        PrepareOutcome::Rebuilt {
            found_tree: Some(bench.head.tree.clone())
        }
    );
    assert_eq!(bench.files(), ["file", "work"]);
}

#[test]
fn a_scratch_checkout_is_the_tree_and_nothing_else() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("new", "x\n");
    let tree = bench.workspace.collect().unwrap();
    let scratch = bench.fixture.path().join("scratch");
    bench.workspace.checkout_into(&tree, &scratch).unwrap();
    assert_eq!(listing(&scratch).len(), 2);
    assert_eq!(fs::read_to_string(scratch.join("new")).unwrap(), "x\n");
    assert!(matches!(
        bench.workspace.checkout_into(&tree, &scratch),
        Err(Error::NotEmpty { .. })
    ));
    assert_eq!(bench.workspace.collect().unwrap(), tree);
}

#[test]
fn a_workspace_is_locked_while_it_is_changed() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    let other = fs::File::open(&bench.workspace.directory).unwrap();
    let locked = bench.workspace.lock().unwrap();
    assert!(other.try_lock().is_err());
    drop(locked);
    // Another test may be between its fork and its exec, with a copy of the lock.
    other.lock().unwrap();
}

#[test]
fn names_are_names_of_directories() {
    let bench = WorkspaceFixture::new();
    for name in ["", "..", ".trash", "a/b", "-x", "a b"] {
        let opened = Workspace::open(&bench.repo, &bench.fixture.path(), name);
        assert!(matches!(opened, Err(Error::BadName { .. })), "{name:?}");
    }
    let opened = Workspace::open(&bench.repo, Path::new("relative"), "x");
    assert!(matches!(opened, Err(Error::RelativeRoot { .. })));
}

#[test]
fn odd_paths_and_other_hashes_work_too() {
    let fixture = GitFixture::unborn();
    let odd = fixture.path().join("# \"odd\" \\ dir");
    fs::create_dir(&odd).unwrap();
    fixture.git(
        &odd,
        &["init", "--quiet", "--object-format=sha256", "-b", "main"],
    );
    fixture.git(&odd, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let (repo, head) = Repo::discover(&fixture.program(), &odd).unwrap();
    let workspace = Workspace::open(&repo, &odd.join("spaces"), "x").unwrap();
    assert_eq!(
        workspace
            .prepare(&head.tree, &head.commit, IgnoredFiles::Remove)
            .unwrap(),
        PrepareOutcome::Fresh
    );
    write(&workspace.tree_dir(), "new\nline", "x\n");
    let tree = workspace.collect().unwrap();
    workspace.transfer(&tree, &head.commit).unwrap();
    assert_eq!(repo.ls_tree_paths(&tree).unwrap(), [Path::new("new\nline")]);
    assert_eq!(
        fixture.git(&workspace.tree_dir(), &["log", "--format=%s"]),
        "first"
    );
}

#[test]
fn what_set_up_left_is_collected_only_if_it_is_tracked_or_changed() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("node_modules/a [b]/x", "x");
    bench.write("made *.lock", "1");
    bench.write("same.lock", "1");
    let left = ["node_modules", "made *.lock", "same.lock", "file"];
    let left = left.map(PathBuf::from);
    bench.workspace.note_products(&left).unwrap();
    bench.workspace.mark_set_up("key").unwrap();
    assert_eq!(bench.changes(), Vec::<PathBuf>::new());
    assert_eq!(bench.worker(&["status", "--porcelain"]), "");
    let unignored = bench.workspace.unignored_products().unwrap();
    let unignored: Vec<_> = unignored
        .iter()
        .map(|p| (p.path.as_str(), p.files))
        .collect();
    assert_eq!(
        unignored,
        [("node_modules/", 1), ("made *.lock", 1), ("same.lock", 1)]
    );
    bench.write("made *.lock", "2");
    bench.write("file", "changed\n");
    bench.write("made too.lock", "new\n");
    assert_eq!(
        bench.changes(),
        ["file", "made *.lock", "made too.lock"].map(PathBuf::from)
    );
    // On the way to another tree it stays, and what went with the change is set up again.
    assert!(bench.workspace.is_set_up("key").unwrap());
    let head = &bench.head;
    let again = bench
        .workspace
        .prepare(&head.tree, &head.commit, IgnoredFiles::Keep);
    assert!(matches!(again.unwrap(), PrepareOutcome::Rebuilt { .. }));
    assert!(bench.path("node_modules/a [b]/x").exists());
    assert!(bench.path("same.lock").exists());
    assert!(!bench.path("made *.lock").exists());
    assert!(!bench.workspace.is_set_up("key").unwrap());
}
