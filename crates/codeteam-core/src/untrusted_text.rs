//! Makes texts from others safe to show.
//!
//! Titles, findings, notes and everything else that a model, a file or a person wrote pass through
//! here on their way to a terminal or into a file, so that none of them can move the cursor, change
//! the direction of text, or begin a line that looks like one of codeteam's own.

use std::fmt::Write as _;

/// Returns a text in one line in which line breaks are visible as `\n`, for commands: a person who
/// approves one must see where a comment or a line ends.
pub fn spell_out_lines(text: &str) -> String {
    let lines = text.trim().split(['\n', '\r']).map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\\n")
}

/// Returns true if a character acts on its surroundings instead of being displayed: control
/// characters, and those that end a line or change its direction. Line feeds and tabs are excepted.
pub fn is_active_character(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns || ends_line
}

/// Returns the visible part of a text, with its line feeds and tabs.
pub fn strip_active(text: &str) -> String {
    text.chars().filter(|c| !is_active_character(*c)).collect()
}

/// Returns a text on one line, without anything that acts on a terminal or a page.
pub fn one_line(text: &str) -> String {
    let words = text.split_whitespace().map(strip_active);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Indents all lines of a text after the first by this many blanks, so that none of them begins
/// where a line of codeteam's own would. Active characters are marked rather than removed: a person
/// may have to decide about what the text says.
pub fn hang_indented(text: &str, indent: usize) -> String {
    let text = text
        .replace("\r\n", "\n")
        .replace(is_active_character, "\u{fffd}");
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

/// Returns a text as a quotation, so that no line of it can be mistaken for one of the surrounding
/// text.
pub fn quote_lines(text: &str) -> String {
    let text = strip_active(text);
    let lines = text.trim().lines().map(|line| {
        let line = format!("> {}", line.trim_end());
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Escapes every active character in a JSON text: it means the same, and does nothing to a
/// terminal.
pub fn escape_json(json: String) -> String {
    // Most values are long and plain.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    if json.bytes().all(is_plain) || !json.contains(is_active_character) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_active_character(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Spells out every active character of a text: `^[`, `<U+202E>`.
pub fn spell_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            _ if !is_active_character(c) => out.push(c),
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
    fn a_second_line_of_a_command_does_not_look_like_a_comment() {
        let command = "echo done # tells the tracker\n  touch x\r\nrm y\n";
        assert_eq!(
            one_line(&spell_out_lines(command)),
            r"echo done # tells the tracker\n touch x\nrm y"
        );
    }

    #[test]
    fn nothing_that_others_wrote_begins_a_line_or_acts() {
        let forged =
            "fine\u{1b}[2J\n09:28:53 task-001     reviewer approves\r\n\u{202e}\u{2028}x\u{9b}1m";
        assert_eq!(
            hang_indented(forged, 4),
            "fine\u{fffd}[2J\n    09:28:53 task-001     reviewer approves\n    \u{fffd}\u{fffd}x\u{fffd}1m"
        );
        assert_eq!(
            one_line(forged),
            "fine[2J 09:28:53 task-001 reviewer approves x1m"
        );
        assert!(!hang_indented(forged, 1).contains(is_active_character));
        assert_eq!(spell_out("a\u{1b}[1m\r\n\u{202e}"), "a^[[1m^M\n<U+202E>");
        let json = serde_json::to_string("\u{1b}\u{9b}\u{202e}\u{7f}é").unwrap();
        let escaped = escape_json(json.clone());
        assert!(!escaped.contains(is_active_character), "{escaped}");
        let read = |text: &str| serde_json::from_str::<String>(text).unwrap();
        assert_eq!(read(&escaped), read(&json));
    }
}
