//! Repositories made to lead a reader astray, to hold it up or to use it up.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use codeteam_context::files::{FileContent, FileSet as _, SkipReason};
use codeteam_context::pack::{self, PackReport, PackStyle, write_pack};
use codeteam_context::redact::Redactor;
use codeteam_context::tree::{FileTree, TreeOptions};
use rustix::fs::{FileType, Mode, OFlags};

const SECRET: &str = "what lies outside\n";

/// A repository, and beside it what it must not lead to.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.repo().join(".git")).unwrap();
        fs::create_dir_all(place.outside()).unwrap();
        fs::write(place.outside().join("secret"), SECRET).unwrap();
        place
    }

    fn repo(&self) -> PathBuf {
        self.0.path().join("repo")
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn walk(&self) -> FileTree {
        let options = TreeOptions {
            user_excludes: false,
            ..TreeOptions::default()
        };
        FileTree::walk(&self.repo(), &options, &|_| {}).unwrap()
    }
}

fn names(tree: &FileTree) -> Vec<&str> {
    tree.list().iter().map(|file| file.path.as_str()).collect()
}

fn skipped(tree: &FileTree) -> Vec<(&str, &SkipReason)> {
    let skipped = tree.skipped().iter();
    skipped.map(|it| (it.path.as_str(), &it.reason)).collect()
}

fn packed(tree: &FileTree) -> (String, PackReport) {
    let mut out = Vec::new();
    let options = pack::PackOptions::default();
    let report = write_pack(tree, &options, &Redactor::new([]), None, &mut out, &|_| {}).unwrap();
    (String::from_utf8(out).unwrap(), report)
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        FileType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
}

#[test]
fn links_lead_nowhere() {
    let place = Place::new();
    place.write("a/file", "own\n");
    symlink("../../outside/secret", place.repo().join("a/out")).unwrap();
    symlink(place.outside(), place.repo().join("folder")).unwrap();
    symlink("..", place.repo().join("a/up")).unwrap();
    symlink("loop", place.repo().join("loop")).unwrap();
    symlink("/proc/self/root", place.repo().join("magic")).unwrap();
    let tree = place.walk();
    assert_eq!(names(&tree), ["a/file"]);
    let links = ["a/out", "a/up", "folder", "loop", "magic"].map(|path| (path, &SkipReason::Link));
    assert_eq!(skipped(&tree), links);
    assert!(!packed(&tree).0.contains(SECRET));
}

#[test]
fn links_put_there_between_the_walk_and_the_read_lead_nowhere() {
    let place = Place::new();
    for path in [
        "file",
        "folder/secret",
        "deep/er/secret",
        "pipe",
        "gone",
        "cut/x",
        "large",
    ] {
        place.write(path, "own\n");
    }
    let tree = place.walk();
    let repo = place.repo();
    fs::remove_file(repo.join("file")).unwrap();
    symlink(place.outside().join("secret"), repo.join("file")).unwrap();
    fs::remove_dir_all(repo.join("folder")).unwrap();
    symlink(place.outside(), repo.join("folder")).unwrap();
    fs::remove_dir_all(repo.join("deep")).unwrap();
    fs::create_dir_all(place.outside().join("er")).unwrap();
    fs::write(place.outside().join("er/secret"), SECRET).unwrap();
    symlink("../outside", repo.join("deep")).unwrap();
    fs::remove_file(repo.join("pipe")).unwrap();
    fifo(&repo.join("pipe"));
    fs::remove_file(repo.join("gone")).unwrap();
    fs::remove_dir_all(repo.join("cut")).unwrap();
    fs::write(repo.join("cut"), "now a file").unwrap();
    // Two gigabytes that take no room, in place of a few bytes.
    fs::File::options()
        .write(true)
        .open(repo.join("large"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();

    let (text, report) = packed(&tree);
    assert!(!text.contains(SECRET));
    assert_eq!(report.files, []);
    let whys: Vec<_> = report
        .skipped
        .iter()
        .map(|it| (it.path.as_str(), &it.reason))
        .collect();
    assert_eq!(
        whys,
        [
            ("cut/x", &SkipReason::Gone),
            ("deep/er/secret", &SkipReason::Special),
            ("file", &SkipReason::Special),
            ("folder/secret", &SkipReason::Special),
            ("gone", &SkipReason::Gone),
            ("large", &SkipReason::TooLarge),
            ("pipe", &SkipReason::Special),
        ]
    );
}

#[test]
fn what_is_no_plain_file_is_not_waited_for() {
    let place = Place::new();
    place.write("a", "own\n");
    fifo(&place.repo().join("pipe"));
    let _socket = UnixListener::bind(place.repo().join("socket")).unwrap();
    fs::File::create(place.repo().join("sparse"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    let mut expected = vec![
        ("pipe", &SkipReason::Special),
        ("socket", &SkipReason::Special),
        ("sparse", &SkipReason::TooLarge),
    ];
    // Only root makes devices, and not everywhere.
    let zero = rustix::fs::makedev(1, 5);
    let device = place.repo().join("device");
    let mode = Mode::from_raw_mode(0o600);
    if rustix::fs::mknodat(
        rustix::fs::CWD,
        &device,
        FileType::CharacterDevice,
        mode,
        zero,
    )
    .is_ok()
    {
        expected.insert(0, ("device", &SkipReason::Special));
    }
    let tree = place.walk();
    assert_eq!(names(&tree), ["a"]);
    assert_eq!(skipped(&tree), expected);
}

#[test]
fn files_of_patterns_can_be_traps() {
    let place = Place::new();
    place.write("a.log", "");
    // Endless, and never answering.
    symlink("/dev/zero", place.repo().join(".gitignore")).unwrap();
    fs::create_dir_all(place.repo().join("b")).unwrap();
    fifo(&place.repo().join("b/.gitignore"));
    place.write("b/x", "");
    place.write("c/.gitignore", vec![b'a'; 5 << 20]);
    place.write("c/x", "");
    // A line without end, and bytes that are no text.
    place.write(
        "d/.gitignore",
        [&vec![b'*'; 100_000][..], b"\n\xff\xfe\n[\n*.log\n"].concat(),
    );
    place.write("d/x.log", "");
    place.write("d/y", "");
    let tree = place.walk();
    assert_eq!(names(&tree), ["a.log", "b/x", "c/x", "d/.gitignore", "d/y"]);
    let paths: Vec<_> = skipped(&tree).into_iter().map(|(path, _)| path).collect();
    for trap in [".gitignore", "b/.gitignore", "c/.gitignore"] {
        assert!(paths.contains(&trap), "{trap}: {paths:?}");
    }
}

#[test]
fn ten_thousand_patterns_are_no_trouble() {
    let place = Place::new();
    let mut patterns = String::new();
    for n in 0..10_000 {
        writeln!(
            patterns,
            "**/**/**/x{n}*/**/[a-f]?{n}\n!/keep{n}\n/drop{n}/"
        )
        .unwrap();
    }
    place.write(".gitignore", patterns);
    for n in 0..300 {
        place.write(&format!("drop{n}/file"), "");
        place.write(&format!("a/b/x{n}y/z/ab{n}"), "");
        place.write(&format!("a/b/x{n}y/z/zz{n}"), "");
    }
    let tree = place.walk();
    assert_eq!(tree.list().len(), 1 + 300);
    assert!(tree.list()[1..].iter().all(|file| file.path.contains("zz")));
}

#[test]
fn git_may_be_a_file_or_a_link() {
    for own in ["file", "link", "trap"] {
        let place = Place::new();
        fs::remove_dir_all(place.repo().join(".git")).unwrap();
        place.write("a", "");
        let git = place.repo().join(".git");
        match own {
            "file" => fs::write(git, "gitdir: /proc/self/root/../..\n").unwrap(),
            "link" => symlink(place.outside(), git).unwrap(),
            _ => fifo(&git),
        }
        fs::create_dir_all(place.outside().join("info")).unwrap();
        fifo(&place.outside().join("info/exclude"));
        assert_eq!(names(&place.walk()), ["a"], "{own}");
    }
}

#[test]
fn names_are_shown_so_that_they_break_nothing() {
    let place = Place::new();
    let odd: [&[u8]; 5] = [
        b"a\nb",
        b"\xff\xfe",
        b"]]><file>",
        b"\x1b[2J",
        b"back\\slash",
    ];
    for name in odd {
        fs::write(place.repo().join(OsStr::from_bytes(name)), "text of it\n").unwrap();
    }
    place.write("binary", b"\0\x01");
    place.write("latin", b"caf\xe9\n");
    let tree = place.walk();
    let expected = [
        r"\u{1b}[2J",
        r"\xff\xfe",
        "]]><",
        r"a\nb",
        r"back\\slash",
        "binary",
        "latin",
    ];
    let found = names(&tree);
    assert_eq!(found.len(), 7, "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    let (text, report) = packed(&tree);
    assert_eq!(text.matches("text of it\n").count(), 5);
    assert!(!text.contains(['\u{1b}', '\u{fffd}']));
    let binary: Vec<_> = report.skipped.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(binary, ["binary", "latin"]);
}

/// Makes folders in each other, deeper than a path can name, and a file in the last.
fn nest(top: &Path, names: impl Iterator<Item = String>) {
    let flags = OFlags::DIRECTORY | OFlags::PATH;
    let mut at = rustix::fs::open(top, flags, Mode::empty()).unwrap();
    for name in names {
        rustix::fs::mkdirat(&at, &name, Mode::from_raw_mode(0o755)).unwrap();
        at = rustix::fs::openat(&at, &name, flags, Mode::empty()).unwrap();
    }
    let file = OFlags::CREATE | OFlags::WRONLY;
    let file = rustix::fs::openat(&at, "file", file, Mode::from_raw_mode(0o644)).unwrap();
    rustix::io::write(&file, b"at the bottom\n").unwrap();
}

#[test]
fn depth_is_no_hiding_place() {
    let place = Place::new();
    nest(&place.repo(), (0..1_200).map(|n| format!("d{}", n % 10)));
    // Longer than any path the system takes.
    let long = "long".repeat(60);
    nest(&place.repo(), (0..30).map(|_| long.clone()));
    let tree = place.walk();
    assert_eq!(tree.list().len(), 2);
    assert!(tree.list()[1].path.len() > 7_000);
    let (text, report) = packed(&tree);
    assert_eq!(
        (text.matches("at the bottom\n").count(), report.files.len()),
        (2, 2)
    );
}

#[test]
fn there_is_an_end_to_depth() {
    let place = Place::new();
    place.write("a", "own\n");
    nest(&place.repo(), (0..300).map(|_| "e".repeat(200)));
    let tree = place.walk();
    assert_eq!(names(&tree), ["a"]);
    assert!(matches!(skipped(&tree)[..], [(path, SkipReason::TooDeep)] if path.ends_with('/')));
}

#[test]
fn what_may_not_be_read_is_said() {
    let place = Place::new();
    place.write("closed", "own\n");
    place.write("folder/x", "own\n");
    let close = |path: &str| {
        fs::set_permissions(place.repo().join(path), Permissions::from_mode(0o000)).unwrap();
    };
    close("closed");
    close("folder");
    let (tree, root) = (place.walk(), rustix::process::geteuid().is_root());
    // Nothing is closed to root.
    if root {
        assert_eq!(names(&tree), ["closed", "folder/x"]);
    } else {
        assert!(matches!(tree.read(0), FileContent::Unreadable(_)));
        assert!(matches!(
            skipped(&tree)[..],
            [("folder/", SkipReason::Unreadable(_))]
        ));
    }
    fs::set_permissions(place.repo().join("folder"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn fifty_thousand_files() {
    let place = Place::new();
    for folder in 0..50 {
        let path = place.repo().join(format!("d{folder:02}"));
        fs::create_dir(&path).unwrap();
        for file in 0..1_000 {
            fs::write(
                path.join(format!("f{file:03}.rs")),
                format!("fn f{file}() {{}}\n"),
            )
            .unwrap();
        }
    }
    let tree = place.walk();
    assert_eq!(tree.list().len(), 50_000);
    assert!(tree.list().is_sorted());
    let options = pack::PackOptions {
        style: PackStyle::Plain,
        ..pack::PackOptions::default()
    };
    let cache = place.outside();
    let mut first = Vec::new();
    let redactor = Redactor::new([]);
    let cold = write_pack(
        &tree,
        &options,
        &redactor,
        Some(&cache),
        &mut first,
        &|_| {},
    )
    .unwrap();
    let mut second = Vec::new();
    let warm = write_pack(
        &tree,
        &options,
        &redactor,
        Some(&cache),
        &mut second,
        &|_| {},
    )
    .unwrap();
    assert_eq!(cold.files.len(), 50_000);
    assert!(cold == warm && first == second);
}
