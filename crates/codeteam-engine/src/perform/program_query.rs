//! Asks a program for its version and options: starts it twice, confined and without a network.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_core::failure::{FailureCause, FailureFacts};

use crate::dialect::CliRequirements;
use crate::engine::Engine;
use crate::workers::probe::{ProgramProbe, unusable_program};
use codeteam_host::process::find_program;
use codeteam_host::process::{
    self, CancelToken, CommandLauncher, CommandLimits, CommandSpec, ExitReason, HostView,
    OutputStream, SandboxProfile,
};

const LIMITS: CommandLimits = CommandLimits {
    wall: Duration::from_mins(1),
    silence: None,
    line_bytes: 64 << 10,
    total_bytes: 1 << 20,
    grace: Duration::from_secs(1),
};

/// A program to query, and the circumstances in which it is started.
pub(crate) struct ProgramQuery<'a> {
    /// The requirements that the program must meet.
    pub(crate) needs: &'a CliRequirements,
    /// The program as it is started.
    pub(crate) program: &'a Path,
    /// Its path on this host, unless it is looked up in an image.
    pub(crate) found: Option<&'a Path>,
    /// The launcher that confines it.
    pub(crate) launcher: &'a dyn CommandLauncher,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The part of the host that it can see.
    pub(crate) view: HostView,
    /// The mark of its processes.
    pub(crate) mark: &'a str,
    /// Ends the query early.
    pub(crate) cancel: &'a CancelToken,
}

/// The result of a query.
#[derive(Debug)]
pub(crate) enum ProgramAnswer {
    /// The program reported its version and options.
    Identified(ProgramProbe),
    /// The program cannot be used, for this reason.
    Unusable(FailureFacts),
    /// The query was cancelled.
    Cancelled,
}

/// The result of one invocation.
enum QueryOutcome {
    Text(String),
    Unusable(FailureFacts),
    Cancelled,
}

/// Finds a worker's program on this host. Returns `None` if it is looked up in an image.
pub(crate) fn locate(
    needs: &CliRequirements,
    program: &Path,
    sandbox: SandboxKind,
    path: &OsStr,
) -> Result<Option<PathBuf>, FailureFacts> {
    match sandbox {
        SandboxKind::Container => Ok(None),
        SandboxKind::Bubblewrap | SandboxKind::None => match find_program(program, path) {
            Some(found) => Ok(Some(found.canonicalize().unwrap_or(found))),
            None => Err(missing(needs, program)),
        },
    }
}

/// Builds the failure for a program that is not installed.
fn missing(needs: &CliRequirements, program: &Path) -> FailureFacts {
    let (program, package) = (program.display(), needs.package);
    let why = format!("`{program}` is not installed; `npm install -g {package}` installs it");
    unusable_program(FailureCause::Missing, why)
}

impl ProgramQuery<'_> {
    /// Asks the program for its version and its options.
    pub(crate) fn ask(&self) -> Result<ProgramAnswer, process::Error> {
        let mut answers = [String::new(), String::new()];
        let questions: [&[&str]; 2] = [&["--version"], self.needs.help];
        for (answer, question) in answers.iter_mut().zip(questions) {
            match self.run_query(question)? {
                QueryOutcome::Text(text) => *answer = text,
                QueryOutcome::Unusable(facts) => return Ok(ProgramAnswer::Unusable(facts)),
                QueryOutcome::Cancelled => return Ok(ProgramAnswer::Cancelled),
            }
        }
        let probed = ProgramProbe::read(self.needs, &answers[0], &answers[1]);
        Ok(ProgramAnswer::Identified(probed))
    }

    fn run_query(&self, question: &[&str]) -> Result<QueryOutcome, process::Error> {
        let (mut text, mut errors) = (String::new(), String::new());
        let spec = CommandSpec {
            program: self.program.into(),
            args: question.iter().map(OsString::from).collect(),
            cwd: self.cwd.clone(),
            env: Engine::child_env(self.mark, Vec::new()),
            view: self.view.clone(),
            disk: None,
            brief: false,
        };
        let mut sink = |line: process::OutputLine<'_>| {
            let text = match line.stream {
                OutputStream::Stdout => &mut text,
                OutputStream::Stderr => &mut errors,
            };
            text.push_str(&line.text);
            text.push('\n');
        };
        let (launcher, cancel) = (self.launcher, self.cancel);
        let ran = process::run_command(
            launcher,
            SandboxProfile::Executor,
            &spec,
            &LIMITS,
            cancel,
            &mut sink,
        );
        let exit = match ran {
            Err(process::Error::NotFound { .. }) => {
                return Ok(QueryOutcome::Unusable(self.absent("")));
            }
            exit => exit?,
        };
        let said = errors.lines().last().unwrap_or("it said nothing").trim();
        Ok(match exit.status {
            ExitReason::Exited(0) => QueryOutcome::Text(text),
            ExitReason::Exited(126 | 127) => QueryOutcome::Unusable(self.absent(said)),
            ExitReason::Cancelled => QueryOutcome::Cancelled,
            _ => {
                let (program, question) = (self.program.display(), question.join(" "));
                let why = format!("`{program} {question}` failed: {said}");
                QueryOutcome::Unusable(unusable_program(FailureCause::Version, why))
            }
        })
    }

    /// Builds the failure for a program that did not even start: it is not in the image, or
    /// something that it needs is missing in the sandbox.
    fn absent(&self, said: &str) -> FailureFacts {
        let Some(found) = self.found else {
            let (program, package) = (self.program.display(), self.needs.package);
            let why = format!(
                "`{program}` is not in the image; put `npm install -g {package}` into its \
                 Containerfile and build it with `codeteam sandbox image --file`"
            );
            return unusable_program(FailureCause::Missing, why);
        };
        let found = found.display();
        let said = if said.is_empty() {
            String::new()
        } else {
            format!(" ({said})")
        };
        let why = format!(
            "`{found}` does not start in the sandbox{said}; name the folder of what is missing \
             there under `sandbox.toolchains`"
        );
        unusable_program(FailureCause::Missing, why)
    }
}
