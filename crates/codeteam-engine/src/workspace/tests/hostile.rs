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
    let bench = Bench::new();
    bench.prepare();
    bench.write(
        ".gitmodules",
        "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n",
    );
    let error = bench.workspace.changes(&bench.head.tree).unwrap_err();
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

#[test]
fn a_repository_without_dot_git_is_refused_where_a_change_makes_or_touches_it() {
    let fixture = Fixture::new();
    for (name, text) in [
        ("HEAD", "ref: refs/heads/x\n"),
        ("objects/x", ""),
        ("refs/x", ""),
    ] {
        fixture.write(&format!("fixtures/old/{name}"), text);
    }
    fixture.commit_all("a repository as a fixture");
    let bench = Bench::on(fixture);
    bench.prepare();
    let canary = bench.fixture.path().join("canary");
    let config = format!("[core]\n\tfsmonitor = touch {}; false\n", canary.display());
    let changes = || bench.workspace.changes(&bench.head.tree);
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
    let traps = restore(&bench.repo, &bench.head.commit, &folder).unwrap();
    assert_eq!(traps, [Path::new("fixtures/old")]);
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
    let add = || bench.workspace.collector.add_all(Scope::Changes, &[]);
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
