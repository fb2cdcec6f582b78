//! Limits how often a model may correct its answer.

/// The most times an invalid answer is sent back.
const MAX_CORRECTIONS: u32 = 3;

/// The most times in a row that a message without an answer is sent back.
const MAX_REMINDERS: u32 = 1;

/// Counts how often a model was sent back to its answer.
#[derive(Debug, Default)]
pub(super) struct CorrectionBudget {
    corrections: u32,
    reminders: u32,
}

impl CorrectionBudget {
    /// Uses up one correction; returns false if none is left.
    pub(super) fn allow_correction(&mut self) -> bool {
        use_one(&mut self.corrections, MAX_CORRECTIONS)
    }

    /// Uses up one reminder; returns false if none is left.
    pub(super) fn allow_reminder(&mut self) -> bool {
        use_one(&mut self.reminders, MAX_REMINDERS)
    }

    /// Allows a new reminder, because the model has called tools again since the last one.
    pub(super) fn reset_reminders(&mut self) {
        self.reminders = 0;
    }

    pub(super) fn corrections_used(&self) -> u32 {
        self.corrections
    }
}

fn use_one(used: &mut u32, most: u32) -> bool {
    let is_left = *used < most;
    *used += u32::from(is_left);
    is_left
}
