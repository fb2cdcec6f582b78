//! Handles worker results: accepts submissions, and decides about retries, replacements and giving
//! up when an attempt fails.

use super::Decider;
use crate::assignment;
use crate::breaker::BreakerPolicy;
use crate::budget::Usage;
use crate::commit_message::writes_commit_message;
use crate::event::{DeliveryOutcome, EntryReason, Event};
use crate::failure::{FailureAction, FailureCause, FailureFacts, FailureStage, classify};
use crate::frame::{Frame, PauseReason, Question, QuestionKind, SlotState, SlotWork};
use crate::ids::{AttemptId, FramePath, PatchId, StepId, WorkerName};
use crate::input::{WorkerOutcome, WorkerReport};
use crate::judgements::Rejection;
use crate::message::{self, CommitFacts};
use crate::retry;
use crate::role::{Role, RoleKind};
use crate::session;
use crate::submission::{self, Submission};
use crate::workflow::{ExitTarget, RoleStep, StepKind};

/// The longest delay that a service's own `retry after` can impose. Usage limits are handled
/// separately.
const MAX_RETRY_AFTER_MS: u64 = 10 * 60 * 1_000;

impl Decider {
    pub(super) fn worker_exited(&mut self, id: &AttemptId, report: &WorkerReport) {
        let Some(role) = self.running_role(id) else {
            return self.record_stale_result(id, report.usage);
        };
        let text = match &report.end {
            WorkerOutcome::Failed(facts) => return self.attempt_failed(id, facts, report),
            WorkerOutcome::Answered(text) => text,
        };
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let form = assignment::accepted_form(&self.run, frame, &role, id.attempt);
        let about = session::submission_constraints(&self.run, frame, &role);
        match submission::parse_constrained(form, text, &about) {
            Err(message) => self.refuse_submission(id, FailureStage::BadAnswer, message, report),
            Ok(Submission::Blocked(blocked)) => {
                self.refuse_submission(id, FailureStage::Blocked, blocked.blocked, report);
            }
            Ok(submission) => match self.blocked_by_failed_checks(id, &submission) {
                Some(why) => self.refuse_submission(id, FailureStage::Refused, why, report),
                None => self.accept_submission(id, role.kind, submission, report),
            },
        }
    }

    fn blocked_by_failed_checks(&self, id: &AttemptId, submission: &Submission) -> Option<String> {
        session::blocked_by_failed_checks(&self.run, self.run.frames.get(&id.frame)?, submission)
    }

    /// Returns the plan's id, or the id it will get if its planner gives it none.
    pub(super) fn plan_id(&self) -> &str {
        let known = self.run.plan.as_ref().map(|plan| &plan.plan_id);
        known.unwrap_or(&self.run.plan_id)
    }

    fn running_role(&self, id: &AttemptId) -> Option<Role> {
        match self.running_work(id)? {
            (_, SlotWork::Role(name)) => self.run.roles.get(name).cloned(),
            _ => None,
        }
    }

    /// Returns the role that an attempt plays, whether or not the attempt is under way.
    pub(super) fn attempt_role(&self, id: &AttemptId) -> Option<&Role> {
        match &self.run.frames.get(&id.frame)?.slot(id)?.work {
            SlotWork::Role(name) => self.run.roles.get(name),
            _ => None,
        }
    }

    fn role_step(&self, frame: &FramePath) -> Option<RoleStep> {
        match &self.run.frame_step(self.run.frames.get(frame)?)?.kind {
            StepKind::Role(role) => Some(RoleStep::clone(role)),
            _ => None,
        }
    }

    fn accept_submission(
        &mut self,
        id: &AttemptId,
        kind: RoleKind,
        mut submission: Submission,
        report: &WorkerReport,
    ) {
        if let Submission::Text(text) = &mut submission
            && writes_commit_message(&self.run, &id.step)
        {
            text.message = message::clean_message(&text.message);
            if let Some(wrong) = self.message_problem(id, &text.message) {
                return self.refuse_submission(id, FailureStage::Refused, wrong, report);
            }
        }
        if let Some(wrong) = self.missing_output(id, &submission, report) {
            return self.refuse_submission(id, FailureStage::Refused, wrong, report);
        }
        match (&submission, kind) {
            (Submission::Plan(planned), _) => {
                if let Some(wrong) = self.plan_problem(id, &planned.plan) {
                    return self.refuse_submission(id, FailureStage::Refused, wrong, report);
                }
            }
            (Submission::Design(design), _) => {
                if let Some(wrong) = self.design_problem(id, design) {
                    return self.refuse_submission(id, FailureStage::Refused, wrong, report);
                }
            }
            (Submission::Change(_), _) => {
                if let Some((stage, wrong)) = self.change_problem(id, report) {
                    return self.refuse_submission(id, stage, wrong, report);
                }
                if let Some(round) = self.earlier_round(id, report) {
                    if self.run.is_session_attempt(id) {
                        let why = format!(
                            "This is the change of round {round} again, which was not accepted. \
                             Make another one."
                        );
                        return self.refuse_submission(id, FailureStage::Refused, why, report);
                    }
                    return self.handle_loop(id, submission, report, round);
                }
            }
            (Submission::Verdict(verdict), _) => {
                let verdict = verdict.clone();
                return self.count_vote(id, submission, &verdict, report);
            }
            (Submission::Quality(score), _) => {
                return self.score_quality(id, score.clone(), report);
            }
            (Submission::Intervention(decision), _) => {
                return self.handle_leader_decision(id, decision, report);
            }
            (Submission::Assembly(assembly), _) => {
                return self.assemble_team(id, assembly, report);
            }
            (Submission::InterfaceChange(_), _) => {
                return self.request_interface_change(id, submission, report);
            }
            _ => {}
        }
        self.record_submission(id, submission.clone(), report, None);
        let frame = &id.frame;
        if let (Submission::Text(text), true) = (&submission, self.is_choosing(frame)) {
            return self.record_choice(id, &text.message);
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
                // The run chooses the plan's directory: a planner could name that of another plan.
                if !self.plan_id().is_empty() {
                    self.plan_id().clone_into(&mut plan.plan_id);
                }
                self.emit(Event::PlanProposed {
                    plan: Box::new(plan),
                });
                self.advance(frame);
            }
            Submission::Design(design) => {
                self.break_down_phase(id, &design);
                self.advance(frame);
            }
            _ => self.advance(frame),
        }
    }

    pub(super) fn record_submission(
        &mut self,
        id: &AttemptId,
        mut submission: Submission,
        report: &WorkerReport,
        vote: Option<bool>,
    ) {
        let change = match &mut submission {
            Submission::Change(change) => {
                // The edits are in the worktree by now, and in the diff that was taken there.
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
            model: report.model.clone(),
            transcript: report.transcript.clone(),
            change,
            vote,
            session: report.session.clone(),
            log: report.log.clone(),
            edited: report.edited.clone(),
        });
    }

    /// Moves a frame to the regular successor of its step.
    pub(super) fn advance(&mut self, frame: &FramePath) {
        let next = self
            .run
            .frames
            .get(frame)
            .and_then(|f| self.run.frame_step(f))
            .map(|step| step.next.clone());
        if let Some(next) = next {
            self.transition(frame, &next, EntryReason::Next);
        }
    }

    fn message_problem(&self, id: &AttemptId, text: &str) -> Option<String> {
        let frame = self.run.frames.get(&id.frame)?;
        let matter = CommitFacts::for_frame(&self.run, frame);
        self.run.message_format.check(&matter, text).err()
    }

    fn change_problem(
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
                "Nothing was changed.\nIf nothing needs to change, answer `blocked` and say why."
                    .to_owned()
            }
            Some(why) => format!(
                "Nothing was changed, because a file could not be written: {}\nIf it cannot be \
                 written in another way either, answer `blocked` and say why.",
                first_line(why)
            ),
        };
        // Whoever hands the task on to another role may contribute words alone.
        let may_be_empty = role_step.allow_empty || frame.team.turns.len() > 1;
        (empty && !may_be_empty).then_some((FailureStage::Refused, message))
    }

    fn earlier_round(&self, id: &AttemptId, report: &WorkerReport) -> Option<u32> {
        let frame = self.run.frames.get(&id.frame)?;
        let (tree, change) = report.change.as_ref()?;
        if *tree == frame.base.tree || frame.team.turns.len() > 1 {
            return None;
        }
        let seen = frame
            .counts
            .submitted_patches
            .earlier_round(&id.step, &change.patch);
        // The counters start again when a person rejects a change, but that very change stays
        // rejected.
        let rejected = || person_rejection(frame, &change.patch).map(|rejection| rejection.round);
        seen.or_else(rejected)
    }

    fn handle_loop(
        &mut self,
        id: &AttemptId,
        submission: Submission,
        report: &WorkerReport,
        round: u32,
    ) {
        self.record_submission(id, submission, report, None);
        let (frame, step) = (id.frame.clone(), id.step.clone());
        let feedback = format!(
            "This is the change of round {round} again, which was not accepted. \
             Make another one."
        );
        self.emit(Event::LoopDetected {
            frame,
            step,
            round,
            feedback,
        });
        if let Some(judge) = self.rejecting_person(id) {
            let told = format!(
                "This is the change of round {round} again, which `{}` rejected: nothing was changed \
                 since, and nothing was checked or reviewed again.",
                judge.1
            );
            return self.enter_step(&id.frame, &judge.0, EntryReason::Rejected, Some(told));
        }
        let why = format!(
            "the same change as in round {round} was submitted again{}",
            self.standing_rejections(id)
        );
        self.handle_exhaustion(&id.frame, &why);
    }

    /// Returns the step at which a person rejected the resubmitted change, and that person's name.
    fn rejecting_person(&self, id: &AttemptId) -> Option<(StepId, String)> {
        let frame = self.run.frames.get(&id.frame)?;
        let rejection = person_rejection(frame, &frame.change.as_ref()?.patch)?;
        let kind = &self.run.step(&rejection.step)?.kind;
        let by = rejection.by.clone()?;
        matches!(kind, StepKind::Person { .. }).then(|| (rejection.step.clone(), by))
    }

    /// Describes who rejected the resubmitted change and why; empty if nobody did.
    fn standing_rejections(&self, id: &AttemptId) -> String {
        const REASONS: usize = 3;
        let frame = self.run.frames.get(&id.frame);
        let rejected = frame.and_then(|frame| {
            let patch = &frame.change.as_ref()?.patch;
            let mut rejections = frame.judgements.rejections.iter().rev();
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

    pub(super) fn refuse_submission(
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
        let in_session = self.run.is_session_attempt(id);
        self.emit(Event::AttemptFailed {
            id: id.clone(),
            at: self.at,
            facts: facts.clone(),
            category,
            action,
            usage: report.usage,
            model: report.model.clone(),
            transcript: report.transcript.clone(),
            session: report.session.clone(),
        });
        if self.is_choosing(&id.frame) {
            // The choice is optional: the plan's own order is used instead.
            return self.record_choice(id, "");
        }
        let Some(role_step) = self.role_step(&id.frame) else {
            return;
        };
        if in_session && facts.stage != FailureStage::Blocked {
            // The session is told what was wrong and continues; no worker is started.
            let next = id.next_attempt();
            return self.emit(Event::AttemptQueued { id: next });
        }
        if let Some(FailureCause::Cost | FailureCause::Tokens) = facts.trouble {
            return self.handle_budget_exhausted(id, facts, report.usage);
        }
        let tries = match action {
            FailureAction::Park | FailureAction::WaitOut => {
                return self.park_account(id, facts, action, &role_step.retry);
            }
            FailureAction::Escalate => return self.replace_worker(id, facts, &facts.message),
            FailureAction::RetryOnce => role_step.retry.max_attempts.min(2),
            FailureAction::RetrySame | FailureAction::RetryWithFeedback => {
                role_step.retry.max_attempts
            }
        };
        let own = id.attempt - self.attempts_by_replaced(id);
        if own >= tries {
            let why = format!("{} ({own} of {tries} tries)", first_line(&facts.message));
            return self.replace_worker(id, facts, &why);
        }
        if self.breaker_is_open(id) {
            let (frame, step) = (id.frame.clone(), id.step.clone());
            self.emit(Event::BreakerOpened { frame, step });
            let why = format!("it fails too often: {}", first_line(&facts.message));
            return self.give_up(id, &why);
        }
        let next = id.next_attempt();
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
            .and_then(|f| f.counts.breakers.get(&id.step))
            .is_some_and(|b| b.is_open(self.at, &BreakerPolicy::default()))
    }

    /// Returns true if a worker may be asked to correct its answer: it has another attempt of its
    /// own left and has not been sent back often.
    pub(super) fn may_ask_again(&self, id: &AttemptId) -> bool {
        const MOST: u32 = 2;
        let own = id.attempt - self.attempts_by_replaced(id);
        let step = self.role_step(&id.frame);
        let has_tries = step.is_some_and(|step| own < step.retry.max_attempts);
        own <= MOST && has_tries && !self.breaker_is_open(id)
    }

    fn attempts_by_replaced(&self, id: &AttemptId) -> u32 {
        let slot = self.run.frames.get(&id.frame).and_then(|f| f.slot(id));
        slot.map_or(0, |slot| slot.tried)
    }

    /// Ends this worker's attempts and gives the role's next worker a full set of attempts. An
    /// honest `blocked` is not the worker's fault, and another worker would not do better.
    fn replace_worker(&mut self, id: &AttemptId, facts: &FailureFacts, why: &str) {
        let worker = match facts.trouble {
            _ if facts.stage == FailureStage::Blocked => None,
            Some(FailureCause::Machine) => None,
            // The prompt was too long before any worker had seen it.
            Some(FailureCause::Length) if facts.stage == FailureStage::Spawn => None,
            _ => self.replaceable_worker(id),
        };
        let Some(worker) = worker else {
            return self.give_up(id, why);
        };
        self.emit(Event::WorkerReplaced {
            id: id.next_attempt(),
            worker,
            why: first_line(why).to_owned(),
        });
    }

    /// Returns the worker of an attempt, if its role has another one that has not failed yet.
    fn replaceable_worker(&self, id: &AttemptId) -> Option<WorkerName> {
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

    /// Handles a slot that gets no further attempt: lowers the demand level, abstains, follows the
    /// step's `on_fail`, or stops.
    pub(super) fn give_up(&mut self, id: &AttemptId, why: &str) {
        let Some(role_step) = self.role_step(&id.frame) else {
            return;
        };
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        if role_step.degrade
            && let Some(level) = frame.demand.level.next_lower()
        {
            self.emit(Event::LevelLowered {
                frame: id.frame.clone(),
                level,
            });
            if role_step.slots.len() == 1 {
                // Enter the step again, so that each level has all its attempts.
                let here = ExitTarget::Step(id.step.clone());
                return self.transition(&id.frame, &here, EntryReason::Failed);
            }
            let next = id.next_attempt();
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
            .any(|s| matches!(s.state, SlotState::Done(end) if end.vote().is_some()))
        {
            return self.join_votes(&id.frame);
        }
        self.step_failed(&id.frame, &reason);
    }

    /// Handles a step that produced no result.
    pub(super) fn step_failed(&mut self, frame: &FramePath, why: &str) {
        let on_fail = self
            .run
            .frames
            .get(frame)
            .and_then(|f| self.run.frame_step(f))
            .and_then(|step| step.on_fail.clone());
        if let Some(target) = on_fail {
            return self.transition(frame, &target, EntryReason::Failed);
        }
        if self.intervene_by_rule(frame, why) {
            return;
        }
        let step = self.run.frames.get(frame).map(|f| f.step.clone());
        let step = step.unwrap_or_default();
        if self.only_writes_message(&step) {
            // A judged change is not given up for lack of a message: codeteam writes one.
            return self.advance(frame);
        }
        self.handle_exhaustion(frame, &format!("`{step}` gave up: {why}"));
    }

    /// Returns true if a step's only output is the message of the next commit.
    fn only_writes_message(&self, step: &StepId) -> bool {
        let is_scribe = |name| {
            let role = self.run.roles.get(name);
            role.is_some_and(|role| role.kind == RoleKind::Scribe)
        };
        match self.run.step(step).map(|step| &step.kind) {
            Some(StepKind::Role(role)) => {
                role.slots.iter().all(is_scribe) && writes_commit_message(&self.run, step)
            }
            _ => false,
        }
    }

    /// Handles an effect that could not be performed at all, which is a problem of codeteam itself.
    /// For a worker it is treated like a failure of the worker. Everything else is retried if the
    /// machine is to blame, and given up otherwise.
    pub(super) fn effect_failed(
        &mut self,
        id: &AttemptId,
        trouble: Option<FailureCause>,
        message: &str,
    ) {
        if self.handle_notice(id, &[]) {
            return;
        }
        let Some((_, work)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
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
                model: None,
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
            model: None,
            transcript: None,
            session: None,
        });
        let policy = retry::RetryPolicy::default();
        let is_published = work == SlotWork::Publish;
        if trouble == Some(FailureCause::Machine)
            && !is_published
            && id.attempt < policy.max_attempts
        {
            let next = id.next_attempt();
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
            return self.advance(&id.frame);
        }
        if work == SlotWork::MoveBranch {
            return self.abandon_rollback(id, message);
        }
        if matches!(work, SlotWork::Gate(_)) {
            // `on_fail` is for checks that ran; the step it leads to cannot repair this.
            return self.handle_exhaustion(&id.frame, &format!("checks could not run: {message}"));
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

/// Returns the last time that a person sent exactly this change back.
fn person_rejection<'a>(frame: &'a Frame, patch: &PatchId) -> Option<&'a Rejection> {
    let mut rejections = frame.judgements.rejections.iter().rev();
    let found = rejections.find(|r| r.by.is_some() && !r.edited && r.patch.as_ref() == Some(patch));
    found.map(AsRef::as_ref)
}
