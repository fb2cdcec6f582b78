//! The surroundings of a place in a line: where words begin, and how escapes affect that.

use std::ops::Range;

/// Returns true if a separate word may begin at `at`: the text before it is not part of a word, or
/// is an escape of JSON, of a URL or of a terminal.
pub(super) fn is_start(line: &[u8], at: usize) -> bool {
    let Some(&before) = line[..at].last() else {
        return true;
    };
    if !is_word(before) {
        return true;
    }
    let head = &line[..at];
    // `\n`, `\t` and so on; `\u0022`; with more backslashes where JSON is inside JSON.
    if matches!(before, b'n' | b'r' | b't' | b'b' | b'f') && backslashes(&head[..at - 1]) > 0 {
        return true;
    }
    if at >= 6 && head[at - 5] == b'u' && backslashes(&head[..at - 5]) > 0 {
        return head[at - 4..].iter().all(u8::is_ascii_hexdigit);
    }
    // `%3D`.
    if at >= 3 && head[at - 3] == b'%' {
        return head[at - 2..].iter().all(u8::is_ascii_hexdigit);
    }
    // The colour before it.
    if before == b'm' {
        let digits = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
        let count = head[..at - 1]
            .iter()
            .rev()
            .take(16)
            .take_while(digits)
            .count();
        return head[..at - 1 - count].last() == Some(&b'[');
    }
    false
}

/// Returns true if a byte is part of a word, in the sense of keys. All characters of keys are, so
/// that no key begins within another.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii()
}

/// Returns true if the last byte is a backslash that is not itself escaped.
fn ends_in_escape(head: &[u8]) -> bool {
    backslashes(head) % 2 == 1
}

/// Counts the backslashes at the end.
pub(super) fn backslashes(head: &[u8]) -> usize {
    head.iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// The escape of JSON that a place is in the middle of.
pub(super) fn escape_around(line: &[u8], at: usize) -> Option<Range<usize>> {
    (1..6).find_map(|back| {
        let start = at.checked_sub(back)?;
        if line[start] != b'\\' || !ends_in_escape(&line[..=start]) {
            return None;
        }
        let length = match line.get(start + 1)? {
            b'u' if is_hex(line, start + 2) => 6,
            b'n' | b'r' | b't' | b'b' | b'f' | b'"' | b'/' | b'\\' => 2,
            _ => return None,
        };
        (back < length).then_some(start..start + length)
    })
}

fn is_hex(line: &[u8], at: usize) -> bool {
    line.get(at..at + 4)
        .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}
