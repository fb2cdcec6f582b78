//! The task of this checkout: which run it is, whether this process leads it, and what a session may
//! do with it. Everything here may take its time; the server keeps it off its loop.

mod led;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codeteam_core::Run;
use codeteam_core::event::RunStarted;
use codeteam_core::hands::Operator;
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::session::{self, SessionTurn};
use codeteam_engine::Engine;
use codeteam_engine::driver;
use codeteam_engine::engine::{Error, RunRequest};
use codeteam_engine::env::Env;
use codeteam_engine::perform::with_causes;
use codeteam_engine::session::{
    CheckoutUpdate, SessionEnd, SessionRun, alone, bring, open_runs, prepare, take_back,
    was_taken_back,
};
use codeteam_engine::{store, tell};
use rmcp::ErrorData;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) use self::led::{LeadingSession, ObservedRun};
use super::answer::ToolAnswer;
use super::clients::LeaderNotice;
use super::history::USER_THROUGH;
use super::tools;
use crate::problem::Problem;

/// Where a server works, and how it was started.
#[derive(Clone)]
pub(crate) struct ServerContext {
    /// Where to look for the project.
    pub(crate) folder: PathBuf,
    /// The environment.
    pub(crate) env: Env,
    /// codeteam's own program.
    pub(crate) codeteam: PathBuf,
    /// How a person calls it.
    pub(crate) call: String,
}

/// The task of this checkout.
pub(super) struct CheckoutTask {
    place: ServerContext,
    /// The run that this process leads, or led to its end.
    led: Mutex<Option<Arc<LeadingSession>>>,
    /// Where nothing was open when it was last looked for.
    quiet: Mutex<Option<IdleCheck>>,
    /// One thing is done at a time.
    acting: Mutex<()>,
    /// What is being done, or waits for its turn.
    calls: Arc<Semaphore>,
}

/// How it is found out at once that there is still nothing: clients ask often.
struct IdleCheck {
    /// Where the log is, or would be.
    log: PathBuf,
    /// Which file that was, and how it stood.
    seen: Option<(u64, Arc<Engine>, i64)>,
    /// What became of the last task, which a session may not have heard.
    last: String,
}

impl IdleCheck {
    fn is_still(&self) -> bool {
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

/// How the task of this checkout stands.
pub(super) enum TaskOwnership {
    /// This process leads it.
    Led(Arc<LeadingSession>),
    /// Others do.
    Seen(Box<ObservedRun>),
    /// There is none.
    None,
}

/// What a call has come to.
pub(super) enum CallOutcome {
    /// All there is to say.
    Answer(ToolAnswer),
    /// It was handed in; what comes of it will be seen. An answer to this assignment, if it was one.
    HandedIn(Arc<LeadingSession>, Option<AttemptId>),
    /// Where the task stands is known when codeteam's own work is done.
    Checking(Arc<LeadingSession>),
}

impl From<ToolAnswer> for CallOutcome {
    fn from(answer: ToolAnswer) -> Self {
        Self::Answer(answer)
    }
}

/// What a session says to have a task back from workers.
const TAKE_BACK: &str = "take back";
/// How long workers may take to let it go.
const LETS_GO: Duration = Duration::from_secs(15);
/// Where the log of a project is.
const LOG: &str = ".codeteam/state.db";
/// So many calls may be under way, those that were taken back too. More than one client over standard
/// input and output may have: it is not read from before there is room.
const MAX_CALLS: usize = 96;
/// What is said to one who begins a task while another is open.
const OPEN: &str = "Go on with that one, as below. Only if the user says so: `start_task` with `another: \
    true` begins this one besides, and `abort` gives that one up.";
const NO_TASK: &str = "There is no open task here. `start_task` begins one.";

impl CheckoutTask {
    pub(super) fn new(place: ServerContext) -> Self {
        Self {
            place,
            led: Mutex::default(),
            quiet: Mutex::default(),
            acting: Mutex::default(),
            calls: Arc::new(Semaphore::new(MAX_CALLS)),
        }
    }

    /// Lets one more call in, as long as what is returned is kept. A client may take calls back, or
    /// leave, faster than they are done.
    pub(super) fn enter(&self) -> Result<OwnedSemaphorePermit, ErrorData> {
        let entered = Arc::clone(&self.calls).try_acquire_owned();
        let text = "too many calls are under way; wait for their answers";
        entered.map_err(|_| ErrorData::internal_error(text, None))
    }

    /// The run that this process leads, as far as it knows without looking.
    pub(super) fn known(&self) -> Option<Arc<LeadingSession>> {
        let led = lock(&self.led).clone();
        led.filter(|led| matches!(led.state().end, None | Some(SessionEnd::Over(_))))
    }

    /// Where the task stands, if that is known without looking far.
    pub(super) fn status_at_once(&self) -> Option<ToolAnswer> {
        let led = self.known();
        if led.as_ref().is_none_or(|led| led.state().run.is_terminal()) {
            let quiet = self.quiet.try_lock().ok()?;
            let quiet = quiet.as_ref().filter(|quiet| quiet.is_still())?;
            if led.is_none() {
                return Some(no_task(&quiet.last));
            }
        }
        led?.status_at_once()
    }

    /// Whether this process leads a run that has not ended.
    pub(super) fn is_open(&self) -> bool {
        let known = self.known();
        known.is_some_and(|led| !led.state().run.is_terminal())
    }

    /// What is said to a client of this server if another of its clients leads.
    pub(super) fn led_by(&self, leader: &LeaderNotice, call: &tools::ToolCall) -> ToolAnswer {
        let holder = format!("`{}`, another client of this server", leader.label);
        let Some(led) = self.known() else {
            let errors = [format!("a task is just being begun by {holder}")];
            return ToolAnswer::refused(&errors, "Call `get_status` in a moment.");
        };
        let seen = ObservedRun::new(&led.engine(), &led.state().run.id, holder, self.call());
        let patience = leader.patience;
        match (seen.map(|seen| seen.by_this_server(patience)), call) {
            (Ok(seen), tools::ToolCall::Status) => seen.status(),
            (Ok(seen), tools::ToolCall::History(args)) => seen.history(args),
            (Ok(seen), _) => seen.refusal(),
            (Err(error), _) => trouble(error),
        }
    }

    /// How the task stands. A run that nobody leads is taken up.
    pub(super) fn look(&self, label: &str) -> Result<TaskOwnership, ToolAnswer> {
        let _one = lock(&self.acting);
        self.standing(label).map_err(trouble)
    }

    fn standing(&self, label: &str) -> Result<TaskOwnership, Error> {
        let known = self.known();
        if known.is_none() {
            // What could not be led on is given back before it is taken up again; why, is said first.
            let left = lock(&self.led).take();
            if let Some(error) = left.and_then(|led| led.failure()) {
                return Err(error);
            }
        }
        let ended = match known {
            Some(led) if !led.state().run.is_terminal() => return Ok(TaskOwnership::Led(led)),
            Some(led) => TaskOwnership::Led(led),
            None => TaskOwnership::None,
        };
        // One that has ended makes way for another that is open.
        let mut quiet = lock(&self.quiet);
        if quiet.as_ref().is_some_and(IdleCheck::is_still) {
            return Ok(ended);
        }
        let ServerContext {
            folder,
            env,
            codeteam,
            call,
        } = &self.place;
        let log = Engine::repository(folder, env)?.top_level().join(LOG);
        let file = fs::metadata(&log).ok().map(|found| found.ino());
        let engine = Engine::look(folder, env.clone(), codeteam.clone())?;
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
            let last = last(&engine, call)?;
            let seen = Some((file, engine, version));
            *quiet = Some(IdleCheck { log, seen, last });
            return Ok(ended);
        };
        *quiet = None;
        if engine.load(&id)?.hands != Operator::Session {
            let seen = ObservedRun::new(&engine, &id, String::new(), call)?;
            return Ok(TaskOwnership::Seen(Box::new(seen)));
        }
        match SessionRun::attach(&engine, &id, label) {
            Ok(session) => {
                let led = self.lead(&engine, session);
                if was_taken_back(&engine, &led.state().run)? {
                    led.note(brought(&engine, &led));
                }
                Ok(TaskOwnership::Led(led))
            }
            Err(driver::Error::Store(store::Error::Held { pid, label, .. })) => {
                let holder = if pid == std::process::id() {
                    "this server itself, until what went wrong just now is given up; `get_status` knows in some \
                     seconds"
                        .to_owned()
                } else {
                    format!("`{label}` (process {pid})")
                };
                let seen = ObservedRun::new(&engine, &id, holder, call)?;
                Ok(TaskOwnership::Seen(Box::new(seen)))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lead(&self, engine: &Arc<Engine>, session: SessionRun) -> Arc<LeadingSession> {
        let led = Arc::new(LeadingSession::new(engine, session, &self.place.call));
        *lock(&self.led) = Some(Arc::clone(&led));
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
        let _alone = match alone(&self.place.folder, &self.place.env) {
            Ok(alone) => alone,
            Err(error) => return trouble(error).into(),
        };
        match self.standing(label) {
            Ok(TaskOwnership::Led(led)) if !args.another && !led.state().run.is_terminal() => {
                let run = &led.state().run;
                let errors = [format!("a task is open in this checkout: {}", run.goal)];
                let now = led.expected();
                let do_next = format!("{OPEN} {}", now.do_next());
                let mut answer = ToolAnswer::refused(&errors, &do_next)
                    .with("run", json!(run.id))
                    .with("next", now.as_part());
                answer.append(now.details());
                return answer.into();
            }
            Ok(TaskOwnership::Seen(seen)) if !args.another => return seen.refusal().into(),
            Ok(_) => {}
            Err(error) => return trouble(error).into(),
        }
        // The one that is left goes on where it stands when it is taken up again.
        *lock(&self.led) = None;
        let request = RunRequest {
            goal: args.task,
            ..RunRequest::default()
        };
        let ServerContext {
            folder,
            env,
            codeteam,
            ..
        } = &self.place;
        let started = prepare(folder, env.clone(), codeteam.clone(), &request);
        let started = started.and_then(|(engine, started)| {
            let note = self.beforehand(&engine, &started);
            let session = SessionRun::start(&engine, started, label)?;
            Ok((engine, session, note))
        });
        match started {
            Ok((engine, session, note)) => {
                let led = self.lead(&engine, session);
                led.note(note);
                CallOutcome::HandedIn(led, None)
            }
            Err(error) => trouble(error).into(),
        }
    }

    /// What the user should know before a task begins, but need not stop it.
    fn beforehand(&self, engine: &Engine, started: &RunStarted) -> Vec<String> {
        let mut notes = Vec::new();
        if engine.is_unchecked(started) {
            notes.push(format!(
                "No checks are configured for this project, so that codeteam runs none of its tests and \
                 only roles judge. `{} init` proposes some, or write them into `.codeteam/config.yml` \
                 under `verification.commands`; a task that begins after that has them.",
                self.place.call
            ));
        }
        if !started.edited_config.is_empty() {
            notes.push(tell::edited_config(&started.edited_config));
        }
        let warnings = engine.warnings(started).into_iter();
        notes.extend(warnings.map(|warning| format!("Tell the user: {warning}.")));
        if engine.repo.is_under_way() {
            notes.push(
                "A merge, rebase or the like is under way in this checkout; what it has made so far counts \
                 as what the task begins with."
                    .to_owned(),
            );
        }
        if started.base.commit.0 != engine.head.commit.as_str() {
            notes.push(
                "What was not committed in the checkout becomes the first commit of this task."
                    .to_owned(),
            );
        }
        notes
    }

    /// Hands an answer in.
    pub(super) fn submit(&self, args: tools::SubmitAnswerArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        let led = match self.open(label) {
            Ok(led) => led,
            Err(answer) => return answer.into(),
        };
        let run = led.state().run;
        let id = match session::turn(&run) {
            SessionTurn::Work(id) if led.is_settled() => id,
            _ => return led.refusal("there is nothing to submit now").into(),
        };
        let role = led.role(&id);
        let kind = run.roles.get(&role.as_str().into()).map(|role| role.kind);
        let is_it = |said: &str| {
            let is_kind = kind.is_some_and(|kind| said.eq_ignore_ascii_case(kind.as_str()));
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
            Ok(()) => CallOutcome::HandedIn(led, Some(id)),
            Err(why) => led.mend(&id, &[why]).into(),
        }
    }

    /// Passes on what a person said.
    pub(super) fn resume(&self, args: &tools::ResumeTaskArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        let standing = self.standing(label);
        if let Ok(TaskOwnership::Seen(seen)) = &standing
            && seen.is_with_workers()
            && args.input.trim().eq_ignore_ascii_case(TAKE_BACK)
        {
            return self.take_back(seen, label);
        }
        let led = match open(standing) {
            Ok(led) => led,
            Err(answer) => return answer.into(),
        };
        let run = led.state().run;
        let question = match session::turn(&run) {
            SessionTurn::Ask(question) if led.is_settled() => question,
            _ => return led.refusal("nobody is asked anything now").into(),
        };
        let replied = session::reply(&question, &args.input)
            .and_then(|answer| led.reply(&user_through(label), &question.id, &answer));
        match replied {
            Ok(()) => CallOutcome::HandedIn(led, None),
            Err(why) => led.refusal(&why).into(),
        }
    }

    /// Takes a task back from workers.
    fn take_back(&self, seen: &ObservedRun, label: &str) -> CallOutcome {
        let engine = seen.engine();
        let session = match take_back(&engine, seen.run(), label, label, LETS_GO) {
            Ok(session) => session,
            Err(error) => {
                let errors = [with_causes(&error)];
                let expected = "Workers still have it. Tell the user, and try again in a while.";
                return ToolAnswer::refused(&errors, expected).into();
            }
        };
        let led = self.lead(&engine, session);
        led.note(brought(&engine, &led));
        CallOutcome::HandedIn(led, None)
    }

    /// Ends the task.
    pub(super) fn abort(&self, args: tools::AbortTaskArgs, label: &str) -> CallOutcome {
        let _one = lock(&self.acting);
        let led = match self.open(label) {
            Ok(led) => led,
            Err(answer) => return answer.into(),
        };
        let reason = args.reason.unwrap_or_default();
        match led.abort(label, &reason) {
            Ok(()) => CallOutcome::HandedIn(led, None),
            Err(why) => led.refusal(&why).into(),
        }
    }

    fn open(&self, label: &str) -> Result<Arc<LeadingSession>, ToolAnswer> {
        open(self.standing(label))
    }

    /// Where the task stands.
    pub(super) fn status(&self, label: &str) -> CallOutcome {
        match self.look(label) {
            Ok(TaskOwnership::Led(led)) if !led.is_settled() => CallOutcome::Checking(led),
            Ok(TaskOwnership::Led(led)) => led.status().into(),
            Ok(TaskOwnership::Seen(seen)) => seen.status().into(),
            Ok(TaskOwnership::None) => {
                let quiet = lock(&self.quiet);
                no_task(quiet.as_ref().map_or("", |quiet| &quiet.last)).into()
            }
            Err(answer) => answer.into(),
        }
    }

    /// Everything that was submitted.
    pub(super) fn history(&self, args: &tools::HistoryArgs, label: &str) -> ToolAnswer {
        match self.look(label) {
            Ok(TaskOwnership::Led(led)) => led.history(args),
            Ok(TaskOwnership::Seen(seen)) => seen.history(args),
            Ok(TaskOwnership::None) => {
                ToolAnswer::new("history", NO_TASK).always("submissions", json!([]))
            }
            Err(answer) => answer,
        }
    }

    /// The project and its newest run in a session's hands, open or not; for those who only look.
    pub(super) fn newest(&self) -> Result<Option<(Arc<Engine>, RunId)>, Error> {
        if let Some(led) = lock(&self.led).clone() {
            return Ok(Some((led.engine(), led.state().run.id.clone())));
        }
        let ServerContext {
            folder,
            env,
            codeteam,
            ..
        } = &self.place;
        let engine = Engine::look(folder, env.clone(), codeteam.clone())?;
        let Some(engine) = engine.map(Arc::new) else {
            return Ok(None);
        };
        for row in engine.store.runs()? {
            let id = RunId(row.id);
            if engine.load(&id)?.began_in == Operator::Session {
                return Ok(Some((engine, id)));
            }
        }
        Ok(None)
    }

    /// How codeteam is called here.
    pub(super) fn call(&self) -> &str {
        &self.place.call
    }
}

/// Brings what workers have made into the checkout; what is to be said of it.
fn brought(engine: &Engine, led: &LeadingSession) -> Vec<String> {
    let told = match bring(engine, &led.state().run) {
        Ok(CheckoutUpdate::Same) => return Vec::new(),
        Ok(CheckoutUpdate::Changed(files)) => {
            format!(
                "What workers made is in the checkout now: {}.",
                names(&files)
            )
        }
        Ok(CheckoutUpdate::Differs(files)) => format!(
            "The checkout has something of its own, which was left alone; it is other than what \
             workers made in: {}.",
            names(&files)
        ),
        Err(error) => format!(
            "What workers made could not be brought into the checkout: {}.",
            with_causes(&error)
        ),
    };
    vec![told]
}

/// The open task, if this process leads it; or what to say instead.
fn open(standing: Result<TaskOwnership, Error>) -> Result<Arc<LeadingSession>, ToolAnswer> {
    match standing {
        Ok(TaskOwnership::Led(led)) if !led.state().run.is_terminal() => Ok(led),
        Ok(TaskOwnership::Seen(seen)) => Err(seen.refusal()),
        Ok(_) => {
            let errors = ["no task is open here".to_owned()];
            Err(ToolAnswer::refused(&errors, "`start_task` begins one."))
        }
        Err(error) => Err(trouble(error)),
    }
}

fn no_task(last: &str) -> ToolAnswer {
    ToolAnswer::new("task_status", format!("{NO_TASK}{last}")).with("state", json!("not_started"))
}

/// What became of the last task of this checkout, if a session began it. One that was completed when
/// its server died would be begun again otherwise.
fn last(engine: &Engine, call: &str) -> Result<String, Error> {
    let Some(row) = engine.store.runs()?.into_iter().next() else {
        return Ok(String::new());
    };
    let run = engine.load(&RunId(row.id))?;
    if run.began_in != Operator::Session || !run.is_terminal() {
        return Ok(String::new());
    }
    let Run { id, goal, .. } = &run;
    Ok(format!(
        " The last one, \"{}\", has ended: {}; `{call} show {id}` tells more.",
        goal.lines().next().unwrap_or_default(),
        row.status
    ))
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    names.join(", ")
}

/// What is said when codeteam itself cannot go on.
pub(super) fn trouble(error: Error) -> ToolAnswer {
    let problem = Problem::from(error);
    ToolAnswer::refused(
        &problem.lines(),
        "Nothing was done. Tell the user what is wrong, and try again when it is mended.",
    )
}

/// Who has answered, if a session has passed it on.
fn user_through(label: &str) -> String {
    format!("{USER_THROUGH}{label}")
}

/// What a lock guards is always whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
