//! Validates the scripted answers against the workflow: every key names a step, every word is known
//! to the step's kind, and every submission is accepted by the role's contract.

mod read;

use codeteam_core::ids::StepId;
use serde_json::Value;

use self::read::AnswerReader;
use super::file::ScriptedAnswer;
use crate::language::CompiledWorkflow;
use crate::yaml::Diagnostic;

/// An act of a scripted worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedAct {
    /// It submits what a role of its kind is expected to deliver.
    Succeed,
    /// It reports that it cannot continue.
    Blocked(String),
    /// It changes nothing.
    Empty,
    /// It fails.
    Crash,
    /// It submits something that cannot be parsed.
    Wrong,
    /// It approves the change.
    Approve(String),
    /// It rejects the change.
    Reject(String),
    /// It asks questions.
    Ask(Vec<String>),
    /// It submits a plan.
    Plan(Value),
    /// It writes or removes these files.
    Change(Vec<(String, ScriptedContent)>),
    /// It scores the change with so many points.
    Score(u8),
    /// It submits exactly this value.
    Says(Value),
}

/// The content that is written to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedContent {
    /// A different text each time.
    Any,
    /// Exactly this text.
    Is(String),
    /// The file is removed.
    Gone,
}

/// The script of one visit of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedTurn {
    /// The slots do this, in order; slots without an entry succeed.
    Work(Vec<ScriptedAct>),
    /// The step succeeds.
    Goes,
    /// The step fails, with this reason.
    Fails(String),
    /// The commit conflicts.
    Conflicts,
    /// The step cannot even be attempted.
    Breaks,
    /// A person answers.
    Answers {
        /// The name of the answer, or a text.
        answer: String,
        /// The note that the person adds.
        note: String,
    },
}

impl ScriptedTurn {
    /// Describes the turn in a few words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Work(acts) => {
                let words: Vec<String> = acts.iter().map(ScriptedAct::describe).collect();
                words.join(", ")
            }
            Self::Goes => "ok".to_owned(),
            Self::Fails(why) => format!("fail: {why}"),
            Self::Conflicts => "conflict".to_owned(),
            Self::Breaks => "crash".to_owned(),
            Self::Answers { answer, note } if note.is_empty() => format!("`{answer}`"),
            Self::Answers { answer, note } => format!("`{answer}`: {note}"),
        }
    }
}

impl ScriptedAct {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Succeed => "ok".to_owned(),
            Self::Blocked(why) => format!("blocked: {why}"),
            Self::Empty => "empty".to_owned(),
            Self::Crash => "crash".to_owned(),
            Self::Wrong => "wrong".to_owned(),
            Self::Approve(_) => "approve".to_owned(),
            Self::Reject(why) => format!("reject: {why}"),
            Self::Ask(questions) => format!("ask: {}", questions.join(" ")),
            Self::Plan(_) => "plan".to_owned(),
            Self::Change(files) => {
                let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
                format!("change: {}", paths.join(", "))
            }
            Self::Score(points) => format!("score: {points}"),
            Self::Says(value) => match value.get("intervention").and_then(Value::as_str) {
                Some(intervention) => intervention.to_owned(),
                None => "submission".to_owned(),
            },
        }
    }
}

/// All scripted answers, with a record of how many were used.
#[derive(Clone, Debug)]
pub(super) struct AnswerScript {
    entries: Vec<ScriptEntry>,
}

#[derive(Clone, Debug)]
struct ScriptEntry {
    written: String,
    step: StepId,
    asked: bool,
    frame: Option<String>,
    turns: Vec<ScriptedTurn>,
    used: usize,
}

impl AnswerScript {
    /// Validates the scripted answers against the workflow.
    pub(super) fn new(
        answers: &[ScriptedAnswer],
        compiled: &CompiledWorkflow,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let mut entries = Vec::new();
        for scripted in answers {
            let read = AnswerReader { compiled, scripted };
            match read.entry() {
                Ok(entry) => entries.push(entry),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() {
            Ok(Self { entries })
        } else {
            Err(faults)
        }
    }

    /// Returns what happens next at a step of a frame. The last turn of a list repeats.
    pub(super) fn next_turn(
        &mut self,
        step: &StepId,
        asked: bool,
        frame: &str,
    ) -> Option<ScriptedTurn> {
        let fits = |e: &ScriptEntry| e.step == *step && e.asked == asked;
        let own = |e: &ScriptEntry| fits(e) && e.frame.as_deref() == Some(frame);
        let position = self.entries.iter().position(own).or_else(|| {
            let all = |e: &ScriptEntry| fits(e) && e.frame.is_none();
            self.entries.iter().position(all)
        });
        let entry = self.entries.get_mut(position?)?;
        let turn = entry.turns.get(entry.used).or(entry.turns.last()).cloned();
        entry.used += 1;
        turn
    }

    /// Returns the keys whose answers were never used.
    pub(super) fn unused_keys(&self) -> Vec<String> {
        let unused = self.entries.iter().filter(|e| e.used == 0);
        unused.map(|e| e.written.clone()).collect()
    }
}

/// The answer of a person who aborts the run instead of answering.
pub(super) const ABORT: &str = "abort";
