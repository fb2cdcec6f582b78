//! The live status line at the bottom of a terminal: who is working, for how long, and their last
//! output.
//!
//! It is redrawn in place and cleared before anything else is printed, so that what stays on the
//! screen is the same as without a terminal.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codeteam_core::Event;
use codeteam_core::frame::SlotWork;
use codeteam_core::ids::AttemptId;

use crate::output::one_line;

/// The interval at which the elapsed time is updated.
const TICK: Duration = Duration::from_millis(250);

/// The live status line.
pub(crate) struct LiveStatusLine {
    line: Arc<Mutex<LiveLineState>>,
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct LiveLineState {
    active: BTreeMap<u64, ActiveWork>,
    drawn: bool,
    hidden: bool,
}

struct ActiveWork {
    who: String,
    since: Instant,
    said: String,
    /// The current activity, and when it began.
    busy: Option<(String, Instant)>,
}

impl LiveStatusLine {
    /// Creates a line, if standard error is a terminal.
    pub(crate) fn on_terminal() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let line: Arc<Mutex<LiveLineState>> = Arc::default();
        let stop: Arc<AtomicBool> = Arc::default();
        let (drawn, stopped) = (Arc::clone(&line), Arc::clone(&stop));
        let tick = move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(TICK);
                lock(&drawn).draw();
            }
            lock(&drawn).clear();
        };
        // Without a thread the line is only updated when something happens.
        let _ = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(tick);
        Some(Self { line, stop })
    }

    /// Prints something above the line.
    pub(crate) fn print_above(&self, print: impl FnOnce()) {
        let mut line = lock(&self.line);
        line.clear();
        print();
        line.draw();
    }

    /// Hides the line, or shows it again.
    pub(crate) fn hide(&self, hidden: bool) {
        let mut line = lock(&self.line);
        line.clear();
        line.hidden = hidden;
    }

    /// Records attempts that start and end.
    pub(crate) fn event(&self, event: &Event) {
        let mut line = lock(&self.line);
        match event {
            Event::AttemptStarted { id, work, .. } => {
                let what = match work {
                    SlotWork::Role(role) => role.as_str(),
                    SlotWork::Gate(step) => step.as_str(),
                    SlotWork::Rebase
                    | SlotWork::Assess
                    | SlotWork::WriteInterfaces
                    | SlotWork::Integrate
                    | SlotWork::Publish
                    | SlotWork::Deliver
                    | SlotWork::MoveBranch => id.step.as_str(),
                };
                let who = format!("{} {what}", id.frame.name());
                let active = ActiveWork {
                    who,
                    since: Instant::now(),
                    said: String::new(),
                    busy: None,
                };
                line.active.insert(id.fence, active);
            }
            Event::AttemptFailed { id, .. }
            | Event::AttemptLost { id, .. }
            | Event::AttemptSpent { id, .. }
            | Event::SubmissionReceived { id, .. }
            | Event::GateJudged { id, .. }
            | Event::FrameRebased { id, .. }
            | Event::RebaseConflicted { id, .. }
            | Event::TipMoved { id, .. }
            | Event::InterfacesLocked { id, .. }
            | Event::Committed { id, .. }
            | Event::RiskAssessed { id, .. }
            | Event::Published { id, .. }
            | Event::RunRolledBack { id, .. }
            | Event::RollbackAbandoned { id, .. }
            | Event::Delivered { id, .. } => {
                line.active.remove(&id.fence);
            }
            Event::RunEnded { .. } => line.active.clear(),
            _ => {}
        }
    }

    /// Records what an attempt is doing. Work that belongs to no attempt yet is shown by itself.
    pub(crate) fn set_busy(&self, id: &AttemptId, what: Option<&str>) {
        let mut line = lock(&self.line);
        let known = line.active.contains_key(&id.fence);
        match (known, what) {
            (false, Some(what)) => {
                let active = ActiveWork {
                    who: what.to_owned(),
                    since: Instant::now(),
                    said: String::new(),
                    busy: None,
                };
                line.active.insert(id.fence, active);
            }
            (true, None) if !id.is_launched() => drop(line.active.remove(&id.fence)),
            _ => {
                if let Some(active) = line.active.get_mut(&id.fence) {
                    active.busy = what.map(|what| (what.to_owned(), Instant::now()));
                }
            }
        }
        line.draw();
    }

    /// Records the last output of an attempt.
    pub(crate) fn set_last_line(&self, id: &AttemptId, text: &str) {
        let mut line = lock(&self.line);
        if let Some(active) = line.active.get_mut(&id.fence) {
            text.trim().clone_into(&mut active.said);
            line.draw();
        }
    }
}

impl Drop for LiveStatusLine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut line = lock(&self.line);
        line.active.clear();
        line.clear();
    }
}

impl LiveLineState {
    fn draw(&mut self) {
        self.clear();
        if self.active.is_empty() || self.hidden {
            return;
        }
        let text = one_line(&self.text());
        let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| size.ws_col);
        let fits: String = text.chars().take(usize::from(width.max(20)) - 1).collect();
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\u{1b}[2m{fits}\u{1b}[0m");
        let _ = stderr.flush();
        self.drawn = true;
    }

    fn text(&self) -> String {
        let names: Vec<String> = self
            .active
            .values()
            .map(|a| {
                let busy = a
                    .busy
                    .as_ref()
                    .map(|(what, since)| format!(" ({what}, {}s)", since.elapsed().as_secs()));
                let busy = busy.unwrap_or_default();
                format!("{} {}s{busy}", a.who, a.since.elapsed().as_secs())
            })
            .collect();
        let newest = self.active.values().rfind(|a| !a.said.is_empty());
        let said = newest.map(|a| format!(" | {}", a.said)).unwrap_or_default();
        format!("… {}{said}", names.join(", "))
    }

    fn clear(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[2K");
            self.drawn = false;
        }
    }
}

fn lock(line: &Mutex<LiveLineState>) -> MutexGuard<'_, LiveLineState> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
