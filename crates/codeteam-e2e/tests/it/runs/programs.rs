//! Finds the programs of these tests: codeteam, and the worker CLIs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Returns the real `codeteam`. Cargo gives a test only the programs of its own package, so it is
/// looked for beside this test, where `cargo test --workspace` has just put it. If it is missing or
/// older than its sources, because this package was tested alone, it is built.
pub(crate) fn codeteam() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().unwrap().parent().unwrap();
        let program = folder.join("codeteam");
        if !is_fresh(&program) {
            build();
        }
        assert!(program.is_file(), "there is no `{}`", program.display());
        program
    })
}

/// Returns true if a program is newer than all its possible sources. Cargo lists the sources only
/// of a program that it was asked to build by name.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified());
    let Ok(built) = changed(program) else {
        return false;
    };
    let mut sources = vec![workspace().join("Cargo.lock")];
    let crates = std::fs::read_dir(workspace().join("crates")).unwrap();
    for folder in crates.map(|entry| entry.unwrap().path()) {
        if folder != Path::new(env!("CARGO_MANIFEST_DIR")) {
            let own = ["src", "data", "Cargo.toml", "build.rs"].map(|name| folder.join(name));
            for path in own {
                files(path, &mut sources);
            }
        }
    }
    let mut sources = sources.iter();
    sources.all(|source| changed(source).is_ok_and(|at: SystemTime| at <= built))
}

/// All files at or below a path but for tests.
fn files(path: PathBuf, found: &mut Vec<PathBuf>) {
    if path.file_stem().is_some_and(|name| name == "tests") {
        return;
    }
    let Ok(entries) = std::fs::read_dir(&path) else {
        found.extend(path.is_file().then_some(path));
        return;
    };
    for entry in entries {
        files(entry.unwrap().path(), found);
    }
}

fn build() {
    let mut cargo = command(Path::new(env!("CARGO")));
    let status = cargo
        .args(["build", "--package", "codeteam", "--locked", "--quiet"])
        .current_dir(workspace())
        .status();
    assert!(status.unwrap().success(), "codeteam could not be built");
}

fn workspace() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().to_owned()
}

/// Returns the folder with the worker CLIs, which `./clis` installs. A missing folder is a failure:
/// no test here works without it.
pub(crate) fn clis() -> PathBuf {
    let folder = workspace().join("target/clis/bin");
    for cli in ["claude", "codex", "gemini"] {
        let program = folder.join(cli);
        assert!(
            program.is_file(),
            "there is no `{}`; `./clis` installs it",
            program.display()
        );
    }
    folder
}

/// Returns an MCP client that is not a worker, which `./clis` installs, too.
pub(crate) fn opencode() -> PathBuf {
    let program = clis().join("opencode");
    assert!(
        program.is_file(),
        "there is no `{}`; `./clis` installs it",
        program.display()
    );
    program
}

/// A `PATH` with this folder first.
pub(crate) fn path_with(first: &Path) -> OsString {
    let path = path();
    let folders = std::iter::once(first.to_owned());
    let folders = folders.chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

/// The `PATH` of the machine.
#[expect(clippy::disallowed_methods, reason = "the one place that reads it")]
fn path() -> OsString {
    std::env::var_os("PATH").unwrap()
}

/// A program to start.
#[expect(clippy::disallowed_methods, reason = "the one place tests spawn from")]
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}
