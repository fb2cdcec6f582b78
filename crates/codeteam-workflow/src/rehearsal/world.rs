//! The simulated world of a rehearsal: it runs the design's main loop, one effect at a time, with
//! its own clock.
//!
//! Frames take turns in the order in which they were opened, and each continues until it ends or
//! waits for something. The same script therefore always takes the same path.

mod perform;

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::budget::BudgetLimits;
use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::event::{RunStarted, SandboxKind};
use codeteam_core::failure::FailureFacts;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::{Question, QuestionKind};
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, StepId, WorkerName};
use codeteam_core::input::{Decision, WorkerOutcome};
use codeteam_core::run::{Run, goes_by_phase};
use codeteam_core::{Event, Input, decide, due};

use super::answers::{ABORT, AnswerScript, ScriptedTurn};
use super::file::MAX_TASKS;
use super::trees::SimulatedTrees;
use super::{MAX_INPUTS, RehearsalEnd, StepVisit};
use crate::language::CompiledWorkflow;
use crate::plan_file;

/// The simulated duration of everything.
const STEP_MS: u64 = 60_000;

/// A run of the real kernel, with a script in place of the world.
///
/// `play` feeds the kernel one input at a time: it asks the kernel which effects are due, performs
/// the first one that can be performed, and feeds the result back. It stops when the run has an
/// outcome, when a person would have to answer and the script has no answer, when nothing can
/// happen any more, or after `MAX_INPUTS` inputs.
pub(super) struct RehearsalWorld<'a> {
    compiled: &'a CompiledWorkflow,
    script: AnswerScript,
    run: Run,
    now: EpochMillis,
    trees: SimulatedTrees,
    /// Every frame, in the order in which it was opened.
    opened: Vec<FramePath>,
    /// The scripted turn of a visit of a step, once it has been taken from the script: all slots of
    /// the visit see the same turn.
    turns: BTreeMap<(VisitKey, StepId, u32), ScriptedTurn>,
    path: Vec<StepVisit>,
    /// The last visit of each frame.
    last: BTreeMap<FramePath, usize>,
}

/// A visit of a step: the frame, the step, and how often it was entered.
type VisitKey = (FramePath, StepId, u32);

/// The next action of the main loop.
enum NextAction {
    Feed(Box<Input>),
    Stop(RehearsalEnd),
}

impl<'a> RehearsalWorld<'a> {
    pub(super) fn new(compiled: &'a CompiledWorkflow, script: AnswerScript) -> Self {
        Self {
            compiled,
            script,
            run: Run::default(),
            now: EpochMillis(STEP_MS),
            trees: SimulatedTrees::default(),
            opened: vec![FramePath::root()],
            turns: BTreeMap::new(),
            path: Vec::new(),
            last: BTreeMap::new(),
        }
    }

    /// Returns the path that was taken, and the scripted answers that were never used.
    pub(super) fn into_results(self) -> (Vec<StepVisit>, Vec<String>) {
        (self.path, self.script.unused_keys())
    }

    /// Plays a run to its end.
    pub(super) fn play(
        &mut self,
        goal: &str,
        plan: Option<&plan_file::LoadedPlan>,
    ) -> RehearsalEnd {
        let began = Input::Began(Box::new(self.started(goal, plan)));
        self.feed(&began);
        for _ in 0..MAX_INPUTS {
            match &self.run.outcome {
                Some(FrameOutcome::Failed(why)) => {
                    return RehearsalEnd::Failed { why: why.clone() };
                }
                Some(FrameOutcome::Aborted(why)) => {
                    return RehearsalEnd::Aborted { why: why.clone() };
                }
                Some(_) => return RehearsalEnd::Completed,
                None => {}
            }
            self.now = self.now.plus(STEP_MS);
            match self.next() {
                NextAction::Feed(input) => self.feed(&input),
                NextAction::Stop(ended) => return ended,
            }
        }
        RehearsalEnd::Endless
    }

    fn started(&mut self, goal: &str, plan: Option<&plan_file::LoadedPlan>) -> RunStarted {
        let mut roles = self.compiled.roles.clone();
        for role in roles.values_mut() {
            // No worker replaces another, and nothing costs anything.
            role.workers = vec![WorkerName::from("rehearsed")];
            role.max_cost_microusd = None;
        }
        let earlier = plan.map(|plan| plan.statuses.clone()).unwrap_or_default();
        RunStarted {
            rules: Vec::new(),
            templates: std::collections::BTreeMap::new(),
            strategies: std::collections::BTreeMap::new(),
            message: codeteam_core::message::MessageFormat::default(),
            run: "rehearsal".into(),
            at: self.now,
            goal: goal.to_owned(),
            goal_files: Vec::new(),
            goal_tests: Vec::new(),
            workflow: self.compiled.workflow.clone(),
            roles,
            base: self.trees.base(),
            branch: "rehearsal".to_owned(),
            plan: plan.map(|plan| {
                let plan = plan.plan.clone();
                if goes_by_phase(&self.compiled.workflow) {
                    plan.into_one_phase()
                } else {
                    plan
                }
            }),
            earlier: earlier
                .into_iter()
                .filter(|(_, status)| status.satisfies())
                .collect(),
            earlier_phases: BTreeSet::new(),
            limits: BudgetLimits::default(),
            plan_id: "plan_0001".to_owned(),
            max_tasks: MAX_TASKS,
            confinement: String::new(),
            sandbox: SandboxKind::None,
            accounts: BTreeMap::new(),
            resting: BTreeMap::new(),
            hands: codeteam_core::operator::Operator::default(),
            basis: None,
            edited_config: Vec::new(),
            choices: None,
            baseline: Vec::new(),
            must_pass: false,
            forked_from: None,
            network: Vec::new(),
            approval: None,
            access: codeteam_core::event::RunAccess::default(),
        }
    }

    fn feed(&mut self, input: &Input) {
        let decided = decide(&self.run, input);
        self.run = decided.run;
        for event in decided.events {
            match event {
                Event::FrameOpened { frame, .. } => self.opened.push(frame),
                Event::StepEntered { frame, step, .. } => {
                    self.last.insert(frame.clone(), self.path.len());
                    self.path.push(StepVisit {
                        frame: frame.name().to_owned(),
                        step: step.0,
                        said: Vec::new(),
                    });
                }
                _ => {}
            }
        }
    }

    /// Records what happens at the last visit of a frame.
    fn note_at_visit(&mut self, frame: &FramePath, words: String) {
        let visit = self.last.get(frame).and_then(|i| self.path.get_mut(*i));
        if let Some(visit) = visit {
            visit.said.push(words);
        }
    }

    /// Performs the first due effect that can be performed.
    fn next(&mut self) -> NextAction {
        let mut effects = due(&self.run);
        effects.sort_by_key(|effect| {
            let frame = frame_of(effect);
            frame.and_then(|frame| self.opened.iter().position(|f| f == frame))
        });
        let mut asked = None;
        for effect in effects {
            match effect {
                Effect::Ask(question) => match self.answer(&question) {
                    Some(next) => return next,
                    None => asked = asked.or(Some(question)),
                },
                Effect::Wait {
                    until: Some(until), ..
                } => {
                    self.now = self.now.max(until);
                    return NextAction::Feed(Box::new(Input::Woke { at: self.now }));
                }
                Effect::Wait { until: None, .. } => {}
                effect => return NextAction::Feed(Box::new(self.perform(&effect))),
            }
        }
        let cancelled = self.run.outstanding.values().next();
        match (asked, cancelled) {
            (Some(question), _) => NextAction::Stop(self.waiting(&question)),
            // Work that was cancelled reports back without any usage.
            (None, Some(launch)) => {
                let id = launch.id.clone();
                NextAction::Feed(Box::new(self.exited(
                    &id,
                    WorkerOutcome::Failed(FailureFacts::default()),
                    None,
                )))
            }
            (None, None) => NextAction::Stop(RehearsalEnd::Endless),
        }
    }

    fn waiting(&self, question: &Question) -> RehearsalEnd {
        let at = self.last.get(&question.id.frame);
        let at = at.and_then(|i| self.path.get(*i)).cloned();
        let mut words = question.text.clone();
        for point in &question.points {
            words.push(' ');
            words.push_str(point);
        }
        RehearsalEnd::Waiting {
            at: at.unwrap_or_else(|| StepVisit {
                frame: question.id.frame.name().to_owned(),
                step: question.id.step.0.clone(),
                said: Vec::new(),
            }),
            question: words,
            answers: question.answers.clone(),
        }
    }

    /// Returns a person's answer to a question, if it is scripted.
    fn answer(&mut self, question: &Question) -> Option<NextAction> {
        let id = &question.id;
        let is_step = matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound);
        let turn = self.script.next_turn(&id.step, !is_step, id.frame.name())?;
        let ScriptedTurn::Answers { answer, note } = turn.clone() else {
            return None;
        };
        self.note_at_visit(&id.frame, turn.describe());
        let is_known = question.answers.is_empty() || question.answers.contains(&answer);
        let decision = if is_known {
            let question = id.clone();
            Decision::Answer {
                question,
                answer,
                note,
                change: None,
            }
        } else if answer == ABORT {
            Decision::Abort { reason: note }
        } else {
            let known: Vec<String> = question.answers.iter().map(|a| format!("`{a}`")).collect();
            let why = format!(
                "at `{}` it was asked \"{}\", and `{answer}` is not one of its answers: {}",
                id.step,
                question.text,
                known.join(", ")
            );
            return Some(NextAction::Stop(RehearsalEnd::Refused { why }));
        };
        Some(NextAction::Feed(Box::new(Input::Decided {
            at: self.now,
            by: "the script".to_owned(),
            identity: None,
            decision,
        })))
    }

    /// Returns what is scripted for a step; each visit and each attempt takes one turn. A gate also
    /// takes a turn at other steps, when a tree that it has not judged is to be integrated.
    fn scripted_turn(
        &mut self,
        id: &AttemptId,
        step: &StepId,
        attempt: u32,
    ) -> Option<ScriptedTurn> {
        let visit = (id.frame.clone(), id.step.clone(), id.generation);
        let key = (visit, step.clone(), attempt);
        if let Some(turn) = self.turns.get(&key) {
            return Some(turn.clone());
        }
        let turn = self.script.next_turn(step, false, id.frame.name())?;
        self.turns.insert(key, turn.clone());
        Some(turn)
    }
}

/// Returns the frame that an effect belongs to.
fn frame_of(effect: &Effect) -> Option<&FramePath> {
    match effect {
        Effect::Ask(question) => Some(&question.id.frame),
        Effect::Wait {
            why: WaitReason::Backoff { id },
            ..
        } => Some(&id.frame),
        effect => effect.attempt().map(|id| &id.frame),
    }
}
