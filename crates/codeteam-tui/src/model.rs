//! What the screen knows of runs: the views of codeteam-report.

use std::collections::{BTreeMap, VecDeque};

use codeteam_core::frame::Question;
use codeteam_core::ids::{AttemptId, BodyId, EpochMillis, FramePath, RunId};
use codeteam_engine::watch::WatchedRun;
use codeteam_report::view::{AttemptState, AttemptView, InboxItem as ListedItem, LoadedRun};

/// The most lines of a timeline that are kept.
pub(crate) const TIMELINE_LINES: usize = 10_000;

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InboxItem {
    /// A question that is open.
    Question {
        /// The run that asks.
        run: String,
        /// The question.
        question: AttemptId,
    },
    /// A run that goes on only if a person takes it up.
    Stopped {
        /// The run.
        run: String,
    },
}

impl InboxItem {
    /// Returns the run that it is about.
    pub(crate) fn run(&self) -> &str {
        match self {
            Self::Question { run, .. } | Self::Stopped { run } => run,
        }
    }
}

/// Lists what needs a person, over all runs, as `codeteam inbox` does and in the same order.
pub(crate) fn inbox_items(runs: &BTreeMap<String, WatchedRun>) -> Vec<InboxItem> {
    let mut items = Vec::new();
    for (id, run) in runs {
        let Some(loaded) = &run.loaded else { continue };
        let asked = |question: &Question| question.asked_at.unwrap_or(loaded.started_at);
        let idle = ListedItem::of_idle_run(loaded).filter(|_| !run.is_driven);
        let idle = idle.map(|item| ListedItem {
            since: EpochMillis(u64::try_from(run.item.updated_at).unwrap_or(0)),
            ..item
        });
        for item in ListedItem::of_run(loaded, asked).into_iter().chain(idle) {
            let order = item.order();
            let run = id.clone();
            let shown = match item.question_id {
                Some(question) => InboxItem::Question { run, question },
                None => InboxItem::Stopped { run },
            };
            items.push((order, shown));
        }
    }
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
    items.into_iter().map(|(_, item)| item).collect()
}

/// A line of the timeline of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimelineLine {
    /// The number of the event.
    pub(crate) seq: u64,
    /// When it happened.
    pub(crate) at: EpochMillis,
    /// The task, or `run`.
    pub(crate) place: String,
    /// What happened.
    pub(crate) words: String,
}

/// What has happened in the run that is shown, since the last update.
#[derive(Clone, Debug)]
pub(crate) struct HistoryUpdate {
    /// The run as it is now.
    pub(crate) run: LoadedRun,
    /// The attempts that have changed.
    pub(crate) attempts: Vec<AttemptView>,
    /// What happened.
    pub(crate) lines: Vec<TimelineLine>,
    /// Whether this is all there is, and not what is new.
    pub(crate) is_whole: bool,
}

/// The run that is shown, with its attempts and its timeline.
#[derive(Clone, Debug)]
pub(crate) struct RunHistory {
    /// The run as it was at its last event that was read.
    pub(crate) run: LoadedRun,
    /// Its attempts, by their fence.
    pub(crate) attempts: BTreeMap<u64, AttemptView>,
    /// What happened, the newest last.
    pub(crate) timeline: VecDeque<TimelineLine>,
    /// How many lines of the timeline were dropped.
    pub(crate) dropped: usize,
}

impl RunHistory {
    /// Takes the first update of a run.
    pub(crate) fn new(update: HistoryUpdate) -> Self {
        let mut history = Self {
            run: update.run.clone(),
            attempts: BTreeMap::new(),
            timeline: VecDeque::new(),
            dropped: 0,
        };
        history.extend(update);
        history
    }

    /// Takes what has happened since.
    pub(crate) fn extend(&mut self, update: HistoryUpdate) {
        self.run = update.run;
        for attempt in update.attempts {
            self.attempts.insert(attempt.id.fence, attempt);
        }
        self.timeline.extend(update.lines);
        let surplus = self.timeline.len().saturating_sub(TIMELINE_LINES);
        self.timeline.drain(..surplus);
        self.dropped += surplus;
    }

    /// Returns the id of the run.
    pub(crate) fn id(&self) -> &RunId {
        &self.run.id
    }

    /// Returns true while an attempt is under way.
    pub(crate) fn has_running_attempts(&self) -> bool {
        self.attempts.values().any(AttemptView::is_running)
    }

    /// Returns the attempts of a frame itself, not of those within it.
    pub(crate) fn attempts_of<'a, 'f>(
        &'a self,
        frame: &'f FramePath,
    ) -> impl Iterator<Item = &'a AttemptView> + use<'a, 'f> {
        self.attempts
            .values()
            .filter(move |attempt| attempt.id.frame == *frame)
    }
}

/// The output of an attempt that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogTarget {
    /// The run.
    pub(crate) run: RunId,
    /// The launch.
    pub(crate) fence: u64,
    /// The body with the output, if the attempt has ended.
    pub(crate) transcript: Option<BodyId>,
}

/// What attempts of one role and worker have spent together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CostRow {
    /// Attempts.
    pub(crate) attempts: usize,
    /// Attempts that have ended without a result.
    pub(crate) failed: usize,
    /// Milliseconds.
    pub(crate) millis: u64,
    /// Tokens read and written.
    pub(crate) tokens: u64,
    /// The part of the tokens that was cached.
    pub(crate) cached: u64,
    /// Millionths of a dollar, as far as known.
    pub(crate) microusd: u64,
    /// Attempts that have ended and whose price is unknown.
    pub(crate) unpriced: usize,
}

/// Adds up what was spent, by a key.
pub(crate) fn cost_rows<'a>(
    history: &'a RunHistory,
    now: EpochMillis,
    key: impl Fn(&'a AttemptView) -> Option<String>,
) -> Vec<(String, CostRow)> {
    let mut rows: BTreeMap<String, CostRow> = BTreeMap::new();
    for attempt in history.attempts.values() {
        let Some(key) = key(attempt) else { continue };
        let row = rows.entry(key).or_default();
        row.attempts += 1;
        row.failed += usize::from(matches!(
            attempt.state,
            AttemptState::Failed { .. } | AttemptState::Lost
        ));
        row.millis += attempt.duration(now);
        row.tokens += attempt.usage.tokens();
        row.cached += attempt.usage.cached_input_tokens;
        row.microusd += attempt.usage.cost_microusd.unwrap_or(0);
        let is_unpriced =
            attempt.by_worker && !attempt.is_running() && attempt.usage.cost_microusd.is_none();
        row.unpriced += usize::from(is_unpriced);
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse((row.microusd, row.tokens, row.millis)));
    rows
}
