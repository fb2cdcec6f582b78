//! Repositories in temporary directories for tests, with a git that sees nothing of the machine's
//! configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::git::{CheckoutHead, GitEnvironment, GitProgram, Oid, Repo};

/// A temporary directory with a repository `main` in it, which has one commit.
pub(crate) struct GitFixture {
    directory: tempfile::TempDir,
}

impl GitFixture {
    /// Creates a repository with one file, `file`, on the branch `main`.
    pub(crate) fn new() -> GitFixture {
        let fixture = GitFixture::unborn();
        fixture.write("file", "one\ntwo\nthree\n");
        fixture.commit_all("first");
        fixture
    }

    pub(crate) fn unborn() -> GitFixture {
        let fixture = GitFixture {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(fixture.home()).unwrap();
        std::fs::create_dir(fixture.main()).unwrap();
        fixture.git(
            &fixture.main(),
            &["init", "--quiet", "--initial-branch=main"],
        );
        fixture
    }

    /// Returns the temporary directory, as a path without symbolic links.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn main(&self) -> PathBuf {
        self.path().join("main")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub(crate) fn program(&self) -> GitProgram {
        GitProgram::new(GitEnvironment {
            path: search_path(),
            home: Some(self.home().into_os_string()),
            xdg_config_home: None,
            codeteam: None,
        })
        .unwrap()
    }

    pub(crate) fn open(&self) -> (Repo, CheckoutHead) {
        Repo::discover(&self.program(), &self.main()).unwrap()
    }

    /// Writes a file of the main checkout.
    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.main(), name, text);
    }

    /// Commits everything in the main checkout.
    pub(crate) fn commit_all(&self, message: &str) -> Oid {
        self.git(&self.main(), &["add", "--all"]);
        self.git(
            &self.main(),
            &["commit", "--quiet", "--allow-empty", "-m", message],
        );
        Oid::parse(&self.git(&self.main(), &["rev-parse", "HEAD"])).unwrap()
    }

    /// Returns the tree that committing the main checkout would give; no branch moves.
    pub(crate) fn tree_of_checkout(&self) -> Oid {
        self.git(&self.main(), &["add", "--all"]);
        Oid::parse(&self.git(&self.main(), &["write-tree"])).unwrap()
    }

    /// Runs git as a user would, and returns its output.
    pub(crate) fn git(&self, directory: &Path, args: &[&str]) -> String {
        let output = self.try_git(directory, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "git {args:?} in {}: {stderr}",
            directory.display()
        );
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the harness through which tests run git"
    )]
    pub(crate) fn try_git(&self, directory: &Path, args: &[&str]) -> Output {
        Command::new("git")
            .args(args)
            .current_dir(directory)
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Tess")
            .env("GIT_AUTHOR_EMAIL", "tess@example.org")
            .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
            .env("GIT_COMMITTER_NAME", "Tess")
            .env("GIT_COMMITTER_EMAIL", "tess@example.org")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

pub(crate) fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests use the git that is installed"
)]
fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap()
}
