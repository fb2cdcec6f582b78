//! Numbers and times as people read them. A page has no clock of its own: whoever calls passes the
//! time at which the page is made.

use codeteam_core::ids::EpochMillis;
use codeteam_report::describe::format_money;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Formats a length of time, such as `3 min`.
pub(crate) fn format_duration(millis: u64) -> String {
    match millis {
        0..SECOND => format!("{millis} ms"),
        SECOND..MINUTE => format!("{} s", millis / SECOND),
        MINUTE..HOUR => {
            let seconds = millis % MINUTE / SECOND;
            let minutes = millis / MINUTE;
            if minutes < 10 && seconds > 0 {
                format!("{minutes} min {seconds} s")
            } else {
                format!("{minutes} min")
            }
        }
        HOUR..DAY => match millis % HOUR / MINUTE {
            0 => format!("{} h", millis / HOUR),
            minutes => format!("{} h {minutes} min", millis / HOUR),
        },
        _ => match millis / DAY {
            1 => "1 day".to_owned(),
            days => format!("{days} days"),
        },
    }
}

/// Says how far a time is from now: `5 min ago`, `in 2 h`.
pub(crate) fn format_distance(at: EpochMillis, now: EpochMillis) -> String {
    let coarse = |millis: u64| match millis {
        0..MINUTE => format!("{} s", millis / SECOND),
        MINUTE..HOUR => format!("{} min", millis / MINUTE),
        HOUR..DAY => format!("{} h", millis / HOUR),
        _ => format_duration(millis),
    };
    if at.0 > now.0 {
        format!("in {}", coarse(at.0 - now.0))
    } else if now.0 - at.0 < 10 * SECOND {
        "just now".to_owned()
    } else {
        format!("{} ago", coarse(now.0 - at.0))
    }
}

/// Formats a time for machines, in UTC: `2026-11-19T04:43:53Z`.
pub(crate) fn format_iso(at: EpochMillis) -> String {
    let (year, month, day) = civil_date(at);
    let seconds = at.0 / SECOND % (DAY / SECOND);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        seconds / 3600,
        seconds % 3600 / 60,
        seconds % 60
    )
}

/// Formats a time of day with its seconds, in UTC. A script puts the person's own time in its place.
pub(crate) fn format_clock(at: EpochMillis) -> String {
    format_iso(at).get(11..19).unwrap_or_default().to_owned()
}

/// Returns the year, the month and the day of a time, in UTC.
pub(crate) fn civil_date(at: EpochMillis) -> (u64, u64, u64) {
    // Counted from the first of March of the year 0, so that a leap day is the last of its year.
    let days = at.0 / DAY + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// Formats a number with its thousands apart: `12 400`.
pub(crate) fn format_number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            // A narrow blank that does not break.
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Formats a number of things: `1 task`, `3 tasks`.
pub(crate) fn format_count(number: u64, word: &str) -> String {
    let plural = match word.strip_suffix('y') {
        _ if number == 1 => word.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{word}s"),
    };
    format!("{} {plural}", format_number(number))
}

/// Formats a number of tokens in few characters: `1.2 k`.
pub(crate) fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{} k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{} M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

/// Writes the first letter of a label large.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

/// Formats what was spent, if that is known.
pub(crate) fn format_spent(microusd: Option<u64>) -> String {
    microusd.map_or_else(|| "unknown".to_owned(), format_money)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_two_units_at_most() {
        for (millis, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (59_999, "59 s"),
            (61_000, "1 min 1 s"),
            (600_000, "10 min"),
            (3_600_000, "1 h"),
            (5_400_000, "1 h 30 min"),
            (86_400_000, "1 day"),
            (400_000_000, "4 days"),
        ] {
            assert_eq!(format_duration(millis), text);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_795_063_433_587, "2026-11-19T04:43:53Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(format_iso(EpochMillis(millis)), text);
        }
    }

    #[test]
    fn distances_look_both_ways() {
        let now = EpochMillis(1_000_000_000);
        for (at, text) in [
            (999_999_000, "just now"),
            (999_970_000, "30 s ago"),
            (996_300_000, "1 h ago"),
            (1_000_120_000, "in 2 min"),
        ] {
            assert_eq!(format_distance(EpochMillis(at), now), text);
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(format_number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(format_number(12), "12");
        assert_eq!(format_count(1, "task"), "1 task");
        assert_eq!(format_count(2, "query"), "2 queries");
        assert_eq!(format_count(0, "day"), "0 days");
        assert_eq!(format_tokens(1_250), "1.2 k");
    }
}
