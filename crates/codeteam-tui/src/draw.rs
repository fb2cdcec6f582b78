//! Draws the state. Nothing is decided here, and nothing is read but the state.
//!
//! Colours are the terminal's own sixteen, and no background is ever set, so that dark and light
//! terminals both work; what is selected is shown in reverse. No information is carried by colour
//! alone, and with `NO_COLOR` there is none.

#[cfg(test)]
mod approval_tests;
mod diff_panel;
#[cfg(test)]
mod diff_tests;
mod frame_parts;
mod lists;
mod overlays;
#[cfg(test)]
mod tests;
mod theme;

use codeteam_core::untrusted_text::is_active_character;
use codeteam_report::report::{ScreenLine, TextTone};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

pub(crate) use self::theme::Theme;

use crate::content::{
    answer_rows, approval_facts, command_lines, cost_lines, detail_lines, line, metrics_lines,
    report_lines, workflow_lines,
};
use crate::state::{App, ApprovalPanel, BodyLayout, ListCursor, Panel, SMALLEST, body_layout};
use crate::text::{REPLACEMENT, clean, count};

/// Draws the whole screen.
pub(crate) fn draw(app: &App, theme: Theme, frame: &mut Frame<'_>) {
    let (columns, rows) = app.size;
    if (frame.area().width, frame.area().height) != app.size {
        // The terminal has just got another size; the message that says so is on its way.
        return;
    }
    if columns < SMALLEST.0 || rows < SMALLEST.1 {
        let text = format!("too small: {} x {} at least", SMALLEST.0, SMALLEST.1);
        let area = frame.area();
        frame.buffer_mut().set_stringn(
            0,
            0,
            text,
            usize::from(area.width),
            theme.style(TextTone::Plain),
        );
        return;
    }
    frame_parts::draw_header(app, theme, frame);
    let layout = body_layout(app);
    draw_panel(app, theme, frame, layout);
    if let Some(detail) = layout.detail {
        draw_detail(app, theme, frame, layout.list, detail);
    }
    frame_parts::draw_footer(app, theme, frame);
    overlays::draw_overlay(app, theme, frame);
    replace_active_characters(frame);
}

/// Replaces whatever could act on the terminal in any cell. Texts are clean before they come here;
/// this holds for those that were forgotten, too.
fn replace_active_characters(frame: &mut Frame<'_>) {
    for cell in &mut frame.buffer_mut().content {
        if cell.symbol().contains(is_active_character) || cell.symbol().contains(['\n', '\t']) {
            cell.set_char(REPLACEMENT);
        }
    }
}

fn draw_panel(app: &App, theme: Theme, frame: &mut Frame<'_>, layout: BodyLayout) {
    let area = layout.list;
    let columns = usize::from(area.width);
    match app.panel() {
        Some(Panel::Inbox(cursor)) => lists::draw_inbox(app, theme, frame, area, cursor),
        Some(Panel::Runs(cursor)) => lists::draw_runs(app, theme, frame, area, cursor),
        Some(Panel::Run { cursor, folds }) => {
            lists::draw_tree(app, theme, frame, area, cursor, folds);
        }
        Some(Panel::Plan(cursor)) => lists::draw_plan(app, theme, frame, area, cursor),
        Some(Panel::Timeline { cursor, has_bars }) => {
            lists::draw_timeline(app, theme, frame, area, cursor, *has_bars);
        }
        Some(Panel::Findings { cursor, place }) => {
            lists::draw_findings(app, theme, frame, area, cursor, place.as_deref());
        }
        Some(Panel::Diff(diff)) => diff_panel::draw_diff(app, theme, frame, area, diff),
        Some(Panel::Log(log)) => lists::draw_log(theme, frame, area, log),
        Some(Panel::Approval(panel)) => draw_approval(app, theme, frame, area, panel),
        Some(Panel::Cost(cursor)) => {
            let lines = cost_lines(app, columns, &cursor.filter);
            draw_text(theme, frame, area, cursor, &lines);
        }
        Some(Panel::Metrics(cursor)) => {
            let lines = metrics_lines(app, columns, &cursor.filter);
            draw_text(theme, frame, area, cursor, &lines);
        }
        Some(Panel::Workflow(cursor)) => {
            let lines = workflow_lines(app, columns, &cursor.filter);
            draw_text(theme, frame, area, cursor, &lines);
        }
        Some(Panel::Report { place, cursor }) => {
            let lines = report_lines(app, place, columns, &cursor.filter);
            draw_text(theme, frame, area, cursor, &lines);
        }
        Some(Panel::Command { id, cursor, .. }) => {
            let lines = command_lines(app, *id, columns, &cursor.filter);
            draw_text(theme, frame, area, cursor, &lines);
        }
        None => {}
    }
    if let Some(cursor) = app.panel().and_then(Panel::cursor) {
        mark_matches(frame, area, &clean(&cursor.search));
    }
}

/// Marks what was searched for, wherever it stands in the panel.
fn mark_matches(frame: &mut Frame<'_>, area: Rect, searched: &str) {
    let searched: Vec<String> = searched
        .chars()
        .map(|c| c.to_lowercase().collect())
        .collect();
    if searched.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    for y in area.y..area.bottom() {
        // Cells behind a wide character are empty, and belong to it.
        let cells = (area.x..area.right()).map(|x| (x, buffer[(x, y)].symbol().to_lowercase()));
        let cells: Vec<(u16, String)> = cells.collect();
        for start in 0..cells.len().saturating_sub(searched.len() - 1) {
            let here = &cells[start..start + searched.len()];
            if here.iter().map(|(_, cell)| cell).eq(&searched) {
                for (x, _) in here {
                    buffer[(*x, y)].set_style(Theme::found());
                }
            }
        }
    }
}

/// Draws lines from the cursor on.
fn draw_text(
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    cursor: &ListCursor,
    lines: &[ScreenLine],
) {
    let shown = lines.iter().skip(cursor.top);
    for (y, text) in (area.y..area.bottom()).zip(shown) {
        put_line(
            theme,
            frame,
            Rect {
                y,
                height: 1,
                ..area
            },
            text,
        );
    }
}

/// Draws the facts above, and the answers below them.
fn draw_approval(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    panel: &ApprovalPanel,
) {
    let columns = usize::from(area.width);
    let answers = answer_rows(app, panel);
    let rows = u16::try_from(answers.len()).unwrap_or(u16::MAX);
    // A line between them, and the line with the letters of the panel.
    let below = (rows + 2).min(area.height / 2 + 1);
    let facts_area = Rect {
        height: area.height - below,
        ..area
    };
    let facts = approval_facts(app, panel, columns);
    let most = facts.len().saturating_sub(usize::from(facts_area.height));
    let top = panel.top.min(most);
    for (y, text) in (facts_area.y..facts_area.bottom()).zip(facts.iter().skip(top)) {
        put_line(
            theme,
            frame,
            Rect {
                y,
                height: 1,
                ..area
            },
            text,
        );
    }
    let mut y = facts_area.bottom();
    let more = most - top;
    let rule = if more > 0 {
        format!("-- {}: PgDn --", count(more, "more line"))
    } else {
        String::new()
    };
    let filled = format!("{rule}{}", "-".repeat(columns.saturating_sub(rule.len())));
    put_line(
        theme,
        frame,
        Rect {
            y,
            height: 1,
            ..area
        },
        &line(TextTone::Faint, filled),
    );
    y += 1;
    let room = usize::from(area.bottom().saturating_sub(y + 1));
    let first = (panel.selected + 1).saturating_sub(room);
    for (at, text) in answers.iter().enumerate().skip(first).take(room) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        put_row(theme, frame, row, text, at == panel.selected);
        y += 1;
    }
    let key = (panel.run.0.clone(), panel.question.frame.name().to_owned());
    let comments = app.comments.get(&key).map_or(0, Vec::len);
    let comments = if comments > 0 {
        format!(" ({comments})")
    } else {
        String::new()
    };
    let is_signed = app.signed.contains(&panel.question.to_string());
    let signed = if is_signed { "  signed" } else { "" };
    let letters =
        format!("[A]pprove  [R]eject  [D]iff  [C]omments{comments}  [S]kip  [N]ote{signed}");
    let last = Rect {
        y: area.bottom() - 1,
        height: 1,
        ..area
    };
    put_line(theme, frame, last, &line(TextTone::Strong, letters));
}

/// Draws what there is to know about the selected row.
fn draw_detail(app: &App, theme: Theme, frame: &mut Frame<'_>, list: Rect, area: Rect) {
    let is_beside = area.x > list.x;
    let faint = theme.style(TextTone::Faint);
    let inner = if is_beside {
        for y in area.y..area.bottom() {
            frame.buffer_mut().set_stringn(area.x - 1, y, "|", 1, faint);
        }
        Rect {
            x: area.x + 1,
            width: area.width - 1,
            ..area
        }
    } else {
        let rule = "-".repeat(usize::from(area.width));
        frame
            .buffer_mut()
            .set_stringn(area.x, area.y, rule, usize::from(area.width), faint);
        Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        }
    };
    let lines = detail_lines(app, usize::from(inner.width));
    let room = usize::from(inner.height);
    for (at, (y, text)) in (inner.y..inner.bottom()).zip(&lines).enumerate() {
        let is_cut = at + 1 == room && lines.len() > room;
        let row = Rect {
            y,
            height: 1,
            ..inner
        };
        if is_cut {
            let more = format!("… {} more lines", lines.len() - room + 1);
            put_line(theme, frame, row, &line(TextTone::Faint, more));
        } else {
            put_line(theme, frame, row, text);
        }
    }
}

/// Draws a line, cut off where there is no more room.
fn put_line(theme: Theme, frame: &mut Frame<'_>, area: Rect, text: &ScreenLine) {
    let line: Line<'_> = theme.line(text);
    frame
        .buffer_mut()
        .set_line(area.x, area.y, &line, area.width);
}

/// Draws a row of a list. The selected one is in reverse, and has a sign for terminals without.
fn put_row(theme: Theme, frame: &mut Frame<'_>, area: Rect, text: &ScreenLine, is_selected: bool) {
    let sign = if is_selected { ">" } else { " " };
    let style = theme.style(TextTone::Strong);
    frame
        .buffer_mut()
        .set_stringn(area.x, area.y, sign, 1, style);
    let inner = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(1),
        ..area
    };
    put_line(theme, frame, inner, text);
    if is_selected {
        frame.buffer_mut().set_style(area, Theme::selected());
    }
}
