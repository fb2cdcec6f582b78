//! Limits while work is under way: what passes one is ended, and is tried again once it is raised.
//!
//! An attempt that a limit ends keeps its number: it uses up no retry. What it had spent is recorded
//! when its process has reported it.

use super::Decider;
use crate::budget::{LimitKind, Usage};
use crate::due::is_timed;
use crate::event::Event;
use crate::failure::{FailureCause, FailureFacts};
use crate::frame::{Frame, FrameItem, FrameStage, Slot, SlotState, SlotWork};
use crate::hands::is_session;
use crate::ids::{AttemptId, FramePath};

/// A hundredth of a limit is what makes a report of usage worth an event.
const WORTH_NOTING: u64 = 100;

impl Decider {
    /// Ends what is under way beyond a limit of time, money or tokens.
    pub(super) fn end_over_limit(&mut self) {
        let deadline = self.run.budget.deadline();
        if deadline.is_some_and(|deadline| deadline <= self.at) && is_timed(&self.run) {
            self.emit(Event::LimitReached {
                what: LimitKind::Time,
            });
            return self.stop(|slot| matches!(slot.work, SlotWork::Role(_) | SlotWork::Gate(_)));
        }
        let works = |slot: &Slot| matches!(slot.work, SlotWork::Role(_));
        let passed = self.run.budget.passed(self.run.under_way());
        if let Some(what) = passed.filter(|_| self.is_running(works)) {
            self.emit(Event::LimitReached { what });
            self.stop(works);
        }
    }

    /// Takes in what a worker under way has spent so far.
    pub(super) fn usage_measured(&mut self, id: &AttemptId, usage: Usage) {
        let launch = self.run.outstanding.get(&id.fence);
        let Some(launch) = launch.filter(|launch| launch.id == *id && launch.counted) else {
            return;
        };
        if self.running(id).is_none() || !self.is_worth_noting(id, launch.used, usage) {
            return;
        }
        self.emit(Event::UsageMeasured {
            id: id.clone(),
            usage,
        });
        for (what, word) in [(LimitKind::Money, "money"), (LimitKind::Tokens, "tokens")] {
            let (used, left) = self.of_task(&id.frame, what);
            if left.is_some_and(|left| used >= left) {
                self.stop_in(&id.frame, |slot| matches!(slot.work, SlotWork::Role(_)));
                return self.exhausted(&id.frame, &format!("the task has used up its {word}"));
            }
        }
    }

    /// Whether a report of usage makes a difference to a limit that is in force.
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
        let all = self.run.under_way().used;
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
            let (of_task, left_for_task) = self.of_task(&id.frame, kind);
            is_step
                || more > 0
                    && (passes(sum, self.run.budget.left(kind)) || passes(of_task, left_for_task))
        })
    }

    /// What attempts of a task under way have used, and what is left for the task.
    fn of_task(&self, path: &FramePath, kind: LimitKind) -> (u64, Option<u64>) {
        let used = self.run.under_way_in(path).used;
        let used = match kind {
            LimitKind::Money => used.money_microusd,
            _ => used.tokens,
        };
        let frame = self.run.frames.get(path);
        let frame = frame.filter(|frame| matches!(frame.item, FrameItem::Task(_)));
        let left = frame.and_then(|f| f.spent.left(&self.run.budget.limits, kind));
        (used, left)
    }

    /// A worker ended because its money or its tokens were used up. If those were its role's own,
    /// it has failed; if the task's or the run's, a person decides.
    pub(super) fn out_of_budget(&mut self, id: &AttemptId, facts: &FailureFacts, usage: Usage) {
        let (what, word) = match facts.trouble {
            Some(FailureCause::Tokens) => (LimitKind::Tokens, "tokens"),
            _ => (LimitKind::Money, "money"),
        };
        let own = match what {
            LimitKind::Money => self.role_of(id).and_then(|role| role.max_cost_microusd),
            _ => None,
        };
        let is_own = own.is_some_and(|own| usage.cost_microusd.is_none_or(|cost| cost >= own));
        let (_, of_task) = self.of_task(&id.frame, what);
        let of_run = self.run.budget.left(what);
        match (of_run, of_task) {
            _ if is_own => self.give_up(id, &facts.message),
            (None, None) => self.give_up(id, &facts.message),
            (of_run, Some(left)) if of_run.is_none_or(|run| left < run) => {
                self.requeue(id);
                self.exhausted(&id.frame, &format!("the task has used up its {word}"));
            }
            _ => {
                self.requeue(id);
                self.emit(Event::LimitReached { what });
            }
        }
    }

    fn is_running(&self, wanted: impl Fn(&Slot) -> bool) -> bool {
        let mut frames = self.run.frames.values();
        frames.any(|frame| running(frame, &wanted).next().is_some())
    }

    /// Puts everything of a kind that is under way back into the queue.
    fn stop(&mut self, wanted: impl Fn(&Slot) -> bool) {
        let frames: Vec<FramePath> = self.run.frames.keys().cloned().collect();
        for frame in frames {
            self.stop_in(&frame, &wanted);
        }
    }

    fn stop_in(&mut self, path: &FramePath, wanted: impl Fn(&Slot) -> bool) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let ids: Vec<AttemptId> = running(frame, &wanted).cloned().collect();
        for id in ids {
            self.requeue(&id);
        }
    }

    /// The same attempt once more, when there is room for it.
    pub(super) fn requeue(&mut self, id: &AttemptId) {
        self.emit(Event::AttemptQueued {
            id: AttemptId {
                fence: 0,
                ..id.clone()
            },
        });
    }
}

/// The launches of a kind that are under way in a frame. A session is nothing that could be ended.
fn running(frame: &Frame, wanted: impl Fn(&Slot) -> bool) -> impl Iterator<Item = &AttemptId> {
    let is_open = match frame.stage {
        FrameStage::Working | FrameStage::Each | FrameStage::Committing => true,
        FrameStage::Asking(_) | FrameStage::Ended(_) => false,
    };
    frame
        .slots
        .iter()
        .filter(move |_| is_open)
        .filter(|slot| slot.state == SlotState::Running)
        .filter(|slot| !slot.worker.as_ref().is_some_and(is_session))
        .filter(move |slot| wanted(slot))
        .map(|slot| &slot.id)
}
