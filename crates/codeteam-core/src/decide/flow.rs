//! How a frame moves through the graph.

use super::Decider;
use crate::depth;
use crate::event::{EntryReason, Event, FrameOutcome};
use crate::frame::{DemandLevel, Frame, Question, QuestionKind};
use crate::ids::{AttemptId, FramePath, StepId};
use crate::log;
use crate::run::Run;
use crate::workflow::{
    ChangeSize, EachItem, ExhaustionPolicy, ExitTarget, GoalBreadth, LogLength, PersonAnswer,
    PlanPresence, StepCondition, StepKind, TaskDetail, glob_matches,
};

impl Decider {
    /// Takes a frame where a step leads it, leaving out steps whose condition does not hold.
    pub(super) fn go(&mut self, frame: &FramePath, target: &ExitTarget, why: EntryReason) {
        let mut target = target.clone();
        loop {
            let step = match target {
                ExitTarget::Done if self.is_unaccepted(frame) => return self.ask_degraded(frame),
                ExitTarget::Done => match self.undelivered(frame) {
                    Some(step) => return self.enter(frame, &step, why, None),
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
                .is_some_and(|max| state.entered >= max)
            {
                let why = format!("{} steps were entered without an end", state.entered);
                return self.exhausted(frame, &why);
            }
            let Some(definition) = self.run.step(&step) else {
                return self.fail_frame(frame, format!("there is no step `{step}`"));
            };
            let holds = definition
                .when
                .as_ref()
                .is_none_or(|c| holds(&self.run, state, c));
            if holds {
                return self.enter(frame, &step, why, None);
            }
            target = definition.next.clone();
            let when = definition.when.as_ref();
            let because = when.map(|c| facts_against(&self.run, state, c));
            self.emit(Event::StepSkipped {
                frame: frame.clone(),
                step,
                because: because.unwrap_or_default(),
            });
        }
    }

    /// Whether a step's condition holds in a frame.
    pub(super) fn is_wanted(&self, frame: &Frame, step: &StepId) -> bool {
        let when = self.run.step(step).and_then(|step| step.when.as_ref());
        when.is_none_or(|condition| holds(&self.run, frame, condition))
    }

    pub(super) fn enter(
        &mut self,
        frame: &FramePath,
        step: &StepId,
        why: EntryReason,
        told: Option<String>,
    ) {
        let Some(state) = self.run.frames.get(frame) else {
            return;
        };
        let generation = state.visits.get(step).copied().unwrap_or(0) + 1;
        let (slots, because) = match self.run.step(step).map(|s| &s.kind) {
            Some(StepKind::Role(role)) => depth::choose_slots(&self.run, state, step, role),
            _ => (Vec::new(), String::new()),
        };
        self.emit(Event::StepEntered {
            frame: frame.clone(),
            step: step.clone(),
            generation,
            why,
            slots,
            because,
        });
        let kind = self.run.step(step).map(|s| s.kind.clone());
        match kind {
            Some(StepKind::Person {
                question, answers, ..
            }) => {
                let mut points: Vec<String> = told.into_iter().collect();
                points.extend(self.published_by(&answers));
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
                    Some(plan) if over == EachItem::Phase => plan.unfit_for_phases(),
                    Some(_) => None,
                };
                if let Some(why) = missing {
                    self.fail_frame(frame, why);
                }
            }
            _ => {}
        }
    }

    /// Where the run's own frame goes before it is done: what was committed is not handed over yet.
    fn undelivered(&self, frame: &FramePath) -> Option<StepId> {
        let has_commits = self.run.tip.commit != self.run.base.commit;
        let is_due = frame.is_root() && has_commits && self.run.delivered.is_none();
        let step = self.run.workflow.delivery().filter(|_| is_due)?;
        Some(step.id.clone())
    }

    /// What would run on the person's own machine, with all their rights, by which answer. The
    /// question is the workflow's and may say anything; this is what it comes to.
    fn published_by(&self, answers: &[PersonAnswer]) -> Vec<String> {
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
            Some(format!(
                "`{name}` runs this on your machine, outside the sandbox: {command}"
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
        });
        self.emit(Event::Asked {
            frame: frame.clone(),
            question,
        });
    }

    /// Whether less was done in a frame than was asked for, and nobody has said that will do.
    pub(super) fn is_unaccepted(&self, frame: &FramePath) -> bool {
        let frame = self.run.frames.get(frame);
        frame.is_some_and(|f| f.level != DemandLevel::Primary && !f.level_accepted)
    }

    pub(super) fn ask_degraded(&mut self, frame: &FramePath) {
        let text = "Less was done than was asked for. Accept it as it is?".to_owned();
        let answers = vec!["accept".to_owned(), "fail".to_owned()];
        self.ask(frame, QuestionKind::Degraded, text, Vec::new(), answers);
    }

    /// Nobody has written a message that has the form, and codeteam cannot make one.
    pub(super) fn ask_message(&mut self, frame: &FramePath) {
        let text = format!(
            "No message that was written for this commit has the form `{}`. Write one.",
            self.run.message
        );
        self.ask(frame, QuestionKind::Message, text, Vec::new(), Vec::new());
    }

    pub(super) fn ask_interrupted(&mut self, frame: &FramePath) {
        let text = "codeteam ended while it was publishing. Look whether that happened: is it \
                    done, should it be done again, or does it fail?";
        let answers = ["done", "again", "fail"].map(str::to_owned).to_vec();
        self.ask(
            frame,
            QuestionKind::Interrupted,
            text.to_owned(),
            Vec::new(),
            answers,
        );
    }

    /// Patience is at its end: a person decides, or the frame fails.
    pub(super) fn exhausted(&mut self, frame: &FramePath, why: &str) {
        // A reason may be somebody's own sentence.
        let why = why.trim_end().trim_end_matches('.');
        if let Some(judge) = self.judge_of(frame) {
            let told = format!("This does not get anywhere: {why}.");
            return self.enter(frame, &judge, EntryReason::Failed, Some(told));
        }
        let policy = match self.run.frames.get(frame) {
            // Who has talked with a planner is there to be asked, whatever is done about tasks.
            Some(f) if !f.outputs.answers.is_empty() && self.owes_a_plan(&f.step) => {
                ExhaustionPolicy::Ask
            }
            _ => self.run.workflow.on_exhausted,
        };
        match policy {
            ExhaustionPolicy::Fail => self.fail_frame(frame, why),
            ExhaustionPolicy::Ask => {
                let text = format!("This does not get anywhere: {why}. Go on, or give it up?");
                let mut answers = vec!["continue".to_owned(), "fail".to_owned()];
                if !frame.is_root() {
                    answers.insert(1, "skip".to_owned());
                }
                self.ask(frame, QuestionKind::Exhausted, text, Vec::new(), answers);
            }
        }
    }

    /// The step at which a person judges what gets nowhere, if the frame has a change to judge.
    pub(super) fn judge_of(&self, path: &FramePath) -> Option<StepId> {
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
                    .is_none_or(|c| holds(&self.run, frame, c))
        });
        judges.next().map(|step| step.id.clone())
    }

    /// Ends a frame and everything below it; ends the run with its own frame.
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

/// Whether a condition holds in a frame.
fn holds(run: &Run, frame: &Frame, condition: &StepCondition) -> bool {
    match condition {
        StepCondition::Plan(PlanPresence::Present) => run.plan.is_some(),
        StepCondition::Plan(PlanPresence::Missing) => run.plan.is_none(),
        StepCondition::Plan(PlanPresence::Given) => run.plan_given,
        StepCondition::Setting(name) => run.workflow.settings.get(name).copied().unwrap_or(false),
        StepCondition::Changed(patterns) => frame.change.as_ref().is_some_and(|change| {
            change
                .files
                .iter()
                .any(|file| patterns.iter().any(|p| glob_matches(p, file)))
        }),
        StepCondition::Committed(wanted) => (run.tip.commit != run.base.commit) == *wanted,
        StepCondition::Log(LogLength::Long) => frame.log.tokens() >= log_threshold(run),
        StepCondition::Change(ChangeSize::Small) => depth::assess_change(run, frame).is_ok(),
        StepCondition::Task(TaskDetail::Vague) => depth::assess_task(run.task_of(frame)).is_err(),
        StepCondition::Goal(GoalBreadth::Broad) => depth::assess_goal(run).is_err(),
        StepCondition::Answered(answers) => answers
            .iter()
            .all(|(step, answer)| frame.answered.get(step) == Some(answer)),
        StepCondition::Not(inner) => !holds(run, frame, inner),
        StepCondition::All(all) => all.iter().all(|c| holds(run, frame, c)),
        StepCondition::Any(any) => any.iter().any(|c| holds(run, frame, c)),
    }
}

/// The facts by which a condition does not hold, where a person could not know them.
fn facts_against(run: &Run, frame: &Frame, condition: &StepCondition) -> String {
    let facts = match condition {
        StepCondition::Task(TaskDetail::Vague) => depth::assess_task(run.task_of(frame)).ok(),
        StepCondition::Goal(GoalBreadth::Broad) => depth::assess_goal(run).ok(),
        StepCondition::Change(ChangeSize::Small) => depth::assess_change(run, frame).err(),
        StepCondition::Not(inner) => match inner.as_ref() {
            StepCondition::Change(ChangeSize::Small) => depth::assess_change(run, frame).ok(),
            _ => None,
        },
        StepCondition::All(all) => {
            let mut failing = all.iter().filter(|c| !holds(run, frame, c));
            failing.next().map(|c| facts_against(run, frame, c))
        }
        _ => None,
    };
    facts.unwrap_or_default()
}

/// How many tokens a log may have before it is shortened.
fn log_threshold(run: &Run) -> u64 {
    let said = run.roles.values().filter_map(|role| role.log_tokens);
    said.min().unwrap_or(log::THRESHOLD)
}
