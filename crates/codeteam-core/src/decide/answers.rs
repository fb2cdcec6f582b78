//! Handles the decisions of people: answers, retries, skipped tasks, revised plans, raised limits.
//!
//! A decision that cannot be followed changes nothing and is recorded as [`Event::DecisionRefused`]
//! with the reason. Most handlers return that reason, or `None` if the decision was followed.

use std::collections::BTreeMap;

use super::Decider;
use crate::budget::BudgetLimits;
use crate::event::{EntryReason, Event};
use crate::frame::FrameOutcome;
use crate::frame::{Frame, FrameChange, FrameItem, FrameStage, JudgedStep, Question, QuestionKind};
use crate::ids::{AttemptId, FramePath, StepId, TaskId, Tree};
use crate::input::Decision;
use crate::message::{self, CommitFacts};
use crate::plan::Plan;
use crate::reply::{AnswerMeaning, Reply};
use crate::role::RoleKind;
use crate::run::{Run, apply};
use crate::schedule::TaskStatus;
use crate::workflow::{Check, ExitTarget, PersonAnswer, StepKind};

impl Decider {
    pub(super) fn handle_decision(&mut self, by: &str, decision: &Decision) {
        let refused = match decision {
            Decision::Answer {
                question,
                answer,
                note,
                change,
            } => self.handle_answer(by, question, answer, note, change.as_deref()),
            Decision::Delegate { question, to, note } => self.delegate_vote(by, question, to, note),
            Decision::Revise { plan } => {
                self.plan_edited(by, plan);
                None
            }
            Decision::Abort { reason } => self.abort(reason),
            Decision::Retry {
                frame,
                note,
                plan,
                checks,
            } => self.retry_frames(by, frame.as_ref(), note, (plan.as_deref(), checks)),
            Decision::RepinWorkflow { pinned } => self.repin_workflow(by, pinned),
            Decision::Repin { checks } => self.repin_checks(by, checks),
            Decision::Accept { frame, note } => self.accept_change(by, frame.as_ref(), note),
            Decision::Reassign { to, change } => self.reassign_operator(by, *to, change.as_deref()),
            Decision::Skip { task } => self.skip(task),
            Decision::Rollback {
                to,
                expected,
                reason,
            } => self.roll_back(by, to, expected.as_ref(), reason),
            Decision::RaiseLimits { limits } => self.raise_limits(*limits),
        };
        if let Some(why) = refused {
            self.emit(Event::DecisionRefused {
                by: by.to_owned(),
                why,
            });
        }
    }

    fn raise_limits(&mut self, limits: BudgetLimits) -> Option<String> {
        let now = self.run.budget.limits;
        if now.overridden_by(limits) == now {
            return Some("those limits are in force already".to_owned());
        }
        self.emit(Event::LimitsRaised { limits });
        None
    }

    pub(super) fn handle_answer(
        &mut self,
        by: &str,
        id: &AttemptId,
        answer: &str,
        note: &str,
        change: Option<&(Tree, FrameChange)>,
    ) -> Option<String> {
        let asked = self.run.frames.get(&id.frame).and_then(|f| match &f.stage {
            FrameStage::Asking(question) if question.id == *id => Some(Question::clone(question)),
            _ => None,
        });
        let Some(question) = asked else {
            return Some("that question is no longer open".to_owned());
        };
        if !question.answers.is_empty() && !question.answers.iter().any(|a| a == answer) {
            let known: Vec<String> = question.answers.iter().map(|a| format!("`{a}`")).collect();
            return Some(format!(
                "`{answer}` is not an answer to it; {} are",
                known.join(", ")
            ));
        }
        if question.answers.is_empty() && answer.trim().is_empty() {
            return Some("an answer must not be empty".to_owned());
        }
        let written;
        let answer = if question.kind == QuestionKind::Message {
            written = message::clean_message(answer);
            let frame = self.run.frames.get(&id.frame)?;
            let matter = CommitFacts::for_frame(&self.run, frame);
            if let Err(wrong) = self.run.message_format.check(&matter, &written) {
                return Some(wrong);
            }
            written.as_str()
        } else {
            answer
        };
        if question.kind == QuestionKind::Approval {
            if change.is_some() {
                return Some("an approval does not come with a change".to_owned());
            }
            return self.vote(by, &question, answer, note);
        }
        let chosen = self.find_answer(&question, answer);
        let meaning = AnswerMeaning::from_answer(answer);
        let reply = meaning.reply;
        let resets = match question.kind {
            QuestionKind::Exhausted => reply == Some(Reply::Continue),
            _ => chosen.as_ref().is_some_and(|chosen| chosen.resets),
        };
        let edits = chosen.as_ref().is_some_and(|chosen| chosen.edits);
        match change {
            Some(_) if !edits => {
                return Some(format!("`{answer}` does not come with a change"));
            }
            None if edits => {
                return Some(format!("`{answer}` comes with the change that was made"));
            }
            Some((tree, _)) if self.is_base(&id.frame, tree) => {
                return Some("nothing is left of the change".to_owned());
            }
            _ => {}
        }
        let rejects = chosen.as_ref().is_some_and(|chosen| chosen.rejects);
        let over = match question.kind {
            QuestionKind::Step if !rejects && change.is_none() => self.rejecting_steps(&id.frame),
            QuestionKind::Exhausted if reply == Some(Reply::Accept) => {
                self.steps_to_overrule(&id.frame)
            }
            _ => Vec::new(),
        };
        self.emit(Event::Answered {
            frame: id.frame.clone(),
            question: id.clone(),
            answer: answer.to_owned(),
            note: note.to_owned(),
            by: by.to_owned(),
            resets,
            rejects,
            reverts: chosen.as_ref().is_some_and(|chosen| chosen.reverts),
            // A person who says to continue has seen what the rounds found so far.
            ends_stagnation: question.kind == QuestionKind::Rebound && !resets,
            change: change.cloned().map(Box::new),
            over,
            meaning: Some(meaning),
            identity: self.identity.clone(),
        });
        self.follow_answer(&question, (answer, reply), chosen.map(|chosen| chosen.next));
        None
    }

    fn is_base(&self, frame: &FramePath, tree: &Tree) -> bool {
        let frame = self.run.frames.get(frame);
        frame.is_some_and(|frame| frame.base.tree == *tree)
    }

    /// Returns the steps that reject a frame's current change.
    pub(super) fn rejecting_steps(&self, of: &FramePath) -> Vec<StepId> {
        let frame = self.run.frames.get(of);
        let Some(frame) = frame.or_else(|| self.run.failed_frames.get(of)) else {
            return Vec::new();
        };
        let against = frame.judged_steps().filter(JudgedStep::is_against);
        against.map(|judged| judged.step.clone()).collect()
    }

    /// Returns the steps that a person overrules who accepts a frame's current change: those that
    /// reject it, and the one that should have judged it and gave no verdict.
    pub(super) fn steps_to_overrule(&self, of: &FramePath) -> Vec<StepId> {
        let mut over = self.rejecting_steps(of);
        let frame = self.run.frames.get(of);
        let frame = frame.or_else(|| self.run.failed_frames.get(of));
        let unjudged = frame.and_then(|frame| self.run.unjudged_step(frame));
        if let Some(step) = unjudged.filter(|step| !over.contains(step)) {
            over.push(step.clone());
        }
        over
    }

    /// Returns the definition of an answer: where it leads, and what it does.
    fn find_answer(&self, question: &Question, answer: &str) -> Option<PersonAnswer> {
        match &self.run.step(&question.id.step)?.kind {
            StepKind::Person { answers, .. }
                if matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound) =>
            {
                answers.iter().find(|a| a.name == answer).cloned()
            }
            _ => None,
        }
    }

    fn follow_answer(
        &mut self,
        question: &Question,
        (answer, reply): (&str, Option<Reply>),
        next: Option<ExitTarget>,
    ) {
        let frame = &question.id.frame;
        let here = ExitTarget::Step(question.id.step.clone());
        match (question.kind, reply) {
            (QuestionKind::Step | QuestionKind::Rebound, _) => {
                let next = next.unwrap_or(ExitTarget::Fail);
                if next == ExitTarget::Fail {
                    return self.fail_frame(frame, format!("a person answered `{answer}`"));
                }
                self.transition(frame, &next, EntryReason::Answered);
            }
            (QuestionKind::Analyst, _) => {
                let asked = self
                    .run
                    .frames
                    .get(frame)
                    .map_or(0, |f| f.answers.question_rounds);
                if self.owes_plan(&question.id.step) {
                    return self.transition(frame, &here, EntryReason::Answered);
                }
                let max = match self.run.step(&question.id.step).map(|s| &s.kind) {
                    Some(StepKind::Role(role)) => role.max_question_rounds,
                    _ => 1,
                };
                if asked < max {
                    self.transition(frame, &here, EntryReason::Answered);
                } else {
                    self.advance(frame);
                }
            }
            (QuestionKind::Exhausted, Some(Reply::Continue)) => {
                let again = self
                    .run
                    .frames
                    .get(frame)
                    .map_or(here, |frame| self.resume_target(frame));
                self.transition(frame, &again, EntryReason::Answered);
            }
            (QuestionKind::Exhausted, Some(Reply::Accept)) => {
                let accepted = self.run.frames.get(frame);
                match accepted.and_then(|frame| self.target_after_acceptance(frame)) {
                    Some(next) => self.transition(frame, &next, EntryReason::Answered),
                    None => self.advance(frame),
                }
            }
            (QuestionKind::Exhausted, Some(Reply::Skip)) => {
                self.end_frame(frame, FrameOutcome::Skipped);
            }
            (QuestionKind::Degraded, Some(Reply::Accept)) => {
                let committing = self
                    .run
                    .step(&question.id.step)
                    .is_some_and(|step| matches!(step.kind, StepKind::Commit { .. }));
                let next = if committing { here } else { ExitTarget::Done };
                self.transition(frame, &next, EntryReason::Answered);
            }
            (QuestionKind::Message, _) | (QuestionKind::Interrupted, Some(Reply::Again)) => {
                self.transition(frame, &here, EntryReason::Answered);
            }
            (QuestionKind::Interrupted, Some(Reply::Done)) => self.advance(frame),
            _ => self.fail_frame(frame, "a person gave it up"),
        }
    }

    /// Returns true if a step belongs to a planner: it is not left without a plan.
    pub(super) fn owes_plan(&self, step: &StepId) -> bool {
        let Some(StepKind::Role(role)) = self.run.step(step).map(|s| &s.kind) else {
            return false;
        };
        let mut roles = role
            .slots
            .iter()
            .filter_map(|name| self.run.roles.get(name));
        roles.any(|role| role.kind == RoleKind::Planner)
    }

    fn abort(&mut self, reason: &str) -> Option<String> {
        if self.run.is_terminal() {
            return Some("the run has ended already".to_owned());
        }
        let reason = if reason.trim().is_empty() {
            "a person ended it"
        } else {
            reason
        };
        self.end_frame(&FramePath::root(), FrameOutcome::Aborted(reason.to_owned()));
        None
    }

    /// Resumes what failed in a frame, together with the frames above it that failed as a
    /// consequence. The person's changes to the plan and the checks apply from then on.
    fn retry_frames(
        &mut self,
        by: &str,
        which: Option<&FramePath>,
        note: &str,
        (plan, checks): (Option<&Plan>, &BTreeMap<StepId, Vec<Check>>),
    ) -> Option<String> {
        let root = FramePath::root();
        let which = which.unwrap_or(&root);
        let root_failed = matches!(
            self.run.outcome,
            Some(FrameOutcome::Failed(_) | FrameOutcome::Aborted(_) | FrameOutcome::Cancelled)
        );
        let root_goes_on = self.root_is_outside_tasks() && root_failed && which.is_root();
        let failed: Vec<(FramePath, FrameItem)> = self
            .run
            .failed_frames
            .iter()
            .filter(|(path, _)| path.is_within(which) || which.is_within(path))
            .map(|(path, frame)| (path.clone(), frame.item.clone()))
            .collect();
        let named = failed.iter().any(|(path, _)| path.is_within(which));
        let at_root = which.is_root() && root_failed;
        if !named && !at_root {
            return Some("nothing there has failed".to_owned());
        }
        if let Some(why) = plan.and_then(|plan| self.revision_problem(plan)) {
            return Some(why);
        }
        let (mut told, mut retried) = (Vec::new(), Vec::new());
        let ended = self.run.is_terminal();
        if ended {
            self.emit(Event::RunReopened { at: self.at });
        }
        let _none_differ = self.repin_checks(by, checks);
        if let Some(plan) = plan {
            self.revise_plan(plan);
        }
        // A task may have been removed from the plan.
        let failed: Vec<(FramePath, FrameItem)> = failed
            .into_iter()
            .filter(|(path, _)| self.run.failed_frames.get(path).is_some())
            .collect();
        // Parents come first: they schedule the frames below them.
        for (frame, item) in failed.into_iter().filter(|_| !root_goes_on) {
            let task = match item {
                FrameItem::Task(task) => task,
                FrameItem::Phase(phase) => TaskId(phase.0),
                FrameItem::Run => continue,
            };
            if frame.is_within(which) {
                told.push(frame.clone());
            }
            retried.push(frame.clone());
            self.emit(Event::TaskChanged {
                frame,
                task,
                status: TaskStatus::Pending,
            });
        }
        if ended && self.root_is_outside_tasks() {
            self.resume_root(&retried);
        }
        self.pass_on_note(by, &told, note);
        None
    }

    /// Returns true if the root frame is at a step of its own and not at one that goes through
    /// tasks.
    pub(super) fn root_is_outside_tasks(&self) -> bool {
        let root = self.run.frames.get(&FramePath::root());
        root.is_some_and(|f| f.children.is_none())
    }

    /// Returns true if the root frame has gone through the tasks and is at a later step.
    fn is_past_its_tasks(&self) -> bool {
        let root = self.run.frames.get(&FramePath::root());
        root.is_some_and(|f| {
            let goes_through = |step| {
                let kind = self.run.step(step).map(|s| &s.kind);
                matches!(kind, Some(StepKind::Each { .. }))
            };
            f.children.is_none() && f.visits.keys().any(goes_through)
        })
    }

    /// Moves the root frame back to the step that works on these frames, or else to where it was.
    pub(super) fn resume_root(&mut self, frames: &[FramePath]) {
        let root = FramePath::root();
        let Some(frame) = self.run.frames.get(&root) else {
            return;
        };
        let below = frames
            .iter()
            .filter_map(|path| self.run.failed_frames.get(path))
            .find(|f| f.parent.as_ref() == Some(&root));
        let each = below
            .and_then(|f| self.run.frame_step(f)?.scope.clone())
            .map(ExitTarget::Step);
        let target = each.unwrap_or_else(|| self.resume_target(frame));
        self.transition(&root, &target, EntryReason::Resumed);
    }

    /// Passes a person's note on to the next worker.
    fn pass_on_note(&mut self, by: &str, frames: &[FramePath], note: &str) {
        if note.trim().is_empty() {
            return;
        }
        // Let reopened frames start first, so that the note reaches them.
        self.settle();
        let root = FramePath::root();
        let frames = if frames.is_empty() {
            std::slice::from_ref(&root)
        } else {
            frames
        };
        for path in frames {
            if let Some(frame) = self.run.frames.get(path) {
                let (frame, step) = (frame.path.clone(), frame.step.clone());
                self.emit(Event::NoteGiven {
                    frame,
                    from: step,
                    by: by.to_owned(),
                    text: note.to_owned(),
                });
            }
        }
    }

    fn skip(&mut self, task: &TaskId) -> Option<String> {
        let Some(phase) = self.run.task(task).map(|t| t.phase.clone()) else {
            return Some(format!("there is no task `{task}`"));
        };
        let status = self.run.task_status(task);
        if status.satisfies() {
            return Some(format!("task `{task}` is {} already", status.as_str()));
        }
        let active = self
            .run
            .frames
            .values()
            .find(|f| f.item == FrameItem::Task(task.clone()))
            .map(|f| f.path.clone());
        if let Some(path) = active {
            self.end_frame(&path, FrameOutcome::Skipped);
            return None;
        }
        // A failed run can still succeed without the task. A run that a person ended stays ended,
        // and one that is past its tasks has nothing to repeat.
        let failed = matches!(self.run.outcome, Some(FrameOutcome::Failed(_)));
        if failed && !self.root_is_outside_tasks() {
            self.emit(Event::RunReopened { at: self.at });
        }
        let parent = match &phase {
            Some(phase) if self.runs_by_phase() => FramePath::root().child(phase.as_str()),
            _ => FramePath::root(),
        };
        if let Some(phase) = phase
            && !self.run.is_terminal()
            && self.run.failed_frames.get(&parent).is_some()
        {
            self.emit(Event::TaskChanged {
                frame: parent.clone(),
                task: TaskId(phase.0),
                status: TaskStatus::Pending,
            });
        }
        self.emit(Event::TaskChanged {
            frame: parent.child(task.as_str()),
            task: task.clone(),
            status: TaskStatus::Skipped,
        });
        None
    }

    pub(super) fn plan_edited(&mut self, by: &str, plan: &Plan) {
        let ended = self.run.is_terminal().then(|| {
            "the plan cannot be changed like that: the run has ended; `codeteam retry` takes it up \
             with the plan as it is now"
                .to_owned()
        });
        match ended.or_else(|| self.revision_problem(plan)) {
            None => self.revise_plan(plan),
            Some(why) => self.emit(Event::DecisionRefused {
                by: by.to_owned(),
                why,
            }),
        }
    }

    /// Returns why a plan cannot replace the current one.
    fn revision_problem(&self, plan: &Plan) -> Option<String> {
        let mut wrong = self.plan_problems(plan);
        if self.is_past_its_tasks() {
            wrong.push("the run is past its tasks".to_owned());
        }
        wrong.extend(self.locked_interface_conflict(plan));
        let why = format!("the plan cannot be changed like that: {}", wrong.join("; "));
        (!wrong.is_empty()).then_some(why)
    }

    /// Replaces the plan. Gates take the files of tasks into account, so their verdicts on a change
    /// whose task has other files now must be given again.
    fn revise_plan(&mut self, plan: &Plan) {
        if self.run.plan.as_deref() == Some(plan) {
            return;
        }
        let plan = Box::new(plan.clone());
        let rejudged = self.frames_to_judge_again(&plan);
        self.emit(Event::PlanRevised { plan, rejudged });
    }

    /// Returns the frames whose changes gates must judge again if the plan becomes this one.
    pub(super) fn frames_to_judge_again(&self, plan: &Plan) -> Vec<FramePath> {
        let mut after = self.run.clone();
        let event = Event::PlanRevised {
            plan: Box::new(plan.clone()),
            rejudged: Vec::new(),
        };
        apply(&mut after, &event);
        let forbids = |run: &Run| run.plan.as_ref().map(|plan| plan.forbidden.clone());
        let is_stricter = forbids(&after) != forbids(&self.run);
        let differs = |frame: &Frame| {
            is_stricter
                || after.planned_files(frame) != self.run.planned_files(frame)
                || after.files_held_by_others(frame) != self.run.files_held_by_others(frame)
        };
        let frames = self
            .run
            .frames
            .values()
            .chain(self.run.failed_frames.values());
        frames
            .filter(|frame| frame.verdicts.values().any(|v| v.by_checks) && differs(frame))
            .map(|frame| frame.path.clone())
            .collect()
    }

    /// Replaces the checks of gates, for those that differ.
    fn repin_checks(&mut self, by: &str, checks: &BTreeMap<StepId, Vec<Check>>) -> Option<String> {
        let differs = |(step, now): &(&StepId, &Vec<Check>)| {
            let kind = self.run.step(step).map(|step| &step.kind);
            matches!(kind, Some(StepKind::Gate { checks }) if checks != *now)
        };
        let checks: BTreeMap<StepId, Vec<Check>> = checks
            .iter()
            .filter(differs)
            .map(|(step, now)| (step.clone(), now.clone()))
            .collect();
        if checks.is_empty() {
            return Some("those checks are in force already".to_owned());
        }
        let by = by.to_owned();
        self.emit(Event::ChecksRepinned { by, checks });
        None
    }
}
