//! What is found, and what is not.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::files::SkipReason;

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn walk(&self, path: &str, options: &TreeOptions) -> FileTree {
        FileTree::walk(&self.path(path), options, &|_| {}).unwrap()
    }
}

fn options() -> TreeOptions {
    TreeOptions {
        user_excludes: false,
        ..TreeOptions::default()
    }
}

fn names(tree: &FileTree) -> Vec<&str> {
    tree.list().iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn a_folder_is_seen_as_git_sees_it() {
    let folder = TestFolder::new(&[
        (".git/config", ""),
        (".git/info/exclude", "/private\n"),
        (".gitignore", "*.log\n/target/\n"),
        (".github/x.yml", ""),
        ("a.log", ""),
        ("b/.gitignore", "!keep.log\n"),
        ("b/keep.log", ""),
        ("b/other.log", ""),
        ("b/private", ""),
        ("private", ""),
        ("target/debug/x", ""),
        ("z/target/x", ""),
        (".codeteamignore", "*.yml\n!/a.log\n"),
        ("a-b", ""),
        ("a/b", ""),
        ("sub/.git", "gitdir: elsewhere\n"),
        ("sub/x", ""),
        ("nested/.git/HEAD", ""),
        ("nested/x", ""),
    ]);
    let tree = folder.walk("", &options());
    let expected = [
        ".codeteamignore",
        ".gitignore",
        "a-b",
        "a.log",
        "a/b",
        "b/.gitignore",
        "b/keep.log",
        "b/private",
        "z/target/x",
    ];
    assert_eq!(names(&tree), expected);
    let skipped: Vec<_> = tree
        .skipped()
        .iter()
        .map(|it| (it.path.as_str(), &it.reason))
        .collect();
    assert_eq!(
        skipped,
        [
            ("nested/", &SkipReason::Repository),
            ("sub/", &SkipReason::Repository)
        ]
    );
    // A folder of it is seen by the same rules.
    assert_eq!(
        names(&folder.walk("b", &options())),
        [".gitignore", "keep.log", "private"]
    );
    // A work tree of its own finds the excludes of its repository.
    fs::create_dir_all(folder.path(".git/worktrees/w")).unwrap();
    folder.write(".git/worktrees/w/commondir", "../..\n");
    let other = TestFolder::new(&[("private", ""), ("b", "")]);
    let linked = folder.path(".git/worktrees/w");
    other.write(".git", &format!("gitdir: {}\n", linked.display()));
    assert_eq!(names(&other.walk("", &options())), ["b"]);
}

#[test]
fn what_is_wanted_can_be_said() {
    let folder = TestFolder::new(&[
        ("src/a.rs", "1234"),
        ("src/b.md", ""),
        ("c.md", ""),
        ("d/e.md", "12345"),
    ]);
    let wanted = |include: &[&str], exclude: &[&str]| {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let options = TreeOptions {
            include: own(include),
            exclude: own(exclude),
            ..options()
        };
        let tree = folder.walk("", &options);
        names(&tree).join(" ")
    };
    assert_eq!(wanted(&["src/"], &[]), "src/a.rs src/b.md");
    assert_eq!(wanted(&["*.md"], &["src"]), "c.md d/e.md");
    assert_eq!(wanted(&["*.md"], &["/src/*.md", "d/**"]), "c.md");
    let small = folder.walk(
        "",
        &TreeOptions {
            max_file_bytes: 4,
            ..options()
        },
    );
    assert_eq!(names(&small), ["c.md", "src/a.rs", "src/b.md"]);
    assert_eq!(small.skipped()[0].reason, SkipReason::TooLarge);
    let never = TreeOptions {
        never: vec![folder.path("c.md")],
        ..options()
    };
    assert_eq!(
        names(&folder.walk("", &never)),
        ["d/e.md", "src/a.rs", "src/b.md"]
    );
    let bad = TreeOptions {
        include: vec!["a[".to_owned()],
        ..options()
    };
    let error = FileTree::walk(&folder.path(""), &bad, &|_| {}).unwrap_err();
    assert_eq!(error.to_string(), "`a[` is not a valid pattern");
}

#[test]
fn one_file_is_a_tree_too() {
    let folder = TestFolder::new(&[(".gitignore", "a\n"), ("a", "text"), ("b", "")]);
    let tree = folder.walk("a", &options());
    assert_eq!(names(&tree), ["a"]);
    assert!(matches!(tree.read(0), FileContent::Text(text) if text == "text"));
    assert!(matches!(tree.read(1), FileContent::Gone));
    assert!(FileTree::walk(&folder.path("none"), &options(), &|_| {}).is_err());
}

#[test]
fn contents_are_texts_or_said_to_be_none() {
    let folder = TestFolder::new(&[("text", "\u{feff}é\r\n"), ("gone", ""), ("grown", "1")]);
    fs::write(folder.path("nul"), b"a\0b").unwrap();
    fs::write(folder.path("latin"), b"caf\xe9").unwrap();
    fs::write(folder.path("utf16"), b"\xff\xfea\0").unwrap();
    symlink("text", folder.path("link")).unwrap();
    let tree = folder.walk("", &options());
    fs::remove_file(folder.path("gone")).unwrap();
    fs::write(folder.path("grown"), vec![b'a'; (1 << 20) + 1]).unwrap();
    let read: Vec<_> = (0..tree.list().len()).map(|at| tree.read(at)).collect();
    assert_eq!(
        names(&tree),
        ["gone", "grown", "latin", "nul", "text", "utf16"]
    );
    assert!(matches!(read[0], FileContent::Gone));
    assert!(matches!(read[1], FileContent::TooLarge));
    for binary in [2, 3, 5] {
        assert!(matches!(read[binary], FileContent::Binary), "{binary}");
    }
    // To the byte.
    assert!(matches!(&read[4], FileContent::Text(text) if text == "\u{feff}é\r\n"));
    assert_eq!(
        tree.skipped(),
        [SkippedPath {
            path: "link".to_owned(),
            reason: SkipReason::Link
        }]
    );
}

#[test]
fn files_that_are_known_are_taken_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
    fs::write(root.join(".gitignore"), "src\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("etc")).unwrap();
    let paths = [
        "src/a.rs",
        "link",
        "gone",
        "src",
        "etc/passwd",
        ".gitignore",
    ];
    let tree = FileTree::from_paths(root, paths.map(PathBuf::from), 1 << 20).unwrap();
    let names: Vec<&str> = tree.list().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, [".gitignore", "etc/passwd", "src/a.rs"]);
    assert!(matches!(tree.read(2), FileContent::Text(text) if text == "fn a() {}\n"));
    assert!(!matches!(tree.read(1), FileContent::Text(_)));
}
