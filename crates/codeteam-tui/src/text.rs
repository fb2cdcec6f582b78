//! Makes texts fit for the screen: without anything that acts on a terminal, and as wide as there is
//! room.

use codeteam_core::ids::EpochMillis;
use codeteam_core::untrusted_text::is_active_character;
use unicode_width::UnicodeWidthChar as _;

/// Stands for a character that would act on the terminal.
pub(crate) const REPLACEMENT: char = '\u{fffd}';

/// Returns a text of others on one line, with whatever could act on the terminal replaced.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\t' | '\r' => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(harmless(c)),
        }
    }
    out
}

/// Returns the lines of a text of others, with whatever could act on the terminal replaced.
pub(crate) fn clean_lines(text: &str) -> Vec<String> {
    text.lines().map(clean_line).collect()
}

/// Returns a line of a text of others with its indentation. Tabs become blanks.
pub(crate) fn clean_line(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => out.push_str("    "),
            c => out.push(harmless(c)),
        }
    }
    out
}

fn harmless(c: char) -> char {
    if is_active_character(c) || c == '\n' {
        REPLACEMENT
    } else {
        c
    }
}

/// Returns how many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Cuts a text to so many columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Cuts a text to so many columns, or fills it up with blanks.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let blanks = columns.saturating_sub(width(&text));
    text + &" ".repeat(blanks)
}

/// Breaks a clean line into lines of at most so many columns, at blanks where there are some.
pub(crate) fn wrap(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = Vec::new();
    let mut now = String::new();
    for word in line.split_inclusive(' ') {
        if !now.is_empty() && width(&now) + width(word.trim_end()) > columns {
            lines.push(now.trim_end().to_owned());
            now = String::new();
        }
        now.push_str(word);
        while width(now.trim_end()) > columns {
            let mut used = 0;
            let cut = now.char_indices().find(|(_, c)| {
                used += c.width().unwrap_or(0);
                used > columns
            });
            let at = cut.map_or(now.len(), |(at, _)| at);
            let rest = now.split_off(at);
            lines.push(std::mem::replace(&mut now, rest));
        }
    }
    if !now.trim_end().is_empty() || lines.is_empty() {
        lines.push(now.trim_end().to_owned());
    }
    lines
}

/// Breaks a text of others into clean lines of at most so many columns.
pub(crate) fn wrap_block(text: &str, columns: usize) -> Vec<String> {
    let lines = clean_lines(text.trim_end());
    lines.iter().flat_map(|line| wrap(line, columns)).collect()
}

/// Returns a number of milliseconds as a person says it, such as `3m 10s`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Returns how long ago something was, in its largest unit, such as `3m`.
pub(crate) fn age(then: i64, now: EpochMillis) -> String {
    let then = EpochMillis(u64::try_from(then).unwrap_or(0));
    let long = duration(now.since(then));
    long.split(' ').next().unwrap_or_default().to_owned()
}

/// Returns a number with its noun, such as `1 file` and `2 files`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// Returns true if a text contains what was typed, whatever the case.
pub(crate) fn matches(text: &str, typed: &str) -> bool {
    typed.is_empty() || text.to_lowercase().contains(&typed.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_do_nothing_to_the_terminal() {
        let hostile = "a\u{1b}[2J\r\nb\u{202e}c\u{9b}1m\u{7}";
        assert_eq!(clean(hostile), "a\u{fffd}[2J b\u{fffd}c\u{fffd}1m\u{fffd}");
        assert_eq!(
            clean_lines(hostile),
            ["a\u{fffd}[2J", "b\u{fffd}c\u{fffd}1m\u{fffd}"]
        );
        assert_eq!(clean_line("\tx\r"), "    x");
    }

    #[test]
    fn texts_are_cut_and_filled_by_columns() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(pad("日", 4), "日  ");
    }

    #[test]
    fn long_lines_are_broken_at_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghijkl", 8), ["abcdefgh", "ijkl"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap_block("a\n\nb", 8), ["a", "", "b"]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [duration(900), duration(190_000), duration(7_500_000)],
            ["0s", "3m 10s", "2h 5m"]
        );
        assert_eq!(age(1_000, EpochMillis(191_000)), "3m");
    }
}
