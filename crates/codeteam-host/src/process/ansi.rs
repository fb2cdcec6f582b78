//! Turns a line that was written for a terminal into plain text.
//!
//! The functions here are pure and work on one line at a time: a sequence never continues on the
//! next line. A worker cannot hide anything behind a sequence that it opens and never closes.

use std::borrow::Cow;

/// Returns the line as plain text. Invalid UTF-8 is replaced, escape sequences and control
/// characters (except tabs) are removed, and if the line overwrote itself with carriage returns,
/// only the last version is kept.
pub(crate) fn to_plain_text(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) if !text.chars().any(needs_work) => Cow::Borrowed(text),
        Ok(text) => Cow::Owned(strip(text)),
        Err(_) => Cow::Owned(strip(&decode(raw))),
    }
}

const ESC: char = '\u{1b}';
const BEL: char = '\u{07}';
const STRING_TERMINATOR: char = '\u{9c}';

fn needs_work(c: char) -> bool {
    c.is_control() && c != '\t'
}

/// Decodes like `from_utf8_lossy`, except that a lone byte from 0x80 to 0x9f becomes the C1 control
/// character that an 8-bit terminal would take it for, so that `strip` finds the sequences that
/// start with one.
fn decode(raw: &[u8]) -> String {
    let mut text = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        match chunk.invalid() {
            [] => {}
            [byte @ 0x80..=0x9f] => text.push(char::from(*byte)),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    text
}

fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut overwrite = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            ESC => after_escape(after),
            '\u{9b}' => after_csi(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => after_string(after),
            '\r' => {
                overwrite = true;
                after
            }
            c if needs_work(c) => after,
            c => {
                // Only text overwrites a line: a trailing carriage return, or one followed by
                // nothing but colours, leaves the line as it was.
                if std::mem::take(&mut overwrite) {
                    out.clear();
                }
                out.push(c);
                after
            }
        };
    }
    out
}

/// Returns the rest of `text` after the sequence that was begun by an ESC in front of it.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_csi(chars.as_str()),
        // OSC, DCS, SOS, PM, APC.
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str()),
        // Intermediates, then one final character: the charset sequences.
        Some(' '..='/') => {
            let body = text.trim_start_matches(|c| matches!(c, ' '..='/'));
            body.strip_prefix(|c| matches!(c, '0'..='~'))
                .unwrap_or(body)
        }
        // Two-character sequences, such as ESC 7 or ESC c.
        Some('0'..='~') => chars.as_str(),
        // A lone ESC.
        _ => text,
    }
}

/// Returns the rest of `text` after a control sequence, which consists of parameters, intermediates
/// and a final character. An incomplete sequence ends at the first character that does not fit.
fn after_csi(text: &str) -> &str {
    let body = text
        .trim_start_matches(|c| matches!(c, '0'..='?'))
        .trim_start_matches(|c| matches!(c, ' '..='/'));
    body.strip_prefix(|c| matches!(c, '@'..='~'))
        .unwrap_or(body)
}

/// Returns the rest of `text` after a string sequence (a window title, a hyperlink). If the
/// terminator is missing, only the introducer is removed. The search ends at the next introducer,
/// which also keeps the whole pass linear.
fn after_string(text: &str) -> &str {
    let end = text.find(|c| matches!(c, BEL | ESC | '\u{80}'..='\u{9f}'));
    let Some(tail) = end.map(|at| &text[at..]) else {
        return text;
    };
    tail.strip_prefix([BEL, STRING_TERMINATOR])
        .or_else(|| tail.strip_prefix("\u{1b}\\"))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &[u8], expected: &str) {
        assert_eq!(to_plain_text(raw), expected);
    }

    #[test]
    fn clean_text_is_borrowed() {
        assert!(matches!(
            to_plain_text("tabs\tand ünïcode ✓".as_bytes()),
            Cow::Borrowed(_)
        ));
        check(b"", "");
    }

    #[test]
    fn control_sequences_go() {
        check(b"\x1b[1;31mred\x1b[0m plain", "red plain");
        check(
            b"\x1b[2K\x1b[?25lhidden cursor\x1b[38:2::1:2:3m",
            "hidden cursor",
        );
        check(b"\x1b[!pafter an intermediate", "after an intermediate");
    }

    #[test]
    fn titles_and_links_go() {
        check(b"\x1b]0;title\x07text", "text");
        check(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
        check(b"\x1bPq data\x1b\\after", "after");
    }

    #[test]
    fn an_unterminated_string_hides_nothing() {
        check(b"\x1b]0;title and text", "0;title and text");
        check(b"\x1b]0;a\x1b[1mb", "0;ab");
    }

    #[test]
    fn broken_sequences() {
        check(b"a\x1b", "a");
        check(b"a\x1b\xc3\xa9", "aé");
        check(b"a\x1b[", "a");
        check(b"a\x1b[12", "a");
        check(b"a\x1b[1\x1b[2mb", "ab");
    }

    #[test]
    fn charset_and_short_sequences_go() {
        check(b"\x1b(B\x1b)0text\x1b%G", "text");
        check(b"\x1b7save\x1b8\x1bc\x1b=", "save");
    }

    #[test]
    fn c1_controls_go_as_bytes_and_as_characters() {
        check(b"\x9b31mred\x9b0m", "red");
        check("\u{9b}31mred\u{85}".as_bytes(), "red");
        check(b"\x9d0;title\x9ctext", "text");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        check(b"a\xffb\xe2\x82", "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn carriage_returns_overwrite_only_with_text() {
        check(b"10%\r50%\r100%", "100%");
        check(b"100%\r", "100%");
        check(b"100%\r\x1b[K", "100%");
        check(b"a\r\r\nb", "b");
        check(b"windows\r", "windows");
    }

    #[test]
    fn other_controls_go() {
        check(b"b\x08e\x07l\x00l\x7f\tx", "bell\tx");
    }

    #[test]
    fn many_open_strings_take_linear_time() {
        // Quadratic work would be minutes here.
        let noise = b"\x1b]".repeat(500_000);
        check(&noise, "");
        check(&b"\xc2\x9d".repeat(500_000), "");
    }
}
