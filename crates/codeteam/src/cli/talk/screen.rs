//! The one screen that progress and prompts share: what arrives while somebody writes is printed
//! above the prompt, never into it.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::line::OpenPrompt;
use crate::output::tell;

/// The screen.
pub(crate) struct Screen {
    inner: Mutex<ScreenState>,
    /// Written to when whoever reads must look up.
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

    /// Says something; above the prompt if there is one.
    pub(crate) fn say(&self, text: &str) {
        let mut inner = self.lock();
        if let Some(held) = &mut inner.held {
            held.push(text.to_owned());
            return;
        }
        match &mut inner.open {
            Some(open) => {
                open.erase();
                tell(text);
                open.draw();
            }
            None => tell(text),
        }
    }

    /// Keeps what is said until another program has given the terminal back.
    pub(super) fn hold(&self) {
        self.lock().held.get_or_insert_default();
    }

    /// Says what was kept.
    pub(super) fn release(&self) {
        // Saying takes the lock itself.
        let held = self.lock().held.take();
        for text in held.unwrap_or_default() {
            self.say(&text);
        }
    }

    /// Puts a prompt up.
    pub(super) fn open(&self, open: OpenPrompt) {
        self.lock().open.insert(open).draw();
    }

    /// Looks at the prompt, or changes it.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut OpenPrompt) -> T) -> Option<T> {
        self.lock().open.as_mut().map(change)
    }

    /// Takes the prompt away.
    pub(super) fn close(&self) -> Option<OpenPrompt> {
        self.lock().open.take()
    }

    /// Ends the prompt that is up: what it asks for is no longer wanted.
    pub(crate) fn overtake(&self) {
        self.lock().overtaken = true;
        self.wake();
    }

    /// Something is asked for again.
    pub(super) fn ask(&self) {
        self.lock().overtaken = false;
    }

    /// Whether the prompt that is up is no longer wanted.
    pub(super) fn is_overtaken(&self) -> bool {
        self.lock().overtaken
    }

    /// Makes whoever waits for keys look up.
    pub(super) fn wake(&self) {
        // A full pipe wakes as well.
        let _ = (&self.waking).write(&[0]);
    }

    /// What to wait at for [`Screen::wake`].
    pub(super) fn woken(&self) -> &UnixStream {
        &self.woken
    }

    /// Makes signals of another size wake, too.
    pub(super) fn on_resize(&self) -> io::Result<signal_hook::SigId> {
        let waking = self.waking.try_clone()?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGWINCH, waking)
    }
}

/// Writes to the terminal as it is.
pub(super) fn put(text: &str) {
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
        screen.say("meanwhile");
        assert_eq!(
            screen.lock().held.as_deref(),
            Some(&["meanwhile".to_owned()][..])
        );
        screen.release();
        assert!(screen.lock().held.is_none());
    }
}
