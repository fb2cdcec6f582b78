//! The files of one launch, beside the workspaces: what the worker is told.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_core::assignment::Assignment;
use codeteam_core::role::EditMode;
use serde::Serialize;

use crate::dialect;
use crate::engine::Engine;
use crate::perform::{Error, Job, homes};
use crate::prompt::{Prompt, redact};
use crate::workspace::remove_tree;

/// What of an assignment is somebody's text. The prompt is made of it and is redacted already; the
/// rest is what codeteam and the worker know things by.
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

/// Where the files of a launch are.
pub(super) struct LaunchFiles {
    /// What the worker may read.
    pub(super) folder: PathBuf,
    pub(super) assignment: PathBuf,
    pub(super) transcript: PathBuf,
    /// What of the user's is lent to the worker.
    pub(super) private: PathBuf,
}

/// The assignment as a worker of codeteam's own reads it.
#[derive(Serialize)]
struct AgentAssignment<'a> {
    #[serde(flatten)]
    assignment: &'a Assignment,
    instructions: AgentInstructions<'a>,
    mode: EditMode,
    tools: Vec<String>,
    max_turns: Option<u32>,
}

#[derive(Serialize)]
struct AgentInstructions<'a> {
    system: &'a str,
    prompt: &'a str,
}

impl LaunchFiles {
    pub(super) fn of(job: &Job, engine: &Engine) -> Self {
        let attempts = engine.attempts_of(&job.run);
        let folder = attempts.join(format!("{}.told", job.id.fence));
        Self {
            assignment: folder.join("assignment.json"),
            folder,
            transcript: attempts.join(format!("{}.jsonl", job.id.fence)),
            private: homes::of(engine, &job.run, job.id.fence),
        }
    }

    pub(super) fn write_assignment(
        &self,
        assignment: &Assignment,
        prompt: &Prompt,
        redactor: &Redactor,
    ) -> Result<(), Error> {
        let wrong = |error| failed("write", &self.assignment)(std::io::Error::other(error));
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
            redact(field, redactor);
        }
        let text = serde_json::to_string_pretty(&told).map_err(wrong)?;
        self.write(&self.assignment, &text)
    }

    pub(super) fn write(&self, path: &Path, text: &str) -> Result<(), Error> {
        let folder = path.parent().unwrap_or(&self.folder);
        // What is told may have the secrets of MCP servers in it: nobody else on this host reads it.
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(failed("make the folder", folder))?;
        fs::write(path, text).map_err(failed("write", path))
    }

    /// Removes what was told: everything in it is in the events.
    pub(super) fn forget(&self) {
        let _ = remove_tree(&self.folder);
    }
}

pub(super) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        doing,
        path,
        source,
    }
}
