//! The keys of a keyboard, as `WebDriver` writes them.

use serde_json::{Value, json};

/// A key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeyboardKey {
    /// One that writes a character.
    Character(char),
    /// Confirms.
    Enter,
    /// To the next element.
    Tab,
    /// Leaves.
    Escape,
    /// Presses what has the focus.
    Space,
    /// With others.
    Shift,
    /// With others.
    Control,
    /// To the left.
    Left,
    /// Up.
    Up,
    /// To the right.
    Right,
    /// Down.
    Down,
}

impl KeyboardKey {
    fn code(self) -> char {
        match self {
            Self::Character(character) => character,
            Self::Enter => '\u{e007}',
            Self::Tab => '\u{e004}',
            Self::Escape => '\u{e00c}',
            Self::Space => ' ',
            Self::Shift => '\u{e008}',
            Self::Control => '\u{e009}',
            Self::Left => '\u{e012}',
            Self::Up => '\u{e013}',
            Self::Right => '\u{e014}',
            Self::Down => '\u{e015}',
        }
    }
}

/// Presses keys one after the other, and releases them the other way round.
pub(super) fn chord(keys: &[KeyboardKey]) -> Value {
    let codes = || keys.iter().map(|key| key.code());
    let down = codes().map(|code| ("keyDown", code));
    let up = codes().rev().map(|code| ("keyUp", code));
    actions(down.chain(up))
}

/// Presses and releases one key for each character.
pub(super) fn typed(text: &str) -> Value {
    actions(text.chars().flat_map(|c| {
        let code = if c == '\n' {
            KeyboardKey::Enter.code()
        } else {
            c
        };
        [("keyDown", code), ("keyUp", code)]
    }))
}

fn actions(steps: impl Iterator<Item = (&'static str, char)>) -> Value {
    let steps: Vec<_> = steps
        .map(|(kind, code)| json!({"type": kind, "value": code}))
        .collect();
    json!({"actions": [{"type": "key", "id": "keyboard", "actions": steps}]})
}
