//! Comments on lines of a patch: written, kept, taken back.

use codeteam_report::review::LineComment;

use super::{moves, open, typing};
use crate::message::ScreenAction;
use crate::state::{App, DiffRow, InputPurpose, Panel, TextInput};
use crate::text::count;
use codeteam_report::patch::PatchRowKind;

/// Asks for a comment on the selected line, the marked range, or the selected file.
pub(super) fn write_comment(app: &mut App) -> Vec<ScreenAction> {
    if let Some(Panel::Approval(_)) = app.panel() {
        app.note(
            "`c` comments on the selected line, `v` marks a range, `r` rejects with all comments",
        );
        return open::show_diff(app);
    }
    let Some(comment) = drafted_comment(app, "") else {
        return Vec::new();
    };
    let title = format!("Comment on {}", comment.place());
    typing::open_input(app, InputPurpose::Comment, title, TextInput::with_lines());
    Vec::new()
}

/// Keeps a comment on what is selected.
pub(super) fn keep_comment(app: &mut App, text: &str) -> Vec<ScreenAction> {
    let Some(comment) = drafted_comment(app, text) else {
        return Vec::new();
    };
    if text.trim().is_empty() {
        return Vec::new();
    }
    let Some(Panel::Diff(diff)) = app.panels.last_mut() else {
        return Vec::new();
    };
    diff.range_start = None;
    let comments = app.comments.entry(diff.key()).or_default();
    comments.push(comment);
    let kept = count(comments.len(), "comment");
    app.note(format!("{kept} kept; `r` sends all as one rejection"));
    Vec::new()
}

/// Makes a comment on what is selected.
fn drafted_comment(app: &App, text: &str) -> Option<LineComment> {
    let (row, rows) = moves::selected_diff_row(app)?;
    let Some(Panel::Diff(diff)) = app.panel() else {
        return None;
    };
    let patch = diff.loaded.as_ref()?.patch.as_ref().ok()?;
    let file = patch.files.get(row.file())?;
    let (from, to) = match diff.range_start {
        Some(start) if start <= diff.cursor.selected => (start, diff.cursor.selected),
        Some(start) => (diff.cursor.selected, start),
        None => (diff.cursor.selected, diff.cursor.selected),
    };
    let range = rows.get(from..=to)?.iter();
    let lines = range.filter_map(|within| match within {
        DiffRow::Line { file: of, line, .. } if *of == row.file() => patch.rows(file).get(*line),
        _ => None,
    });
    let lines: Vec<_> = lines.collect();
    // A range with any line that stays or is added is named by the numbers after the change.
    let is_old = !lines.is_empty() && lines.iter().all(|line| line.kind == PatchRowKind::Removed);
    let numbers = lines
        .iter()
        .filter_map(|line| if is_old { line.old } else { line.new });
    let numbers: Vec<u32> = numbers.collect();
    Some(LineComment {
        path: file.path.clone(),
        line: numbers.first().copied(),
        last: numbers.last().copied(),
        is_old,
        quoted: lines
            .iter()
            .find(|line| line.kind != PatchRowKind::Hunk)
            .map_or(String::new(), |line| patch.text(line).to_owned()),
        text: text.trim().to_owned(),
    })
}

/// Takes back the comment that is selected, or the last one.
pub(super) fn drop_comment(app: &mut App) -> Vec<ScreenAction> {
    let selected = moves::selected_diff_row(app).map(|(row, _)| row);
    let Some(Panel::Diff(diff)) = app.panel() else {
        return Vec::new();
    };
    let key = diff.key();
    let Some(comments) = app.comments.get_mut(&key) else {
        return Vec::new();
    };
    match selected {
        Some(DiffRow::Comment { comment, .. }) if comment < comments.len() => {
            comments.remove(comment);
            app.note("the comment is taken back");
        }
        _ => app.note("select a comment to take it back"),
    }
    Vec::new()
}
