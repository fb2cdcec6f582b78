//! What lies above a panel: a question before something is done, a text that is typed, the keys.

use codeteam_core::ids::{AttemptId, RunId};

use super::input::TextInput;

/// What lies above a panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// The keys of the panel, from this line on.
    Help(usize),
    /// A question before something is done.
    Confirm(ConfirmBox),
    /// A text that is typed.
    Input(InputBox),
}

/// A question before something is done that cannot be undone, or that costs something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfirmBox {
    /// What is about to be done.
    pub(crate) title: String,
    /// What that does.
    pub(crate) lines: Vec<String>,
    /// What must be typed, and what was; without it, `y` is enough.
    pub(crate) typed: Option<(String, TextInput)>,
    /// What is done then.
    pub(crate) then: ConfirmedCommand,
}

/// What is done once a person has confirmed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfirmedCommand {
    /// A command of codeteam, and the question that it decides.
    Run(Vec<String>, Option<AttemptId>),
    /// The screen closes.
    Leave,
}

/// A text that is typed, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputBox {
    /// What it is for.
    pub(crate) purpose: InputPurpose,
    /// What is asked.
    pub(crate) title: String,
    /// The text.
    pub(crate) input: TextInput,
    /// Which of the earlier commands is shown, counted from the newest.
    pub(crate) recalled: usize,
}

/// What a typed text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputPurpose {
    /// Why a change is rejected.
    Reject {
        /// The run.
        run: RunId,
        /// The question.
        question: AttemptId,
    },
    /// The answer to a question that takes any text, or to one of its points.
    Answer {
        /// The run.
        run: RunId,
        /// The question.
        question: AttemptId,
        /// The point, if it has several.
        point: Option<usize>,
    },
    /// Why a change is taken against the approval policy.
    Override {
        /// The run.
        run: RunId,
        /// The question.
        question: AttemptId,
    },
    /// What goes with the next decision on a question.
    Note {
        /// The question.
        question: AttemptId,
    },
    /// What the next worker should know when something is tried again.
    Retry {
        /// The run.
        run: RunId,
        /// The task, if only one is tried again.
        task: Option<String>,
    },
    /// A comment on lines of a patch.
    Comment,
    /// Which rows are listed.
    Filter,
    /// What is searched for.
    Search,
    /// A command of codeteam.
    Command,
}
