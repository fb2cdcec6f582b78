//! Programs of the person's own: their editor, their pager, their shell. The terminal is theirs
//! until they end.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::screen::Screen;
use crate::output::harmless;
use crate::problem::Problem;

/// Whether another program has the terminal: Ctrl-C is meant for it then.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Whether another program has the terminal.
pub(crate) fn is_elsewhere() -> bool {
    ELSEWHERE.load(Ordering::Relaxed)
}

/// What the person has said about their programs.
#[expect(
    clippy::disallowed_methods,
    reason = "the programs of the person at the terminal are the skin's own matter"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What git is told in programs that are opened among files of a worker's: a folder that is made
/// like a repository is none, so that nothing it configures is run. It is added to what the person
/// says there.
fn for_git(count: Option<OsString>) -> [(String, String); 3] {
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

/// Whether the terminal can only print.
pub(super) fn is_dumb() -> bool {
    variable("TERM").is_none_or(|term| term == "dumb")
}

/// Opens files of a folder in the person's editor.
pub(super) fn edit(screen: &Screen, folder: &Path, files: &[String]) -> Result<(), Problem> {
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".into());
    // As git does: what is configured may have arguments.
    let mut script = OsString::from("exec ");
    script.push(&editor);
    script.push(r#" "$@""#);
    let mut args = vec!["-c".into(), script, editor.clone()];
    // A worker has named them: none of them may be taken for an option or a command.
    args.extend(
        files
            .iter()
            .map(|file| Path::new(".").join(file).into_os_string()),
    );
    let done = run(screen, "sh".as_ref(), &args, Some(folder), None);
    let shown = editor.to_string_lossy();
    ended(done, &shown, "set `VISUAL` or `EDITOR` to another editor")
}

/// Lets the person work in a folder, in a shell.
pub(super) fn shell(screen: &Screen, folder: &Path) -> Result<(), Problem> {
    let shell = variable("SHELL").unwrap_or_else(|| "/bin/sh".into());
    // A shell ends with the code of its last command, which is nobody's business.
    run(screen, &shell, &[], Some(folder), None)
        .map(drop)
        .map_err(|e| {
            let shell = shell.to_string_lossy();
            Problem::user(format!("the shell `{shell}` could not be started")).caused_by(&e)
        })
}

/// Shows a text that may be longer than the screen.
pub(super) fn page(screen: &Screen, text: &str) -> Result<(), Problem> {
    // `less -R` lets through what colours, and other pagers everything.
    let text = &harmless(text);
    let pager = variable("PAGER").unwrap_or_else(|| "less".into());
    let args = ["-c".into(), pager.clone()];
    let done = run(screen, "sh".as_ref(), &args, None, Some(text));
    ended(
        done,
        &pager.to_string_lossy(),
        "set `PAGER` to another pager",
    )
}

fn ended(done: io::Result<bool>, program: &str, hint: &str) -> Result<(), Problem> {
    match done {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::user(format!("`{program}` has failed")).hint(hint)),
        Err(error) => Err(Problem::user(format!("`{program}` could not be started"))
            .caused_by(&error)
            .hint(hint)),
    }
}

/// Runs a program on the person's terminal; says whether it ended well.
#[expect(
    clippy::disallowed_methods,
    reason = "not a worker and not a check: the person's own program, on their terminal"
)]
fn run(
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
        // What is printed belongs to the person, not to the result.
        command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        if let Some(folder) = folder {
            command.current_dir(folder);
            command.envs(for_git(variable("GIT_CONFIG_COUNT")));
        }
        if input.is_some() {
            command.stdin(Stdio::piped());
            if variable("LESS").is_none() {
                // As git does: what fits the screen stays on it, and colours are shown.
                command.env("LESS", "FRX");
            }
        }
        let mut child = command.spawn()?;
        if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
            // Whoever has seen enough closes it.
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
        let told =
            |count: Option<&str>| for_git(count.map(OsString::from)).map(|(k, v)| k + "=" + &v);
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
