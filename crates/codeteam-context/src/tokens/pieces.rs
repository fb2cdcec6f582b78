//! Splits a text into the pieces that tokens never cross.
//!
//! It is the pattern of `o200k`, by hand. In the order in which it tries:
//!
//! 1. a word: one character that is no letter, number or line end, or none; letters in upper case;
//!    letters in lower case; a contraction (`'s`). At least one letter in lower case if there can be
//!    one, and letters without case as well as marks count as either;
//! 2. up to three numbers;
//! 3. what is none of these, after a blank or none, with the line ends and slashes that follow;
//! 4. white space up to its last line end;
//! 5. white space without its last character, if something follows; else all of it.

use super::classes::{self, CharacterClass};

/// Returns the end of the piece that begins at `start`, which is a boundary and not the end of the
/// text.
pub(super) fn piece_end(text: &[u8], start: usize) -> usize {
    let Some((class, width)) = classes::class_at(text, start) else {
        return text.len();
    };
    let after = start + width;
    match class {
        CharacterClass::Upper
        | CharacterClass::Lower
        | CharacterClass::Caseless
        | CharacterClass::Mark => word_end(text, start),
        CharacterClass::Number => numbers_end(text, after),
        CharacterClass::Newline => blanks_end(text, start),
        CharacterClass::Space | CharacterClass::Other => match classes::class_at(text, after) {
            Some((next, _)) if next.is_word() => word_end(text, after),
            _ if class == CharacterClass::Other => symbols_end(text, start),
            Some((CharacterClass::Other, _)) if text[start] == b' ' => symbols_end(text, after),
            _ => blanks_end(text, start),
        },
    }
}

/// Returns a place to cut a text instead of at the end of a piece, so that the text before the cut
/// has the same pieces by itself. White space at the end of a text is one piece, while before
/// something else its last character is one of its own.
pub(super) fn stable_cut(text: &[u8], end: usize) -> usize {
    let is_blank = |at| classes::class_at(text, at).is_some_and(|(class, _)| class.is_blank());
    let last = character_start(text, end);
    let is_space =
        |at| classes::class_at(text, at).is_some_and(|(class, _)| class == CharacterClass::Space);
    let alone = end < text.len() && !is_blank(end) && is_space(last);
    if alone && last > 0 && is_space(character_start(text, last)) {
        last
    } else {
        end
    }
}

/// Returns the start of the character that ends at a place.
fn character_start(text: &[u8], end: usize) -> usize {
    let mut bytes = text[..end].iter();
    let start = bytes.rposition(|byte| byte & 0xc0 != 0x80);
    start.unwrap_or(0)
}

/// The end of a word, whose letters begin at `start`.
fn word_end(text: &[u8], start: usize) -> usize {
    let mut end = start;
    // Behind the last one that may stand for a letter in lower case.
    let mut last_lower = None;
    let mut next = classes::class_at(text, end);
    while let Some((class, width)) = next.filter(|(class, _)| class.is_upper()) {
        end += width;
        if class.is_lower() {
            last_lower = Some(end);
        }
        next = classes::class_at(text, end);
    }
    if next.is_some_and(|(class, _)| class.is_lower()) {
        end = run_end(text, end, CharacterClass::is_lower);
    } else if let Some(last) = last_lower {
        end = last;
    }
    end + contraction_length(&text[end..])
}

/// Returns the length of the contraction that a text begins with: `'s`, `'t`, `'re`, `'ve`, `'m`,
/// `'ll`, `'d` in either case. The long `ſ` is an `s`.
fn contraction_length(text: &[u8]) -> usize {
    if text.first() != Some(&b'\'') {
        return 0;
    }
    let letter = |i| text.get(i).map_or(0, u8::to_ascii_lowercase);
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') | (0xc5, 0xbf) => 3,
        _ => 0,
    }
}

/// The end of up to three numbers, of which the first ends at `end`.
fn numbers_end(text: &[u8], mut end: usize) -> usize {
    for _ in 1..3 {
        match classes::class_at(text, end) {
            Some((CharacterClass::Number, width)) => end += width,
            _ => break,
        }
    }
    end
}

/// The end of what is neither white space, letter nor number, and of the line ends and slashes
/// after it.
fn symbols_end(text: &[u8], start: usize) -> usize {
    let end = run_end(text, start, |class| {
        matches!(class, CharacterClass::Other | CharacterClass::Mark)
    });
    let more = text[end..].iter();
    end + more.take_while(|byte| b"\r\n/".contains(byte)).count()
}

/// The end of white space.
fn blanks_end(text: &[u8], start: usize) -> usize {
    let mut end = start;
    let mut last_start = start;
    let mut last_newline = None;
    while let Some((class, width)) =
        classes::class_at(text, end).filter(|(class, _)| class.is_blank())
    {
        last_start = end;
        end += width;
        if class == CharacterClass::Newline {
            last_newline = Some(end);
        }
    }
    match last_newline {
        Some(end) => end,
        None if end == text.len() || last_start == start => end,
        None => last_start,
    }
}

fn run_end(text: &[u8], start: usize, belongs: impl Fn(CharacterClass) -> bool) -> usize {
    let mut end = start;
    while let Some((class, width)) = classes::class_at(text, end)
        && belongs(class)
    {
        end += width;
    }
    end
}
