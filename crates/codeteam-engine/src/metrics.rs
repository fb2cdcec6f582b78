//! Success, time and cost over the runs of a project, as folds over their logs.
//!
//! The log of a run that has ended is read once for each [`MetricsCache`]. Nothing is stored: the log
//! stays the truth.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_report::view::{AttemptState, AttemptTimeline, AttemptView, RunListItem, RunReplay};

use crate::engine::Engine;
use crate::problem::Problem;

/// Runs of so many days are counted unless somebody wants others.
pub const DEFAULT_DAYS: u32 = 30;
const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

/// What was counted of runs, so that the log of one that has ended is read once.
#[derive(Debug, Default)]
pub struct MetricsCache {
    /// By the project, as the caller names it, and the run.
    runs: Mutex<BTreeMap<(String, String), (u64, CountedRun)>>,
}

/// Success, time and cost over runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectMetrics {
    /// The runs, the oldest first.
    pub runs: Vec<RunMetrics>,
    /// Tables, each with its rows: by role, by worker, by step.
    pub tables: Vec<MetricsTable>,
    /// How workers do at each step.
    pub by_step_and_worker: Vec<WorkerSuccess>,
    /// How many tasks took how many rounds.
    pub rounds: Vec<(u32, u64)>,
}

/// How often a worker has succeeded at a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSuccess {
    /// The step.
    pub step: String,
    /// The worker.
    pub worker: String,
    /// How many attempts it made.
    pub count: u64,
    /// How many of them succeeded.
    pub succeeded: u64,
}

/// A run in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunMetrics {
    /// Its id.
    pub run: String,
    /// Its goal.
    pub goal: String,
    /// Its status in one word.
    pub status: String,
    /// When it started.
    pub started_at: EpochMillis,
    /// Whether it succeeded; `None` while it has not ended.
    pub has_succeeded: Option<bool>,
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a US dollar by worker; `None` where no price is known.
    pub spent: Vec<(String, Option<u64>)>,
}

/// A table of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsTable {
    /// What its rows are, such as `role`.
    pub by: String,
    /// Its rows, those with the most attempts first.
    pub rows: Vec<MetricsRow>,
}

/// How attempts of one kind went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsRow {
    /// Which.
    pub name: String,
    /// How many ended.
    pub count: u64,
    /// How many of them did what was asked.
    pub succeeded: u64,
    /// How many were made again.
    pub retried: u64,
    /// How long all of them took, in milliseconds.
    pub total_millis: u64,
    /// Half of them took no longer, in milliseconds.
    pub median_millis: Option<u64>,
    /// Nine of ten took no longer.
    pub p90_millis: Option<u64>,
    /// Tokens read and written.
    pub tokens: u64,
    /// Millionths of a US dollar; `None` if no price is known.
    pub microusd: Option<u64>,
    /// How many have no known price.
    pub unpriced: u64,
}

/// What one run adds to the numbers.
#[derive(Clone, Debug, Default)]
struct CountedRun {
    metrics: RunMetrics,
    attempts: Vec<CountedAttempt>,
    /// The rounds of tasks that have ended.
    rounds: Vec<u32>,
}

/// What one attempt adds to the numbers.
#[derive(Clone, Debug)]
struct CountedAttempt {
    role: String,
    worker: String,
    is_of_worker: bool,
    step: String,
    millis: u64,
    has_succeeded: bool,
    is_repeated: bool,
    tokens: u64,
    microusd: Option<u64>,
}

impl MetricsCache {
    /// Counts the runs of a project that began within so many days; all of them if it is 0. `project`
    /// is a name that the caller gives each project.
    pub fn count_runs(
        &self,
        project: &str,
        engine: &Engine,
        runs: impl Iterator<Item = RunListItem>,
        days: u32,
        now: EpochMillis,
    ) -> Result<ProjectMetrics, Problem> {
        let oldest = now.0.saturating_sub(u64::from(days) * DAY_MILLIS);
        let oldest = i64::try_from(oldest).unwrap_or(0);
        let mut wanted: Vec<RunListItem> = runs
            .filter(|run| days == 0 || run.created_at >= oldest)
            .collect();
        wanted.sort_by_key(|run| run.created_at);
        let mut counted = Vec::with_capacity(wanted.len());
        for run in &wanted {
            counted.push(self.count(project, engine, run, now)?);
        }
        let attempts: Vec<&CountedAttempt> = counted.iter().flat_map(|run| &run.attempts).collect();
        let table = |by: &str, name: fn(&CountedAttempt) -> &str| MetricsTable {
            by: by.to_owned(),
            rows: sum_rows(&attempts, name),
        };
        let mut rounds: BTreeMap<u32, u64> = BTreeMap::new();
        for round in counted.iter().flat_map(|run| &run.rounds) {
            *rounds.entry(*round).or_default() += 1;
        }
        Ok(ProjectMetrics {
            tables: vec![
                table("role", |attempt| &attempt.role),
                table("worker", |attempt| &attempt.worker),
                table("step", |attempt| &attempt.step),
            ],
            by_step_and_worker: sum_success(&attempts),
            rounds: rounds.into_iter().collect(),
            runs: counted.into_iter().map(|run| run.metrics).collect(),
        })
    }

    fn count(
        &self,
        project: &str,
        engine: &Engine,
        run: &RunListItem,
        now: EpochMillis,
    ) -> Result<CountedRun, Problem> {
        let key = (project.to_owned(), run.run.clone());
        let known = || self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seq, counted)) = known().get(&key)
            && *seq == run.events
        {
            return Ok(counted.clone());
        }
        let counted = count_run(engine, run, now)?;
        known().insert(key, (run.events, counted.clone()));
        Ok(counted)
    }
}

fn count_run(engine: &Engine, run: &RunListItem, now: EpochMillis) -> Result<CountedRun, Problem> {
    let id = RunId(run.run.clone());
    let (mut replay, mut timeline) = (RunReplay::default(), AttemptTimeline::default());
    engine.each_event(&id, 0, |_, at, event| {
        replay.apply_event(&event);
        timeline.record_event(at, &event);
    })?;
    let views = timeline.take_changed();
    let attempts: Vec<CountedAttempt> = views
        .iter()
        .filter(|attempt| !attempt.is_running())
        .map(|attempt| count_attempt(attempt, now))
        .collect();
    let mut rounds: BTreeMap<String, u32> = BTreeMap::new();
    for attempt in views.iter().filter(|attempt| !attempt.id.frame.is_root()) {
        let entry = rounds.entry(attempt.id.frame.to_string()).or_default();
        *entry = (*entry).max(attempt.id.generation);
    }
    let mut spent: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for attempt in views.iter().filter(|attempt| attempt.by_worker) {
        let worker = attempt.worker.as_ref().map_or("", |worker| worker.as_str());
        let sum = spent.entry(worker.to_owned()).or_default();
        if let Some(microusd) = attempt.usage.cost_microusd {
            *sum = Some(sum.unwrap_or(0) + microusd);
        }
    }
    let has_succeeded = match run.status.as_str() {
        "completed" => Some(true),
        "failed" | "aborted" => Some(false),
        _ => None,
    };
    Ok(CountedRun {
        metrics: RunMetrics {
            run: run.run.clone(),
            goal: run.goal.clone(),
            status: run.status.clone(),
            started_at: EpochMillis(u64::try_from(run.created_at).unwrap_or(0)),
            has_succeeded,
            tokens: views.iter().map(|attempt| attempt.usage.tokens()).sum(),
            spent: spent.into_iter().collect(),
        },
        attempts,
        rounds: rounds.into_values().collect(),
    })
}

fn count_attempt(attempt: &AttemptView, now: EpochMillis) -> CountedAttempt {
    let worker = attempt
        .worker
        .as_ref()
        .map_or("codeteam", |worker| worker.as_str());
    CountedAttempt {
        role: attempt.who.clone(),
        worker: worker.to_owned(),
        is_of_worker: attempt.by_worker,
        step: attempt.id.step.to_string(),
        millis: attempt.duration(now),
        has_succeeded: matches!(
            attempt.state,
            AttemptState::Done | AttemptState::Voted { .. }
        ),
        is_repeated: attempt.id.attempt > 1,
        tokens: attempt.usage.tokens(),
        microusd: attempt
            .usage
            .cost_microusd
            .or((!attempt.by_worker).then_some(0)),
    }
}

/// Sums up how each worker has done at each step. What codeteam does by itself is left out.
fn sum_success(attempts: &[&CountedAttempt]) -> Vec<WorkerSuccess> {
    let mut sums: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for attempt in attempts.iter().filter(|attempt| attempt.is_of_worker) {
        let (count, succeeded) = sums.entry((&attempt.step, &attempt.worker)).or_default();
        *count += 1;
        *succeeded += u64::from(attempt.has_succeeded);
    }
    let sums = sums.into_iter();
    sums.map(|((step, worker), (count, succeeded))| WorkerSuccess {
        step: step.to_owned(),
        worker: worker.to_owned(),
        count,
        succeeded,
    })
    .collect()
}

fn sum_rows(attempts: &[&CountedAttempt], name: fn(&CountedAttempt) -> &str) -> Vec<MetricsRow> {
    let mut groups: BTreeMap<&str, Vec<&CountedAttempt>> = BTreeMap::new();
    for attempt in attempts {
        groups.entry(name(attempt)).or_default().push(attempt);
    }
    let mut rows: Vec<MetricsRow> = groups
        .into_iter()
        .map(|(name, group)| sum_row(name, &group))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

fn sum_row(name: &str, group: &[&CountedAttempt]) -> MetricsRow {
    let mut millis: Vec<u64> = group.iter().map(|attempt| attempt.millis).collect();
    millis.sort_unstable();
    // The smallest time that this part of the attempts did not exceed.
    let within = |tenths: usize| {
        let at = (millis.len() * tenths).div_ceil(10);
        millis.get(at.saturating_sub(1)).copied()
    };
    let count = |test: fn(&CountedAttempt) -> bool| {
        let found = group.iter().filter(|attempt| test(attempt)).count();
        u64::try_from(found).unwrap_or(u64::MAX)
    };
    let priced = group.iter().filter_map(|attempt| attempt.microusd);
    let unpriced = count(|attempt| attempt.microusd.is_none());
    MetricsRow {
        name: name.to_owned(),
        count: count(|_| true),
        succeeded: count(|attempt| attempt.has_succeeded),
        retried: count(|attempt| attempt.is_repeated),
        total_millis: group.iter().map(|attempt| attempt.millis).sum(),
        median_millis: within(5),
        p90_millis: within(9),
        tokens: group.iter().map(|attempt| attempt.tokens).sum(),
        microusd: (unpriced < count(|_| true)).then(|| priced.sum()),
        unpriced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_summed_up_by_name() {
        let attempt = |role: &str, millis, has_succeeded, microusd| CountedAttempt {
            role: role.to_owned(),
            worker: "w".to_owned(),
            is_of_worker: true,
            step: "s".to_owned(),
            millis,
            has_succeeded,
            is_repeated: !has_succeeded,
            tokens: 10,
            microusd,
        };
        let all = [
            attempt("coder", 30, true, Some(5)),
            attempt("coder", 10, true, None),
            attempt("coder", 20, false, Some(7)),
            attempt("reviewer", 5, true, None),
        ];
        let all: Vec<&CountedAttempt> = all.iter().collect();
        let rows = sum_rows(&all, |attempt| &attempt.role);
        assert_eq!(rows.len(), 2);
        let coder = &rows[0];
        assert_eq!((coder.count, coder.succeeded, coder.retried), (3, 2, 1));
        assert_eq!(
            (coder.median_millis, coder.p90_millis),
            (Some(20), Some(30))
        );
        assert_eq!(
            (coder.tokens, coder.microusd, coder.unpriced),
            (30, Some(12), 1)
        );
        assert_eq!(rows[1].microusd, None);
        let success = sum_success(&all);
        assert_eq!(success.len(), 1);
        assert_eq!((success[0].count, success[0].succeeded), (4, 3));
    }
}
