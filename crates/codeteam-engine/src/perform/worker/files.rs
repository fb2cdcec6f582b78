//! The files of one launch, beside the workspaces: what the worker is told, and what it says.

use std::borrow::Cow;
use std::fs::{self, DirBuilder, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use codeteam_context::redact::Redactor;
use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::ids::{BodyId, RunId};
use codeteam_core::role::Mode;
use serde::{Deserialize, Serialize};

use crate::dialect::{self, Clock, Fold, Listening, Told};
use crate::engine::Engine;
use crate::perform::{Error, Job, homes};
use crate::process::{Line, Stream};
use crate::prompt::{Prompt, redact};
use crate::workspace::remove_tree;

/// How much of one line a transcript keeps.
const KEPT_BYTES: usize = 1 << 20;

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
pub(super) struct Files {
    /// What the worker may read.
    pub(super) folder: PathBuf,
    pub(super) assignment: PathBuf,
    pub(super) transcript: PathBuf,
    /// What of the user's is lent to the worker.
    pub(super) private: PathBuf,
}

/// The assignment as a worker of codeteam's own reads it.
#[derive(Serialize)]
struct Instructed<'a> {
    #[serde(flatten)]
    assignment: &'a Assignment,
    instructions: Instructions<'a>,
    mode: Mode,
    tools: Vec<String>,
    max_turns: Option<u32>,
}

#[derive(Serialize)]
struct Instructions<'a> {
    system: &'a str,
    prompt: &'a str,
}

impl Files {
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
        let told = Instructed {
            assignment,
            instructions: Instructions {
                system: &prompt.system,
                prompt: &prompt.user,
            },
            mode: assignment.means.mode,
            tools: dialect::Builtin::tools(assignment),
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

pub(super) fn lock(transcript: &Mutex<Transcript>) -> MutexGuard<'_, Transcript> {
    transcript.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a worker said, line by line, on disk as it says it; what it asked of the network too.
pub(super) struct Transcript {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

#[derive(Serialize, Deserialize)]
struct Said<'a> {
    stream: &'a str,
    text: Cow<'a, str>,
}

/// The first line: how the others are to be read.
#[derive(Serialize, Deserialize)]
struct Spoken {
    dialect: dialect::Name,
    model: Option<String>,
    before: Usage,
}

impl Transcript {
    pub(super) fn create(
        path: &Path,
        dialect: dialect::Name,
        listening: &Listening,
    ) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
        }
        let file = File::create(path).map_err(failed("write the transcript", path))?;
        let mut transcript = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            failed: None,
        };
        let spoken = Spoken {
            dialect,
            model: listening.model.clone(),
            before: listening.before,
        };
        let spoken = serde_json::to_string(&spoken).unwrap_or_default();
        transcript.write("codeteam", spoken.into());
        Ok(transcript)
    }

    pub(super) fn line(&mut self, stream: Stream, text: &str) {
        let stream = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        if text.len() <= KEPT_BYTES {
            return self.write(stream, text.into());
        }
        let kept = text.floor_char_boundary(KEPT_BYTES);
        let left_out = text.len() - kept;
        let text = format!("{}[… {left_out} bytes left out]", &text[..kept]);
        self.write(stream, text.into());
    }

    pub(super) fn write(&mut self, stream: &str, text: Cow<'_, str>) {
        let said = Said { stream, text };
        let written = serde_json::to_writer(&mut self.file, &said)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            // What a worker has spent must be known even if codeteam dies the next moment.
            .and_then(|()| self.file.flush());
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    pub(super) fn keep(&mut self, engine: &Engine) -> Result<BodyId, Error> {
        if let Some(source) = self.failed.take() {
            return Err(failed("write the transcript", &self.path)(source));
        }
        Ok(BodyId(engine.bodies.adopt(&self.path)?))
    }
}

/// What a launch that died with codeteam had said it spent.
pub(crate) fn spent(engine: &Engine, run: &RunId, fence: u64) -> Option<Usage> {
    let path = engine.attempts_of(run).join(format!("{fence}.jsonl"));
    let fold = replayed(&fs::read_to_string(path).ok()?)?;
    let prices = &engine.config.prices;
    Some(crate::workers::prices::priced(
        fold.usage(),
        fold.model(),
        prices,
    ))
}

/// What a worker said, heard once more from its transcript.
pub(crate) fn replayed(transcript: &str) -> Option<Box<dyn Fold>> {
    retold(transcript).map(|(fold, _)| fold)
}

/// The same, with all that it told.
pub(crate) fn retold(transcript: &str) -> Option<(Box<dyn Fold>, Vec<Told>)> {
    let mut told = Vec::new();
    let mut lines = transcript
        .lines()
        .filter_map(|line| serde_json::from_str::<Said<'_>>(line).ok());
    let spoken = lines.next().filter(|said| said.stream == "codeteam")?;
    let spoken: Spoken = serde_json::from_str(&spoken.text).ok()?;
    let mut fold = spoken.dialect.dialect().fold(&Listening {
        account: spoken.dialect.as_str().into(),
        model: spoken.model,
        before: spoken.before,
        clock: Clock::read(),
        bare: false,
    });
    for said in lines {
        let stream = match said.stream {
            "stdout" => Stream::Stdout,
            "stderr" => Stream::Stderr,
            _ => continue,
        };
        let raw = said.text.as_bytes().to_vec();
        told.extend(fold.line(&Line {
            stream,
            raw: &raw,
            text: said.text,
            truncated: false,
        }));
    }
    Some((fold, told))
}
