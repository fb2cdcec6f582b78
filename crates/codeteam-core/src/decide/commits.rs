//! Integration: one frame at a time, and only a tree that has been judged as a whole.
//!
//! **Invariant:** what is committed is exactly a tree on which every check of the frame's path
//! passed and whose change every reviewer of that path approved, or a person accepted it as it is.

use super::Decider;
use crate::budget::{self, BudgetReservation, Usage};
use crate::event::{BaselineFailure, DeliveryOutcome, EntryReason, Event};
use crate::frame::{Frame, FrameStage, SlotState, SlotWork, StepVerdict};
use crate::hands::Operator;
use crate::ids::{AttemptId, FramePath, StepId};
use crate::input::{IntegrationOutcome, RebaseOutcome};
use crate::message;
use crate::workflow::{CheckKind, ExitTarget, StepKind};

/// What must happen before a frame is integrated, or its integration itself.
enum IntegrationNeed {
    Nothing,
    Acceptance,
    Rebase,
    Review(StepId),
    Gate(StepId),
    Message,
    Integrate,
}

impl Decider {
    /// Takes the frame whose turn it is one step further.
    pub(super) fn integrate(&mut self) {
        let Some(path) = self.run.integrating.first().cloned() else {
            return;
        };
        let Some(frame) = self.run.frames.get(&path) else {
            return;
        };
        let Some(slot) = frame.slots.first() else {
            return;
        };
        if frame.stage != FrameStage::Committing || slot.state == SlotState::Running {
            return;
        }
        let first = slot.state == SlotState::Queued;
        let attempt = if first {
            slot.id.attempt
        } else {
            slot.id.attempt + 1
        };
        let id = AttemptId {
            attempt,
            fence: 0,
            ..slot.id.clone()
        };
        let work = match self.need(frame) {
            IntegrationNeed::Nothing => {
                self.emit(Event::NothingToCommit {
                    frame: path.clone(),
                });
                return self.next(&path);
            }
            IntegrationNeed::Acceptance => return self.ask_degraded(&path),
            IntegrationNeed::Message => return self.ask_message(&path),
            IntegrationNeed::Review(step) => {
                return self.go(&path, &ExitTarget::Step(step), EntryReason::Stale);
            }
            IntegrationNeed::Rebase => SlotWork::Rebase,
            // Checks take time, and there is none left.
            IntegrationNeed::Gate(_) if self.run.limit == Some(budget::LimitKind::Time) => return,
            IntegrationNeed::Gate(step) => SlotWork::Gate(step),
            IntegrationNeed::Integrate => SlotWork::Integrate,
        };
        self.launch(&id, work, None, BudgetReservation::default());
    }

    fn need(&self, frame: &Frame) -> IntegrationNeed {
        if frame.tree == frame.base.tree {
            return IntegrationNeed::Nothing;
        }
        if self.is_unaccepted(&frame.path) {
            return IntegrationNeed::Acceptance;
        }
        if frame.base.commit != self.run.tip.commit {
            return IntegrationNeed::Rebase;
        }
        if let Some(need) = unjudged(frame) {
            return need;
        }
        if let Some(step) = self.outdated_leniency(frame) {
            return IntegrationNeed::Gate(step);
        }
        if message::of(&self.run, frame).is_none() {
            return IntegrationNeed::Message;
        }
        IntegrationNeed::Integrate
    }

    /// The gate that let a frame's change leave tests failing for other tasks to repair, if none of
    /// them is left by now: the checks must pass then.
    fn outdated_leniency(&self, frame: &Frame) -> Option<StepId> {
        if self.run.may_leave_failures(frame) {
            return None;
        }
        let mut gates = frame.record.gates.iter();
        let lenient = gates.find(|(_, gate)| {
            let mut results = gate.results.iter();
            gate.passed && results.any(|result| !result.still_failing.is_empty())
        });
        lenient.map(|(step, _)| step.clone())
    }

    /// What may fail from now on of what failed before the run, for the checks where that is less than
    /// until now: what a commit has repaired must stay so. Where the base is not tried before a check
    /// has failed, a check that passes is noted, too.
    fn still_failing(&self, frame: &Frame) -> Vec<BaselineFailure> {
        let on_demand = self.run.must_pass || self.run.began_in == Operator::Session;
        let mut changed = Vec::new();
        let judged = frame.record.gates.iter();
        for (step, gate) in judged.filter(|(_, gate)| gate.tree == frame.tree) {
            let Some(StepKind::Gate { checks }) = self.run.step(step).map(|step| &step.kind) else {
                continue;
            };
            for result in &gate.results {
                let check = checks.iter().find(|check| check.name == result.name);
                let Some(CheckKind::Command(command)) = check.map(|check| &check.what) else {
                    continue;
                };
                let mut baseline = self.run.baseline.iter();
                let known = baseline.find(|failure| failure.command == *command);
                let is_told = result.passed || !result.still_failing.is_empty();
                let differs = match known {
                    Some(known) => known.tests != result.still_failing,
                    None => on_demand,
                };
                if is_told && differs {
                    changed.push(BaselineFailure {
                        check: result.name.clone(),
                        command: command.clone(),
                        tests: result.still_failing.clone(),
                    });
                }
            }
        }
        changed
    }

    pub(super) fn rebased(&mut self, id: &AttemptId, outcome: &RebaseOutcome) {
        let Some((_, SlotWork::Rebase)) = self.running(id) else {
            return self.stale(id, Usage::default());
        };
        match outcome {
            RebaseOutcome::Clean { base, tree, change } => self.emit(Event::FrameRebased {
                id: id.clone(),
                base: base.clone(),
                tree: tree.clone(),
                change: change.clone(),
            }),
            RebaseOutcome::Conflict { base, files } => {
                let (base, files) = (base.clone(), files.clone());
                self.emit(Event::RebaseConflicted {
                    id: id.clone(),
                    base,
                    files,
                });
                self.conflicted(&id.frame);
            }
        }
    }

    fn conflicted(&mut self, path: &FramePath) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let step = frame.step.clone();
        let back = match self.run.step(&step).map(|s| &s.kind) {
            Some(StepKind::Commit {
                on_conflict: Some(to),
            }) => Some(ExitTarget::Step(to.clone())),
            _ => None,
        };
        self.rejected(
            path,
            &step,
            back,
            "it conflicts with what was integrated meanwhile",
        );
    }

    pub(super) fn integrated(&mut self, id: &AttemptId, outcome: &IntegrationOutcome) {
        let Some((frame, SlotWork::Integrate)) = self.running(id) else {
            return self.stale(id, Usage::default());
        };
        match outcome {
            IntegrationOutcome::Committed { tree, .. } if *tree != frame.tree => {
                self.effect_failed(
                    id,
                    None,
                    "the commit holds another tree than the one that was judged",
                );
            }
            IntegrationOutcome::Committed {
                commit,
                tree,
                message,
            } => {
                let still_failing = self.still_failing(frame);
                self.emit(Event::Committed {
                    id: id.clone(),
                    commit: commit.clone(),
                    tree: tree.clone(),
                    message: message.clone(),
                    still_failing,
                });
                self.next(&id.frame);
            }
            IntegrationOutcome::TipMoved(tip) => {
                self.emit(Event::TipMoved {
                    id: id.clone(),
                    tip: tip.clone(),
                });
            }
        }
    }

    pub(super) fn delivered(&mut self, id: &AttemptId, outcome: &DeliveryOutcome) {
        let Some((_, SlotWork::Deliver)) = self.running(id) else {
            return self.stale(id, Usage::default());
        };
        self.emit(Event::Delivered {
            id: id.clone(),
            outcome: outcome.clone(),
        });
        self.next(&id.frame);
    }

    pub(super) fn published(&mut self, id: &AttemptId, ok: bool, output: &str) {
        let Some((_, SlotWork::Publish)) = self.running(id) else {
            return self.stale(id, Usage::default());
        };
        if ok {
            self.emit(Event::Published {
                id: id.clone(),
                output: output.to_owned(),
            });
            self.next(&id.frame);
        } else {
            // What a command says last is why it failed; what it says first is what it did before.
            let last = output.lines().rfind(|line| !line.trim().is_empty());
            let why = match last {
                Some(last) if last.trim() != output.trim() => format!("{}\n{output}", last.trim()),
                _ => output.to_owned(),
            };
            self.effect_failed(id, None, &why);
        }
    }
}

/// Whether a frame's change stands as it is: there is one, and nothing is held against it.
pub(super) fn is_judged(frame: &Frame) -> bool {
    frame.tree != frame.base.tree && unjudged(frame).is_none()
}

/// Whether the step a frame is at has judged what the frame has now, and is against it.
pub(super) fn is_rejected(frame: &Frame) -> bool {
    let patch = frame.change.as_ref().map(|change| &change.patch);
    frame.verdicts.get(&frame.step).is_some_and(|verdict| {
        let current = if verdict.by_checks {
            verdict.tree == frame.tree
        } else {
            verdict.patch.as_ref() == patch
        };
        current && !verdict.approved
    })
}

/// The first judgement that is missing, or out of date, or against the frame's change.
fn unjudged(frame: &Frame) -> Option<IntegrationNeed> {
    let patch = frame.change.as_ref().map(|c| &c.patch);
    let accepted = |v: &StepVerdict| !v.approved && frame.accepted.as_ref() == patch;
    // Checks come first: no reviewer's time is spent on a tree that fails them.
    for (step, verdict) in frame.verdicts.iter().filter(|(_, v)| v.by_checks) {
        let current = verdict.approved && verdict.tree == frame.tree;
        if !current && !accepted(verdict) {
            return Some(IntegrationNeed::Gate(step.clone()));
        }
    }
    let reviews = frame
        .verdicts
        .iter()
        .filter(|(_, v)| !v.by_checks && v.patch.is_some());
    for (step, verdict) in reviews {
        let current = verdict.approved && verdict.patch.as_ref() == patch;
        if !current && !accepted(verdict) {
            return Some(IntegrationNeed::Review(step.clone()));
        }
    }
    None
}
