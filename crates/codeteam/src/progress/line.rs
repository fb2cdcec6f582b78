//! How far the reading of many files is, on the last line of a terminal, if it takes long enough to ask.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use codeteam_context::tree::FileProgress;

use super::Verbosity;
use crate::output::{bytes as size, grouped};

/// What is done sooner needs no line.
const SOON: Duration = Duration::from_millis(500);
/// How often it is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The last line of a terminal.
pub(crate) struct ScanProgressLine {
    /// When it may be drawn next, and whether it was; nothing if nobody looks.
    state: Option<Mutex<(Instant, bool)>>,
}

impl ScanProgressLine {
    /// A line, if anybody looks.
    pub(crate) fn new(detail: Verbosity) -> Self {
        let seen = detail >= Verbosity::Normal && io::stderr().is_terminal();
        Self {
            state: seen.then(|| Mutex::new((Instant::now() + SOON, false))),
        }
    }

    /// Says how far it is.
    pub(crate) fn show(&self, progress: FileProgress) {
        self.draw(|| match progress {
            FileProgress::Walked { files } => format!("{} files found", grouped(files)),
            FileProgress::Read { files, of, bytes } => {
                let read = size(bytes);
                format!("{} of {} files read, {read}", grouped(files), grouped(of))
            }
        });
    }

    /// Says how many files have been read, of how many.
    pub(crate) fn read(&self, files: usize, of: usize) {
        self.draw(|| format!("{} of {} files read", grouped(files), grouped(of)));
    }

    fn draw(&self, text: impl FnOnce() -> String) {
        // Whoever draws draws for the others, too.
        let Some(Ok(mut state)) = self.state.as_ref().map(Mutex::try_lock) else {
            return;
        };
        let now = Instant::now();
        if now < state.0 {
            return;
        }
        *state = (now + TICK, true);
        let text = text();
        let _ = write!(io::stderr(), "\r\u{1b}[K{text}");
    }

    /// Takes it away.
    pub(crate) fn clear(&self) {
        let state = self.state.as_ref().and_then(|state| state.lock().ok());
        if state.is_some_and(|state| state.1) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
