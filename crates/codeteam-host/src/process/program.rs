//! Runs one of the user's own programs and captures its output.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::to_plain_text;

/// The result of a program of the user's.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Whether the program exited successfully.
    pub succeeded: bool,
    /// The captured output, standard error last.
    pub output: String,
}

/// Runs one of the user's own programs to its end, in their environment and without a terminal.
/// Returns `None` if there is no such program.
#[expect(
    clippy::disallowed_methods,
    reason = "this module spawns; the program is the user's, by name"
)]
pub fn run_program(
    path: &OsStr,
    program: &str,
    args: &[String],
    folder: &Path,
) -> io::Result<Option<ProgramOutput>> {
    let Some(program) = find_program(Path::new(program), path) else {
        return Ok(None);
    };
    let output = Command::new(&program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    tracing::debug!("ran {} {args:?}: {}", program.display(), output.status);
    let printed = [output.stdout, output.stderr].concat();
    // Some programs colour their output even without a terminal.
    let lines: Vec<_> = printed
        .split(|byte| *byte == b'\n')
        .map(to_plain_text)
        .collect();
    Ok(Some(ProgramOutput {
        succeeded: output.status.success(),
        output: lines.join("\n").trim().to_owned(),
    }))
}

/// Finds a program in `path`, as a shell would.
pub fn find_program(program: &Path, path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
    };
    if program.components().count() > 1 {
        return is_program(program).then(|| program.to_owned());
    }
    // A relative folder in `path` would depend on the current folder, which may be a stranger's
    // repository.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|candidate| is_program(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_is_taken_from_wherever_one_happens_to_be() {
        use std::os::unix::fs::PermissionsExt as _;
        let here = std::env::current_dir().unwrap();
        let folder = tempfile::tempdir_in(&here).unwrap();
        let program = folder.path().join("xclip");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let relative = folder.path().strip_prefix(&here).unwrap();
        let find = |path: &Path| find_program(Path::new("xclip"), path.as_os_str());
        assert_eq!(find(relative), None);
        assert_eq!(find(folder.path()), Some(program));
    }
}
