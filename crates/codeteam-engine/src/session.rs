//! A session that leads itself through a run: its checkout is the workspace, its answers are the
//! results of attempts. The same loop drives the run; it runs beside the session, for as long as the
//! session's process has the run.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codeteam_core::assignment::Assignment;
use codeteam_core::event::{Outcome, RunStarted, Unsubmitted};
use codeteam_core::frame::{FrameChange, SlotState, Work};
use codeteam_core::hands::Hands;
use codeteam_core::ids::{AttemptId, BodyId, PatchId, RunId, Time, Tree};
use codeteam_core::input::{Decision, Input};
use codeteam_core::role::Kind;
use codeteam_core::session::{Turn, examine, turn};
use codeteam_core::{Effect, Event, Run};

use crate::context::strategies::Strategies;
use crate::context::{self, About, Asked, Objects, Place, Sight};
use crate::driver::{self, Desk, News, Observer, Options, Said, Stop};
use crate::engine::{Engine, Error, Project, Request};
use crate::env::Env;
use crate::git::{Head, Oid, Repo, Signature};
use crate::perform::{SCRATCH, now, with_causes, workspace_name};
use crate::process::Cancel;
use crate::prompt::{self, Templates};
use crate::store::Owner;
use crate::{bodies, find, git};

/// The workflow that leads a session, unless the project has one of its own.
pub const WORKFLOW: &str = "adversarial";
/// So many of the last lines that checks have said are kept for those who ask.
const LINES: usize = 8;
/// No more files than this are named to a session.
const NAMES: usize = 30;
/// How long a new session waits for its run to be ready.
const READY: Duration = Duration::from_secs(30);

/// A run that this process leads a session through. Dropped, it is given back, and goes on where it
/// stands when it is taken up again.
pub struct Session {
    id: RunId,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// How a run stands.
#[derive(Clone, Debug)]
pub struct State {
    /// The run.
    pub run: Arc<Run>,
    /// Why it is no longer led from here, if it is not.
    pub end: Option<End>,
    /// What codeteam's own work has said lately.
    pub progress: Vec<String>,
}

/// Why a run is no longer led from here.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It has ended.
    Over(Outcome),
    /// Workers go on with it.
    Handed,
    /// codeteam itself cannot go on.
    Failed(String),
}

struct Shared {
    state: Mutex<Inner>,
    changed: Condvar,
    /// How much was said.
    said: AtomicU64,
    interrupt: Cancel,
}

struct Inner {
    run: Arc<Run>,
    end: Option<End>,
    lines: VecDeque<String>,
    sender: Option<Sender<News>>,
    /// How much of what was said has been heard.
    heard: u64,
    busy: bool,
    /// Why the last thing that was said was refused.
    refused: Option<String>,
    warnings: Vec<String>,
}

impl Session {
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
        drive: impl FnOnce(&Arc<Engine>, &Options, &Arc<dyn Observer>) -> Result<Stop, driver::Error>
        + Send
        + 'static,
    ) -> Result<Self, driver::Error> {
        let shared = Arc::new(Shared {
            state: Mutex::new(Inner {
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
            interrupt: Cancel::new(),
        });
        let failed: Arc<Mutex<Option<driver::Error>>> = Arc::default();
        let mut options = Options::new(true, shared.interrupt.clone(), label);
        options.desk = Some(Arc::clone(&shared) as Arc<dyn Desk>);
        let (engine, own, error) = (Arc::clone(engine), Arc::clone(&shared), Arc::clone(&failed));
        let body = move || {
            let observer: Arc<dyn Observer> = Arc::clone(&own) as _;
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
        };
        session.shared.wait(READY, |inner| {
            inner.run.has_started() || inner.end.is_some()
        });
        let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failed {
            Some(error) => Err(error),
            None => Ok(session),
        }
    }

    /// The run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// How it stands now. Never waits.
    pub fn state(&self) -> State {
        let inner = self.shared.lock();
        State {
            run: Arc::clone(&inner.run),
            end: inner.end.clone(),
            progress: inner.lines.iter().cloned().collect(),
        }
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
            let waits = || matches!(turn(&inner.run), Turn::Work(_) | Turn::Ask(_));
            inner.end.is_some() || (still && waits())
        })
    }

    /// Hands an answer to an assignment in, if it can be one; what comes of it is seen later.
    pub fn submit(&self, id: &AttemptId, text: String) -> Result<(), String> {
        examine(&self.state().run, id, &text)?;
        let id = id.clone();
        self.shared.say(Said::Submitted { id, text })
    }

    /// Passes on what a person said; what comes of it is seen later.
    pub fn reply(&self, by: &str, question: &AttemptId, answer: &str) -> Result<(), String> {
        self.shared.say(Said::Input(Box::new(Input::Replied {
            at: now(),
            by: by.to_owned(),
            question: question.clone(),
            answer: answer.to_owned(),
        })))
    }

    /// Ends the run.
    pub fn abort(&self, by: &str, reason: &str) -> Result<(), String> {
        let reason = reason.to_owned();
        self.shared.say(Said::Input(Box::new(Input::Decided {
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

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.interrupt.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait(&self, wait: Duration, until: impl Fn(&Inner) -> bool) -> bool {
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

    fn say(&self, said: Said) -> Result<(), String> {
        let mut inner = self.lock();
        inner.refused = None;
        let sender = inner.sender.as_ref().filter(|_| inner.end.is_none());
        let sent = sender.is_some_and(|sender| {
            self.said.fetch_add(1, Ordering::SeqCst);
            sender.send(News::Said(said)).is_ok()
        });
        sent.then_some(())
            .ok_or_else(|| "the run is no longer led from here".to_owned())
    }

    fn ended(&self, stop: Result<Stop, driver::Error>, failed: &Mutex<Option<driver::Error>>) {
        let end = match stop {
            Ok(Stop::Ended(outcome)) => Some(End::Over(outcome)),
            Ok(Stop::Handed(_)) => Some(End::Handed),
            Ok(Stop::Interrupted | Stop::Waiting(_) | Stop::Limited(_)) => None,
            Err(error) => {
                let why = with_causes(&error);
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Some(End::Failed(why))
            }
        };
        let left = "it was given back".to_owned();
        self.change(|inner| {
            inner.end = Some(end.unwrap_or(End::Failed(left)));
            inner.sender = None;
            inner.busy = false;
        });
    }
}

impl Desk for Shared {
    fn connect(&self, sender: Sender<News>) {
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

impl Observer for Shared {
    fn event(&self, _run: &Run, _at: Time, event: &Event) {
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

/// Opens what a task in a session needs, with what the checkout holds as its base. Nothing is left
/// behind if anything is wrong.
pub fn prepare(
    start: &Path,
    env: Env,
    codeteam: PathBuf,
    request: &Request,
) -> Result<(Arc<Engine>, RunStarted), Error> {
    let project = Project::find(start, env)?;
    let flow = project.config.flow.as_ref();
    let has_own = flow.is_some_and(|flow| flow.as_map().is_some());
    let mut request = Request {
        hands: Hands::Session,
        ..request.clone()
    };
    if request.workflow.is_none() && !has_own {
        request.workflow = Some(WORKFLOW.to_owned());
    }
    let head = project.head.clone();
    // Once to find what is wrong, before anything is written; then on what the checkout holds.
    project.prepare(&request)?;
    let tree = project.repo.snapshot(&scratch(&project.repo))?;
    if tree != head.tree {
        let identity = match &project.env.author {
            Some(author) => Some(author.clone()),
            None => project.repo.identity()?,
        };
        let signature = Signature {
            identity: identity.ok_or(Error::NoIdentity)?,
            seconds: i64::try_from(now().0 / 1_000).unwrap_or(0),
        };
        let message = "team(start): what was not committed when the task began\n";
        let commit = project
            .repo
            .commit(&tree, &[&head.commit], message, &signature)?;
        request.base = Some(commit);
    }
    let prepared = project.prepare(&request)?;
    let engine = Arc::new(Engine::open(project, codeteam)?);
    let started = engine.plan_run(prepared, now())?;
    Ok((engine, started))
}

/// Moves the user's branch to a commit, if their checkout holds exactly what it holds; no file is
/// touched then. Of use for runs that a session has worked on: it did so in this checkout.
pub fn advance(
    repo: &Repo,
    head: &Head,
    run: &Run,
    branch: &str,
    to: &Oid,
) -> Result<bool, git::Error> {
    if run.began_in != Hands::Session {
        return Ok(false);
    }
    repo.advance_to_same(branch, &head.commit, to, &scratch(repo))
}

/// The index that a look at the user's checkout is made by, where there is no run yet.
fn scratch(repo: &Repo) -> PathBuf {
    repo.common_dir().join("codeteam-index")
}

/// The runs that a session has begun or holds and that have not ended, the newest first.
pub fn open_runs(engine: &Engine) -> Result<Vec<RunId>, Error> {
    let mut open = Vec::new();
    for row in engine.store.runs()? {
        if matches!(row.status.as_str(), "completed" | "failed" | "aborted") {
            continue;
        }
        let id = RunId(row.id);
        let run = engine.load(&id)?;
        if run.began_in == Hands::Session && !run.is_terminal() {
            open.push(id);
        }
    }
    Ok(open)
}

/// What a session is told beside its assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// Who it is asked to be.
    pub instructions: String,
    /// The files that matter, the most important first: it can read them itself.
    pub context: Vec<String>,
}

/// What a session is told of an assignment beside what the assignment itself says.
pub fn brief(engine: &Engine, run: &Run, assignment: &Assignment) -> Result<Brief, Error> {
    let templates = Templates::pinned(&run.templates);
    let redactor = &engine.redactor;
    let unknown = |rev: &str| git::Error::UnknownRevision {
        rev: rev.to_owned(),
    };
    let frame = run.frames.get(&assignment.id.frame);
    let base = frame.map_or(&run.base, |frame| &frame.base);
    let tree = Oid::parse(&assignment.tree.0).ok_or_else(|| unknown(&assignment.tree.0))?;
    let from = Oid::parse(&base.tree.0).ok_or_else(|| unknown(&base.tree.0))?;
    let commit = Oid::parse(&base.commit.0).ok_or_else(|| unknown(&base.commit.0))?;
    let files = Objects::new(&engine.repo, &tree, &assignment.exclude)?;
    let cache = engine.env.context_cache(engine.repo.top_level());
    let history = || find::past(&engine.repo, &commit, cache.as_deref()).unwrap_or_default();
    let targets = assignment.task.as_ref().map(|task| task.files.clone());
    let about = About {
        words: context::words(assignment),
        targets: targets.unwrap_or_default(),
        cache: cache.clone(),
        model: None,
        history: &history,
    };
    let sight = Sight::new(&files, about);
    let asked = Asked {
        assignment,
        templates: &templates,
        strategies: &Strategies::pinned(&run.strategies)?,
        place: Place {
            repo: &engine.repo,
            base: &from,
            folder: &engine.folder,
            notes: None,
        },
        project: &sight,
        map: &|tokens| sight.map(tokens),
        redactor,
        diff: None,
        changes: None,
        printed: Vec::new(),
        outputs: Vec::new(),
        budget: 0,
    };
    Ok(Brief {
        instructions: prompt::instructions(assignment, &templates, redactor)?,
        context: context::named(&asked, NAMES)?,
    })
}

/// Takes a run back from workers, and leads it from here. Whoever drives it with workers is asked to
/// let go, and waited for.
pub fn take_back(
    engine: &Arc<Engine>,
    run: &RunId,
    label: &str,
    by: &str,
    wait: Duration,
) -> Result<Session, TakeBack> {
    let back = Decision::Reassign {
        to: Hands::Session,
        change: None,
    };
    if is_driven(engine, run)? {
        engine.post(run, &back, by)?;
        if !let_go(engine, run, wait)? {
            return Err(TakeBack::Busy);
        }
        if engine.load(run)?.hands != Hands::Session {
            return Err(TakeBack::Refused);
        }
        return Ok(Session::attach(engine, run, label)?);
    }
    let id = run.clone();
    let input = Input::Decided {
        at: now(),
        by: by.to_owned(),
        decision: back,
    };
    let session = Session::lead(
        engine,
        id.clone(),
        label,
        move |engine, options, observer| {
            driver::resume(engine, &id, vec![input], options, observer)
        },
    )?;
    Ok(session)
}

/// Why a run was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum TakeBack {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The driver.
    #[error(transparent)]
    Driver(#[from] driver::Error),
    /// Whoever drives it does not let go.
    #[error("whoever drives the run does not let it go")]
    Busy,
    /// It went on, or ended, before it could be let go.
    #[error("the run could not be taken back")]
    Refused,
}

/// Whether a living process drives a run.
pub fn is_driven(engine: &Engine, run: &RunId) -> Result<bool, Error> {
    let own = Owner::this_process("");
    let holder = engine.store.holder(run.as_str())?;
    Ok(holder.is_some_and(|holder| !holder.owner.is_gone(&own)))
}

/// Waits until nobody drives a run; `false` if the time is up.
pub fn let_go(engine: &Engine, run: &RunId, wait: Duration) -> Result<bool, Error> {
    let deadline = Instant::now() + wait;
    while is_driven(engine, run)? {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(true)
}

/// How the checkout stands to what a run has made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It holds just that.
    Same,
    /// It did not, and does now; these files are other than they were.
    Changed(Vec<PathBuf>),
    /// It holds something that the run does not know, which was left alone; these files differ.
    Differs(Vec<PathBuf>),
}

/// Brings what workers have made into the checkout of a session that goes on, unless the checkout
/// has something of its own.
pub fn bring(engine: &Engine, run: &Run) -> Result<Brought, Error> {
    let frames = run.frames.values().filter(|frame| !frame.is_ended());
    let Some(frame) = frames.max_by_key(|frame| frame.path.as_str().len()) else {
        return Ok(Brought::Same);
    };
    let unknown = |rev: &Tree| git::Error::UnknownRevision { rev: rev.0.clone() };
    let wanted = Oid::parse(&frame.tree.0).ok_or_else(|| unknown(&frame.tree))?;
    let scratch = engine.workspaces_of(&run.id).join(SCRATCH);
    let held = engine.repo.snapshot(&scratch)?;
    if held == wanted {
        return Ok(Brought::Same);
    }
    let files = engine.repo.differing(&held, &wanted)?;
    let mut known = held.as_str() == run.base.tree.as_str();
    engine.each_event(&run.id, 0, |_, _, event| {
        let tree = match &event {
            Event::SubmissionReceived {
                change: Some((tree, _)),
                ..
            } => tree,
            Event::WorkersReassigned {
                change: Some(made), ..
            } => &made.tree,
            _ => return,
        };
        known |= tree.as_str() == held.as_str();
    })?;
    if !known {
        return Ok(Brought::Differs(files));
    }
    // What workers made may be in their worktree only.
    let workspace = engine.workspace(&run.id, run.sandbox, &workspace_name(&frame.path))?;
    let base = Oid::parse(&frame.base.commit.0).ok_or_else(|| unknown(&frame.base.tree))?;
    if !workspace.is_missing() {
        workspace.transfer(&wanted, &base)?;
    }
    engine.repo.bring(&held, &wanted, &scratch)?;
    Ok(Brought::Changed(files))
}

/// What the checkout holds that the session has not submitted, if an implementer is at work.
pub fn unsubmitted(engine: &Engine, run: &Run) -> Result<Option<Unsubmitted>, Error> {
    let making = run.frames.values().find(|frame| {
        frame.slots.iter().any(|slot| match &slot.work {
            Work::Role(name) => {
                let role = run.roles.get(name);
                slot.state == SlotState::Running
                    && role.is_some_and(|role| role.kind == Kind::Implementer)
            }
            _ => false,
        })
    });
    let Some(frame) = making.filter(|_| run.hands == Hands::Session) else {
        return Ok(None);
    };
    let scratch = engine.workspaces_of(&run.id).join(SCRATCH);
    let tree = engine.repo.snapshot(&scratch)?;
    let base = Oid::parse(&frame.base.tree.0).ok_or(git::Error::UnknownRevision {
        rev: frame.base.tree.0.clone(),
    })?;
    if tree == base || tree.as_str() == frame.tree.as_str() {
        return Ok(None);
    }
    let diff = engine.repo.diff(&base, &tree)?;
    if diff.gitlinks().next().is_some() {
        return Ok(None);
    }
    let by = frame.slots.first().map(|slot| slot.id.lasting());
    let text: Result<String, bodies::Error> = engine.bodies.put(&diff.text);
    Ok(Some(Unsubmitted {
        frame: frame.path.clone(),
        tree: Tree(tree.as_str().to_owned()),
        change: FrameChange {
            by: by.unwrap_or_default(),
            patch: PatchId(diff.patch_id.clone()),
            diff: BodyId(text?),
            files: diff
                .files
                .iter()
                .map(|f| f.path.to_string_lossy().into_owned())
                .collect(),
        },
    }))
}
