//! What upstream tasks have brought forth, for those who depend on them: attributed, and bounded by
//! the role's token budget.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::contribution::Contribution;
use crate::frame::Frame;
use crate::ids::{RoleName, TaskId};
use crate::role::{Contract, Role, RoleKind};
use crate::run::{Run, TaskRecord};

/// The share of a role's token budget that upstream results may take.
const BUDGET_SHARE: u64 = 10;
/// Roughly the number of characters of a token.
const CHARS_PER_TOKEN: u64 = 4;
/// The characters that upstream results may take at least, and at most.
const LEAST_CHARS: u64 = 2_000;
const MOST_CHARS: u64 = 12_000;
/// The maximum number of files that are named for one task.
const MAX_FILES: usize = 30;

/// What an upstream task has brought forth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamResult {
    /// The task.
    pub task: TaskId,
    /// Its title, on one line.
    pub title: String,
    /// The roles that carried it out, in their order.
    pub roles: Vec<RoleName>,
    /// What they say about it, or a scribe's summary of that.
    pub summary: String,
    /// Whether the summary is a scribe's, or had to be shortened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
    /// What they want those to know who build on their work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The files they have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Everything they say, if the summary is not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_text: Option<String>,
    /// The file in the work tree that has the full text, if the worker can open one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_text_file: Option<String>,
}

/// Collects what the tasks that a frame's task depends on have brought forth, for whoever builds on
/// it, and for whoever scores what was built or decides about it.
pub(super) fn upstream_results(run: &Run, frame: &Frame, role: &Role) -> Vec<UpstreamResult> {
    let builds = role.kind == RoleKind::Implementer;
    let judges = matches!(role.contract, Contract::Quality | Contract::Intervention);
    let Some(task) = run.frame_task(frame).filter(|_| builds || judges) else {
        return Vec::new();
    };
    let records = task.dependencies.iter().filter_map(|id| {
        let record = run.tasks.get(id)?;
        (!record.contributions.is_empty()).then_some((id, record))
    });
    let records: Vec<(&TaskId, &TaskRecord)> = records.collect();
    let each = usize::try_from(char_budget(role)).unwrap_or(usize::MAX) / records.len().max(1);
    let results = records.into_iter();
    results
        .map(|(id, record)| upstream_result(run, id, record, each))
        .collect()
}

/// Returns how many characters all upstream results together may take.
fn char_budget(role: &Role) -> u64 {
    let share = role
        .context
        .budget
        .map(|tokens| tokens / BUDGET_SHARE * CHARS_PER_TOKEN);
    share.unwrap_or(MOST_CHARS).clamp(LEAST_CHARS, MOST_CHARS)
}

fn upstream_result(run: &Run, id: &TaskId, record: &TaskRecord, chars: usize) -> UpstreamResult {
    let contributions = &record.contributions;
    let words = match (&record.digest, contributions.as_slice()) {
        (Some(digest), _) => digest.trim().to_owned(),
        (None, [one]) => one.summary.trim().to_owned(),
        (None, several) => {
            let parts = several
                .iter()
                .map(|one| format!("{}: {}", one.role, one.summary.trim()));
            parts.collect::<Vec<_>>().join("\n")
        }
    };
    // Notes are what somebody wanted to be told; they come before the summary if there is not room
    // for both.
    let mut left = chars;
    let mut notes = Vec::new();
    for note in contributions.iter().flat_map(|one| &one.notes) {
        let note = shorten(note.trim(), left);
        left = left.saturating_sub(note.chars().count());
        if !note.is_empty() {
            notes.push(note);
        }
    }
    let summary = shorten(&words, left);
    let mut files: Vec<String> = Vec::new();
    for file in contributions.iter().flat_map(|one| &one.files) {
        if !files.contains(file) && files.len() < MAX_FILES {
            files.push(file.clone());
        }
    }
    let shortened = record.digest.is_some() || summary.len() < words.len();
    UpstreamResult {
        task: id.clone(),
        title: run.task(id).map_or("", |task| task.headline()).to_owned(),
        roles: contributions.iter().map(|one| one.role.clone()).collect(),
        full_text: shortened.then(|| full_text(contributions)),
        full_text_file: None,
        shortened,
        summary,
        notes,
        files,
    }
}

/// Writes down every contribution in full, each with the role it is from.
fn full_text(contributions: &[Contribution]) -> String {
    let mut text = String::new();
    for one in contributions {
        let _ = write!(text, "# {}\n\n{}\n", one.role, one.summary.trim());
        for note in &one.notes {
            let _ = write!(text, "\n- {}\n", note.trim());
        }
        text.push('\n');
    }
    text
}

/// Cuts a text to so many characters, and marks the cut.
fn shorten(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(chars.saturating_sub(1)).collect();
    if !cut.is_empty() {
        cut.push('…');
    }
    cut
}
