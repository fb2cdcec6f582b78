//! The class of each character, as far as splitting a text into pieces needs it.
//!
//! The classes are those of the Unicode version that `regex` has; `data/unicode.classes` lists
//! them, and the build script makes the table.

/// The kind of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum CharacterClass {
    /// None of the others: punctuation, symbols, controls, what is not assigned.
    Other = 0,
    /// A letter in upper or title case.
    Upper = 1,
    /// A letter in lower case.
    Lower = 2,
    /// A letter without case, which goes with both.
    Caseless = 3,
    /// A combining mark, which goes with both, too, and with what is no letter.
    Mark = 4,
    /// A digit or another number.
    Number = 5,
    /// White space within a line.
    Space = 6,
    /// A carriage return or a line feed.
    Newline = 7,
}

use CharacterClass::{Caseless, Lower, Mark, Newline, Number, Other, Space, Upper};

impl CharacterClass {
    const ALL: [Self; 8] = [Other, Upper, Lower, Caseless, Mark, Number, Space, Newline];

    /// May begin a word, and goes before letters in lower case.
    pub(super) fn is_upper(self) -> bool {
        matches!(self, Upper | Caseless | Mark)
    }

    /// May end a word, and goes after letters in upper case.
    pub(super) fn is_lower(self) -> bool {
        matches!(self, Lower | Caseless | Mark)
    }

    /// May be in a word.
    pub(super) fn is_word(self) -> bool {
        matches!(self, Upper | Lower | Caseless | Mark)
    }

    /// Is white space.
    pub(super) fn is_blank(self) -> bool {
        matches!(self, Space | Newline)
    }
}

/// Characters of one block.
const BLOCK: usize = 128;
static INDEX: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.index"));
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.blocks"));

/// The class of the character that begins at a place of a text, and how many bytes it has. Nothing
/// begins at the end.
#[inline]
pub(super) fn class_at(text: &[u8], at: usize) -> Option<(CharacterClass, usize)> {
    let first = *text.get(at)?;
    if first < 0x80 {
        return Some((class_of(u32::from(first)), 1));
    }
    let next = |i| text.get(at + i).map_or(0, |byte| u32::from(byte & 0x3f));
    let first = u32::from(first);
    Some(match first {
        0..0xe0 => (class_of((first & 0x1f) << 6 | next(1)), 2),
        0xe0..0xf0 => (class_of((first & 0xf) << 12 | next(1) << 6 | next(2)), 3),
        _ => (
            class_of((first & 7) << 18 | next(1) << 12 | next(2) << 6 | next(3)),
            4,
        ),
    })
}

#[inline]
fn class_of(code: u32) -> CharacterClass {
    let code = code as usize;
    let block = usize::from(INDEX[code / BLOCK]);
    CharacterClass::ALL[usize::from(BLOCKS[block * BLOCK + code % BLOCK] & 7)]
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect_file;
    use regex::Regex;

    use super::*;

    /// The class of each character as `regex` has it, `bpe-openai` being built on the same tables.
    fn by_regex() -> Vec<CharacterClass> {
        let classes = [
            (r"[\r\n]", Newline),
            (r"\s", Space),
            (r"[\p{Lu}\p{Lt}]", Upper),
            (r"\p{Ll}", Lower),
            (r"\p{L}", Caseless),
            (r"\p{M}", Mark),
            (r"\p{N}", Number),
        ]
        .map(|(pattern, class)| (Regex::new(&format!("^{pattern}")).unwrap(), class));
        let class = |code| {
            let own = char::from_u32(code)?.to_string();
            let known = classes.iter().find(|(pattern, _)| pattern.is_match(&own))?;
            Some(known.1)
        };
        (0..0x11_0000)
            .map(|code| class(code).unwrap_or(Other))
            .collect()
    }

    #[test]
    fn every_character_has_the_class_that_regex_says() {
        let classes = by_regex();
        let mut ranges =
            "# The characters from … to …, in hexadecimal, and their class. A test of \
                          `tokens/classes.rs` writes this.\n"
                .to_owned();
        let mut first = 0;
        for run in classes.chunk_by(|one, other| one == other) {
            let last = first + run.len() - 1;
            if run[0] != Other {
                writeln!(ranges, "{first:x} {last:x} {}", run[0] as u8).unwrap();
            }
            first = last + 1;
        }
        expect_file!["../../data/unicode.classes"].assert_eq(&ranges);
        let mut own = [0; 4];
        for (code, class) in (0..).zip(&classes) {
            let Some(char) = char::from_u32(code) else {
                continue;
            };
            let text = char.encode_utf8(&mut own).as_bytes();
            assert_eq!(
                class_at(text, 0),
                Some((*class, char.len_utf8())),
                "{code:x}"
            );
        }
    }
}
