//! Git operations against a real git, in temporary directories.

mod ending;
mod history;
mod merging;
mod packing;
mod plain_objects;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::fixture::{GitFixture, write};
use super::*;
use crate::test_support::signature;

#[test]
fn discovery_finds_the_repository_and_where_it_stands() {
    let fixture = GitFixture::new();
    write(&fixture.main(), "sub/dir/x", "x");
    let (repo, head) = Repo::discover(&fixture.program(), &fixture.main().join("sub/dir")).unwrap();
    assert_eq!(repo.top_level(), fixture.main());
    assert_eq!(repo.common_dir(), fixture.main().join(".git"));
    assert_eq!(
        repo.object_dirs().unwrap(),
        [fixture.main().join(".git/objects")]
    );
    assert_eq!(head.branch.as_deref(), Some("main"));
    assert_eq!(head, repo.head().unwrap());
    assert_eq!(head.commit, repo.resolve("main").unwrap());
    assert_eq!(
        head.commit.as_str(),
        fixture.git(&fixture.main(), &["rev-parse", "HEAD"])
    );
    assert!(matches!(
        repo.resolve("--all"),
        Err(Error::UnknownRevision { .. })
    ));
}

#[test]
fn discovery_says_what_is_wrong() {
    let fixture = GitFixture::unborn();
    let git = fixture.program();
    let discover = |path: &Path| Repo::discover(&git, path).unwrap_err();
    assert!(matches!(
        discover(&fixture.home()),
        Error::NotARepository { .. }
    ));
    assert!(
        matches!(discover(&fixture.main()), Error::NoCommits { path } if path == fixture.main())
    );
    fixture.git(&fixture.path(), &["init", "--quiet", "--bare", "bare"]);
    assert!(matches!(
        discover(&fixture.path().join("bare")),
        Error::Bare { .. }
    ));
    assert!(matches!(
        discover(&fixture.main().join(".git")),
        Error::Bare { .. }
    ));
    assert!(matches!(
        discover(&fixture.path().join("absent")),
        Error::Spawn { .. }
    ));
    let nowhere = GitEnvironment {
        path: fixture.home().into(),
        home: None,
        xdg_config_home: None,
        codeteam: None,
    };
    assert!(matches!(
        GitProgram::new(nowhere),
        Err(Error::Missing { .. })
    ));
}

#[test]
fn a_git_that_is_too_old_is_named() {
    let fixture = GitFixture::new();
    let script = "#!/bin/sh\nfor arg; do case $arg in \
        --attr-source=*) echo \"unknown option: $arg\" >&2; exit 129;; \
        version) echo git version 2.34.1;; esac; done\n";
    fixture.write("bin/git", script);
    let program = fixture.main().join("bin/git");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.commit_all("an old git");
    // Written by another process: a program that this one, with all its
    // threads, has just had open for writing may not be executable yet.
    std::fs::remove_file(&program).unwrap();
    fixture.git(&fixture.main(), &["checkout", "--quiet", "--", "bin/git"]);
    let path = fixture.main().join("bin").into_os_string();
    let git = GitProgram::new(GitEnvironment {
        path,
        home: None,
        xdg_config_home: None,
        codeteam: None,
    })
    .unwrap();
    let error = Repo::discover(&git, &fixture.main()).unwrap_err();
    assert!(matches!(error, Error::TooOld { found } if found == "2.34.1"));
}

#[test]
fn linked_worktrees_detached_heads_and_borrowed_objects_are_understood() {
    let fixture = GitFixture::new();
    fixture.git(
        &fixture.main(),
        &["worktree", "add", "--quiet", "--detach", "../linked"],
    );
    let (repo, head) = Repo::discover(&fixture.program(), &fixture.path().join("linked")).unwrap();
    assert_eq!(repo.top_level(), fixture.path().join("linked"));
    assert_eq!(repo.common_dir(), fixture.main().join(".git"));
    assert_eq!(
        repo.object_dirs().unwrap(),
        [fixture.main().join(".git/objects")]
    );
    assert_eq!(head.branch, None);
    assert_eq!(head, repo.head().unwrap());

    fixture.git(
        &fixture.path(),
        &["clone", "--quiet", "--shared", "main", "borrower"],
    );
    let (repo, _) = Repo::discover(&fixture.program(), &fixture.path().join("borrower")).unwrap();
    let expected = [
        fixture.path().join("borrower/.git/objects"),
        fixture.main().join(".git/objects"),
    ];
    assert_eq!(repo.object_dirs().unwrap(), expected);
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let fixture = GitFixture::new();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "./.",
        "sub",
    ];
    fixture.git(&fixture.main(), &add);
    let (repo, _) = Repo::discover(&fixture.program(), &fixture.main().join("sub")).unwrap();
    assert_eq!(repo.top_level(), fixture.main().join("sub"));
    assert_eq!(repo.common_dir(), fixture.main().join(".git/modules/sub"));
    assert!(!repo.is_dirty().unwrap());
}

#[test]
fn a_checkout_is_dirty_by_anything_but_codeteams_own_files() {
    let fixture = GitFixture::new();
    let (repo, _) = fixture.open();
    assert!(!repo.is_dirty().unwrap());
    fixture.write(".codeteam/state.db", "x");
    assert!(!repo.is_dirty().unwrap());
    fixture.write(".codeteams", "x");
    assert!(repo.is_dirty().unwrap());
    // The user's own ignores count: they do not see this file, either.
    write(
        &fixture.home(),
        ".gitconfig",
        "[core]\n\texcludesFile = ~/ignore\n",
    );
    write(&fixture.home(), "ignore", ".codeteams\n");
    assert!(!repo.is_dirty().unwrap());
    fixture.write("file", "changed\n");
    assert!(repo.is_dirty().unwrap());
}

#[test]
fn commits_are_the_same_whenever_they_are_made() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let message = "subject\n\nbody\n";
    let make = || {
        repo.commit(&head.tree, &[&head.commit], message, &signature())
            .unwrap()
    };
    let commit = make();
    assert_eq!(commit, make());
    let text = fixture.git(&fixture.main(), &["cat-file", "commit", commit.as_str()]);
    let who = "Tess <tess@example.org> 1700000000 +0000";
    let expected = format!(
        "tree {}\nparent {}\nauthor {who}\ncommitter {who}\n\nsubject\n\nbody",
        head.tree, head.commit
    );
    assert_eq!(text, expected);
}

#[test]
fn the_identity_is_the_users() {
    let fixture = GitFixture::new();
    let (repo, _) = fixture.open();
    assert_eq!(repo.identity().unwrap(), None);
    write(
        &fixture.home(),
        ".gitconfig",
        "[user]\n\tname = A B\n\temail = a@b.example\n",
    );
    let expected = GitIdentity {
        name: "A B".to_owned(),
        email: "a@b.example".to_owned(),
    };
    assert_eq!(repo.identity().unwrap(), Some(expected));
}

#[test]
fn a_reference_moves_only_from_where_it_is_expected() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let other = repo
        .commit(&head.tree, &[&head.commit], "other", &signature())
        .unwrap();
    let name = "refs/codeteam/run/tip";
    repo.update_ref(name, &head.commit, ExpectedRef::Missing)
        .unwrap();
    let error = repo
        .update_ref(name, &other, ExpectedRef::Missing)
        .unwrap_err();
    assert!(
        matches!(error, Error::RefMoved { expected: None, found: Some(at), .. } if at == head.commit)
    );
    let error = repo
        .update_ref(name, &other, ExpectedRef::At(&other))
        .unwrap_err();
    assert!(
        matches!(error, Error::RefMoved { expected: Some(_), found: Some(at), .. } if at == head.commit)
    );
    repo.update_ref(name, &other, ExpectedRef::At(&head.commit))
        .unwrap();
    assert_eq!(
        repo.refs_under("refs/codeteam/").unwrap(),
        [(name.to_owned(), other.clone())]
    );

    write(&fixture.main(), ".git/refs/codeteam/run/tip.lock", "");
    let error = repo
        .update_ref(name, &head.commit, ExpectedRef::At(&other))
        .unwrap_err();
    assert!(matches!(error, Error::RefLocked { .. }));
    assert!(error.to_string().contains("run/tip.lock"), "{error}");
    let lock = fixture.main().join(".git/refs/codeteam/run/tip.lock");
    // One that is old was left by a git that was killed.
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let file = std::fs::File::options().write(true).open(&lock).unwrap();
    file.set_modified(old).unwrap();
    repo.update_ref(name, &other, ExpectedRef::At(&other))
        .unwrap();
    assert!(!lock.exists());

    assert!(matches!(
        repo.delete_ref(name, &head.commit),
        Err(Error::RefMoved { .. })
    ));
    repo.delete_ref(name, &other).unwrap();
    assert_eq!(repo.refs_under("refs/codeteam/").unwrap(), []);
    assert!(matches!(repo.read_ref("--all"), Err(Error::BadRef { .. })));
}

#[test]
fn a_branch_is_created_once() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    repo.create_branch("codeteam/1", &head.commit).unwrap();
    let error = repo.create_branch("codeteam/1", &head.commit).unwrap_err();
    assert!(matches!(error, Error::BranchExists { found, .. } if found == head.commit));
    // `codeteam/1` is a file where a directory would have to be.
    assert!(matches!(
        repo.create_branch("codeteam/1/2", &head.commit),
        Err(Error::Failed { .. })
    ));
}

#[test]
fn commits_are_found_by_their_trailers() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let make = |parent: &Oid, message: &str| {
        repo.commit(&head.tree, &[parent], message, &signature())
            .unwrap()
    };
    let one = make(&head.commit, "one\n\nCodeteam-Run: r1\nCodeteam-Task: t1\n");
    let two = make(
        &one,
        "two\n\ntext: not a trailer\n\nCodeteam-Run: r1\nCodeteam-Task: t2:\n x\n",
    );
    let three = make(&two, "three\u{1}\n");
    let commits = repo.commits_since(&head.commit, &three).unwrap();
    let subjects: Vec<&str> = commits
        .iter()
        .map(|commit| commit.subject.as_str())
        .collect();
    assert_eq!(subjects, ["three\u{1}", "two", "one"]);
    assert_eq!(commits[0].trailers, []);
    assert_eq!(commits[1].trailer("codeteam-task"), Some("t2: x"));
    assert_eq!(commits[1].parents, std::slice::from_ref(&one));
    assert_eq!(commits[1].tree, head.tree);
    let find = |task| {
        let trailers = [("Codeteam-Run", "r1"), ("Codeteam-Task", task)];
        repo.find_trailer_commit(&head.commit, &three, &trailers)
            .unwrap()
    };
    assert_eq!(find("t1").unwrap().oid, one);
    assert_eq!(find("t3"), None);
    assert_eq!(repo.commits_since(&three, &three).unwrap(), []);
}

#[test]
fn a_diff_names_every_kind_of_change() {
    let fixture = GitFixture::new();
    fixture.write("gone", "gone\n");
    fixture.write("script", "run\n");
    fixture.write("link", "file\n");
    fixture.commit_all("base");
    let (repo, base) = fixture.open();
    let odd = ["-dash", "new\nline", "quo\"te", "tab\t", "ünï", " space "];
    for name in odd {
        fixture.write(name, "odd\n");
    }
    std::fs::remove_file(fixture.main().join("gone")).unwrap();
    std::fs::remove_file(fixture.main().join("link")).unwrap();
    std::os::unix::fs::symlink("file", fixture.main().join("link")).unwrap();
    std::fs::write(fixture.main().join("binary"), [0, 1, 2, 255]).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.main().join("script"), mode).unwrap();
    let tree = fixture.tree_of_checkout();

    let diff = repo.diff(&base.tree, &tree).unwrap();
    let change = |name: &str| {
        let file = diff
            .files
            .iter()
            .find(|file| file.path == Path::new(name))
            .unwrap();
        (file.change, file.old_mode, file.new_mode)
    };
    assert_eq!(diff.files.len(), odd.len() + 4);
    for name in odd {
        assert_eq!(change(name), (DiffStatus::Added, 0, 0o100_644), "{name:?}");
    }
    assert_eq!(change("gone"), (DiffStatus::Deleted, 0o100_644, 0));
    assert_eq!(
        change("script"),
        (DiffStatus::Modified, 0o100_644, 0o100_755)
    );
    assert_eq!(
        change("link"),
        (DiffStatus::TypeChanged, 0o100_644, 0o120_000)
    );
    assert_eq!(change("binary"), (DiffStatus::Added, 0, 0o100_644));
    assert_eq!(diff.gitlinks().count(), 0);
    assert!(repo.diff(&tree, &tree).unwrap().is_empty());

    // The patch is one that git itself can apply, odd names and all.
    std::fs::write(fixture.path().join("patch"), &diff.text).unwrap();
    fixture.git(&fixture.main(), &["reset", "--quiet", "--hard"]);
    fixture.git(&fixture.main(), &["apply", "--index", "../patch"]);
    assert_eq!(fixture.tree_of_checkout(), tree);
}

#[test]
fn a_patch_keeps_its_id_on_another_base() {
    let fixture = GitFixture::unborn();
    let lines = |first: &str, last: &str| {
        let middle = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        format!("{first}{middle}{last}")
    };
    fixture.write("file", &lines("fn a() {\n", "end\n"));
    fixture.commit_all("base");
    let (repo, base) = fixture.open();
    fixture.write("file", &lines("fn a() {\n", "changed\n"));
    let changed = fixture.tree_of_checkout();
    fixture.write("file", &lines("x\ny\nfn b() {\n", "end\n"));
    let other_base = fixture.tree_of_checkout();
    fixture.write("file", &lines("x\ny\nfn b() {\n", "changed\n"));
    let other_changed = fixture.tree_of_checkout();
    let here = repo.diff(&base.tree, &changed).unwrap();
    let there = repo.diff(&other_base, &other_changed).unwrap();
    assert_ne!(here.text, there.text);
    assert_eq!(here.patch_id, there.patch_id);
    assert_ne!(
        here.patch_id,
        repo.diff(&base.tree, &other_changed).unwrap().patch_id
    );
}

#[test]
fn a_sha256_repository_works_the_same() {
    let fixture = GitFixture::unborn();
    std::fs::remove_dir_all(fixture.main().join(".git")).unwrap();
    fixture.git(
        &fixture.main(),
        &["init", "--quiet", "--object-format=sha256", "-b", "main"],
    );
    fixture.write("file", "x\n");
    fixture.commit_all("first");
    let (repo, head) = fixture.open();
    assert_eq!(repo.object_format(), ObjectFormat::Sha256);
    let diff = repo
        .diff(&repo.object_format().empty_tree(), &head.tree)
        .unwrap();
    assert_eq!(diff.files[0].path, Path::new("file"));
    repo.create_branch("codeteam/1", &head.commit).unwrap();
}

#[test]
fn an_edit_within_the_tick_in_which_the_index_was_written_is_seen() {
    let fixture = GitFixture::new();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    let date = |path: &Path| {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(earlier).unwrap();
    };
    let (file, index) = (
        fixture.main().join("file"),
        fixture.main().join(".git/index"),
    );
    fixture.write("file", "one\n");
    date(&file);
    fixture.git(&fixture.main(), &["add", "-A"]);
    date(&index);
    std::fs::write(&file, "two\n").unwrap();
    date(&file);
    let (repo, _) = fixture.open();
    let tree = repo.snapshot(&fixture.path().join("scratch")).unwrap();
    let text = repo.cat_file(&tree, Path::new("file")).unwrap().unwrap();
    assert_eq!(text, b"two\n");
}

#[test]
fn a_snapshot_is_taken_where_codeteams_folder_is_ignored() {
    let fixture = GitFixture::new();
    fixture.write(".codeteam/config.yml", "worker: x\n");
    fixture.write(".gitignore", ".codeteam/\n");
    fixture.write("file", "two\n");
    let (repo, _) = fixture.open();
    let tree = repo.snapshot(&fixture.path().join("scratch")).unwrap();
    let text = repo.cat_file(&tree, Path::new("file")).unwrap().unwrap();
    assert_eq!(text, b"two\n");
}

#[test]
fn what_a_dead_process_has_left_of_a_look_is_removed_by_the_next() {
    let fixture = GitFixture::new();
    let (repo, _) = fixture.open();
    let scratch = fixture.path().join("scratch");
    let living = format!("scratch.{}.other", std::process::id());
    // No process has a number beyond the limit of 4 million.
    for name in [
        "scratch.4194305.0",
        "scratch.x.0",
        &living,
        "scratch",
        "other.4194305.0",
    ] {
        write(&fixture.path(), name, "");
    }
    repo.snapshot(&scratch).unwrap();
    let left = |name: &str| fixture.path().join(name).exists();
    assert!(!left("scratch.4194305.0"));
    for name in ["scratch.x.0", &living, "scratch", "other.4194305.0"] {
        assert!(left(name), "{name}");
    }
}

#[test]
fn blobs_are_read_one_by_one() {
    let fixture = GitFixture::new();
    fixture.write("empty", "");
    fixture.write("long", &"line\n".repeat(100_000));
    fixture.commit_all("Second");
    let (repo, head) = fixture.open();
    let files = repo.all_tree_files(&head.tree).unwrap();
    let all: Vec<&Oid> = files.iter().map(|file| &file.id).collect();
    let expected = repo.read_blobs(&all).unwrap();
    let reader = repo.blob_reader();
    for id in all.iter().chain(&all) {
        assert_eq!(reader.read(id).unwrap().as_ref(), expected.get(id));
    }
    // What is none, or is not there, does not shift the next.
    let gone = Oid::parse(&"1".repeat(40)).unwrap();
    assert_eq!(reader.read(&head.tree).unwrap(), None);
    assert_eq!(reader.read(&gone).unwrap(), None);
    assert_eq!(reader.read(all[0]).unwrap().as_ref(), expected.get(all[0]));
    std::fs::remove_dir_all(fixture.main().join(".git")).unwrap();
    assert!(repo.blob_reader().read(all[0]).is_err());
}

#[test]
fn an_id_is_the_same_in_bytes() {
    let id = Oid::parse(&format!("0f{}a7", "0".repeat(36))).unwrap();
    let mut bytes = [0; 32];
    (bytes[0], bytes[19]) = (0x0f, 0xa7);
    assert_eq!(id.bytes(), bytes);
}

#[test]
fn a_partial_clone_says_how_to_get_what_it_lacks() {
    let fixture = GitFixture::new();
    let (main, top) = (fixture.main(), fixture.path());
    fixture.git(&main, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", main.display());
    let clone = ["clone", "--quiet", "--filter=blob:none", "--no-checkout"];
    fixture.git(&top, &[&clone[..], &[&url, "partial"]].concat());
    let partial = top.join("partial");
    let (repo, head) = Repo::discover(&fixture.program(), &partial).unwrap();
    let write = |name: &str| {
        std::fs::create_dir(top.join(name)).unwrap();
        repo.checkout_into(&head.tree, &top.join(name))
    };
    let error = write("scratch").unwrap_err().to_string();
    assert!(error.contains("git fetch --refetch --no-filter"), "{error}");
    fixture.git(&partial, &["fetch", "--quiet", "--refetch", "--no-filter"]);
    write("again").unwrap();
}
