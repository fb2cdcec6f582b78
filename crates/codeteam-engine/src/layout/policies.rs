//! Reads `config/policies.yaml`: limits on the length of texts, on what may be written, and on
//! which command may run.

use codeteam_core::submission::strict::MAX_CHARS;
use codeteam_workflow::yaml::{FileProblem, FileProblems};
use serde::Deserialize;

use super::POLICIES;

/// The policies of a project with the strict layout.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PoliciesFile {
    /// Limits on the length of answers.
    pub output: OutputPolicy,
    /// Limits on what may be written.
    pub filesystem: FilesystemPolicy,
    /// Limits on what may run.
    pub execution: ExecutionPolicy,
}

/// Limits on the length of answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OutputPolicy {
    /// The maximum number of characters of any text except that of a file.
    pub max_chars: usize,
}

/// Limits on what may be written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FilesystemPolicy {
    /// The folder of the code; paths in plans and edits are relative to it. `.` is the repository.
    pub scope: String,
}

/// Limits on what may run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExecutionPolicy {
    /// The command that runs all tests, in the folder of the code.
    pub command: String,
    /// The commands that may run at all.
    pub allow: Vec<String>,
    /// The time limit of a command.
    pub timeout_seconds: u64,
}

impl Default for OutputPolicy {
    fn default() -> Self {
        Self {
            max_chars: MAX_CHARS,
        }
    }
}

impl Default for FilesystemPolicy {
    fn default() -> Self {
        Self {
            scope: "workspace".to_owned(),
        }
    }
}

impl Default for ExecutionPolicy {
    fn default() -> Self {
        Self {
            command: "pytest -q".to_owned(),
            allow: vec!["pytest -q".to_owned()],
            timeout_seconds: 300,
        }
    }
}

impl PoliciesFile {
    /// Returns the folder of the code, if it is not the repository itself.
    pub(crate) fn root(&self) -> Option<&str> {
        let scope = self.filesystem.scope.trim_end_matches('/');
        (scope != ".").then_some(scope)
    }

    /// Checks for values that are wrong although their form is right.
    pub(super) fn check(&self) -> Result<(), FileProblems> {
        let scope = &self.filesystem.scope;
        let plain = |part: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(known)
        };
        let wrong = if self.root().is_some_and(|root| !root.split('/').all(plain)) {
            let message =
                format!("`filesystem.scope` is `{scope}`, which is not a folder to work in");
            Some((
                message,
                "name one below the repository, such as `workspace`",
            ))
        } else if self.output.max_chars < MAX_CHARS {
            let message = format!("`output.max_chars` is below {MAX_CHARS}");
            Some((message, "reports of tests may be that long"))
        } else if self.execution.command.trim().is_empty() {
            let message = "`execution.command` is empty".to_owned();
            Some((
                message,
                "name the command that tests everything: `pytest -q`",
            ))
        } else if self.execution.timeout_seconds == 0 {
            let message = "`execution.timeout_seconds` is 0".to_owned();
            Some((message, "give the tests some time"))
        } else {
            None
        };
        match wrong {
            None => Ok(()),
            Some((message, hint)) => Err(FileProblems::from_problem(
                FileProblem::for_file(POLICIES, message).with_hint(hint),
            )),
        }
    }
}

/// Returns the program of a command, if that is plainly its first word.
pub(crate) fn command_program(command: &str) -> Option<&str> {
    const OF_THE_SHELL: [&str; 16] = [
        "cd", "test", "true", "false", "exit", "set", "export", "for", "if", "while", "case",
        "exec", "eval", "command", "echo", "printf",
    ];
    let first = command.split_whitespace().next()?;
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let is_plain = first.chars().all(known) && !first.starts_with('.');
    (is_plain && !OF_THE_SHELL.contains(&first)).then_some(first)
}
