//! The task of this checkout: which run it is, whether this process leads it, and what a session
//! may do with it.
//!
//! Everything here may block, so the server runs it off its loop.

mod leading_session;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codeteam_core::event::RunStarted;
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::operator::Operator;
use codeteam_core::session::{self, SessionTurn};
use codeteam_engine::Engine;
use codeteam_engine::driver;
use codeteam_engine::engine::{Error, RunRequest};
use codeteam_engine::env::Env;
use codeteam_engine::session::{
    CheckoutUpdate, SessionEnd, SessionRun, lock_task_start, open_runs, prepare, take_back,
    update_checkout, was_taken_back,
};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::store;
use codeteam_report::describe;
use rmcp::ErrorData;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) use self::leading_session::{LeadingSession, ObservedRun};
use super::clients::LeaderNotice;
use super::task_history::USER_THROUGH;
use super::tool_answer::ToolAnswer;
use super::tools;
use codeteam_engine::problem::Problem;

/// Where a server works, and how it was started.
#[derive(Clone)]
pub struct ServerContext {
    /// The folder from which the project is searched for.
    pub folder: PathBuf,
    /// The environment variables the server was started with.
    pub env: Env,
    /// The path of codeteam's own executable.
    pub codeteam: PathBuf,
    /// The command by which a person calls codeteam.
    pub call: String,
}

/// The task of this checkout, shared by all clients of one server.
///
/// A checkout has one current task. This type finds its run in the log, takes the run up if it
/// belongs to a session and nobody leads it, and carries out the tool calls on it:
///
/// - If this process drives the run, it holds a [`LeadingSession`]. Submissions and answers go
///   through it.
/// - If workers or another process have the run, it is only read, through an [`ObservedRun`], and
///   calls that would change it are refused with an explanation.
///
/// [`TaskOwnership`] is the result of that search. Everything that searches for the task or changes
/// it takes the `acting` lock, so such calls run one after another. A status is answered without
/// that lock where possible ([`status_at_once`](Self::status_at_once)), because clients ask often:
/// from the answers cached for the last event, or from an [`IdleCheck`] that no task is open.
pub(super) struct CheckoutTask {
    context: ServerContext,
    /// The run that this process leads, or led to its end.
    session: Mutex<Option<Arc<LeadingSession>>>,
    /// The result of the last search that found no open task.
    idle: Mutex<Option<IdleCheck>>,
    /// Held while a call searches for the task or changes it, so that only one does at a time.
    acting: Mutex<()>,
    /// Limits the calls that are being carried out or wait for their turn.
    calls: Arc<Semaphore>,
}

/// Remembers that no task was open and detects cheaply whether that still holds, because clients
/// ask often.
struct IdleCheck {
    /// The path where the log is, or would be.
    log: PathBuf,
    /// The log's inode, the engine that read it, and its data version; `None` if there was no log.
    seen: Option<(u64, Arc<Engine>, i64)>,
    /// The outcome of the last task, which a session may not have heard yet.
    last: String,
}

impl IdleCheck {
    fn is_still_idle(&self) -> bool {
        let file = fs::metadata(&self.log).ok().map(|found| found.ino());
        match (&self.seen, file) {
            (None, file) => file.is_none(),
            (Some((was, engine, version)), Some(is)) => {
                let same = engine.store.data_version().is_ok_and(|now| now == *version);
                is == *was && same
            }
            (Some(_), None) => false,
        }
    }
}

/// Who leads the task of this checkout.
pub(super) enum TaskOwnership {
    /// This process leads it.
    Leading(Arc<LeadingSession>),
    /// Workers or another process lead it.
    Observed(Box<ObservedRun>),
    /// There is no open task.
    None,
}

/// The result of a tool call.
pub(super) enum CallOutcome {
    /// The complete answer.
    Answer(ToolAnswer),
    /// Something was submitted and is being processed. The attempt is set if it was an answer to an
    /// assignment.
    Submitted(Arc<LeadingSession>, Option<AttemptId>),
    /// The status will be known when codeteam's own work is done.
    Checking(Arc<LeadingSession>),
}

impl From<ToolAnswer> for CallOutcome {
    fn from(answer: ToolAnswer) -> Self {
        Self::Answer(answer)
    }
}

/// The input by which a session takes a task back from workers.
const TAKE_BACK: &str = "take back";
/// How long workers may take to release the task.
const LETS_GO: Duration = Duration::from_secs(15);
/// The path of a project's log.
const LOG: &str = ".codeteam/state.db";
/// The largest number of calls under way, including cancelled ones. It exceeds what one client over
/// standard input and output can have, because that transport stops reading until there is room.
const MAX_CALLS: usize = 96;
/// The answer to a client that starts a task while another one is open.
const OPEN: &str = "Continue that one, as below. Only if the user says so: `start_task` with `another: \
    true` starts this one as well, or `abort` ends that one.";
const NO_TASK: &str = "There is no open task here. `start_task` starts one.";

impl CheckoutTask {
    pub(super) fn new(place: ServerContext) -> Self {
        Self {
            context: place,
            session: Mutex::default(),
            idle: Mutex::default(),
            acting: Mutex::default(),
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
        }
    }

    /// Admits one more call for as long as the returned permit is kept. Without this limit a client
    /// could cancel calls, or disconnect, faster than they are carried out.
    pub(super) fn admit_call(&self) -> Result<OwnedSemaphorePermit, ErrorData> {
        let entered = Arc::clone(&self.calls).try_acquire_owned();
        let text = "too many calls are under way; wait for their answers";
        entered.map_err(|_| ErrorData::internal_error(text, None))
    }

    /// Returns the run that this process leads, as far as it knows without reading the log.
    pub(super) fn leading_session(&self) -> Option<Arc<LeadingSession>> {
        let led = lock(&self.session).clone();
        led.filter(|led| matches!(led.end(), None | Some(SessionEnd::Over(_))))
    }

    /// Returns the task's status if it is known without expensive reads.
    pub(super) fn status_at_once(&self) -> Option<ToolAnswer> {
        let led = self.leading_session();
        if led.as_ref().is_none_or(|led| led.run().is_ended()) {
            let quiet = self.idle.try_lock().ok()?;
            let quiet = quiet.as_ref().filter(|quiet| quiet.is_still_idle())?;
            if led.is_none() {
                return Some(no_task_answer(&quiet.last));
            }
        }
        led?.status_at_once()
    }

    /// Returns true if this process leads a run that has not ended.
    pub(super) fn is_open(&self) -> bool {
        let known = self.leading_session();
        known.is_some_and(|led| !led.run().is_ended())
    }

    /// Answers a client of this server while another of its clients leads.
    pub(super) fn answer_for_other(
        &self,
        leader: &LeaderNotice,
        call: &tools::ToolCall,
    ) -> ToolAnswer {
        let holder = format!("`{}`, another client of this server", leader.label);
        let Some(led) = self.leading_session() else {
            let errors = [format!("{holder} is just starting a task")];
            return ToolAnswer::refused(&errors, "Call `get_status` in a moment.");
        };
        let seen = ObservedRun::new(
            &led.engine(),
            &led.run().id,
            holder,
            self.codeteam_command(),
        );
        let patience = leader.patience;
        match (seen.map(|seen| seen.led_by_this_server(patience)), call) {
            (Ok(seen), tools::ToolCall::Status) => seen.status(),
            (Ok(seen), tools::ToolCall::History(args)) => seen.history(args),
            (Ok(seen), _) => seen.refusal(),
            (Err(error), _) => engine_error_answer(error),
        }
    }

    /// Finds the task of this checkout. A run that nobody leads is taken up.
    pub(super) fn current_task(&self, label: &str) -> Result<TaskOwnership, ToolAnswer> {
        let _one = lock(&self.acting);
        self.find_task(label).map_err(engine_error_answer)
    }

    fn find_task(&self, label: &str) -> Result<TaskOwnership, Error> {
        let known = self.leading_session();
        if known.is_none() {
            // A run that could not be led any further is released before it is taken up again; its
            // error is reported first.
            let left = lock(&self.session).take();
            if let Some(error) = left.and_then(|led| led.failure()) {
                return Err(error);
            }
        }
        let ended = match known {
            Some(led) if !led.run().is_ended() => return Ok(TaskOwnership::Leading(led)),
            Some(led) => TaskOwnership::Leading(led),
            None => TaskOwnership::None,
        };
        // A run that has ended gives way to another one that is open.
        let mut quiet = lock(&self.idle);
        if quiet.as_ref().is_some_and(IdleCheck::is_still_idle) {
            return Ok(ended);
        }
        let ServerContext {
            folder,
            env,
            codeteam,
            call,
        } = &self.context;
        let log = Engine::repository(folder, env)?.top_level().join(LOG);
        let file = fs::metadata(&log).ok().map(|found| found.ino());
        let engine = Engine::open_existing(folder, env.clone(), codeteam.clone())?;
        let (Some(engine), Some(file)) = (engine.map(Arc::new), file) else {
            let last = String::new();
            *quiet = Some(IdleCheck {
                log,
                seen: None,
                last,
            });
            return Ok(ended);
        };
        let version = engine.store.data_version().map_err(Error::from)?;
        let Some(id) = open_runs(&engine)?.into_iter().next() else {
            let last = last_task_summary(&engine, call)?;
            let seen = Some((file, engine, version));
            *quiet = Some(IdleCheck { log, seen, last });
            return Ok(ended);
        };
        *quiet = None;
        if engine.load_run_view(&id)?.operator != Operator::Session {
            let seen = ObservedRun::new(&engine, &id, String::new(), call)?;
            return Ok(TaskOwnership::Observed(Box::new(seen)));
        }
        match SessionRun::attach(&engine, &id, label) {
            Ok(session) => {
                let led = self.start_leading(&engine, session);
                if was_taken_back(&engine, led.run().as_run())? {
                    led.add_user_notes(bring_changes(&engine, &led));
                }
                Ok(TaskOwnership::Leading(led))
            }
            Err(driver::Error::Store(store::Error::Held { pid, label, .. })) => {
                let holder = if pid == std::process::id() {
                    "this server itself, which is still giving up after an error; call `get_status` again in \
                     some seconds"
                        .to_owned()
                } else {
                    format!("`{label}` (process {pid})")
                };
                let seen = ObservedRun::new(&engine, &id, holder, call)?;
                Ok(TaskOwnership::Observed(Box::new(seen)))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn start_leading(&self, engine: &Arc<Engine>, session: SessionRun) -> Arc<LeadingSession> {
        let led = Arc::new(LeadingSession::new(engine, session, &self.context.call));
        *lock(&self.session) = Some(Arc::clone(&led));
        led
    }

    /// Starts a task.
    pub(super) fn start(&self, args: tools::StartTaskArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        if args.task.trim().is_empty() {
            let errors = ["the task is empty".to_owned()];
            let expected = "Call `start_task` with what the user wants, in their words.";
            return ToolAnswer::refused(&errors, expected).into();
        }
        let _alone = match lock_task_start(&self.context.folder, &self.context.env) {
            Ok(alone) => alone,
            Err(error) => return engine_error_answer(error).into(),
        };
        match self.find_task(label) {
            Ok(TaskOwnership::Leading(led)) if !args.another && !led.run().is_ended() => {
                let run = led.run();
                let errors = [format!("a task is open in this checkout: {}", run.goal)];
                let now = led.expected();
                let do_next = format!("{OPEN} {}", now.do_next());
                let mut answer = ToolAnswer::refused(&errors, &do_next)
                    .with("run", json!(run.id))
                    .with("next", now.nested_fields());
                answer.append(now.details());
                return answer.into();
            }
            Ok(TaskOwnership::Observed(seen)) if !args.another => return seen.refusal().into(),
            Ok(_) => {}
            Err(error) => return engine_error_answer(error).into(),
        }
        // The previous run is left as it is; it continues where it stopped when it is taken up
        // again.
        *lock(&self.session) = None;
        let request = RunRequest {
            goal: args.task,
            ..RunRequest::default()
        };
        let ServerContext {
            folder,
            env,
            codeteam,
            ..
        } = &self.context;
        let started = prepare(folder, env.clone(), codeteam.clone(), &request);
        let started = started.and_then(|(engine, started)| {
            let note = self.start_warnings(&engine, &started);
            let session = SessionRun::start(&engine, started, label)?;
            Ok((engine, session, note))
        });
        match started {
            Ok((engine, session, note)) => {
                let led = self.start_leading(&engine, session);
                led.add_user_notes(note);
                CallOutcome::Submitted(led, None)
            }
            Err(error) => engine_error_answer(error).into(),
        }
    }

    /// Collects warnings for the user that do not prevent the task from starting.
    fn start_warnings(&self, engine: &Engine, started: &RunStarted) -> Vec<String> {
        let mut notes = Vec::new();
        if engine.has_no_checks(started) {
            notes.push(format!(
                "No checks are configured for this project, so that codeteam runs none of its tests and \
                 only roles judge. `{} init` proposes some, or write them into `.codeteam/config.yml` \
                 under `verification.commands`; tasks that start after that use them.",
                self.context.call
            ));
        }
        if !started.edited_config.is_empty() {
            notes.push(describe::edited_config_warning(&started.edited_config));
        }
        let warnings = engine.warnings(started).into_iter();
        notes.extend(warnings.map(|warning| format!("Tell the user: {warning}.")));
        if engine.repo.is_operation_in_progress() {
            notes.push(
                "A merge, rebase or the like is under way in this checkout; the task starts from what it has \
                 changed so far."
                    .to_owned(),
            );
        }
        if started.base.commit.0 != engine.head.commit.as_str() {
            notes.push(
                "Uncommitted changes in the checkout become the first commit of this task."
                    .to_owned(),
            );
        }
        notes
    }

    /// Submits an answer to the current assignment.
    pub(super) fn submit(&self, args: tools::SubmitAnswerArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        let led = match self.open_session(label) {
            Ok(led) => led,
            Err(answer) => return answer.into(),
        };
        let run = led.run();
        let id = match run.session_turn() {
            SessionTurn::Work(id) if led.is_settled() => id,
            _ => return led.refusal("there is nothing to submit now").into(),
        };
        let role = led.role_of_attempt(&id);
        let kind = run.role_kind(&role);
        let is_it = |said: &str| {
            let is_kind = kind.is_some_and(|kind| said.eq_ignore_ascii_case(kind));
            said.eq_ignore_ascii_case(&role) || is_kind
        };
        if let Some(said) = args.role.filter(|said| !is_it(said.trim())) {
            let said: String = said.chars().take(80).collect();
            let why = format!("`{said}` is not the role that is expected now: it is `{role}`");
            return led.refusal(&why).into();
        }
        if let Some(said) = args.assignment.filter(|said| *said != id.to_string()) {
            let said: String = said.chars().take(200).collect();
            let why = format!("the assignment `{said}` is over: it is `{id}` now");
            return led.refusal(&why).into();
        }
        match led.submit(&id, args.submission.text()) {
            Ok(()) => CallOutcome::Submitted(led, Some(id)),
            Err(why) => led.correction_request(&id, &[why]).into(),
        }
    }

    /// Passes on a person's answer.
    pub(super) fn resume(&self, args: &tools::ResumeTaskArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        let standing = self.find_task(label);
        if let Ok(TaskOwnership::Observed(seen)) = &standing
            && seen.is_with_workers()
            && args.input.trim().eq_ignore_ascii_case(TAKE_BACK)
        {
            return self.take_back(seen, label);
        }
        let led = match require_open(standing) {
            Ok(led) => led,
            Err(answer) => return answer.into(),
        };
        let run = led.run();
        let question = match run.session_turn() {
            SessionTurn::Ask(question) if led.is_settled() => question,
            _ => return led.refusal("no question is open now").into(),
        };
        let replied = session::interpret_reply(&question, &args.input)
            .and_then(|answer| led.reply(&answered_through(label), &question.id, &answer));
        match replied {
            Ok(()) => CallOutcome::Submitted(led, None),
            Err(why) => led.refusal(&why).into(),
        }
    }

    /// Takes a task back from workers.
    fn take_back(&self, seen: &ObservedRun, label: &str) -> CallOutcome {
        let engine = seen.engine();
        let session = match take_back(&engine, seen.run(), label, label, LETS_GO) {
            Ok(session) => session,
            Err(error) => {
                let errors = [format_error_chain(&error)];
                let expected = "Workers still have it. Tell the user, and try again in a while.";
                return ToolAnswer::refused(&errors, expected).into();
            }
        };
        let led = self.start_leading(&engine, session);
        led.add_user_notes(bring_changes(&engine, &led));
        CallOutcome::Submitted(led, None)
    }

    /// Aborts the task.
    pub(super) fn abort(&self, args: tools::AbortTaskArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        let led = match self.open_session(label) {
            Ok(led) => led,
            Err(answer) => return answer.into(),
        };
        let reason = args.reason.unwrap_or_default();
        match led.abort(label, &reason) {
            Ok(()) => CallOutcome::Submitted(led, None),
            Err(why) => led.refusal(&why).into(),
        }
    }

    fn open_session(&self, label: &str) -> Result<Arc<LeadingSession>, ToolAnswer> {
        require_open(self.find_task(label))
    }

    /// Reports the status of the task.
    pub(super) fn status(&self, label: &str) -> CallOutcome {
        match self.current_task(label) {
            Ok(TaskOwnership::Leading(led)) if !led.is_settled() => CallOutcome::Checking(led),
            Ok(TaskOwnership::Leading(led)) => led.status().into(),
            Ok(TaskOwnership::Observed(seen)) => seen.status().into(),
            Ok(TaskOwnership::None) => {
                let quiet = lock(&self.idle);
                no_task_answer(quiet.as_ref().map_or("", |quiet| &quiet.last)).into()
            }
            Err(answer) => answer.into(),
        }
    }

    /// Lists everything that was submitted.
    pub(super) fn history(&self, args: &tools::HistoryArgs, label: &str) -> ToolAnswer {
        match self.current_task(label) {
            Ok(TaskOwnership::Leading(led)) => led.history(args),
            Ok(TaskOwnership::Observed(seen)) => seen.history(args),
            Ok(TaskOwnership::None) => {
                ToolAnswer::new("history", NO_TASK).with_always("submissions", json!([]))
            }
            Err(answer) => answer,
        }
    }

    /// Returns the project and its newest run that a session leads or led, open or not. Read-only
    /// callers use it.
    pub(super) fn newest_session_run(&self) -> Result<Option<(Arc<Engine>, RunId)>, Error> {
        if let Some(led) = lock(&self.session).clone() {
            return Ok(Some((led.engine(), led.run().id.clone())));
        }
        let ServerContext {
            folder,
            env,
            codeteam,
            ..
        } = &self.context;
        let engine = Engine::open_existing(folder, env.clone(), codeteam.clone())?;
        let Some(engine) = engine.map(Arc::new) else {
            return Ok(None);
        };
        for row in engine.store.runs()? {
            let id = RunId(row.id);
            if engine.load_run_view(&id)?.started_by == Operator::Session {
                return Ok(Some((engine, id)));
            }
        }
        Ok(None)
    }

    /// Returns the command by which codeteam is called here.
    pub(super) fn codeteam_command(&self) -> &str {
        &self.context.call
    }
}

/// Brings the workers' changes into the checkout, and returns what the user should hear about it.
fn bring_changes(engine: &Engine, led: &LeadingSession) -> Vec<String> {
    let told = match update_checkout(engine, led.run().as_run()) {
        Ok(CheckoutUpdate::Same) => return Vec::new(),
        Ok(CheckoutUpdate::Changed(files)) => {
            format!(
                "The workers' changes are in the checkout now: {}.",
                join_paths(&files)
            )
        }
        Ok(CheckoutUpdate::Differs(files)) => format!(
            "The checkout has changes of its own, which were left alone; it differs from the \
             workers' result in: {}.",
            join_paths(&files)
        ),
        Err(error) => format!(
            "The workers' changes could not be brought into the checkout: {}.",
            format_error_chain(&error)
        ),
    };
    vec![told]
}

/// Returns the open task if this process leads it, or the answer to give instead.
fn require_open(standing: Result<TaskOwnership, Error>) -> Result<Arc<LeadingSession>, ToolAnswer> {
    match standing {
        Ok(TaskOwnership::Leading(led)) if !led.run().is_ended() => Ok(led),
        Ok(TaskOwnership::Observed(seen)) => Err(seen.refusal()),
        Ok(_) => {
            let errors = ["no task is open here".to_owned()];
            Err(ToolAnswer::refused(&errors, "`start_task` starts one."))
        }
        Err(error) => Err(engine_error_answer(error)),
    }
}

fn no_task_answer(last: &str) -> ToolAnswer {
    ToolAnswer::new("task_status", format!("{NO_TASK}{last}")).with("state", json!("not_started"))
}

/// Describes the outcome of this checkout's last task, if a session began it. Without this, a task
/// that was completed just when its server died would be started again.
fn last_task_summary(engine: &Engine, call: &str) -> Result<String, Error> {
    let Some(row) = engine.store.runs()?.into_iter().next() else {
        return Ok(String::new());
    };
    let run = engine.load_run_view(&RunId(row.id))?;
    if run.started_by != Operator::Session || !run.is_ended() {
        return Ok(String::new());
    }
    let (id, goal) = (&run.id, &run.goal);
    Ok(format!(
        " The last one, \"{}\", has ended: {}; `{call} show {id}` tells more.",
        goal.lines().next().unwrap_or_default(),
        row.status
    ))
}

fn join_paths(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    names.join(", ")
}

/// Builds the answer for an error of codeteam itself.
pub(super) fn engine_error_answer(error: Error) -> ToolAnswer {
    let problem = Problem::from(error);
    ToolAnswer::refused(
        &problem.lines(),
        "Nothing was done. Tell the user what is wrong, and try again when it is fixed.",
    )
}

/// Names the person who answered through a session.
fn answered_through(label: &str) -> String {
    format!("{USER_THROUGH}{label}")
}

/// Locks a mutex and ignores poisoning: guarded values are always consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
