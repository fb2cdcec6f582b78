//! Where the programs of these tests are: codeteam, and the worker CLIs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The real `codeteam`. Cargo gives a test only the programs of its own package, so it is looked
/// for beside this test, where `cargo test --workspace` has just put it. Where it is missing or
/// older than its sources (this package was tested alone), it is built.
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

/// Whether a program is newer than every file that cargo says it was made of.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified());
    let Ok(built) = changed(program) else {
        return false;
    };
    let Ok(sources) = std::fs::read_to_string(program.with_extension("d")) else {
        return false;
    };
    let (_, sources) = sources.split_once(": ").unwrap();
    let mut sources = sources.split_whitespace();
    sources.all(|source| changed(Path::new(source)).is_ok_and(|at: SystemTime| at <= built))
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

/// The folder with the worker CLIs, which `./clis` installs. A missing one is a failure: there is
/// no test here that could do without.
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
