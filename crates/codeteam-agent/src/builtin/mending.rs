//! How often a model may be sent back to its answer.

/// How often an answer that does not fit is sent back.
const MENDS: u32 = 3;

/// How often a text that is no answer is.
const REMINDERS: u32 = 1;

/// What is left of a model's chances.
#[derive(Debug, Default)]
pub(super) struct CorrectionBudget {
    mends: u32,
    reminders: u32,
}

impl CorrectionBudget {
    /// Whether an answer that does not fit may be sent back once more.
    pub(super) fn mend(&mut self) -> bool {
        take(&mut self.mends, MENDS)
    }

    /// Whether a model that said something else may be reminded.
    pub(super) fn remind(&mut self) -> bool {
        take(&mut self.reminders, REMINDERS)
    }

    /// A model that works again has not forgotten what it is to do.
    pub(super) fn forgive(&mut self) {
        self.reminders = 0;
    }

    pub(super) fn mends(&self) -> u32 {
        self.mends
    }
}

fn take(used: &mut u32, most: u32) -> bool {
    let is_left = *used < most;
    *used += u32::from(is_left);
    is_left
}
