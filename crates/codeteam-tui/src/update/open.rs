//! Opens and closes panels, and asks for what they show.

use std::sync::Arc;

use codeteam_core::ids::{AttemptId, RunId};
use codeteam_engine::attempt_log::{LogAnchor, LogLineKind, LogQuery};
use codeteam_report::view::AttemptView;

use super::{decide, history_request, moves};
use crate::content::workflow_top;
use crate::message::{LoadRequest, ScreenAction};
use crate::model::{InboxItem, LogTarget};
use crate::state::{
    App, ApprovalPanel, DiffPanel, DiffRow, ListCursor, LogPanel, Panel, TreeNode, body_layout,
    finding_rows, log_rows, plan_tasks, run_ids, timeline_attempts,
};
use crate::text::clean;
use codeteam_report::view::{question_of, task_frame};

/// How many lines of an output are loaded at once.
pub(super) const LOG_WINDOW: usize = 500;
/// How many lines before the edge of what is loaded are loaded again.
pub(super) const LOG_OVERLAP: usize = 200;

/// Shows one of the main panels, in place of all others.
pub(super) fn show_root(app: &mut App, panel: Panel) -> Vec<ScreenAction> {
    let closes_log = app.panels.iter().any(|p| matches!(p, Panel::Log(_)));
    let needs_run = matches!(
        panel,
        Panel::Run { .. }
            | Panel::Plan(_)
            | Panel::Cost(_)
            | Panel::Timeline { .. }
            | Panel::Workflow(_)
    );
    // Whoever presses the key of the panel that is shown keeps their place in it.
    if app.panels.len() != 1 || app.panel().map(Panel::kind) != Some(panel.kind()) {
        app.panels = vec![panel];
    }
    if needs_run && app.selected.is_none() && app.has_runs {
        app.note("no run was started yet");
    }
    let mut actions = Vec::new();
    if closes_log {
        actions.push(ScreenAction::Load(LoadRequest::CloseLog));
    }
    actions
}

/// Shows the workflow of the run, from the step that is under way if it is far below.
pub(super) fn show_workflow(app: &mut App) -> Vec<ScreenAction> {
    if matches!(app.panels.as_slice(), [Panel::Workflow(_)]) {
        return Vec::new();
    }
    let actions = show_root(app, Panel::Workflow(ListCursor::default()));
    let area = body_layout(app).list;
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    let top = workflow_top(app, columns, rows);
    if let Some(Panel::Workflow(cursor)) = app.panel_mut() {
        (cursor.top, cursor.selected) = (top, top);
    }
    actions
}

/// Shows success, time and cost over all runs, and counts them anew.
pub(super) fn show_metrics(app: &mut App) -> Vec<ScreenAction> {
    let mut actions = show_root(app, Panel::Metrics(ListCursor::default()));
    actions.push(ScreenAction::Load(LoadRequest::Metrics));
    actions
}

/// Shows the main panel after the one that is shown.
pub(super) fn show_next_panel(app: &mut App) -> Vec<ScreenAction> {
    let next = match app.panels.first() {
        Some(Panel::Inbox(_)) => Panel::Runs(ListCursor::default()),
        Some(Panel::Runs(_)) => Panel::new_run(),
        Some(Panel::Run { .. }) => Panel::Plan(ListCursor::default()),
        Some(Panel::Plan(_)) => Panel::Cost(ListCursor::default()),
        Some(Panel::Cost(_)) => Panel::Timeline {
            cursor: ListCursor::default(),
            has_bars: true,
        },
        Some(Panel::Timeline { .. }) => return show_workflow(app),
        Some(Panel::Workflow(_)) => return show_metrics(app),
        _ => Panel::Inbox(ListCursor::default()),
    };
    show_root(app, next)
}

/// Goes back to the panel before; a filter is taken away first.
pub(super) fn close_panel(app: &mut App) -> Vec<ScreenAction> {
    let filtered = app.panel_mut().and_then(Panel::cursor_mut);
    if let Some(cursor) = filtered.filter(|cursor| !cursor.filter.is_empty()) {
        cursor.filter.clear();
        if let Some(Panel::Log(_)) = app.panel() {
            return request_log(app, LogAnchor::End);
        }
        return Vec::new();
    }
    if let Some(Panel::Diff(diff)) = app.panel_mut()
        && diff.range_start.take().is_some()
    {
        return Vec::new();
    }
    let searched = app.panel_mut().and_then(Panel::cursor_mut);
    if let Some(cursor) = searched.filter(|cursor| !cursor.search.is_empty()) {
        cursor.search.clear();
        return Vec::new();
    }
    let closes_log = matches!(app.panel(), Some(Panel::Log(_)));
    if app.panels.len() > 1 {
        app.panels.pop();
    } else if !matches!(app.panel(), Some(Panel::Inbox(_))) {
        app.panels = vec![Panel::Inbox(ListCursor::default())];
    }
    if closes_log {
        return vec![ScreenAction::Load(LoadRequest::CloseLog)];
    }
    Vec::new()
}

/// Makes a run the one that panels show.
pub(super) fn select_run(app: &mut App, id: &str) -> Vec<ScreenAction> {
    if app.selected.as_ref().is_some_and(|run| run.as_str() == id) && app.history.is_some() {
        return Vec::new();
    }
    let run = RunId(id.to_owned());
    app.history = None;
    app.selected = Some(run.clone());
    vec![history_request(&run)]
}

/// Asks for what has happened since in the run that is shown, if the list knows of more.
pub(super) fn refresh_history(app: &App) -> Vec<ScreenAction> {
    let Some(run) = &app.selected else {
        return Vec::new();
    };
    let Some(listed) = app.runs.get(run.as_str()) else {
        return Vec::new();
    };
    let known = app.history.as_ref().map_or(0, |history| history.run.seq());
    if listed.item.events > known {
        return vec![history_request(run)];
    }
    Vec::new()
}

/// Asks again for what was said about a change, if the question that is shown is still open.
pub(super) fn refresh_approval(app: &App) -> Vec<ScreenAction> {
    let Some(Panel::Approval(panel)) = app.panel() else {
        return Vec::new();
    };
    let place = panel.question.frame.name();
    let is_known = app
        .report
        .as_ref()
        .is_some_and(|report| report.run == panel.run && report.place == place);
    let is_open = app.question(panel.run.as_str(), &panel.question).is_some();
    if is_open && !is_known {
        return vec![report_request(&panel.run, place)];
    }
    Vec::new()
}

fn report_request(run: &RunId, place: &str) -> ScreenAction {
    let (run, place) = (run.clone(), place.to_owned());
    ScreenAction::Load(LoadRequest::Report { run, place })
}

/// Opens what is selected.
pub(super) fn open_selected(app: &mut App) -> Vec<ScreenAction> {
    match app.panel() {
        Some(Panel::Inbox(cursor)) => {
            let at = cursor.selected;
            let item = app.inbox().into_iter().nth(at);
            match item {
                Some(InboxItem::Question { run, question }) => open_question(app, &run, question),
                Some(InboxItem::Stopped { run }) => {
                    let actions = select_run(app, &run);
                    app.panels.push(Panel::new_run());
                    actions
                }
                None => Vec::new(),
            }
        }
        Some(Panel::Runs(cursor)) => {
            let ids = run_ids(app, &cursor.filter);
            let Some(id) = ids.get(cursor.selected).map(|id| (*id).to_owned()) else {
                return Vec::new();
            };
            let actions = select_run(app, &id);
            app.panels.push(Panel::new_run());
            actions
        }
        Some(Panel::Run { .. }) => open_node(app),
        Some(Panel::Plan(cursor)) => {
            let cursor = cursor.clone();
            let task = app.shown_run().and_then(|run| {
                let tasks = plan_tasks(run, &cursor.filter);
                let task = tasks.get(cursor.selected)?;
                Some(task.id.0.clone())
            });
            let Some(task) = task else { return Vec::new() };
            app.panels.push(Panel::new_run());
            moves::select_task(app, &task);
            Vec::new()
        }
        Some(Panel::Timeline { has_bars: true, .. }) => show_log(app),
        Some(Panel::Approval(_)) => decide::choose_answer(app),
        Some(Panel::Diff(_)) => {
            let is_heading = matches!(moves::selected_diff_row(app), Some((DiffRow::File(_), _)));
            if is_heading {
                let opens = !diff_file_is_open(app);
                return moves::fold(app, opens);
            }
            Vec::new()
        }
        Some(Panel::Findings { .. }) => show_diff(app),
        _ => Vec::new(),
    }
}

/// Returns true if the selected file of the patch is unfolded.
fn diff_file_is_open(app: &App) -> bool {
    let Some((row, rows)) = moves::selected_diff_row(app) else {
        return false;
    };
    let mut lines = rows.iter().filter(|other| other.file() == row.file());
    lines.any(|other| matches!(other, DiffRow::Line { .. }))
}

/// Shows a question with what there is to know about it.
pub(super) fn open_question(app: &mut App, run: &str, question: AttemptId) -> Vec<ScreenAction> {
    let mut actions = select_run(app, run);
    let id = RunId(run.to_owned());
    actions.push(report_request(&id, question.frame.name()));
    app.panels.push(Panel::Approval(ApprovalPanel {
        run: id,
        question,
        selected: 0,
        top: 0,
        replies: std::collections::BTreeMap::new(),
    }));
    actions
}

fn open_node(app: &mut App) -> Vec<ScreenAction> {
    let Some(node) = selected_node(app) else {
        return Vec::new();
    };
    let frame = match &node {
        TreeNode::Run => Some(codeteam_core::ids::FramePath::root()),
        TreeNode::Task(id) => app.shown_task(id).map(task_frame),
        TreeNode::Step { frame, .. } => Some(frame.clone()),
        TreeNode::Phase(_) => None,
        TreeNode::Attempt(_) => return show_log(app),
    };
    let asked = frame.and_then(|frame| {
        let run = app.shown_run()?;
        // The run needs whoever one of its tasks needs.
        let asked = question_of(run, &frame).or_else(|| {
            let is_run = node == TreeNode::Run;
            run.questions.first().filter(|_| is_run)
        })?;
        Some((run.id.0.clone(), asked.question.id.clone()))
    });
    if let Some((run, question)) = asked {
        return open_question(app, &run, question);
    }
    moves::toggle_node(app);
    Vec::new()
}

/// Returns the selected node of the tree.
pub(super) fn selected_node(app: &App) -> Option<TreeNode> {
    let rows = moves::tree_rows(app);
    let cursor = app.panel()?.cursor()?;
    rows.get(cursor.selected).map(|row| row.node.clone())
}

/// Returns the run and the place (a task, or `run`) that the selection is about.
pub(super) fn selected_place(app: &App) -> Option<(RunId, String)> {
    let shown = app.selected.clone();
    let root = || "run".to_owned();
    match app.panel()? {
        Panel::Inbox(cursor) => match app.inbox().into_iter().nth(cursor.selected)? {
            InboxItem::Question { run, question } => {
                Some((RunId(run), question.frame.name().to_owned()))
            }
            InboxItem::Stopped { run } => Some((RunId(run), root())),
        },
        Panel::Runs(cursor) => {
            let ids = run_ids(app, &cursor.filter);
            let id = ids.get(cursor.selected)?;
            Some((RunId((*id).to_owned()), root()))
        }
        Panel::Run { .. } => {
            let place = match selected_node(app)? {
                TreeNode::Run => root(),
                TreeNode::Phase(id) => id.0,
                TreeNode::Task(id) => id,
                TreeNode::Step { frame, .. } => frame.name().to_owned(),
                TreeNode::Attempt(fence) => {
                    let attempt = app.history.as_ref()?.attempts.get(&fence)?;
                    attempt.id.frame.name().to_owned()
                }
            };
            Some((shown?, place))
        }
        Panel::Plan(cursor) => {
            let run = app.shown_run()?;
            let tasks = plan_tasks(run, &cursor.filter);
            Some((shown?, tasks.get(cursor.selected)?.id.0.clone()))
        }
        Panel::Approval(panel) => Some((panel.run.clone(), panel.question.frame.name().to_owned())),
        Panel::Diff(diff) => Some((diff.run.clone(), diff.place.clone())),
        Panel::Findings { cursor, place } => {
            let run = app.shown_run()?;
            let rows = finding_rows(run, place.as_deref(), &cursor.filter);
            let (place, _) = rows.get(cursor.selected)?;
            Some((shown?, (*place).to_owned()))
        }
        Panel::Report { place, .. } => Some((shown?, place.clone())),
        Panel::Log(log) => {
            let attempt = app.history.as_ref()?.attempts.get(&log.target.fence)?;
            Some((log.target.run.clone(), attempt.id.frame.name().to_owned()))
        }
        Panel::Cost(_)
        | Panel::Metrics(_)
        | Panel::Workflow(_)
        | Panel::Timeline { .. }
        | Panel::Command { .. } => Some((shown?, root())),
    }
}

/// Shows the patch of what is selected.
pub(super) fn show_diff(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, place)) = selected_place(app) else {
        return Vec::new();
    };
    let mut actions = select_run(app, run.as_str());
    actions.push(patch_request(&run, &place));
    app.panels.push(Panel::Diff(DiffPanel::new(run, place)));
    actions
}

fn patch_request(run: &RunId, place: &str) -> ScreenAction {
    let (run, place) = (run.clone(), place.to_owned());
    ScreenAction::Load(LoadRequest::Patch { run, place })
}

/// Loads the patch that is shown again: the change may be another one by now.
pub(super) fn reload_diff(app: &mut App) -> Vec<ScreenAction> {
    match app.panel() {
        Some(Panel::Diff(diff)) => vec![patch_request(&diff.run, &diff.place)],
        _ => Vec::new(),
    }
}

/// Shows the findings of what is selected.
pub(super) fn show_findings(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, place)) = selected_place(app) else {
        return Vec::new();
    };
    let actions = select_run(app, run.as_str());
    app.panels.push(Panel::Findings {
        cursor: ListCursor::default(),
        place: (place != "run").then_some(place),
    });
    actions
}

/// Shows what checks and reviewers say about what is selected.
pub(super) fn show_report(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, place)) = selected_place(app) else {
        return Vec::new();
    };
    let mut actions = select_run(app, run.as_str());
    actions.push(report_request(&run, &place));
    app.report = None;
    app.panels.push(Panel::Report {
        place,
        cursor: ListCursor::default(),
    });
    actions
}

/// Returns the attempt that is selected: itself, or the newest of the selected task or step.
fn selected_attempt(app: &App) -> Option<&AttemptView> {
    let history = app.history.as_ref()?;
    if let Some(Panel::Timeline { cursor, .. }) = app.panel() {
        let attempts = timeline_attempts(history, &cursor.filter);
        return attempts.get(cursor.selected).copied();
    }
    match selected_node(app)? {
        TreeNode::Attempt(fence) => history.attempts.get(&fence),
        TreeNode::Step {
            frame,
            step,
            generation,
        } => history
            .attempts_of(&frame)
            .filter(|a| a.id.step.0 == step && a.id.generation == generation)
            .last(),
        TreeNode::Task(id) => {
            let frame = task_frame(app.shown_task(&id)?);
            history.attempts_of(&frame).last()
        }
        TreeNode::Run | TreeNode::Phase(_) => {
            let running = history.attempts.values().rev().find(|a| a.is_running());
            running.or_else(|| history.attempts.values().next_back())
        }
    }
}

/// Shows the output of the selected attempt. A running one is followed.
pub(super) fn show_log(app: &mut App) -> Vec<ScreenAction> {
    let Some(attempt) = selected_attempt(app).cloned() else {
        app.note("nothing was tried here yet");
        return Vec::new();
    };
    let Some(run) = app.selected.clone() else {
        return Vec::new();
    };
    let worker = attempt.worker.as_ref();
    let worker = worker.map_or(String::new(), |worker| format!(" ({worker})"));
    let title = format!("{} {}{worker}", attempt.id.frame.name(), attempt.who);
    let fixed = (!attempt.by_worker).then(|| Arc::new(check_text(&attempt)));
    let loads = fixed.is_none();
    app.panels.push(Panel::Log(LogPanel {
        target: LogTarget {
            run,
            fence: attempt.id.fence,
            transcript: attempt.transcript.clone(),
        },
        title: clean(&title),
        lines: Vec::new(),
        total: 0,
        cursor: ListCursor::default(),
        is_followed: attempt.is_running(),
        only: None,
        wraps: true,
        is_loading: false,
        found_line: None,
        fixed,
    }));
    if loads {
        request_log(app, LogAnchor::End)
    } else {
        Vec::new()
    }
}

/// Returns what the checks of a gate have found, line by line.
fn check_text(attempt: &AttemptView) -> Vec<String> {
    let mut lines = Vec::new();
    for check in &attempt.checks {
        let word = if check.passed { "PASS" } else { "FAIL" };
        lines.push(format!("{word} {}", check.name));
        lines.extend(check.summary.lines().map(|line| format!("     {line}")));
        for test in &check.still_failing {
            lines.push(format!("     failed before the run, too: {test}"));
        }
    }
    if lines.is_empty() {
        lines.push(if attempt.is_running() {
            "it is under way; its results come at its end".to_owned()
        } else {
            "codeteam does this by itself; there is no output".to_owned()
        });
    }
    lines
}

/// Asks for a window of the output that is shown.
pub(super) fn request_log(app: &mut App, anchor: LogAnchor) -> Vec<ScreenAction> {
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    if log.fixed.is_some() {
        return Vec::new();
    }
    log.is_loading = true;
    log.found_line = None;
    let query = LogQuery {
        anchor,
        count: LOG_WINDOW,
        only: log.only,
        containing: log.cursor.filter.clone(),
    };
    vec![ScreenAction::Load(LoadRequest::Log {
        target: log.target.clone(),
        query,
        is_followed: log.target.transcript.is_none(),
    })]
}

/// Notices that an output has grown. Its end is loaded if it is followed.
pub(super) fn grow_log(app: &mut App, fence: u64, lines: usize) -> Vec<ScreenAction> {
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    if log.target.fence != fence {
        return Vec::new();
    }
    log.total = lines;
    if log.is_followed && !log.is_loading {
        return request_log(app, LogAnchor::End);
    }
    Vec::new()
}

/// Reads the output of an attempt from where it is kept, once it has ended.
pub(super) fn refresh_log_target(app: &mut App) -> Vec<ScreenAction> {
    let Some(Panel::Log(log)) = app.panels.last_mut() else {
        return Vec::new();
    };
    let history = app.history.as_ref();
    let attempt = history.and_then(|history| history.attempts.get(&log.target.fence));
    let Some(attempt) = attempt else {
        return Vec::new();
    };
    if log.fixed.is_some() {
        log.fixed = Some(Arc::new(check_text(attempt)));
        return Vec::new();
    }
    if attempt.transcript.is_some() && log.target.transcript.is_none() {
        log.target.transcript.clone_from(&attempt.transcript);
        log.is_followed = false;
        return request_log(app, LogAnchor::End);
    }
    Vec::new()
}

/// Returns how many columns the lines of an output have.
pub(super) fn log_columns(app: &App) -> usize {
    usize::from(body_layout(app).list.width).saturating_sub(7)
}

/// Follows the output, or stops to.
pub(super) fn toggle_follow(app: &mut App) -> Vec<ScreenAction> {
    let Some(Panel::Log(log)) = app.panel_mut() else {
        return Vec::new();
    };
    log.is_followed = !log.is_followed;
    if log.is_followed {
        return request_log(app, LogAnchor::End);
    }
    Vec::new()
}

/// Wraps long lines, or cuts them.
pub(super) fn toggle_wrap(app: &mut App) -> Vec<ScreenAction> {
    let columns = log_columns(app);
    match app.panel_mut() {
        Some(Panel::Log(log)) => {
            let shown = log_rows(log, columns).get(log.cursor.selected).map(|r| r.0);
            log.wraps = !log.wraps;
            let rows = log_rows(log, columns);
            let at = rows.iter().position(|row| Some(row.0) == shown);
            log.cursor.selected = at.unwrap_or(0);
        }
        Some(Panel::Diff(diff)) => diff.wraps = !diff.wraps,
        _ => {}
    }
    Vec::new()
}

/// Shows only lines of a kind, or all again. In the timeline, changes between bars and events.
pub(super) fn filter_log(app: &mut App, kind: LogLineKind) -> Vec<ScreenAction> {
    match app.panel_mut() {
        Some(Panel::Log(log)) => {
            log.only = if log.only == Some(kind) {
                None
            } else {
                Some(kind)
            };
            request_log(app, LogAnchor::End)
        }
        Some(Panel::Timeline { cursor, has_bars }) => {
            *has_bars = !*has_bars;
            cursor.selected = usize::MAX;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Shows what the last command has printed.
pub(super) fn show_last_command(app: &mut App) -> Vec<ScreenAction> {
    match app.commands.back() {
        Some(command) => {
            let id = command.id;
            show_command(app, id);
        }
        None => app.note("nothing was run yet; `:` runs a command"),
    }
    Vec::new()
}

/// Shows what a command prints.
pub(super) fn show_command(app: &mut App, id: u64) {
    app.panels.push(Panel::Command {
        id,
        cursor: ListCursor::default(),
        is_followed: true,
    });
}
