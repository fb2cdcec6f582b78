//! Tests of the tools that read and change files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A work tree, with something outside of it.
struct ToolTestTree {
    dir: TempDir,
    root: PathBuf,
}

impl ToolTestTree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("tree");
        fs::create_dir(&root).unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        Self { dir, root }
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn call<T: Tool>(&self, new: fn(&Path) -> T, input: &Value) -> Result<String, String> {
        let tool = TypedTool(new(&self.root));
        tool.call(&input.to_string()).map(|output| output.text)
    }

    fn read(&self, input: &Value) -> Result<String, String> {
        self.call(read::ReadFile::new, input)
    }

    fn write(&self, input: &Value) -> Result<String, String> {
        self.call(edit::WriteFile::new, input)
    }

    fn edit(&self, input: &Value) -> Result<String, String> {
        self.call(edit::EditFile::new, input)
    }

    fn list(&self, input: &Value) -> Result<String, String> {
        self.call(find::ListFiles::new, input)
    }

    fn search(&self, input: &Value) -> Result<String, String> {
        self.call(find::SearchFiles::new, input)
    }
}

#[test]
fn files_are_read_whole_or_by_lines() {
    let tree = ToolTestTree::new();
    tree.file("a.txt", "one\ntwo\nthree\nfour");
    tree.file("empty", "");
    let read = |input| tree.read(&input);
    assert_eq!(
        read(json!({"path": "a.txt"})).unwrap(),
        "one\ntwo\nthree\nfour"
    );
    assert_eq!(
        read(json!({"path": "./a.txt", "offset": 2, "limit": 2})).unwrap(),
        "two\nthree\n(lines 2 to 3 of 4)"
    );
    assert_eq!(
        read(json!({"path": "a.txt", "offset": 4})).unwrap(),
        "four\n(lines 4 to 4 of 4)"
    );
    let error = read(json!({"path": "a.txt", "offset": 5})).unwrap_err();
    assert_eq!(error, "`a.txt` has only 4 lines");
    assert_eq!(
        read(json!({"path": "empty"})).unwrap(),
        "(`empty` is empty)"
    );
    let everything = json!({"path": "a.txt", "offset": 0, "limit": u64::MAX});
    assert_eq!(read(everything).unwrap(), "one\ntwo\nthree\nfour");
}

#[test]
fn what_is_no_text_is_not_read() {
    let tree = ToolTestTree::new();
    tree.file("binary", b"a\0b");
    tree.file("latin", b"caf\xe9");
    fs::create_dir(tree.root.join("dir")).unwrap();
    let fifo = tree.root.join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for (path, error) in [
        ("binary", "`binary` is a binary file of 3 bytes"),
        ("latin", "`latin` is not UTF-8"),
        ("dir", "`dir` is a directory; use `list_files`"),
        ("fifo", "`fifo` is not a regular file"),
    ] {
        assert_eq!(tree.read(&json!({"path": path})).unwrap_err(), error);
    }
    let error = tree.read(&json!({"path": "none"})).unwrap_err();
    assert!(
        error.starts_with("`none` cannot be read: No such file"),
        "{error}"
    );
    let written = tree.write(&json!({"path": "fifo", "content": "x"}));
    assert_eq!(written.unwrap_err(), "`fifo` is not a regular file");
}

#[test]
fn no_path_leads_out_of_the_work_tree() {
    let tree = ToolTestTree::new();
    tree.file("a", "inside");
    let above = tree.dir.path();
    symlink(above, tree.root.join("out")).unwrap();
    symlink(above.join("secret"), tree.root.join("link")).unwrap();
    symlink(above.join("new"), tree.root.join("dangling")).unwrap();
    let absolute = above.join("secret").display().to_string();
    for path in [
        "../secret",
        "a/../../secret",
        "out/secret",
        "link",
        "dangling",
        &absolute,
        "/etc/passwd",
    ] {
        assert!(tree.read(&json!({"path": path})).is_err(), "{path}");
        let written = tree.write(&json!({"path": path, "content": "x"}));
        assert!(written.is_err(), "{path}");
        let edited = tree.edit(&json!({"path": path, "old": "s", "new": "x"}));
        assert!(edited.is_err(), "{path}");
        let found = tree.search(&json!({"pattern": "secret", "path": path}));
        assert!(found.is_err(), "{path}");
        assert!(tree.list(&json!({"path": path})).is_err(), "{path}");
    }
    let error = tree.read(&json!({"path": "../secret"})).unwrap_err();
    assert_eq!(error, "`../secret` is not inside the work tree");
    assert!(
        tree.write(&json!({"path": "out/new", "content": "x"}))
            .is_err()
    );
    assert!(!above.join("new").exists());
    assert_eq!(fs::read_to_string(above.join("secret")).unwrap(), "secret");
    // Nor do the links show what is behind them.
    let found = tree.search(&json!({"pattern": "secret|inside"})).unwrap();
    assert_eq!(found, "a:1:inside\n");
    let inside = tree.root.join("a").display().to_string();
    assert_eq!(tree.read(&json!({"path": inside})).unwrap(), "inside");
    assert_eq!(tree.read(&json!({"path": "x/../a"})).unwrap(), "inside");
}

#[test]
fn whole_files_are_written() {
    let tree = ToolTestTree::new();
    let told = tree.write(&json!({"path": "new/dir/a.txt", "content": "one\ntwo\n"}));
    assert_eq!(told.unwrap(), "wrote 2 lines to `new/dir/a.txt`");
    assert_eq!(tree.text("new/dir/a.txt"), "one\ntwo\n");
    let script = tree.root.join("run.sh");
    tree.file("run.sh", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    tree.write(&json!({"path": "run.sh", "content": "new"}))
        .unwrap();
    assert_eq!(tree.text("run.sh"), "new");
    let mode = fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "it is still executable");
    for path in ["", ".", "new/", ".git/config", "a/.git/hooks/x"] {
        assert!(
            tree.write(&json!({"path": path, "content": "x"})).is_err(),
            "{path}"
        );
    }
    assert!(
        tree.write(&json!({"path": "run.sh/x", "content": "x"}))
            .is_err()
    );
    assert!(!tree.root.join(".git").exists());
}

#[test]
fn a_part_is_replaced_only_if_it_is_clear_which() {
    let tree = ToolTestTree::new();
    tree.file("a", "x = 1\ny = 1\nx = 1\n");
    let edit = |old: &str, new: &str, all: bool| {
        tree.edit(&json!({"path": "a", "old": old, "new": new, "all": all}))
    };
    assert!(
        edit("x = 1", "x = 2", false)
            .unwrap_err()
            .contains("occurs 2 times in `a`")
    );
    assert!(
        edit("z", "x", false)
            .unwrap_err()
            .starts_with("`old` does not occur in `a`")
    );
    assert!(
        edit("", "x", false)
            .unwrap_err()
            .contains("use `write_file`")
    );
    assert!(edit("x", "x", true).is_err());
    assert_eq!(
        tree.text("a"),
        "x = 1\ny = 1\nx = 1\n",
        "nothing has happened"
    );
    assert_eq!(
        edit("y = 1", "y = 2", false).unwrap(),
        "replaced it once in `a`"
    );
    assert_eq!(
        edit("x = 1", "x = 3", true).unwrap(),
        "replaced it everywhere in `a`"
    );
    assert_eq!(tree.text("a"), "x = 3\ny = 2\nx = 3\n");
}

#[test]
fn a_files_line_ends_stay_what_they_are() {
    let tree = ToolTestTree::new();
    tree.file("dos", "one\r\ntwo\r\nthree\r\n");
    tree.edit(&json!({"path": "dos", "old": "one\ntwo\n", "new": "1\n2\n"}))
        .unwrap();
    assert_eq!(tree.text("dos"), "1\r\n2\r\nthree\r\n");
}

fn project() -> ToolTestTree {
    let tree = ToolTestTree::new();
    tree.file(".gitignore", "target/\n*.log\n");
    tree.file(".git/HEAD", "ref: main");
    tree.file(".github/ci.yml", "run: main");
    tree.file("src/main.rs", "fn main() {\n    helper();\n}\n");
    tree.file("src/deep/helper.rs", "fn helper() {}\r\n");
    tree.file("build.log", "main");
    tree.file("target/main.rs", "fn main() {}");
    tree.file("image", b"\0main");
    tree
}

#[test]
fn files_are_listed_without_what_git_ignores() {
    let tree = project();
    let list = |input| tree.list(&input).unwrap();
    assert_eq!(
        list(json!({})),
        ".github/ci.yml\n.gitignore\nimage\nsrc/deep/helper.rs\nsrc/main.rs\n"
    );
    assert_eq!(
        list(json!({"path": "src"})),
        "src/deep/helper.rs\nsrc/main.rs\n"
    );
    assert_eq!(
        list(json!({"path": "src", "depth": 1})),
        "src/deep/\nsrc/main.rs\n"
    );
    assert_eq!(
        list(json!({"depth": 0})),
        ".github/\n.gitignore\nimage\nsrc/\n"
    );
    assert_eq!(
        list(json!({"glob": "*.rs"})),
        "src/deep/helper.rs\nsrc/main.rs\n"
    );
    assert_eq!(list(json!({"glob": "./src/*.rs"})), "src/main.rs\n");
    assert_eq!(
        list(json!({"glob": "src/**/*.rs", "depth": 2})),
        "src/main.rs\n"
    );
    assert_eq!(list(json!({"glob": "*.log"})), "(no files)");
    assert!(tree.list(&json!({"glob": "{"})).is_err());
    let error = tree.list(&json!({"path": "image"})).unwrap_err();
    assert_eq!(error, "`image` is not a directory");
}

#[test]
fn lines_are_found_by_a_pattern() {
    let tree = project();
    let search = |input| tree.search(&input).unwrap();
    assert_eq!(
        search(json!({"pattern": "main|helper"})),
        ".github/ci.yml:1:run: main\nsrc/deep/helper.rs:1:fn helper() {}\n\
         src/main.rs:1:fn main() {\nsrc/main.rs:2:    helper();\n"
    );
    assert_eq!(
        search(json!({"pattern": r"helper\(\) \{\}$", "glob": "*.rs"})),
        "src/deep/helper.rs:1:fn helper() {}\n"
    );
    let one = json!({"pattern": "^fn", "path": "src/main.rs"});
    assert_eq!(search(one), "src/main.rs:1:fn main() {\n");
    assert_eq!(search(json!({"pattern": "nowhere"})), "(nothing found)");
    let error = tree.search(&json!({"pattern": "("})).unwrap_err();
    assert!(
        error.starts_with("`pattern` is not a regular expression"),
        "{error}"
    );
    let error = tree
        .search(&json!({"pattern": "x", "path": "none"}))
        .unwrap_err();
    assert_eq!(error, "there is no `none`");
}

#[test]
fn there_is_an_end_to_what_is_found() {
    let tree = ToolTestTree::new();
    tree.file("many", "x\n".repeat(1000));
    let found = tree.search(&json!({"pattern": "x"})).unwrap();
    assert_eq!(found.lines().count(), 201);
    assert!(found.ends_with("many:200:x\n(there may be more; ask for less)\n"));
    for number in 0..1005 {
        tree.file(&format!("f/{number}"), "");
    }
    let listed = tree.list(&json!({})).unwrap();
    assert!(listed.ends_with("(6 more; ask for less)\n"), "{listed}");
}

#[test]
fn input_that_does_not_fit_is_an_error_for_the_model() {
    let tree = ToolTestTree::new();
    let error = tree.read(&json!({"file": "a"})).unwrap_err();
    assert!(
        error.starts_with("the input of `read_file` is not valid: missing field `path`"),
        "{error}"
    );
}

#[test]
fn a_call_is_described_by_what_it_is_about() {
    assert_eq!(call_summary(r#"{"path":"a","content":"b"}"#), "a");
    assert_eq!(call_summary(r#"{"content":"b","path":"a"}"#), "a");
    assert_eq!(call_summary(r#"{"path":"src","pattern":"x"}"#), "x");
    assert_eq!(call_summary("{\"command\":\"one\\ntwo\"}"), "one…");
    assert_eq!(call_summary(r#"{"n":1,"city":"Rome"}"#), "Rome");
    assert_eq!(call_summary("{}"), "");
    assert_eq!(call_summary("not json"), "not json");
}
