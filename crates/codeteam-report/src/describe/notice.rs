//! Describes notifications of a change that goes on by time.

use codeteam_core::ids::EpochMillis;

use super::format_time_of_day;

/// Says by which channels people were notified, or when that is tried again.
pub(super) fn approval_notice(
    channels: &[String],
    until: Option<EpochMillis>,
    retry_at: Option<EpochMillis>,
) -> String {
    if let Some(until) = until {
        return format!(
            "people were notified ({}); it goes on at {} unless somebody rejects it",
            channels.join(", "),
            format_time_of_day(until)
        );
    }
    let again = retry_at.map_or_else(String::new, |at| {
        let at = format_time_of_day(at);
        format!("; while codeteam runs, it tries again at {at}")
    });
    format!("nobody could be notified, so it waits for a person{again}")
}
