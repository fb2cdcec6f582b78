//! What a person decides.

use std::collections::BTreeMap;

use super::Decider;
use crate::budget::BudgetLimits;
use crate::event::{EntryReason, Event, FrameOutcome};
use crate::frame::{Frame, FrameChange, FrameItem, FrameStage, Question, QuestionKind};
use crate::ids::{AttemptId, FramePath, StepId, TaskId, Tree};
use crate::input::Decision;
use crate::message::{self, CommitFacts};
use crate::plan::Plan;
use crate::role::RoleKind;
use crate::run::{Run, apply};
use crate::schedule::TaskStatus;
use crate::workflow::{Check, ExitTarget, PersonAnswer, StepKind};

impl Decider {
    pub(super) fn decided(&mut self, by: &str, decision: &Decision) {
        let refused = match decision {
            Decision::Answer {
                question,
                answer,
                note,
                change,
            } => self.answer(by, question, answer, note, change.as_deref()),
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
            } => self.retry(by, frame.as_ref(), note, (plan.as_deref(), checks)),
            Decision::Repin { checks } => self.repin(by, checks),
            Decision::Accept { frame, note } => self.accept_as_it_is(by, frame.as_ref(), note),
            Decision::Reassign { to, change } => self.reassign(by, *to, change.as_deref()),
            Decision::Skip { task } => self.skip(task),
            Decision::RaiseLimits { limits } => self.raise(*limits),
        };
        if let Some(why) = refused {
            self.emit(Event::DecisionRefused {
                by: by.to_owned(),
                why,
            });
        }
    }

    fn raise(&mut self, limits: BudgetLimits) -> Option<String> {
        let now = self.run.budget.limits;
        if now.replaced_by(limits) == now {
            return Some("those limits are in force already".to_owned());
        }
        self.emit(Event::LimitsRaised { limits });
        None
    }

    pub(super) fn answer(
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
            written = message::clean(answer);
            let frame = self.run.frames.get(&id.frame)?;
            let matter = CommitFacts::of(&self.run, frame);
            if let Err(wrong) = self.run.message.check(&matter, &written) {
                return Some(wrong);
            }
            written.as_str()
        } else {
            answer
        };
        let chosen = self.chosen(&question, answer);
        let resets = match question.kind {
            QuestionKind::Exhausted => answer == "continue",
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
        let over = if rejects || change.is_some() || question.kind != QuestionKind::Step {
            Vec::new()
        } else {
            self.overruled(&id.frame)
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
            // A person who says to go on has seen what the rounds found so far.
            ends_stagnation: question.kind == QuestionKind::Rebound && !resets,
            change: change.cloned().map(Box::new),
            over,
        });
        self.follow(&question, answer, chosen.map(|chosen| chosen.next));
        None
    }

    fn is_base(&self, frame: &FramePath, tree: &Tree) -> bool {
        let frame = self.run.frames.get(frame);
        frame.is_some_and(|frame| frame.base.tree == *tree)
    }

    /// The steps that are against a frame's change as it is.
    pub(super) fn overruled(&self, of: &FramePath) -> Vec<StepId> {
        let frame = self.run.frames.get(of);
        let Some(frame) = frame.or_else(|| self.run.failed.get(of)) else {
            return Vec::new();
        };
        let patch = frame.change.as_ref().map(|change| &change.patch);
        let against = frame.verdicts.iter().filter(|(_, verdict)| {
            !verdict.approved && verdict.patch.is_some() && verdict.patch.as_ref() == patch
        });
        against.map(|(step, _)| step.clone()).collect()
    }

    /// Where an answer leads, and what it does.
    fn chosen(&self, question: &Question, answer: &str) -> Option<PersonAnswer> {
        match &self.run.step(&question.id.step)?.kind {
            StepKind::Person { answers, .. }
                if matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound) =>
            {
                answers.iter().find(|a| a.name == answer).cloned()
            }
            _ => None,
        }
    }

    fn follow(&mut self, question: &Question, answer: &str, next: Option<ExitTarget>) {
        let frame = &question.id.frame;
        let here = ExitTarget::Step(question.id.step.clone());
        match (question.kind, answer) {
            (QuestionKind::Step | QuestionKind::Rebound, _) => {
                let next = next.unwrap_or(ExitTarget::Fail);
                if next == ExitTarget::Fail {
                    return self.fail_frame(frame, format!("a person answered `{answer}`"));
                }
                self.go(frame, &next, EntryReason::Answered);
            }
            (QuestionKind::Analyst, _) => {
                let asked = self.run.frames.get(frame).map_or(0, |f| f.question_rounds);
                if self.owes_a_plan(&question.id.step) {
                    return self.go(frame, &here, EntryReason::Answered);
                }
                let max = match self.run.step(&question.id.step).map(|s| &s.kind) {
                    Some(StepKind::Role(role)) => role.max_question_rounds,
                    _ => 1,
                };
                if asked < max {
                    self.go(frame, &here, EntryReason::Answered);
                } else {
                    self.next(frame);
                }
            }
            (QuestionKind::Exhausted, "continue") => {
                let again = self
                    .run
                    .frames
                    .get(frame)
                    .map_or(here, |frame| self.take_up_at(frame));
                self.go(frame, &again, EntryReason::Answered);
            }
            (QuestionKind::Exhausted, "skip") => self.end_frame(frame, FrameOutcome::Skipped),
            (QuestionKind::Degraded, "accept") => {
                let committing = self
                    .run
                    .step(&question.id.step)
                    .is_some_and(|step| matches!(step.kind, StepKind::Commit { .. }));
                let next = if committing { here } else { ExitTarget::Done };
                self.go(frame, &next, EntryReason::Answered);
            }
            (QuestionKind::Message, _) | (QuestionKind::Interrupted, "again") => {
                self.go(frame, &here, EntryReason::Answered);
            }
            (QuestionKind::Interrupted, "done") => self.next(frame),
            _ => self.fail_frame(frame, "a person gave it up"),
        }
    }

    /// Whether a step is a planner's: it is not left without a plan.
    pub(super) fn owes_a_plan(&self, step: &StepId) -> bool {
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

    /// Takes up what failed in a frame, with the frames above it that failed of that. What a person
    /// has changed of the plan and of the checks holds from then on.
    fn retry(
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
        let root_goes_on = self.root_is_elsewhere() && root_failed && which.is_root();
        let failed: Vec<(FramePath, FrameItem)> = self
            .run
            .failed
            .iter()
            .filter(|(path, _)| path.is_within(which) || which.is_within(path))
            .map(|(path, frame)| (path.clone(), frame.item.clone()))
            .collect();
        let named = failed.iter().any(|(path, _)| path.is_within(which));
        let at_root = which.is_root() && root_failed;
        if !named && !at_root {
            return Some("nothing there has failed".to_owned());
        }
        if let Some(why) = plan.and_then(|plan| self.unfit_to_revise(plan)) {
            return Some(why);
        }
        let (mut told, mut retried) = (Vec::new(), Vec::new());
        let ended = self.run.is_terminal();
        if ended {
            self.emit(Event::RunReopened { at: self.at });
        }
        let _none_differ = self.repin(by, checks);
        if let Some(plan) = plan {
            self.revise(plan);
        }
        // A task may have left the plan.
        let failed: Vec<(FramePath, FrameItem)> = failed
            .into_iter()
            .filter(|(path, _)| self.run.failed.get(path).is_some())
            .collect();
        // Frames above come first: what is below them is scheduled by them.
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
        if ended && self.root_is_elsewhere() {
            self.take_up_root(&retried);
        }
        self.tell(by, &told, note);
        None
    }

    /// Whether the run's own frame is at a step of its own and not at one that goes through tasks.
    pub(super) fn root_is_elsewhere(&self) -> bool {
        let root = self.run.frames.get(&FramePath::root());
        root.is_some_and(|f| f.children.is_none())
    }

    /// Whether the run's own frame has gone through the tasks and is at a later step.
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

    /// Leads the run's own frame back to where these frames are worked on, or to where it was.
    pub(super) fn take_up_root(&mut self, frames: &[FramePath]) {
        let root = FramePath::root();
        let Some(frame) = self.run.frames.get(&root) else {
            return;
        };
        let below = frames
            .iter()
            .filter_map(|path| self.run.failed.get(path))
            .find(|f| f.parent.as_ref() == Some(&root));
        let each = below
            .and_then(|f| self.run.step_of(f)?.scope.clone())
            .map(ExitTarget::Step);
        let target = each.unwrap_or_else(|| self.take_up_at(frame));
        self.go(&root, &target, EntryReason::Resumed);
    }

    /// Passes on what a person wants the next worker to know.
    fn tell(&mut self, by: &str, frames: &[FramePath], note: &str) {
        if note.trim().is_empty() {
            return;
        }
        // Lets reopened frames start, so that the note finds them.
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
        // A run that failed may come to a good end without the task. One that a person ended stays
        // ended, and one that is past its tasks has nothing to do over.
        let failed = matches!(self.run.outcome, Some(FrameOutcome::Failed(_)));
        if failed && !self.root_is_elsewhere() {
            self.emit(Event::RunReopened { at: self.at });
        }
        let parent = match &phase {
            Some(phase) if self.goes_by_phase() => FramePath::root().child(phase.as_str()),
            _ => FramePath::root(),
        };
        if let Some(phase) = phase
            && !self.run.is_terminal()
            && self.run.failed.get(&parent).is_some()
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
        match ended.or_else(|| self.unfit_to_revise(plan)) {
            None => self.revise(plan),
            Some(why) => self.emit(Event::DecisionRefused {
                by: by.to_owned(),
                why,
            }),
        }
    }

    /// Why a plan cannot take the place of the one there is.
    fn unfit_to_revise(&self, plan: &Plan) -> Option<String> {
        let mut wrong = self.unfit(plan);
        if self.is_past_its_tasks() {
            wrong.push("the run is past its tasks".to_owned());
        }
        let why = format!("the plan cannot be changed like that: {}", wrong.join("; "));
        (!wrong.is_empty()).then_some(why)
    }

    /// Puts a plan in the place of the one there is. Gates judge by the files of tasks, so what they
    /// said of a change whose task has other files now must be said again.
    fn revise(&mut self, plan: &Plan) {
        if self.run.plan.as_deref() == Some(plan) {
            return;
        }
        let mut after = self.run.clone();
        let plan = Box::new(plan.clone());
        let rejudged = Vec::new();
        let event = Event::PlanRevised { plan, rejudged };
        apply(&mut after, &event);
        let forbids = |run: &Run| run.plan.as_ref().map(|plan| plan.forbidden.clone());
        let is_stricter = forbids(&after) != forbids(&self.run);
        let differs = |frame: &Frame| {
            is_stricter
                || after.planned_files(frame) != self.run.planned_files(frame)
                || after.files_held_by_others(frame) != self.run.files_held_by_others(frame)
        };
        let frames = self.run.frames.values().chain(self.run.failed.values());
        let rejudged: Vec<FramePath> = frames
            .filter(|frame| frame.verdicts.values().any(|v| v.by_checks) && differs(frame))
            .map(|frame| frame.path.clone())
            .collect();
        if let Event::PlanRevised { plan, .. } = event {
            self.emit(Event::PlanRevised { plan, rejudged });
        }
    }

    /// Has gates check other things, where that makes a difference.
    fn repin(&mut self, by: &str, checks: &BTreeMap<StepId, Vec<Check>>) -> Option<String> {
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
