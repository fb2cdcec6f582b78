//! All policy: decides what an input means for a run.
//!
//! `decide` works on a clone of the run (cheap: its large parts are shared) and applies each
//! event as it emits it, so one input yields all its consequences. It cannot fail: an input that
//! does not fit the run is a no-op, or a refusal that is itself an event.
//!
//! The submodules each handle one subject: `attempts` (worker results), `judge` (verdicts),
//! `commits` (integration), `approvals` (votes on changes), `answers` (people's decisions),
//! `transfer` (handing a run over), `rollback` (taking one back), `flow` (moving through the graph),
//! `outputs` (what an answer has to bring), `plan_checks` (what a plan may say),
//! `interface_requests` (tasks ask for other interfaces), `team` (roles of tasks, scores), `phases` (a designer breaks one down; phases side by side),
//! `interventions` (what a leader decides), `limits`, `outages`, and `settle`, which runs
//! after every input.

mod answers;
mod approval_timers;
pub mod approvals;
mod attempts;
mod commits;
mod flow;
mod interface_requests;
mod interventions;
mod judge;
mod limits;
mod outages;
mod outputs;
mod phases;
mod plan_checks;
mod repin;
mod rollback;
mod settle;
mod team;
mod transfer;

use crate::approval::Identity;
use crate::event::{EntryReason, Event};
use crate::frame::FrameOutcome;
use crate::frame::{Frame, SlotState, SlotWork};
use crate::ids::{AttemptId, EpochMillis, FramePath};
use crate::input::Input;
use crate::park::ParkReason;
use crate::run::{Run, apply};
use crate::workflow::ExitTarget;

/// The consequences of one input: the events, and the run as it is after the last of them.
///
/// A caller that does not need to inspect the run between two events can take `run` instead of
/// applying the events again.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The events, in the order they happened.
    pub events: Vec<Event>,
    /// The run after all of these events have been applied.
    pub run: Run,
}

/// Decides what an input causes.
///
/// Handles the input itself first, then repeats `settle` until nothing more follows from it. An
/// input for a run that has not started (other than [`Input::Began`]) causes nothing, and neither
/// does a second [`Input::Began`]. The function is pure: `run` is not changed, and the same run and
/// input always give the same result.
///
/// A driver uses it like this:
///
/// ```text
/// let transition = decide(&run, &input);
/// log.append(&transition.events);     // all of them, in one transaction
/// run = transition.run;               // the same as applying the events one by one
/// for effect in due(&run) { … }       // start what is missing, cancel what is no longer due
/// ```
pub fn decide(run: &Run, input: &Input) -> Transition {
    let mut decider = Decider {
        run: run.clone(),
        at: input.at(),
        identity: input.identity().cloned(),
        events: Vec::new(),
    };
    decider.handle(input);
    let Decider { run, events, .. } = decider;
    Transition { events, run }
}

/// A decision in progress: the run as it will be, and the events that lead there.
///
/// Every change goes through `emit`, which applies the event at once, so the methods below always
/// see the current state.
struct Decider {
    run: Run,
    at: EpochMillis,
    /// Who made the decision that the input carries, if codeteam knows them.
    identity: Option<Identity>,
    events: Vec<Event>,
}

impl Decider {
    fn emit(&mut self, event: Event) {
        apply(&mut self.run, &event);
        self.events.push(event);
    }

    fn handle(&mut self, input: &Input) {
        if let Input::Began(started) = input {
            if !self.run.has_started() {
                let mut pinned = started.clone();
                pinned.earlier_phases = phases::finished_phases(started);
                self.emit(Event::RunStarted(pinned));
                if !started.network.is_empty() {
                    let (id, hosts) = (AttemptId::for_preflight(), started.network.clone());
                    self.emit(Event::NetworkUsed { id, hosts });
                }
                let start = ExitTarget::Step(self.run.workflow.start.clone());
                self.transition(&FramePath::root(), &start, EntryReason::Start);
                self.settle();
            }
            return;
        }
        if !self.run.has_started() {
            return;
        }
        match input {
            Input::Resumed { lost, .. } => self.handle_resume(lost),
            // Time alone decides nothing; `settle` below acts on it.
            Input::Began(_) | Input::Woke { .. } => {}
            Input::WorkerExited { id, report, .. } => self.worker_exited(id, report),
            Input::GateFinished {
                id, tree, results, ..
            } => self.gate_finished(id, tree, results),
            Input::Rebased { id, outcome, .. } => self.handle_rebase(id, outcome),
            Input::Integrated { id, outcome, .. } => self.handle_integration(id, outcome),
            Input::Published { id, ok, output, .. } => self.handle_publication(id, *ok, output),
            Input::InterfacesWritten {
                id,
                tree,
                change,
                files,
                ..
            } => self.lock_interfaces(id, tree, change.as_deref(), files),
            Input::Delivered { id, outcome, .. } => self.handle_delivery(id, outcome),
            Input::BranchMoved { id, found, .. } => self.handle_branch_moved(id, found.as_ref()),
            Input::EffectFailed {
                id,
                trouble,
                message,
                ..
            } => self.effect_failed(id, *trouble, message),
            Input::RiskRead {
                id, tree, facts, ..
            } => self.handle_facts(id, tree, facts),
            Input::Notified { id, channels, .. } => {
                self.handle_notice(id, channels);
            }
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
                    .parked_until(account)
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
            Input::Decided { by, decision, .. } => self.handle_decision(by, decision),
            Input::Replied {
                by,
                question,
                answer,
                ..
            } => self.handle_reply(by, question, answer),
            Input::PlanEdited { by, plan, .. } => self.plan_edited(by, plan),
        }
        self.settle();
    }

    /// Returns the frame and the slot's work if this launch is still running.
    fn running_work(&self, id: &AttemptId) -> Option<(&Frame, &SlotWork)> {
        let frame = self.run.frames.get(&id.frame)?;
        if frame.is_ended() {
            return None;
        }
        let slot = frame.slot(id)?;
        (slot.state == SlotState::Running).then_some((frame, &slot.work))
    }

    /// Handles a result from a launch that is no longer running: only its cost counts.
    fn record_stale_result(&mut self, id: &AttemptId, usage: crate::budget::Usage) {
        let launched = self.run.outstanding.get(&id.fence);
        if launched.is_some_and(|launch| launch.id == *id) && self.running_work(id).is_none() {
            self.emit(Event::AttemptSpent {
                id: id.clone(),
                usage,
            });
        }
    }

    fn handle_resume(&mut self, lost: &[(AttemptId, crate::budget::Usage)]) {
        if self.run.is_terminal() && self.run.outstanding.is_empty() {
            return;
        }
        self.emit(Event::RunResumed { at: self.at });
        self.clear_outages();
        self.renew_notices();
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
            let publishing = matches!(self.running_work(&id), Some((_, SlotWork::Publish)));
            if self.running_work(&id).is_none() {
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

    /// Records a measurement only if it matters for the limit: it differs from the last recorded
    /// value by at least a hundredth of the limit.
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
