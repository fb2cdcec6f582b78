//! The files of one launch, next to the workspaces: the assignment and everything else that the
//! worker is given to read.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_core::assignment::Assignment;
use codeteam_core::role::EditMode;
use serde::Serialize;

use crate::dialect;
use crate::engine::Engine;
use crate::perform::{Error, Job, lent_homes};
use crate::prompt::Prompt;
use codeteam_host::workspace::remove_tree;
use codeteam_report::secret_filter::redact_json;

/// The fields of an assignment that contain somebody's text. The prompt consists of them and is
/// redacted already; the other fields are identifiers of codeteam and the worker.
const TOLD: &[&str] = &[
    "goal",
    "prompt",
    "config",
    "rules",
    "task",
    "feedback",
    "findings",
    "requirements",
    "answers",
    "design",
    "plan",
    "claimed",
    "text",
];

/// The paths of the files of a launch.
pub(super) struct LaunchFiles {
    /// The folder that the worker may read.
    pub(super) folder: PathBuf,
    pub(super) assignment: PathBuf,
    pub(super) transcript: PathBuf,
    /// The folder for what the user lends to the worker.
    pub(super) private: PathBuf,
}

/// The assignment in the form that codeteam's own workers read.
#[derive(Serialize)]
struct AgentAssignment<'a> {
    #[serde(flatten)]
    assignment: &'a Assignment,
    instructions: AgentInstructions<'a>,
    mode: EditMode,
    tools: Vec<String>,
    max_turns: Option<u32>,
}

/// The rendered prompt, as part of the assignment file.
#[derive(Serialize)]
struct AgentInstructions<'a> {
    system: &'a str,
    prompt: &'a str,
}

impl LaunchFiles {
    /// Returns the paths for a job. The fence makes them unique to this launch.
    pub(super) fn for_launch(job: &Job, engine: &Engine) -> Self {
        let attempts = engine.attempts_folder(&job.run);
        let folder = attempts.join(format!("{}.told", job.id.fence));
        Self {
            assignment: folder.join("assignment.json"),
            folder,
            transcript: attempts.join(format!("{}.jsonl", job.id.fence)),
            private: lent_homes::launch_folder(engine, &job.run, job.id.fence),
        }
    }

    /// Writes the assignment file, with secrets removed from the fields in `TOLD`.
    pub(super) fn write_assignment(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        redactor: &Redactor,
    ) -> Result<(), Error> {
        let wrong = |error| io_error("write", &self.assignment)(std::io::Error::other(error));
        let told = AgentAssignment {
            assignment,
            instructions: AgentInstructions {
                system: &prompt.system,
                prompt: &prompt.user,
            },
            mode: assignment.means.mode,
            tools: dialect::BuiltinDialect::tools(assignment),
            max_turns: assignment.means.max_turns,
        };
        let mut told = serde_json::to_value(&told).map_err(wrong)?;
        let fields = told.as_object_mut().into_iter().flatten();
        for (_, field) in fields.filter(|(name, _)| TOLD.contains(&name.as_str())) {
            redact_json(field, redactor);
        }
        let text = serde_json::to_string_pretty(&told).map_err(wrong)?;
        self.write(&self.assignment, &text)
    }

    /// Writes a file for the worker, in a folder that only the user can read.
    pub(super) fn write(&self, path: &Path, text: &str) -> Result<(), Error> {
        let folder = path.parent().unwrap_or(&self.folder);
        // The files may contain secrets of MCP servers, so nobody else on this host may read them.
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(io_error("make the folder", folder))?;
        fs::write(path, text).map_err(io_error("write", path))
    }

    /// Removes the files: everything in them is in the events.
    pub(super) fn remove(&self) {
        let _ = remove_tree(&self.folder);
    }
}

pub(super) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        doing,
        path,
        source,
    }
}
