//! What changes in the runs of a project, for a surface that watches.
//!
//! A [`Feed`] follows one run or all of them, from a point on, whichever process writes. It says
//! what was appended, with the words that every surface shows for it, and what follows from it: a
//! run that was listed, has changed or ended, a task whose status changed, a question that was
//! opened or closed. Nothing is left out, and nothing comes twice: [`Feed::cursor`] says how far it
//! has got, and another feed, in this process or a later one, goes on from exactly there.
//!
//! A feed that waits sleeps until something is committed; see
//! [`StoreWatch`].

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RunId, TaskId};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::{Event, Run, apply};
use codeteam_host::store::{RunRow, Store, StoreWatch, WatchInterrupt, WatchOutcome};
use serde::{Deserialize, Serialize};

use crate::describe;
use crate::records::{RecordsError, each_stored_event};
use crate::view::{LoadedRun, QuestionView, RunListItem, TaskView, open_questions};

/// Follows one run, or all runs of a project.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use codeteam_host::store::Store;
/// use codeteam_report::feed::{Feed, FeedItem, FeedScope, FeedStart};
///
/// let store = Store::open(".codeteam/state.db".as_ref())?;
/// let mut feed = Feed::open(&store, FeedScope::Project, FeedStart::Now)?;
/// loop {
///     // The first call lists the runs; later ones wait until something happens.
///     for item in feed.next_items(None)? {
///         if let FeedItem::EventAppended(entry) = item {
///             let words = entry.words.as_deref().unwrap_or_default();
///             println!("{} {}: {words}", entry.seq, entry.place());
///         }
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Feed {
    store: Store,
    watch: StoreWatch,
    scope: FeedScope,
    followed: BTreeMap<RunId, FollowedRun>,
    /// Whether runs that are not followed yet began after the feed did.
    has_listed: bool,
}

/// What a feed is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedScope {
    /// One run.
    Run(RunId),
    /// All runs of the project.
    Project,
}

/// Where a feed begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedStart {
    /// With what is to come. Runs that exist are listed, with how they stand.
    Now,
    /// After what an earlier feed delivered. A run that the cursor does not name is delivered from
    /// its first event on.
    After(FeedCursor),
}

/// How far a feed has got: the number of the last event delivered of each run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedCursor {
    /// The last event of each run.
    pub runs: BTreeMap<RunId, u64>,
}

/// Something that a surface shows.
///
/// Events, tasks and questions come in the order of the log, and each is delivered exactly once,
/// however the log is cut into reads. `RunListed`, `RunChanged` and `RunEnded` tell how a run stands
/// by now; if it changed several times meanwhile, the last state is what is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FeedItem {
    /// A run that the feed had not told of.
    RunListed(RunListItem),
    /// Its status, or what it is doing, has changed.
    RunChanged(RunListItem),
    /// It has ended.
    RunEnded(RunListItem),
    /// A task was planned, or its status has changed.
    TaskChanged {
        /// The run.
        run: RunId,
        /// The event that changed it.
        seq: u64,
        /// The task as that event leaves it.
        task: Box<TaskView>,
    },
    /// A person is asked something.
    QuestionOpened {
        /// The run.
        run: RunId,
        /// The event that opened it.
        seq: u64,
        /// The question.
        question: Box<QuestionView>,
    },
    /// A question need not be answered any more.
    QuestionClosed {
        /// The run.
        run: RunId,
        /// The event that closed it.
        seq: u64,
        /// The question.
        question: AttemptId,
    },
    /// An event was appended to a run's log.
    EventAppended(TimelineEntry),
}

/// An event as a timeline shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineEntry {
    /// The run.
    pub run: RunId,
    /// The number of the event in its run.
    pub seq: u64,
    /// When it happened, in milliseconds since the epoch.
    pub at: EpochMillis,
    /// The name of its kind.
    pub kind: &'static str,
    /// The frame that it happened in, if it happened in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FramePath>,
    /// What happened, in words; `None` if only the machine needs to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The event itself.
    #[serde(skip)]
    pub event: Box<Event>,
}

impl TimelineEntry {
    /// Describes an event. `run` is the run with the event already applied.
    pub fn new(run: &Run, seq: u64, at: EpochMillis, event: Event) -> Self {
        Self {
            run: run.id.clone(),
            seq,
            at,
            kind: event.kind(),
            frame: describe::event_frame(&event).cloned(),
            words: describe::event_line(run, &event),
            event: Box::new(event),
        }
    }

    /// Returns the name of the task it happened in, or `run`.
    pub fn place(&self) -> &str {
        self.frame.as_ref().map_or("run", FramePath::name)
    }
}

/// A run that a feed follows.
#[derive(Debug)]
struct FollowedRun {
    /// The number of the last event delivered.
    seq: u64,
    /// The row that was told of last.
    told: Option<(String, String)>,
    /// The run after that event; `None` as long as nothing of it had to be read.
    run: Option<Run>,
    questions: BTreeSet<AttemptId>,
    tasks: BTreeMap<TaskId, TaskStatus>,
}

impl Feed {
    /// Opens a feed. It holds a connection to the database of its own.
    pub fn open(store: &Store, scope: FeedScope, start: FeedStart) -> Result<Self, RecordsError> {
        let (has_listed, cursor) = match start {
            FeedStart::Now => (false, FeedCursor::default()),
            FeedStart::After(cursor) => (true, cursor),
        };
        let followed = cursor.runs.into_iter();
        Ok(Self {
            watch: store.watch()?,
            store: store.clone(),
            scope,
            followed: followed
                .map(|(id, seq)| (id, FollowedRun::after(seq)))
                .collect(),
            has_listed,
        })
    }

    /// Returns how far the feed has got, to go on from there later.
    pub fn cursor(&self) -> FeedCursor {
        let runs = self.followed.iter();
        FeedCursor {
            runs: runs.map(|(id, run)| (id.clone(), run.seq)).collect(),
        }
    }

    /// Returns a handle with which another thread ends the waiting, for good.
    pub fn interrupter(&self) -> WatchInterrupt {
        self.watch.interrupter()
    }

    /// Returns a run as the last delivered event of it left it. A run that has not moved since the
    /// feed began is read from the log for it.
    pub fn snapshot(&mut self, id: &RunId) -> Result<Option<LoadedRun>, RecordsError> {
        let Some(followed) = self.followed.get_mut(id) else {
            return Ok(None);
        };
        if followed.run.is_none() {
            followed.load(&self.store, id)?;
        }
        Ok(followed.run.clone().map(LoadedRun::new))
    }

    /// Returns true if a run that the feed follows has ended.
    pub fn is_ended(&self, id: &RunId) -> bool {
        let run = self
            .followed
            .get(id)
            .and_then(|followed| followed.run.as_ref());
        run.is_some_and(Run::is_terminal)
    }

    /// Returns what has happened since the last call; waits for it, for at most `timeout`, if
    /// nothing has. Nothing is returned if the time has passed, or the feed was interrupted.
    pub fn next_items(&mut self, timeout: Option<Duration>) -> Result<Vec<FeedItem>, RecordsError> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            let items = self.read_items()?;
            if !items.is_empty() {
                return Ok(items);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            match self.watch.wait(left)? {
                WatchOutcome::Changed => {}
                WatchOutcome::TimedOut | WatchOutcome::Interrupted => return Ok(items),
            }
        }
    }

    /// Returns what has happened since the last call, without waiting.
    pub fn read_items(&mut self) -> Result<Vec<FeedItem>, RecordsError> {
        let mut rows: Vec<RunRow> = match &self.scope {
            FeedScope::Run(id) => self.store.run(id.as_str())?.into_iter().collect(),
            FeedScope::Project => self.store.runs()?,
        };
        // The store lists the newest run first.
        rows.reverse();
        let mut items = Vec::new();
        for row in rows {
            self.read_run(&row, &mut items)?;
        }
        self.has_listed = true;
        Ok(items)
    }

    fn read_run(&mut self, row: &RunRow, items: &mut Vec<FeedItem>) -> Result<(), RecordsError> {
        let id = RunId(row.id.clone());
        let first = if self.has_listed { 0 } else { row.seq };
        let followed = self.followed.entry(id.clone());
        let followed = followed.or_insert_with(|| FollowedRun::after(first));
        let is_new = followed.told.is_none();
        let has_moved = row.seq > followed.seq;
        let before = items.len();
        if has_moved {
            followed.read(&self.store, &id, items)?;
        }
        let told = (row.status.clone(), row.headline.clone());
        if !is_new && !has_moved && followed.told.as_ref() == Some(&told) {
            return Ok(());
        }
        let has_changed = followed.told.as_ref() != Some(&told);
        followed.told = Some(told);
        let view = followed.run.clone().map(LoadedRun::new);
        let item = RunListItem::new(row, view.as_deref());
        let has_ended = has_moved && view.is_some_and(|view| view.is_ended());
        if is_new {
            // Whoever shows it needs the run before what happened in it.
            items.insert(before, FeedItem::RunListed(item.clone()));
        }
        if has_ended && (is_new || has_changed) {
            items.push(FeedItem::RunEnded(item));
        } else if !is_new && has_changed {
            items.push(FeedItem::RunChanged(item));
        }
        Ok(())
    }
}

impl FollowedRun {
    fn after(seq: u64) -> Self {
        Self {
            seq,
            told: None,
            run: None,
            questions: BTreeSet::new(),
            tasks: BTreeMap::new(),
        }
    }

    /// Rebuilds the run as the last delivered event left it.
    fn load(&mut self, store: &Store, id: &RunId) -> Result<(), RecordsError> {
        let mut run = Run::default();
        each_stored_event(store, id, 0, |seq, _, event| {
            if seq <= self.seq {
                apply(&mut run, &event);
            }
        })?;
        self.questions = open_questions(&run).map(|q| q.id.clone()).collect();
        self.tasks = task_statuses(&run);
        self.run = Some(run);
        Ok(())
    }

    /// Reads the events after the last one that was delivered.
    fn read(
        &mut self,
        store: &Store,
        id: &RunId,
        items: &mut Vec<FeedItem>,
    ) -> Result<(), RecordsError> {
        if self.run.is_none() {
            self.load(store, id)?;
        }
        let mut events = Vec::new();
        each_stored_event(store, id, self.seq, |seq, at, event| {
            events.push((seq, at, event));
        })?;
        for (seq, at, event) in events {
            self.record_event(seq, at, event, items);
        }
        Ok(())
    }

    fn record_event(&mut self, seq: u64, at: EpochMillis, event: Event, items: &mut Vec<FeedItem>) {
        let run = self.run.get_or_insert_with(Run::default);
        apply(run, &event);
        self.seq = seq;
        let id = run.id.clone();
        let touched = tasks_touched_by(run, &event);
        items.push(FeedItem::EventAppended(TimelineEntry::new(
            run, seq, at, event,
        )));
        let now = match touched {
            TouchedTasks::None => BTreeMap::new(),
            TouchedTasks::One(task) => [(task.clone(), run.task_status(&task))].into(),
            TouchedTasks::Any => {
                let now = task_statuses(run);
                self.tasks.retain(|task, _| now.contains_key(task));
                now
            }
        };
        for (task, status) in now {
            if self.tasks.get(&task) == Some(&status) {
                continue;
            }
            if let Some(task) = run.task(&task) {
                let task = Box::new(TaskView::new(run, task));
                let run = id.clone();
                items.push(FeedItem::TaskChanged { run, seq, task });
            }
            self.tasks.insert(task, status);
        }
        let open: BTreeSet<AttemptId> = open_questions(run).map(|q| q.id.clone()).collect();
        for question in self.questions.difference(&open) {
            items.push(FeedItem::QuestionClosed {
                run: id.clone(),
                seq,
                question: question.clone(),
            });
        }
        for question in open_questions(run).filter(|q| !self.questions.contains(&q.id)) {
            items.push(FeedItem::QuestionOpened {
                run: id.clone(),
                seq,
                question: Box::new(QuestionView::new(run, question)),
            });
        }
        self.questions = open;
    }
}

/// Returns the status of every task of the plan.
fn task_statuses(run: &Run) -> BTreeMap<TaskId, TaskStatus> {
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    tasks
        .map(|task| (task.id.clone(), run.task_status(&task.id)))
        .collect()
}

/// The tasks whose status an event may have changed.
enum TouchedTasks {
    None,
    One(TaskId),
    Any,
}

/// Returns the tasks whose status an event may have changed. `run` is the run with the event already
/// applied. Comparing all of them after every event would make the cost of reading a log grow with the
/// square of its plan.
fn tasks_touched_by(run: &Run, event: &Event) -> TouchedTasks {
    let one = |frame: &FramePath| {
        let task = TaskId(frame.name().to_owned());
        if !frame.is_root() && run.task(&task).is_some() {
            TouchedTasks::One(task)
        } else {
            TouchedTasks::Any
        }
    };
    match event {
        Event::FrameOpened { frame, .. }
        // Nothing waits in vain for a task that is complete; one that fails blocks others.
        | Event::FrameEnded { frame, outcome: FrameOutcome::Completed } => one(frame),
        Event::StepEntered { .. }
            | Event::StepSkipped { .. }
            | Event::StepJudged { .. }
            | Event::AttemptStarted { .. }
            | Event::AttemptQueued { .. }
            | Event::AttemptPaused { .. }
            | Event::AttemptFailed { .. }
            | Event::AttemptLost { .. }
            | Event::AttemptSpent { .. }
            | Event::SubmissionReceived { .. }
            | Event::GateJudged { .. }
            | Event::FindingsChanged { .. }
            | Event::ContextPacked { .. }
            | Event::UsageMeasured { .. }
            | Event::DiskMeasured { .. }
            | Event::NetworkUsed { .. }
            | Event::Committed { .. }
            | Event::NothingToCommit { .. }
            | Event::Asked { .. } => TouchedTasks::None,
        _ => TouchedTasks::Any,
    }
}

/// Describes the events of a run, one after the other. Unlike a [`Feed`], this does not say what
/// follows from them, and keeps none of them.
pub fn each_timeline_entry(
    store: &Store,
    id: &RunId,
    mut each: impl FnMut(TimelineEntry),
) -> Result<(), RecordsError> {
    let mut run = Run::default();
    each_stored_event(store, id, 0, |seq, at, event| {
        apply(&mut run, &event);
        each(TimelineEntry::new(&run, seq, at, event));
    })
}
