//! The terminal's mode: keys come one by one while a line is edited, and as before afterwards,
//! however codeteam ends.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::super::screen::put;

/// How the terminal was, while it is otherwise.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keys come one by one while this is there.
pub(super) struct RawMode(());

impl RawMode {
    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.input_modes &= !(InputModes::BRKINT
            | InputModes::ICRNL
            | InputModes::INPCK
            | InputModes::ISTRIP
            | InputModes::IXON);
        raw.local_modes &=
            !(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        *lock() = Some(before);
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        // Pastes are marked as such.
        put("\u{1b}[?2004h");
        Ok(Self(()))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        calm();
    }
}

/// Makes the terminal what it was before a line was edited, if one is.
pub(crate) fn calm() {
    if let Some(before) = lock().take() {
        put("\u{1b}[?2004l");
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &before);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
