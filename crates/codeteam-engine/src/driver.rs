//! The loop: input → decide → append → apply → compare what is due with what is in flight.
//!
//! One driver holds one run's lease. Effects are performed on threads of their own and come back
//! as inputs; decisions of people and other processes come through the inbox and are consumed in
//! the same transaction as the events they cause. Recovery after a crash is this same loop with
//! nothing in flight.

mod desk;
pub(crate) mod housekeeping;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codeteam_core::budget;
use codeteam_core::due::next_wake;
use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::event::{FrameOutcome, RunStarted};
use codeteam_core::frame::Question;
use codeteam_core::hands::Operator;
use codeteam_core::ids::{AttemptId, EpochMillis, RunId};
use codeteam_core::input::{Decision, Input};
use codeteam_core::park::ParkReason;
use codeteam_core::{Event, Run, apply, decide, due, rollup};
use serde::{Deserialize, Serialize};

pub(crate) use self::desk::{DriverMessage, SessionLink, SessionMessage};
use crate::artifacts::ArtifactWriter;
use crate::engine::Engine;
use crate::env::{Failpoint, die};
use crate::perform::{self, Halt, Job, JobContext, now};
use crate::process::{self, CancelToken};
use crate::store::{self, AppendRequest, Lease, NewEvent, ProcessIdentity, RunUpdate};
use crate::workers::parks::ParkedAccountsFile;
use crate::{artifacts, tell, workers};

/// How often the holder of a lease says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How old a heartbeat may be before a lease may be taken from a process that seems to live.
const STALE_MS: i64 = 15_000;
/// How often a waiting run looks whether someone has written to its inbox.
const POLL: Duration = Duration::from_millis(20);
/// And one that waits for a session.
const IDLE_POLL: Duration = Duration::from_millis(200);

/// Why a run cannot be driven on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The files for people.
    #[error(transparent)]
    Artifacts(#[from] artifacts::Error),
    /// An event cannot be written down.
    #[error("an event cannot be written as JSON")]
    Encode(#[source] serde_json::Error),
    /// The run's events cannot be read.
    #[error("the run cannot be loaded: {0}")]
    Load(String),
    /// What is due cannot be done until a person has seen to something.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A thread could not be started.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}

/// A decision in the inbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PostedDecision {
    /// Who.
    pub by: String,
    /// What.
    pub decision: Decision,
}

/// Why a driver stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// The run has ended.
    Ended(FrameOutcome),
    /// A person must decide, and the driver was told not to wait.
    Waiting(Vec<Question>),
    /// A limit is reached.
    Limited(budget::LimitKind),
    /// The driver was told to stop.
    Interrupted,
    /// The run is in other hands: a session's, or those of workers again.
    Handed(Operator),
}

/// What a driver tells while it drives.
pub trait RunObserver: Send + Sync {
    /// An event is durable; `run` is the run with it applied.
    fn event(&self, run: &Run, at: EpochMillis, event: &Event);
    /// A worker or a check said something.
    fn line(&self, id: &AttemptId, line: &str);
    /// The run waits for this, now.
    fn waits(&self, run: &Run, effects: &[Effect]);
    /// Something went wrong beside the run itself.
    fn warn(&self, message: &str);
    /// A check or a set-up has begun, or the last one that was told has ended.
    fn busy(&self, _id: &AttemptId, _what: Option<&str>) {}
    /// The files for people say what the run says, now.
    fn written(&self, _run: &Run) {}
}

/// How to drive.
pub struct DriverOptions {
    /// Whether to stay when only a person can go on.
    pub wait: bool,
    /// Set to stop.
    pub interrupt: CancelToken,
    /// Names this process to others.
    pub label: String,
    /// Who carries assignments out, if that is a session.
    pub(crate) desk: Option<Arc<dyn SessionLink>>,
}

impl DriverOptions {
    /// For a run whose assignments are carried out by workers.
    pub fn new(wait: bool, interrupt: CancelToken, label: impl Into<String>) -> Self {
        Self {
            wait,
            interrupt,
            label: label.into(),
            desk: None,
        }
    }
}

/// Starts a run and drives it.
pub fn start(
    engine: &Arc<Engine>,
    started: RunStarted,
    options: &DriverOptions,
    observer: &Arc<dyn RunObserver>,
) -> Result<(RunId, StopReason), Error> {
    let id = started.run.clone();
    let mut driver = Driver::take(engine, &id, Run::default(), options, observer)?;
    let began = Input::Began(Box::new(started));
    let stop = driver.through(|driver| {
        driver.first(&began)?;
        driver.drive()
    })?;
    Ok((id, stop))
}

/// Takes a run up where it stands and drives it.
pub fn resume(
    engine: &Arc<Engine>,
    id: &RunId,
    inputs: Vec<Input>,
    options: &DriverOptions,
    observer: &Arc<dyn RunObserver>,
) -> Result<StopReason, Error> {
    let mut driver = Driver::take(engine, id, Run::default(), options, observer)?;
    driver.through(|driver| {
        driver.take_up()?;
        for input in inputs {
            driver.feed(&input, Vec::new())?;
        }
        // After what people have said: who ends a run needs no trust.
        driver.read_inbox()?;
        engine.check_access(&driver.run)?;
        driver.drive()
    })
}

struct Driver<'a> {
    engine: Arc<Engine>,
    run: Run,
    lease: Lease,
    options: &'a DriverOptions,
    observer: Arc<dyn RunObserver>,
    artifacts: ArtifactWriter,
    inflight: BTreeMap<AttemptId, InFlightJob>,
    tidying: Vec<JoinHandle<()>>,
    results: Receiver<DriverMessage>,
    sender: Sender<DriverMessage>,
    /// How much the session has said.
    heard: u64,
    next_heartbeat: Instant,
    inbox_version: i64,
    parks: Option<ParkedAccountsFile>,
    appended: u64,
    performed: Arc<std::sync::atomic::AtomicU64>,
}

struct InFlightJob {
    cancel: CancelToken,
    thread: JoinHandle<()>,
}

impl<'a> Driver<'a> {
    fn take(
        engine: &Arc<Engine>,
        id: &RunId,
        run: Run,
        options: &'a DriverOptions,
        observer: &Arc<dyn RunObserver>,
    ) -> Result<Self, Error> {
        process::allow_many_files();
        let owner = ProcessIdentity::this_process(options.label.clone());
        let stale = engine.env.lease_stale_ms.unwrap_or(STALE_MS);
        let lease = engine
            .store
            .take_lease(id.as_str(), &owner, millis(now()), stale)?;
        let (sender, results) = channel();
        if let Some(desk) = &options.desk {
            desk.connect(sender.clone());
        }
        Ok(Self {
            engine: Arc::clone(engine),
            run,
            lease,
            options,
            observer: Arc::clone(observer),
            artifacts: ArtifactWriter::default(),
            inflight: BTreeMap::new(),
            tidying: Vec::new(),
            results,
            sender,
            heard: 0,
            next_heartbeat: Instant::now() + HEARTBEAT,
            inbox_version: -1,
            parks: engine
                .state_folder()
                .map(|state| ParkedAccountsFile::of(&state)),
            appended: 0,
            performed: Arc::default(),
        })
    }

    /// Drives, and gives the run back. If it cannot be driven on, too: this process may live on, and
    /// nobody could take the run from it.
    fn through(
        &mut self,
        drive: impl FnOnce(&mut Self) -> Result<StopReason, Error>,
    ) -> Result<StopReason, Error> {
        let driven = drive(self);
        if driven.is_ok() {
            self.leave();
        } else {
            self.abandon();
            let _ = self.engine.store.release(&self.lease);
        }
        driven
    }

    /// Finds out where the run stands.
    fn take_up(&mut self) -> Result<(), Error> {
        let (engine, observer) = (Arc::clone(&self.engine), Arc::clone(&self.observer));
        let id = RunId(self.lease.run.clone());
        // What its log says has happened is not ahead, even if the clock was set back.
        if let Some(row) = engine.store.run(id.as_str())? {
            perform::not_before(EpochMillis(u64::try_from(row.updated_at).unwrap_or(0)));
        }
        // Only with the lease is nobody else writing.
        self.run = engine
            .load(&id)
            .map_err(|e| Error::Load(perform::with_causes(&e)))?;
        process::sweep(&engine.mark_of(&id));
        perform::recover_logins(&engine, &id, &mut |message| observer.warn(message));
        let lost = self
            .run
            .outstanding
            .values()
            .map(|o| {
                (
                    o.id.clone(),
                    perform::spent(&engine, &id, o.id.fence).unwrap_or_default(),
                )
            })
            .collect();
        self.artifacts = ArtifactWriter::reopen(&engine, &self.run)?;
        // A run that is to be ended starts nothing again before that.
        self.take_messages(|posted| matches!(posted.decision, Decision::Abort { .. }))?;
        self.first(&Input::Resumed { at: now(), lost })
    }

    fn first(&mut self, input: &Input) -> Result<(), Error> {
        self.feed(input, Vec::new())
    }

    fn drive(&mut self) -> Result<StopReason, Error> {
        loop {
            self.read_inbox()?;
            self.hear_of_parks()?;
            if self.is_elsewhere() {
                // What is under way is begun anew there, and counted as lost here.
                self.abandon();
                return Ok(StopReason::Handed(self.run.hands));
            }
            let effects = due(&self.run);
            self.reconcile(&effects)?;
            if self.options.interrupt.is_cancelled() {
                self.abandon();
                return Ok(StopReason::Interrupted);
            }
            if let Some(desk) = &self.options.desk {
                desk.shows(&self.run, self.heard, !self.inflight.is_empty());
            }
            if self.inflight.is_empty() {
                if let Some(stop) = self.stop(&effects) {
                    return Ok(stop);
                }
                if let Some(outcome) = &self.run.outcome {
                    return Ok(StopReason::Ended(outcome.clone()));
                }
                self.observer.waits(&self.run, &effects);
            }
            self.wait()?;
        }
    }

    /// Whether the run is in other hands than those that this driver is for.
    fn is_elsewhere(&self) -> bool {
        let own = match self.options.desk {
            Some(_) => Operator::Session,
            None => Operator::Workers,
        };
        self.run.hands != own && !self.run.is_terminal()
    }

    /// Whether the driver has nothing more to do here and may not wait. Nobody can raise a limit of a
    /// run that is being driven, so that is never waited for alone.
    fn stop(&self, effects: &[Effect]) -> Option<StopReason> {
        if self.run.is_terminal() {
            return None;
        }
        let asked = effects.iter().any(|e| matches!(e, Effect::Ask(_)));
        let limit = effects.iter().find_map(|e| match e {
            Effect::Wait {
                why: WaitReason::Limit { what },
                ..
            } => Some(*what),
            _ => None,
        });
        let timed = effects
            .iter()
            .any(|e| matches!(e, Effect::Wait { until: Some(_), .. }));
        // What waits for a time could not start then: the limit holds for it too.
        if timed && limit.is_none() {
            return None;
        }
        let may_wait = asked || limit.is_none() || self.options.desk.is_some();
        if self.options.wait && may_wait {
            return None;
        }
        if let Some(what) = limit {
            return Some(StopReason::Limited(what));
        }
        let questions: Vec<Question> = effects
            .iter()
            .filter_map(|e| match e {
                Effect::Ask(question) => Some(Question::clone(question)),
                _ => None,
            })
            .collect();
        (!questions.is_empty()).then_some(StopReason::Waiting(questions))
    }

    /// Starts what is due and not in flight; cancels what is in flight and no longer due.
    fn reconcile(&mut self, effects: &[Effect]) -> Result<(), Error> {
        let wanted: BTreeMap<&AttemptId, &Effect> = effects
            .iter()
            .filter_map(|e| e.attempt().map(|id| (id, e)))
            .collect();
        for (id, flight) in &self.inflight {
            if !wanted.contains_key(id) {
                flight.cancel.cancel();
            }
        }
        for (id, effect) in wanted {
            let busy = self.inflight.contains_key(id) || self.frame_is_busy(id);
            if busy || self.is_handed(effect) {
                continue;
            }
            if let Some(job) = perform::job(&self.run, effect) {
                self.launch(job)?;
            }
        }
        Ok(())
    }

    /// Whether something cancelled still runs in the frame's worktree.
    fn frame_is_busy(&self, id: &AttemptId) -> bool {
        self.inflight.iter().any(|(other, flight)| {
            other.frame == id.frame && other.slot == id.slot && flight.cancel.is_cancelled()
        })
    }

    fn launch(&mut self, job: Job) -> Result<(), Error> {
        let (id, cancel) = (job.id.clone(), CancelToken::new());
        let (engine, observer) = (Arc::clone(&self.engine), Arc::clone(&self.observer));
        let (sender, own) = (self.sender.clone(), cancel.clone());
        let performed = Arc::clone(&self.performed);
        let body = move || {
            let lines = |id: &AttemptId, line: &str| observer.line(id, line);
            let report = |input: Input| drop(sender.send(DriverMessage::Done(Ok(input))));
            let busy = |id: &AttemptId, what: Option<&str>| observer.busy(id, what);
            let context = JobContext {
                engine: &engine,
                cancel: own,
                lines: &lines,
                report: &report,
                busy: &busy,
            };
            let done = perform::perform(&job, &context);
            let count = performed.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
            if engine.env.failpoint == Some(Failpoint::Performed(count)) {
                die();
            }
            // The driver is gone only if it no longer wants to know.
            let _ = sender.send(DriverMessage::Done(done));
        };
        let thread = std::thread::Builder::new()
            .name(format!("attempt {}", id.fence))
            .spawn(body)
            .map_err(Error::Thread)?;
        self.inflight.insert(id, InFlightJob { cancel, thread });
        Ok(())
    }

    /// Waits for a result, a time, a message or a heartbeat.
    fn wait(&mut self) -> Result<(), Error> {
        let until = next_wake(&self.run);
        // A session may be open all day, and what it says is heard at once.
        let poll = match &self.options.desk {
            Some(_) if self.inflight.is_empty() => IDLE_POLL,
            _ => POLL,
        };
        let timer = until.map_or(poll, |u| Duration::from_millis(u.since(now())));
        match self.results.recv_timeout(timer.min(poll)) {
            Ok(DriverMessage::Said(said)) => self.hear(said)?,
            Ok(DriverMessage::Done(done)) => {
                let input = done?;
                self.landed(&input);
                self.feed(&input, Vec::new())?;
                self.measure_disk()?;
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        // However busy a run is, its time passes.
        let at = now();
        if until.is_some_and(|until| until <= at) {
            self.feed(&Input::Woke { at }, Vec::new())?;
        }
        self.beat()
    }

    /// Measures what the run takes on the disk, if that is limited.
    fn measure_disk(&mut self) -> Result<(), Error> {
        if self.run.budget.limits.disk_bytes.is_none() || self.run.is_terminal() {
            return Ok(());
        }
        let bytes = self.engine.disk_used(&self.run.id);
        self.feed(&Input::DiskMeasured { at: now(), bytes }, Vec::new())
    }

    fn landed(&mut self, input: &Input) {
        let (Input::WorkerExited { id, .. }
        | Input::GateFinished { id, .. }
        | Input::Rebased { id, .. }
        | Input::Integrated { id, .. }
        | Input::Published { id, .. }
        | Input::Delivered { id, .. }
        | Input::EffectFailed { id, .. }) = input
        else {
            return;
        };
        if let Some(flight) = self.inflight.remove(id) {
            // It has sent its last word; what is left is the end of its closure.
            let _ = flight.thread.join();
        }
    }

    fn beat(&mut self) -> Result<(), Error> {
        if Instant::now() >= self.next_heartbeat {
            self.engine.store.heartbeat(&self.lease, millis(now()))?;
            self.sync_logins();
            self.next_heartbeat = Instant::now() + HEARTBEAT;
        }
        Ok(())
    }

    /// Passes renewed logins on, to the user and to everybody else who has them.
    fn sync_logins(&self) {
        if let Err(error) = self.engine.logins.sync() {
            let why = perform::with_causes(&error);
            self.observer
                .warn(&format!("a renewed login was not taken over yet: {why}"));
        }
    }

    /// Takes in what other processes have written since it was last looked at.
    fn read_inbox(&mut self) -> Result<(), Error> {
        let version = self.engine.store.data_version()?;
        if version == self.inbox_version {
            return Ok(());
        }
        self.inbox_version = version;
        self.take_messages(|_| true)
    }

    /// Takes in the messages that are wanted, each with its consequences in one transaction.
    fn take_messages(&mut self, wanted: impl Fn(&PostedDecision) -> bool) -> Result<(), Error> {
        for row in self.engine.store.inbox(self.run.id.as_str())? {
            let input = match serde_json::from_str::<PostedDecision>(&row.data) {
                Ok(posted) if !wanted(&posted) => continue,
                Ok(PostedDecision { by, decision }) => Input::Decided {
                    at: now(),
                    by,
                    decision,
                },
                Err(error) => {
                    self.observer
                        .warn(&format!("a message in the inbox makes no sense: {error}"));
                    Input::Woke { at: now() }
                }
            };
            self.feed(&input, vec![row.id])?;
        }
        Ok(())
    }

    /// Takes in what other runs have found of the accounts that this one uses.
    fn hear_of_parks(&mut self) -> Result<(), Error> {
        let at = now();
        let news = self.parks.as_mut().map(|parks| parks.news(at));
        for (account, until) in news.unwrap_or_default() {
            let mut workers = self.run.roles.values().flat_map(|role| &role.workers);
            if workers.any(|worker| self.run.account(worker) == account) {
                self.feed(&Input::AccountLimited { at, account, until }, Vec::new())?;
            }
        }
        Ok(())
    }

    /// One input, without any secret in it, to its last consequence.
    fn feed(&mut self, input: &Input, consumed: Vec<i64>) -> Result<(), Error> {
        let mut input = input.clone();
        let removed = self.engine.filter_input(&mut input);
        if let Some(notice) = removed.notice().filter(|_| is_said_by_person(&input)) {
            self.observer.warn(&notice);
        }
        let input = &input;
        let events = decide(&self.run, input);
        if events.is_empty() && consumed.is_empty() {
            return Ok(());
        }
        let at = input.at();
        let expected_seq = self.run.seq;
        let mut after = self.run.clone();
        let mut encoded = Vec::with_capacity(events.len());
        for event in &events {
            apply(&mut after, event);
            encoded.push(NewEvent {
                kind: event.kind().to_owned(),
                version: event.version(),
                data: serde_json::to_string(event).map_err(Error::Encode)?,
            });
        }
        let row = RunUpdate {
            goal: after.goal.clone(),
            created_at: millis(after.started),
            status: rollup::status(&after).as_str().to_owned(),
            headline: tell::headline(&after),
        };
        self.engine.store.append(AppendRequest {
            run: after.id.0.clone(),
            expected_seq,
            token: self.lease.token,
            at: millis(at),
            events: encoded,
            consumed,
            row: Some(row),
        })?;
        self.count_appended(events.len());
        // Shown event by event, each with the run as it was then.
        let mut ended = Vec::new();
        for event in &events {
            ended.extend(self.ending(event));
            self.artifacts.before(&self.run, event);
            apply(&mut self.run, event);
            self.artifacts.after(&self.run, event);
            // An outage may be of this run's own network; what an account may use is the same for all.
            if let (
                Event::AccountParked {
                    account,
                    until,
                    why: ParkReason::Quota | ParkReason::RateLimit,
                },
                Some(parks),
            ) = (event, &self.parks)
                && workers::has_quota(&self.engine.config, &self.run, account)
            {
                parks.tell(account, *until, at);
            }
            self.observer.event(&self.run, at, event);
        }
        self.artifacts.write(&self.engine, &self.run, at, &events)?;
        self.observer.written(&self.run);
        self.clean_up(ended);
        Ok(())
    }

    fn count_appended(&mut self, events: usize) {
        let before = self.appended;
        self.appended += events as u64;
        if let Some(Failpoint::Appended(n)) = self.engine.env.failpoint
            && before < n
            && n <= self.appended
        {
            die();
        }
    }

    /// Stops everything in flight without asking what it had; a resumed run starts it again.
    fn abandon(&mut self) {
        for flight in self.inflight.values() {
            flight.cancel.cancel();
        }
        for (_, flight) in std::mem::take(&mut self.inflight) {
            let _ = flight.thread.join();
        }
    }

    /// Gives the run back.
    fn leave(&mut self) {
        self.sweep_worktrees();
        if let Err(error) = self.engine.store.release(&self.lease) {
            self.observer
                .warn(&format!("the lease could not be given back: {error}"));
        }
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        // However the driver ends, nothing it started lives on.
        self.abandon();
        self.tidied();
    }
}

/// Whether it is a person's words that an input brings.
fn is_said_by_person(input: &Input) -> bool {
    matches!(
        input,
        Input::Began(_) | Input::Decided { .. } | Input::Replied { .. } | Input::PlanEdited { .. }
    )
}

fn millis(at: EpochMillis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}
