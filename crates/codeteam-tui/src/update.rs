//! What a message does to the screen. Nothing here reads a clock, a file or a terminal: what must be
//! done is returned as actions.

mod command_line;
mod commenting;
mod completing;
mod copy;
mod decide;
mod moves;
mod open;
mod overriding;
mod searching;
#[cfg(test)]
mod tests;
mod typing;

use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_engine::attempt_log::{LogAnchor, LogLineKind};
use ratatui::crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};

use self::moves::CursorMove;
use crate::keys::{KeyAction, find_action};
use crate::message::{LoadRequest, LoadedLog, LoadedPatch, Message, ScreenAction};
use crate::model::{HistoryUpdate, RunHistory};
use crate::state::{App, COMMAND_LINES, ListCursor, Overlay, Panel};
use codeteam_engine::watch::WatchedRun;

/// Applies a message, and returns what the loop has to do.
pub(crate) fn update(app: &mut App, now: EpochMillis, message: Message) -> Vec<ScreenAction> {
    app.now = now;
    let actions = match message {
        Message::KeyPressed(pressed) => press_key(app, pressed),
        Message::Pasted(text) => typing::paste(app, &text),
        Message::MouseUsed(used) => use_mouse(app, used),
        Message::RunsChanged(runs) => take_runs(app, runs),
        Message::HistoryRead(update) => take_history(app, *update),
        Message::PatchLoaded(loaded) => take_patch(app, &loaded),
        Message::ReportLoaded(loaded) => {
            app.report = Some(loaded);
            Vec::new()
        }
        Message::LogLoaded(loaded) => take_log(app, loaded),
        Message::LogSearched(found) => searching::take_found_line(app, &found),
        Message::MetricsLoaded(loaded) => {
            app.metrics = Some(*loaded);
            Vec::new()
        }
        Message::LogGrew { fence, lines } => open::grow_log(app, fence, lines),
        Message::CommandPrinted { id, line } => {
            print_command(app, id, line);
            Vec::new()
        }
        Message::CommandEnded { id, code } => decide::end_command(app, id, code),
        Message::Noted(text) => {
            app.note(text);
            Vec::new()
        }
        Message::DriverEnded(text) => {
            app.driven_here = None;
            decide::ask_again_whether_to_leave(app);
            app.note(text);
            Vec::new()
        }
        Message::ReadFailed(text) => {
            app.complain(text);
            Vec::new()
        }
        Message::Resized => vec![ScreenAction::Repaint],
        Message::TimePassed => Vec::new(),
        Message::Closed => vec![ScreenAction::Quit],
    };
    moves::scroll_into_view(app);
    actions
}

fn press_key(app: &mut App, pressed: KeyEvent) -> Vec<ScreenAction> {
    app.notice = None;
    if app.overlay.is_some() {
        return typing::press_in_overlay(app, pressed);
    }
    let Some(kind) = app.panel().map(Panel::kind) else {
        return vec![ScreenAction::Quit];
    };
    match find_action(kind, pressed) {
        Some(action) => perform_key(app, action),
        None => Vec::new(),
    }
}

/// Does what a key stands for.
fn perform_key(app: &mut App, action: KeyAction) -> Vec<ScreenAction> {
    match action {
        KeyAction::Up => moves::move_cursor(app, CursorMove::By(-1)),
        KeyAction::Down => moves::move_cursor(app, CursorMove::By(1)),
        KeyAction::PageUp => moves::move_cursor(app, CursorMove::Pages(-2)),
        KeyAction::PageDown => moves::move_cursor(app, CursorMove::Pages(2)),
        KeyAction::HalfPageUp => moves::move_cursor(app, CursorMove::Pages(-1)),
        KeyAction::HalfPageDown => moves::move_cursor(app, CursorMove::Pages(1)),
        KeyAction::Top => moves::move_cursor(app, CursorMove::Top),
        KeyAction::Bottom => moves::move_cursor(app, CursorMove::Bottom),
        KeyAction::Left => moves::fold(app, false),
        KeyAction::Right => moves::fold(app, true),
        KeyAction::NextHunk => moves::jump_in_diff(app, false, 1),
        KeyAction::PreviousHunk => moves::jump_in_diff(app, false, -1),
        KeyAction::NextFile => moves::jump_in_diff(app, true, 1),
        KeyAction::PreviousFile => moves::jump_in_diff(app, true, -1),
        KeyAction::NextMatch => searching::find_next(app, 1),
        KeyAction::PreviousMatch => searching::find_next(app, -1),
        KeyAction::MarkRange => moves::mark_range(app),
        KeyAction::ToggleViewed => moves::toggle_viewed(app),
        KeyAction::DropComment => commenting::drop_comment(app),
        KeyAction::Open => open::open_selected(app),
        KeyAction::Back => open::close_panel(app),
        KeyAction::NextPanel => open::show_next_panel(app),
        KeyAction::ShowInbox => open::show_root(app, Panel::Inbox(ListCursor::default())),
        KeyAction::ShowRuns => open::show_root(app, Panel::Runs(ListCursor::default())),
        KeyAction::ShowRun => open::show_root(app, Panel::new_run()),
        KeyAction::ShowPlan => open::show_root(app, Panel::Plan(ListCursor::default())),
        KeyAction::ShowWorkflow => open::show_workflow(app),
        KeyAction::ShowCost => open::show_root(app, Panel::Cost(ListCursor::default())),
        KeyAction::ShowMetrics => open::show_metrics(app),
        KeyAction::ShowTimeline => {
            let cursor = ListCursor::default();
            let has_bars = true;
            open::show_root(app, Panel::Timeline { cursor, has_bars })
        }
        KeyAction::ShowHealth => decide::run_shown(app, vec!["doctor".to_owned()]),
        KeyAction::ShowCommands => open::show_last_command(app),
        KeyAction::ShowDiff => open::show_diff(app),
        KeyAction::ShowLog => open::show_log(app),
        KeyAction::ShowFindings => open::show_findings(app),
        KeyAction::ShowReport => open::show_report(app),
        KeyAction::Help => {
            app.overlay = Some(Overlay::Help(0));
            Vec::new()
        }
        KeyAction::EditFilter => typing::edit_filter(app),
        KeyAction::EditLineFilter => typing::edit_line_filter(app),
        KeyAction::EditCommand => typing::edit_command(app, ""),
        KeyAction::Approve => decide::approve(app),
        KeyAction::Reject => decide::reject(app),
        KeyAction::Answer => decide::answer(app),
        KeyAction::WriteNote => decide::write_note(app),
        KeyAction::ToggleSigning => decide::toggle_signing(app),
        KeyAction::DecideLater => decide::decide_later(app),
        KeyAction::WriteComment => commenting::write_comment(app),
        KeyAction::Retry => decide::retry(app),
        KeyAction::SkipTask => decide::skip_task(app),
        KeyAction::Abort => decide::abort(app),
        KeyAction::GoOn => decide::go_on(app),
        KeyAction::Reload => open::reload_diff(app),
        KeyAction::ToggleFollow => open::toggle_follow(app),
        KeyAction::ToggleSideBySide => moves::toggle_side_by_side(app),
        KeyAction::ToggleWrap => open::toggle_wrap(app),
        KeyAction::ShowProblems => open::filter_log(app, LogLineKind::Problem),
        KeyAction::ShowTools => open::filter_log(app, LogLineKind::Tool),
        KeyAction::ToggleMouse => {
            app.has_mouse = !app.has_mouse;
            app.note(if app.has_mouse {
                "the wheel scrolls; `m` gives the mouse back to the terminal"
            } else {
                "the mouse belongs to the terminal again"
            });
            vec![ScreenAction::CaptureMouse(app.has_mouse)]
        }
        KeyAction::Copy => copy::copy_selected(app),
        KeyAction::Suspend => vec![ScreenAction::Suspend],
        KeyAction::Quit => decide::leave(app),
    }
}

fn use_mouse(app: &mut App, used: MouseEvent) -> Vec<ScreenAction> {
    if app.overlay.is_some() {
        return Vec::new();
    }
    match used.kind {
        MouseEventKind::ScrollUp => moves::move_cursor(app, CursorMove::By(-3)),
        MouseEventKind::ScrollDown => moves::move_cursor(app, CursorMove::By(3)),
        _ => Vec::new(),
    }
}

/// Takes runs that have changed. The first time, a run is chosen for the panels about one run.
fn take_runs(app: &mut App, runs: Vec<WatchedRun>) -> Vec<ScreenAction> {
    app.has_runs = true;
    for run in runs {
        app.runs.insert(run.item.run.clone(), run);
    }
    if app.selected.is_none() {
        let open = app.runs.values().filter(|run| run.loaded.is_some());
        let newest = open.max_by_key(|run| run.item.created_at);
        let newest = newest.or_else(|| app.runs.values().max_by_key(|run| run.item.created_at));
        app.selected = newest.map(|run| RunId(run.item.run.clone()));
    }
    let mut actions = open::refresh_history(app);
    actions.extend(open::refresh_approval(app));
    actions
}

fn take_history(app: &mut App, update: HistoryUpdate) -> Vec<ScreenAction> {
    if app.selected.as_ref() != Some(&update.run.id) {
        return Vec::new();
    }
    match &mut app.history {
        Some(history) if !update.is_whole && *history.id() == update.run.id => {
            history.extend(update);
        }
        history => *history = Some(RunHistory::new(update)),
    }
    let mut actions = open::refresh_log_target(app);
    actions.extend(open::refresh_approval(app));
    actions
}

fn take_patch(app: &mut App, loaded: &LoadedPatch) -> Vec<ScreenAction> {
    for panel in &mut app.panels {
        if let Panel::Diff(diff) = panel
            && diff.run == loaded.run
            && diff.place == loaded.place
        {
            diff.loaded = Some(loaded.clone());
            diff.range_start = None;
        }
    }
    Vec::new()
}

fn take_log(app: &mut App, loaded: LoadedLog) -> Vec<ScreenAction> {
    let columns = open::log_columns(app);
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    if log.target.fence != loaded.fence {
        return Vec::new();
    }
    let before = crate::state::log_rows(log, columns);
    let shown = before.get(log.cursor.selected).map(|row| row.0);
    log.is_loading = false;
    log.total = loaded.total;
    log.lines = loaded.lines;
    let rows = crate::state::log_rows(log, columns);
    // Lines that were asked for earlier may come first: what was found stays wanted until others are
    // asked for.
    let is_loaded = |wanted: &usize| log.lines.iter().any(|line| line.number == *wanted);
    if let Some(wanted) = log.found_line.filter(is_loaded) {
        log.cursor.selected = searching::row_of_line(&rows, wanted, &log.cursor.search);
        return Vec::new();
    }
    log.cursor.selected = match (loaded.query.anchor, shown) {
        (LogAnchor::End, _) => rows.len().saturating_sub(1),
        (LogAnchor::From(0), _) | (_, None) => 0,
        // The line that was selected stays selected, if it is still loaded.
        (_, Some(number)) => rows
            .iter()
            .position(|row| row.0 >= number)
            .unwrap_or_else(|| rows.len().saturating_sub(1)),
    };
    Vec::new()
}

fn print_command(app: &mut App, id: u64, line: String) {
    let found = app.commands.iter_mut().find(|command| command.id == id);
    if let Some(command) = found {
        command.output.push_back(line);
        if command.output.len() > COMMAND_LINES {
            command.output.pop_front();
        }
    }
    moves::follow_command(app, id);
}

/// Returns the request for what has happened in the run that is shown.
fn history_request(run: &RunId) -> ScreenAction {
    ScreenAction::Load(LoadRequest::History(run.clone()))
}
