//! Decodes the bytes that a terminal sends into keys.

/// One key, or one paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    /// A character to insert.
    Char(char),
    /// A pasted text, as one piece.
    Paste(String),
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    /// A character with Alt.
    Alt(char),
    /// Enter, which ends the input.
    Enter,
    /// A line break within the input.
    NewLine,
    Tab,
    Backspace,
    /// Alt with Backspace.
    KillWord,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
}

/// Decodes bytes as they arrive, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    bytes: Vec<u8>,
    /// The text being pasted, if any.
    pasted: Option<Vec<u8>>,
}

const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";

impl KeyDecoder {
    /// Adds bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns true if the bytes so far are the beginning of a key or paste.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.bytes.is_empty() || self.pasted.is_some()
    }

    /// Returns the next complete key. `more` says whether more bytes may follow: a lone escape is
    /// not a key if nothing follows.
    pub(super) fn next_key(&mut self, more: bool) -> Option<KeyPress> {
        loop {
            if self.pasted.is_some() {
                return self.paste();
            }
            if self.bytes.starts_with(PASTE) {
                self.bytes.drain(..PASTE.len());
                self.pasted = Some(Vec::new());
                continue;
            }
            let (taken, key) = self.next_token(more)?;
            self.bytes.drain(..taken);
            if let Some(key) = key {
                return Some(key);
            }
        }
    }

    fn paste(&mut self) -> Option<KeyPress> {
        let end = self.bytes.windows(PASTED.len()).position(|w| w == PASTED);
        let end = end?;
        let text: Vec<u8> = self.bytes.drain(..end).collect();
        self.bytes.drain(..PASTED.len());
        self.pasted = None;
        let text = String::from_utf8_lossy(&text);
        Some(KeyPress::Paste(
            text.replace("\r\n", "\n").replace('\r', "\n"),
        ))
    }

    /// Returns the number of bytes of the next token, and its key if it is one.
    fn next_token(&self, more: bool) -> Option<(usize, Option<KeyPress>)> {
        let first = *self.bytes.first()?;
        Some(match first {
            0x1b => return self.escape(more),
            b'\r' => (1, Some(KeyPress::Enter)),
            b'\n' => (1, Some(KeyPress::NewLine)),
            b'\t' => (1, Some(KeyPress::Tab)),
            0x7f | 0x08 => (1, Some(KeyPress::Backspace)),
            0..0x20 => (1, Some(KeyPress::Ctrl(char::from(first + b'a' - 1)))),
            _ => return self.character(more),
        })
    }

    fn character(&self, more: bool) -> Option<(usize, Option<KeyPress>)> {
        let wanted = match self.bytes[0] {
            0..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0..0xf8 => 4,
            _ => return Some((1, None)),
        };
        if self.bytes.len() < wanted {
            return (!more).then_some((self.bytes.len(), None));
        }
        let text = std::str::from_utf8(&self.bytes[..wanted]).ok();
        let Some(c) = text.and_then(|text| text.chars().next()) else {
            return Some((1, None));
        };
        Some((wanted, (!c.is_control()).then_some(KeyPress::Char(c))))
    }

    fn escape(&self, more: bool) -> Option<(usize, Option<KeyPress>)> {
        let Some(second) = self.bytes.get(1) else {
            return (!more).then_some((1, None));
        };
        Some(match second {
            b'[' | b'O' => return self.sequence(more),
            b'\r' | b'\n' => (2, Some(KeyPress::NewLine)),
            0x7f | 0x08 => (2, Some(KeyPress::KillWord)),
            0x20..0x7f => (2, Some(KeyPress::Alt(char::from(*second)))),
            _ => (1, None),
        })
    }

    /// Decodes `ESC [ 1 ; 5 C` and the like.
    fn sequence(&self, more: bool) -> Option<(usize, Option<KeyPress>)> {
        let rest = &self.bytes[2..];
        let Some(end) = rest.iter().position(|b| (0x40..0x7f).contains(b)) else {
            // A sequence that no terminal sends must not block everything after it.
            let given_up = !more || rest.len() > 32;
            return given_up.then_some((self.bytes.len(), None));
        };
        let numbers = &rest[..end];
        let far = numbers.ends_with(b";5") || numbers.ends_with(b";3");
        let key = match (rest[end], numbers) {
            (b'A', _) => Some(KeyPress::Up),
            (b'B', _) => Some(KeyPress::Down),
            (b'C', _) if far => Some(KeyPress::WordRight),
            (b'D', _) if far => Some(KeyPress::WordLeft),
            (b'C', _) => Some(KeyPress::Right),
            (b'D', _) => Some(KeyPress::Left),
            (b'H', _) | (b'~', b"1" | b"7") => Some(KeyPress::Home),
            (b'F', _) | (b'~', b"4" | b"8") => Some(KeyPress::End),
            (b'~', b"3") => Some(KeyPress::Delete),
            _ => None,
        };
        Some((2 + end + 1, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pieces: &[&[u8]]) -> Vec<KeyPress> {
        let mut decoder = KeyDecoder::default();
        let mut keys = Vec::new();
        for piece in pieces {
            decoder.feed(piece);
            while let Some(key) = decoder.next_key(true) {
                keys.push(key);
            }
        }
        while let Some(key) = decoder.next_key(false) {
            keys.push(key);
        }
        keys
    }

    #[test]
    fn keys_come_in_any_pieces() {
        let sent = "aé\x1b[A\x1b[1;5D\x1bb\x1b\r\r\n\x01\x7f\x1b\x7f\x1b[3~".as_bytes();
        let wanted = vec![
            KeyPress::Char('a'),
            KeyPress::Char('é'),
            KeyPress::Up,
            KeyPress::WordLeft,
            KeyPress::Alt('b'),
            KeyPress::NewLine,
            KeyPress::Enter,
            KeyPress::NewLine,
            KeyPress::Ctrl('a'),
            KeyPress::Backspace,
            KeyPress::KillWord,
            KeyPress::Delete,
        ];
        assert_eq!(keys(&[sent]), wanted);
        let bytes: Vec<&[u8]> = sent.chunks(1).collect();
        assert_eq!(keys(&bytes), wanted);
    }

    #[test]
    fn a_paste_is_one_text_whatever_is_in_it() {
        let sent = b"\x1b[200~one\r\ntwo\rthree \x1b[A\x03\x1b[201~x";
        let pasted = KeyPress::Paste("one\ntwo\nthree \u{1b}[A\u{3}".to_owned());
        assert_eq!(keys(&[sent]), [pasted.clone(), KeyPress::Char('x')]);
        let bytes: Vec<&[u8]> = sent.chunks(3).collect();
        assert_eq!(keys(&bytes), [pasted, KeyPress::Char('x')]);
    }

    #[test]
    fn what_means_nothing_is_passed_over() {
        assert_eq!(keys(&[b"\x1b"]), []);
        assert_eq!(keys(&[b"\x1b[99;99x\xff\x80a"]), [KeyPress::Char('a')]);
        assert_eq!(
            keys(&[b"\x1b[1111111111111111111111111111111111", b"a"]),
            [KeyPress::Char('a')]
        );
    }
}
