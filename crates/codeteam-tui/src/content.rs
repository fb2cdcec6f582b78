//! What panels say, as lines with a tone for each part: the same for every size of the screen, and
//! without any terminal.

mod approval;
mod cost;
mod detail;
mod metrics;
mod report;
mod timeline;
mod workflow;

use codeteam_report::report::{ScreenLine, ScreenSpan, TextTone};

pub(crate) use self::approval::{answer_rows, approval_facts};
pub(crate) use self::cost::cost_lines;
pub(crate) use self::detail::detail_lines;
pub(crate) use self::metrics::metrics_lines;
pub(crate) use self::report::{command_lines, report_lines};
pub(crate) use self::timeline::timeline_bars;
pub(crate) use self::workflow::{workflow_lines, workflow_top};

use crate::text::wrap_block;
use codeteam_report::view::Standing;

/// Returns a part of a line.
pub(crate) fn span(tone: TextTone, text: impl Into<String>) -> ScreenSpan {
    ScreenSpan {
        tone,
        text: text.into(),
    }
}

/// Returns a line of one tone.
pub(crate) fn line(tone: TextTone, text: impl Into<String>) -> ScreenLine {
    vec![span(tone, text)]
}

/// Returns the tone of a word that says how something stands.
pub(crate) fn standing_tone(standing: Standing) -> TextTone {
    match standing {
        Standing::NeedsYou => TextTone::Warn,
        Standing::Working => TextTone::Strong,
        Standing::Waiting | Standing::LeftOut => TextTone::Faint,
        Standing::Failed => TextTone::Bad,
        Standing::Done => TextTone::Good,
    }
}

/// Returns a heading with a text of others below it, indented and wrapped; nothing if it is empty.
pub(crate) fn block(heading: &str, text: &str, columns: usize) -> Vec<ScreenLine> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut lines = vec![line(TextTone::Strong, heading)];
    let wrapped = wrap_block(text, columns.saturating_sub(2));
    lines.extend(
        wrapped
            .into_iter()
            .map(|text| line(TextTone::Plain, format!("  {text}"))),
    );
    lines
}

/// Returns a label with a value of others beside it, wrapped.
pub(crate) fn field(label: &str, tone: TextTone, value: &str, columns: usize) -> Vec<ScreenLine> {
    const LABEL: usize = 10;
    let wrapped = wrap_block(value, columns.saturating_sub(LABEL));
    let lines = wrapped.into_iter().enumerate();
    lines
        .map(|(at, text)| {
            let label = if at == 0 { label } else { "" };
            vec![
                span(TextTone::Faint, format!("{label:<LABEL$}")),
                span(tone, text),
            ]
        })
        .collect()
}
