//! Recognises usage limits in messages, and the time at which they reset.
//!
//! CLIs report their limits in sentences meant for people. Every sentence here was observed in one
//! of them. If an event has the time as a number, that number is used instead of this module.

use codeteam_core::failure::ReachedQuota;
use codeteam_core::ids::{Account, EpochMillis};
use jiff::civil::{Date, Time as OfDay};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// The time and time zone in which a worker starts, relative to which "resets 3pm" is interpreted.
#[derive(Clone, Debug)]
pub struct LocalClock {
    /// The current time.
    pub now: Timestamp,
    /// The time zone of messages without one.
    pub zone: TimeZone,
}

impl LocalClock {
    /// Returns the current time, in the zone that workers are set to.
    pub fn read() -> Self {
        Self {
            now: Timestamp::now(),
            zone: TimeZone::UTC,
        }
    }
}

/// Phrases in messages about an exhausted quota. Short waits because of too many requests at once
/// are not among them: those are retried.
const LIMITS: &[&str] = &[
    "usage limit",
    "hit your limit",
    "hour limit reached",
    "weekly limit reached",
    "session limit reached",
    "limit reached ∙ resets",
    "limit reached · resets",
    "daily quota",
    "quota will reset",
    "exhausted your capacity",
    "usage_limit_reached",
];

/// Returns the quota that a message reports as reached, if it does.
pub(super) fn find_quota(
    message: &str,
    account: &Account,
    clock: &LocalClock,
) -> Option<ReachedQuota> {
    let lower = message.to_lowercase();
    if !LIMITS.iter().any(|words| lower.contains(words)) {
        return None;
    }
    let quota = |resets_in_ms, resets_at| ReachedQuota {
        account: account.clone(),
        resets_in_ms,
        resets_at,
    };
    if let Some(at) = lower.rsplit_once('|').and_then(|(_, at)| epoch(at.trim())) {
        return Some(quota(None, Some(at)));
    }
    for word in ["try again in ", "reset after ", "resets in ", "reset in "] {
        let after = lower.split_once(word).and_then(|(_, rest)| duration(rest));
        if let Some(ms) = after {
            return Some(quota(Some(ms), None));
        }
    }
    for word in ["try again at ", "resets at ", "resets "] {
        let at = lower.split_once(word).and_then(|(before, _)| {
            // The name of the zone is case-sensitive, so use the original message.
            moment(message.get(before.len() + word.len()..)?, clock)
        });
        if let Some(at) = at {
            return Some(quota(None, Some(at)));
        }
    }
    Some(quota(None, None))
}

/// Parses seconds or milliseconds since the epoch.
pub(super) fn epoch(text: &str) -> Option<EpochMillis> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    match (digits.len(), digits.parse::<u64>().ok()?) {
        (9..=10, seconds) => Some(EpochMillis(seconds * 1_000)),
        (12..=13, milliseconds) => Some(EpochMillis(milliseconds)),
        _ => None,
    }
}

/// Parses `2 days 3 hours 5 minutes`, `3h24m10s`, `45 seconds.`
fn duration(text: &str) -> Option<u64> {
    let mut total = 0_u64;
    let mut rest = text.trim_start();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = rest[..digits].parse::<u64>() else {
            break;
        };
        rest = rest[digits..].trim_start();
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_alphabetic()).len();
        let (unit, after) = rest.split_at(letters);
        let ms = match unit {
            "d" | "day" | "days" => 86_400_000,
            "h" | "hour" | "hours" | "hr" | "hrs" => 3_600_000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
            "ms" => 1,
            _ => break,
        };
        total = total.saturating_add(number.saturating_mul(ms));
        rest = after.trim_start_matches([',', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (total > 0).then_some(total)
}

/// Parses `3pm`, `3:30 PM (Europe/Berlin)`, `15:00`, `Oct 9 at 5pm`, `Oct 9th, 2026 3:05 PM`.
fn moment(text: &str, clock: &LocalClock) -> Option<EpochMillis> {
    let zone = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(name, _)| TimeZone::get(name.trim()).ok())
        .unwrap_or_else(|| clock.zone.clone());
    let text = text.split(['(', '\n']).next()?.to_lowercase();
    let mut words: Vec<&str> = text
        .split([' ', ','])
        .filter(|word| !word.is_empty() && *word != "at")
        .collect();
    let here = clock.now.to_zoned(zone.clone());
    let date = date(&mut words, here.date());
    let of_day = time_of_day(&words)?;
    let at = |date: Date| date.to_datetime(of_day).to_zoned(zone.clone()).ok();
    let mut at_last = at(date.unwrap_or_else(|| here.date()))?;
    if date.is_none() && at_last.timestamp() <= clock.now {
        at_last = at(here.date().checked_add(1.day()).ok()?)?;
    }
    u64::try_from(at_last.timestamp().as_millisecond())
        .ok()
        .map(EpochMillis)
}

/// Removes a date such as `oct 9` or `oct 9th 2026` from the front.
fn date(words: &mut Vec<&str>, today: Date) -> Option<Date> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let first = words.first()?.get(..3)?;
    let month = i8::try_from(MONTHS.iter().position(|month| *month == first)? + 1).ok()?;
    let ordinal = ["st", "nd", "rd", "th"];
    let day = words.get(1)?;
    let day = ordinal
        .iter()
        .fold(*day, |day, end| day.strip_suffix(end).unwrap_or(day));
    let day: i8 = day.parse().ok()?;
    let year = words.get(2).and_then(|word| word.parse::<i16>().ok());
    let year = year.filter(|year| *year > 1_000);
    words.drain(..if year.is_some() { 3 } else { 2 });
    let date = Date::new(year.unwrap_or_else(|| today.year()), month, day).ok()?;
    if year.is_none() && date < today {
        return date.checked_add(1.year()).ok();
    }
    Some(date)
}

/// Parses `3pm`, `3:30 pm`, `15:00`, `15:00.`
fn time_of_day(words: &[&str]) -> Option<OfDay> {
    let first = words.first()?.trim_end_matches('.');
    let second = words.get(1).map_or("", |word| word.trim_end_matches('.'));
    let (clock, half) = match first.find(|c: char| c.is_alphabetic()) {
        Some(at) => first.split_at(at),
        None => (first, second),
    };
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        "am" if (1..=12).contains(&hour) => hour % 12,
        "pm" if (1..=12).contains(&hour) => hour % 12 + 12,
        "am" | "pm" => return None,
        _ if clock.contains(':') => hour,
        _ => return None,
    };
    OfDay::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> LocalClock {
        LocalClock {
            now: "2026-10-08T13:20:00Z".parse().unwrap(),
            zone: TimeZone::UTC,
        }
    }

    /// When a message's limit resets, as text.
    fn resets(message: &str) -> String {
        let Some(quota) = find_quota(message, &Account::from("a"), &clock()) else {
            return "no limit".to_owned();
        };
        let now = EpochMillis(u64::try_from(clock().now.as_millisecond()).unwrap());
        match (quota.resets_at, quota.resets_in_ms) {
            (None, None) => "unknown".to_owned(),
            (at, _) => {
                let at = at.unwrap_or_else(|| quota.rests_until(now));
                let at = i64::try_from(at.0).unwrap();
                Timestamp::from_millisecond(at).unwrap().to_string()
            }
        }
    }

    #[test]
    fn limits_and_when_they_reset() {
        let table = [
            (
                "Claude AI usage limit reached|1791500400",
                "2026-10-08T23:00:00Z",
            ),
            ("5-hour limit reached ∙ resets 3pm", "2026-10-08T15:00:00Z"),
            ("5-hour limit reached ∙ resets 9am", "2026-10-09T09:00:00Z"),
            (
                "You've hit your limit · resets 5:30pm (Europe/Berlin)",
                "2026-10-08T15:30:00Z",
            ),
            (
                "Weekly limit reached ∙ resets Oct 9 at 5pm",
                "2026-10-09T17:00:00Z",
            ),
            (
                "Weekly limit reached ∙ resets Jan 2, 12am",
                "2027-01-02T00:00:00Z",
            ),
            (
                "You've hit your usage limit. Upgrade to Pro, or try again in 2 hours 5 minutes.",
                "2026-10-08T15:25:00Z",
            ),
            (
                "You've hit your usage limit. Try again in 3 days 4 hours.",
                "2026-10-11T17:20:00Z",
            ),
            (
                "You've hit your usage limit. Try again at Oct 9th, 2026 3:05 PM.",
                "2026-10-09T15:05:00Z",
            ),
            (
                "You have exhausted your capacity on this model. Your quota will reset after 3h24m10s.",
                "2026-10-08T16:44:10Z",
            ),
            (
                "You have exhausted your daily quota on this model.",
                "unknown",
            ),
            ("Rate limit reached for requests per minute", "no limit"),
            ("the limits of this approach", "no limit"),
        ];
        for (message, expected) in table {
            let found = resets(message);
            assert_eq!(found, expected, "{message}");
        }
    }
}
