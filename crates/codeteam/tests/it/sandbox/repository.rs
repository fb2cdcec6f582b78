//! The user's repository: attacks 2 to 5, and what git can do inside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{NO_SANDBOX, attack, by, coder, found, reviewer, test_that_runs};
use crate::project::Project;

/// Collects the content of a folder, by path.
fn contents(folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contents(&path, into);
        } else {
            into.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
}

/// Everything of a `.git` that a run has no reason to change, and all objects it has.
fn repository(project: &Project) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    contents(&project.path(".git"), &mut files);
    let added = ["refs/codeteam", "refs/heads/codeteam", "logs"].map(|part| {
        let part = format!(".git/{part}");
        project.path(&part)
    });
    files.retain(|path, _| !added.iter().any(|added| path.starts_with(added)));
    files
}

/// Writes wherever there is anything to be written beside the worktree.
fn writes(project: &Project) -> String {
    let (root, home) = (project.root(), project.home());
    let (root, home) = (root.display(), home.display());
    format!(
        "
        for folder in .. ../.. ../git/.. ../collect ../git/objects/.. {root} {root}/.git {root}/.git/hooks {root}/.git/info {home} {home}/shown; do
            echo planted > $folder/planted
        done
        ln -s {root} way && echo planted > way/planted
        ln -s ../../../../../../../../{home} out && echo planted > out/planted
        ln -s {root}/.git/config config && echo '[core] fsmonitor = touch {home}/planted' >> config
        rm -f way out config
        "
    )
}

fn planted(more: &[&str]) -> usize {
    let project = Project::new();
    let writes = writes(&project);
    let (before, checkout) = (repository(&project), project.checkout());
    let plays = [
        coder(&format!("{writes}\n{}", test_that_runs(&writes))),
        reviewer(&writes),
    ];
    attack(&project, &plays, more).expect(0);
    let planted = found(&project, "planted");
    if planted.is_empty() {
        project.git(&["fsck", "--strict"]);
        let after = repository(&project);
        for (path, bytes) in &before {
            assert_eq!(after.get(path), Some(bytes), "{}", path.display());
        }
        assert_eq!(project.checkout(), checkout);
    }
    planted.len()
}

#[test]
fn nothing_is_written_beside_the_worktree() {
    assert_eq!(planted(&[]), 0);
    assert!(planted(&[NO_SANDBOX]) >= 5);
}

#[test]
fn the_pointer_to_git_cannot_be_replaced() {
    let project = Project::new();
    let replace = "
        mv .git gone; rm -f .git; ln -sf /tmp .git; echo 'gitdir: /tmp/evil' > .git
        cp -r ../git /tmp/evil; mount --bind /tmp/evil .git
        git rev-parse --git-dir; test -f .git && test ! -e gone && echo stays";
    let plays = [coder(&by("coder", replace)), reviewer("")];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(done.said("coder").last(), Some(&"stays"), "{}", done.stderr);
    assert_eq!(project.committed_files(), ["made.txt"]);
}

#[test]
fn objects_can_be_read_but_neither_changed_nor_removed() {
    let project = Project::new();
    let before = repository(&project);
    let destroy = "
        for store in $(tr -d '\"' < ../git/objects/info/alternates); do
            for object in $(find $store -type f); do
                test -r $object && echo readable
                chmod u+w $object; true > $object; rm -f $object; mv $object /tmp; echo x >> $object
            done
            rm -rf $store/??
            touch $store/new
        done
        true";
    let plays = [
        coder(&format!(
            "{}\n{}",
            by("coder", destroy),
            test_that_runs(destroy)
        )),
        reviewer(destroy),
    ];
    let done = attack(&project, &plays, &[]).expect(0);
    assert!(done.said("coder").contains(&"readable"), "{}", done.stderr);
    project.git(&["fsck", "--strict"]);
    let after = repository(&project);
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{}", path.display());
    }
    assert!(found(&project, "new").is_empty());
}

#[test]
fn git_works_inside_and_only_the_change_comes_out() {
    let project = Project::new();
    let work = "
        set -e
        git log --format=%s
        echo mine > mine.txt
        git status --porcelain
        git add mine.txt
        git diff --cached --stat
        git commit -q -m 'as the worker says'
        git branch side
        git checkout -q -b elsewhere HEAD~1
        echo more > more.txt
        git add -A
        git commit -q -m 'and again'
        git rebase -q side
        git tag mark
        git stash list
        git log --format=%s -1
        echo all-of-it";
    let plays = [
        coder(&by("coder", work)),
        reviewer(&by(
            "reviewer",
            "git log --format=%s; git diff HEAD --stat; git status --porcelain",
        )),
    ];
    let done = attack(&project, &plays, &[]).expect(0);
    let said = done.said("coder");
    assert_eq!(said.first(), Some(&"first"), "{said:#?}");
    assert!(said.ends_with(&["and again", "all-of-it"]), "{said:#?}");
    assert_eq!(
        project.committed_files(),
        ["made.txt", "mine.txt", "more.txt"]
    );
    // No commit, branch or tag of the worker's is anywhere in the repository.
    let objects = project.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objecttype)",
    ]);
    assert_eq!(objects.lines().filter(|kind| *kind == "commit").count(), 2);
    let refs = project.git(&["for-each-ref", "--format=%(refname)"]);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let own = format!("refs/heads/{branch}");
    let expected = [own.as_str(), "refs/heads/main"];
    assert_eq!(refs.lines().collect::<Vec<_>>(), expected);
    assert!(!done.said("reviewer").is_empty());
}

#[test]
fn a_worker_cannot_configure_git_for_the_next_one() {
    let project = Project::new();
    let plant = "
        git config core.fsmonitor 'echo obeyed >&2; false'
        git config alias.show-me '!echo obeyed'
        git config core.hooksPath /tmp
        mkdir -p ../git/info; echo '* -diff' > ../git/info/attributes
        echo planted > ../git/planted";
    let look = "git status --porcelain; git show-me; cat ../git/planted ../git/info/attributes; git config --get core.hooksPath; echo looked";
    let plays = [coder(plant), reviewer(&by("reviewer", look))];
    let done = attack(&project, &plays, &[]).expect(0);
    let said = done.said("reviewer");
    assert_eq!(said.last(), Some(&"looked"), "{said:#?}");
    for sign in ["obeyed", "planted", "* -diff", "/tmp"] {
        assert!(!said.contains(&sign), "{said:#?}");
    }
}
