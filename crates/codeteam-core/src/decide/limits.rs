//! Enforces limits while work is under way: attempts that exceed one are ended, and are retried
//! once the limit is raised.
//!
//! An attempt ended by a limit keeps its number, so it uses up no retry. What it had spent is
//! recorded when its process has reported it.

use super::Decider;
use crate::budget::{LimitKind, Usage};
use crate::due::is_time_limited;
use crate::event::Event;
use crate::failure::{FailureCause, FailureFacts};
use crate::frame::{Frame, FrameItem, FrameStage, Slot, SlotState, SlotWork};
use crate::ids::{AttemptId, FramePath};
use crate::operator::is_session_worker;

/// A usage report becomes an event if it adds at least one part in this many of a limit.
const WORTH_NOTING: u64 = 100;

impl Decider {
    /// Ends everything under way that exceeds the limit of time, money or tokens.
    pub(super) fn end_over_limit(&mut self) {
        let deadline = self.run.budget.deadline();
        if deadline.is_some_and(|deadline| deadline <= self.at) && is_time_limited(&self.run) {
            self.emit(Event::LimitReached {
                what: LimitKind::Time,
            });
            return self
                .stop_running(|slot| matches!(slot.work, SlotWork::Role(_) | SlotWork::Gate(_)));
        }
        let works = |slot: &Slot| matches!(slot.work, SlotWork::Role(_));
        let passed = self.run.budget.exceeded_limit(self.run.in_flight_usage());
        if let Some(what) = passed.filter(|_| self.is_running(works)) {
            self.emit(Event::LimitReached { what });
            self.stop_running(works);
        }
    }

    /// Returns true if no time is left for checks. It is found out before one is started: an attempt
    /// that starts and is stopped by the same decision is never launched, so nobody would report its
    /// end.
    pub(super) fn is_out_of_time(&mut self) -> bool {
        if self.run.reached_limit == Some(LimitKind::Time) {
            return true;
        }
        let deadline = self.run.budget.deadline();
        let is_over = deadline.is_some_and(|deadline| deadline <= self.at);
        if is_over {
            self.emit(Event::LimitReached {
                what: LimitKind::Time,
            });
        }
        is_over
    }

    /// Records what a running worker has spent so far.
    pub(super) fn usage_measured(&mut self, id: &AttemptId, usage: Usage) {
        let launch = self.run.outstanding.get(&id.fence);
        let Some(launch) = launch.filter(|launch| launch.id == *id && launch.counted) else {
            return;
        };
        if self.running_work(id).is_none() || !self.is_worth_noting(id, launch.used, usage) {
            return;
        }
        self.emit(Event::UsageMeasured {
            id: id.clone(),
            usage,
        });
        for (what, word) in [(LimitKind::Money, "money"), (LimitKind::Tokens, "tokens")] {
            let (used, left) = self.task_usage(&id.frame, what);
            if left.is_some_and(|left| used >= left) {
                self.stop_running_in(&id.frame, |slot| matches!(slot.work, SlotWork::Role(_)));
                return self
                    .handle_exhaustion(&id.frame, &format!("the task has used up its {word}"));
            }
        }
    }

    /// Returns true if a usage report makes a difference to a limit that is in force.
    fn is_worth_noting(&self, id: &AttemptId, before: Usage, now: Usage) -> bool {
        let limits = &self.run.budget.limits;
        let money = |usage: Usage| usage.cost_microusd.unwrap_or(0);
        let kinds = [
            (
                LimitKind::Money,
                [limits.money_microusd, limits.task_money_microusd],
                money(now).saturating_sub(money(before)),
            ),
            (
                LimitKind::Tokens,
                [limits.tokens, limits.task_tokens],
                now.tokens().saturating_sub(before.tokens()),
            ),
        ];
        let all = self.run.in_flight_usage().used;
        kinds.into_iter().any(|(kind, limits, more)| {
            let smallest = limits.into_iter().flatten().min();
            let is_step = smallest.is_some_and(|limit| more >= (limit / WORTH_NOTING).max(1));
            let sum = match kind {
                LimitKind::Money => all.money_microusd,
                _ => all.tokens,
            };
            let passes = |used: u64, left: Option<u64>| {
                left.is_some_and(|left| used.saturating_add(more) >= left)
            };
            let (of_task, left_for_task) = self.task_usage(&id.frame, kind);
            is_step
                || more > 0
                    && (passes(sum, self.run.budget.remaining(kind))
                        || passes(of_task, left_for_task))
        })
    }

    /// Returns what the task's attempts under way have used, and what is left for the task.
    fn task_usage(&self, path: &FramePath, kind: LimitKind) -> (u64, Option<u64>) {
        let used = self.run.in_flight_usage_in(path).used;
        let used = match kind {
            LimitKind::Money => used.money_microusd,
            _ => used.tokens,
        };
        let frame = self.run.frames.get(path);
        let frame = frame.filter(|frame| matches!(frame.item, FrameItem::Task(_)));
        let left = frame.and_then(|f| f.counts.spent.remaining(&self.run.budget.limits, kind));
        (used, left)
    }

    /// Handles a worker that ended because its money or tokens were used up. If the role's own
    /// limit was reached, the attempt has failed; if it was the task's or the run's, a person
    /// decides.
    pub(super) fn handle_budget_exhausted(
        &mut self,
        id: &AttemptId,
        facts: &FailureFacts,
        usage: Usage,
    ) {
        let (what, word) = match facts.trouble {
            Some(FailureCause::Tokens) => (LimitKind::Tokens, "tokens"),
            _ => (LimitKind::Money, "money"),
        };
        let own = match what {
            LimitKind::Money => self
                .attempt_role(id)
                .and_then(|role| role.max_cost_microusd),
            _ => None,
        };
        let is_own = own.is_some_and(|own| usage.cost_microusd.is_none_or(|cost| cost >= own));
        let (_, of_task) = self.task_usage(&id.frame, what);
        let of_run = self.run.budget.remaining(what);
        match (of_run, of_task) {
            _ if is_own => self.give_up(id, &facts.message),
            (None, None) => self.give_up(id, &facts.message),
            (of_run, Some(left)) if of_run.is_none_or(|run| left < run) => {
                self.requeue(id);
                self.handle_exhaustion(&id.frame, &format!("the task has used up its {word}"));
            }
            _ => {
                self.requeue(id);
                self.emit(Event::LimitReached { what });
            }
        }
    }

    fn is_running(&self, wanted: impl Fn(&Slot) -> bool) -> bool {
        let mut frames = self.run.frames.values();
        frames.any(|frame| running_launches(frame, &wanted).next().is_some())
    }

    /// Puts every running launch whose slot matches back into the queue.
    fn stop_running(&mut self, wanted: impl Fn(&Slot) -> bool) {
        let frames: Vec<FramePath> = self.run.frames.keys().cloned().collect();
        for frame in frames {
            self.stop_running_in(&frame, &wanted);
        }
    }

    fn stop_running_in(&mut self, path: &FramePath, wanted: impl Fn(&Slot) -> bool) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let ids: Vec<AttemptId> = running_launches(frame, &wanted).cloned().collect();
        for id in ids {
            self.requeue(&id);
        }
    }

    /// Queues the same attempt again; it starts when there is room for it.
    pub(super) fn requeue(&mut self, id: &AttemptId) {
        self.emit(Event::AttemptQueued {
            id: id.before_launch(),
        });
    }
}

/// Returns the matching launches under way in a frame. Sessions are left out, because they cannot
/// be ended.
fn running_launches(
    frame: &Frame,
    wanted: impl Fn(&Slot) -> bool,
) -> impl Iterator<Item = &AttemptId> {
    let is_open = match frame.stage {
        FrameStage::Working | FrameStage::Each | FrameStage::Committing => true,
        FrameStage::Asking(_) | FrameStage::Ended(_) => false,
    };
    frame
        .slots
        .iter()
        .filter(move |_| is_open)
        .filter(|slot| slot.state == SlotState::Running)
        .filter(|slot| !slot.worker.as_ref().is_some_and(is_session_worker))
        .filter(move |slot| wanted(slot))
        .map(|slot| &slot.id)
}
