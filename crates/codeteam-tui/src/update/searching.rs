//! Searches in patches, outputs, reports and what commands print: `/` asks for the words, `n` and `N`
//! go from match to match and begin again at the other end.

use codeteam_engine::attempt_log::{LogAnchor, LogSearch};
use codeteam_report::patch::PatchDocument;
use codeteam_report::report::ScreenLine;

use super::{moves, open};
use crate::content::{command_lines, report_lines};
use crate::message::{FoundLine, LoadRequest, ScreenAction};
use crate::state::{App, DiffRow, ListCursor, Panel, body_layout, log_rows};
use crate::text::{clean, matches};

/// So many lines before a match are loaded with it.
const LINES_BEFORE: usize = open::LOG_WINDOW / 2;

/// Searches for the words that were typed; without words, nothing is marked any more.
pub(super) fn search(app: &mut App, text: &str) -> Vec<ScreenAction> {
    let Some(cursor) = app.panel_mut().and_then(Panel::cursor_mut) else {
        return Vec::new();
    };
    text.clone_into(&mut cursor.search);
    cursor.found = None;
    if text.is_empty() {
        return Vec::new();
    }
    go_to_match(app, 1, true)
}

/// Goes to the next match, or to the one before. In a patch in which nothing was searched for, goes to
/// the next changed line.
pub(super) fn find_next(app: &mut App, step: isize) -> Vec<ScreenAction> {
    let cursor = app.panel().and_then(Panel::cursor);
    if cursor.is_some_and(|cursor| !cursor.search.is_empty()) {
        return go_to_match(app, step, false);
    }
    if let Some(Panel::Diff(_)) = app.panel() {
        return moves::jump_to_change(app, step);
    }
    app.note("`/` searches; `n` and `N` then go from match to match");
    Vec::new()
}

fn go_to_match(app: &mut App, step: isize, includes_current: bool) -> Vec<ScreenAction> {
    match app.panel() {
        Some(Panel::Diff(_)) => find_in_patch(app, step, includes_current),
        Some(Panel::Log(_)) => return find_in_log(app, step, includes_current),
        Some(Panel::Report { .. } | Panel::Command { .. }) => {
            find_in_text(app, step, includes_current);
        }
        _ => {}
    }
    Vec::new()
}

/// Returns the position of the next match, and whether the search went on from the other end.
fn next_match(
    count: usize,
    at: usize,
    step: isize,
    includes_current: bool,
    fits: impl Fn(usize) -> bool,
) -> Option<(usize, bool)> {
    let skipped = usize::from(!includes_current);
    // Forward, the near part begins here; backward, it ends before this.
    let edge = if step > 0 {
        at + skipped
    } else {
        at + 1 - skipped
    };
    let edge = edge.min(count);
    let (before, after) = (0..edge, edge..count);
    let found = if step > 0 {
        after.chain(before).find(|at| fits(*at))
    } else {
        before.rev().chain(after.rev()).find(|at| fits(*at))
    }?;
    Some((found, (found < edge) == (step > 0)))
}

fn say_found(app: &mut App, text: &str, step: isize, found: Option<bool>) {
    match found {
        None => app.complain(format!("nothing has `{}`", clean(text))),
        Some(true) if step > 0 => app.note("the search went on from the top"),
        Some(true) => app.note("the search went on from the end"),
        Some(false) => {}
    }
}

/// Searches the lines of a panel that is read from top to bottom.
fn find_in_text(app: &mut App, step: isize, includes_current: bool) {
    let area = body_layout(app).list;
    let (columns, height) = (usize::from(area.width), usize::from(area.height));
    let (lines, cursor) = match app.panel() {
        Some(Panel::Report { place, cursor }) => {
            (report_lines(app, place, columns, &cursor.filter), cursor)
        }
        Some(Panel::Command { id, cursor, .. }) => {
            (command_lines(app, *id, columns, &cursor.filter), cursor)
        }
        _ => return,
    };
    let text = cursor.search.clone();
    let shown = cursor.top..cursor.top + height;
    let known = cursor.found.filter(|row| shown.contains(row));
    let at = known.unwrap_or(cursor.top);
    let includes_current = includes_current || known.is_none();
    let has_text = |at: usize| matches(&line_text(&lines[at]), &text);
    let found = next_match(lines.len(), at, step, includes_current, has_text);
    say_found(app, &text, step, found.map(|(_, is_wrapped)| is_wrapped));
    let Some((row, _)) = found else { return };
    if let Some(Panel::Command { is_followed, .. }) = app.panel_mut() {
        *is_followed = false;
    }
    if let Some(cursor) = app.panel_mut().and_then(Panel::cursor_mut) {
        cursor.found = Some(row);
        if !shown.contains(&row) {
            cursor.selected = row;
        }
    }
}

fn line_text(line: &ScreenLine) -> String {
    line.iter().map(|span| span.text.as_str()).collect()
}

/// Searches a patch, with the files that are folded: a match in one unfolds it.
fn find_in_patch(app: &mut App, step: isize, includes_current: bool) {
    let selected = moves::selected_diff_row(app).map(|(row, _)| row);
    let Some(Panel::Diff(diff)) = app.panel() else {
        return;
    };
    let Some(Ok(patch)) = diff.loaded.as_ref().map(|loaded| loaded.patch.clone()) else {
        return;
    };
    let text = diff.cursor.search.clone();
    let places = patch_places(&patch, &diff.cursor.filter);
    let at = selected.map_or(0, |selected| {
        let wanted = match selected {
            DiffRow::File(file) => (file, None),
            DiffRow::Line { file, line, .. } => (file, Some(line)),
            DiffRow::Comment { .. } => (selected.file(), None),
        };
        places
            .iter()
            .position(|place| *place == wanted)
            .unwrap_or(0)
    });
    let has_text = |at: usize| {
        let (file, line) = places[at];
        let file = &patch.files[file];
        match line {
            None => matches(&file.path, &text),
            Some(line) => matches(patch.text(&patch.rows(file)[line]), &text),
        }
    };
    let found = next_match(places.len(), at, step, includes_current, has_text);
    say_found(app, &text, step, found.map(|(_, is_wrapped)| is_wrapped));
    let Some((found, _)) = found else { return };
    let (file, line) = places[found];
    if let (Some(line), Some(Panel::Diff(diff))) = (line, app.panel_mut()) {
        diff.folds.insert(patch.files[file].path.clone(), true);
        diff.range_start = None;
        let rows = match app.panel() {
            Some(Panel::Diff(diff)) => moves::diff_rows(app, diff),
            _ => Vec::new(),
        };
        let is_it = |row: &DiffRow| {
            matches!(row, DiffRow::Line { file: of, line: own, beside }
                if *of == file && (*own == line || *beside == Some(line)))
        };
        select_row(app, rows.iter().position(is_it));
        return;
    }
    let rows = match app.panel() {
        Some(Panel::Diff(diff)) => moves::diff_rows(app, diff),
        _ => Vec::new(),
    };
    select_row(app, rows.iter().position(|row| *row == DiffRow::File(file)));
}

/// Returns every place of a patch in order: the heading of each file that is listed, and its lines.
fn patch_places(patch: &PatchDocument, filter: &str) -> Vec<(usize, Option<usize>)> {
    let files = patch.files.iter().enumerate();
    let files = files.filter(|(_, file)| matches(&file.path, filter));
    let places = files.flat_map(|(at, file)| {
        let lines = 0..patch.rows(file).len();
        std::iter::once((at, None)).chain(lines.map(move |line| (at, Some(line))))
    });
    places.collect()
}

fn select_row(app: &mut App, row: Option<usize>) {
    let cursor: Option<&mut ListCursor> = app.panel_mut().and_then(Panel::cursor_mut);
    if let (Some(cursor), Some(row)) = (cursor, row) {
        cursor.selected = row;
    }
}

/// Searches an output: what is loaded of it at once, the rest by the loader.
fn find_in_log(app: &mut App, step: isize, includes_current: bool) -> Vec<ScreenAction> {
    let columns = open::log_columns(app);
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    log.is_followed = false;
    let rows = log_rows(log, columns);
    let text = log.cursor.search.clone();
    let at = log.cursor.selected;
    let has_text = |at: usize| matches(&rows[at].2, &text);
    let found = next_match(rows.len(), at, step, includes_current, has_text);
    let is_whole = log.fixed.is_some();
    match found {
        Some((row, is_wrapped)) if is_whole || !is_wrapped => {
            log.cursor.selected = row;
            say_found(app, &text, step, Some(is_wrapped));
            return Vec::new();
        }
        None if is_whole => {
            say_found(app, &text, step, None);
            return Vec::new();
        }
        _ => {}
    }
    // Nothing more among the lines that are loaded: the loader looks before or behind them.
    let is_backward = step < 0;
    let edge = if is_backward {
        log.lines.first().map_or(0, |line| line.number)
    } else {
        log.lines.last().map_or(0, |line| line.number + 1)
    };
    let search = LogSearch {
        text,
        from: edge,
        is_backward,
        only: log.only,
        containing: log.cursor.filter.clone(),
    };
    let target = log.target.clone();
    app.note("searching …");
    vec![ScreenAction::Load(LoadRequest::FindInLog {
        target,
        search,
    })]
}

/// Takes what the loader has found in an output, and asks for the lines around it.
pub(super) fn take_found_line(app: &mut App, found: &FoundLine) -> Vec<ScreenAction> {
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    if log.target.fence != found.fence || log.cursor.search != found.text {
        return Vec::new();
    }
    let Some(line) = found.line else {
        say_found(app, &found.text, 1, None);
        return Vec::new();
    };
    app.notice = None;
    if found.is_wrapped {
        app.note("the search went on from the other end");
    }
    let anchor = LogAnchor::From(line.saturating_sub(LINES_BEFORE));
    let actions = open::request_log(app, anchor);
    if let Some(Panel::Log(log)) = app.panel_mut() {
        log.found_line = Some(line);
    }
    actions
}

/// Returns the row with the text in a line of an output: the text may be far into a long line.
pub(super) fn row_of_line(rows: &[(usize, bool, String)], line: usize, text: &str) -> usize {
    let of_line = |row: &&(usize, bool, String)| row.0 == line;
    let first = rows.iter().position(|row| row.0 == line).unwrap_or(0);
    let within = rows.iter().skip(first).take_while(of_line);
    let at = within.clone().position(|row| matches(&row.2, text));
    first + at.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_round() {
        let fits = |at: usize| at == 2 || at == 5;
        let next = |at, step, current| next_match(7, at, step, current, fits);
        assert_eq!(next(0, 1, true), Some((2, false)));
        assert_eq!(next(2, 1, true), Some((2, false)));
        assert_eq!(next(2, 1, false), Some((5, false)));
        assert_eq!(next(5, 1, false), Some((2, true)));
        assert_eq!(next(5, -1, false), Some((2, false)));
        assert_eq!(next(2, -1, false), Some((5, true)));
        assert_eq!(next_match(7, 2, 1, false, |at| at == 2), Some((2, true)));
        assert_eq!(next_match(7, 2, -1, false, |at| at == 2), Some((2, true)));
        assert_eq!(next_match(0, 0, 1, true, |_| true), None);
    }
}
