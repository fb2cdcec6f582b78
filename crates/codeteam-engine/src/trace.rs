//! How workers got to their answers, read from their transcripts.
//!
//! A transcript is what a worker printed, line by line, and its dialect knows what the lines mean.
//! Nothing here is needed to drive a run.

use std::path::{Path, PathBuf};

use codeteam_core::ids::{EpochMillis, RunId, TaskId};
use codeteam_core::{Event, Run};
use codeteam_report::artifacts;
use codeteam_report::view::{AttemptHistory, AttemptTrace, TraceStep, TraceStepKind, TraceView};

use crate::dialect::TraceBuilder;
use crate::engine::{Engine, Error};
use crate::perform;

/// The most bytes of one text, if it is not asked for whole.
const SHORT_BYTES: usize = 2_000;
/// The most bytes of one text in any case.
const WHOLE_BYTES: usize = 1 << 20;

/// The attempts whose steps are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedAttempts {
    /// All of them.
    All,
    /// The one with this number.
    Number(usize),
    /// The last one.
    Last,
}

/// How much of each text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceTexts {
    /// Its beginning.
    Short,
    /// All of it.
    Whole,
}

impl TraceTexts {
    fn most_bytes(self) -> usize {
        match self {
            Self::Short => SHORT_BYTES,
            Self::Whole => WHOLE_BYTES,
        }
    }
}

/// Reads how the workers of a run got to their answers, for one of its tasks or all of them.
///
/// The view has every attempt that fits `task`; those that `attempts` does not name have no steps.
pub fn read_trace(
    engine: &Engine,
    run: &RunId,
    task: Option<&str>,
    attempts: TracedAttempts,
    texts: TraceTexts,
) -> Result<TraceView, Error> {
    let most = texts.most_bytes();
    let mut view = TraceView::list_attempts(engine.records(), run, most)?;
    if let Some(task) = task {
        view.attempts.retain(|attempt| is_for(attempt, task));
    }
    let last = view.attempts.last().map(|attempt| attempt.number);
    for attempt in &mut view.attempts {
        let is_named = match attempts {
            TracedAttempts::All => true,
            TracedAttempts::Number(number) => attempt.number == number,
            TracedAttempts::Last => Some(attempt.number) == last,
        };
        if is_named {
            read_steps(engine, run, attempt, most);
        } else {
            attempt.steps.clear();
        }
    }
    Ok(view)
}

/// Returns true if an attempt was for this task, or in the frame of this name.
fn is_for(attempt: &AttemptTrace, task: &str) -> bool {
    let own = attempt.task.as_ref().map(TaskId::as_str);
    own == Some(task) || attempt.frame.name() == task
}

/// Puts the steps of a transcript before the answer.
fn read_steps(engine: &Engine, run: &RunId, attempt: &mut AttemptTrace, most: usize) {
    let mut trace = TraceBuilder::new(most);
    let transcript = match &attempt.transcript {
        Some(body) => {
            let kept = engine.bodies.get(body.as_str()).ok();
            kept.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        }
        None => perform::read_unfinished(engine, run, attempt.fence),
    };
    match transcript {
        Some(transcript) => perform::trace_transcript(&transcript, &mut trace),
        None => trace.add(TraceStepKind::Note, missing_transcript(attempt)),
    }
    let (steps, left_out) = trace.finish();
    let answers: Vec<TraceStep> = std::mem::replace(&mut attempt.steps, steps);
    attempt.steps.extend(answers);
    attempt.left_out = left_out;
}

/// Says why there is no transcript.
fn missing_transcript(attempt: &AttemptTrace) -> &'static str {
    if attempt.transcript.is_some() {
        "its transcript is no longer there"
    } else if attempt
        .worker
        .as_ref()
        .is_some_and(codeteam_core::operator::is_session_worker)
    {
        "a session did this, and only its client knows how"
    } else {
        "it has no transcript"
    }
}

/// The most traces of a run that are written as files. `codeteam trace` shows all of them.
const MOST_FILES: usize = 200;

/// Writes how workers got to their answers into the run's folder, as attempts end, where the workflow
/// asks for it.
pub(crate) struct TraceFiles {
    history: AttemptHistory,
}

impl Default for TraceFiles {
    fn default() -> Self {
        Self {
            history: AttemptHistory::new(SHORT_BYTES, MOST_FILES),
        }
    }
}

impl TraceFiles {
    /// Takes up the files of a run that goes on, and writes those that are missing.
    pub(crate) fn reopen(engine: &Engine, run: &Run) -> Result<Self, artifacts::Error> {
        let mut files = Self::default();
        if !artifacts::has_team_files(run) {
            return Ok(files);
        }
        let mut written = Ok(());
        let read = engine.records().each_event(&run.id, 0, |_, at, event| {
            let missing = files.observe(engine, run, at, &event);
            let missing = missing.filter(|(path, _)| !path.exists());
            if let (true, Some((path, attempt))) = (written.is_ok(), missing) {
                written = write_trace(engine, run, &path, attempt);
            }
        });
        // A log that cannot be read stops whoever drives the run; files for people do not.
        if read.is_ok() {
            written?;
        }
        Ok(files)
    }

    /// Writes the traces of the attempts that events have ended.
    pub(crate) fn write(
        &mut self,
        engine: &Engine,
        run: &Run,
        at: EpochMillis,
        events: &[Event],
    ) -> Result<(), artifacts::Error> {
        if !artifacts::has_team_files(run) {
            return Ok(());
        }
        for event in events {
            if let Some((path, attempt)) = self.observe(engine, run, at, event) {
                write_trace(engine, run, &path, attempt)?;
            }
        }
        Ok(())
    }

    /// Returns the attempt that an event ends, and the file for its trace.
    fn observe(
        &mut self,
        engine: &Engine,
        run: &Run,
        at: EpochMillis,
        event: &Event,
    ) -> Option<(PathBuf, AttemptTrace)> {
        let attempt = self.history.observe(at, event)?;
        let place = match &attempt.task {
            Some(task) => task.as_str(),
            None => attempt.frame.name(),
        };
        let name = format!("{:03}_{place}_{}.md", attempt.number, attempt.role);
        let folder = artifacts::run_folder(engine.records(), run).join("traces");
        Some((folder.join(name), attempt.clone()))
    }
}

fn write_trace(
    engine: &Engine,
    run: &Run,
    path: &Path,
    mut attempt: AttemptTrace,
) -> Result<(), artifacts::Error> {
    read_steps(engine, &run.id, &mut attempt, SHORT_BYTES);
    let text = attempt.to_markdown();
    let text = engine.redactor.redact(&text).text;
    artifacts::write_atomically(path, text.as_bytes())
}
