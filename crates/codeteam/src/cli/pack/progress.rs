//! How far a pack is, on the last line of a terminal, if it takes long enough to ask.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use codeteam_context::tree::Progress;

use super::grouped;
use crate::progress::Detail;

/// What is done sooner needs no line.
const SOON: Duration = Duration::from_millis(500);
/// How often it is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The line.
pub(super) struct Line {
    /// When it may be drawn next, and whether it was; nothing if nobody looks.
    state: Option<Mutex<(Instant, bool)>>,
}

impl Line {
    pub(super) fn new(detail: Detail) -> Self {
        let seen = detail >= Detail::Normal && io::stderr().is_terminal();
        Self {
            state: seen.then(|| Mutex::new((Instant::now() + SOON, false))),
        }
    }

    pub(super) fn show(&self, progress: Progress) {
        // Whoever draws draws for the others, too.
        let Some(Ok(mut state)) = self.state.as_ref().map(Mutex::try_lock) else {
            return;
        };
        let now = Instant::now();
        if now < state.0 {
            return;
        }
        *state = (now + TICK, true);
        let text = match progress {
            Progress::Walked { files } => format!("{} files found", grouped(files)),
            Progress::Read { files, of, bytes } => {
                let read = super::bytes(bytes);
                format!("{} of {} files read, {read}", grouped(files), grouped(of))
            }
        };
        let _ = write!(io::stderr(), "\r\u{1b}[K{text}");
    }

    pub(super) fn clear(&self) {
        let state = self.state.as_ref().and_then(|state| state.lock().ok());
        if state.is_some_and(|state| state.1) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
