//! Moves frames through the workflow graph: enters and skips steps, asks people, ends frames.

use codeteam_patterns::FilePatterns;

use super::Decider;
use super::interface_requests::writes_nothing;
use crate::assembly::unassigned_tasks;
use crate::contribution::{DIGEST_FROM_CHARS, total_chars};
use crate::depth;
use crate::event::{EntryReason, Event};
use crate::frame::FrameOutcome;
use crate::frame::{DemandLevel, Frame, Question, QuestionKind};
use crate::ids::{AttemptId, FramePath, StepId};
use crate::message::MessageFormat;
use crate::reply::Reply;
use crate::run::Run;
use crate::team::TaskQuality;
use crate::untrusted_text::spell_out_lines;
use crate::work_log;
use crate::workflow::{
    ChangeSize, EachItem, ExhaustionPolicy, ExitTarget, GoalBreadth, LogLength, MessageRule,
    PersonAnswer, PlanPresence, ScoreLevel, StepCondition, StepKind, TaskDetail,
};

impl Decider {
    /// Moves a frame to a target, skipping steps whose condition does not hold.
    pub(super) fn transition(&mut self, frame: &FramePath, target: &ExitTarget, why: EntryReason) {
        let mut target = target.clone();
        if let Some(step) = self.outdated_request(frame) {
            return self.enter_step(frame, &step, EntryReason::Stale, None);
        }
        loop {
            if why == EntryReason::Next
                && let Some((step, roles)) = self.next_turn(frame, &target)
            {
                return self.enter_turn(frame, &step, why, roles);
            }
            let step = match target {
                ExitTarget::Done if self.needs_level_acceptance(frame) => {
                    return self.ask_degraded(frame);
                }
                ExitTarget::Done => match self.pending_delivery_step(frame) {
                    Some(step) => return self.enter_step(frame, &step, why, None),
                    None => return self.end_frame(frame, FrameOutcome::Completed),
                },
                ExitTarget::Fail => return self.fail_frame(frame, "the workflow says so"),
                ExitTarget::Step(step) => step,
            };
            let Some(state) = self.run.frames.get(frame) else {
                return;
            };
            if self
                .run
                .workflow
                .max_steps
                .is_some_and(|max| state.counts.steps_entered >= max)
            {
                let why = format!(
                    "{} steps were entered without an end",
                    state.counts.steps_entered
                );
                return self.handle_exhaustion(frame, &why);
            }
            let Some(definition) = self.run.step(&step) else {
                return self.fail_frame(frame, format!("there is no step `{step}`"));
            };
            let holds = definition
                .when
                .as_ref()
                .is_none_or(|c| condition_holds(&self.run, state, c))
                && !writes_nothing(state, definition);
            let unscored = self.unwanted_quality_check(state, definition);
            if holds && unscored.is_none() {
                return self.enter_step(frame, &step, why, None);
            }
            target = definition.next.clone();
            let decided = self.continue_by_score(state, definition);
            let when = definition.when.as_ref();
            let because = when.map(|c| facts_against(&self.run, state, c));
            let because = unscored.or(because);
            if let Some(decided) = decided {
                self.emit(decided);
            }
            self.emit(Event::StepSkipped {
                frame: frame.clone(),
                step,
                because: because.unwrap_or_default(),
            });
        }
    }

    /// Returns true if a step's condition holds in a frame.
    pub(super) fn is_step_wanted(&self, frame: &Frame, step: &StepId) -> bool {
        let when = self.run.step(step).and_then(|step| step.when.as_ref());
        when.is_none_or(|condition| condition_holds(&self.run, frame, condition))
    }

    pub(super) fn enter_step(
        &mut self,
        frame: &FramePath,
        step: &StepId,
        why: EntryReason,
        told: Option<String>,
    ) {
        self.plan_small_goal(frame, step);
        let Some(state) = self.run.frames.get(frame) else {
            return;
        };
        let generation = state.next_generation(step);
        let (slots, because) = match self.run.step(step).map(|s| &s.kind) {
            Some(StepKind::Role(role)) => depth::choose_slots(&self.run, state, step, role),
            _ => (Vec::new(), String::new()),
        };
        let roles = self.turns_at(state, step);
        self.emit(Event::StepEntered {
            frame: frame.clone(),
            step: step.clone(),
            generation,
            why,
            slots,
            because,
            roles,
        });
        let kind = self.run.step(step).map(|s| s.kind.clone());
        match kind {
            Some(StepKind::Person {
                question, answers, ..
            }) => {
                let mut points: Vec<String> = told.into_iter().collect();
                points.extend(self.request_points(frame));
                points.extend(self.publish_commands(&answers));
                let names = answers.into_iter().map(|a| a.name).collect();
                let kind = if why == EntryReason::Rebound {
                    QuestionKind::Rebound
                } else {
                    QuestionKind::Step
                };
                self.ask(frame, kind, question, points, names);
            }
            Some(StepKind::Each { over, .. }) => {
                let missing = match &self.run.plan {
                    None => Some("there is no plan to go through".to_owned()),
                    Some(plan) if over == EachItem::Phase => plan.phase_order_problem(),
                    Some(_) => None,
                };
                if let Some(why) = missing {
                    self.fail_frame(frame, why);
                }
            }
            _ => {}
        }
    }

    /// Makes the goal itself the plan, with one task, where tasks are to be gone through and the
    /// planner was left out because the goal is about one place.
    fn plan_small_goal(&mut self, frame: &FramePath, step: &StepId) {
        let over_tasks = |kind: &StepKind| {
            matches!(
                kind,
                StepKind::Each {
                    over: EachItem::Task,
                    ..
                }
            )
        };
        let is_due =
            self.run.plan.is_none() && self.run.step(step).is_some_and(|s| over_tasks(&s.kind));
        let Some(state) = self.run.frames.get(frame).filter(|_| is_due) else {
            return;
        };
        let mut steps = self.run.workflow.steps.keys();
        if steps.any(|step| self.owes_plan(step) && !self.is_step_wanted(state, step))
            && let Some(plan) = depth::plan_of_goal(&self.run, self.plan_id())
        {
            self.emit(Event::PlanProposed {
                plan: Box::new(plan),
            });
        }
    }

    /// Returns the delivery step if the root frame has commits that have not been delivered; it
    /// goes there before it is done.
    fn pending_delivery_step(&self, frame: &FramePath) -> Option<StepId> {
        let has_commits = self.run.tip.commit != self.run.base.commit;
        let is_due = frame.is_root() && has_commits && self.run.delivery_outcome.is_none();
        let step = self.run.workflow.delivery_step().filter(|_| is_due)?;
        Some(step.id.clone())
    }

    /// Lists the commands that the answers would run on the person's own machine, with all their
    /// rights. The workflow writes the question and could say anything in it; this shows the actual
    /// commands.
    fn publish_commands(&self, answers: &[PersonAnswer]) -> Vec<String> {
        let command = |answer: &PersonAnswer| match &answer.next {
            ExitTarget::Step(step) => match &self.run.step(step)?.kind {
                StepKind::Publish { command } => Some(command.clone()),
                _ => None,
            },
            ExitTarget::Done | ExitTarget::Fail => None,
        };
        let told = answers.iter().filter_map(|answer| {
            let command = command(answer)?;
            let name = &answer.name;
            // A line break must not make a second command look like part of a comment.
            Some(format!(
                "`{name}` runs this on your machine, outside the sandbox: {}",
                spell_out_lines(&command)
            ))
        });
        told.collect()
    }

    /// Asks a person and stops the frame until they answer.
    pub(super) fn ask(
        &mut self,
        frame: &FramePath,
        kind: QuestionKind,
        text: String,
        points: Vec<String>,
        answers: Vec<String>,
    ) {
        let Some(state) = self.run.frames.get(frame) else {
            return;
        };
        let id = AttemptId {
            frame: frame.clone(),
            step: state.step.clone(),
            generation: state.generation,
            slot: 0,
            attempt: 1,
            fence: self.run.fence + 1,
        };
        let question = Box::new(Question {
            id,
            kind,
            text,
            points,
            answers,
            asked_at: Some(self.at),
        });
        self.emit(Event::Asked {
            frame: frame.clone(),
            question,
        });
    }

    /// Returns true if less was done in a frame than was asked for, and nobody has accepted that.
    pub(super) fn needs_level_acceptance(&self, frame: &FramePath) -> bool {
        let frame = self.run.frames.get(frame);
        frame.is_some_and(|f| f.demand.level != DemandLevel::Primary && !f.demand.accepted)
    }

    pub(super) fn ask_degraded(&mut self, frame: &FramePath) {
        let text = "Less was done than was asked for. Accept it as it is?".to_owned();
        let answers = Reply::words(&[Reply::Accept, Reply::Fail]);
        self.ask(frame, QuestionKind::Degraded, text, Vec::new(), answers);
    }

    /// Asks a person for a commit message: nobody has written one in the required form, and
    /// codeteam cannot make one.
    pub(super) fn ask_message(&mut self, frame: &FramePath) {
        let text = format!(
            "No message that was written for this commit has the form `{}`. Write one.",
            self.run.message_format
        );
        self.ask(frame, QuestionKind::Message, text, Vec::new(), Vec::new());
    }

    pub(super) fn ask_interrupted(&mut self, frame: &FramePath) {
        let text = "codeteam ended while it was publishing. Look whether that happened: is it \
                    done, should it be done again, or does it fail?";
        let answers = Reply::words(&[Reply::Done, Reply::Again, Reply::Fail]);
        self.ask(
            frame,
            QuestionKind::Interrupted,
            text.to_owned(),
            Vec::new(),
            answers,
        );
    }

    /// Handles a frame that has used up its rounds, steps, attempts or budget: a person decides, or
    /// the frame fails.
    pub(super) fn handle_exhaustion(&mut self, frame: &FramePath, why: &str) {
        // The reason may be a sentence that somebody wrote.
        let why = why.trim_end().trim_end_matches('.');
        if let Some(judge) = self.exhaustion_judge(frame) {
            let told = format!("This does not get anywhere: {why}.");
            return self.enter_step(frame, &judge, EntryReason::Failed, Some(told));
        }
        let policy = match self.run.frames.get(frame) {
            // Whoever has talked with a planner can be asked, whatever the policy for tasks is.
            Some(f) if !f.outputs.answers.is_empty() && self.owes_plan(&f.step) => {
                ExhaustionPolicy::Ask
            }
            _ => self.run.workflow.on_exhausted,
        };
        match policy {
            ExhaustionPolicy::Fail => self.fail_frame(frame, why),
            ExhaustionPolicy::Ask => {
                let text = format!("This does not get anywhere: {why}. Go on, or give it up?");
                let answers = self.exhausted_replies(frame);
                self.ask(frame, QuestionKind::Exhausted, text, Vec::new(), answers);
            }
        }
    }

    /// Returns the answers to the question what becomes of a frame that does not get anywhere. If
    /// only a verdict is missing, the change may be accepted without it.
    pub(super) fn exhausted_replies(&self, path: &FramePath) -> Vec<String> {
        let frame = self.run.frames.get(path);
        let is_led = |frame: &Frame| {
            let step = self.run.frame_step(frame);
            frame.team.failure.is_none() && step.is_some_and(|step| self.is_leader_step(step))
        };
        let may_accept = frame.is_some_and(|frame| {
            let has_change = frame.change.is_some() && frame.tree != frame.base.tree;
            has_change && (self.run.unjudged_step(frame).is_some() || is_led(frame))
        });
        let offered = [
            (Reply::Continue, true),
            (Reply::Accept, may_accept),
            (Reply::Skip, !path.is_root()),
            (Reply::Fail, true),
        ];
        let offered = offered.into_iter().filter(|(_, is_offered)| *is_offered);
        let replies: Vec<Reply> = offered.map(|(reply, _)| reply).collect();
        Reply::words(&replies)
    }

    /// Returns the step at which a person judges exhausted work, if the frame has a change to
    /// judge.
    pub(super) fn exhaustion_judge(&self, path: &FramePath) -> Option<StepId> {
        let frame = self.run.frames.get(path)?;
        frame.change.as_ref()?;
        let scope = &self.run.step(&frame.step)?.scope;
        let steps = self.run.workflow.steps.values();
        let mut judges = steps.filter(|step| {
            matches!(
                step.kind,
                StepKind::Person {
                    exhausted: true,
                    ..
                }
            ) && step.scope == *scope
                && step
                    .when
                    .as_ref()
                    .is_none_or(|c| condition_holds(&self.run, frame, c))
        });
        judges.next().map(|step| step.id.clone())
    }

    /// Ends a frame and all frames below it; if it is the root frame, the run ends with it.
    pub(super) fn end_frame(&mut self, frame: &FramePath, outcome: FrameOutcome) {
        let below: Vec<FramePath> = self
            .run
            .frames
            .keys()
            .filter(|path| *path != frame && path.is_within(frame))
            .cloned()
            .collect();
        for path in below.into_iter().rev() {
            self.emit(Event::FrameEnded {
                frame: path,
                outcome: FrameOutcome::Cancelled,
            });
        }
        self.emit(Event::FrameEnded {
            frame: frame.clone(),
            outcome: outcome.clone(),
        });
        if frame.is_root() {
            self.emit(Event::RunEnded {
                at: self.at,
                outcome,
            });
        }
    }
}

/// Returns true if a condition holds in a frame.
fn condition_holds(run: &Run, frame: &Frame, condition: &StepCondition) -> bool {
    match condition {
        StepCondition::Plan(PlanPresence::Present) => run.plan.is_some(),
        StepCondition::Plan(PlanPresence::Missing) => run.plan.is_none(),
        StepCondition::Plan(PlanPresence::Given) => run.plan_given,
        StepCondition::Plan(PlanPresence::Unassigned) => !unassigned_tasks(run).is_empty(),
        StepCondition::Setting(name) => run.workflow.settings.get(name).copied().unwrap_or(false),
        StepCondition::Changed(patterns) => frame.change.as_ref().is_some_and(|change| {
            let patterns = FilePatterns::remembered(patterns);
            change.files.iter().any(|file| patterns.matches(file))
        }),
        StepCondition::Committed(wanted) => (run.tip.commit != run.base.commit) == *wanted,
        StepCondition::Log(LogLength::Long) => frame.work_log.tokens() >= log_threshold(run),
        StepCondition::Result(LogLength::Long) => needs_digest(run, frame),
        StepCondition::Score(ScoreLevel::Enough) => has_passing_score(frame),
        StepCondition::Change(ChangeSize::Small) => depth::assess_change(run, frame).is_ok(),
        StepCondition::Task(TaskDetail::Vague) => {
            depth::assess_task(run.frame_task(frame)).is_err()
        }
        StepCondition::Goal(GoalBreadth::Broad) => depth::assess_goal(run).is_err(),
        StepCondition::Message(MessageRule::Formatted) => {
            *run.message_format != MessageFormat::Free
        }
        StepCondition::Assigned(roles) => {
            let turn = frame.team.turns.first();
            turn.is_some_and(|role| roles.contains(role))
        }
        StepCondition::Answered(answers) => answers
            .iter()
            .all(|(step, answer)| frame.answers.by_step.get(step) == Some(answer)),
        StepCondition::Not(inner) => !condition_holds(run, frame, inner),
        StepCondition::All(all) => all.iter().all(|c| condition_holds(run, frame, c)),
        StepCondition::Any(any) => any.iter().any(|c| condition_holds(run, frame, c)),
    }
}

/// Returns true if a frame's result has a score that is enough, and no later work has failed.
fn has_passing_score(frame: &Frame) -> bool {
    let quality = frame.current_quality();
    frame.team.failure.is_none() && quality.is_some_and(TaskQuality::is_enough)
}

/// Describes the facts because of which a condition does not hold, where a person could not know
/// them.
fn facts_against(run: &Run, frame: &Frame, condition: &StepCondition) -> String {
    let facts = match condition {
        StepCondition::Task(TaskDetail::Vague) => depth::assess_task(run.frame_task(frame)).ok(),
        StepCondition::Goal(GoalBreadth::Broad) => depth::assess_goal(run).ok(),
        StepCondition::Change(ChangeSize::Small) => depth::assess_change(run, frame).err(),
        StepCondition::Not(inner) => match inner.as_ref() {
            StepCondition::Change(ChangeSize::Small) => depth::assess_change(run, frame).ok(),
            _ => None,
        },
        StepCondition::All(all) => {
            let mut failing = all.iter().filter(|c| !condition_holds(run, frame, c));
            failing.next().map(|c| facts_against(run, frame, c))
        }
        StepCondition::Any(any) => {
            let mut facts = any.iter().map(|c| facts_against(run, frame, c));
            facts.find(|facts| !facts.is_empty())
        }
        _ => None,
    };
    facts.unwrap_or_default()
}

/// Returns true if what was contributed to a task is long, and somebody will be told it.
fn needs_digest(run: &Run, frame: &Frame) -> bool {
    let limit = run.workflow.digest_from.unwrap_or(DIGEST_FROM_CHARS);
    let Some(task) = run.frame_task(frame) else {
        return false;
    };
    let mut others = run.plan.iter().flat_map(|plan| &plan.tasks);
    total_chars(&frame.outputs.contributions) >= limit as usize
        && others.any(|other| other.dependencies.contains(&task.id))
}

/// Returns how many tokens a work log may have before it is shortened.
fn log_threshold(run: &Run) -> u64 {
    let said = run.roles.values().filter_map(|role| role.log_tokens);
    said.min().unwrap_or(work_log::THRESHOLD)
}
