//! Draws a patch: files, lines and comments, one version below the other or both side by side.

use std::collections::BTreeMap;

use codeteam_report::report::{ScreenLine, TextTone};
use ratatui::Frame;
use ratatui::layout::Rect;

use super::lists::draw_nothing;
use super::{Theme, put_row};
use crate::content::{line, span};
use crate::state::{App, DiffPanel, DiffRow, list_diff_rows};
use crate::text::{clean, clean_line, fit, pad, width, wrap};
use codeteam_report::patch::{PatchDocument, PatchRow, PatchRowKind};
use codeteam_report::review::LineComment;

/// What stands between the two versions.
const SEPARATOR: &str = "| ";

/// Draws a patch.
pub(super) fn draw_diff(
    app: &App,
    theme: Theme,
    frame: &mut Frame<'_>,
    area: Rect,
    diff: &DiffPanel,
) {
    let patch = match diff.loaded.as_ref().map(|loaded| &loaded.patch) {
        None => return draw_nothing(theme, frame, area, "reading the change …"),
        Some(Err(why)) => return draw_nothing(theme, frame, area, &clean(why)),
        Some(Ok(patch)) => patch,
    };
    let key = diff.key();
    let comments = app.comments.get(&key).map_or(&[][..], Vec::as_slice);
    let viewed = app.viewed.get(&key);
    let is_paired = diff.is_paired(app.size.0);
    let rows = list_diff_rows(patch, diff, is_paired, viewed, comments);
    if rows.is_empty() {
        return draw_nothing(theme, frame, area, "nothing was changed");
    }
    let rows = DiffRows {
        patch,
        rows: &rows,
        comments,
        viewed,
        wraps: diff.wraps,
        is_paired,
        columns: usize::from(area.width).saturating_sub(1),
    };
    let selected = diff.cursor.selected.min(rows.rows.len() - 1);
    let first = rows.first_shown(diff.cursor.top, selected, usize::from(area.height));
    let mut y = area.y;
    for at in first..rows.rows.len() {
        if y >= area.bottom() {
            break;
        }
        let is_selected = at == diff.cursor.selected
            || diff.range_start.is_some_and(|start| {
                (start.min(diff.cursor.selected)..=start.max(diff.cursor.selected)).contains(&at)
            });
        for text in rows.lines(at) {
            if y < area.bottom() {
                let row = Rect {
                    y,
                    height: 1,
                    ..area
                };
                put_row(theme, frame, row, &text, is_selected);
                y += 1;
            }
        }
    }
}

/// The rows of a patch, and how they are drawn.
struct DiffRows<'a> {
    patch: &'a PatchDocument,
    rows: &'a [DiffRow],
    comments: &'a [LineComment],
    viewed: Option<&'a BTreeMap<String, [u8; 32]>>,
    wraps: bool,
    is_paired: bool,
    columns: usize,
}

impl DiffRows<'_> {
    /// Returns the first row to draw, so that the selected one is on the screen. The cursor counts
    /// each row as one line, but a row that is wrapped takes several.
    fn first_shown(&self, top: usize, selected: usize, height: usize) -> usize {
        if !self.wraps {
            return top;
        }
        let mut first = selected;
        let mut taken = self.lines(selected).len();
        while first > top {
            taken += self.lines(first - 1).len();
            if taken > height {
                break;
            }
            first -= 1;
        }
        first
    }

    /// Returns the lines of a row.
    fn lines(&self, at: usize) -> Vec<ScreenLine> {
        let (patch, columns) = (self.patch, self.columns);
        match &self.rows[at] {
            DiffRow::File(file) => {
                let next = self.rows.get(at + 1);
                let is_open = next.is_some_and(
                    |next| matches!(next, DiffRow::Line { file: of, .. } if of == file),
                );
                vec![file_heading(patch, *file, self.viewed, is_open, columns)]
            }
            DiffRow::Comment { comment, .. } => {
                let comment = self.comments.get(*comment);
                let text = comment.map_or("", |comment| &comment.text);
                vec![line(
                    TextTone::Warn,
                    format!("            # {}", clean(text)),
                )]
            }
            DiffRow::Line { file, line, beside } => {
                let lines = patch.rows(&patch.files[*file]);
                let beside = beside.map(|at| &lines[at]);
                let row = &lines[*line];
                let is_text = !matches!(row.kind, PatchRowKind::Hunk | PatchRowKind::Remark);
                if self.is_paired && is_text {
                    paired_line(patch, row, beside, self.wraps, columns)
                } else {
                    patch_line(patch, row, self.wraps, columns)
                }
            }
        }
    }
}

fn file_heading(
    patch: &PatchDocument,
    file: usize,
    viewed: Option<&BTreeMap<String, [u8; 32]>>,
    is_open: bool,
    columns: usize,
) -> ScreenLine {
    let file = &patch.files[file];
    let mark = match viewed.and_then(|viewed| viewed.get(&file.path)) {
        Some(digest) if *digest == file.digest => "  viewed",
        Some(_) => "  changed since you viewed it",
        None if file.is_bulky && !is_open => "  large or generated",
        None => "",
    };
    let sign = if is_open { "-" } else { "+" };
    let numbers = format!("  +{} -{}", file.added, file.removed);
    let room = columns.saturating_sub(2 + numbers.len() + mark.len());
    vec![
        span(
            TextTone::Strong,
            format!("{sign} {}", fit(&clean(&file.path), room)),
        ),
        span(TextTone::Plain, numbers),
        span(TextTone::Faint, mark),
    ]
}

fn patch_line(
    patch: &PatchDocument,
    row: &PatchRow,
    wraps: bool,
    columns: usize,
) -> Vec<ScreenLine> {
    let number = |n: Option<u32>| n.map_or(String::new(), |n| n.to_string());
    let (sign, tone) = match row.kind {
        PatchRowKind::Added => ("+", TextTone::Good),
        PatchRowKind::Removed => ("-", TextTone::Bad),
        PatchRowKind::Context => (" ", TextTone::Plain),
        PatchRowKind::Hunk => return vec![line(TextTone::Faint, clean_line(patch.text(row)))],
        PatchRowKind::Remark => {
            let text = format!("            {}", clean_line(patch.text(row)));
            return vec![line(TextTone::Faint, text)];
        }
    };
    let gutter = format!("{:>5} {:>5} ", number(row.old), number(row.new));
    let text = clean_line(patch.text(row));
    let room = columns.saturating_sub(width(&gutter) + 1);
    let pieces = if wraps {
        wrap(&text, room)
    } else {
        vec![fit(&text, room)]
    };
    let pieces = pieces.into_iter().enumerate();
    pieces
        .map(|(at, piece)| {
            let gutter = if at == 0 {
                gutter.clone()
            } else {
                " ".repeat(width(&gutter))
            };
            vec![
                span(TextTone::Faint, gutter),
                span(tone, format!("{sign}{piece}")),
            ]
        })
        .collect()
}

/// Returns a line of both versions, the one before on the left.
fn paired_line(
    patch: &PatchDocument,
    row: &PatchRow,
    beside: Option<&PatchRow>,
    wraps: bool,
    columns: usize,
) -> Vec<ScreenLine> {
    let half = columns.saturating_sub(SEPARATOR.len()) / 2;
    let (old, new) = match row.kind {
        PatchRowKind::Removed => (Some(row), None),
        PatchRowKind::Added => (beside, Some(row)),
        _ => (Some(row), Some(row)),
    };
    let old = old.map_or_else(Vec::new, |row| half_line(patch, row, row.old, wraps, half));
    let new = new.map_or_else(Vec::new, |row| half_line(patch, row, row.new, wraps, half));
    let count = old.len().max(new.len());
    let mut sides = [old.into_iter(), new.into_iter()];
    (0..count)
        .map(|_| {
            let blank = || line(TextTone::Plain, " ".repeat(half));
            let left = sides[0].next().unwrap_or_else(blank);
            let right = sides[1].next().unwrap_or_else(blank);
            let separator = line(TextTone::Faint, SEPARATOR);
            [left, separator, right].concat()
        })
        .collect()
}

/// Returns a line of one version, filled up to a width.
fn half_line(
    patch: &PatchDocument,
    row: &PatchRow,
    number: Option<u32>,
    wraps: bool,
    columns: usize,
) -> Vec<ScreenLine> {
    let (sign, tone) = match row.kind {
        PatchRowKind::Added => ("+", TextTone::Good),
        PatchRowKind::Removed => ("-", TextTone::Bad),
        _ => (" ", TextTone::Plain),
    };
    let number = number.map_or(String::new(), |n| n.to_string());
    let room = columns.saturating_sub(7);
    let text = clean_line(patch.text(row));
    let pieces = if wraps {
        wrap(&text, room)
    } else {
        vec![fit(&text, room)]
    };
    let pieces = pieces.into_iter().enumerate();
    pieces
        .map(|(at, piece)| {
            let number = if at == 0 { number.as_str() } else { "" };
            vec![
                span(TextTone::Faint, format!("{number:>5} ")),
                span(tone, pad(&format!("{sign}{piece}"), room + 1)),
            ]
        })
        .collect()
}
