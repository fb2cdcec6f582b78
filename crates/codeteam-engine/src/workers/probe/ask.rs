//! Asks a program what it is: starts it twice, confined and without a network.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_core::failure::{FailureCause, FailureFacts};

use super::{ProgramProbe, find, unusable};
use crate::dialect::CliRequirements;
use crate::engine::Engine;
use crate::process::{
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

/// A program to be asked, and where it is started.
pub(crate) struct ProgramQuery<'a> {
    /// What it must be.
    pub(crate) needs: &'a CliRequirements,
    /// The program, as it is started.
    pub(crate) program: &'a Path,
    /// Where it is on this host, if that is where it is looked for.
    pub(crate) found: Option<&'a Path>,
    /// What confines it.
    pub(crate) launcher: &'a dyn CommandLauncher,
    /// Where it is started.
    pub(crate) cwd: PathBuf,
    /// What it sees.
    pub(crate) view: HostView,
    /// What marks its processes.
    pub(crate) mark: &'a str,
    /// Ends it early.
    pub(crate) cancel: &'a CancelToken,
}

/// What came of asking.
#[derive(Debug)]
pub(crate) enum ProgramAnswer {
    /// It said what it is.
    Said(ProgramProbe),
    /// It cannot be used.
    Unusable(FailureFacts),
    /// It was not to be asked any more.
    Cancelled,
}

/// What one question came to.
enum QueryOutcome {
    Text(String),
    Unusable(FailureFacts),
    Cancelled,
}

/// Where a worker's program is on this host; `None` if only an image can tell.
pub(crate) fn locate(
    needs: &CliRequirements,
    program: &Path,
    sandbox: SandboxKind,
    path: &OsStr,
) -> Result<Option<PathBuf>, FailureFacts> {
    match sandbox {
        SandboxKind::Container => Ok(None),
        SandboxKind::Bubblewrap | SandboxKind::None => match find(program, path) {
            Some(found) => Ok(Some(found.canonicalize().unwrap_or(found))),
            None => Err(missing(needs, program)),
        },
    }
}

/// What is said of a program that is not there.
fn missing(needs: &CliRequirements, program: &Path) -> FailureFacts {
    let (program, package) = (program.display(), needs.package);
    let why = format!("`{program}` is not installed; `npm install -g {package}` installs it");
    unusable(FailureCause::Missing, why)
}

impl ProgramQuery<'_> {
    /// Asks for its version and its options.
    pub(crate) fn ask(&self) -> Result<ProgramAnswer, process::Error> {
        let mut answers = [String::new(), String::new()];
        let questions: [&[&str]; 2] = [&["--version"], self.needs.help];
        for (answer, question) in answers.iter_mut().zip(questions) {
            match self.question(question)? {
                QueryOutcome::Text(text) => *answer = text,
                QueryOutcome::Unusable(facts) => return Ok(ProgramAnswer::Unusable(facts)),
                QueryOutcome::Cancelled => return Ok(ProgramAnswer::Cancelled),
            }
        }
        let probed = ProgramProbe::read(self.needs, &answers[0], &answers[1]);
        Ok(ProgramAnswer::Said(probed))
    }

    fn question(&self, question: &[&str]) -> Result<QueryOutcome, process::Error> {
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
        let ran = process::run(
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
                QueryOutcome::Unusable(unusable(FailureCause::Version, why))
            }
        })
    }

    /// It did not even start: it is not in the image, or something that it needs is not inside.
    fn absent(&self, said: &str) -> FailureFacts {
        let Some(found) = self.found else {
            let (program, package) = (self.program.display(), self.needs.package);
            let why = format!(
                "`{program}` is not in the image; put `npm install -g {package}` into its \
                 Containerfile and build it with `codeteam sandbox image --file`"
            );
            return unusable(FailureCause::Missing, why);
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
        unusable(FailureCause::Missing, why)
    }
}
