//! The attempts of a run as bars on one axis of time.

use codeteam_core::ids::EpochMillis;
use codeteam_report::report::{ScreenLine, TextTone};
use codeteam_report::view::AttemptView;

use super::{span, standing_tone};
use crate::text::{clean, duration, pad};
use codeteam_report::view::attempt_standing;

/// Returns a bar for each attempt. The axis goes from the start of the first of them to now.
pub(crate) fn timeline_bars(
    attempts: &[&AttemptView],
    start: EpochMillis,
    end: EpochMillis,
    columns: usize,
) -> Vec<ScreenLine> {
    let name_columns = (columns / 3).clamp(12, 40);
    let room = columns.saturating_sub(name_columns + 10).max(5);
    let whole = end.since(start).max(1);
    let position = |at: EpochMillis| -> usize {
        let part = u128::from(at.since(start).min(whole)) * room as u128 / u128::from(whole);
        usize::try_from(part).unwrap_or(room)
    };
    let bars = attempts.iter().map(|attempt| {
        let from = position(attempt.started_at).min(room - 1);
        let until = position(attempt.ended_at.unwrap_or(end));
        let long = until.saturating_sub(from).max(1).min(room - from);
        let (standing, _) = attempt_standing(attempt);
        let sign = if attempt.is_running() { ">" } else { "=" };
        let name = format!("{} {}", attempt.id.frame.name(), attempt.who);
        let axis = format!(
            "{}{}{}",
            ".".repeat(from),
            sign.repeat(long),
            ".".repeat(room - from - long)
        );
        vec![
            span(TextTone::Plain, pad(&clean(&name), name_columns)),
            span(TextTone::Faint, " "),
            span(standing_tone(standing), axis),
            span(
                TextTone::Plain,
                format!(" {:>7}", duration(attempt.duration(end))),
            ),
        ]
    });
    bars.collect()
}
