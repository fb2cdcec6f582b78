//! Tests of what is stored when the files of a worker are taken from its work tree.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use codeteam_core::event::SandboxKind;
use codeteam_host::workspace::{IgnoredFiles, Workspace};

use crate::bench::EngineFixture;

fn stored_objects(folder: &Path) -> usize {
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    folders
        .filter(|entry| entry.file_name() != "info")
        .map(|entry| fs::read_dir(entry.path()).unwrap().count())
        .sum()
}

#[test]
fn a_file_that_a_worker_leaves_alone_is_not_stored_again() {
    let fixture = EngineFixture::new();
    let repo = &fixture.engine.repo;
    let launcher = fixture.engine.launcher(SandboxKind::Bubblewrap).unwrap();
    let root = fixture.path("worktrees");
    let workspace = Workspace::open(repo, &root, "one").unwrap();
    let workspace = workspace.confined(&launcher, "tests/git").unwrap();
    let head = repo.resolve("HEAD").unwrap();
    let tree = repo.tree_of(&head).unwrap();
    workspace.prepare(&tree, &head, IgnoredFiles::Keep).unwrap();
    // The index does not know it like this, as after a checkout of a moment ago.
    let file = fs::File::options()
        .write(true)
        .open(workspace.tree_dir().join("file"))
        .unwrap();
    let earlier = SystemTime::now() - Duration::from_hours(1);
    file.set_modified(earlier).unwrap();
    assert_eq!(workspace.collect().unwrap(), tree);
    let objects = root.join("one/collect/objects");
    assert_eq!(stored_objects(&objects), 0);

    fs::write(workspace.tree_dir().join("new"), "new\n").unwrap();
    assert_ne!(workspace.collect().unwrap(), tree);
    // The file and the folder.
    assert_eq!(stored_objects(&objects), 2);
}

#[test]
fn git_in_the_sandbox_need_not_read_what_nobody_has_touched() {
    let fixture = EngineFixture::new();
    let repo = &fixture.engine.repo;
    let launcher = fixture.engine.launcher(SandboxKind::Bubblewrap).unwrap();
    let root = fixture.path("worktrees");
    let workspace = Workspace::open(repo, &root, "one").unwrap();
    let workspace = workspace.confined(&launcher, "tests/git").unwrap();
    let head = repo.resolve("HEAD").unwrap();
    let tree = repo.tree_of(&head).unwrap();
    workspace.prepare(&tree, &head, IgnoredFiles::Keep).unwrap();
    // To git, a file of another owner is a changed file, and it reads it.
    let owners = || {
        let files = workspace.tracked_files().unwrap().into_iter();
        files.map(|file| file.stat.owner).collect::<Vec<_>>()
    };
    let inside = launcher.file_owner().unwrap();
    let before = owners();
    assert!(!before.is_empty());
    assert!(before.iter().all(|owner| *owner == (inside, inside)));
    // Git itself finds the same owner there.
    assert_eq!(workspace.collect().unwrap(), tree);
    assert_eq!(owners(), before);
}
