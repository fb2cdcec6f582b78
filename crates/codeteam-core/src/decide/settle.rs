//! Fires everything that has become possible: ready tasks, the integration queue, retries whose
//! backoff has elapsed, questions that no longer matter.
//!
//! [`Decider::settle`] runs after every input. The handlers in the other modules therefore only
//! record what the input itself means; whatever follows from the new state happens here.

use super::Decider;
use super::commits::{has_cleared_change, is_rejected};
use crate::budget::{self, BudgetRefusal, BudgetReservation};
use crate::event::{EntryReason, Event};
use crate::frame::FrameOutcome;
use crate::frame::{
    Frame, FrameItem, FrameStage, PauseReason, QuestionKind, Slot, SlotState, SlotWork,
};
use crate::ids::{AttemptId, FramePath, PhaseId, StepId, TaskId, WorkerName};
use crate::operator::{Operator, SESSION};
use crate::park::AccountPark;
use crate::role::{Role, RoleKind};
use crate::schedule::TaskStatus;
use crate::workflow::{EachItem, ExitTarget, SITUATION, StepKind};

impl Decider {
    /// Repeats all automatic transitions until nothing changes any more.
    ///
    /// It terminates: a pass that changes nothing is the last one, and each pass that changes
    /// something starts, moves or ends a frame or an attempt, of which there are finitely many
    /// before the next input.
    pub(super) fn settle(&mut self) {
        loop {
            let before = self.events.len();
            if !self.run.is_terminal() {
                self.free_accounts();
                self.end_over_limit();
                self.continue_rollback();
                self.withdraw_questions();
                self.open_children();
                self.review_approvals();
                self.integrate();
                self.start_ready_attempts();
                self.warn_of_limits();
            }
            if self.events.len() == before {
                return;
            }
        }
    }

    /// Withdraws questions whose step's condition no longer holds. For example, two tasks both
    /// reach the question before the first commit, and then one of them makes that commit.
    fn withdraw_questions(&mut self) {
        let asked = self.run.frames.values().filter_map(|f| match &f.stage {
            FrameStage::Asking(question) if question.kind == QuestionKind::Step => {
                Some((f, &question.id.step))
            }
            _ => None,
        });
        let over: Vec<(FramePath, StepId)> = asked
            .filter(|(frame, step)| !self.is_step_wanted(frame, step))
            .map(|(frame, step)| (frame.path.clone(), step.clone()))
            .collect();
        for (frame, step) in over {
            self.transition(&frame, &ExitTarget::Step(step), EntryReason::Next);
        }
    }

    fn free_accounts(&mut self) {
        for account in self.run.parks.expired_accounts(self.at) {
            self.emit(Event::AccountFreed { account });
        }
    }

    fn warn_of_limits(&mut self) {
        // Once a limit is reached, a warning about it adds nothing.
        if self.run.is_terminal() || self.run.reached_limit.is_some() {
            return;
        }
        for what in self.run.budget.limits_to_warn_about(self.at) {
            self.emit(Event::BudgetWarned { what });
        }
    }

    fn open_children(&mut self) {
        let parents: Vec<FramePath> = self
            .run
            .frames
            .values()
            .filter(|f| f.stage == FrameStage::Each)
            .map(|f| f.path.clone())
            .collect();
        for parent in parents {
            while self.open_child(&parent) {}
            self.close_each_step(&parent);
        }
    }

    /// Opens the next child frame, if one may start. Returns true if it did something.
    fn open_child(&mut self, parent: &FramePath) -> bool {
        if self.ask_for_choice(parent) {
            return true;
        }
        let Some(frame) = self.run.frames.get(parent) else {
            return false;
        };
        let Some(children) = &frame.children else {
            return false;
        };
        if frame.stage != FrameStage::Each || children.halted || awaits_choice(frame) {
            return false;
        }
        if self.run.operator == Operator::Session && children.schedule.running().next().is_some() {
            // A session has a single checkout.
            return false;
        }
        let next = self.next_child(frame, children);
        let Some(name) = next.and_then(|i| children.names.get(i)) else {
            return false;
        };
        let Some(StepKind::Each { over, start, .. }) = self.run.frame_step(frame).map(|s| &s.kind)
        else {
            return false;
        };
        let item = match over {
            EachItem::Phase => FrameItem::Phase(PhaseId(name.clone())),
            EachItem::Task => FrameItem::Task(TaskId(name.clone())),
        };
        let (path, start) = (parent.child(name), start.clone());
        if let Some(failed) = self.run.failed_frames.get(&path) {
            let again = self.resume_target(failed);
            self.emit(Event::FrameResumed {
                frame: path.clone(),
            });
            self.transition(&path, &again, EntryReason::Resumed);
        } else {
            let base = self.run.tip.clone();
            self.emit(Event::FrameOpened {
                frame: path.clone(),
                item,
                base,
            });
            self.transition(&path, &ExitTarget::Step(start), EntryReason::Start);
        }
        true
    }

    /// Asks a role which task comes first, if several could start and the workflow has a role for
    /// it.
    fn ask_for_choice(&mut self, parent: &FramePath) -> bool {
        let Some(frame) = self.run.frames.get(parent) else {
            return false;
        };
        let wanted = self.run.workflow.settings.get(SITUATION).copied();
        let (Some(StepKind::Each { choose, .. }), Some(children), Some(true)) = (
            self.run.frame_step(frame).map(|s| &s.kind),
            &frame.children,
            wanted,
        ) else {
            return false;
        };
        let Some(role) = choose.clone() else {
            return false;
        };
        let busy = frame.stage != FrameStage::Each || children.halted || awaits_choice(frame);
        let told = children
            .chosen
            .is_some_and(|i| children.schedule.may_start(i));
        if busy || told || children.schedule.candidates().nth(1).is_none() {
            return false;
        }
        let id = AttemptId {
            frame: parent.clone(),
            step: frame.step.clone(),
            generation: frame.generation,
            slot: 0,
            attempt: children.choices + 1,
            fence: AttemptId::NOT_LAUNCHED,
        };
        self.emit(Event::ChoiceOpened { id, role });
        true
    }

    /// Returns true if a role is currently choosing which task comes first.
    pub(super) fn is_choosing(&self, frame: &FramePath) -> bool {
        let frame = self.run.frames.get(frame);
        frame.is_some_and(|f| f.stage == FrameStage::Each)
    }

    /// Records a role's choice of the task that comes first: the task's id, alone on the first
    /// line. If the text is anything else, the plan's own order is used.
    pub(super) fn record_choice(&mut self, id: &AttemptId, text: &str) {
        let children = self.run.frames.get(&id.frame);
        let Some(children) = children.and_then(|f| f.children.as_ref()) else {
            return;
        };
        let first = text.trim().lines().next().unwrap_or_default();
        let said = first.trim_matches(|c: char| !c.is_alphanumeric());
        let may = |i: &usize| children.schedule.may_start(*i);
        let named = children.position(said).filter(may);
        let Some(task) = named.or_else(|| children.schedule.next()) else {
            return;
        };
        let why = match named {
            Some(_) => text.trim().to_owned(),
            None => String::new(),
        };
        if let Some(name) = children.names.get(task).cloned() {
            self.emit(Event::TaskChosen {
                id: id.clone(),
                task: TaskId(name),
                why,
            });
        }
    }

    /// Returns where a frame resumes: at the step that makes changes if its current one was
    /// rejected, otherwise at the step where it was.
    pub(super) fn resume_target(&self, frame: &Frame) -> ExitTarget {
        let here = ExitTarget::Step(frame.step.clone());
        let Some(step) = self.run.step(&frame.step) else {
            return here;
        };
        if let Some(next) = self.target_after_acceptance(frame) {
            return next;
        }
        let (rejected, back) = match &step.kind {
            StepKind::Role(role) => {
                let goes_back = is_rejected(frame) || self.is_leader_step(step);
                (goes_back, role.on_reject.clone())
            }
            StepKind::Gate { .. } => (is_rejected(frame), step.on_fail.clone()),
            StepKind::Commit { on_conflict } => {
                let back = on_conflict.clone().map(ExitTarget::Step);
                (!has_cleared_change(frame), back)
            }
            StepKind::Person { .. }
            | StepKind::Each { .. }
            | StepKind::Lock
            | StepKind::Publish { .. }
            | StepKind::Deliver { .. } => (false, None),
        };
        if !rejected {
            return here;
        }
        match back {
            Some(ExitTarget::Step(step)) => ExitTarget::Step(step),
            _ => self.implementing_step(frame).map_or(here, ExitTarget::Step),
        }
    }

    /// Returns the step of a frame that made its change, or could make one.
    pub(super) fn implementing_step(&self, frame: &Frame) -> Option<StepId> {
        let makes = |step: &StepId| {
            let Some(StepKind::Role(role)) = self.run.step(step).map(|s| &s.kind) else {
                return false;
            };
            let role = role.slots.first().and_then(|name| self.run.roles.get(name));
            role.is_some_and(|role| role.kind == RoleKind::Implementer)
        };
        let by = frame.change.as_ref().map_or("", |change| &change.by);
        let made = |step: &StepId| by.starts_with(&format!("{}:{step}.", frame.path));
        let mut able = frame.visits.keys().filter(|step| makes(step));
        let first = able.clone().next();
        able.find(|step| made(step)).or(first).cloned()
    }

    fn close_each_step(&mut self, parent: &FramePath) {
        let Some(frame) = self.run.frames.get(parent) else {
            return;
        };
        let Some(children) = &frame.children else {
            return;
        };
        if frame.stage != FrameStage::Each {
            return;
        }
        let schedule = &children.schedule;
        if children.halted {
            let running: Vec<FramePath> = schedule
                .running()
                .filter_map(|i| children.names.get(i))
                .map(|name| parent.child(name))
                .collect();
            for child in running {
                self.end_frame(&child, FrameOutcome::Cancelled);
            }
            return self.fail_each_step(parent);
        }
        if !schedule.is_finished() {
            if self.waits_in_vain(frame, children) {
                let why = "its tasks wait for tasks of another phase, which was given up";
                self.fail_frame(parent, why);
            }
            return;
        }
        if schedule.count(TaskStatus::Failed) + schedule.count(TaskStatus::Blocked) > 0 {
            self.fail_each_step(parent);
        } else {
            self.advance(parent);
        }
    }

    fn fail_each_step(&mut self, parent: &FramePath) {
        let Some(frame) = self.run.frames.get(parent) else {
            return;
        };
        let Some(children) = &frame.children else {
            return;
        };
        let (schedule, total) = (&children.schedule, children.names.len());
        let failed: Vec<String> = (0..total)
            .filter(|i| schedule.status(*i) == TaskStatus::Failed)
            .filter_map(|i| children.names.get(i))
            .take(5)
            .map(|name| format!("`{name}`"))
            .collect();
        let count = schedule.count(TaskStatus::Failed);
        let undone =
            total - schedule.count(TaskStatus::Completed) - schedule.count(TaskStatus::Skipped);
        let more = if count > failed.len() { ", …" } else { "" };
        let held_up = match undone - count {
            0 => String::new(),
            n => format!("; {n} more could not be done"),
        };
        let given = if count == 1 { "was" } else { "were" };
        let why = format!("{}{more} {given} given up{held_up}", failed.join(", "));
        match self
            .run
            .frame_step(frame)
            .and_then(|step| step.on_fail.clone())
        {
            Some(target) => self.transition(parent, &target, EntryReason::Failed),
            None => self.fail_frame(parent, why),
        }
    }

    /// Starts every attempt that may start now.
    fn start_ready_attempts(&mut self) {
        let waiting: Vec<AttemptId> = self
            .run
            .frames
            .values()
            .filter(|f| matches!(f.stage, FrameStage::Working | FrameStage::Each))
            .flat_map(|f| &f.slots)
            .filter(|slot| self.is_ready(slot))
            .map(|slot| slot.id.clone())
            .collect();
        for id in waiting {
            let work = self
                .run
                .frames
                .get(&id.frame)
                .and_then(|f| f.slot(&id))
                .map(|s| &s.work);
            match work.cloned() {
                Some(SlotWork::Role(name)) => match self.run.roles.get(&name).cloned() {
                    Some(role) => self.admit_role(&id, &role),
                    None => self.fail_frame(&id.frame, format!("there is no role `{name}`")),
                },
                Some(SlotWork::Gate(_)) if self.is_out_of_time() => {}
                Some(work) => self.launch(&id, work, None, BudgetReservation::default()),
                None => {}
            }
        }
    }

    fn is_ready(&self, slot: &Slot) -> bool {
        match &slot.state {
            // Cancelled work could still move the branch.
            SlotState::Queued if slot.work == SlotWork::MoveBranch => {
                self.run.outstanding.is_empty()
            }
            SlotState::Queued => true,
            SlotState::Paused {
                until,
                why: PauseReason::Backoff,
            } => *until <= self.at,
            SlotState::Paused {
                until,
                why: PauseReason::Quota | PauseReason::RateLimit | PauseReason::Outage,
            } => *until <= self.at || self.worker_for(slot).is_some_and(|found| found.is_ok()),
            SlotState::Running | SlotState::Done(_) => false,
        }
    }

    /// Returns the first worker of a slot's role whose account is not parked, or otherwise the park
    /// that ends first.
    pub(super) fn worker_for(&self, slot: &Slot) -> Option<Result<WorkerName, AccountPark>> {
        let SlotWork::Role(name) = &slot.work else {
            return None;
        };
        self.choose_worker(self.run.roles.get(name)?, &slot.replaced)
    }

    fn choose_worker(
        &self,
        role: &Role,
        replaced: &[WorkerName],
    ) -> Option<Result<WorkerName, AccountPark>> {
        if self.run.operator == Operator::Session {
            return Some(Ok(WorkerName(SESSION.to_owned())));
        }
        let mut soonest: Option<AccountPark> = None;
        for worker in role.workers.iter().filter(|w| !replaced.contains(w)) {
            match self.run.parks.get(&self.run.worker_account(worker)) {
                None => return Some(Ok(worker.clone())),
                Some(park) if soonest.is_none_or(|known| park.until < known.until) => {
                    soonest = Some(park);
                }
                Some(_) => {}
            }
        }
        soonest.map(Err)
    }

    fn admit_role(&mut self, id: &AttemptId, role: &Role) {
        let slot = self.run.frames.get(&id.frame).and_then(|f| f.slot(id));
        let replaced = slot.map(|slot| slot.replaced.as_slice());
        let worker = match self.choose_worker(role, replaced.unwrap_or_default()) {
            Some(Ok(worker)) => worker,
            Some(Err(park)) => {
                let id = id.before_launch();
                return self.pause_for_account(id, park);
            }
            None => {
                let why = format!("the role `{}` has no worker", role.name);
                return self.fail_frame(&id.frame, why);
            }
        };
        let reserved = BudgetReservation {
            // The cost of a session is not counted here.
            money_microusd: match self.run.operator {
                Operator::Workers => role.max_cost_microusd.unwrap_or(0),
                Operator::Session => 0,
            },
            tokens: 0,
        };
        let is_crowded = match self.task_admits(&id.frame, reserved) {
            Ok(()) => false,
            Err(BudgetRefusal::Crowded(_)) => true,
            Err(BudgetRefusal::Reached(what)) => {
                let what = match what {
                    budget::LimitKind::Money => "money",
                    _ => "tokens",
                };
                return self
                    .handle_exhaustion(&id.frame, &format!("the task has used up its {what}"));
            }
        };
        let refused = match self.run.reached_limit {
            Some(_) => true,
            None if is_crowded => true,
            None => match self
                .run
                .budget
                .admits(reserved, self.run.in_flight_usage(), self.at)
            {
                Ok(()) => false,
                Err(BudgetRefusal::Crowded(_)) => true,
                Err(BudgetRefusal::Reached(what)) => {
                    self.emit(Event::LimitReached { what });
                    true
                }
            },
        };
        if !refused {
            return self.launch(
                id,
                SlotWork::Role(role.name.clone()),
                Some(worker),
                reserved,
            );
        }
        let paused = self
            .run
            .frames
            .get(&id.frame)
            .and_then(|f| f.slot(id))
            .is_some_and(|slot| matches!(slot.state, SlotState::Paused { .. }));
        if paused {
            // Its pause has ended; from now on it waits for room in the budget, not for the clock.
            self.emit(Event::AttemptQueued { id: id.clone() });
        }
    }

    /// Checks whether the limits for a single task let an attempt start.
    fn task_admits(
        &self,
        path: &FramePath,
        wanted: BudgetReservation,
    ) -> Result<(), BudgetRefusal> {
        let Some(frame) = self.run.frames.get(path) else {
            return Ok(());
        };
        if !matches!(frame.item, FrameItem::Task(_)) {
            return Ok(());
        }
        let mut held = BudgetReservation::default();
        for launch in self.run.outstanding.values() {
            if launch.id.frame == *path && launch.counted {
                held.money_microusd += launch.reserved.money_microusd;
                held.tokens += launch.reserved.tokens;
            }
        }
        let beyond = self.run.in_flight_usage_in(path).beyond;
        held.money_microusd = held.money_microusd.saturating_add(beyond.money_microusd);
        held.tokens = held.tokens.saturating_add(beyond.tokens);
        frame
            .counts
            .spent
            .admits(&self.run.budget.limits, held, wanted)
    }

    fn pause_for_account(&mut self, id: AttemptId, park: AccountPark) {
        let (until, why) = (park.until, PauseReason::from(park.why));
        let known = self
            .run
            .frames
            .get(&id.frame)
            .and_then(|f| f.slots.iter().find(|slot| slot.id.slot == id.slot));
        let same = SlotState::Paused {
            until,
            why: why.clone(),
        };
        if known.is_none_or(|slot| slot.state != same) {
            self.emit(Event::AttemptPaused { id, until, why });
        }
    }

    /// Starts an attempt under a new fence.
    pub(super) fn launch(
        &mut self,
        id: &AttemptId,
        work: SlotWork,
        worker: Option<WorkerName>,
        reserved: BudgetReservation,
    ) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let tree = frame.tree.clone();
        let id = AttemptId {
            fence: self.run.fence + 1,
            ..id.clone()
        };
        self.emit(Event::AttemptStarted {
            id,
            work,
            worker,
            tree,
            reserved,
        });
    }
}

/// Returns true if a role is to choose which task comes first and has not done so yet.
fn awaits_choice(frame: &Frame) -> bool {
    let mut slots = frame.slots.iter();
    slots.any(|slot| !matches!(slot.state, SlotState::Done(_)))
}
