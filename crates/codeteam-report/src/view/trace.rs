//! How workers got to their answers: what they were told, what they did, what came of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::Event;
use codeteam_core::frame::SlotWork;
use codeteam_core::ids::{
    AttemptId, BodyId, EpochMillis, FramePath, RoleName, RunId, StepId, TaskId, WorkerName,
};
use codeteam_core::submission::Submission;
use serde::Serialize;

use super::VIEW_VERSION;
use crate::records::{ProjectRecords, RecordsError};
use crate::report::text::{code_block, inline_code, one_line};
use crate::task_frames::TaskFrames;

/// How the workers of a run got to their answers, attempt by attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceView {
    /// The run's id.
    pub run: RunId,
    /// `VIEW_VERSION`.
    pub version: u32,
    /// The attempts, in the order in which they were started.
    pub attempts: Vec<AttemptTrace>,
}

/// How one worker got to its answer.
///
/// [`TraceView::list_attempts`] makes it from events, without its steps; the engine, which knows how
/// each worker speaks, reads those from the transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptTrace {
    /// Its number among the attempts of the run's workers, from 1.
    pub number: usize,
    /// The role that was played.
    pub role: RoleName,
    /// Who played it.
    pub worker: Option<WorkerName>,
    /// The model that did the work, if it was reported.
    pub model: Option<String>,
    /// The task it was for.
    pub task: Option<TaskId>,
    /// The frame.
    pub frame: FramePath,
    /// The step.
    pub step: StepId,
    /// How often the frame had entered the step by then.
    pub generation: u32,
    /// Which try it was.
    pub attempt: u32,
    /// When it was started.
    pub started_at: EpochMillis,
    /// When it ended, if it has.
    pub ended_at: Option<EpochMillis>,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: TraceOutcome,
    /// The transcript, if one is kept.
    pub transcript: Option<BodyId>,
    /// What it was told, did and answered, in order.
    pub steps: Vec<TraceStep>,
    /// The number of steps in the middle that are not among them, because there are too many.
    pub left_out: usize,
    /// The number of its launch, which names its transcript while it runs.
    #[serde(skip)]
    pub fence: u64,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TraceOutcome {
    /// It is under way.
    Running,
    /// Its answer was accepted.
    Answered,
    /// It failed, or its answer was refused.
    Failed {
        /// Why.
        why: String,
    },
    /// It was lost with codeteam's own process, and made again.
    Lost,
    /// It was ended because its answer was no longer needed.
    Cancelled,
}

impl TraceOutcome {
    /// Returns it as a word or two.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Running => "under way",
            Self::Answered => "answered",
            Self::Failed { .. } => "failed",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One thing that a worker was told, said or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceStep {
    /// What it is.
    pub kind: TraceStepKind,
    /// The tool, if it is about one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// What was said, the input of the tool, or the beginning of its result.
    pub text: String,
    /// Whether a tool failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The number of bytes of the text that are left out at its end.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_bytes: usize,
}

/// What a step of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceStepKind {
    /// What the worker was told.
    Prompt,
    /// What it planned before it began.
    Plan,
    /// What it thought.
    Thought,
    /// What it said.
    Message,
    /// A tool that it used.
    Call,
    /// What came of a tool.
    Result,
    /// A file that it changed.
    File,
    /// Something that went wrong.
    Error,
    /// A remark of codeteam or of the worker about itself.
    Note,
    /// Its answer, as it was accepted.
    Answer,
}

impl TraceStepKind {
    /// Returns it as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Plan => "plan",
            Self::Thought => "thought",
            Self::Message => "message",
            Self::Call => "call",
            Self::Result => "result",
            Self::File => "file",
            Self::Error => "error",
            Self::Note => "note",
            Self::Answer => "answer",
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl TraceStep {
    /// Makes a step with at most this many bytes of its text.
    pub fn new(kind: TraceStepKind, tool: &str, text: &str, most: usize) -> Self {
        let kept = text.floor_char_boundary(most);
        Self {
            kind,
            tool: tool.to_owned(),
            text: text[..kept].to_owned(),
            failed: false,
            cut_bytes: text.len() - kept,
        }
    }
}

impl TraceView {
    /// Lists the attempts of a run's workers, each with nothing but its answer among its steps, of
    /// which at most `most` bytes are kept.
    pub fn list_attempts(
        records: ProjectRecords<'_>,
        run: &RunId,
        most: usize,
    ) -> Result<Self, RecordsError> {
        let mut history = AttemptHistory::new(most, usize::MAX);
        records.each_event(run, 0, |_, at, event| {
            history.observe(at, &event);
        })?;
        Ok(Self {
            run: run.clone(),
            version: VIEW_VERSION,
            attempts: history.attempts,
        })
    }
}

/// The attempts of a run's workers, as its events tell them one by one.
pub struct AttemptHistory {
    attempts: Vec<AttemptTrace>,
    /// The attempts that are under way, by their fences.
    positions: BTreeMap<u64, usize>,
    tasks: TaskFrames,
    /// The most bytes of an answer.
    answer_bytes: usize,
    /// The most attempts that are remembered.
    most_attempts: usize,
}

impl AttemptHistory {
    /// Makes an empty history that keeps at most this many bytes of each answer, and the first
    /// attempts up to this number.
    pub fn new(answer_bytes: usize, most_attempts: usize) -> Self {
        Self {
            attempts: Vec::new(),
            positions: BTreeMap::new(),
            tasks: TaskFrames::default(),
            answer_bytes,
            most_attempts,
        }
    }

    /// Observes the next event. Returns the attempt that it ends, if it ends one.
    pub fn observe(&mut self, at: EpochMillis, event: &Event) -> Option<&AttemptTrace> {
        self.tasks.observe(event);
        match event {
            Event::AttemptStarted {
                id,
                work: SlotWork::Role(role),
                worker,
                ..
            } => {
                self.start(at, id, role, worker.as_ref());
                None
            }
            Event::SubmissionReceived {
                id,
                submission,
                model,
                transcript,
                ..
            } => {
                let answer = answer_text(submission);
                let answer = TraceStep::new(TraceStepKind::Answer, "", &answer, self.answer_bytes);
                let attempt = self.end(at, id, TraceOutcome::Answered)?;
                attempt.model.clone_from(model);
                attempt.transcript.clone_from(transcript);
                attempt.steps.push(answer);
                Some(attempt)
            }
            Event::AttemptFailed {
                id,
                facts,
                model,
                transcript,
                ..
            } => {
                let why = facts.message.clone();
                let attempt = self.end(at, id, TraceOutcome::Failed { why })?;
                attempt.model.clone_from(model);
                attempt.transcript.clone_from(transcript);
                Some(attempt)
            }
            Event::AttemptLost { id, .. } => self.end(at, id, TraceOutcome::Lost).map(|a| &*a),
            Event::AttemptSpent { id, .. } => {
                self.end(at, id, TraceOutcome::Cancelled).map(|a| &*a)
            }
            _ => None,
        }
    }

    fn start(
        &mut self,
        at: EpochMillis,
        id: &AttemptId,
        role: &RoleName,
        worker: Option<&WorkerName>,
    ) {
        if self.attempts.len() >= self.most_attempts {
            return;
        }
        self.positions.insert(id.fence, self.attempts.len());
        self.attempts.push(AttemptTrace {
            number: self.attempts.len() + 1,
            role: role.clone(),
            worker: worker.cloned(),
            model: None,
            task: self.tasks.task_of(&id.frame).cloned(),
            frame: id.frame.clone(),
            step: id.step.clone(),
            generation: id.generation,
            attempt: id.attempt,
            started_at: at,
            ended_at: None,
            outcome: TraceOutcome::Running,
            transcript: None,
            steps: Vec::new(),
            left_out: 0,
            fence: id.fence,
        });
    }

    fn end(
        &mut self,
        at: EpochMillis,
        id: &AttemptId,
        outcome: TraceOutcome,
    ) -> Option<&mut AttemptTrace> {
        let position = self.positions.remove(&id.fence)?;
        let attempt = self.attempts.get_mut(position)?;
        attempt.ended_at = Some(at);
        attempt.outcome = outcome;
        Some(attempt)
    }
}

impl AttemptTrace {
    /// Renders it as a file for people.
    pub fn to_markdown(&self) -> String {
        let role = inline_code(self.role.as_str());
        let mut text = match &self.task {
            Some(task) => format!("# Trace of {role} for {}\n\n", inline_code(task.as_str())),
            None => format!("# Trace of {role}\n\n"),
        };
        if let Some(worker) = &self.worker {
            let _ = writeln!(text, "- Worker: {}", inline_code(worker.as_str()));
        }
        if let Some(model) = &self.model {
            let _ = writeln!(text, "- Model: {}", inline_code(model));
        }
        let outcome = self.outcome.as_str();
        let _ = match &self.outcome {
            TraceOutcome::Failed { why } => {
                writeln!(text, "- Outcome: {outcome}: {}", one_line(why))
            }
            _ => writeln!(text, "- Outcome: {outcome}"),
        };
        if self.left_out > 0 {
            let left_out = self.left_out;
            let _ = writeln!(text, "- {left_out} steps in the middle are left out");
        }
        for (at, step) in self.steps.iter().enumerate() {
            let (number, kind) = (at + 1, step.kind.as_str());
            let _ = write!(text, "\n## {number}. {kind}");
            if !step.tool.is_empty() {
                let _ = write!(text, " {}", inline_code(&step.tool));
            }
            if step.failed {
                text.push_str(" (failed)");
            }
            let _ = writeln!(text, "\n\n{}", code_block(&step.text));
            if step.cut_bytes > 0 {
                let cut = step.cut_bytes;
                let _ = writeln!(text, "\n({cut} more bytes)");
            }
        }
        text
    }
}

/// Returns an answer as indented JSON, in the form in which it was accepted.
fn answer_text(submission: &Submission) -> String {
    serde_json::to_string_pretty(submission).unwrap_or_default()
}
