//! Work trees made to harm: links out of the tree, repositories inside it,
//! configuration that runs programs.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn nested(error: &Error) -> &[PathBuf] {
    match error {
        Error::NestedRepositories { paths } => paths,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tree_that_would_harm_those_who_clone_it_is_refused() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write(
        ".gitmodules",
        "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n",
    );
    let error = bench
        .workspace
        .collect_changes(&bench.head.tree)
        .unwrap_err();
    assert!(matches!(error, Error::Unrecordable { .. }), "{error:?}");
    // Even if it were asked for.
    let tree = bench.workspace.collector.write_tree().unwrap();
    let error = bench
        .workspace
        .transfer(&tree, &bench.head.commit)
        .unwrap_err();
    assert!(matches!(error, Error::Unrecordable { .. }), "{error:?}");
    fs::remove_file(bench.path(".gitmodules")).unwrap();
    bench.write("git~1", "a name that means `.git` elsewhere\n");
    let error = bench.workspace.collect().unwrap_err();
    assert!(matches!(error, Error::Unrecordable { .. }), "{error:?}");
    assert!(matches!(
        bench.prepare(),
        PrepareOutcome::Rebuilt { .. } | PrepareOutcome::Same
    ));
    assert_eq!(bench.files(), ["file"]);
}

#[test]
fn what_is_left_out_may_be_ignored() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write(".codeteam/config.yml", "worker: x\n");
    bench.write("made", "by a worker\n");
    for rule in [".codeteam/", "/.codeteam", ".*"] {
        bench.write(".gitignore", &format!("{rule}\n"));
        let (tree, _) = bench.workspace.collect_changes(&bench.head.tree).unwrap();
        let files = bench.workspace.tree_files(&tree).unwrap();
        let has = |name: &str| files.iter().any(|file| file.path.starts_with(name));
        assert!(has("made"), "{rule}");
        assert!(!has(".codeteam"), "{rule}");
    }
}

#[test]
fn repositories_inside_the_work_tree_are_refused_until_they_are_gone() {
    let bench = WorkspaceFixture::new();
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
        PrepareOutcome::Rebuilt {
            found_tree: Some(_)
        }
    ));
    assert_eq!(bench.files(), ["file"]);
}

#[test]
fn a_repository_without_dot_git_is_refused_where_a_change_makes_or_touches_it() {
    let fixture = GitFixture::new();
    for (name, text) in [
        ("HEAD", "ref: refs/heads/x\n"),
        ("objects/x", ""),
        ("refs/x", ""),
    ] {
        fixture.write(&format!("fixtures/old/{name}"), text);
    }
    fixture.commit_all("a repository as a fixture");
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    let canary = bench.fixture.path().join("canary");
    let config = format!("[core]\n\tfsmonitor = touch {}; false\n", canary.display());
    let changes = || bench.workspace.collect_changes(&bench.head.tree);
    bench.write("fixtures/old/src/file", "x\n");
    assert_eq!(changes().unwrap().1.files.len(), 1);
    bench.write("fixtures/old/config", &config);
    assert_eq!(nested(&changes().unwrap_err()), [Path::new("fixtures/old")]);
    fs::remove_file(bench.path("fixtures/old/config")).unwrap();

    bench.worker(&["init", "--quiet", "--bare", "docs/trap"]);
    fs::write(bench.path("docs/trap/refs/keep"), "").unwrap();
    fs::write(bench.path("docs/trap/objects/keep"), "").unwrap();
    // As it is on disk, it is a live one.
    let live = "\trepositoryFormatVersion = 0\n\tbare = false\n\tworktree = ..\n";
    let live = format!("{config}{live}");
    fs::write(bench.path("docs/trap/config"), live).unwrap();
    let git = |args: &[&str]| bench.fixture.git(&bench.path("docs/trap"), args);
    git(&["status"]);
    assert!(canary.exists());
    let error = changes().unwrap_err();
    assert_eq!(nested(&error), [Path::new("docs/trap")]);
    assert!(error.to_string().contains("`docs/trap`"), "{error}");
    fs::remove_file(bench.path("docs/trap/HEAD")).unwrap();
    assert!(changes().is_ok());
    // What is brought back is named.
    let folder = bench.fixture.path().join("restored");
    let traps = restore_snapshot(&bench.repo, &bench.head.commit, &folder).unwrap();
    assert_eq!(traps, [Path::new("fixtures/old")]);
}

/// A repository with a submodule at `libs/sub`.
fn with_submodule() -> GitFixture {
    let fixture = GitFixture::new();
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
    let bench = WorkspaceFixture::on(with_submodule());
    bench.prepare();
    assert!(bench.path("libs/sub").is_dir());
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    bench.worker(&["init", "--quiet", "libs/sub"]);
    assert_eq!(
        nested(&bench.workspace.collect().unwrap_err()),
        [Path::new("libs/sub")]
    );
    assert_eq!(bench.prepare(), PrepareOutcome::Same);
    assert_eq!(fs::read_dir(bench.path("libs/sub")).unwrap().count(), 0);
}

#[test]
fn nothing_outside_the_work_tree_is_reached_through_a_link() {
    let bench = WorkspaceFixture::on(with_submodule());
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
    assert!(matches!(bench.prepare(), PrepareOutcome::Rebuilt { .. }));
    assert_eq!(listing(&outside), before);
    assert!(bench.path("libs").symlink_metadata().unwrap().is_dir());
    fs::remove_dir_all(bench.workspace.tree_dir()).unwrap();
    symlink(&outside, bench.workspace.tree_dir()).unwrap();
    assert!(matches!(
        bench.prepare(),
        PrepareOutcome::Rebuilt { found_tree: None }
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
    let bench = WorkspaceFixture::on(fixture);
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
    let add = || {
        bench
            .workspace
            .collector
            .add_all(SnapshotScope::Changes, &[])
    };
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
        .checkout_into(&trees[1], &bench.fixture.path().join("a/b/c"))
        .unwrap();
    bench.prepare();
    bench.prepare_tree(&trees[0]);
    assert!(!canary.exists());
    // The trap was a live one: the worker's own git walks into it.
    arm(&bench.workspace.git_dir());
    bench.worker(&["status"]);
    assert!(canary.exists());
}

fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[test]
fn a_pipe_that_git_would_read_holds_nothing_up() {
    for name in [".gitignore", "sub/.gitignore", ".gitmodules", "plain"] {
        let bench = WorkspaceFixture::new();
        bench.prepare();
        bench.write("sub/made", "x\n");
        pipe(&bench.path(name));
        let made = PathBuf::from("sub/made");
        assert_eq!(bench.changes(), std::slice::from_ref(&made), "{name}");
        let removed = bench.workspace.take_repairs().removed;
        let removed: Vec<_> = removed.into_iter().map(|file| file.path).collect();
        let is_read = name.ends_with(".gitignore");
        assert_eq!(removed, vec![PathBuf::from(name); usize::from(is_read)]);
        // A new attempt is not held up either.
        if is_read {
            pipe(&bench.path(name));
        }
        let prepared =
            bench
                .workspace
                .prepare(&bench.head.tree, &bench.head.commit, IgnoredFiles::Keep);
        assert!(matches!(prepared.unwrap(), PrepareOutcome::Rebuilt { .. }));
        pipe(&bench.path(".gitignore"));
        bench.write("kept", "x\n");
        assert!(matches!(
            bench.close().unwrap(),
            RemovalOutcome::Kept { .. }
        ));
    }
}

#[test]
fn a_pipe_in_the_place_of_a_tracked_file_is_refused_by_name() {
    let fixture = GitFixture::new();
    fixture.write(".gitignore", "target/\n");
    fixture.commit_all("ignore");
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    fs::remove_file(bench.path(".gitignore")).unwrap();
    pipe(&bench.path(".gitignore"));
    let error = bench.workspace.collect().unwrap_err();
    let said = error.to_string();
    assert!(said.contains("`.gitignore` is a named pipe"), "{said}");
    bench.prepare();
    assert_eq!(bench.read(".gitignore").as_deref(), Some("target/\n"));
}

#[test]
fn folders_that_cannot_be_read_or_written_end_nothing() {
    let lock = |bench: &WorkspaceFixture, name: &str, mode| {
        let rights = fs::Permissions::from_mode(mode);
        fs::set_permissions(bench.path(name), rights).unwrap();
    };
    let keep = |bench: &WorkspaceFixture| {
        let (tree, head) = (&bench.head.tree, &bench.head.commit);
        bench
            .workspace
            .prepare(tree, head, IgnoredFiles::Keep)
            .unwrap()
    };
    // As Go's module cache is left.
    let bench = WorkspaceFixture::new();
    bench.prepare();
    bench.write("cache/mod/file", "x\n");
    lock(&bench, "cache/mod", 0o555);
    lock(&bench, "cache", 0o555);
    keep(&bench);
    assert_eq!(bench.files(), ["file"]);

    // What cannot be looked into is looked into, and not left out.
    bench.write("secret/file", "x\n");
    lock(&bench, "secret", 0);
    assert_eq!(bench.changes(), [Path::new("secret/file")]);
    lock(&bench, "secret", 0);
    lock(&bench, "", 0);
    assert_eq!(bench.changes(), [Path::new("secret/file")]);
    lock(&bench, "", 0);
    keep(&bench);
    assert_eq!(bench.files(), ["file"]);

    bench.write("kept", "x\n");
    lock(&bench, "", 0);
    assert!(matches!(
        bench.close().unwrap(),
        RemovalOutcome::Kept { .. }
    ));
    assert!(bench.workspace.is_missing());
}

#[test]
fn what_lies_too_deep_for_git_is_refused_and_does_not_stay() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let bench = WorkspaceFixture::new();
    bench.prepare();
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, bench.path(""), flags, Mode::empty()).unwrap();
    let name = "d".repeat(200);
    for _ in 0..60 {
        mkdirat(&folder, &name, Mode::RWXU).unwrap();
        folder = openat(&folder, &name, flags, Mode::empty()).unwrap();
    }
    rustix::fs::openat(&folder, "file", OFlags::CREATE, Mode::RWXU).unwrap();
    let error = bench.workspace.collect().unwrap_err();
    assert!(matches!(error, Error::Unrecordable { .. }), "{error:?}");
    bench.prepare();
    assert_eq!(bench.files(), ["file"]);
}

#[test]
fn files_inside_a_submodule_are_named() {
    let fixture = GitFixture::new();
    let main = fixture.main();
    let commit = fixture.git(&main, &["rev-parse", "HEAD"]);
    let link = format!("160000,{commit},sub");
    fixture.git(&main, &["update-index", "--add", "--cacheinfo", &link]);
    fixture.git(&main, &["commit", "--quiet", "-m", "submodule"]);
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    bench.write("sub/new.txt", "x\n");
    assert_eq!(bench.workspace.collect().unwrap(), bench.head.tree);
    let files = ["./sub/new.txt", "sub/absent", "sub", "file"].map(str::to_owned);
    let found = bench.workspace.submodule_files(&files).unwrap();
    let expected = [("sub/new.txt", "sub")].map(|(f, s)| (PathBuf::from(f), PathBuf::from(s)));
    assert_eq!(found, expected);
}

#[test]
fn collecting_ends_with_its_time() {
    let bench = WorkspaceFixture::new();
    bench.prepare();
    let _limit = crate::process::WaitLimit::limit_to(std::time::Duration::ZERO);
    let error = bench.workspace.collect().unwrap_err();
    // A process that another test has just begun may hold the lock for a moment, before it is executed:
    // then the time is over while the lock is waited for.
    let is_over = match &error {
        Error::Git(git::Error::TimedOut { .. }) => true,
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::TimedOut,
        _ => false,
    };
    assert!(is_over, "{error:?}");
}

#[test]
fn what_must_be_encrypted_or_in_lfs_is_not_collected_as_it_is() {
    let fixture = GitFixture::new();
    fixture.write(
        ".gitattributes",
        "secrets/** filter=own\n*.bin filter=lfs\n*.nb filter=strip\n",
    );
    fixture.write(
        "old.bin",
        "version https://git-lfs.github.com/spec/v1\nold\n",
    );
    fixture.commit_all("attributes");
    fixture.git(&fixture.main(), &["config", "filter.own.required", "true"]);
    fixture.git(&fixture.main(), &["config", "filter.strip.clean", "cat"]);
    let bench = WorkspaceFixture::on(fixture);
    bench.prepare();
    let changes = || bench.workspace.collect_changes(&bench.head.tree);
    bench.write("plain.nb", "as it is\n");
    bench.write(
        "new.bin",
        "version https://git-lfs.github.com/spec/v1\nnew\n",
    );
    fs::rename(bench.path("old.bin"), bench.path("moved.bin")).unwrap();
    assert_eq!(changes().unwrap().1.files.len(), 4);
    bench.write("whole.bin", "\u{1}\u{2}");
    let said = changes().unwrap_err().to_string();
    assert!(said.contains("`whole.bin` (filter `lfs`)"), "{said}");
    fs::remove_file(bench.path("whole.bin")).unwrap();
    bench.write("secrets/new.env", "KEY=1\n");
    // Taking the attribute away does not help.
    bench.write(".gitattributes", "");
    let said = changes().unwrap_err().to_string();
    assert!(said.contains("`secrets/new.env` (filter `own`)"), "{said}");
    // Nor is it kept in a commit when the work tree goes: that stays where it is.
    let error = bench.close().unwrap_err();
    assert!(matches!(error, Error::Filtered { .. }), "{error:?}");
    assert!(bench.path("secrets/new.env").exists());
}
