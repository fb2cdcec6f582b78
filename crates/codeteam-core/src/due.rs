//! What the world still owes a run. Costs what is active, not what is in the plan.

use crate::effect::{Effect, Waiting};
use crate::frame::{Frame, Pause, Slot, SlotState, Stage, Work};
use crate::ids::Account;
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
        if let Stage::Asking(question) = &frame.stage {
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
            why: Waiting::Limit { what },
        });
    }
    if effects.is_empty() && !run.outstanding.is_empty() {
        effects.push(Effect::Wait {
            until: None,
            why: Waiting::Release,
        });
    }
    effects
}

fn effect(run: &Run, frame: &Frame, slot: &Slot) -> Option<Effect> {
    let id = slot.id.clone();
    match &slot.state {
        SlotState::Queued | SlotState::Done(_) => None,
        SlotState::Paused { until, why } => {
            let why = match why {
                Pause::Backoff => Waiting::Backoff { id },
                Pause::Quota => Waiting::Quota {
                    accounts: accounts(run, slot),
                },
            };
            Some(Effect::Wait {
                until: Some(*until),
                why,
            })
        }
        SlotState::Running => Some(match &slot.work {
            Work::Deliver => {
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
            Work::Role(role) => Effect::StartWorker {
                id,
                role: role.clone(),
                worker: slot.worker.clone().unwrap_or_default(),
                tree: frame.tree.clone(),
            },
            Work::Gate(step) => Effect::RunGate {
                id,
                step: step.clone(),
                tree: frame.tree.clone(),
            },
            Work::Rebase => Effect::Rebase {
                id,
                base: frame.base.clone(),
                tree: frame.tree.clone(),
                onto: run.tip.clone(),
            },
            Work::Integrate => Effect::Integrate {
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
            Work::Publish => {
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
    let Work::Role(name) = &slot.work else {
        return Vec::new();
    };
    run.roles
        .get(name)
        .map(|r| r.workers.iter().map(|w| run.account(w)).collect())
        .unwrap_or_default()
}
