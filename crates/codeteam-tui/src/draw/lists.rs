//! Panels with rows of which one is selected. Only rows that are on the screen are made.

use std::collections::BTreeMap;

use codeteam_core::findings::FindingState;
use codeteam_core::ids::TaskId;
use codeteam_core::risk::RiskLevel;
use codeteam_engine::attempt_log::LogLineKind;
use codeteam_report::describe::{first_line, format_time_of_day};
use codeteam_report::report::{ScreenLine, TextTone};
use codeteam_report::view::{AttemptState, TaskCounts};
use ratatui::Frame;
use ratatui::layout::Rect;

use super::{Theme, put_line, put_row};
use crate::content::{line, span, standing_tone, timeline_bars};
use crate::model::InboxItem;
use crate::state::{
    App, ListCursor, LogPanel, TreeNode, finding_rows, list_tree_rows, log_rows, plan_tasks,
    run_ids, timeline_attempts, timeline_lines,
};
use crate::text::{age, clean, count, duration, fit, pad, width};
use codeteam_report::view::{Standing, task_standing};

/// Draws the rows that are on the screen.
fn draw_rows<T>(
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
    rows: &[T],
    draw_row: impl Fn(&T) -> ScreenLine,
) {
    let shown = rows.iter().enumerate().skip(cursor.top);
    for (y, (at, row)) in (area.y..area.bottom()).zip(shown) {
        let row_area = Rect {
            y,
            height: 1,
            ..area
        };
        put_row(
            theme,
            frame,
            row_area,
            &draw_row(row),
            at == cursor.selected,
        );
    }
}

/// Draws a line in place of rows, where there are none.
pub(super) fn draw_nothing(theme: Theme, frame: &mut Frame<'_>, area: Rect, text: &str) {
    let row = Rect { height: 1, ..area };
    put_line(
        theme,
        frame,
        row,
        &line(TextTone::Faint, format!(" {text}")),
    );
}

fn standing_span(standing: Standing) -> codeteam_report::report::ScreenSpan {
    span(standing_tone(standing), pad(standing.word(), 10))
}

/// Draws what needs a person.
pub(super) fn draw_inbox(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
) {
    let items = app.inbox();
    if items.is_empty() {
        let text = if !app.has_runs {
            "reading the runs …"
        } else if app.runs.is_empty() {
            "no runs yet; `codeteam run \"what you want\"` starts one"
        } else {
            "nothing needs you; `2` lists all runs"
        };
        draw_nothing(theme, frame, area, text);
        return;
    }
    let columns = usize::from(area.width);
    draw_rows(theme, frame, area, cursor, &items, |item| {
        let Some(run) = app.runs.get(item.run()) else {
            return Vec::new();
        };
        match item {
            InboxItem::Question { run: id, question } => {
                let asked = app.question(id, question);
                let asked_at = asked.and_then(|asked| asked.question.asked_at);
                let since = asked_at.and_then(|at| i64::try_from(at.0).ok());
                let since = age(since.unwrap_or(run.item.created_at), app.now);
                let text = asked.map_or("", |asked| first_line(&asked.question.text));
                let against = asked.map_or(0, |asked| asked.objection_count);
                let approval = asked.and_then(|asked| asked.approval.as_ref());
                let mark = if let Some(approval) = approval {
                    let tone = if approval.risk >= RiskLevel::High {
                        TextTone::Bad
                    } else {
                        TextTone::Warn
                    };
                    span(tone, format!("{:<10}", approval.risk.as_str()))
                } else if against > 0 {
                    span(
                        TextTone::Bad,
                        format!("{:<10}", count(against, "objection")),
                    )
                } else if app.later.contains(&question.to_string()) {
                    span(TextTone::Faint, format!("{:<10}", "later"))
                } else {
                    span(TextTone::Warn, format!("{:<10}", "decide"))
                };
                let place = pad(&clean(question.frame.name()), 14);
                let room = columns.saturating_sub(32);
                vec![
                    mark,
                    span(TextTone::Strong, format!("{place} ")),
                    span(TextTone::Plain, pad(&clean(text), room)),
                    span(TextTone::Faint, format!(" {since:>4}")),
                ]
            }
            InboxItem::Stopped { run: id } => {
                let (_, why) = run.standing();
                let since = age(run.item.updated_at, app.now);
                let text = format!("{id}: {}", clean(&why));
                vec![
                    span(TextTone::Warn, format!("{:<10}", "stopped")),
                    span(TextTone::Plain, pad(&text, columns.saturating_sub(17))),
                    span(TextTone::Faint, format!(" {since:>4}")),
                ]
            }
        }
    });
}

/// Draws all runs.
pub(super) fn draw_runs(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
) {
    let ids = run_ids(app, &cursor.filter);
    if ids.is_empty() {
        draw_nothing(theme, frame, area, "no runs");
        return;
    }
    let columns = usize::from(area.width);
    draw_rows(theme, frame, area, cursor, &ids, |id| {
        let Some(run) = app.runs.get(*id) else {
            return Vec::new();
        };
        let (standing, why) = run.standing();
        let done = run.item.task_counts.map_or(String::new(), |counts| {
            format!("{}/{}", counts.completed, total(counts))
        });
        let room = columns.saturating_sub(26);
        let goal_room = (room / 2).max(10).min(room);
        vec![
            standing_span(standing),
            span(
                TextTone::Faint,
                format!("{:>4} ", age(run.item.created_at, app.now)),
            ),
            span(TextTone::Plain, format!("{done:>7} ")),
            span(TextTone::Strong, pad(&clean(&run.item.goal), goal_room)),
            span(TextTone::Faint, format!("  {}", clean(&why))),
        ]
    });
}

fn total(counts: TaskCounts) -> usize {
    let TaskCounts {
        pending,
        running,
        completed,
        failed,
        blocked,
        skipped,
    } = counts;
    pending + running + completed + failed + blocked + skipped
}

/// Draws a run as a tree.
pub(super) fn draw_tree(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
    folds: &BTreeMap<TreeNode, bool>,
) {
    let Some(history) = &app.history else {
        let text = match &app.selected {
            Some(_) => "reading the run …",
            None => "no run is shown; `2` lists all runs",
        };
        draw_nothing(theme, frame, area, text);
        return;
    };
    let columns = usize::from(area.width).saturating_sub(1);
    let rows = list_tree_rows(history, app.run_standing(), folds, cursor);
    draw_rows(theme, frame, area, cursor, &rows, |row| {
        let sign = match row.is_open {
            Some(true) => "- ",
            Some(false) => "+ ",
            None => "  ",
        };
        let numbers = match &row.node {
            TreeNode::Attempt(fence) => history
                .attempts
                .get(fence)
                .map(|attempt| duration(attempt.duration(app.now))),
            _ => None,
        };
        let numbers = numbers.unwrap_or_default();
        let head = format!("{}{sign}{}", "  ".repeat(row.depth), row.label);
        let room = columns.saturating_sub(11 + width(&numbers) + 1);
        let head_room = width(&head).min((room * 2 / 3).max(12));
        let remark_room = room.saturating_sub(head_room + 2);
        let head_tone = match row.node {
            TreeNode::Run | TreeNode::Phase(_) => TextTone::Strong,
            _ => TextTone::Plain,
        };
        vec![
            standing_span(row.standing),
            span(head_tone, fit(&head, head_room)),
            span(
                TextTone::Faint,
                format!("  {}", pad(&row.remark, remark_room)),
            ),
            span(TextTone::Faint, numbers),
        ]
    });
}

/// Draws the tasks of a plan with what they depend on.
pub(super) fn draw_plan(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
) {
    let Some(run) = app
        .shown_run()
        .or_else(|| app.history.as_ref().map(|h| h.run.view()))
    else {
        draw_nothing(theme, frame, area, "no run is shown; `2` lists all runs");
        return;
    };
    let tasks = plan_tasks(run, &cursor.filter);
    if tasks.is_empty() {
        let text = if run.tasks.is_empty() {
            "the run has no plan yet"
        } else {
            "no task has these words"
        };
        draw_nothing(theme, frame, area, text);
        return;
    }
    let columns = usize::from(area.width).saturating_sub(1);
    draw_rows(theme, frame, area, cursor, &tasks, |task| {
        let (standing, _) = task_standing(run, task);
        let after: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
        let after = match after.as_slice() {
            [] => String::new(),
            after => format!("after {}", after.join(", ")),
        };
        let room = columns.saturating_sub(10);
        let after_room = width(&after).min(room / 3);
        let phase = task
            .phase
            .as_ref()
            .map_or(String::new(), |p| format!("{p}/"));
        let title = format!("{phase}{} {}", task.id, task.title);
        vec![
            standing_span(standing),
            span(
                TextTone::Plain,
                pad(&clean(&title), room.saturating_sub(after_room + 1)),
            ),
            span(
                TextTone::Faint,
                format!(" {}", fit(&clean(&after), after_room)),
            ),
        ]
    });
}

/// Draws what happened: attempts as bars, or events as lines.
pub(super) fn draw_timeline(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
    has_bars: bool,
) {
    let Some(history) = &app.history else {
        draw_nothing(theme, frame, area, "no run is shown; `2` lists all runs");
        return;
    };
    let columns = usize::from(area.width).saturating_sub(1);
    if !has_bars {
        let lines = timeline_lines(history, &cursor.filter);
        draw_rows(theme, frame, area, cursor, &lines, |event| {
            vec![
                span(
                    TextTone::Faint,
                    format!("{} ", format_time_of_day(event.at)),
                ),
                span(TextTone::Strong, pad(&clean(&event.place), 13)),
                span(
                    TextTone::Plain,
                    fit(&clean(&event.words), columns.saturating_sub(22)),
                ),
            ]
        });
        return;
    }
    let attempts = timeline_attempts(history, &cursor.filter);
    if attempts.is_empty() {
        draw_nothing(theme, frame, area, "nothing was tried yet");
        return;
    }
    let all = history.attempts.values();
    let start = all.clone().map(|a| a.started_at).min().unwrap_or_default();
    let last = all
        .clone()
        .filter_map(|a| a.ended_at)
        .max()
        .unwrap_or(start);
    let runs = all.clone().any(|a| a.state == AttemptState::Running);
    let end = if runs { app.now } else { last };
    let height = usize::from(area.height);
    let shown: Vec<_> = attempts
        .iter()
        .skip(cursor.top)
        .take(height)
        .copied()
        .collect();
    let bars = timeline_bars(&shown, start, end, columns);
    for (at, (y, bar)) in (area.y..area.bottom()).zip(&bars).enumerate() {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        put_row(theme, frame, row, bar, cursor.top + at == cursor.selected);
    }
}

/// Draws findings.
pub(super) fn draw_findings(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
    place: Option<&str>,
) {
    let Some(run) = app
        .shown_run()
        .or_else(|| app.history.as_ref().map(|h| h.run.view()))
    else {
        draw_nothing(theme, frame, area, "reading the run …");
        return;
    };
    let rows = finding_rows(run, place, &cursor.filter);
    if rows.is_empty() {
        draw_nothing(theme, frame, area, "nothing was found");
        return;
    }
    let columns = usize::from(area.width).saturating_sub(1);
    draw_rows(theme, frame, area, cursor, &rows, |(place, finding)| {
        let report = &finding.report;
        let is_open = finding.state == FindingState::Open;
        let severity = format!("{:?}", report.severity).to_lowercase();
        let state = format!("{:?}", finding.state).to_lowercase();
        let tone = if is_open {
            TextTone::Warn
        } else {
            TextTone::Faint
        };
        let at = match (&report.file, report.line) {
            (Some(file), Some(line)) => format!("{file}:{line} "),
            (Some(file), None) => format!("{file} "),
            (None, _) => String::new(),
        };
        let text = format!("{at}{}", report.title);
        vec![
            span(tone, format!("{state:<10}{severity:<9}")),
            span(TextTone::Faint, pad(&format!("{place} {}", finding.id), 14)),
            span(
                TextTone::Plain,
                fit(&clean(&text), columns.saturating_sub(33)),
            ),
        ]
    });
}

/// Draws the window of an output that is loaded.
pub(super) fn draw_log(theme: Theme, frame: &mut Frame<'_>, area: Rect, log: &LogPanel) {
    let columns = usize::from(area.width).saturating_sub(7);
    let rows = log_rows(log, columns);
    if rows.is_empty() {
        let text = match (log.is_loading, log.only) {
            (true, _) => "reading the output …",
            (false, Some(LogLineKind::Problem)) => "no problems; `e` shows all lines",
            (false, Some(_)) => "no tools were used; `t` shows all lines",
            (false, None) => "nothing was written yet",
        };
        return draw_nothing(theme, frame, area, text);
    }
    let kind_of = |number: usize| {
        let found = log.lines.iter().find(|line| line.number == number);
        found.map_or(LogLineKind::Text, |line| line.kind)
    };
    draw_rows(
        theme,
        frame,
        area,
        &log.cursor,
        &rows,
        |(number, is_first, text)| {
            let shown = if *is_first {
                number.to_string()
            } else {
                String::new()
            };
            let tone = match kind_of(*number) {
                LogLineKind::Text => TextTone::Plain,
                LogLineKind::Tool => TextTone::Strong,
                LogLineKind::Problem => TextTone::Bad,
            };
            vec![
                span(TextTone::Faint, format!("{shown:>5} ")),
                span(tone, fit(text, columns)),
            ]
        },
    );
}
