//! Lets a session carry out a run: its checkout is the workspace, and its answers are the results
//! of attempts. The same loop as for workers drives the run; it runs alongside the session, for as
//! long as the session's process holds the run.

mod brief;
mod calling_session;
mod checkout;
mod transfer;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codeteam_core::event::RunStarted;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::{AttemptId, EpochMillis, RunId};
use codeteam_core::input::{Decision, Input};
use codeteam_core::session::{SessionTurn, check_answer, next_turn};
use codeteam_core::{Effect, Event, Run};

pub use self::brief::{SessionBrief, brief, files_for_attempt};
pub use self::calling_session::{calling_session, calling_session_of_run};
pub use self::checkout::{
    CheckoutUpdate, advance_branch, commits_since, lock_task_start, prepare, unsubmitted,
    update_checkout, was_taken_back,
};
pub use self::transfer::{
    HandoverResult, TakeBackError, is_driven, open_runs, request_handover, take_back,
};
use crate::clock::now;
use crate::driver::{
    self, DriverMessage, DriverOptions, RunObserver, SessionLink, SessionMessage, StopReason,
};
use crate::engine::Engine;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::CancelToken;

/// The number of recent output lines of checks that are kept for those who ask.
const LINES: usize = 8;
/// The time in which a new session's run must be ready.
const READY: Duration = Duration::from_secs(30);

/// A run in which this process serves a session.
///
/// [`SessionRun::start`] and [`SessionRun::attach`] spawn a thread that drives the run exactly as
/// for workers; only the assignments are carried out by the session. The caller then repeats this
/// cycle: [`SessionRun::wait_for_turn`] until it is the session's or a person's turn, read
/// [`SessionRun::state`], and answer with [`SessionRun::submit`], [`SessionRun::reply`] or
/// [`SessionRun::abort`]. The answers are only queued: their effect is visible in a later state,
/// and a refusal in [`SessionRun::last_refusal`].
///
/// Dropping it stops the driver and releases the run, which continues from the same point when it
/// is attached or resumed again.
pub struct SessionRun {
    id: RunId,
    shared: Arc<SharedSession>,
    thread: Option<JoinHandle<()>>,
    failed: Arc<Mutex<Option<driver::Error>>>,
}

/// The state of a run, as a session sees it.
#[derive(Clone, Debug)]
pub struct SessionState {
    /// The run's state after the last event.
    pub run: Arc<Run>,
    /// Why this process no longer leads the run, if it does not.
    pub end: Option<SessionEnd>,
    /// The most recent output of codeteam's own work, such as checks.
    pub progress: Vec<String>,
}

/// The reason why this process no longer leads a run.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEnd {
    /// The run has ended.
    Over(FrameOutcome),
    /// The run was handed over to workers.
    HandedOver,
    /// Codeteam itself cannot go on.
    Failed(String),
}

/// The state that a session shares with the thread that drives its run. The driver sees it as a
/// `SessionLink` and as a `RunObserver`.
struct SharedSession {
    state: Mutex<SharedState>,
    changed: Condvar,
    /// The number of messages sent to the driver.
    said: AtomicU64,
    interrupt: CancelToken,
}

/// The part of it that is behind the lock.
struct SharedState {
    run: Arc<Run>,
    end: Option<SessionEnd>,
    lines: VecDeque<String>,
    sender: Option<Sender<DriverMessage>>,
    /// The number of these messages that the driver has handled.
    heard: u64,
    busy: bool,
    /// Why the last message was refused, if it was.
    refused: Option<String>,
    warnings: Vec<String>,
}

impl SessionRun {
    /// Starts a run that the session carries out. `label` identifies the session to others.
    pub fn start(
        engine: &Arc<Engine>,
        started: RunStarted,
        label: &str,
    ) -> Result<Self, driver::Error> {
        let id = started.run.clone();
        Self::spawn_driver(engine, id, label, move |engine, options, observer| {
            driver::start(engine, started, options, observer).map(|(_, stop)| stop)
        })
    }

    /// Attaches to an existing run. Fails at once if another process leads it.
    pub fn attach(engine: &Arc<Engine>, run: &RunId, label: &str) -> Result<Self, driver::Error> {
        let id = run.clone();
        Self::spawn_driver(
            engine,
            id.clone(),
            label,
            move |engine, options, observer| {
                driver::resume(engine, &id, Vec::new(), options, observer)
            },
        )
    }

    fn spawn_driver(
        engine: &Arc<Engine>,
        id: RunId,
        label: &str,
        drive: impl FnOnce(
            &Arc<Engine>,
            &DriverOptions,
            &Arc<dyn RunObserver>,
        ) -> Result<StopReason, driver::Error>
        + Send
        + 'static,
    ) -> Result<Self, driver::Error> {
        let shared = Arc::new(SharedSession {
            state: Mutex::new(SharedState {
                run: Arc::default(),
                end: None,
                lines: VecDeque::new(),
                sender: None,
                heard: 0,
                busy: true,
                refused: None,
                warnings: Vec::new(),
            }),
            changed: Condvar::new(),
            said: AtomicU64::new(0),
            interrupt: CancelToken::new(),
        });
        let failed: Arc<Mutex<Option<driver::Error>>> = Arc::default();
        let mut options = DriverOptions::new(true, shared.interrupt.clone(), label);
        options.session_link = Some(Arc::clone(&shared) as Arc<dyn SessionLink>);
        let (engine, own, error) = (Arc::clone(engine), Arc::clone(&shared), Arc::clone(&failed));
        let body = move || {
            let observer: Arc<dyn RunObserver> = Arc::clone(&own) as _;
            let stop = drive(&engine, &options, &observer);
            own.driver_ended(stop, &error);
        };
        let thread = std::thread::Builder::new()
            .name("session".to_owned())
            .spawn(body)
            .map_err(driver::Error::Thread)?;
        let session = Self {
            id,
            shared,
            thread: Some(thread),
            failed,
        };
        session.shared.wait(READY, |inner| {
            inner.run.has_started() || inner.end.is_some()
        });
        match session.failure() {
            Some(error) => Err(error),
            None => Ok(session),
        }
    }

    /// Returns the run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the current state. Never waits.
    pub fn state(&self) -> SessionState {
        let inner = self.shared.lock();
        SessionState {
            run: Arc::clone(&inner.run),
            end: inner.end.clone(),
            progress: inner.lines.iter().cloned().collect(),
        }
    }

    /// Takes the error that stopped the driver, if there is one that was not taken before.
    pub fn failure(&self) -> Option<driver::Error> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take()
    }

    /// Takes the warnings since the last call: problems that do not affect the run itself.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().warnings)
    }

    /// Waits until it is the session's turn or a person's. Returns `false` if the time is up first.
    pub fn wait_for_turn(&self, wait: Duration) -> bool {
        let said = self.shared.said.load(Ordering::SeqCst);
        self.shared.wait(wait, |inner| {
            let still = inner.heard >= said && !inner.busy;
            let waits = || {
                matches!(
                    next_turn(&inner.run),
                    SessionTurn::Work(_) | SessionTurn::Ask(_)
                )
            };
            inner.end.is_some() || (still && waits())
        })
    }

    /// Submits an answer to an assignment if its form is valid; its effect is visible in a later
    /// state.
    pub fn submit(&self, id: &AttemptId, text: String) -> Result<(), String> {
        check_answer(&self.state().run, id, &text)?;
        let id = id.clone();
        self.shared
            .send_message(SessionMessage::Submitted { id, text })
    }

    /// Passes on a person's answer to a question; its effect is visible in a later state.
    pub fn reply(&self, by: &str, question: &AttemptId, answer: &str) -> Result<(), String> {
        self.shared
            .send_message(SessionMessage::Input(Box::new(Input::Replied {
                at: now(),
                by: by.to_owned(),
                question: question.clone(),
                answer: answer.to_owned(),
            })))
    }

    /// Aborts the run.
    pub fn abort(&self, by: &str, reason: &str) -> Result<(), String> {
        let reason = reason.to_owned();
        self.shared
            .send_message(SessionMessage::Input(Box::new(Input::Decided {
                at: now(),
                by: by.to_owned(),
                identity: None,
                decision: Decision::Abort { reason },
            })))
    }

    /// Takes the reason why the last message was refused, if it was.
    pub fn last_refusal(&self) -> Option<String> {
        self.shared.lock().refused.take()
    }
}

impl Drop for SessionRun {
    fn drop(&mut self) {
        self.shared.interrupt.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl SharedSession {
    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut SharedState)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait(&self, wait: Duration, until: impl Fn(&SharedState) -> bool) -> bool {
        let deadline = Instant::now() + wait;
        let mut inner = self.lock();
        while !until(&inner) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn send_message(&self, said: SessionMessage) -> Result<(), String> {
        let mut inner = self.lock();
        inner.refused = None;
        let sender = inner.sender.as_ref().filter(|_| inner.end.is_none());
        let sent = sender.is_some_and(|sender| {
            self.said.fetch_add(1, Ordering::SeqCst);
            sender.send(DriverMessage::FromSession(said)).is_ok()
        });
        sent.then_some(())
            .ok_or_else(|| "the run is no longer led from here".to_owned())
    }

    fn driver_ended(
        &self,
        stop: Result<StopReason, driver::Error>,
        failed: &Mutex<Option<driver::Error>>,
    ) {
        let end = match stop {
            Ok(StopReason::Ended(outcome)) => Some(SessionEnd::Over(outcome)),
            Ok(StopReason::HandedOver(_)) => Some(SessionEnd::HandedOver),
            Ok(StopReason::Interrupted | StopReason::Waiting(_) | StopReason::Limited(_)) => None,
            Err(error) => {
                let why = format_error_chain(&error);
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Some(SessionEnd::Failed(why))
            }
        };
        let left = "it was given back".to_owned();
        self.change(|inner| {
            inner.end = Some(end.unwrap_or(SessionEnd::Failed(left)));
            inner.sender = None;
            inner.busy = false;
        });
    }
}

impl SessionLink for SharedSession {
    fn connect(&self, sender: Sender<DriverMessage>) {
        self.change(|inner| inner.sender = Some(sender));
    }

    fn publish_state(&self, run: &Run, heard: u64, busy: bool) {
        let mut inner = self.lock();
        let same = inner.run.seq == run.seq && inner.heard == heard && inner.busy == busy;
        if same {
            return;
        }
        if inner.run.seq != run.seq {
            inner.run = Arc::new(run.clone());
        }
        if !busy {
            inner.lines.clear();
        }
        inner.heard = heard;
        inner.busy = busy;
        drop(inner);
        self.changed.notify_all();
    }
}

impl RunObserver for SharedSession {
    fn event(&self, _run: &Run, _at: EpochMillis, event: &Event) {
        if let Event::DecisionRefused { why, .. } = event {
            self.change(|inner| inner.refused = Some(why.clone()));
        }
    }

    fn line(&self, id: &AttemptId, line: &str) {
        self.change(|inner| {
            if inner.lines.len() == LINES {
                inner.lines.pop_front();
            }
            inner.lines.push_back(format!("{}: {line}", id.step));
        });
    }

    fn waiting(&self, _run: &Run, _effects: &[Effect]) {}

    fn warn(&self, message: &str) {
        self.change(|inner| inner.warnings.push(message.to_owned()));
    }
}
