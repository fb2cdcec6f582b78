//! Converts file names for display: on one line, in UTF-8, and all distinct.

use std::fmt::Write as _;

/// Converts a path for display. Anything that could break a line, act on a terminal or is not UTF-8
/// is escaped, and so are backslashes, so that no two paths look alike.
pub(super) fn display_path(raw: &[u8]) -> String {
    if let Ok(text) = str::from_utf8(raw)
        && !text.contains(is_active_character)
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(raw.len() + 8);
    for chunk in raw.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str(r"\\"),
                c if is_active_character(c) => out.extend(c.escape_default()),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, r"\x{byte:02x}");
        }
    }
    out
}

/// Returns true if a character does more than appear.
fn is_active_character(c: char) -> bool {
    c == '\\'
        || c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::display_path;

    #[test]
    fn ordinary_names_stay() {
        for name in ["src/main.rs", "a b/c'd\"e", "größe/名.txt", "-", "<&>`"] {
            assert_eq!(display_path(name.as_bytes()), name);
        }
    }

    #[test]
    fn what_acts_is_escaped() {
        assert_eq!(display_path(b"a\nb"), r"a\nb");
        assert_eq!(display_path(b"a\xffb\xc3"), r"a\xffb\xc3");
        assert_eq!(
            display_path("\u{1b}[2J\u{202e}x".as_bytes()),
            r"\u{1b}[2J\u{202e}x"
        );
        // A name that looks like an escaped one is not taken for it.
        assert_eq!(display_path(br"a\nb"), r"a\\nb");
    }
}
