//! A session that leads itself through a run: its checkout is the workspace, its answers are the
//! results of attempts. The same loop drives the run; it runs beside the session, for as long as the
//! session's process has the run.

mod brief;
mod checkout;
mod inside;
mod transfer;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codeteam_core::event::{FrameOutcome, RunStarted};
use codeteam_core::ids::{AttemptId, EpochMillis, RunId};
use codeteam_core::input::{Decision, Input};
use codeteam_core::session::{SessionTurn, examine, turn};
use codeteam_core::{Effect, Event, Run};

pub use self::brief::{CHOOSE, SessionBrief, brief, chosen};
pub use self::checkout::{
    CheckoutUpdate, advance, alone, bring, commits_since, prepare, start, unsubmitted,
    was_taken_back,
};
pub use self::inside::{calling_session, inside};
pub use self::transfer::{
    HandoverResult, TakeBackError, hand_over, is_driven, open_runs, take_back,
};
use crate::driver::{
    self, DriverMessage, DriverOptions, RunObserver, SessionLink, SessionMessage, StopReason,
};
use crate::engine::Engine;
use crate::perform::{now, with_causes};
use crate::process::CancelToken;

/// The workflow that leads a session, unless the project has one of its own.
pub const WORKFLOW: &str = "adversarial";
/// So many of the last lines that checks have said are kept for those who ask.
const LINES: usize = 8;
/// How long a new session waits for its run to be ready.
const READY: Duration = Duration::from_secs(30);

/// A run that this process leads a session through. Dropped, it is given back, and goes on where it
/// stands when it is taken up again.
pub struct SessionRun {
    id: RunId,
    shared: Arc<SharedSession>,
    thread: Option<JoinHandle<()>>,
    failed: Arc<Mutex<Option<driver::Error>>>,
}

/// How a run stands.
#[derive(Clone, Debug)]
pub struct SessionState {
    /// The run.
    pub run: Arc<Run>,
    /// Why it is no longer led from here, if it is not.
    pub end: Option<SessionEnd>,
    /// What codeteam's own work has said lately.
    pub progress: Vec<String>,
}

/// Why a run is no longer led from here.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEnd {
    /// It has ended.
    Over(FrameOutcome),
    /// Workers go on with it.
    Handed,
    /// codeteam itself cannot go on.
    Failed(String),
}

struct SharedSession {
    state: Mutex<SharedState>,
    changed: Condvar,
    /// How much was said.
    said: AtomicU64,
    interrupt: CancelToken,
}

struct SharedState {
    run: Arc<Run>,
    end: Option<SessionEnd>,
    lines: VecDeque<String>,
    sender: Option<Sender<DriverMessage>>,
    /// How much of what was said has been heard.
    heard: u64,
    busy: bool,
    /// Why the last thing that was said was refused.
    refused: Option<String>,
    warnings: Vec<String>,
}

impl SessionRun {
    /// Starts a run in the session's hands. `label` names the session to others.
    pub fn start(
        engine: &Arc<Engine>,
        started: RunStarted,
        label: &str,
    ) -> Result<Self, driver::Error> {
        let id = started.run.clone();
        Self::lead(engine, id, label, move |engine, options, observer| {
            driver::start(engine, started, options, observer).map(|(_, stop)| stop)
        })
    }

    /// Takes a run up; it fails at once if another process leads it.
    pub fn attach(engine: &Arc<Engine>, run: &RunId, label: &str) -> Result<Self, driver::Error> {
        let id = run.clone();
        Self::lead(
            engine,
            id.clone(),
            label,
            move |engine, options, observer| {
                driver::resume(engine, &id, Vec::new(), options, observer)
            },
        )
    }

    fn lead(
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
        options.desk = Some(Arc::clone(&shared) as Arc<dyn SessionLink>);
        let (engine, own, error) = (Arc::clone(engine), Arc::clone(&shared), Arc::clone(&failed));
        let body = move || {
            let observer: Arc<dyn RunObserver> = Arc::clone(&own) as _;
            let stop = drive(&engine, &options, &observer);
            own.ended(stop, &error);
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

    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// How it stands now. Never waits.
    pub fn state(&self) -> SessionState {
        let inner = self.shared.lock();
        SessionState {
            run: Arc::clone(&inner.run),
            end: inner.end.clone(),
            progress: inner.lines.iter().cloned().collect(),
        }
    }

    /// Why codeteam itself cannot go on, if it cannot and this was not asked before.
    pub fn failure(&self) -> Option<driver::Error> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take()
    }

    /// What went wrong beside the run since this was last asked.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().warnings)
    }

    /// Waits until it is the session's turn or a person's, or the time is up: then `false`.
    pub fn settled(&self, wait: Duration) -> bool {
        let said = self.shared.said.load(Ordering::SeqCst);
        self.shared.wait(wait, |inner| {
            let still = inner.heard >= said && !inner.busy;
            let waits = || matches!(turn(&inner.run), SessionTurn::Work(_) | SessionTurn::Ask(_));
            inner.end.is_some() || (still && waits())
        })
    }

    /// Hands an answer to an assignment in, if it can be one; what comes of it is seen later.
    pub fn submit(&self, id: &AttemptId, text: String) -> Result<(), String> {
        examine(&self.state().run, id, &text)?;
        let id = id.clone();
        self.shared.say(SessionMessage::Submitted { id, text })
    }

    /// Passes on what a person said; what comes of it is seen later.
    pub fn reply(&self, by: &str, question: &AttemptId, answer: &str) -> Result<(), String> {
        self.shared
            .say(SessionMessage::Input(Box::new(Input::Replied {
                at: now(),
                by: by.to_owned(),
                question: question.clone(),
                answer: answer.to_owned(),
            })))
    }

    /// Ends the run.
    pub fn abort(&self, by: &str, reason: &str) -> Result<(), String> {
        let reason = reason.to_owned();
        self.shared
            .say(SessionMessage::Input(Box::new(Input::Decided {
                at: now(),
                by: by.to_owned(),
                decision: Decision::Abort { reason },
            })))
    }

    /// Why the last thing that was said was refused, if it was.
    pub fn refused(&self) -> Option<String> {
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

    fn say(&self, said: SessionMessage) -> Result<(), String> {
        let mut inner = self.lock();
        inner.refused = None;
        let sender = inner.sender.as_ref().filter(|_| inner.end.is_none());
        let sent = sender.is_some_and(|sender| {
            self.said.fetch_add(1, Ordering::SeqCst);
            sender.send(DriverMessage::Said(said)).is_ok()
        });
        sent.then_some(())
            .ok_or_else(|| "the run is no longer led from here".to_owned())
    }

    fn ended(
        &self,
        stop: Result<StopReason, driver::Error>,
        failed: &Mutex<Option<driver::Error>>,
    ) {
        let end = match stop {
            Ok(StopReason::Ended(outcome)) => Some(SessionEnd::Over(outcome)),
            Ok(StopReason::Handed(_)) => Some(SessionEnd::Handed),
            Ok(StopReason::Interrupted | StopReason::Waiting(_) | StopReason::Limited(_)) => None,
            Err(error) => {
                let why = with_causes(&error);
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

    fn shows(&self, run: &Run, heard: u64, busy: bool) {
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

    fn waits(&self, _run: &Run, _effects: &[Effect]) {}

    fn warn(&self, message: &str) {
        self.change(|inner| inner.warnings.push(message.to_owned()));
    }
}
