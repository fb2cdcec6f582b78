//! Workspaces against a real git, in temporary directories.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::git::fixture::{Fixture, listing, signature, write};
use crate::git::{Expected, Head};

/// A repository, and a workspace beside it.
struct Bench {
    fixture: Fixture,
    repo: Repo,
    head: Head,
    workspace: Workspace,
}

impl Bench {
    fn new() -> Bench {
        Bench::on(Fixture::new())
    }

    fn on(fixture: Fixture) -> Bench {
        let (repo, head) = fixture.open();
        let workspace = Workspace::open(&repo, &fixture.path().join("spaces"), "task-1").unwrap();
        Bench {
            fixture,
            repo,
            head,
            workspace,
        }
    }

    /// Prepares the workspace as the user's `HEAD` is.
    fn prepare(&self) -> Prepared {
        self.prepare_tree(&self.head.tree)
    }

    fn prepare_tree(&self, tree: &Oid) -> Prepared {
        self.workspace
            .prepare(tree, &self.head.commit, Ignored::Remove)
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

    /// Collects, and lists what differs from the user's `HEAD`.
    fn changes(&self) -> Vec<PathBuf> {
        let tree = self.workspace.collect().unwrap();
        let diff = self.workspace.diff(&self.head.tree, &tree).unwrap();
        diff.files.into_iter().map(|file| file.path).collect()
    }
}

fn nested(error: &Error) -> &[PathBuf] {
    match error {
        Error::NestedRepositories { paths } => paths,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fresh_workspace_is_the_wanted_tree_and_a_repository_for_the_worker() {
    let bench = Bench::new();
    assert_eq!(bench.prepare(), Prepared::Fresh);
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
    let bench = Bench::new();
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
    let fixture = Fixture::new();
    fixture.write(".codeteam/config.yml", "theirs\n");
    fixture.commit_all("configured");
    let bench = Bench::on(fixture);
    bench.prepare();
    bench.write(".codeteam/config.yml", "hijacked\n");
    bench.write(".codeteam/roles/new.yml", "new\n");
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    // It is not left for the next worker, either.
    assert!(matches!(
        bench.prepare(),
        Prepared::Rebuilt {
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
    let bench = Bench::new();
    bench.prepare();
    bench.write(".gitignore", "cache\n");
    bench.write("new", "x\n");
    bench.write("cache", "x\n");
    fs::create_dir(bench.path("empty")).unwrap();
    let tree = bench.workspace.collect().unwrap();
    let keep = |tree| {
        bench
            .workspace
            .prepare(tree, &bench.head.commit, Ignored::Keep)
            .unwrap()
    };
    assert_eq!(keep(&tree), Prepared::Same);
    assert_eq!(
        bench.files(),
        [".gitignore", "cache", "empty", "file", "new"]
    );
    assert_eq!(bench.prepare_tree(&tree), Prepared::Same);
    assert_eq!(bench.files(), [".gitignore", "file", "new"]);

    bench.write("cache", "x\n");
    bench.write("untracked/deep", "x\n");
    let Prepared::Rebuilt {
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
        Prepared::Rebuilt {
            found_tree: Some(tree)
        }
    );
    assert_eq!(bench.files(), ["file"]);
    assert_eq!(bench.worker(&["status", "--porcelain"]), "");
}

#[test]
fn a_tracked_file_that_is_also_ignored_is_not_lost() {
    let fixture = Fixture::new();
    fixture.write("tracked.log", "x\n");
    fixture.commit_all("log");
    fixture.write(".gitignore", "*.log\n");
    fixture.commit_all("ignore");
    let bench = Bench::on(fixture);
    bench.prepare();
    fs::remove_file(bench.workspace.directory.join("collect/index")).unwrap();
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    fs::write(bench.workspace.directory.join("collect/index"), "DIRC").unwrap();
    assert_eq!(bench.prepare(), Prepared::Same);
}

/// Damages a workspace in some way a killed process, or a bad disk, could.
type Damage = fn(&Bench);

#[test]
fn a_half_made_workspace_is_made_again() {
    let stages: &[(&str, Damage)] = &[
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
        let bench = Bench::new();
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
        assert_eq!(bench.prepare(), Prepared::Same, "{stage}");
    }
}

fn remove(bench: &Bench, name: &str) {
    fs::remove_file(bench.workspace.directory.join(name)).unwrap();
}

fn damage(bench: &Bench, name: &str, text: &str) {
    write(&bench.workspace.directory, name, text);
}

#[test]
fn a_rebuild_that_was_killed_still_knows_what_it_found() {
    let bench = Bench::new();
    bench.prepare();
    bench.write("work", "x\n");
    let found = bench.workspace.collect().unwrap();
    bench
        .workspace
        .set_state(&State::Rebuilding {
            found: Some(found.clone()),
        })
        .unwrap();
    assert!(matches!(
        bench.workspace.collect(),
        Err(Error::NotPrepared { .. })
    ));
    assert_eq!(
        bench.prepare(),
        Prepared::Rebuilt {
            found_tree: Some(found.clone())
        }
    );
    assert_eq!(bench.files(), ["file"]);
    // And it is still there to be looked at, or to go on from.
    assert_eq!(
        bench.prepare_tree(&found),
        Prepared::Rebuilt {
            found_tree: Some(bench.head.tree.clone())
        }
    );
    assert_eq!(bench.files(), ["file", "work"]);
}

#[test]
fn the_users_git_directory_is_not_touched_before_the_transfer() {
    let bench = Bench::new();
    let before = listing(&bench.fixture.main());
    bench.prepare();
    bench.write("new", "x\n");
    let tree = bench.workspace.collect().unwrap();
    bench.workspace.diff(&bench.head.tree, &tree).unwrap();
    bench
        .workspace
        .scratch(&tree, &bench.fixture.path().join("scratch"))
        .unwrap();
    bench.prepare();
    assert_eq!(listing(&bench.fixture.main()), before);
}

#[test]
fn a_transferred_tree_is_whole_and_can_be_committed() {
    let fixture = Fixture::new();
    fixture.write("deep/unchanged", "x\n");
    fixture.commit_all("second");
    let bench = Bench::on(fixture);
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
        .update_ref("refs/heads/run", &commit, Expected::Missing)
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
    let bench = Bench::new();
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
fn a_tree_that_would_harm_those_who_clone_it_is_refused() {
    let bench = Bench::new();
    bench.prepare();
    bench.write(
        ".gitmodules",
        "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n",
    );
    let tree = bench.workspace.collect().unwrap();
    let error = bench
        .workspace
        .transfer(&tree, &bench.head.commit)
        .unwrap_err();
    assert!(matches!(error, Error::Unrecordable { .. }), "{error:?}");
    bench.write(".gitmodules", "");
    fs::remove_file(bench.path(".gitmodules")).unwrap();
    bench.write("git~1", "a name that means `.git` elsewhere\n");
    let error = bench.workspace.collect().unwrap_err();
    assert!(matches!(error, Error::Unrecordable { .. }), "{error:?}");
    assert!(matches!(
        bench.prepare(),
        Prepared::Rebuilt { .. } | Prepared::Same
    ));
    assert_eq!(bench.files(), ["file"]);
}

#[test]
fn repositories_inside_the_work_tree_are_refused_until_they_are_gone() {
    let bench = Bench::new();
    bench.prepare();
    bench.worker(&["init", "--quiet", "unborn"]);
    assert_eq!(
        nested(&bench.workspace.collect().unwrap_err()),
        [Path::new("unborn")]
    );
    fs::remove_dir_all(bench.path("unborn")).unwrap();
    bench.worker(&["init", "--quiet", "sub"]);
    bench.fixture.git(
        &bench.path("sub"),
        &["commit", "--quiet", "--allow-empty", "-m", "x"],
    );
    for _ in 0..2 {
        assert_eq!(
            nested(&bench.workspace.collect().unwrap_err()),
            [Path::new("sub")]
        );
    }
    bench.write("sub/file", "x\n");
    fs::remove_dir_all(bench.path("sub/.git")).unwrap();
    assert_eq!(bench.changes(), [Path::new("sub/file")]);

    bench.worker(&["init", "--quiet", "sub"]);
    bench.worker(&["init", "--quiet", "unborn"]);
    assert!(matches!(
        bench.prepare(),
        Prepared::Rebuilt {
            found_tree: Some(_)
        }
    ));
    assert_eq!(bench.files(), ["file"]);
}

/// A repository with a submodule at `libs/sub`.
fn with_submodule() -> Fixture {
    let fixture = Fixture::new();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "./.",
        "libs/sub",
    ];
    fixture.git(&fixture.main(), &add);
    fixture.commit_all("a submodule");
    fixture
}

#[test]
fn submodules_of_the_user_stay_empty() {
    let bench = Bench::on(with_submodule());
    bench.prepare();
    assert!(bench.path("libs/sub").is_dir());
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    bench.worker(&["init", "--quiet", "libs/sub"]);
    assert_eq!(
        nested(&bench.workspace.collect().unwrap_err()),
        [Path::new("libs/sub")]
    );
    assert_eq!(bench.prepare(), Prepared::Same);
    assert_eq!(fs::read_dir(bench.path("libs/sub")).unwrap().count(), 0);
}

#[test]
fn nothing_outside_the_work_tree_is_reached_through_a_link() {
    let bench = Bench::on(with_submodule());
    let outside = bench.fixture.path().join("outside");
    write(&outside, "sub/.git/precious", "x");
    write(&outside, "precious", "x");
    let before = listing(&outside);
    bench.prepare();
    fs::remove_dir_all(bench.path("libs")).unwrap();
    symlink(&outside, bench.path("libs")).unwrap();
    symlink(&outside, bench.path("other")).unwrap();
    bench.write(".gitignore", "hidden\n");
    symlink(&outside, bench.path("hidden")).unwrap();
    fs::remove_file(bench.path(".git")).unwrap();
    symlink(&outside, bench.path(".git")).unwrap();
    let changes = bench.changes();
    assert_eq!(
        changes,
        [".gitignore", "libs", "libs/sub", "other"].map(PathBuf::from)
    );
    assert!(matches!(bench.prepare(), Prepared::Rebuilt { .. }));
    assert_eq!(listing(&outside), before);
    assert!(bench.path("libs").symlink_metadata().unwrap().is_dir());
    fs::remove_dir_all(bench.workspace.tree_dir()).unwrap();
    symlink(&outside, bench.workspace.tree_dir()).unwrap();
    assert!(matches!(
        bench.prepare(),
        Prepared::Rebuilt { found_tree: None }
    ));
    bench.write("more", "x");
    bench.workspace.remove().unwrap();
    assert_eq!(listing(&outside), before);
}

#[test]
fn nothing_a_worker_leaves_behind_is_run() {
    let fixture = with_submodule();
    // The user's own settings must not help, either.
    let filter = "[filter \"evil\"]\n\tclean = touch ../../../canary; cat\n\
        \tsmudge = touch ../../../canary; cat\n[diff \"evil\"]\n\ttextconv = touch ../../../canary\n\
        \tcommand = touch ../../../canary\n[merge \"evil\"]\n\tdriver = touch ../../../canary\n";
    write(&fixture.home(), ".gitconfig", filter);
    let bench = Bench::on(fixture);
    bench.prepare();
    let canary = bench.fixture.path().join("canary");
    let hook = format!("touch {}", canary.display());
    let config = format!("[core]\n\tfsmonitor = {hook}; false\n\thooksPath = hooks\n{filter}")
        .replace("../../../canary", &canary.display().to_string());
    let arm = |git_dir: &Path| {
        let old = fs::read_to_string(git_dir.join("config")).unwrap();
        fs::write(git_dir.join("config"), format!("{old}{config}")).unwrap();
        for name in [
            "post-index-change",
            "post-checkout",
            "reference-transaction",
            "pre-commit",
        ] {
            write(
                git_dir,
                &format!("hooks/{name}"),
                &format!("#!/bin/sh\n{hook}\n"),
            );
            let path = git_dir.join("hooks").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    bench.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    bench.write("file", "changed\n");
    let mut trees = Vec::new();
    for sub in ["libs/sub", "new"] {
        bench.worker(&["init", "--quiet", sub]);
        bench.fixture.git(
            &bench.path(sub),
            &["commit", "--quiet", "--allow-empty", "-m", "x"],
        );
        arm(&bench.path(sub).join(".git"));
    }
    arm(&bench.workspace.git_dir());
    for _ in 0..2 {
        assert!(bench.workspace.collect().is_err());
    }
    // Also when the check before is got round.
    let add = || bench.workspace.collector.add_all(Scope::Changes);
    add().unwrap();
    let error = add().unwrap_err();
    assert!(
        matches!(error, git::Error::NestedRepository { .. }),
        "{error:?}"
    );
    remove(&bench, "collect/index");
    for sub in ["libs/sub", "new"] {
        fs::remove_dir_all(bench.path(sub).join(".git")).unwrap();
    }
    trees.push(bench.workspace.collect().unwrap());
    bench.write("file", "changed again\n");
    trees.push(bench.workspace.collect().unwrap());
    let diff = bench.workspace.diff(&trees[0], &trees[1]).unwrap();
    assert!(String::from_utf8_lossy(&diff.text).contains("+changed again"));
    bench
        .workspace
        .transfer(&trees[1], &bench.head.tree)
        .unwrap();
    bench.repo.diff(&bench.head.tree, &trees[1]).unwrap();
    bench
        .repo
        .merge_trees(&bench.head.tree, &trees[1], &bench.head.tree)
        .unwrap();
    bench
        .workspace
        .scratch(&trees[1], &bench.fixture.path().join("a/b/c"))
        .unwrap();
    bench.prepare();
    bench.prepare_tree(&trees[0]);
    assert!(!canary.exists());
    // The trap was a live one: the worker's own git walks into it.
    arm(&bench.workspace.git_dir());
    bench.worker(&["status"]);
    assert!(canary.exists());
}

#[test]
fn a_scratch_checkout_is_the_tree_and_nothing_else() {
    let bench = Bench::new();
    bench.prepare();
    bench.write("new", "x\n");
    let tree = bench.workspace.collect().unwrap();
    let scratch = bench.fixture.path().join("scratch");
    bench.workspace.scratch(&tree, &scratch).unwrap();
    assert_eq!(listing(&scratch).len(), 2);
    assert_eq!(fs::read_to_string(scratch.join("new")).unwrap(), "x\n");
    assert!(matches!(
        bench.workspace.scratch(&tree, &scratch),
        Err(Error::NotEmpty { .. })
    ));
    assert_eq!(bench.workspace.collect().unwrap(), tree);
}

#[test]
fn a_removed_workspace_can_be_brought_back() {
    let bench = Bench::new();
    bench.prepare();
    bench.write(".gitignore", "ignored\n");
    bench.write("untracked/file", "x\n");
    bench.write("ignored", "x\n");
    fs::remove_file(bench.path("file")).unwrap();
    bench.worker(&["init", "--quiet", "nested"]);
    bench.write("nested/file", "x\n");
    let signature = signature();
    let snapshot = Snapshot {
        reference: "refs/codeteam/run/worktree/task-1",
        parent: &bench.head.commit,
        known_tree: &bench.head.tree,
        message: "task-1, as it was left\n",
        signature: &signature,
    };
    let removed = bench.workspace.snapshot_and_remove(&snapshot).unwrap();
    let Removed::Kept { commit } = removed else {
        panic!("{removed:?}")
    };
    assert_eq!(
        bench.repo.read_ref(snapshot.reference).unwrap(),
        Some(commit.clone())
    );
    assert_eq!(
        fs::read_dir(bench.fixture.path().join("spaces"))
            .unwrap()
            .count(),
        0
    );
    let again = bench.workspace.snapshot_and_remove(&snapshot).unwrap();
    assert_eq!(again, Removed::AlreadyGone);

    let restored = bench.fixture.path().join("restored");
    restore(&bench.repo, &commit, &restored).unwrap();
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
        restore(&bench.repo, &commit, &restored),
        Err(Error::NotEmpty { .. })
    ));
    let report = bench.fixture.git(
        &bench.fixture.main(),
        &["fsck", "--strict", "--no-dangling"],
    );
    assert_eq!(report, "");
}

#[test]
fn nothing_is_kept_of_a_workspace_without_work() {
    let bench = Bench::new();
    let signature = signature();
    let snapshot = Snapshot {
        reference: "refs/codeteam/run/worktree/task-1",
        parent: &bench.head.commit,
        known_tree: &bench.head.tree,
        message: "",
        signature: &signature,
    };
    bench.prepare();
    let remove = || bench.workspace.snapshot_and_remove(&snapshot).unwrap();
    assert_eq!(remove(), Removed::NothingToKeep);
    assert_eq!(bench.repo.refs_under("refs/codeteam/").unwrap(), []);
    // Killed while being removed, and while being made.
    write(&bench.fixture.path(), "spaces/.trash/task-1/tree/x", "x");
    assert_eq!(remove(), Removed::AlreadyGone);
    assert!(!bench.fixture.path().join("spaces/.trash").exists());
    bench.write("half", "x");
    assert_eq!(remove(), Removed::NothingToKeep);
}

#[test]
fn names_are_names_of_directories() {
    let bench = Bench::new();
    for name in ["", "..", ".trash", "a/b", "-x", "a b"] {
        let opened = Workspace::open(&bench.repo, &bench.fixture.path(), name);
        assert!(matches!(opened, Err(Error::BadName { .. })), "{name:?}");
    }
    let opened = Workspace::open(&bench.repo, Path::new("relative"), "x");
    assert!(matches!(opened, Err(Error::RelativeRoot { .. })));
}

#[test]
fn odd_paths_and_other_hashes_work_too() {
    let fixture = Fixture::unborn();
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
            .prepare(&head.tree, &head.commit, Ignored::Remove)
            .unwrap(),
        Prepared::Fresh
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
