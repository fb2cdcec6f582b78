//! The loop that drives one run: input → decide → append → apply → compare what is due with what is
//! in flight.
//!
//! One driver holds one run's lease. Effects are performed on threads of their own, and their
//! results come back as inputs. Decisions of people and other processes arrive through the inbox
//! and are consumed in the same transaction as the events they cause. Recovery after a crash is
//! this same loop with nothing in flight.

pub(crate) mod housekeeping;
mod notices;
mod recovery;
mod rollback;
mod session_link;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codeteam_core::budget;
use codeteam_core::due::next_wake;
use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::event::RunStarted;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::Question;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RunId};
use codeteam_core::input::{Decision, Input};
use codeteam_core::operator::Operator;
use codeteam_core::park::ParkReason;
use codeteam_core::{Event, Run, Transition, apply, decide, due, rollup};

use self::notices::notifications_for;
pub(crate) use self::session_link::{DriverMessage, SessionLink, SessionMessage};
use self::upkeep::RunUpkeep;
use crate::clock::now;
pub use crate::driver_error::DriverError as Error;
use crate::engine::Engine;
use crate::engine::PostedDecision;
use crate::env::{Failpoint, die};
use crate::notify::NotificationQueue;
use crate::perform::{self, Job, JobContext};
use crate::trace::TraceFiles;
use crate::workers;
use crate::workers::parks::ParkedAccountsFile;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::process::{self, CancelToken};
use codeteam_host::store::{AppendRequest, Lease, NewEvent, ProcessIdentity, RunUpdate};
use codeteam_report::artifacts::ArtifactWriter;
use codeteam_report::describe;

/// The interval at which the holder of a lease renews its heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// The age in milliseconds at which a heartbeat is stale, so that another process may take the
/// lease even though its holder seems to be alive.
const STALE_MS: i64 = 15_000;
/// How often a waiting driver polls the inbox of its run.
const POLL: Duration = Duration::from_millis(20);
/// How often it polls while it waits for a session.
const IDLE_POLL: Duration = Duration::from_millis(200);

pub use self::rollback::carry_out_rollback;

/// The reason why a driver stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// The run has ended.
    Ended(FrameOutcome),
    /// A person must decide, and the driver was told not to wait.
    Waiting(Vec<Question>),
    /// The run has reached one of its limits.
    Limited(budget::LimitKind),
    /// The driver was interrupted from outside.
    Interrupted,
    /// The run has another operator now: a session, or workers again.
    HandedOver(Operator),
}

/// Receives what happens while a driver drives a run, for display.
///
/// The calls come from several threads: `line` and `busy` from those of the jobs, `warn` also from
/// the clean-up in the background. `event` is called once for each event, in order, after it has
/// been stored and applied; `files_written` follows once all events of an input are shown and the
/// files for people are up to date.
pub trait RunObserver: Send + Sync {
    /// An event has been stored; `run` is the run with it applied.
    fn event(&self, run: &Run, at: EpochMillis, event: &Event);
    /// A worker or a check has printed a line.
    fn line(&self, id: &AttemptId, line: &str);
    /// Nothing is in flight, and the run now waits for these effects.
    fn waiting(&self, run: &Run, effects: &[Effect]);
    /// Something went wrong that does not affect the run itself.
    fn warn(&self, message: &str);
    /// A check or a set-up has begun, or, with `None`, the last one reported has ended.
    fn busy(&self, _id: &AttemptId, _what: Option<&str>) {}
    /// The files for people now match the state of the run.
    fn files_written(&self, _run: &Run) {}
}

/// The options of a driver.
pub struct DriverOptions {
    /// Whether to keep waiting when only a person can make the run continue.
    pub wait: bool,
    /// Cancelled by the caller to stop the driver.
    pub interrupt: CancelToken,
    /// Identifies this process to others that want the lease.
    pub label: String,
    /// The session that carries out assignments, if there is one.
    pub(crate) session_link: Option<Arc<dyn SessionLink>>,
}

impl DriverOptions {
    /// Creates options for a run whose assignments are carried out by workers.
    pub fn new(wait: bool, interrupt: CancelToken, label: impl Into<String>) -> Self {
        Self {
            wait,
            interrupt,
            label: label.into(),
            session_link: None,
        }
    }
}

/// Starts a new run and drives it until it stops.
pub fn start(
    engine: &Arc<Engine>,
    started: RunStarted,
    options: &DriverOptions,
    observer: &Arc<dyn RunObserver>,
) -> Result<(RunId, StopReason), Error> {
    let id = started.run.clone();
    let mut driver = Driver::acquire(engine, &id, Run::default(), options, observer)?;
    let began = Input::Began(Box::new(started));
    let stop = driver.drive_and_release(|driver| {
        driver.handle_first_input(&began)?;
        driver.drive()
    })?;
    Ok((id, stop))
}

/// Resumes a run from its log, handles `inputs`, and drives it until it stops.
pub fn resume(
    engine: &Arc<Engine>,
    id: &RunId,
    inputs: Vec<Input>,
    options: &DriverOptions,
    observer: &Arc<dyn RunObserver>,
) -> Result<StopReason, Error> {
    let mut driver = Driver::acquire(engine, id, Run::default(), options, observer)?;
    driver.drive_and_release(|driver| {
        driver.recover()?;
        for input in inputs {
            driver.handle_input(&input, Vec::new())?;
        }
        // Check access after reading the inbox: ending a run needs no trust.
        driver.read_inbox()?;
        engine.check_access(&driver.run)?;
        driver.drive()
    })
}

/// The state of the loop that drives one run.
///
/// A driver is created by taking the run's lease, so at most one exists for a run. Then it either
/// handles `Input::Began` for a new run, or rebuilds the run from its log and handles
/// `Input::Resumed`. After that `drive` repeats these steps until there is a reason to stop:
///
/// 1. Read the inbox and the parked accounts, and handle each message as an input.
/// 2. Ask core what is due, start what is not in flight yet, and cancel what is in flight and no
///    longer due.
/// 3. Wait for a result, a timer, a message or the next heartbeat.
///
/// Every input goes through `handle_input`: secrets are removed, core decides, the events are
/// appended in one transaction under the lease's token, and only then are they applied, shown and
/// written to files. Nothing that exists only in memory matters after a crash. Dropping the driver
/// cancels and joins everything it has started.
struct Driver<'a> {
    engine: Arc<Engine>,
    run: Run,
    lease: Lease,
    options: &'a DriverOptions,
    observer: Arc<dyn RunObserver>,
    artifacts: ArtifactWriter,
    traces: TraceFiles,
    /// What the diagnostic log says of everything that is done for this run.
    run_span: tracing::Span,
    /// The same for the frames that are open and have had work to do.
    frame_spans: BTreeMap<FramePath, tracing::Span>,
    inflight: BTreeMap<AttemptId, InFlightJob>,
    cleanup_threads: Vec<JoinHandle<()>>,
    results: Receiver<DriverMessage>,
    sender: Sender<DriverMessage>,
    /// The number of messages of the session handled so far.
    session_messages_handled: u64,
    next_heartbeat: Instant,
    inbox_version: i64,
    parks: Option<ParkedAccountsFile>,
    appended: u64,
    performed: Arc<std::sync::atomic::AtomicU64>,
    upkeep: RunUpkeep,
    notifications: Option<NotificationQueue>,
}

/// A job that runs on a thread of its own, and the token that cancels it.
struct InFlightJob {
    cancel: CancelToken,
    thread: JoinHandle<()>,
    span: tracing::Span,
    started: Instant,
}

impl<'a> Driver<'a> {
    fn acquire(
        engine: &Arc<Engine>,
        id: &RunId,
        run: Run,
        options: &'a DriverOptions,
        observer: &Arc<dyn RunObserver>,
    ) -> Result<Self, Error> {
        process::raise_file_limit();
        let owner = ProcessIdentity::this_process(options.label.clone());
        let stale = engine.env.lease_stale_ms.unwrap_or(STALE_MS);
        let lease = engine
            .store
            .take_lease(id.as_str(), &owner, millis(now()), stale)?;
        let run_span = tracing::info_span!("run", id = %id);
        run_span.in_scope(|| tracing::debug!(token = lease.token, "took the lease"));
        let (sender, results) = channel();
        if let Some(desk) = &options.session_link {
            desk.connect(sender.clone());
        }
        Ok(Self {
            engine: Arc::clone(engine),
            run,
            lease,
            options,
            observer: Arc::clone(observer),
            artifacts: ArtifactWriter::default(),
            traces: TraceFiles::default(),
            run_span,
            frame_spans: BTreeMap::new(),
            inflight: BTreeMap::new(),
            cleanup_threads: Vec::new(),
            results,
            sender,
            session_messages_handled: 0,
            next_heartbeat: Instant::now() + HEARTBEAT,
            inbox_version: -1,
            parks: engine
                .state_folder()
                .map(|state| ParkedAccountsFile::in_folder(&state)),
            appended: 0,
            performed: Arc::default(),
            upkeep: RunUpkeep::default(),
            notifications: None,
        })
    }

    /// Drives the run and releases its lease, also if driving fails: this process may live on, and
    /// then nobody else could take the run.
    fn drive_and_release(
        &mut self,
        drive: impl FnOnce(&mut Self) -> Result<StopReason, Error>,
    ) -> Result<StopReason, Error> {
        let span = self.run_span.clone();
        let _inside = span.enter();
        let driven = drive(self);
        let driven = driven.and_then(|stop| {
            self.artifacts.flush(self.engine.records(), &self.run)?;
            Ok(stop)
        });
        match &driven {
            Ok(stop) => tracing::info!("stopped driving: {stop:?}"),
            Err(error) => tracing::error!("stopped driving: {}", format_error_chain(error)),
        }
        if driven.is_ok() {
            self.release();
        } else {
            self.abandon();
            let _ = self.engine.store.release(&self.lease);
        }
        driven
    }

    /// Rebuilds the run from its log and prepares it to be driven: ends leftover processes,
    /// recovers lent logins, and reports attempts that were lost.
    fn recover(&mut self) -> Result<(), Error> {
        let (engine, observer) = (Arc::clone(&self.engine), Arc::clone(&self.observer));
        let id = RunId(self.lease.run.clone());
        // Events that are in the log are in the past, even if the clock was set back.
        if let Some(row) = engine.store.run(id.as_str())? {
            crate::clock::advance_clock(EpochMillis(u64::try_from(row.updated_at).unwrap_or(0)));
        }
        // Load the run only now: with the lease, nobody else writes to it.
        self.run = engine
            .replay_run(&id)
            .map_err(|e| Error::Load(format_error_chain(&e)))?;
        process::kill_marked(&engine.process_mark(&id));
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
        recovery::recall_outcomes(&engine, &self.run);
        self.artifacts = ArtifactWriter::reopen(engine.records(), &self.run)?;
        self.traces = TraceFiles::reopen(&engine, &self.run)?;
        // If the run is to be aborted, handle that first, so that nothing starts again before.
        self.take_messages(|posted| matches!(posted.decision, Decision::Abort { .. }))?;
        self.handle_first_input(&Input::Resumed { at: now(), lost })
    }

    fn handle_first_input(&mut self, input: &Input) -> Result<(), Error> {
        self.handle_input(input, Vec::new())
    }

    fn drive(&mut self) -> Result<StopReason, Error> {
        loop {
            self.read_inbox()?;
            self.read_parked_accounts()?;
            if self.has_other_operator() {
                // The other driver starts over whatever is in flight; here it counts as lost.
                self.abandon();
                return Ok(StopReason::HandedOver(self.run.operator));
            }
            let effects = due(&self.run);
            self.reconcile(&effects)?;
            if self.options.interrupt.is_cancelled() {
                self.abandon();
                return Ok(StopReason::Interrupted);
            }
            if let Some(desk) = &self.options.session_link {
                desk.publish_state(
                    &self.run,
                    self.session_messages_handled,
                    !self.inflight.is_empty(),
                );
            }
            if self.inflight.is_empty() {
                if let Some(stop) = self.stop_reason(&effects) {
                    return Ok(stop);
                }
                if let Some(outcome) = &self.run.outcome {
                    return Ok(StopReason::Ended(outcome.clone()));
                }
                // It may be a long time until objects are needed again.
                self.engine.repo.close_reader();
                self.observer.waiting(&self.run, &effects);
            }
            self.wait()?;
        }
    }

    /// Returns true if the run has been handed to another operator than the one this driver serves.
    fn has_other_operator(&self) -> bool {
        let own = match self.options.session_link {
            Some(_) => Operator::Session,
            None => Operator::Workers,
        };
        self.run.operator != own && !self.run.is_terminal()
    }

    /// Returns a reason to stop if the driver can do nothing more and may not wait. Nobody can
    /// raise a limit of a run that is being driven, so the driver never waits for that alone.
    fn stop_reason(&self, effects: &[Effect]) -> Option<StopReason> {
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
        // An effect that waits for a time could not start then either: the limit applies to it too.
        if timed && limit.is_none() {
            return None;
        }
        let may_wait = asked || limit.is_none() || self.options.session_link.is_some();
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
            if !wanted.contains_key(id) && !flight.cancel.is_cancelled() {
                tracing::debug!(parent: &flight.span, "effect is no longer due, cancelling it");
                flight.cancel.cancel();
            }
        }
        for (id, effect) in wanted {
            let busy = self.inflight.contains_key(id) || self.frame_is_busy(id);
            if busy || self.belongs_to_session(effect) {
                continue;
            }
            if let Some(job) = perform::job_for_effect(&self.run, effect) {
                self.launch(job)?;
            }
        }
        Ok(())
    }

    /// Returns true if a cancelled job still runs in the frame's worktree.
    fn frame_is_busy(&self, id: &AttemptId) -> bool {
        self.inflight.iter().any(|(other, flight)| {
            other.frame == id.frame && other.slot == id.slot && flight.cancel.is_cancelled()
        })
    }

    fn launch(&mut self, job: Job) -> Result<(), Error> {
        let (id, cancel) = (job.id.clone(), CancelToken::new());
        let kind = job.kind.name();
        let (engine, observer) = (Arc::clone(&self.engine), Arc::clone(&self.observer));
        let (sender, own) = (self.sender.clone(), cancel.clone());
        let performed = Arc::clone(&self.performed);
        let span = self.attempt_span(&id);
        let inside = span.clone();
        let body = move || {
            let _inside = inside.enter();
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
            // Sending fails only if the driver is gone and no longer needs the result.
            let _ = sender.send(DriverMessage::Done(done));
        };
        let thread = std::thread::Builder::new()
            .name(format!("attempt {}", id.fence))
            .spawn(body)
            .map_err(Error::Thread)?;
        let in_flight = self.inflight.len() + 1;
        tracing::debug!(parent: &span, in_flight, "effect started: {kind}");
        let flight = InFlightJob {
            cancel,
            thread,
            span,
            started: Instant::now(),
        };
        self.inflight.insert(id, flight);
        Ok(())
    }

    /// Returns the span of an attempt, inside that of its frame.
    fn attempt_span(&mut self, id: &AttemptId) -> tracing::Span {
        if self.run_span.is_disabled() {
            return tracing::Span::none();
        }
        let run = &self.run_span;
        let frame = self
            .frame_spans
            .entry(id.frame.clone())
            .or_insert_with(|| tracing::info_span!(parent: run, "frame", path = %id.frame));
        tracing::info_span!(
            parent: &*frame,
            "attempt",
            step = %id.step,
            generation = id.generation,
            slot = id.slot,
            attempt = id.attempt,
            fence = id.fence
        )
    }

    /// Waits for a result, a timer, a message or a heartbeat.
    fn wait(&mut self) -> Result<(), Error> {
        self.artifacts
            .flush_if_due(self.engine.records(), &self.run)?;
        let until = next_wake(&self.run);
        // A session may be open all day, so poll the inbox less often. Its own messages still
        // arrive at once, through the channel.
        let poll = match &self.options.session_link {
            Some(_) if self.inflight.is_empty() => IDLE_POLL,
            _ => POLL,
        };
        let timer = until.map_or(poll, |u| Duration::from_millis(u.since(now())));
        match self.results.recv_timeout(timer.min(poll)) {
            Ok(DriverMessage::FromSession(said)) => self.handle_session_message(said)?,
            Ok(DriverMessage::Done(done)) => {
                let input = done?;
                self.join_finished(&input);
                self.handle_input(&input, Vec::new())?;
                self.measure_disk()?;
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        // Check the timer on every pass, so that it fires however many results arrive.
        let at = now();
        if until.is_some_and(|until| until <= at) {
            self.handle_input(&Input::Woke { at }, Vec::new())?;
        }
        self.send_heartbeat()
    }

    /// Measures the run's disk usage, if that is limited.
    fn measure_disk(&mut self) -> Result<(), Error> {
        if self.run.budget.limits.disk_bytes.is_none() || self.run.is_terminal() {
            return Ok(());
        }
        let bytes = self.engine.disk_used(&self.run.id);
        self.handle_input(&Input::DiskMeasured { at: now(), bytes }, Vec::new())
    }

    fn join_finished(&mut self, input: &Input) {
        let (Input::WorkerExited { id, .. }
        | Input::GateFinished { id, .. }
        | Input::Rebased { id, .. }
        | Input::Integrated { id, .. }
        | Input::Published { id, .. }
        | Input::Delivered { id, .. }
        | Input::BranchMoved { id, .. }
        | Input::InterfacesWritten { id, .. }
        | Input::RiskRead { id, .. }
        | Input::Notified { id, .. }
        | Input::EffectFailed { id, .. }) = input
        else {
            return;
        };
        if let Some(flight) = self.inflight.remove(id) {
            tracing::debug!(
                parent: &flight.span,
                ms = flight.started.elapsed().as_millis(),
                in_flight = self.inflight.len(),
                cancelled = flight.cancel.is_cancelled(),
                failed = matches!(input, Input::EffectFailed { .. }),
                "effect finished"
            );
            // The thread has sent its result, so it is about to end.
            let _ = flight.thread.join();
        }
    }

    fn send_heartbeat(&mut self) -> Result<(), Error> {
        if Instant::now() >= self.next_heartbeat {
            self.engine.store.heartbeat(&self.lease, millis(now()))?;
            tracing::trace!(token = self.lease.token, "renewed the lease");
            self.sync_logins();
            self.next_heartbeat = Instant::now() + HEARTBEAT;
        }
        Ok(())
    }

    /// Passes renewed logins on to the user's file and to every other worker that has a copy.
    fn sync_logins(&self) {
        if let Err(error) = self.engine.logins.sync() {
            let why = format_error_chain(&error);
            self.observer
                .warn(&format!("a renewed login was not taken over yet: {why}"));
        }
    }

    /// Handles what other processes have written to the inbox since the last call.
    fn read_inbox(&mut self) -> Result<(), Error> {
        let version = self.engine.store.data_version()?;
        if version == self.inbox_version {
            return Ok(());
        }
        self.inbox_version = version;
        self.take_messages(|_| true)
    }

    /// Handles the wanted messages of the inbox, each in one transaction with its consequences.
    fn take_messages(&mut self, wanted: impl Fn(&PostedDecision) -> bool) -> Result<(), Error> {
        for row in self.engine.store.inbox(self.run.id.as_str())? {
            let input = match serde_json::from_str::<PostedDecision>(&row.data) {
                Ok(posted) if !wanted(&posted) => continue,
                Ok(posted) => self.decided(posted),
                Err(error) => {
                    self.observer
                        .warn(&format!("a message in the inbox makes no sense: {error}"));
                    Input::Woke { at: now() }
                }
            };
            tracing::debug!(message = row.id, "took a message from the inbox");
            self.handle_input(&input, vec![row.id])?;
        }
        Ok(())
    }

    /// Makes the input of a decision from the inbox.
    fn decided(&self, posted: PostedDecision) -> Input {
        let (by, is_signed) = (posted.by.clone(), posted.signature.is_some());
        let input = self.engine.decision_input(&self.run, posted);
        if matches!(&input, Input::Decided { identity: None, .. }) {
            let what = if is_signed {
                "its signature is not of anybody who is known here"
            } else {
                "others than its owner may write the log, so anybody could have written it"
            };
            self.observer
                .warn(&format!("it is not known who decided as `{by}`: {what}"));
        }
        input
    }

    /// Handles what other runs have learned about the accounts that this run uses.
    fn read_parked_accounts(&mut self) -> Result<(), Error> {
        let at = now();
        let news = self.parks.as_mut().map(|parks| parks.read_changes(at));
        for (account, until) in news.unwrap_or_default() {
            let mut workers = self.run.roles.values().flat_map(|role| &role.workers);
            if workers.any(|worker| self.run.worker_account(worker) == account) {
                self.handle_input(&Input::AccountLimited { at, account, until }, Vec::new())?;
            }
        }
        Ok(())
    }

    /// Handles one input completely: removes secrets from it, decides, stores the events, applies
    /// them, shows them and writes the files. `consumed` are the inbox messages to remove in the
    /// same transaction.
    fn handle_input(&mut self, input: &Input, consumed: Vec<i64>) -> Result<(), Error> {
        let mut input = input.clone();
        let removed = self.engine.filter_input(&mut input);
        if let Some(notice) = removed.notice().filter(|_| comes_from_person(&input)) {
            self.observer.warn(&notice);
        }
        let input = &input;
        let Transition { events, run: after } = decide(&self.run, input);
        if events.is_empty() && consumed.is_empty() {
            return Ok(());
        }
        let at = input.at();
        let expected_seq = self.run.seq;
        let mut encoded = Vec::with_capacity(events.len());
        for event in &events {
            encoded.push(NewEvent {
                kind: event.kind().to_owned(),
                version: event.version(),
                data: serde_json::to_string(event).map_err(Error::Encode)?,
            });
        }
        let notifications = notifications_for(&events, &after, at);
        let row = RunUpdate {
            goal: after.goal.clone(),
            created_at: millis(after.started),
            status: rollup::run_status(&after).as_str().to_owned(),
            headline: describe::headline(&after),
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
        self.notify(notifications);
        // Show event by event, each with the run as it was at that event.
        let mut ended = Vec::new();
        for event in &events {
            ended.extend(self.ended_frame(event));
            self.artifacts.observe_before(&self.run, event);
            apply(&mut self.run, event);
            self.log_event(event);
            self.artifacts.observe_after(&self.run, event);
            // Announce quotas and rate limits only: these are the same for every run, whereas an
            // outage may be due to this run's own network.
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
                parks.announce(account, *until, at);
            }
            self.observer.event(&self.run, at, event);
        }
        self.artifacts
            .write(self.engine.records(), &self.run, at, &events)?;
        self.traces.write(&self.engine, &self.run, at, &events)?;
        self.observer.files_written(&self.run);
        self.clean_up(ended);
        self.keep_up();
        Ok(())
    }

    /// Logs an event that was stored and applied. The event itself is in the run's own log.
    fn log_event(&mut self, event: &Event) {
        let seq = self.run.seq;
        if let Event::FrameEnded { frame, .. } = event {
            tracing::debug!(seq, %frame, "event {}", event.kind());
            self.frame_spans.remove(frame);
        } else {
            tracing::debug!(seq, "event {}", event.kind());
        }
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

    /// Cancels everything in flight and discards its results; a resumed run starts it again.
    fn abandon(&mut self) {
        for flight in self.inflight.values() {
            tracing::debug!(parent: &flight.span, "effect cancelled, its result is discarded");
            flight.cancel.cancel();
        }
        for (_, flight) in std::mem::take(&mut self.inflight) {
            let _ = flight.thread.join();
        }
    }

    /// Cleans up worktrees and releases the lease.
    fn release(&mut self) {
        self.sweep_worktrees();
        self.finish_upkeep();
        tracing::debug!(token = self.lease.token, "giving the lease back");
        if let Err(error) = self.engine.store.release(&self.lease) {
            self.observer
                .warn(&format!("the lease could not be given back: {error}"));
        }
        self.keep_text_budget();
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        // However the driver ends, nothing it started lives on.
        self.abandon();
        self.wait_for_cleanup();
    }
}

/// Returns true if an input carries a person's words.
fn comes_from_person(input: &Input) -> bool {
    matches!(
        input,
        Input::Began(_) | Input::Decided { .. } | Input::Replied { .. } | Input::PlanEdited { .. }
    )
}

fn millis(at: EpochMillis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}
