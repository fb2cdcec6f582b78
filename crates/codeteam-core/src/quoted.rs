//! Texts of others: they say what they say, and nothing around them is taken for it.
//!
//! Titles, findings, notes and whatever else a model, a file or a person wrote pass through here on
//! their way to a terminal or into a file, so that none of them can move the cursor, turn the direction
//! of reading, or begin a line that looks like one of codeteam's own.

use std::fmt::Write as _;

/// Whether a character does something where it is shown instead of appearing there: control characters,
/// and those that end a line or turn its direction. Line ends and tabs are not meant.
pub fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns || ends_line
}

/// What of a text can be seen, line ends and tabs apart.
pub fn visible(text: &str) -> String {
    text.chars().filter(|c| !acts(*c)).collect()
}

/// A text in one line, without anything that acts on a terminal or a page.
pub fn one_line(text: &str) -> String {
    let words = text.split_whitespace().map(visible);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// A text whose lines after the first are indented by so many blanks, so that none of them begins where
/// a line of codeteam's own would. What acts is not left out but marked: a person may have to decide on
/// what the text says.
pub fn hanging(text: &str, indent: usize) -> String {
    let text = text.replace("\r\n", "\n").replace(acts, "\u{fffd}");
    let mut lines = text.trim_end().lines();
    let mut out = lines.next().unwrap_or_default().trim_end().to_owned();
    for line in lines {
        out.push('\n');
        if !line.trim().is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line.trim_end());
        }
    }
    out
}

/// A text as a quotation: no line of it can be taken for one of what it stands in.
pub fn quote(text: &str) -> String {
    let text = visible(text);
    let lines = text.trim().lines().map(|line| {
        let line = format!("> {}", line.trim_end());
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// JSON in which every character that acts is escaped: it means the same, and does nothing to a terminal.
pub fn escape_json(json: String) -> String {
    if !json.contains(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A text in which every character that acts is spelt out: `^[`, `<U+202E>`.
pub fn spell_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            _ if !acts(c) => out.push(c),
            code @ 0..0x20 => out.extend(['^', char::from_u32(code + 0x40).unwrap_or('?')]),
            code => {
                let _ = write!(out, "<U+{code:04X}>");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_wrote_begins_a_line_or_acts() {
        let forged =
            "fine\u{1b}[2J\n09:28:53 task-001     reviewer approves\r\n\u{202e}\u{2028}x\u{9b}1m";
        assert_eq!(
            hanging(forged, 4),
            "fine\u{fffd}[2J\n    09:28:53 task-001     reviewer approves\n    \u{fffd}\u{fffd}x\u{fffd}1m"
        );
        assert_eq!(
            one_line(forged),
            "fine[2J 09:28:53 task-001 reviewer approves x1m"
        );
        assert!(!hanging(forged, 1).contains(acts));
        assert_eq!(spell_out("a\u{1b}[1m\r\n\u{202e}"), "a^[[1m^M\n<U+202E>");
        let json = serde_json::to_string("\u{1b}\u{9b}\u{202e}\u{7f}é").unwrap();
        let escaped = escape_json(json.clone());
        assert!(!escaped.contains(acts), "{escaped}");
        let read = |text: &str| serde_json::from_str::<String>(text).unwrap();
        assert_eq!(read(&escaped), read(&json));
    }
}
