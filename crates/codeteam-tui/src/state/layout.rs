//! Where the parts of the screen are. Scrolling and drawing must agree on it.

use ratatui::layout::Rect;

use super::{App, Panel};

/// Below this size nothing useful can be shown.
pub(crate) const SMALLEST: (u16, u16) = (40, 10);
/// From this width on, details stand beside a list.
const WIDE: u16 = 110;
/// From this height on, details stand below a list.
const TALL: u16 = 18;
/// The height of details below a list, with the line above them.
const DETAIL_ROWS: u16 = 8;

/// The parts of the screen between its first line and its last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyLayout {
    /// The rows of the panel.
    pub(crate) list: Rect,
    /// What there is to know about the selected row.
    pub(crate) detail: Option<Rect>,
}

/// Divides the screen for the panel that is shown.
pub(crate) fn body_layout(app: &App) -> BodyLayout {
    let (columns, rows) = app.size;
    // The first line, and a line below it; the notice and the keys.
    let whole = Rect::new(0, 2, columns, rows.saturating_sub(4));
    let has_detail = matches!(
        app.panel(),
        Some(Panel::Inbox(_) | Panel::Run { .. } | Panel::Plan(_) | Panel::Findings { .. })
    );
    if !has_detail {
        return BodyLayout {
            list: whole,
            detail: None,
        };
    }
    if columns >= WIDE {
        let list_columns = columns * 11 / 20;
        return BodyLayout {
            list: Rect {
                width: list_columns,
                ..whole
            },
            detail: Some(Rect {
                x: list_columns + 2,
                width: columns - list_columns - 2,
                ..whole
            }),
        };
    }
    if whole.height >= TALL {
        let list_rows = whole.height - DETAIL_ROWS;
        return BodyLayout {
            list: Rect {
                height: list_rows,
                ..whole
            },
            detail: Some(Rect {
                y: whole.y + list_rows,
                height: DETAIL_ROWS,
                ..whole
            }),
        };
    }
    BodyLayout {
        list: whole,
        detail: None,
    }
}
