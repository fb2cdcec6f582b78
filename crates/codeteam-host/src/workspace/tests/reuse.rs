//! Work trees that are kept and moved: nothing of the one who had them reaches the next one.

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::SystemTime;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::*;

/// A repository with two trees, and a pool.
pub(super) struct PoolFixture {
    pub(super) bench: WorkspaceFixture,
    pub(super) first: Oid,
    pub(super) second: Oid,
    pool: WorktreePool,
}

impl PoolFixture {
    pub(super) fn new() -> PoolFixture {
        let fixture = GitFixture::new();
        fixture.write(".gitignore", "ignored\n/built/\n");
        fixture.write("folder/deep/same", "same\n");
        fixture.write("folder/changed", "before\n");
        fixture.write("gone/entirely", "x\n");
        symlink("file", fixture.main().join("link")).unwrap();
        fixture.commit_all("first");
        let first = fixture.tree_of_checkout();
        fixture.write("folder/changed", "after!\n");
        fixture.write("new/file", "new\n");
        fs::remove_dir_all(fixture.main().join("gone")).unwrap();
        fixture.commit_all("second");
        let second = fixture.tree_of_checkout();
        let pool = WorktreePool::open(&fixture.path().join("spaces"), false);
        let pool = pool.on_any_file_system();
        PoolFixture {
            bench: WorkspaceFixture::on(fixture),
            first,
            second,
            pool,
        }
    }

    fn workspace(&self, name: &str) -> Workspace {
        let root = self.bench.fixture.path().join("spaces/run");
        let workspace = Workspace::open(&self.bench.repo, &root, name).unwrap();
        workspace.keeping_trees(self.pool.clone())
    }

    /// Prepares a workspace, whose files are then those of the tree.
    pub(super) fn prepare(&self, name: &str, tree: &Oid) -> Workspace {
        let workspace = self.workspace(name);
        let head = &self.bench.head.commit;
        let prepared = workspace.prepare(tree, head, IgnoredFiles::Keep).unwrap();
        assert_eq!(prepared, PrepareOutcome::Fresh);
        self.assert_is(&workspace, tree);
        workspace
    }

    /// Makes the files old enough to be kept: as if the worker had started a while later.
    pub(super) fn let_time_pass(workspace: &Workspace) {
        let later = SystemTime::now() + std::time::Duration::from_secs(2);
        let prepared = fs::File::options()
            .write(true)
            .open(workspace.directory.join("prepared"))
            .unwrap();
        prepared.set_modified(later).unwrap();
    }

    /// Compares a work tree with one that was made anew: names, kinds, permissions, content.
    fn assert_is(&self, workspace: &Workspace, tree: &Oid) {
        let plain = self.bench.fixture.path().join("plain");
        let _ = fs::remove_dir_all(&plain);
        let fresh = Workspace::open(&self.bench.repo, &plain, "fresh").unwrap();
        let head = &self.bench.head.commit;
        fresh.prepare(tree, head, IgnoredFiles::Keep).unwrap();
        assert_eq!(contents(&workspace.tree_dir()), contents(&fresh.tree_dir()));
        assert_eq!(&workspace.collect().unwrap(), tree);
    }

    fn kept(&self) -> Vec<PathBuf> {
        let mut kept = Vec::new();
        let top = self.bench.fixture.path().join("spaces/.kept/bare");
        for boot in fs::read_dir(top).into_iter().flatten().flatten() {
            let trees = fs::read_dir(boot.path()).unwrap();
            kept.extend(trees.map(|tree| tree.unwrap().path()));
        }
        kept
    }
}

/// Everything below a folder: path, mode, and content or target.
pub(super) fn contents(top: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = if metadata.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(top).unwrap().to_owned();
            found.push((name, metadata.mode(), bytes));
        }
    }
    found.sort();
    found
}

fn inode(workspace: &Workspace, name: &str) -> u64 {
    let path = workspace.tree_dir().join(name);
    path.symlink_metadata().unwrap().ino()
}

/// Writes other content of the same length, and sets the time of the content back.
fn forge(path: &Path, text: &str) {
    let before = fs::metadata(path).unwrap();
    assert_eq!(before.len(), text.len() as u64);
    fs::write(path, text).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
}

#[test]
fn a_kept_work_tree_is_moved_by_what_differs() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    let same = inode(&one, "folder/deep/same");
    one.release().unwrap();
    assert!(!one.directory.exists());
    assert_eq!(bench.kept().len(), 1);
    let two = bench.prepare("two", &bench.second);
    assert!(bench.kept().is_empty());
    assert_eq!(inode(&two, "folder/deep/same"), same);
    assert_eq!(two.prepared_tree().unwrap(), bench.second);
    let status = bench
        .bench
        .fixture
        .git(&two.tree_dir(), &["status", "--porcelain"]);
    assert!(!status.contains("deep"), "{status}");
    // And back again, by way of closing.
    PoolFixture::let_time_pass(&two);
    let closed = two.snapshot_and_remove(&SnapshotRequest {
        reference: "refs/codeteam/run/worktree/two",
        parent: &bench.bench.head.commit,
        known_tree: &bench.second,
        message: "two, as it was left\n",
        signature: &crate::test_support::signature(),
    });
    assert_eq!(closed.unwrap(), RemovalOutcome::NothingToKeep);
    let three = bench.prepare("three", &bench.first);
    assert_eq!(inode(&three, "folder/deep/same"), same);
}

/// Makes the next comparison of a work tree read all of it.
fn forget_folders(directory: &Path) {
    fs::remove_file(directory.join("folders")).unwrap();
}

#[test]
fn what_a_worker_left_does_not_reach_the_next_one() {
    for has_notes in [true, false] {
        leave_all_kinds_of_things(has_notes);
    }
}

fn leave_all_kinds_of_things(has_notes: bool) {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    if !has_notes {
        forget_folders(&one.directory);
    }
    let outside = bench.bench.fixture.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "kept\n").unwrap();
    let tree = one.tree_dir();
    let same = inode(&one, "folder/deep/same");
    // Content and its time, permissions, another name for the file.
    forge(&tree.join("folder/changed"), "BEFORE\n");
    fs::set_permissions(tree.join("file"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(tree.join(".gitignore"), outside.join("shared")).unwrap();
    // Files that are ignored, new, links, pipes, repositories, in folders that cannot be written.
    fs::create_dir_all(tree.join("built/deep")).unwrap();
    fs::write(tree.join("built/deep/x"), "x").unwrap();
    fs::write(tree.join("folder/ignored"), "x").unwrap();
    fs::write(tree.join("made"), "x").unwrap();
    symlink(&outside, tree.join("folder/out")).unwrap();
    mknodat(CWD, tree.join("folder/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    bench
        .bench
        .fixture
        .git(&tree, &["init", "--quiet", "folder/nested"]);
    fs::write(tree.join(".git"), "gitdir: /nonexistent\n").unwrap();
    fs::create_dir(tree.join("empty")).unwrap();
    // A folder that is a link now, and one that cannot be entered.
    fs::rename(tree.join("gone"), outside.join("gone")).unwrap();
    symlink(outside.join("gone"), tree.join("gone")).unwrap();
    for (folder, mode) in [
        ("built/deep", 0o555),
        ("folder/deep", 0o000),
        ("folder", 0o2555),
    ] {
        fs::set_permissions(tree.join(folder), fs::Permissions::from_mode(mode)).unwrap();
    }
    one.release().unwrap();
    assert_eq!(bench.kept().len(), 1);
    let two = bench.prepare("two", &bench.first);
    assert_eq!(inode(&two, "folder/deep/same"), same);
    // Whoever has the other name of the file does not write into the work tree.
    fs::write(outside.join("shared"), "*\n").unwrap();
    bench.assert_is(&two, &bench.first);
    assert_eq!(
        fs::read_to_string(outside.join("secret")).unwrap(),
        "kept\n"
    );
    assert!(outside.join("gone/entirely").exists());
}

#[test]
fn a_folder_with_attributes_is_not_used_again() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    let folder = one.tree_dir().join("folder");
    let set = setxattr(&folder, "user.note", b"x", XattrFlags::empty());
    // There are file systems without.
    if set == Err(rustix::io::Errno::OPNOTSUPP) {
        return;
    }
    set.unwrap();
    one.release().unwrap();
    assert!(bench.kept().is_empty());
    bench.prepare("two", &bench.first);
}

/// Touches a kept work tree in some way.
type KeptTreeDamage = fn(&Path);

#[test]
fn nothing_remains_of_what_was_done_to_a_work_tree_while_it_was_kept() {
    let stages: &[(&str, KeptTreeDamage)] = &[
        ("content with the old time", |kept| {
            forge(&kept.join("tree/folder/deep/same"), "evil\n");
        }),
        ("permissions", |kept| {
            let rights = fs::Permissions::from_mode(0o755);
            fs::set_permissions(kept.join("tree/file"), rights).unwrap();
        }),
        ("a new file", |kept| {
            fs::write(kept.join("tree/made"), "x").unwrap();
        }),
        ("a new folder", |kept| {
            fs::create_dir(kept.join("tree/folder/empty")).unwrap();
        }),
        ("a folder that is a link", |kept| {
            let moved = kept.parent().unwrap().parent().unwrap().join("elsewhere");
            fs::rename(kept.join("tree/folder"), &moved).unwrap();
            symlink(&moved, kept.join("tree/folder")).unwrap();
        }),
        ("a closed folder", |kept| {
            let rights = fs::Permissions::from_mode(0o700);
            fs::set_permissions(kept.join("tree/folder"), rights).unwrap();
        }),
        ("a repository", |kept| {
            fs::create_dir(kept.join("tree/folder/.git")).unwrap();
        }),
        ("no index", |kept| {
            fs::remove_file(kept.join("prepared")).unwrap();
        }),
        ("half an index", |kept| {
            let bytes = fs::read(kept.join("prepared")).unwrap();
            fs::write(kept.join("prepared"), &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("no work tree", |kept| {
            fs::remove_dir_all(kept.join("tree")).unwrap();
        }),
    ];
    let ways = [true, false].into_iter();
    for (has_notes, (stage, damage)) in ways.flat_map(|way| stages.iter().map(move |s| (way, s))) {
        let bench = PoolFixture::new();
        let one = bench.prepare("one", &bench.first);
        PoolFixture::let_time_pass(&one);
        one.release().unwrap();
        let kept = bench.kept().remove(0);
        if !has_notes {
            forget_folders(&kept);
        }
        damage(&kept);
        let two = bench.prepare("two", &bench.second);
        assert!(two.directory.join("prepared").exists(), "{stage}");
    }
}

#[test]
fn a_folder_that_a_worker_emptied_is_not_in_a_tree_without_it() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    let same = inode(&one, "folder/deep/same");
    fs::remove_file(one.tree_dir().join("gone/entirely")).unwrap();
    one.release().unwrap();
    let two = bench.prepare("two", &bench.second);
    assert_eq!(inode(&two, "folder/deep/same"), same, "it was moved");
    assert!(!two.tree_dir().join("gone").exists());
    // And in a tree that has it.
    PoolFixture::let_time_pass(&two);
    fs::remove_file(two.tree_dir().join("new/file")).unwrap();
    fs::remove_file(two.tree_dir().join("file")).unwrap();
    two.release().unwrap();
    let three = bench.prepare("three", &bench.second);
    assert_eq!(inode(&three, "folder/deep/same"), same, "it was moved");
}

#[test]
fn a_folder_as_new_as_the_note_about_it_is_read() {
    use super::super::folder_notes::FolderNotes;
    use rustix::fs::stat;
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    let folder = one.tree_dir().join("folder");
    fs::write(folder.join("made"), "x").unwrap();
    // As if this had happened in the moment in which the folder was noted.
    let mut notes = FolderNotes::default();
    notes.insert(Path::new("folder"), &stat(&folder).unwrap());
    fs::write(one.directory.join("folders"), notes.to_bytes()).unwrap();
    one.release().unwrap();
    let kept = bench.kept().remove(0);
    assert!(!kept.join("tree/folder/made").exists());
    bench.prepare("two", &bench.first);
}

#[test]
fn notes_that_are_broken_are_not_used() {
    use super::super::folder_notes::FolderNotes;
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    let path = one.directory.join("folders");
    let whole = fs::read(&path).unwrap();
    let later = (u32::MAX, 0);
    let notes = FolderNotes::parse(&whole, later).unwrap();
    let mut found: Vec<&Path> = notes.paths().collect();
    found.sort();
    assert_eq!(found, ["", "folder", "folder/deep", "gone"].map(Path::new),);
    assert_eq!(FolderNotes::parse(&notes.to_bytes(), later), Some(notes));
    let half = &whole[..whole.len() - 1];
    assert_eq!(FolderNotes::parse(half, later), None);
    fs::write(&path, half).unwrap();
    fs::write(one.tree_dir().join("folder/made"), "x").unwrap();
    one.release().unwrap();
    assert!(!bench.kept().remove(0).join("tree/folder/made").exists());
    bench.prepare("two", &bench.second);
}

/// What had happened when codeteam was killed.
type KilledMove = fn(&Workspace);

#[test]
fn a_move_that_was_killed_is_found_and_made_anew() {
    let stages: &[(&str, KilledMove)] = &[
        ("nothing moved yet", |_| {}),
        ("the index taken", take_index),
        ("half of the files", |two| {
            take_index(two);
            damage_in(two, "collect/index.lock", "");
            fs::remove_dir_all(two.tree_dir().join("gone")).unwrap();
            damage_in(two, "tree/folder/changed", "aft");
            damage_in(two, "tree/half", "x");
        }),
        ("all files, and nothing said", |two| {
            take_index(two);
            two.write_collector().unwrap();
            two.collector.checkout_first(&two.collector_tree()).unwrap();
        }),
    ];
    for (stage, damage) in stages {
        let bench = PoolFixture::new();
        let one = bench.prepare("one", &bench.first);
        PoolFixture::let_time_pass(&one);
        one.release().unwrap();
        let two = bench.workspace("two");
        two.take_kept_tree(&bench.second).unwrap();
        assert!(two.directory.exists(), "{stage}");
        damage(&two);
        // Nobody takes it for a work tree.
        assert!(matches!(two.collect(), Err(Error::NotPrepared { .. })));
        let two = bench.prepare("two", &bench.second);
        two.release().unwrap();
        bench.prepare("three", &bench.first);
    }
}

fn take_index(workspace: &Workspace) {
    workspace.write_collector().unwrap();
    let index = workspace.collector.index_path();
    fs::rename(workspace.directory.join("prepared"), index).unwrap();
}

fn damage_in(workspace: &Workspace, name: &str, text: &str) {
    write(&workspace.directory, name, text);
}

impl Workspace {
    /// The tree of the index.
    fn collector_tree(&self) -> Oid {
        self.collector.write_tree().unwrap()
    }
}

#[test]
fn a_workspace_that_was_half_given_back_is_made_anew() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    fs::remove_file(one.directory.join("state")).unwrap();
    for name in ["collect", "git"] {
        fs::remove_dir_all(one.directory.join(name)).unwrap();
    }
    fs::remove_file(one.tree_dir().join("file")).unwrap();
    fs::write(one.tree_dir().join("left"), "x").unwrap();
    bench.prepare("one", &bench.second);
}

#[test]
fn two_that_want_the_same_work_tree_get_different_ones() {
    let bench = PoolFixture::new();
    for round in 0..8 {
        let names = [format!("a{round}"), format!("b{round}")];
        let barrier = Barrier::new(names.len());
        let spaces: Vec<Workspace> = std::thread::scope(|scope| {
            let prepare = |name: &String| {
                let workspace = bench.workspace(name);
                barrier.wait();
                let head = &bench.bench.head.commit;
                let done = workspace.prepare(&bench.first, head, IgnoredFiles::Keep);
                done.map(|_| workspace).unwrap()
            };
            let threads = names.iter().map(|name| scope.spawn(move || prepare(name)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_ne!(inode(&spaces[0], "file"), inode(&spaces[1], "file"));
        for workspace in &spaces {
            bench.assert_is(workspace, &bench.first);
        }
        spaces[0].release().unwrap();
        // One is there for two in the next round.
        spaces[1].remove().unwrap();
    }
}

#[test]
fn a_large_work_tree_that_is_about_to_be_given_back_is_waited_for() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    assert!(bench.pool.announce_release(&one.directory).is_none());
    // As if it had thousands of files.
    let same = inode(&one, "folder/deep/same");
    let prepared = one.directory.join("prepared");
    let index = fs::read(&prepared).unwrap();
    fs::write(&prepared, vec![0; 1 << 20]).unwrap();
    let announced = bench.pool.announce_release(&one.directory).unwrap();
    fs::write(&prepared, index).unwrap();
    PoolFixture::let_time_pass(&one);
    let two = std::thread::scope(|scope| {
        let two = scope.spawn(|| bench.prepare("two", &bench.second));
        one.release().unwrap();
        drop(announced);
        two.join().unwrap()
    });
    assert_eq!(inode(&two, "folder/deep/same"), same);
    // One that does not come is not waited for.
    drop(bench.pool.announce_release(&two.directory));
    bench.prepare("three", &bench.second);
}

#[test]
fn the_pool_is_bounded_and_can_be_emptied() {
    let bench = PoolFixture::new();
    let all: Vec<Workspace> = (0..11)
        .map(|n| bench.prepare(&format!("w{n}"), &bench.first))
        .collect();
    for workspace in &all {
        PoolFixture::let_time_pass(workspace);
        workspace.release().unwrap();
    }
    assert_eq!(bench.kept().len(), 8);
    bench.pool.trim_idle();
    assert_eq!(bench.kept().len(), 2);
    // Of an earlier boot, and a removal that was killed.
    let top = bench.bench.fixture.path().join("spaces");
    let boot = bench.kept().remove(0).parent().unwrap().to_owned();
    write(&boot, ".trash.4194305.0/tree/file", "x");
    write(boot.parent().unwrap(), "earlier/tree/file", "x");
    assert!(WorktreePool::clear(&top, true) > 0);
    assert_eq!(bench.kept().len(), 4);
    assert!(WorktreePool::clear(&top, false) > 0);
    let found = fs::read_dir(top.join(".kept")).map(|_| ());
    assert_eq!(found.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(WorktreePool::clear(&top, false), 0);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a process that a worker left behind"
)]
fn a_work_tree_in_which_somebody_still_works_is_not_kept() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    PoolFixture::let_time_pass(&one);
    let mut left = Command::new("cat");
    left.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut left = left
        .current_dir(one.tree_dir().join("folder"))
        .spawn()
        .unwrap();
    one.release().unwrap();
    assert!(bench.kept().is_empty() && !one.directory.exists());
    left.kill().unwrap();
    left.wait().unwrap();
    // Nor one of which somebody has a file open.
    let two = bench.prepare("two", &bench.first);
    PoolFixture::let_time_pass(&two);
    let open = fs::File::open(two.tree_dir().join("file")).unwrap();
    two.release().unwrap();
    assert!(bench.kept().is_empty());
    drop(open);
}

/// Set for the part of the next test that runs where something is mounted in the folder it names.
const MOUNTED_IN: &str = "CODETEAM_TEST_MOUNTED_IN";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test runs itself once more, where something is mounted"
)]
fn what_is_mounted_in_a_work_tree_is_neither_kept_nor_removed() {
    if let Some(top) = std::env::var_os(MOUNTED_IN) {
        refuse_mounted_folder(Path::new(&top));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (tree, precious) = (folder.path().join("tree"), folder.path().join("precious"));
    fs::create_dir_all(tree.join("folder")).unwrap();
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "precious\n").unwrap();
    let name =
        "workspace::tests::reuse::what_is_mounted_in_a_work_tree_is_neither_kept_nor_removed";
    let done = Command::new("bwrap")
        .args(["--dev-bind", "/", "/", "--bind"])
        .arg(&precious)
        .arg(tree.join("folder"))
        .arg("--")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(MOUNTED_IN, &tree)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("1 passed"), "{said}");
    assert_eq!(
        fs::read_to_string(precious.join("file")).unwrap(),
        "precious\n"
    );
}

/// Tries to verify, to sweep and to remove a work tree in which something is mounted on `folder`.
fn refuse_mounted_folder(tree: &Path) {
    use super::super::verify::{ForeignFiles, TreeExpectation};
    let known = crate::git::IndexEntry {
        path: "folder/file".into(),
        mode: 0o100_644,
        id: Vec::new(),
        stat: crate::git::IndexStat::default(),
    };
    for entries in [&[][..], std::slice::from_ref(&known)] {
        let expected = TreeExpectation {
            sample: tree,
            entries,
            noted_at: None,
        };
        for foreign in [ForeignFiles::Remove, ForeignFiles::Refuse] {
            expected.verify(tree, foreign).unwrap_err();
        }
        super::super::files::remove_untracked(tree, entries).unwrap_err();
    }
    let error = remove_tree(tree).unwrap_err();
    let error = crate::error_chain::format_error_chain(&error);
    assert!(
        error.contains("something is mounted on `folder`"),
        "{error}"
    );
    super::super::files::remove_large_tree(tree).unwrap_err();
    assert!(tree.join("folder/file").exists());
}

#[test]
fn files_as_new_as_the_note_about_them_are_written_again() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    let file = one.tree_dir().join("folder/deep/same");
    let changed = file.metadata().unwrap();
    // As if it had been noted in the moment in which git wrote the file.
    let seconds = std::time::Duration::from_secs(u64::try_from(changed.ctime()).unwrap());
    let nanos = std::time::Duration::from_nanos(u64::try_from(changed.ctime_nsec()).unwrap());
    let prepared = fs::File::options()
        .write(true)
        .open(one.directory.join("prepared"))
        .unwrap();
    prepared
        .set_modified(SystemTime::UNIX_EPOCH + seconds + nanos)
        .unwrap();
    one.release().unwrap();
    let kept = bench.kept().remove(0);
    assert!(!kept.join("tree/folder/deep/same").exists());
    bench.prepare("two", &bench.first);
}

#[test]
fn only_file_systems_whose_times_can_be_trusted_are_used() {
    use super::super::verify::has_trusted_times;
    assert!(!has_trusted_times(Path::new("/proc")));
    assert!(!has_trusted_times(Path::new("/nonexistent")));
    let bench = PoolFixture::new();
    let head = &bench.bench.head.commit;
    let root = bench.bench.fixture.path().join("spaces");
    let workspace = Workspace::open(&bench.bench.repo, &root.join("run"), "plain").unwrap();
    let workspace = workspace.keeping_trees(WorktreePool::open(&root, false));
    workspace
        .prepare(&bench.first, head, IgnoredFiles::Keep)
        .unwrap();
    let is_trusted = has_trusted_times(&root);
    workspace.release().unwrap();
    assert_eq!(!bench.kept().is_empty(), is_trusted);
}
