//! All policy: what an input means for a run.
//!
//! `decide` works on a clone of the run (cheap: its large parts are shared) and applies each event
//! as it emits it, so that one input yields all its consequences. It cannot fail: an input that
//! does not fit the run is a no-op, or a refusal that is itself an event.

mod answers;
mod attempts;
mod commits;
mod flow;
mod judge;
mod limits;
mod outages;
mod settle;
mod transfer;

use crate::event::{EntryReason, Event, FrameOutcome};
use crate::frame::{Frame, SlotState, SlotWork};
use crate::ids::{AttemptId, EpochMillis, FramePath};
use crate::input::Input;
use crate::park::ParkReason;
use crate::run::{Run, apply};
use crate::workflow::ExitTarget;

/// What an input causes.
pub fn decide(run: &Run, input: &Input) -> Vec<Event> {
    let mut decider = Decider {
        run: run.clone(),
        at: input.at(),
        events: Vec::new(),
    };
    decider.take(input);
    decider.events
}

/// A decision in the making: the run as it will be, and the events that make it so.
struct Decider {
    run: Run,
    at: EpochMillis,
    events: Vec<Event>,
}

impl Decider {
    fn emit(&mut self, event: Event) {
        apply(&mut self.run, &event);
        self.events.push(event);
    }

    fn take(&mut self, input: &Input) {
        if let Input::Began(started) = input {
            if !self.run.has_started() {
                self.emit(Event::RunStarted(started.clone()));
                if !started.network.is_empty() {
                    let (id, hosts) = (AttemptId::before_the_run(), started.network.clone());
                    self.emit(Event::NetworkUsed { id, hosts });
                }
                let start = ExitTarget::Step(self.run.workflow.start.clone());
                self.go(&FramePath::root(), &start, EntryReason::Start);
                self.settle();
            }
            return;
        }
        if !self.run.has_started() {
            return;
        }
        match input {
            Input::Resumed { lost, .. } => self.resumed(lost),
            // Time alone decides nothing; what follows of itself does.
            Input::Began(_) | Input::Woke { .. } => {}
            Input::WorkerExited { id, report, .. } => self.worker_exited(id, report),
            Input::GateFinished {
                id, tree, results, ..
            } => self.gate_finished(id, tree, results),
            Input::Rebased { id, outcome, .. } => self.rebased(id, outcome),
            Input::Integrated { id, outcome, .. } => self.integrated(id, outcome),
            Input::Published { id, ok, output, .. } => self.published(id, *ok, output),
            Input::Delivered { id, outcome, .. } => self.delivered(id, outcome),
            Input::EffectFailed {
                id,
                trouble,
                message,
                ..
            } => self.effect_failed(id, *trouble, message),
            Input::NetworkUsed { id, hosts, .. } => self.emit(Event::NetworkUsed {
                id: id.clone(),
                hosts: hosts.clone(),
            }),
            Input::ContextPacked { id, packed, .. } => self.emit(Event::ContextPacked {
                id: id.clone(),
                packed: packed.clone(),
            }),
            Input::UsageMeasured { id, usage, .. } => self.usage_measured(id, *usage),
            Input::DiskMeasured { bytes, .. } => self.disk_measured(*bytes),
            Input::AccountLimited { account, until, .. } => {
                if self
                    .run
                    .parks
                    .until(account)
                    .is_none_or(|known| known < *until)
                {
                    let (account, until) = (account.clone(), *until);
                    let why = ParkReason::Quota;
                    self.emit(Event::AccountParked {
                        account,
                        until,
                        why,
                    });
                }
            }
            Input::Decided { by, decision, .. } => self.decided(by, decision),
            Input::Replied {
                by,
                question,
                answer,
                ..
            } => self.replied(by, question, answer),
            Input::PlanEdited { by, plan, .. } => self.plan_edited(by, plan),
        }
        self.settle();
    }

    /// The frame and the slot's work, if this launch is the one that is under way.
    fn running(&self, id: &AttemptId) -> Option<(&Frame, &SlotWork)> {
        let frame = self.run.frames.get(&id.frame)?;
        if frame.is_ended() {
            return None;
        }
        let slot = frame.slot(id)?;
        (slot.state == SlotState::Running).then_some((frame, &slot.work))
    }

    /// Something came back from a launch that is no longer under way: only its cost counts.
    fn stale(&mut self, id: &AttemptId, usage: crate::budget::Usage) {
        let launched = self.run.outstanding.get(&id.fence);
        if launched.is_some_and(|launch| launch.id == *id) && self.running(id).is_none() {
            self.emit(Event::AttemptSpent {
                id: id.clone(),
                usage,
            });
        }
    }

    fn resumed(&mut self, lost: &[(AttemptId, crate::budget::Usage)]) {
        if self.run.is_terminal() && self.run.outstanding.is_empty() {
            return;
        }
        self.emit(Event::RunResumed { at: self.at });
        self.clear_outages();
        let launches: Vec<AttemptId> = self
            .run
            .outstanding
            .values()
            .map(|launch| launch.id.clone())
            .collect();
        for id in launches {
            let usage = lost
                .iter()
                .find(|(l, _)| *l == id)
                .map(|(_, u)| *u)
                .unwrap_or_default();
            let publishing = matches!(self.running(&id), Some((_, SlotWork::Publish)));
            if self.running(&id).is_none() {
                self.emit(Event::AttemptSpent { id, usage });
            } else {
                self.emit(Event::AttemptLost {
                    id: id.clone(),
                    usage,
                });
                if publishing {
                    self.ask_interrupted(&id.frame);
                }
            }
        }
    }

    /// Only a difference that matters for the limit is an event.
    fn disk_measured(&mut self, bytes: u64) {
        let Some(limit) = self.run.budget.limits.disk_bytes else {
            return;
        };
        if bytes.abs_diff(self.run.budget.disk_bytes) >= (limit / 100).max(1) {
            self.emit(Event::DiskMeasured { bytes });
        }
    }

    fn fail_frame(&mut self, frame: &FramePath, why: impl Into<String>) {
        self.end_frame(frame, FrameOutcome::Failed(why.into()));
    }
}
