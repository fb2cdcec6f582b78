//! Integration: commits one frame at a time, and only a tree that has been judged as a whole.
//!
//! **Invariant:** what is committed is exactly a tree on which every check of the frame's path
//! passed and whose change every reviewer of that path approved, or a person accepted it as it is;
//! and where the run has an approval policy, a tree that was approved by it.

use super::Decider;
use super::approvals::ApprovalNeed;
use crate::budget::{BudgetReservation, Usage};
use crate::commit_message::commit_message;
use crate::event::{BaselineFailure, DeliveryOutcome, EntryReason, Event};
use crate::frame::{Frame, FrameStage, JudgedStep, SlotState, SlotWork};
use crate::ids::{AttemptId, FramePath, StepId};
use crate::input::{IntegrationOutcome, RebaseOutcome};
use crate::operator::Operator;
use crate::workflow::{CheckKind, ExitTarget, StepKind};

/// The next thing a frame needs in order to be integrated, up to the integration itself.
enum IntegrationNeed {
    Nothing,
    Acceptance,
    Rebase,
    Review(StepId),
    Gate(StepId),
    Message,
    Facts,
    Approval,
    Integrate,
}

impl Decider {
    /// Takes the frame at the head of the integration queue one step further.
    pub(super) fn integrate(&mut self) {
        let Some(path) = self.run.integration_queue.first().cloned() else {
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
        if let Some(step) = self.outdated_request(&path) {
            return self.enter_step(&path, &step, EntryReason::Stale, None);
        }
        let first = slot.state == SlotState::Queued;
        let attempt = if first {
            slot.id.attempt
        } else {
            slot.id.attempt + 1
        };
        let id = AttemptId {
            attempt,
            fence: AttemptId::NOT_LAUNCHED,
            ..slot.id.clone()
        };
        let work = match self.integration_need(frame) {
            IntegrationNeed::Nothing => {
                self.emit(Event::NothingToCommit {
                    frame: path.clone(),
                });
                return self.advance(&path);
            }
            IntegrationNeed::Acceptance => return self.ask_degraded(&path),
            IntegrationNeed::Message => return self.ask_message(&path),
            IntegrationNeed::Review(step) => {
                return self.transition(&path, &ExitTarget::Step(step), EntryReason::Stale);
            }
            IntegrationNeed::Approval => return self.request_approval(&path),
            IntegrationNeed::Rebase => SlotWork::Rebase,
            IntegrationNeed::Facts => SlotWork::Assess,
            IntegrationNeed::Gate(_) if self.is_out_of_time() => return,
            IntegrationNeed::Gate(step) => SlotWork::Gate(step),
            IntegrationNeed::Integrate => SlotWork::Integrate,
        };
        self.launch(&id, work, None, BudgetReservation::default());
    }

    fn integration_need(&self, frame: &Frame) -> IntegrationNeed {
        if frame.tree == frame.base.tree {
            return IntegrationNeed::Nothing;
        }
        if self.needs_level_acceptance(&frame.path) {
            return IntegrationNeed::Acceptance;
        }
        if frame.base.commit != self.run.tip.commit {
            return IntegrationNeed::Rebase;
        }
        if let Some(need) = missing_judgement(frame) {
            return need;
        }
        if let Some(step) = self.outdated_leniency(frame) {
            return IntegrationNeed::Gate(step);
        }
        if commit_message(&self.run, frame).is_none() {
            return IntegrationNeed::Message;
        }
        match self.approval_need(frame) {
            Some(ApprovalNeed::Facts) => return IntegrationNeed::Facts,
            Some(ApprovalNeed::Approval) => return IntegrationNeed::Approval,
            None => {}
        }
        IntegrationNeed::Integrate
    }

    /// Returns the gate that let a frame's change leave tests failing for other tasks to repair, if
    /// none of those tasks is left by now: the checks must then pass.
    fn outdated_leniency(&self, frame: &Frame) -> Option<StepId> {
        if self.run.may_leave_failures(frame) {
            return None;
        }
        let mut gates = frame.judgements.gates.iter();
        let lenient = gates.find(|(_, gate)| {
            let mut results = gate.results.iter();
            gate.passed && results.any(|result| !result.still_failing.is_empty())
        });
        lenient.map(|(step, _)| step.clone())
    }

    /// Returns the failures from before the run that are still tolerated, for the checks where that
    /// is less than until now: what a commit has repaired must stay repaired. Where the base is not
    /// checked before a check has failed, a check that passes is recorded as well.
    fn still_failing(&self, frame: &Frame) -> Vec<BaselineFailure> {
        let on_demand = self.run.must_pass || self.run.started_by == Operator::Session;
        let mut changed = Vec::new();
        let judged = frame.judgements.gates.iter();
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

    pub(super) fn handle_rebase(&mut self, id: &AttemptId, outcome: &RebaseOutcome) {
        let Some((_, SlotWork::Rebase)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
        };
        match outcome {
            RebaseOutcome::Clean { base, tree, change } => self.emit(Event::FrameRebased {
                id: id.clone(),
                base: base.clone(),
                tree: tree.clone(),
                change: change.clone(),
            }),
            RebaseOutcome::Conflict { base, files } => {
                let feedback = format!(
                    "The change conflicts with what was integrated meanwhile, in {}. \
                     Make it again on the new base; the diff of the old one is attached.",
                    files.join(", ")
                );
                let (base, files) = (base.clone(), files.clone());
                self.emit(Event::RebaseConflicted {
                    id: id.clone(),
                    base,
                    files,
                    feedback,
                });
                self.handle_conflict(&id.frame);
            }
        }
    }

    fn handle_conflict(&mut self, path: &FramePath) {
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
        self.send_back(
            path,
            &step,
            back,
            "it conflicts with what was integrated meanwhile",
        );
    }

    pub(super) fn handle_integration(&mut self, id: &AttemptId, outcome: &IntegrationOutcome) {
        let Some((frame, SlotWork::Integrate)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
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
                self.announce_interface_change(id);
                self.advance(&id.frame);
            }
            IntegrationOutcome::TipMoved(tip) => {
                self.emit(Event::TipMoved {
                    id: id.clone(),
                    tip: tip.clone(),
                });
            }
        }
    }

    pub(super) fn handle_delivery(&mut self, id: &AttemptId, outcome: &DeliveryOutcome) {
        let Some((_, SlotWork::Deliver)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
        };
        self.emit(Event::Delivered {
            id: id.clone(),
            outcome: outcome.clone(),
        });
        self.advance(&id.frame);
    }

    pub(super) fn handle_publication(&mut self, id: &AttemptId, ok: bool, output: &str) {
        let Some((_, SlotWork::Publish)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
        };
        if ok {
            self.emit(Event::Published {
                id: id.clone(),
                output: output.to_owned(),
            });
            self.advance(&id.frame);
        } else {
            // The last line of a command's output is why it failed; the lines before it say what it
            // did.
            let last = output.lines().rfind(|line| !line.trim().is_empty());
            let why = match last {
                Some(last) if last.trim() != output.trim() => format!("{}\n{output}", last.trim()),
                _ => output.to_owned(),
            };
            self.effect_failed(id, None, &why);
        }
    }
}

/// Returns true if a frame has a change and no judgement of it is missing or negative.
pub(super) fn has_cleared_change(frame: &Frame) -> bool {
    frame.tree != frame.base.tree && missing_judgement(frame).is_none()
}

/// Returns true if the frame's current step has judged its current change and rejected it.
pub(super) fn is_rejected(frame: &Frame) -> bool {
    let judged = frame.judged_step(&frame.step);
    judged.is_some_and(|judged| judged.is_current() && !judged.verdict.approved)
}

/// Returns the first judgement of the frame's change that is missing, outdated or negative.
fn missing_judgement(frame: &Frame) -> Option<IntegrationNeed> {
    let is_missing = |judged: &JudgedStep<'_>| {
        if judged.verdict.approved {
            !judged.is_current()
        } else {
            !frame.is_change_accepted()
        }
    };
    // Checks come first: no reviewer's time is spent on a tree that fails them.
    let mut gates = frame.judged_steps().filter(|j| j.verdict.by_checks);
    let mut reviews = frame
        .judged_steps()
        .filter(|j| !j.verdict.by_checks && j.verdict.patch.is_some());
    let gate = gates.find(is_missing);
    let gate = gate.map(|judged| IntegrationNeed::Gate(judged.step.clone()));
    gate.or_else(|| {
        let review = reviews.find(is_missing)?;
        Some(IntegrationNeed::Review(review.step.clone()))
    })
}
