//! What comes back from a worker, and what is done when nothing good does.

use super::Decider;
use crate::assignment;
use crate::breaker;
use crate::budget::Usage;
use crate::event::{DeliveryOutcome, EntryReason, Event};
use crate::failure::{FailureAction, FailureCause, FailureFacts, FailureStage, classify};
use crate::frame::{Frame, PauseReason, Question, QuestionKind, SlotState, SlotWork};
use crate::hands::is_in_session;
use crate::ids::{AttemptId, FramePath, PatchId, StepId, TaskId, WorkerName};
use crate::input::{WorkerOutcome, WorkerReport};
use crate::message::{self, CommitFacts};
use crate::plan::{Phase, Plan, Task};
use crate::record::Rejection;
use crate::retry;
use crate::role::{Role, RoleKind};
use crate::schedule::TaskStatus;
use crate::session;
use crate::submission::{self, Submission};
use crate::workflow::{EachItem, ExitTarget, RoleStep, StepKind};

/// No service is waited for longer than this because it says so; a usage limit is another matter.
const MAX_RETRY_AFTER_MS: u64 = 10 * 60 * 1_000;

impl Decider {
    pub(super) fn worker_exited(&mut self, id: &AttemptId, report: &WorkerReport) {
        let Some(role) = self.running_role(id) else {
            return self.stale(id, report.usage);
        };
        let text = match &report.end {
            WorkerOutcome::Failed(facts) => return self.attempt_failed(id, facts, report),
            WorkerOutcome::Answered(text) => text,
        };
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let form = assignment::taken(&self.run, frame, &role, id.attempt);
        let about = session::about(&self.run, frame, &role);
        match submission::parse_about(form, text, &about) {
            Err(message) => self.refuse(id, FailureStage::BadAnswer, message, report),
            Ok(Submission::Blocked(blocked)) => {
                self.refuse(id, FailureStage::Blocked, blocked.blocked, report);
            }
            Ok(submission) => match self.unproved(id, &submission) {
                Some(why) => self.refuse(id, FailureStage::Refused, why, report),
                None => self.accept(id, role.kind, submission, report),
            },
        }
    }

    fn unproved(&self, id: &AttemptId, submission: &Submission) -> Option<String> {
        session::unproved(&self.run, self.run.frames.get(&id.frame)?, submission)
    }

    /// What the plan is called, or will be if its planner gives it no name.
    fn plan_id(&self) -> &str {
        let known = self.run.plan.as_ref().map(|plan| &plan.plan_id);
        known.unwrap_or(&self.run.plan_id)
    }

    fn running_role(&self, id: &AttemptId) -> Option<Role> {
        match self.running(id)? {
            (_, SlotWork::Role(name)) => self.run.roles.get(name).cloned(),
            _ => None,
        }
    }

    /// The role that an attempt plays, whether or not it is under way.
    pub(super) fn role_of(&self, id: &AttemptId) -> Option<&Role> {
        match &self.run.frames.get(&id.frame)?.slot(id)?.work {
            SlotWork::Role(name) => self.run.roles.get(name),
            _ => None,
        }
    }

    fn role_step(&self, frame: &FramePath) -> Option<RoleStep> {
        match &self.run.step_of(self.run.frames.get(frame)?)?.kind {
            StepKind::Role(role) => Some(RoleStep::clone(role)),
            _ => None,
        }
    }

    fn accept(
        &mut self,
        id: &AttemptId,
        kind: RoleKind,
        mut submission: Submission,
        report: &WorkerReport,
    ) {
        if let Submission::Text(text) = &mut submission
            && message::is_written_by(&self.run, &id.step)
        {
            text.message = message::clean(&text.message);
            if let Some(wrong) = self.wrong_with_message(id, &text.message) {
                return self.refuse(id, FailureStage::Refused, wrong, report);
            }
        }
        match (&submission, kind) {
            (Submission::Plan(planned), _) => {
                if let Some(wrong) = self.wrong_with_plan(&planned.plan) {
                    return self.refuse(id, FailureStage::Refused, wrong, report);
                }
            }
            (Submission::Change(_), _) => {
                if let Some((stage, wrong)) = self.wrong_with_change(id, report) {
                    return self.refuse(id, stage, wrong, report);
                }
                if let Some(round) = self.seen_before(id, report) {
                    if is_in_session(&self.run, id) {
                        let why = format!(
                            "This is the change of round {round} again, which was not accepted. \
                             Make another one."
                        );
                        return self.refuse(id, FailureStage::Refused, why, report);
                    }
                    return self.looped(id, submission, report, round);
                }
            }
            (Submission::Verdict(verdict), _) => {
                let verdict = verdict.clone();
                return self.vote(id, submission, &verdict, report);
            }
            _ => {}
        }
        self.receive(id, submission.clone(), report, None);
        let frame = &id.frame;
        if let (Submission::Text(text), true) = (&submission, self.is_choosing(frame)) {
            return self.chosen_by(id, &text.message);
        }
        match submission {
            Submission::Questions(questions) => {
                let text = if questions.context.is_empty() {
                    Question::UNCLEAR.to_owned()
                } else {
                    questions.context
                };
                self.ask(
                    frame,
                    QuestionKind::Analyst,
                    text,
                    questions.questions,
                    Vec::new(),
                );
            }
            Submission::Plan(planned) => {
                let mut plan = planned.plan;
                // The folder of a plan is the run's to choose: a planner may name another's.
                if !self.plan_id().is_empty() {
                    self.plan_id().clone_into(&mut plan.plan_id);
                }
                self.emit(Event::PlanProposed {
                    plan: Box::new(plan),
                });
                self.next(frame);
            }
            _ => self.next(frame),
        }
    }

    pub(super) fn receive(
        &mut self,
        id: &AttemptId,
        mut submission: Submission,
        report: &WorkerReport,
        vote: Option<bool>,
    ) {
        let change = match &mut submission {
            Submission::Change(change) => {
                // They are in the worktree by now, and in the diff that was taken there.
                let edits = std::mem::take(&mut change.edits);
                change.files.extend(edits.into_iter().map(|edit| edit.path));
                report.change.clone()
            }
            _ => None,
        };
        self.emit(Event::SubmissionReceived {
            id: id.clone(),
            submission,
            usage: report.usage,
            transcript: report.transcript.clone(),
            change,
            vote,
            session: report.session.clone(),
            log: report.log.clone(),
            edited: report.edited.clone(),
        });
    }

    /// Goes on to where the frame's step leads when all is well.
    pub(super) fn next(&mut self, frame: &FramePath) {
        let next = self
            .run
            .frames
            .get(frame)
            .and_then(|f| self.run.step_of(f))
            .map(|step| step.next.clone());
        if let Some(next) = next {
            self.go(frame, &next, EntryReason::Next);
        }
    }

    fn wrong_with_message(&self, id: &AttemptId, text: &str) -> Option<String> {
        let frame = self.run.frames.get(&id.frame)?;
        let matter = CommitFacts::of(&self.run, frame);
        self.run.message.check(&matter, text).err()
    }

    fn wrong_with_plan(&self, plan: &Plan) -> Option<String> {
        let lines = self.unfit(plan);
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Everything that keeps a plan from being carried out in this run, up to a sensible length.
    pub(super) fn unfit(&self, plan: &Plan) -> Vec<String> {
        let errors = plan.check(self.run.max_tasks);
        let mut lines: Vec<String> = errors.iter().take(10).map(ToString::to_string).collect();
        if lines.is_empty() && self.goes_by_phase() {
            lines.extend(plan.unfit_for_phases());
        }
        lines.extend(self.changed_history(plan));
        lines
    }

    /// Whether the workflow goes through the plan phase by phase.
    pub(super) fn goes_by_phase(&self) -> bool {
        let mut steps = self.run.workflow.steps.values();
        steps
            .any(|step| matches!(step.kind, StepKind::Each { over, .. } if over == EachItem::Phase))
    }

    /// Why a plan cannot replace the one under way: tasks that have begun are history.
    fn changed_history(&self, plan: &Plan) -> Option<String> {
        let old = self.run.plan.as_ref()?;
        let positions = plan.index();
        let begun = |phase: &Phase| {
            let status = self.run.phases.get(&phase.id);
            status.is_some_and(|s| s.satisfies() || *s == TaskStatus::Running)
        };
        let kept = |phase: &Phase| plan.phases.contains(phase);
        if let Some(phase) = old.phases.iter().find(|p| begun(p) && !kept(p)) {
            let id = &phase.id;
            return Some(format!(
                "phase `{id}` has begun and can no longer be changed"
            ));
        }
        let over = |task: &Task| {
            let phase = task.phase.as_ref().and_then(|p| self.run.phases.get(p));
            phase.is_some_and(|s| s.satisfies()) && !self.run.task_status(&task.id).satisfies()
        };
        let added = |task: &Task| !self.run.positions.contains_key(&task.id);
        if let Some(task) = plan.tasks.iter().find(|t| added(t) && over(t)) {
            let id = &task.id;
            return Some(format!(
                "task `{id}` is in a phase that is over and would never start"
            ));
        }
        old.tasks.iter().find_map(|task| {
            let status = self.run.task_status(&task.id);
            let now = positions.get(&task.id).map(|i| &plan.tasks[*i]);
            let wrong = if status.satisfies() {
                changed_after_its_end(task, now)
            } else if status == TaskStatus::Running && now != Some(task) {
                Some("wait until it has ended, or put it back as it was".to_owned())
            } else {
                None
            };
            wrong.map(|wrong| {
                let (id, status) = (&task.id, status.as_str());
                format!("task `{id}` is {status} and can no longer be changed: {wrong}")
            })
        })
    }

    fn wrong_with_change(
        &self,
        id: &AttemptId,
        report: &WorkerReport,
    ) -> Option<(FailureStage, String)> {
        let frame = self.run.frames.get(&id.frame)?;
        let role_step = self.role_step(&id.frame)?;
        let empty = match &report.change {
            None => true,
            Some((tree, _)) => *tree == frame.base.tree,
        };
        let message = match &report.failed_write {
            None => {
                "Nothing was changed. If nothing needs to change, answer `blocked` and say why."
                    .to_owned()
            }
            Some(why) => format!(
                "Nothing was changed, because a file could not be written: {}. If it cannot be \
                 written in another way either, answer `blocked` and say why.",
                first_line(why)
            ),
        };
        (empty && !role_step.allow_empty).then_some((FailureStage::Refused, message))
    }

    fn seen_before(&self, id: &AttemptId, report: &WorkerReport) -> Option<u32> {
        let frame = self.run.frames.get(&id.frame)?;
        let (tree, change) = report.change.as_ref()?;
        if *tree == frame.base.tree {
            return None;
        }
        let seen = frame.seen.earlier(&id.step, &change.patch);
        // Counting starts anew when a person rejects a change; that very change stays rejected.
        let rejected = || person_rejection(frame, &change.patch).map(|rejection| rejection.round);
        seen.or_else(rejected)
    }

    fn looped(
        &mut self,
        id: &AttemptId,
        submission: Submission,
        report: &WorkerReport,
        round: u32,
    ) {
        self.receive(id, submission, report, None);
        let (frame, step) = (id.frame.clone(), id.step.clone());
        self.emit(Event::LoopDetected { frame, step, round });
        if let Some(judge) = self.rejecting_person(id) {
            let told = format!(
                "This is the change of round {round} again, which `{}` rejected: nothing was changed \
                 since, and nothing was checked or reviewed again.",
                judge.1
            );
            return self.enter(&id.frame, &judge.0, EntryReason::Rejected, Some(told));
        }
        let why = format!(
            "the same change as in round {round} was submitted again{}",
            self.still_against(id)
        );
        self.exhausted(&id.frame, &why);
    }

    /// The step at which a person rejected the change that an attempt has submitted again, and who did.
    fn rejecting_person(&self, id: &AttemptId) -> Option<(StepId, String)> {
        let frame = self.run.frames.get(&id.frame)?;
        let rejection = person_rejection(frame, &frame.change.as_ref()?.patch)?;
        let kind = &self.run.step(&rejection.step)?.kind;
        let by = rejection.by.clone()?;
        matches!(kind, StepKind::Person { .. }).then(|| (rejection.step.clone(), by))
    }

    /// Who rejected the change that an attempt has submitted again, and why; empty if nobody did.
    fn still_against(&self, id: &AttemptId) -> String {
        const REASONS: usize = 3;
        let frame = self.run.frames.get(&id.frame);
        let rejected = frame.and_then(|frame| {
            let patch = &frame.change.as_ref()?.patch;
            let mut rejections = frame.record.rejections.iter().rev();
            rejections.find(|rejection| rejection.patch.as_ref() == Some(patch))
        });
        let Some(rejection) = rejected else {
            return String::new();
        };
        let reasons: Vec<&str> = rejection
            .why
            .iter()
            .take(REASONS)
            .map(String::as_str)
            .collect();
        let reasons = match reasons.join("; ") {
            reasons if reasons.is_empty() => reasons,
            reasons => format!(": {reasons}"),
        };
        let who = rejection.by.as_deref().unwrap_or(rejection.step.as_str());
        format!(", which `{who}` rejected{reasons}")
    }

    fn refuse(
        &mut self,
        id: &AttemptId,
        stage: FailureStage,
        message: String,
        report: &WorkerReport,
    ) {
        let facts = FailureFacts {
            stage,
            message,
            ..FailureFacts::default()
        };
        self.attempt_failed(id, &facts, report);
    }

    fn attempt_failed(&mut self, id: &AttemptId, facts: &FailureFacts, report: &WorkerReport) {
        let (category, action) = classify(facts);
        let in_session = is_in_session(&self.run, id);
        self.emit(Event::AttemptFailed {
            id: id.clone(),
            at: self.at,
            facts: facts.clone(),
            category,
            action,
            usage: report.usage,
            transcript: report.transcript.clone(),
            session: report.session.clone(),
        });
        if self.is_choosing(&id.frame) {
            // An opinion is nothing that anything waits for.
            return self.chosen_by(id, "");
        }
        let Some(role_step) = self.role_step(&id.frame) else {
            return;
        };
        if in_session && facts.stage != FailureStage::Blocked {
            // Whoever has it is told what was wrong and goes on; nothing is started for it.
            let next = AttemptId {
                attempt: id.attempt + 1,
                fence: 0,
                ..id.clone()
            };
            return self.emit(Event::AttemptQueued { id: next });
        }
        if let Some(FailureCause::Cost | FailureCause::Tokens) = facts.trouble {
            return self.out_of_budget(id, facts, report.usage);
        }
        let tries = match action {
            FailureAction::Park | FailureAction::WaitOut => {
                return self.park(id, facts, action, &role_step.retry);
            }
            FailureAction::Escalate => return self.stand_in(id, facts, &facts.message),
            FailureAction::RetryOnce => role_step.retry.max_attempts.min(2),
            FailureAction::RetrySame | FailureAction::RetryWithFeedback => {
                role_step.retry.max_attempts
            }
        };
        let own = id.attempt - self.tried_by_others(id);
        if own >= tries {
            let why = format!("{} ({own} of {tries} tries)", first_line(&facts.message));
            return self.stand_in(id, facts, &why);
        }
        if self.breaker_is_open(id) {
            let (frame, step) = (id.frame.clone(), id.step.clone());
            self.emit(Event::BreakerOpened { frame, step });
            let why = format!("it fails too often: {}", first_line(&facts.message));
            return self.give_up(id, &why);
        }
        let next = AttemptId {
            attempt: id.attempt + 1,
            fence: 0,
            ..id.clone()
        };
        if action == FailureAction::RetryWithFeedback {
            self.emit(Event::AttemptQueued { id: next });
        } else {
            let delay = role_step.retry.delay_ms(&next);
            let asked = facts.retry_after_ms.unwrap_or(0).min(MAX_RETRY_AFTER_MS);
            let until = self.at.plus(delay.max(asked));
            self.emit(Event::AttemptPaused {
                id: next,
                until,
                why: PauseReason::Backoff,
            });
        }
    }

    fn breaker_is_open(&self, id: &AttemptId) -> bool {
        let frame = self.run.frames.get(&id.frame);
        frame
            .and_then(|f| f.breakers.get(&id.step))
            .is_some_and(|b| b.is_open(self.at, &breaker::BreakerPolicy::default()))
    }

    fn tried_by_others(&self, id: &AttemptId) -> u32 {
        let slot = self.run.frames.get(&id.frame).and_then(|f| f.slot(id));
        slot.map_or(0, |slot| slot.tried)
    }

    /// No further try by this worker: the next one of the role has its turn, with all its tries. An
    /// honest `blocked` is not the worker's fault, and no other would do better.
    fn stand_in(&mut self, id: &AttemptId, facts: &FailureFacts, why: &str) {
        let worker = match facts.trouble {
            _ if facts.stage == FailureStage::Blocked => None,
            Some(FailureCause::Machine) => None,
            // It was too long before anybody was told it.
            Some(FailureCause::Length) if facts.stage == FailureStage::Spawn => None,
            _ => self.replaceable(id),
        };
        let Some(worker) = worker else {
            return self.give_up(id, why);
        };
        self.emit(Event::WorkerReplaced {
            id: AttemptId {
                attempt: id.attempt + 1,
                fence: 0,
                ..id.clone()
            },
            worker,
            why: first_line(why).to_owned(),
        });
    }

    /// The worker of an attempt, if its role has another that has not failed yet.
    fn replaceable(&self, id: &AttemptId) -> Option<WorkerName> {
        let slot = self.run.frames.get(&id.frame)?.slot(id)?;
        let SlotWork::Role(name) = &slot.work else {
            return None;
        };
        let worker = slot.worker.clone()?;
        let mut others = self.run.roles.get(name)?.workers.iter();
        others
            .any(|other| *other != worker && !slot.replaced.contains(other))
            .then_some(worker)
    }

    /// No further try: ask for less, abstain, go where the step says, or stop.
    pub(super) fn give_up(&mut self, id: &AttemptId, why: &str) {
        let Some(role_step) = self.role_step(&id.frame) else {
            return;
        };
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        if role_step.degrade
            && let Some(level) = frame.level.lower()
        {
            self.emit(Event::LevelLowered {
                frame: id.frame.clone(),
                level,
            });
            if role_step.slots.len() == 1 {
                // A visit of its own, so that each level has all its tries.
                let here = ExitTarget::Step(id.step.clone());
                return self.go(&id.frame, &here, EntryReason::Failed);
            }
            let next = AttemptId {
                attempt: id.attempt + 1,
                fence: 0,
                ..id.clone()
            };
            return self.emit(Event::AttemptQueued { id: next });
        }
        let reason = first_line(why).to_owned();
        self.emit(Event::SlotAbstained {
            id: id.clone(),
            reason: reason.clone(),
        });
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let done = frame
            .slots
            .iter()
            .all(|s| matches!(s.state, SlotState::Done(_)));
        if !done {
            return;
        }
        if frame
            .slots
            .iter()
            .any(|s| matches!(s.state, SlotState::Done(Some(_))))
        {
            return self.join(&id.frame);
        }
        self.step_failed(&id.frame, &reason);
    }

    /// The step came to nothing.
    pub(super) fn step_failed(&mut self, frame: &FramePath, why: &str) {
        let on_fail = self
            .run
            .frames
            .get(frame)
            .and_then(|f| self.run.step_of(f))
            .and_then(|step| step.on_fail.clone());
        if let Some(target) = on_fail {
            return self.go(frame, &target, EntryReason::Failed);
        }
        let step = self.run.frames.get(frame).map(|f| f.step.clone());
        let step = step.unwrap_or_default();
        if self.only_describes(&step) {
            // What was judged is not given up for want of a message: codeteam writes one.
            return self.next(frame);
        }
        self.exhausted(frame, &format!("`{step}` gave up: {why}"));
    }

    /// Whether all that a step brings forth is the message of the commit that comes next.
    fn only_describes(&self, step: &StepId) -> bool {
        let is_scribe = |name| {
            let role = self.run.roles.get(name);
            role.is_some_and(|role| role.kind == RoleKind::Scribe)
        };
        match self.run.step(step).map(|step| &step.kind) {
            Some(StepKind::Role(role)) => {
                role.slots.iter().all(is_scribe) && message::is_written_by(&self.run, step)
            }
            _ => false,
        }
    }

    /// An effect could not be performed at all. That is codeteam's own trouble; with a worker it is
    /// treated like the worker's. Everything else is tried again if the machine is to blame, and
    /// given up otherwise.
    pub(super) fn effect_failed(
        &mut self,
        id: &AttemptId,
        trouble: Option<FailureCause>,
        message: &str,
    ) {
        let Some((_, work)) = self.running(id) else {
            return self.stale(id, Usage::default());
        };
        let work = work.clone();
        let facts = FailureFacts {
            stage: FailureStage::Spawn,
            trouble,
            message: message.to_owned(),
            ..FailureFacts::default()
        };
        if matches!(work, SlotWork::Role(_)) {
            let report = WorkerReport {
                end: WorkerOutcome::Failed(facts.clone()),
                usage: Usage::default(),
                transcript: None,
                change: None,
                session: None,
                log: None,
                edited: Vec::new(),
                failed_write: None,
            };
            return self.attempt_failed(id, &facts, &report);
        }
        let (category, action) = classify(&facts);
        self.emit(Event::AttemptFailed {
            id: id.clone(),
            at: self.at,
            facts,
            category,
            action,
            usage: Usage::default(),
            transcript: None,
            session: None,
        });
        let policy = retry::RetryPolicy::default();
        let is_published = work == SlotWork::Publish;
        if trouble == Some(FailureCause::Machine)
            && !is_published
            && id.attempt < policy.max_attempts
        {
            let next = AttemptId {
                attempt: id.attempt + 1,
                fence: 0,
                ..id.clone()
            };
            let until = self.at.plus(policy.delay_ms(&next));
            return self.emit(Event::AttemptPaused {
                id: next,
                until,
                why: PauseReason::Backoff,
            });
        }
        if work == SlotWork::Deliver {
            // The work is done and stays where it is; a person can fetch it from there.
            let why = message.to_owned();
            self.emit(Event::Delivered {
                id: id.clone(),
                outcome: DeliveryOutcome::Left { why },
            });
            return self.next(&id.frame);
        }
        if matches!(work, SlotWork::Gate(_)) {
            // `on_fail` is for checks that ran; whoever it leads to cannot mend this.
            return self.exhausted(&id.frame, &format!("checks could not run: {message}"));
        }
        self.step_failed(&id.frame, message);
    }
}

pub(super) fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason was given")
        .trim()
}

/// The last time that a person sent exactly this change back.
fn person_rejection<'a>(frame: &'a Frame, patch: &PatchId) -> Option<&'a Rejection> {
    let mut rejections = frame.record.rejections.iter().rev();
    let found = rejections.find(|r| r.by.is_some() && !r.edited && r.patch.as_ref() == Some(patch));
    found.map(AsRef::as_ref)
}

/// What must be put back in a plan for a task that is over to be as it was. How it is described makes
/// no difference any more.
fn changed_after_its_end(task: &Task, now: Option<&Task>) -> Option<String> {
    let Some(now) = now else {
        return Some("put it back into the plan".to_owned());
    };
    let ids = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let phase = |task: &Task| task.phase.iter().map(ToString::to_string).collect();
    let fields: [(&str, Vec<String>, Vec<String>); 4] = [
        ("files", task.files.clone(), now.files.clone()),
        (
            "dependencies",
            ids(&task.dependencies),
            ids(&now.dependencies),
        ),
        (
            "acceptance",
            task.acceptance.clone(),
            now.acceptance.clone(),
        ),
        ("phase", phase(task), phase(now)),
    ];
    let changed = fields.into_iter().filter(|(_, was, is)| was != is);
    let back: Vec<String> = changed
        .map(|(field, was, _)| match was.as_slice() {
            [] => format!("take `{field}` out again"),
            was => format!("`{field}` must be {} again", quote_all(was)),
        })
        .collect();
    (!back.is_empty()).then(|| back.join(", "))
}

fn quote_all(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    values.join(", ")
}
