//! Objects that are read and written without a process of their own.

use std::fs::Permissions;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;
use crate::git::commits::commit_tree;
use crate::workspace::{IgnoredFiles, Workspace};

/// A repository with a folder in it, and a workspace that holds it.
struct CollectedChange {
    fixture: GitFixture,
    repo: Repo,
    head: CheckoutHead,
    workspace: Workspace,
}

impl CollectedChange {
    fn new() -> Self {
        let fixture = GitFixture::new();
        fixture.write("a/b/deep", "deep\n");
        fixture.write("a/side", "side\n");
        fixture.write(".gitignore", "*.o\n");
        fixture.commit_all("folders");
        let (repo, head) = fixture.open();
        let workspace = Workspace::open(&repo, &fixture.path().join("spaces"), "task").unwrap();
        let keep = IgnoredFiles::Keep;
        workspace.prepare(&head.tree, &head.commit, keep).unwrap();
        Self {
            fixture,
            repo,
            head,
            workspace,
        }
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.workspace.tree_dir(), name, text);
    }

    /// Collects the change and transfers it. Returns the tree and whether git had to copy it.
    fn transfer(&self) -> (Oid, bool) {
        let (tree, _) = self.workspace.collect_changes(&self.head.tree).unwrap();
        let sent = self.workspace.transfer(&tree, &self.head.commit).unwrap();
        self.repo.require_whole(&tree, &self.head.commit).unwrap();
        let require = || {
            self.repo
                .require_transferred(&sent, &tree, &self.head.commit)
        };
        require().unwrap();
        let by_git = format!("{sent:?}").contains("None");
        let main = self.fixture.main();
        self.fixture.git(&main, &["fsck", "--strict", "--full"]);
        (tree, by_git)
    }

    fn object(&self, id: &str) -> PathBuf {
        let (folder, rest) = id.split_at(2);
        let objects = self.fixture.main().join(".git/objects");
        objects.join(folder).join(rest)
    }
}

#[test]
fn a_change_is_copied_as_the_files_that_git_would_write() {
    let change = CollectedChange::new();
    change.write("a/b/deep", "changed\n");
    change.write("new/folder/file", "new\n");
    std::fs::remove_file(change.workspace.tree_dir().join("file")).unwrap();
    let (tree, by_git) = change.transfer();
    assert!(!by_git);
    let mode = change.object(tree.as_str()).metadata().unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o444);
    let text = change.repo.cat_file(&tree, Path::new("new/folder/file"));
    assert_eq!(text.unwrap().unwrap(), b"new\n");
    // Somebody's `git gc` is noticed, whatever it has taken.
    let (tree, _) = change.transfer();
    let sent = change.workspace.transfer(&tree, &change.head.commit);
    std::fs::remove_file(change.object(tree.as_str())).unwrap();
    let sent = sent.unwrap();
    let base = &change.head.commit;
    let require = || change.repo.require_transferred(&sent, &tree, base);
    assert!(require().is_err());
    change.workspace.transfer(&tree, base).unwrap();
    require().unwrap();
}

#[test]
fn git_copies_what_it_has_to_look_at() {
    for name in ["lib/.gitmodules-of-old", "a/GIT~1x", "n\u{e4}me"] {
        let change = CollectedChange::new();
        change.write(name, "text\n");
        assert!(change.transfer().1, "{name}");
    }
    // A moved file has an object that is not among those of the workspace.
    let change = CollectedChange::new();
    let tree = change.workspace.tree_dir();
    std::fs::rename(tree.join("a/side"), tree.join("moved")).unwrap();
    assert!(change.transfer().1);
    // And the user may want objects to be stored in another way.
    let change = CollectedChange::new();
    let main = change.fixture.main();
    let shared = ["config", "core.sharedRepository", "group"];
    change.fixture.git(&main, &shared);
    change.write("new", "text\n");
    let (tree, by_git) = change.transfer();
    assert!(by_git);
    let found = change.object(tree.as_str()).metadata().unwrap();
    assert_eq!(found.permissions().mode() & 0o040, 0o040);
}

#[test]
fn a_packed_base_is_no_hindrance() {
    let change = CollectedChange::new();
    let main = change.fixture.main();
    change.fixture.git(&main, &["gc", "--quiet"]);
    change.write("a/b/deep", "changed\n");
    assert!(!change.transfer().1);
}

#[test]
fn a_damaged_object_is_not_copied() {
    let change = CollectedChange::new();
    change.write("a/b/deep", "changed\n");
    let (tree, _) = change.workspace.collect_changes(&change.head.tree).unwrap();
    let blob = change.workspace.tree_files(&tree).unwrap();
    let blob = blob.iter().find(|file| file.path.ends_with("deep"));
    let id = blob.unwrap().id.as_str().to_owned();
    let own = change.workspace.object_dirs().unwrap().remove(0);
    let file = own.join(&id[..2]).join(&id[2..]);
    // It is the object of another text, under this name.
    let other = change.fixture.path().join("other");
    std::fs::write(&other, "forged\n").unwrap();
    let main = change.fixture.main();
    let args = ["hash-object", "-w", other.to_str().unwrap()];
    let forged = change.fixture.git(&main, &args);
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    std::fs::copy(change.object(&forged), &file).unwrap();
    let sent = change.workspace.transfer(&tree, &change.head.commit);
    assert!(sent.is_err(), "{sent:?}");
    assert!(!change.object(&id).exists());
}

#[test]
fn a_commit_is_what_git_would_make() {
    let fixture = GitFixture::new();
    let (repo, head) = fixture.open();
    let by = |name: &str, email: &str| CommitSignature {
        identity: GitIdentity {
            name: name.to_owned(),
            email: email.to_owned(),
        },
        seconds: 1_700_000_123,
    };
    let odd = "  Ä. Nonymous, Jr. ";
    for (message, signature) in [
        ("one line", by("Tess", "tess@example.org")),
        ("two\n\nparts\n", by("Jos\u{e9} M.", "a+b@example.org")),
        ("", by("Tess", "tess@example.org")),
        ("\n\nblank\n\n", by(odd, "<x@y>")),
        ("a\ttab and \u{1f600}", by("O'Neil", "'o@example.org'")),
    ] {
        let parents = [&head.commit];
        let ours = repo.commit(&head.tree, &parents, message, &signature);
        let call = repo.plumbing();
        let gits = commit_tree(&repo.git, call, &head.tree, &parents, message, &signature);
        assert_eq!(ours.unwrap(), gits.unwrap(), "{message:?} by {signature:?}");
    }
    fixture.git(&fixture.main(), &["fsck", "--strict", "--full"]);
}

#[test]
fn files_of_a_tree_are_found_by_one_process() {
    let fixture = GitFixture::new();
    fixture.write("docs/deep/AGENTS.md", "deep\n");
    fixture.write("run.sh", "echo\n");
    let main = fixture.main();
    std::fs::set_permissions(main.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
    symlink("file", main.join("link")).unwrap();
    let commit = fixture.commit_all("files");
    let (repo, _) = fixture.open();
    let asked = [
        "run.sh",
        "docs/deep/AGENTS.md",
        "docs",
        "link",
        "none",
        "file",
        "file/x",
    ];
    let asked: Vec<PathBuf> = asked.iter().map(PathBuf::from).collect();
    let found = || -> Vec<(PathBuf, u64)> {
        let files = repo.tree_files(&commit, &asked).unwrap().into_iter();
        files.map(|file| (file.path, file.bytes)).collect()
    };
    let wanted = || {
        [("docs/deep/AGENTS.md", 5), ("file", 14), ("run.sh", 5)]
            .map(|(path, bytes)| (PathBuf::from(path), bytes))
            .to_vec()
    };
    assert_eq!(found(), wanted());
    // The process may be gone: killed, or ended because nobody needed it.
    if let Some(process) = &mut *repo.reader.process() {
        process.close_input();
    }
    assert_eq!(found(), wanted());
    repo.close_reader();
    assert_eq!(found(), wanted());
    // What was added and packed meanwhile is found, too.
    fixture.write("later", "later\n");
    let later = fixture.commit_all("later");
    fixture.git(&main, &["gc", "--quiet"]);
    let files = repo.tree_files(&later, &["later".into()]).unwrap();
    assert_eq!(repo.read_blob(&files[0].id).unwrap(), b"later\n");
    let odd = repo.tree_files(&later, &["docs/".into(), "./file".into()]);
    assert_eq!(odd.unwrap().len(), 1);
}
