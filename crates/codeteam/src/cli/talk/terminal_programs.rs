//! Runs the person's own programs: their editor, their pager, their shell. The terminal belongs to
//! them until they end.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::screen::Screen;
use crate::output::escape_control;
use codeteam_engine::problem::Problem;

/// Whether another program has the terminal; Ctrl-C is then meant for it.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Returns true if another program has the terminal.
pub(crate) fn has_terminal_lent() -> bool {
    ELSEWHERE.load(Ordering::Relaxed)
}

/// Reads an environment variable about the person's programs.
#[expect(
    clippy::disallowed_methods,
    reason = "the programs of the person at the terminal are the skin's own matter"
)]
fn env_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the git settings for programs that are opened among a worker's files: a folder made to
/// look like a bare repository is not treated as one, so that nothing it configures is run. The
/// settings are added to the person's own.
fn git_environment(count: Option<OsString>) -> [(String, String); 3] {
    let count = count.and_then(|count| count.into_string().ok());
    let known: usize = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    [
        ("GIT_CONFIG_COUNT".to_owned(), (known + 1).to_string()),
        (
            format!("GIT_CONFIG_KEY_{known}"),
            "safe.bareRepository".to_owned(),
        ),
        (format!("GIT_CONFIG_VALUE_{known}"), "explicit".to_owned()),
    ]
}

/// Returns true if the terminal can only print.
pub(crate) fn is_dumb_terminal() -> bool {
    env_variable("TERM").is_none_or(|term| term == "dumb")
}

/// Opens files of a folder in the person's editor.
pub(super) fn open_editor(screen: &Screen, folder: &Path, files: &[String]) -> Result<(), Problem> {
    let editor = env_variable("VISUAL").or_else(|| env_variable("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".into());
    // As in git, the configured editor may have arguments.
    let mut script = OsString::from("exec ");
    script.push(&editor);
    script.push(r#" "$@""#);
    let mut args = vec!["-c".into(), script, editor.clone()];
    // A worker has named the files, so none of them may be taken for an option or a command.
    args.extend(
        files
            .iter()
            .map(|file| Path::new(".").join(file).into_os_string()),
    );
    let done = run_program(screen, "sh".as_ref(), &args, Some(folder), None);
    let shown = editor.to_string_lossy();
    program_result(done, &shown, "set `VISUAL` or `EDITOR` to another editor")
}

/// Opens a shell in a folder.
pub(super) fn open_shell(screen: &Screen, folder: &Path) -> Result<(), Problem> {
    let shell = env_variable("SHELL").unwrap_or_else(|| "/bin/sh".into());
    // A shell exits with the code of its last command, which means nothing here.
    run_program(screen, &shell, &[], Some(folder), None)
        .map(drop)
        .map_err(|e| {
            let shell = shell.to_string_lossy();
            Problem::user(format!("the shell `{shell}` could not be started")).caused_by(&e)
        })
}

/// Shows a text that may be longer than the screen.
pub(super) fn open_pager(screen: &Screen, text: &str) -> Result<(), Problem> {
    // `less -R` passes colours through, and other pagers pass everything.
    let text = &escape_control(text);
    let pager = env_variable("PAGER").unwrap_or_else(|| "less".into());
    let args = ["-c".into(), pager.clone()];
    let done = run_program(screen, "sh".as_ref(), &args, None, Some(text));
    program_result(
        done,
        &pager.to_string_lossy(),
        "set `PAGER` to another pager",
    )
}

fn program_result(done: io::Result<bool>, program: &str, hint: &str) -> Result<(), Problem> {
    match done {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::user(format!("`{program}` has failed")).hint(hint)),
        Err(error) => Err(Problem::user(format!("`{program}` could not be started"))
            .caused_by(&error)
            .hint(hint)),
    }
}

/// Runs a program on the person's terminal, and returns true if it succeeded.
#[expect(
    clippy::disallowed_methods,
    reason = "not a worker and not a check: the person's own program, on their terminal"
)]
fn run_program(
    screen: &Screen,
    program: &std::ffi::OsStr,
    args: &[OsString],
    folder: Option<&Path>,
    input: Option<&str>,
) -> io::Result<bool> {
    screen.hold();
    ELSEWHERE.store(true, Ordering::Relaxed);
    let started = || {
        let mut command = Command::new(program);
        command.args(args);
        // The program's output is for the person, not part of the result.
        command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        if let Some(folder) = folder {
            command.current_dir(folder);
            command.envs(git_environment(env_variable("GIT_CONFIG_COUNT")));
        }
        if input.is_some() {
            command.stdin(Stdio::piped());
            if env_variable("LESS").is_none() {
                // As in git: what fits the screen stays on it, and colours are shown.
                command.env("LESS", "FRX");
            }
        }
        let mut child = command.spawn()?;
        if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
            // Whoever has seen enough closes the pipe.
            let _ = pipe.write_all(text.as_bytes());
        }
        child.wait()
    };
    let done = started();
    ELSEWHERE.store(false, Ordering::Relaxed);
    screen.release();
    Ok(done?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_that_only_named_repositories_are_some_beside_what_it_was_told() {
        let told = |count: Option<&str>| {
            git_environment(count.map(OsString::from)).map(|(k, v)| k + "=" + &v)
        };
        assert_eq!(
            told(Some("2")),
            [
                "GIT_CONFIG_COUNT=3",
                "GIT_CONFIG_KEY_2=safe.bareRepository",
                "GIT_CONFIG_VALUE_2=explicit"
            ]
        );
        assert_eq!(told(None)[0], "GIT_CONFIG_COUNT=1");
        assert_eq!(told(Some("x"))[1], "GIT_CONFIG_KEY_0=safe.bareRepository");
    }
}
