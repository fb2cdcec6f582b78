//! The attempts of a run: who tried what, for how long, with which result and at which price.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::Event;
use codeteam_core::budget::Usage;
use codeteam_core::checks::CheckResult;
use codeteam_core::frame::SlotWork;
use codeteam_core::ids::{AttemptId, BodyId, EpochMillis, FramePath, WorkerName};
use codeteam_core::submission::Submission;
use serde::Serialize;

use crate::describe::first_line;

/// One attempt, as the events tell of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptView {
    /// The attempt. Its fence is unique in the run.
    pub id: AttemptId,
    /// What is done: the name of a role, or of the step if no role does it.
    pub who: String,
    /// Whether a worker plays a role, and not codeteam itself.
    pub by_worker: bool,
    /// The worker that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// When it started.
    pub started_at: EpochMillis,
    /// When it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<EpochMillis>,
    /// How it stands.
    #[serde(flatten)]
    pub state: AttemptState,
    /// What it has spent, as far as that is known.
    pub usage: Usage,
    /// The body with its output, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<BodyId>,
    /// The results of a gate's checks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
}

/// How an attempt stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AttemptState {
    /// It is under way.
    Running,
    /// It has done what it was asked to do.
    Done,
    /// It has judged a change.
    Voted {
        /// Whether it approves.
        approved: bool,
    },
    /// It ended without a result.
    Failed {
        /// Why, in one line.
        why: String,
    },
    /// codeteam's own process ended; the attempt is made again.
    Lost,
    /// It was stopped, because its result was no longer needed.
    Cancelled,
}

impl AttemptView {
    /// Returns how long it has taken so far, in milliseconds.
    pub fn duration(&self, now: EpochMillis) -> u64 {
        self.ended_at.unwrap_or(now).since(self.started_at)
    }

    /// Returns true while it is under way.
    pub fn is_running(&self) -> bool {
        self.state == AttemptState::Running
    }
}

/// The attempts of one run, collected from its events in their order.
///
/// [`AttemptTimeline::take_changed`] hands out what the events since the last call have changed, so
/// that whoever keeps a copy need not copy all of it each time.
#[derive(Clone, Debug, Default)]
pub struct AttemptTimeline {
    attempts: BTreeMap<u64, AttemptView>,
    changed: BTreeSet<u64>,
}

impl AttemptTimeline {
    /// Takes the next event of the run.
    pub fn record_event(&mut self, at: EpochMillis, event: &Event) {
        match event {
            Event::AttemptStarted {
                id, work, worker, ..
            } => self.start(at, id, work, worker.as_ref()),
            Event::UsageMeasured { id, usage } => self.change(id, |found| found.usage = *usage),
            Event::SubmissionReceived {
                id,
                submission,
                usage,
                transcript,
                vote,
                ..
            } => {
                let state = submission_state(submission, *vote);
                self.end(at, id, state, |found| {
                    found.usage = *usage;
                    found.transcript.clone_from(transcript);
                });
            }
            Event::AttemptFailed {
                id,
                facts,
                usage,
                transcript,
                ..
            } => {
                let why = first_line(&facts.message).to_owned();
                self.end(at, id, AttemptState::Failed { why }, |found| {
                    found.usage = *usage;
                    found.transcript.clone_from(transcript);
                });
            }
            Event::GateJudged {
                id,
                passed,
                results,
                ..
            } => {
                let state = AttemptState::Voted { approved: *passed };
                self.end(at, id, state, |found| found.checks.clone_from(results));
            }
            Event::AttemptLost { id, usage } => {
                self.end(at, id, AttemptState::Lost, |found| found.usage = *usage);
            }
            Event::AttemptSpent { id, usage } => {
                self.end(at, id, AttemptState::Cancelled, |found| {
                    found.usage = *usage;
                });
            }
            Event::RebaseConflicted { id, files, .. } => {
                let why = format!("conflicts in {}", files.join(", "));
                self.end(at, id, AttemptState::Failed { why }, |_| {});
            }
            Event::FrameRebased { id, .. }
            | Event::TipMoved { id, .. }
            | Event::InterfacesLocked { id, .. }
            | Event::Committed { id, .. }
            | Event::RiskAssessed { id, .. }
            | Event::Published { id, .. }
            | Event::RunRolledBack { id, .. }
            | Event::RollbackAbandoned { id, .. }
            | Event::Delivered { id, .. } => self.end(at, id, AttemptState::Done, |_| {}),
            Event::FrameEnded { frame, .. } => self.cancel_within(at, frame),
            Event::RunEnded { .. } => self.cancel_within(at, &FramePath::root()),
            _ => {}
        }
    }

    /// Returns the attempts that have changed since the last call, in the order of their launch.
    pub fn take_changed(&mut self) -> Vec<AttemptView> {
        let changed = std::mem::take(&mut self.changed);
        let found = changed.iter().filter_map(|fence| self.attempts.get(fence));
        found.cloned().collect()
    }

    fn start(
        &mut self,
        at: EpochMillis,
        id: &AttemptId,
        work: &SlotWork,
        worker: Option<&WorkerName>,
    ) {
        let who = match work {
            SlotWork::Role(role) => role.0.clone(),
            SlotWork::Rebase => "rebase".to_owned(),
            _ => id.step.0.clone(),
        };
        let started = AttemptView {
            id: id.clone(),
            who,
            by_worker: matches!(work, SlotWork::Role(_)),
            worker: worker.cloned(),
            started_at: at,
            ended_at: None,
            state: AttemptState::Running,
            usage: Usage::default(),
            transcript: None,
            checks: Vec::new(),
        };
        self.attempts.insert(id.fence, started);
        self.changed.insert(id.fence);
    }

    fn change(&mut self, id: &AttemptId, change: impl FnOnce(&mut AttemptView)) {
        if let Some(found) = self.attempts.get_mut(&id.fence) {
            change(found);
            self.changed.insert(id.fence);
        }
    }

    fn end(
        &mut self,
        at: EpochMillis,
        id: &AttemptId,
        state: AttemptState,
        change: impl FnOnce(&mut AttemptView),
    ) {
        self.change(id, |found| {
            found.ended_at = Some(at);
            found.state = state;
            change(found);
        });
    }

    /// Ends what is still under way in a frame that has ended.
    fn cancel_within(&mut self, at: EpochMillis, frame: &FramePath) {
        let running = self.attempts.values().filter(|found| found.is_running());
        let ended = running.filter(|found| found.id.frame.is_within(frame));
        let ended: Vec<AttemptId> = ended.map(|found| found.id.clone()).collect();
        for id in ended {
            self.end(at, &id, AttemptState::Cancelled, |_| {});
        }
    }
}

fn submission_state(submission: &Submission, vote: Option<bool>) -> AttemptState {
    match (submission, vote) {
        (Submission::Blocked(_), _) => AttemptState::Failed {
            why: "is blocked".to_owned(),
        },
        (_, Some(approved)) => AttemptState::Voted { approved },
        (_, None) => AttemptState::Done,
    }
}
