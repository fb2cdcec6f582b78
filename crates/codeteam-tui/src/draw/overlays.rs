//! What lies above a panel.

use codeteam_report::report::TextTone;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget as _};

use super::{Theme, put_line};
use crate::content::{line, span};
use crate::keys::{COMMON_KEYS, KeyBinding, panel_keys};
use crate::state::{App, ConfirmBox, InputBox, InputPurpose, Overlay, TextInput};
use crate::text::{clean, clean_line, pad, width, wrap};

/// Draws what lies above the panel, if something does.
pub(super) fn draw_overlay(app: &App, theme: Theme, frame: &mut Frame<'_>) {
    match &app.overlay {
        Some(Overlay::Help(top)) => draw_help(app, theme, frame, *top),
        Some(Overlay::Confirm(confirm)) => draw_confirm(theme, frame, confirm),
        Some(Overlay::Input(input)) => match input.purpose {
            InputPurpose::Filter | InputPurpose::Search | InputPurpose::Command => {
                draw_prompt(theme, frame, input);
            }
            _ => draw_input(theme, frame, input),
        },
        None => {}
    }
}

/// Clears a box with a line around it, and returns what is inside.
fn open_box(theme: Theme, frame: &mut Frame<'_>, area: Rect, title: &str) -> Rect {
    Clear.render(area, frame.buffer_mut());
    let style = theme.style(TextTone::Plain);
    let columns = usize::from(area.width);
    let inside = columns.saturating_sub(2);
    let title = crate::text::fit(&clean(title), inside.saturating_sub(4));
    let rest = inside.saturating_sub(width(&title) + 3);
    let top = format!("+- {title} {}+", "-".repeat(rest));
    let bottom = format!("+{}+", "-".repeat(inside));
    let buffer = frame.buffer_mut();
    buffer.set_stringn(area.x, area.y, top, columns, theme.style(TextTone::Strong));
    for y in area.y + 1..area.bottom() - 1 {
        buffer.set_stringn(area.x, y, "|", 1, style);
        buffer.set_stringn(area.right() - 1, y, "|", 1, style);
    }
    buffer.set_stringn(area.x, area.bottom() - 1, bottom, columns, style);
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// Returns a box of so many rows inside, in the middle of the screen.
fn centred(frame: &Frame<'_>, columns: u16, rows: u16) -> Rect {
    let whole = frame.area();
    let width = columns.min(whole.width.saturating_sub(2)).max(20);
    let height = (rows + 2).min(whole.height.saturating_sub(1)).max(3);
    Rect {
        x: (whole.width - width) / 2,
        y: (whole.height - height) / 2,
        width,
        height,
    }
}

fn draw_help(app: &App, theme: Theme, frame: &mut Frame<'_>, top: usize) {
    let own = app.panel().map(|panel| panel_keys(panel.kind()));
    let own = own.unwrap_or_default();
    let row = |binding: &KeyBinding| {
        vec![
            span(TextTone::Strong, pad(&binding.keys.join(" "), 14)),
            span(TextTone::Plain, binding.about),
        ]
    };
    let mut rows: Vec<_> = own.iter().map(row).collect();
    if !own.is_empty() {
        rows.push(Vec::new());
    }
    rows.extend(COMMON_KEYS.iter().map(row));
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let area = centred(frame, 64, height);
    let inner = open_box(theme, frame, area, "keys of this panel");
    let most = rows.len().saturating_sub(usize::from(inner.height));
    let shown = rows.iter().skip(top.min(most));
    for (y, text) in (inner.y..inner.bottom()).zip(shown) {
        put_line(
            theme,
            frame,
            Rect {
                y,
                height: 1,
                ..inner
            },
            text,
        );
    }
    if most > 0 {
        let text = format!(" j k: {} more ", most.saturating_sub(top.min(most)));
        let style = theme.style(TextTone::Faint);
        let (x, y) = (area.x + 3, area.bottom() - 1);
        frame.buffer_mut().set_stringn(x, y, text, 20, style);
    }
}

fn draw_confirm(theme: Theme, frame: &mut Frame<'_>, confirm: &ConfirmBox) {
    const COLUMNS: u16 = 66;
    let room = usize::from(COLUMNS.min(frame.area().width.saturating_sub(2))).saturating_sub(4);
    let mut lines: Vec<_> = confirm
        .lines
        .iter()
        .flat_map(|text| wrap(&clean_line(text), room))
        .map(|text| line(TextTone::Plain, text))
        .collect();
    lines.push(Vec::new());
    let below = match &confirm.typed {
        None => "y: yes   n, Esc: no".to_owned(),
        Some((name, _)) => format!("type `{}` and Enter; Esc: no", clean(name)),
    };
    lines.push(line(TextTone::Strong, below));
    let typed_row = confirm.typed.is_some();
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX) + u16::from(typed_row);
    let area = centred(frame, COLUMNS, rows);
    let inner = open_box(theme, frame, area, &confirm.title);
    for (y, text) in (inner.y..inner.bottom()).zip(&lines) {
        put_line(
            theme,
            frame,
            Rect {
                y,
                height: 1,
                ..inner
            },
            text,
        );
    }
    if let Some((_, input)) = &confirm.typed {
        let y = inner.bottom() - 1;
        put_typed(
            theme,
            frame,
            Rect {
                y,
                height: 1,
                ..inner
            },
            "> ",
            input,
        );
    }
}

/// Draws a text of one line with its cursor.
fn put_typed(theme: Theme, frame: &mut Frame<'_>, area: Rect, prompt: &str, input: &TextInput) {
    let columns = usize::from(area.width);
    let before = clean_line(input.before_cursor());
    let whole = clean_line(input.text());
    // The end of what is before the cursor is always shown.
    let used = width(prompt) + width(&before);
    let skip = (used + 1).saturating_sub(columns);
    let text: String = format!("{prompt}{whole}").chars().skip(skip).collect();
    Clear.render(area, frame.buffer_mut());
    put_line(theme, frame, area, &line(TextTone::Plain, text));
    let x = u16::try_from(used - skip.min(used)).unwrap_or(0);
    frame.set_cursor_position((area.x + x.min(area.width.saturating_sub(1)), area.y));
}

fn draw_prompt(theme: Theme, frame: &mut Frame<'_>, input: &InputBox) {
    let whole = frame.area();
    let row = Rect::new(0, whole.height - 1, whole.width, 1);
    put_typed(theme, frame, row, &input.title, &input.input);
}

/// Draws a box with a text of several lines at the bottom of the screen.
fn draw_input(theme: Theme, frame: &mut Frame<'_>, input: &InputBox) {
    let whole = frame.area();
    let height = (whole.height / 2).clamp(6, 14);
    let area = Rect::new(0, whole.height - height, whole.width, height);
    let inner = open_box(theme, frame, area, &input.title);
    let columns = usize::from(inner.width);
    let text_area = Rect {
        height: inner.height - 1,
        ..inner
    };
    // A character after the text makes a line of its own where the text ends with a line break.
    let before = format!("{}\u{200b}", input.input.before_cursor());
    let before = wrapped_rows(&before, columns);
    let rows = wrapped_rows(input.input.text(), columns);
    let cursor_row = before.len().saturating_sub(1);
    let room = usize::from(text_area.height);
    let top = (cursor_row + 1).saturating_sub(room);
    for (y, text) in (text_area.y..text_area.bottom()).zip(rows.iter().skip(top)) {
        let row = Rect {
            y,
            height: 1,
            ..text_area
        };
        put_line(theme, frame, row, &line(TextTone::Plain, text.clone()));
    }
    let column = before.last().map_or(0, |last| width(last));
    let x = u16::try_from(column)
        .unwrap_or(0)
        .min(inner.width.saturating_sub(1));
    let y = u16::try_from(cursor_row - top.min(cursor_row)).unwrap_or(0);
    frame.set_cursor_position((inner.x + x, text_area.y + y));
    let help = "Enter: done   Alt-Enter, Ctrl-J: new line   Esc: nothing happens";
    let last = Rect {
        y: inner.bottom() - 1,
        height: 1,
        ..inner
    };
    put_line(theme, frame, last, &line(TextTone::Faint, help));
}

/// Returns the rows of a typed text: as wide as there is room, blanks included.
fn wrapped_rows(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let mut row = String::new();
        for c in clean_line(line).chars() {
            if width(&row) + width(c.encode_utf8(&mut [0; 4])) > columns {
                rows.push(std::mem::take(&mut row));
            }
            row.push(c);
        }
        rows.push(row);
    }
    rows
}
