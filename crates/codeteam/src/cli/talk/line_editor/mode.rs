//! Switches the terminal to raw mode while a line is edited, and restores it afterwards, however
//! codeteam ends.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::super::screen::write_terminal;

/// The terminal's original mode, while it is in raw mode.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keeps the terminal in raw mode until it is dropped.
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
        // Ask the terminal to mark pastes.
        write_terminal("\u{1b}[?2004h");
        Ok(Self(()))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Restores the terminal's original mode, if a line is being edited.
pub(crate) fn restore_terminal() {
    if let Some(before) = lock().take() {
        write_terminal("\u{1b}[?2004l");
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &before);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
