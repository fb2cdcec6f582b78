//! Moves cursors, folds and unfolds.

use codeteam_engine::attempt_log::LogAnchor;

use super::open;
use crate::content::{
    answer_rows, approval_facts, command_lines, cost_lines, metrics_lines, report_lines,
    workflow_lines,
};
use crate::message::ScreenAction;
use crate::state::{
    App, DiffPanel, DiffRow, ListCursor, Panel, SIDE_BY_SIDE_COLUMNS, TreeNode, TreeRow,
    body_layout, finding_rows, list_diff_rows, list_tree_rows, log_rows, plan_tasks, run_ids,
    timeline_attempts, timeline_lines,
};
use codeteam_report::patch::PatchRowKind;

/// How a cursor moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum CursorMove {
    /// By so many rows.
    By(isize),
    /// By so many halves of a page.
    Pages(isize),
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
}

impl CursorMove {
    fn apply(self, at: usize, rows: usize, page: usize) -> usize {
        let last = rows.saturating_sub(1);
        let step = match self {
            Self::By(step) => step,
            Self::Pages(halves) => halves * isize::try_from((page / 2).max(1)).unwrap_or(1),
            Self::Top => return 0,
            Self::Bottom => return last,
        };
        at.saturating_add_signed(step).min(last)
    }
}

/// Returns true if a panel is read from top to bottom, without a selected row.
fn is_text(panel: &Panel) -> bool {
    matches!(
        panel,
        Panel::Report { .. }
            | Panel::Command { .. }
            | Panel::Cost(_)
            | Panel::Metrics(_)
            | Panel::Workflow(_)
    )
}

/// Returns how many rows the panel that is shown has.
fn row_count(app: &App) -> usize {
    let columns = usize::from(body_layout(app).list.width);
    match app.panel() {
        Some(Panel::Inbox(_)) => app.inbox().len(),
        Some(Panel::Runs(cursor)) => run_ids(app, &cursor.filter).len(),
        Some(Panel::Run { .. }) => tree_rows(app).len(),
        Some(Panel::Plan(cursor)) => app
            .shown_run()
            .map_or(0, |run| plan_tasks(run, &cursor.filter).len()),
        Some(Panel::Cost(cursor)) => cost_lines(app, columns, &cursor.filter).len(),
        Some(Panel::Metrics(cursor)) => metrics_lines(app, columns, &cursor.filter).len(),
        Some(Panel::Workflow(cursor)) => workflow_lines(app, columns, &cursor.filter).len(),
        Some(Panel::Timeline { cursor, has_bars }) => app.history.as_ref().map_or(0, |history| {
            if *has_bars {
                timeline_attempts(history, &cursor.filter).len()
            } else {
                timeline_lines(history, &cursor.filter).len()
            }
        }),
        Some(Panel::Approval(panel)) => answer_rows(app, panel).len(),
        Some(Panel::Diff(diff)) => diff_rows(app, diff).len(),
        Some(Panel::Log(log)) => log_rows(log, open::log_columns(app)).len(),
        Some(Panel::Findings { cursor, place }) => app.shown_run().map_or(0, |run| {
            finding_rows(run, place.as_deref(), &cursor.filter).len()
        }),
        Some(Panel::Report { place, cursor }) => {
            report_lines(app, place, columns, &cursor.filter).len()
        }
        Some(Panel::Command { id, cursor, .. }) => {
            command_lines(app, *id, columns, &cursor.filter).len()
        }
        None => 0,
    }
}

/// Returns the rows of the tree that is shown.
pub(super) fn tree_rows(app: &App) -> Vec<TreeRow> {
    match (app.panel(), &app.history) {
        (Some(Panel::Run { cursor, folds }), Some(history)) => {
            list_tree_rows(history, app.run_standing(), folds, cursor)
        }
        _ => Vec::new(),
    }
}

/// Returns the rows of a patch.
pub(super) fn diff_rows(app: &App, diff: &DiffPanel) -> Vec<DiffRow> {
    let Some(Ok(patch)) = diff.loaded.as_ref().map(|loaded| &loaded.patch) else {
        return Vec::new();
    };
    let key = diff.key();
    let comments = app.comments.get(&key).map_or(&[][..], Vec::as_slice);
    let viewed = app.viewed.get(&key);
    list_diff_rows(patch, diff, diff.is_paired(app.size.0), viewed, comments)
}

/// Moves the cursor of the panel that is shown.
pub(super) fn move_cursor(app: &mut App, by: CursorMove) -> Vec<ScreenAction> {
    let rows = row_count(app);
    let layout = body_layout(app);
    let page = usize::from(layout.list.height);
    if let Some(Panel::Approval(panel)) = app.panel() {
        let facts = approval_facts(app, panel, usize::from(layout.list.width)).len();
        let Some(Panel::Approval(panel)) = app.panel_mut() else {
            return Vec::new();
        };
        match by {
            CursorMove::By(_) => panel.selected = by.apply(panel.selected, rows, page),
            // Pages are turned in the facts; the arrows choose among the answers.
            _ => panel.top = by.apply(panel.top, facts, page),
        }
        return Vec::new();
    }
    let Some(panel) = app.panel_mut() else {
        return Vec::new();
    };
    let last_top = rows.saturating_sub(page);
    let scrolls = is_text(panel);
    if let Panel::Command { is_followed, .. } = panel {
        *is_followed = matches!(by, CursorMove::Bottom);
    }
    if let Some(cursor) = panel.cursor_mut() {
        cursor.selected = by.apply(cursor.selected, rows, page);
        if scrolls {
            cursor.selected = cursor.selected.min(last_top);
        }
    }
    if let Some(Panel::Log(_)) = app.panel() {
        return load_more_log(app, by, rows);
    }
    Vec::new()
}

/// Asks for more of an output where the cursor comes to the edge of what is loaded.
fn load_more_log(app: &mut App, by: CursorMove, rows: usize) -> Vec<ScreenAction> {
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    if log.fixed.is_some() || log.is_loading {
        return Vec::new();
    }
    let (first, last) = match (log.lines.first(), log.lines.last()) {
        (Some(first), Some(last)) => (first.number, last.number),
        _ => (0, 0),
    };
    let at = log.cursor.selected;
    log.is_followed = log.is_followed && at + 1 >= rows;
    let anchor = match by {
        CursorMove::Top if first > 0 => LogAnchor::From(0),
        CursorMove::Bottom if last + 1 < log.total => LogAnchor::End,
        _ if at == 0 && first > 1 => LogAnchor::Until(first + open::LOG_OVERLAP),
        _ if at + 1 >= rows && last + 1 < log.total => {
            LogAnchor::From(last.saturating_sub(open::LOG_OVERLAP))
        }
        _ => return Vec::new(),
    };
    open::request_log(app, anchor)
}

/// Keeps the selected row on the screen, and the cursor among the rows.
pub(super) fn scroll_into_view(app: &mut App) {
    let rows = row_count(app);
    let height = usize::from(body_layout(app).list.height).max(1);
    let Some(panel) = app.panel_mut() else {
        return;
    };
    if let Panel::Approval(panel) = panel {
        panel.selected = panel.selected.min(rows.saturating_sub(1));
        return;
    }
    let scrolls = is_text(panel);
    let Some(cursor) = panel.cursor_mut() else {
        return;
    };
    cursor.selected = cursor.selected.min(rows.saturating_sub(1));
    if scrolls {
        cursor.selected = cursor.selected.min(rows.saturating_sub(height));
        cursor.top = cursor.selected;
        return;
    }
    if cursor.selected < cursor.top {
        cursor.top = cursor.selected;
    } else if cursor.selected >= cursor.top + height {
        cursor.top = cursor.selected + 1 - height;
    }
    cursor.top = cursor.top.min(rows.saturating_sub(height));
}

/// Shows the end of what a command prints, as long as nobody scrolls.
pub(super) fn follow_command(app: &mut App, printed: u64) {
    let follows = matches!(
        app.panel(),
        Some(Panel::Command { id, is_followed: true, .. }) if *id == printed
    );
    if !follows {
        return;
    }
    let rows = row_count(app);
    if let Some(Panel::Command { cursor, .. }) = app.panel_mut() {
        cursor.selected = rows;
    }
}

/// Folds or unfolds the selected row. Folding what is folded goes to its parent.
pub(super) fn fold(app: &mut App, opens: bool) -> Vec<ScreenAction> {
    match app.panel() {
        Some(Panel::Run { .. }) => fold_tree(app, opens),
        Some(Panel::Diff(_)) => fold_diff(app, opens),
        _ => {}
    }
    Vec::new()
}

fn fold_tree(app: &mut App, opens: bool) {
    let rows = tree_rows(app);
    let Some(Panel::Run { cursor, folds }) = app.panel_mut() else {
        return;
    };
    let Some(row) = rows.get(cursor.selected) else {
        return;
    };
    match (row.is_open, opens) {
        (Some(false), true) | (Some(true), false) => {
            folds.insert(row.node.clone(), opens);
        }
        (Some(true), true) => cursor.selected += 1,
        (_, false) => {
            let before = rows[..cursor.selected]
                .iter()
                .rposition(|r| r.depth < row.depth);
            cursor.selected = before.unwrap_or(cursor.selected);
        }
        (None, true) => {}
    }
}

/// Folds the selected node of the tree if it is unfolded, and the other way round.
pub(super) fn toggle_node(app: &mut App) {
    let rows = tree_rows(app);
    if let Some(Panel::Run { cursor, folds }) = app.panel_mut()
        && let Some(row) = rows.get(cursor.selected)
        && let Some(is_open) = row.is_open
    {
        folds.insert(row.node.clone(), !is_open);
    }
}

/// Selects a task in the tree, and unfolds it.
pub(super) fn select_task(app: &mut App, task: &str) {
    let node = TreeNode::Task(task.to_owned());
    if let Some(Panel::Run { folds, .. }) = app.panel_mut() {
        folds.insert(node.clone(), true);
    }
    let rows = tree_rows(app);
    if let Some(Panel::Run { cursor, .. }) = app.panel_mut() {
        let at = rows.iter().position(|row| row.node == node);
        cursor.selected = at.unwrap_or(0);
    }
}

/// Returns the selected row of the patch that is shown, with all rows.
pub(super) fn selected_diff_row(app: &App) -> Option<(DiffRow, Vec<DiffRow>)> {
    let Some(Panel::Diff(diff)) = app.panel() else {
        return None;
    };
    let rows = diff_rows(app, diff);
    let row = *rows.get(diff.cursor.selected)?;
    Some((row, rows))
}

fn fold_diff(app: &mut App, opens: bool) {
    let Some((row, rows)) = selected_diff_row(app) else {
        return;
    };
    if let Some(Panel::Diff(diff)) = app.panel_mut()
        && let Some(Ok(patch)) = diff.loaded.as_ref().map(|loaded| &loaded.patch)
        && let Some(file) = patch.files.get(row.file())
    {
        diff.folds.insert(file.path.clone(), opens);
        diff.range_start = None;
        // The heading of the file stays where it is.
        let heading = rows.iter().position(|r| *r == DiffRow::File(row.file()));
        diff.cursor.selected = heading.unwrap_or(0);
    }
}

/// Marks the selected file as viewed and folds it, or takes the mark back.
pub(super) fn toggle_viewed(app: &mut App) -> Vec<ScreenAction> {
    let Some((row, rows)) = selected_diff_row(app) else {
        return Vec::new();
    };
    let Some(Panel::Diff(diff)) = app.panels.last_mut() else {
        return Vec::new();
    };
    let key = diff.key();
    let Some(Ok(patch)) = diff.loaded.as_ref().map(|loaded| &loaded.patch) else {
        return Vec::new();
    };
    let Some(file) = patch.files.get(row.file()) else {
        return Vec::new();
    };
    let viewed = app.viewed.entry(key).or_default();
    if viewed.get(&file.path) == Some(&file.digest) {
        viewed.remove(&file.path);
    } else {
        viewed.insert(file.path.clone(), file.digest);
    }
    diff.folds.remove(&file.path);
    diff.range_start = None;
    let heading = rows.iter().position(|r| *r == DiffRow::File(row.file()));
    diff.cursor.selected = heading.unwrap_or(0);
    Vec::new()
}

/// Puts both versions side by side, or one below the other again. The selected line stays selected.
pub(super) fn toggle_side_by_side(app: &mut App) -> Vec<ScreenAction> {
    let columns = app.size.0;
    if columns < SIDE_BY_SIDE_COLUMNS {
        app.note(format!(
            "side by side needs {SIDE_BY_SIDE_COLUMNS} columns, and this screen has {columns}"
        ));
        return Vec::new();
    }
    let selected = selected_diff_row(app).map(|(row, _)| row);
    if let Some(Panel::Diff(diff)) = app.panel_mut() {
        diff.is_side_by_side = !diff.is_side_by_side;
        diff.range_start = None;
    }
    let Some((selected, (_, rows))) = selected.zip(selected_diff_row(app)) else {
        return Vec::new();
    };
    let position = rows.iter().position(|row| match (*row, selected) {
        (
            DiffRow::Line { file, line, beside },
            DiffRow::Line {
                file: of,
                line: wanted,
                ..
            },
        ) => file == of && (line == wanted || beside == Some(wanted)),
        (row, selected) => row == selected,
    });
    if let (Some(position), Some(Panel::Diff(diff))) = (position, app.panel_mut()) {
        diff.cursor.selected = position;
    }
    Vec::new()
}

/// Begins a range of lines, or ends it.
pub(super) fn mark_range(app: &mut App) -> Vec<ScreenAction> {
    let is_line = matches!(selected_diff_row(app), Some((DiffRow::Line { .. }, _)));
    if let Some(Panel::Diff(diff)) = app.panel_mut() {
        diff.range_start = match diff.range_start {
            None if is_line => Some(diff.cursor.selected),
            _ => None,
        };
    }
    Vec::new()
}

/// Goes to the next file or hunk, or to the one before.
pub(super) fn jump_in_diff(app: &mut App, to_file: bool, step: isize) -> Vec<ScreenAction> {
    let Some((_, rows)) = selected_diff_row(app) else {
        return Vec::new();
    };
    let Some(Panel::Diff(diff)) = app.panel_mut() else {
        return Vec::new();
    };
    let Some(Ok(patch)) = diff.loaded.as_ref().map(|loaded| &loaded.patch) else {
        return Vec::new();
    };
    let is_stop = |row: &DiffRow| match row {
        DiffRow::File(_) => to_file,
        DiffRow::Line { file, line, .. } => {
            let file = &patch.files[*file];
            !to_file && patch.rows(file)[*line].kind == PatchRowKind::Hunk
        }
        DiffRow::Comment { .. } => false,
    };
    jump(&mut diff.cursor, rows.len(), step, |at| is_stop(&rows[at]));
    Vec::new()
}

/// Moves a cursor to the next row that fits, or to the one before.
fn jump(cursor: &mut ListCursor, rows: usize, step: isize, fits: impl Fn(usize) -> bool) {
    let found = if step > 0 {
        (cursor.selected + 1..rows).find(|at| fits(*at))
    } else {
        (0..cursor.selected.min(rows)).rev().find(|at| fits(*at))
    };
    if let Some(at) = found {
        cursor.selected = at;
    }
}

/// Goes to the next line that is added or removed, or to the one before.
pub(super) fn jump_to_change(app: &mut App, step: isize) -> Vec<ScreenAction> {
    let Some((_, rows)) = selected_diff_row(app) else {
        return Vec::new();
    };
    let Some(Panel::Diff(diff)) = app.panel_mut() else {
        return Vec::new();
    };
    let Some(Ok(patch)) = diff.loaded.as_ref().map(|loaded| &loaded.patch) else {
        return Vec::new();
    };
    let is_change = |row: &DiffRow| {
        matches!(row, DiffRow::Line { file, line, .. } if matches!(
            patch.rows(&patch.files[*file])[*line].kind,
            PatchRowKind::Added | PatchRowKind::Removed
        ))
    };
    jump(&mut diff.cursor, rows.len(), step, |at| {
        is_change(&rows[at])
    });
    Vec::new()
}
