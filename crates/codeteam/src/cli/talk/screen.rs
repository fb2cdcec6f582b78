//! The screen that progress and prompts share: what arrives while somebody types is printed above
//! the prompt, never into it.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::line_editor::OpenPrompt;
use crate::output::eprint_wrapped;

/// The terminal screen, shared by the driver's thread and the dialog.
///
/// All output goes through [`print`](Self::print), which erases an open prompt, prints, and draws
/// it again. A thread that waits for keys also waits on [`woken`](Self::woken), so that another
/// thread can make it look up, for example because its question is no longer open.
pub(crate) struct Screen {
    inner: Mutex<ScreenState>,
    /// Written to in order to wake the reader.
    waking: UnixStream,
    /// Read by whoever waits for keys.
    woken: UnixStream,
}

#[derive(Default)]
struct ScreenState {
    open: Option<OpenPrompt>,
    held: Option<Vec<String>>,
    overtaken: bool,
}

impl Screen {
    pub(crate) fn new() -> io::Result<Self> {
        let (waking, woken) = UnixStream::pair()?;
        waking.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Self {
            inner: Mutex::default(),
            waking,
            woken,
        })
    }

    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a text, above the prompt if there is one.
    pub(crate) fn print(&self, text: &str) {
        let mut inner = self.lock();
        if let Some(held) = &mut inner.held {
            held.push(text.to_owned());
            return;
        }
        match &mut inner.open {
            Some(open) => {
                open.erase();
                eprint_wrapped(text);
                open.draw();
            }
            None => eprint_wrapped(text),
        }
    }

    /// Holds output back until another program has returned the terminal.
    pub(super) fn hold(&self) {
        self.lock().held.get_or_insert_default();
    }

    /// Prints the output that was held back.
    pub(super) fn release(&self) {
        // Printing takes the lock itself.
        let held = self.lock().held.take();
        for text in held.unwrap_or_default() {
            self.print(&text);
        }
    }

    /// Shows a prompt.
    pub(super) fn open_prompt(&self, open: OpenPrompt) {
        self.lock().open.insert(open).draw();
    }

    /// Reads or changes the prompt.
    pub(super) fn with_prompt<T>(&self, change: impl FnOnce(&mut OpenPrompt) -> T) -> Option<T> {
        self.lock().open.as_mut().map(change)
    }

    /// Closes the prompt.
    pub(super) fn close_prompt(&self) -> Option<OpenPrompt> {
        self.lock().open.take()
    }

    /// Cancels the open prompt, because its question is no longer open.
    pub(crate) fn cancel_prompt(&self) {
        self.lock().overtaken = true;
        self.wake();
    }

    /// Clears the cancellation before a new prompt.
    pub(super) fn reset_cancelled(&self) {
        self.lock().overtaken = false;
    }

    /// Returns true if the open prompt was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.lock().overtaken
    }

    /// Wakes whoever waits for keys.
    pub(super) fn wake(&self) {
        // A full pipe wakes as well.
        let _ = (&self.waking).write(&[0]);
    }

    /// Returns the stream to wait on for [`Screen::wake`].
    pub(super) fn woken(&self) -> &UnixStream {
        &self.woken
    }

    /// Makes terminal resizes wake the reader, too.
    pub(super) fn on_resize(&self) -> io::Result<signal_hook::SigId> {
        let waking = self.waking.try_clone()?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGWINCH, waking)
    }
}

/// Writes raw text to the terminal.
pub(super) fn write_terminal(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_while_another_program_has_the_terminal_is_said_afterwards() {
        let screen = Screen::new().unwrap();
        screen.hold();
        screen.print("meanwhile");
        assert_eq!(
            screen.lock().held.as_deref(),
            Some(&["meanwhile".to_owned()][..])
        );
        screen.release();
        assert!(screen.lock().held.is_none());
    }
}
