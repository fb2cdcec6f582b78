//! Colours and other styles.

use codeteam_report::report::{ScreenLine, TextTone};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::text::clean_line;

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    /// False with `NO_COLOR`.
    pub(crate) is_coloured: bool,
}

impl Theme {
    /// Returns the style of a tone.
    pub(crate) fn style(self, tone: TextTone) -> Style {
        let plain = Style::new();
        let coloured = |colour: Color| {
            if self.is_coloured {
                plain.fg(colour)
            } else {
                plain
            }
        };
        match tone {
            TextTone::Plain => plain,
            TextTone::Strong => plain.add_modifier(Modifier::BOLD),
            TextTone::Good => coloured(Color::Green),
            TextTone::Bad => coloured(Color::Red),
            TextTone::Warn => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
            TextTone::Faint => plain.add_modifier(Modifier::DIM),
        }
    }

    /// Returns the style of what is selected, to be added to its own.
    pub(crate) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of what was searched for, to be added to its own. It differs from what is
    /// selected, and does without a colour.
    pub(crate) fn found() -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }

    /// Returns a line with its styles.
    pub(crate) fn line(self, line: &ScreenLine) -> Line<'static> {
        let spans = line
            .iter()
            .map(|span| Span::styled(clean_line(&span.text), self.style(span.tone)));
        Line::from(spans.collect::<Vec<_>>())
    }
}
