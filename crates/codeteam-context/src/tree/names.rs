//! Names of files as they are shown: on one line, in UTF-8, and no two alike.

use std::fmt::Write as _;

/// A path as it is shown. What could break a line, act on a terminal or is not UTF-8 is escaped, and
/// so are backslashes, so that no two paths are shown alike.
pub(super) fn shown(raw: &[u8]) -> String {
    if let Ok(text) = str::from_utf8(raw)
        && !text.contains(acts)
    {
        return text.to_owned();
    }
    let mut out = String::with_capacity(raw.len() + 8);
    for chunk in raw.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str(r"\\"),
                c if acts(c) => out.extend(c.escape_default()),
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

/// Whether a character does more than appear.
fn acts(c: char) -> bool {
    c == '\\'
        || c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn ordinary_names_stay() {
        for name in ["src/main.rs", "a b/c'd\"e", "größe/名.txt", "-", "<&>`"] {
            assert_eq!(shown(name.as_bytes()), name);
        }
    }

    #[test]
    fn what_acts_is_escaped() {
        assert_eq!(shown(b"a\nb"), r"a\nb");
        assert_eq!(shown(b"a\xffb\xc3"), r"a\xffb\xc3");
        assert_eq!(
            shown("\u{1b}[2J\u{202e}x".as_bytes()),
            r"\u{1b}[2J\u{202e}x"
        );
        // A name that looks like an escaped one is not taken for it.
        assert_eq!(shown(br"a\nb"), r"a\\nb");
    }
}
