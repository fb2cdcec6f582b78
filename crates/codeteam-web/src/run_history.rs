//! What pages need to know of a run that is not in its state: attempts, what happened and when, what
//! workers were shown, versions of the plan. It is read from the log once and brought up to date.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use codeteam_core::Event;
use codeteam_core::context::PackedContext;
use codeteam_core::ids::{EpochMillis, FramePath, RunId, Tree};
use codeteam_core::schedule::TaskStatus;
use codeteam_engine::Engine;
use codeteam_engine::problem::Problem;
use codeteam_report::describe;
use codeteam_report::feed::TimelineEntry;
use codeteam_report::view::{AttemptTimeline, AttemptView, LoadedRun, RunReplay};
use codeteam_workflow::plan_file::to_yaml;

use crate::page::PlanRevision;

/// How many runs are kept in memory.
const KEPT_RUNS: usize = 8;
/// How many versions of a plan are kept.
const KEPT_REVISIONS: usize = 50;

/// An event without what it carries.
#[derive(Clone, Debug)]
pub(crate) struct EventLine {
    /// Its number.
    pub(crate) seq: u64,
    /// When it happened.
    pub(crate) at: EpochMillis,
    /// The name of its kind.
    pub(crate) kind: &'static str,
    /// The frame that it happened in.
    pub(crate) frame: Option<FramePath>,
    /// What happened, in words; `None` if only the machine needs to know.
    pub(crate) words: Option<String>,
}

/// The history of a run, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct RunHistory {
    replay: RunReplay,
    timeline: AttemptTimeline,
    /// The attempts, by their fence.
    pub(crate) attempts: BTreeMap<u64, AttemptView>,
    /// What happened, the oldest first.
    pub(crate) lines: Vec<EventLine>,
    /// What workers were shown, by the fence of the attempt.
    pub(crate) contexts: BTreeMap<u64, PackedContext>,
    /// When each question was asked.
    pub(crate) asked: BTreeMap<String, EpochMillis>,
    /// The versions of the plan, the oldest first.
    pub(crate) revisions: VecDeque<PlanRevision>,
    /// The versions that the change of each frame has had.
    versions: BTreeMap<FramePath, BTreeSet<Tree>>,
}

impl RunHistory {
    /// Reads what has happened since the last time.
    fn catch_up(&mut self, engine: &Engine, run: &RunId) -> Result<(), Problem> {
        let after = self.replay.seq();
        engine.each_event(run, after, |seq, at, event| self.take(seq, at, event))?;
        for attempt in self.timeline.take_changed() {
            self.attempts.insert(attempt.id.fence, attempt);
        }
        Ok(())
    }

    fn take(&mut self, seq: u64, at: EpochMillis, event: Event) {
        self.replay.apply_event(&event);
        self.timeline.record_event(at, &event);
        let words = self.replay.describe_event(&event);
        let kind = event.kind();
        if matches!(kind, "plan_proposed" | "plan_revised" | "phase_planned") {
            self.keep_revision(seq, at, words.clone().unwrap_or_default());
        }
        self.keep_version(&event);
        self.lines.push(EventLine {
            seq,
            at,
            kind,
            frame: describe::event_frame(&event).cloned(),
            words,
        });
        match event {
            Event::ContextPacked { id, packed } => {
                self.contexts.insert(id.fence, *packed);
            }
            Event::Asked { question, .. } => {
                self.asked.insert(question.id.to_string(), at);
            }
            _ => {}
        }
    }

    fn keep_revision(&mut self, seq: u64, at: EpochMillis, words: String) {
        let run = self.replay.snapshot();
        let Some(plan) = run.full_plan() else { return };
        // The state of tasks is not what a version of the plan is about.
        let yaml = to_yaml(plan, None, &[], |_| TaskStatus::Pending);
        self.revisions.push_back(PlanRevision {
            seq,
            at,
            words,
            yaml,
        });
        if self.revisions.len() > KEPT_REVISIONS {
            self.revisions.pop_front();
        }
    }

    fn keep_version(&mut self, event: &Event) {
        if let (Some(frame), Some(tree)) = (describe::event_frame(event), change_tree(event)) {
            let versions = self.versions.entry(frame.clone()).or_default();
            versions.insert(tree.clone());
        }
    }

    /// Returns the run as it is.
    pub(crate) fn run(&self) -> LoadedRun {
        self.replay.snapshot()
    }

    /// Returns the attempts, the oldest first.
    pub(crate) fn attempt_list(&self) -> Vec<AttemptView> {
        self.attempts.values().cloned().collect()
    }

    /// Returns the attempts of a place, the oldest first.
    pub(crate) fn attempts_of(&self, place: &str) -> Vec<AttemptView> {
        let attempts = self.attempts.values();
        let own = attempts.filter(|attempt| attempt.id.frame.name() == place);
        own.cloned().collect()
    }

    /// Returns true if the change of a place has ever been this tree.
    pub(crate) fn has_version(&self, place: &str, version: &str) -> bool {
        let frames = self.versions.iter();
        let mut own = frames.filter(|(frame, _)| frame.name() == place);
        own.any(|(_, trees)| trees.iter().any(|tree| tree.as_str() == version))
    }
}

/// Returns the tree that a change has become, or as which it was judged.
fn change_tree(event: &Event) -> Option<&Tree> {
    match event {
        Event::SubmissionReceived { change, .. } => change.as_ref().map(|(tree, _)| tree),
        Event::Answered { change, .. } => change.as_ref().map(|change| &change.0),
        Event::FrameRebased { tree, .. }
        | Event::GateJudged { tree, .. }
        | Event::StepJudged { tree, .. } => Some(tree),
        _ => None,
    }
}

/// The histories of the runs of a project that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct HistoryCache {
    runs: Mutex<VecDeque<(RunId, Arc<Mutex<RunHistory>>)>>,
}

impl HistoryCache {
    /// Calls `use_it` with the history of a run, brought up to date.
    pub(crate) fn with<T>(
        &self,
        engine: &Engine,
        run: &RunId,
        use_it: impl FnOnce(&RunHistory) -> T,
    ) -> Result<T, Problem> {
        let history = self.find(run);
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        history.catch_up(engine, run)?;
        if !history.replay.has_started() {
            return Err(Problem::user(format!("there is no run `{run}`")));
        }
        Ok(use_it(&history))
    }

    fn find(&self, run: &RunId) -> Arc<Mutex<RunHistory>> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let known = runs.iter().position(|(id, _)| id == run);
        let found = known.and_then(|at| runs.remove(at));
        let found = found.unwrap_or_else(|| (run.clone(), Arc::default()));
        let history = Arc::clone(&found.1);
        runs.push_back(found);
        if runs.len() > KEPT_RUNS {
            runs.pop_front();
        }
        history
    }
}

/// Returns an event as it is stored, as JSON with a line for each key.
pub(crate) fn read_raw_event(engine: &Engine, run: &RunId, seq: u64) -> Result<String, Problem> {
    let mut found = None;
    let read = engine
        .store
        .for_each_event(run.as_str(), seq.saturating_sub(1), |stored| {
            if stored.seq == seq {
                found = Some(stored.data);
            }
            Err(ReadEnd::Enough)
        });
    if let Err(ReadEnd::Failed(error)) = read {
        return Err(Problem::environment("the log cannot be read").caused_by(&error));
    }
    let found = found.ok_or_else(|| Problem::user(format!("there is no event {seq}")))?;
    let value: Result<serde_json::Value, _> = serde_json::from_str(&found);
    Ok(value
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or(found))
}

/// Reads the events that lines are about.
pub(crate) fn read_entries(
    engine: &Engine,
    run: &RunId,
    lines: &[EventLine],
) -> Result<Vec<TimelineEntry>, Problem> {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return Ok(Vec::new());
    };
    let last = last.seq;
    let mut events = BTreeMap::new();
    let read = engine
        .store
        .for_each_event(run.as_str(), first.seq - 1, |stored| {
            let seq = stored.seq;
            events.insert(seq, stored);
            if seq >= last {
                return Err(ReadEnd::Enough);
            }
            Ok(())
        });
    if let Err(ReadEnd::Failed(error)) = read {
        return Err(Problem::environment("the log cannot be read").caused_by(&error));
    }
    let entries = lines.iter().filter_map(|line| {
        let stored = events.remove(&line.seq)?;
        let event = Event::read(stored.version, &stored.data).ok()?;
        Some(TimelineEntry {
            run: run.clone(),
            seq: line.seq,
            at: line.at,
            kind: line.kind,
            frame: line.frame.clone(),
            words: line.words.clone(),
            event: Box::new(event),
        })
    });
    Ok(entries.collect())
}

/// Why reading of the log has ended before its end.
enum ReadEnd {
    /// All that is wanted was read.
    Enough,
    /// It cannot be read.
    Failed(codeteam_host::store::Error),
}

impl From<codeteam_host::store::Error> for ReadEnd {
    fn from(error: codeteam_host::store::Error) -> Self {
        Self::Failed(error)
    }
}
