//! What a file scripts, read against the workflow: every key names a step, every word is one that
//! the step's kind knows, every submission is one that the role's contract takes.

mod read;

use serde_json::Value;

use self::read::AnswerReader;
use super::file::ScriptedAnswer;
use crate::ids::StepId;
use crate::workflow::CompiledWorkflow;
use crate::yaml::Diagnostic;

/// What a worker does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedAct {
    /// What its kind owes.
    Well,
    /// It says that it cannot go on.
    Blocked(String),
    /// It changes nothing.
    Empty,
    /// It fails.
    Crash,
    /// It says what cannot be read.
    Wrong,
    /// It is for it.
    Approve(String),
    /// It is against it.
    Reject(String),
    /// It asks.
    Ask(Vec<String>),
    /// It plans.
    Plan(Value),
    /// It writes these files; a text of its own where none is scripted, none to remove one.
    Change(Vec<(String, ScriptedContent)>),
    /// It says this, to the letter.
    Says(Value),
}

/// What is written to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedContent {
    /// Something new each time.
    Any,
    /// This.
    Is(String),
    /// The file is removed.
    Gone,
}

/// What happens once at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedTurn {
    /// Its slots do this, in order; those that are not named do well.
    Work(Vec<ScriptedAct>),
    /// It goes through.
    Goes,
    /// It does not.
    Fails(String),
    /// What is committed conflicts.
    Conflicts,
    /// It cannot be tried at all.
    Breaks,
    /// A person answers.
    Answers {
        /// The answer's name, or a text.
        answer: String,
        /// What else they say.
        note: String,
    },
}

impl ScriptedTurn {
    /// The same in a few words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Work(acts) => {
                let words: Vec<String> = acts.iter().map(ScriptedAct::words).collect();
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
    pub(super) fn words(&self) -> String {
        match self {
            Self::Well => "ok".to_owned(),
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
            Self::Says(_) => "submission".to_owned(),
        }
    }
}

/// Everything that is scripted, and what of it was used.
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
    /// Reads what is scripted against the workflow.
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

    /// What happens next at a step of a frame; the last of a list stays.
    pub(super) fn take(&mut self, step: &StepId, asked: bool, frame: &str) -> Option<ScriptedTurn> {
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

    /// The keys nothing was taken from.
    pub(super) fn unreached(&self) -> Vec<String> {
        let unused = self.entries.iter().filter(|e| e.used == 0);
        unused.map(|e| e.written.clone()).collect()
    }
}

/// What a person says who ends the run instead of answering.
pub(super) const ABORT: &str = "abort";
