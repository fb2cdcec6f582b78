//! Copies what is selected to the clipboard of the terminal.

use super::{moves, open};
use crate::message::ScreenAction;
use crate::state::{App, DiffRow, Panel, log_rows};
use crate::text::clean;

/// Hands the selected line to the terminal's clipboard.
pub(super) fn copy_selected(app: &mut App) -> Vec<ScreenAction> {
    let text = match app.panel() {
        Some(Panel::Log(log)) => {
            let rows = log_rows(log, open::log_columns(app));
            rows.get(log.cursor.selected).map(|row| row.2.clone())
        }
        Some(Panel::Diff(diff)) => moves::selected_diff_row(app).and_then(|(row, _)| {
            let loaded = diff.loaded.as_ref()?;
            let patch = loaded.patch.as_ref().ok()?;
            let file = patch.files.get(row.file())?;
            match row {
                DiffRow::Line { line, .. } => {
                    let row = patch.rows(file).get(line)?;
                    Some(patch.text(row).to_owned())
                }
                _ => Some(file.path.clone()),
            }
        }),
        _ => open::selected_place(app).map(|(run, place)| {
            if place == "run" {
                run.0
            } else {
                format!("{run} --task {place}")
            }
        }),
    };
    let Some(text) = text.map(|text| clean(&text)) else {
        return Vec::new();
    };
    app.note(format!("copied: {text}"));
    vec![ScreenAction::Copy(text)]
}
