//! Watches the outputs that are being read, and tells open pages when they grow.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use codeteam_core::ids::RunId;

use crate::live_hub::{LiveEvent, LiveHub};
use crate::output_cache::{SharedOutput, refresh_output};
use crate::projects::WatchedProject;

/// How often an output is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How long after somebody has read an output it is still looked at.
const INTEREST: Duration = Duration::from_mins(10);
/// How often streams are told that the server is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The most outputs that are watched.
const MOST: usize = 32;

struct TailedLog {
    project: Arc<WatchedProject>,
    run: RunId,
    fence: u64,
    until: Instant,
    output: SharedOutput,
    /// How many lines pages have been told of.
    lines: usize,
}

/// The outputs that are being read.
#[derive(Default)]
pub(crate) struct LogTail {
    inner: Mutex<TailState>,
    wake: Condvar,
}

#[derive(Default)]
struct TailState {
    logs: VecDeque<TailedLog>,
    is_over: bool,
}

impl LogTail {
    /// Begins to watch the output of an attempt, or goes on watching it. `lines` is how many of its lines
    /// whoever reads it has seen.
    pub(crate) fn watch(
        &self,
        project: &Arc<WatchedProject>,
        run: &RunId,
        fence: u64,
        output: SharedOutput,
        lines: usize,
    ) {
        let until = Instant::now() + INTEREST;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut logs = inner.logs.iter_mut();
        let is_this = |log: &&mut TailedLog| {
            log.fence == fence && log.run == *run && log.project.key == project.key
        };
        if let Some(known) = logs.find(is_this) {
            known.until = until;
            known.output = output;
            return;
        }
        inner.logs.push_back(TailedLog {
            project: Arc::clone(project),
            run: run.clone(),
            fence,
            until,
            output,
            lines,
        });
        if inner.logs.len() > MOST {
            inner.logs.pop_front();
        }
        self.wake.notify_all();
    }

    /// Looks at outputs until the server ends, on a thread of its own.
    pub(crate) fn start(self: &Arc<Self>, hub: Arc<LiveHub>) -> std::io::Result<()> {
        let tail = Arc::clone(self);
        let body = move || tail.run(&hub);
        thread::Builder::new()
            .name("web-tail".to_owned())
            .spawn(body)
            .map(drop)
    }

    fn run(&self, hub: &LiveHub) {
        let mut kept_alive = Instant::now();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while !inner.is_over {
            inner.look(hub);
            if kept_alive.elapsed() >= KEEP_ALIVE {
                hub.keep_alive();
                kept_alive = Instant::now();
            }
            let wait = if inner.logs.is_empty() {
                KEEP_ALIVE
            } else {
                LOOK
            };
            let woken = self.wake.wait_timeout(inner, wait);
            inner = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.is_over = true;
        self.wake.notify_all();
    }
}

impl TailState {
    fn look(&mut self, hub: &LiveHub) {
        let now = Instant::now();
        self.logs.retain_mut(|tailed| {
            let Ok(lines) = refresh_output(&tailed.output).map(|log| log.line_count()) else {
                return false;
            };
            if lines != tailed.lines {
                tailed.lines = lines;
                hub.tell(LiveEvent::LogGrew {
                    project: tailed.project.key.clone(),
                    run: tailed.run.0.clone(),
                    fence: tailed.fence,
                    lines,
                });
            }
            tailed.until > now
        });
    }
}
