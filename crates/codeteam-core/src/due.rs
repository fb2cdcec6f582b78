//! Derives from the state of a run which effects are due. The cost is proportional to the active
//! frames, not to the size of the plan.

use crate::budget::LimitKind;
use crate::commit_message::commit_message;
use crate::effect::{Effect, WaitReason};
use crate::frame::{Frame, FrameStage, PauseReason, Slot, SlotState, SlotWork};
use crate::ids::{Account, EpochMillis};
use crate::run::Run;
use crate::workflow::StepKind;

/// Returns every effect that is due now.
///
/// A run that has started and not ended always has something due; one that has ended has nothing.
/// The result depends on the run alone, so a driver can compare it with what it has in flight: it
/// starts what is missing and cancels what is no longer listed.
pub fn due(run: &Run) -> Vec<Effect> {
    if !run.has_started() || run.is_terminal() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    for frame in run.frames.values().filter(|f| !f.is_ended()) {
        if let FrameStage::Asking(question) = &frame.stage {
            effects.push(Effect::Ask(question.clone()));
            effects.extend(approval_effect(frame));
            continue;
        }
        effects.extend(
            frame
                .slots
                .iter()
                .filter_map(|slot| slot_effect(run, frame, slot)),
        );
    }
    if let Some(what) = run.reached_limit {
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

/// Returns the next time at which the passing of time alone affects the run: a pause ends, or the
/// time limit ends work that is under way. The driver feeds [`crate::Input::Woke`] at that time.
pub fn next_wake(run: &Run) -> Option<EpochMillis> {
    if !run.has_started() || run.is_terminal() {
        return None;
    }
    let slots = run
        .frames
        .values()
        .filter(|frame| matches!(frame.stage, FrameStage::Working | FrameStage::Each))
        .flat_map(|frame| &frame.slots)
        // Checks take time: where none is left, the end of their pause changes nothing.
        .filter(|slot| {
            run.reached_limit != Some(LimitKind::Time) || !matches!(slot.work, SlotWork::Gate(_))
        });
    let pauses = slots.filter_map(|slot| match slot.state {
        SlotState::Paused { until, .. } => Some(until),
        _ => None,
    });
    let deadline = run.budget.deadline().filter(|_| is_time_limited(run));
    let objections = run.frames.values().filter_map(|frame| {
        let pending = frame.approval.pending.as_deref()?;
        let timeout = pending.next_timeout().map(|(_, at)| at);
        let times = pending.deadline().into_iter().chain(timeout);
        times.chain(pending.notice_retry_at()).min()
    });
    pauses.chain(deadline).chain(objections).min()
}

/// Returns what is due for a pending approval besides asking: a notification, or its deadline.
fn approval_effect(frame: &Frame) -> Option<Effect> {
    let pending = frame.approval.pending.as_deref()?;
    let question = pending.question.clone();
    if pending.needs_notice() {
        return Some(Effect::Notify { id: question });
    }
    let until = pending.deadline()?;
    Some(Effect::Wait {
        until: Some(until),
        why: WaitReason::Objection { question },
    })
}

/// Returns true if reaching the time limit would end or hold up something.
pub(crate) fn is_time_limited(run: &Run) -> bool {
    let timed = |slot: &Slot| {
        let takes_time = matches!(slot.work, SlotWork::Role(_) | SlotWork::Gate(_));
        let counts = match slot.state {
            SlotState::Running => true,
            SlotState::Queued | SlotState::Paused { .. } => run.reached_limit.is_none(),
            SlotState::Done(_) => false,
        };
        takes_time && counts
    };
    let mut frames = run.frames.values();
    run.reached_limit != Some(LimitKind::Time)
        && frames.any(|frame| match frame.stage {
            FrameStage::Working | FrameStage::Each => frame.slots.iter().any(timed),
            // A frame that waits for its turn to commit needs no time.
            FrameStage::Committing => frame
                .slots
                .iter()
                .any(|slot| timed(slot) && slot.state == SlotState::Running),
            FrameStage::Asking(_) | FrameStage::Ended(_) => false,
        })
}

fn slot_effect(run: &Run, frame: &Frame, slot: &Slot) -> Option<Effect> {
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
                let Some(StepKind::Deliver { how }) = run.frame_step(frame).map(|s| &s.kind) else {
                    return None;
                };
                Effect::Deliver {
                    id,
                    how: how.clone(),
                    base: run.base.clone(),
                    tip: run.tip.clone(),
                }
            }
            SlotWork::MoveBranch => Effect::MoveBranch {
                id,
                to: run.rollback.as_ref()?.plan.tip.clone(),
            },
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
                message: commit_message(run, frame).unwrap_or_default(),
                by: frame
                    .change
                    .as_ref()
                    .map(|c| c.by.clone())
                    .unwrap_or_default(),
                accepted_by: frame.acceptance.by.clone(),
            },
            SlotWork::WriteInterfaces => Effect::WriteInterfaces {
                id,
                base: frame.base.clone(),
                files: run.interface_files(frame),
            },
            SlotWork::Assess => Effect::AssessRisk {
                id,
                base: frame.base.clone(),
                tree: frame.tree.clone(),
            },
            SlotWork::Publish => {
                let command = match run.frame_step(frame).map(|s| &s.kind) {
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
        .map(|r| r.workers.iter().map(|w| run.worker_account(w)).collect())
        .unwrap_or_default()
}
