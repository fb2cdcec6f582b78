//! What the world still owes a run. Costs what is active, not what is in the plan.

use crate::budget::LimitKind;
use crate::effect::{Effect, WaitReason};
use crate::frame::{Frame, FrameStage, PauseReason, Slot, SlotState, SlotWork};
use crate::ids::{Account, EpochMillis};
use crate::message;
use crate::run::Run;
use crate::workflow::StepKind;

/// Everything that is due. A run that has not ended always has something due; one that has ended
/// has nothing.
pub fn due(run: &Run) -> Vec<Effect> {
    if !run.has_started() || run.is_terminal() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    for frame in run.frames.values().filter(|f| !f.is_ended()) {
        if let FrameStage::Asking(question) = &frame.stage {
            effects.push(Effect::Ask(question.clone()));
            continue;
        }
        effects.extend(
            frame
                .slots
                .iter()
                .filter_map(|slot| effect(run, frame, slot)),
        );
    }
    if let Some(what) = run.limit {
        effects.push(Effect::Wait {
            until: None,
            why: WaitReason::Limit { what },
        });
    }
    if effects.is_empty() && !run.outstanding.is_empty() {
        effects.push(Effect::Wait {
            until: None,
            why: WaitReason::Release,
        });
    }
    effects
}

/// When time alone makes a difference to a run, whatever else happens: something that is waited for
/// has come, or the limit of time ends what is under way. Whoever drives the run feeds
/// [`crate::Input::Woke`] then.
pub fn next_wake(run: &Run) -> Option<EpochMillis> {
    if !run.has_started() || run.is_terminal() {
        return None;
    }
    let slots = run
        .frames
        .values()
        .filter(|frame| matches!(frame.stage, FrameStage::Working | FrameStage::Each))
        .flat_map(|frame| &frame.slots);
    let pauses = slots.filter_map(|slot| match slot.state {
        SlotState::Paused { until, .. } => Some(until),
        _ => None,
    });
    let deadline = run.budget.deadline().filter(|_| is_timed(run));
    pauses.chain(deadline).min()
}

/// Whether the limit of time would end or hold up something.
pub(crate) fn is_timed(run: &Run) -> bool {
    let timed = |slot: &Slot| {
        let takes_time = matches!(slot.work, SlotWork::Role(_) | SlotWork::Gate(_));
        let counts = match slot.state {
            SlotState::Running => true,
            SlotState::Queued | SlotState::Paused { .. } => run.limit.is_none(),
            SlotState::Done(_) => false,
        };
        takes_time && counts
    };
    let mut frames = run.frames.values();
    run.limit != Some(LimitKind::Time)
        && frames.any(|frame| match frame.stage {
            FrameStage::Working | FrameStage::Each => frame.slots.iter().any(timed),
            // What waits for its turn to be committed needs no time.
            FrameStage::Committing => frame
                .slots
                .iter()
                .any(|slot| timed(slot) && slot.state == SlotState::Running),
            FrameStage::Asking(_) | FrameStage::Ended(_) => false,
        })
}

fn effect(run: &Run, frame: &Frame, slot: &Slot) -> Option<Effect> {
    let id = slot.id.clone();
    match &slot.state {
        SlotState::Queued | SlotState::Done(_) => None,
        SlotState::Paused { until, why } => {
            let accounts = accounts(run, slot);
            let why = match why {
                PauseReason::Backoff => WaitReason::Backoff { id },
                PauseReason::Quota => WaitReason::Quota { accounts },
                PauseReason::RateLimit => WaitReason::RateLimit { accounts },
                PauseReason::Outage => {
                    let outage = accounts.iter().find_map(|a| run.outages.get(a));
                    WaitReason::Outage {
                        gives_up: outage.map(|o| o.since.plus(run.budget.outage_ms())),
                        message: outage.map(|o| o.message.clone()).unwrap_or_default(),
                        accounts,
                    }
                }
            };
            Some(Effect::Wait {
                until: Some(*until),
                why,
            })
        }
        SlotState::Running => Some(match &slot.work {
            SlotWork::Deliver => {
                let Some(StepKind::Deliver { how }) = run.step_of(frame).map(|s| &s.kind) else {
                    return None;
                };
                Effect::Deliver {
                    id,
                    how: how.clone(),
                    base: run.base.clone(),
                    tip: run.tip.clone(),
                }
            }
            SlotWork::Role(role) => Effect::StartWorker {
                id,
                role: role.clone(),
                worker: slot.worker.clone().unwrap_or_default(),
                tree: frame.tree.clone(),
            },
            SlotWork::Gate(step) => Effect::RunGate {
                id,
                step: step.clone(),
                tree: frame.tree.clone(),
            },
            SlotWork::Rebase => Effect::Rebase {
                id,
                base: frame.base.clone(),
                tree: frame.tree.clone(),
                onto: run.tip.clone(),
            },
            SlotWork::Integrate => Effect::Integrate {
                id,
                tree: frame.tree.clone(),
                onto: run.tip.clone(),
                message: message::of(run, frame).unwrap_or_default(),
                by: frame
                    .change
                    .as_ref()
                    .map(|c| c.by.clone())
                    .unwrap_or_default(),
                accepted_by: frame.accepted_by.clone(),
            },
            SlotWork::Publish => {
                let command = match run.step_of(frame).map(|s| &s.kind) {
                    Some(StepKind::Publish { command }) => command.clone(),
                    _ => String::new(),
                };
                Effect::Publish { id, command }
            }
        }),
    }
}

fn accounts(run: &Run, slot: &Slot) -> Vec<Account> {
    let SlotWork::Role(name) = &slot.work else {
        return Vec::new();
    };
    run.roles
        .get(name)
        .map(|r| r.workers.iter().map(|w| run.account(w)).collect())
        .unwrap_or_default()
}
