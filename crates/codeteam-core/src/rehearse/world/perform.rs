//! How what is due is done: workers say what is scripted, checks find it, integration goes through.

use super::RehearsalWorld;
use crate::assignment::{Assignment, assignment};
use crate::budget::Usage;
use crate::effect::Effect;
use crate::event::{CheckResult, DeliveryOutcome};
use crate::failure::FailureFacts;
use crate::frame::FrameChange;
use crate::ids::{AttemptId, StepId, Tree};
use crate::input::{Input, IntegrationOutcome, RebaseOutcome, WorkerOutcome, WorkerReport};
use crate::rehearse::answers::{ScriptedAct, ScriptedContent, ScriptedTurn};
use crate::rehearse::forms::{self, AnswerInputs};
use crate::submission::{self, Submission};
use crate::workflow::{EachItem, StepKind};

impl RehearsalWorld<'_> {
    /// Does what is due.
    pub(super) fn perform(&mut self, effect: &Effect) -> Input {
        match effect {
            Effect::StartWorker { id, .. } => self.work(id),
            Effect::RunGate { id, step, tree } => self.gate(id, step, tree),
            Effect::Rebase {
                id,
                base,
                tree,
                onto,
            } => {
                let outcome = if self.turn(id, &id.step, 0) == Some(ScriptedTurn::Conflicts) {
                    self.say(&id.frame, ScriptedTurn::Conflicts.words());
                    let files = self
                        .run
                        .frames
                        .get(&id.frame)
                        .and_then(|f| f.change.clone());
                    RebaseOutcome::Conflict {
                        base: onto.clone(),
                        files: files.map(|change| change.files).unwrap_or_default(),
                    }
                } else {
                    let frame = self.run.frames.get(&id.frame);
                    let by = frame.and_then(|f| f.change.as_ref()).map(|c| c.by.clone());
                    self.trees.rebase(&by.unwrap_or_default(), base, tree, onto)
                };
                let (at, id) = (self.now, id.clone());
                Input::Rebased { at, id, outcome }
            }
            Effect::Integrate {
                id,
                tree,
                onto,
                message,
                ..
            } => {
                let outcome = match self.turn(id, &id.step, 0) {
                    Some(ScriptedTurn::Breaks) => return self.breaks(id),
                    // It is found when the change is replayed on what came between.
                    Some(ScriptedTurn::Conflicts) => {
                        IntegrationOutcome::TipMoved(self.trees.foreign(onto))
                    }
                    _ => IntegrationOutcome::Committed {
                        commit: self.trees.commit(tree.clone()).commit,
                        tree: tree.clone(),
                        message: message.clone(),
                    },
                };
                let (at, id) = (self.now, id.clone());
                Input::Integrated { at, id, outcome }
            }
            Effect::Publish { id, .. } => {
                let turn = self
                    .turn(id, &id.step, id.attempt)
                    .unwrap_or(ScriptedTurn::Goes);
                self.say(&id.frame, turn.words());
                let (at, id) = (self.now, id.clone());
                let (ok, output) = match turn {
                    ScriptedTurn::Fails(why) => (false, why),
                    _ => (true, String::new()),
                };
                Input::Published { at, id, ok, output }
            }
            Effect::Deliver { id, .. } => {
                let (at, id) = (self.now, id.clone());
                let why = "nothing is handed over in a rehearsal".to_owned();
                let outcome = DeliveryOutcome::Left { why };
                Input::Delivered { at, id, outcome }
            }
            Effect::Ask(_) | Effect::Wait { .. } => Input::Woke { at: self.now },
        }
    }

    fn breaks(&mut self, id: &AttemptId) -> Input {
        self.say(&id.frame, ScriptedTurn::Breaks.words());
        Input::EffectFailed {
            at: self.now,
            id: id.clone(),
            trouble: None,
            message: "it could not be done at all".to_owned(),
        }
    }

    fn gate(&mut self, id: &AttemptId, step: &StepId, tree: &Tree) -> Input {
        let turn = self
            .turn(id, step, id.attempt)
            .unwrap_or(ScriptedTurn::Goes);
        if turn == ScriptedTurn::Breaks {
            return self.breaks(id);
        }
        self.say(&id.frame, turn.words());
        let failure = match turn {
            ScriptedTurn::Fails(why) => Some(why),
            _ => None,
        };
        let checks = match self.run.step(step).map(|s| &s.kind) {
            Some(StepKind::Gate { checks }) => checks.as_slice(),
            _ => &[],
        };
        let mut results: Vec<CheckResult> = checks
            .iter()
            .map(|check| CheckResult {
                name: check.name.clone(),
                passed: true,
                summary: String::new(),
                ..CheckResult::default()
            })
            .collect();
        if let Some(why) = failure {
            // A gate without checks can be made to fail too: a project may have some.
            results.truncate(results.len().saturating_sub(1));
            results.push(CheckResult {
                name: checks.last().map_or("check", |c| &c.name).to_owned(),
                passed: false,
                summary: why,
                ..CheckResult::default()
            });
        }
        Input::GateFinished {
            at: self.now,
            id: id.clone(),
            tree: tree.clone(),
            results,
        }
    }

    fn work(&mut self, id: &AttemptId) -> Input {
        let Some(told) = assignment(&self.run, id) else {
            return self.breaks(id);
        };
        let slot = usize::try_from(id.slot).unwrap_or(usize::MAX);
        let act = match self.turn(id, &id.step, id.attempt) {
            Some(ScriptedTurn::Work(acts)) => acts.get(slot).cloned().unwrap_or(ScriptedAct::Well),
            _ => ScriptedAct::Well,
        };
        self.say(&id.frame, act.words());
        let Some(role) = self.run.roles.get(&told.role).cloned() else {
            return self.breaks(id);
        };
        let steps = &mut self.run.workflow.steps.values();
        let by_phase =
            steps.any(|s| matches!(s.kind, StepKind::Each { over, .. } if over == EachItem::Phase));
        let mut context = AnswerInputs {
            task: told.task.as_ref().map(|task| task.id.0.clone()),
            by_phase,
            files: written(&act, &told),
            open: told.findings.iter().map(|f| f.id.clone()).collect(),
        };
        let end = match &act {
            ScriptedAct::Crash => WorkerOutcome::Failed(FailureFacts {
                signal: Some(11),
                message: "it crashed".to_owned(),
                ..FailureFacts::default()
            }),
            ScriptedAct::Wrong => WorkerOutcome::Answered("That is done!".to_owned()),
            act => {
                // One that has nothing to say in this form says what cannot be read.
                let text = forms::answer(act, role.form(), &context);
                WorkerOutcome::Answered(text.unwrap_or_else(|_| "{}".to_owned()))
            }
        };
        if let (ScriptedAct::Says(_), WorkerOutcome::Answered(text)) = (&act, &end) {
            context.files = claimed(&told, submission::parse(role.form(), text).ok());
        }
        let change = told.writable.then(|| self.change(&told, &context.files));
        self.exited(id, end, change)
    }

    fn change(
        &mut self,
        told: &Assignment,
        files: &[(String, Option<String>)],
    ) -> (Tree, FrameChange) {
        let tree = self.trees.write(&told.tree, files);
        let frame = self.run.frames.get(&told.id.frame);
        let base = frame.map_or(&told.tree, |frame| &frame.base.tree);
        let change = self.trees.change(&told.id.lasting(), base, &tree);
        (tree, change)
    }

    /// What comes back from a worker.
    pub(super) fn exited(
        &self,
        id: &AttemptId,
        end: WorkerOutcome,
        change: Option<(Tree, FrameChange)>,
    ) -> Input {
        Input::WorkerExited {
            at: self.now,
            id: id.clone(),
            report: Box::new(WorkerReport {
                end,
                usage: Usage::default(),
                transcript: None,
                change,
                session: None,
                log: None,
                edited: Vec::new(),
                failed_write: None,
            }),
        }
    }
}

/// What an implementer writes; nothing twice unless the script says so.
fn written(act: &ScriptedAct, told: &Assignment) -> Vec<(String, Option<String>)> {
    let fresh = || Some(format!("written by {}", told.id.lasting()));
    match act {
        ScriptedAct::Change(files) => files
            .iter()
            .map(|(path, text)| match text {
                ScriptedContent::Any => (path.clone(), fresh()),
                ScriptedContent::Is(text) => (path.clone(), Some(text.clone())),
                ScriptedContent::Gone => (path.clone(), None),
            })
            .collect(),
        ScriptedAct::Well if told.writable => {
            let named = told.task.as_ref().and_then(|task| task.files.first());
            let path = match named {
                Some(folder) if folder.ends_with('/') => format!("{folder}work.txt"),
                Some(file) => file.clone(),
                None => format!("{}.txt", told.id.frame.name()),
            };
            vec![(path, fresh())]
        }
        _ => Vec::new(),
    }
}

/// The files of a submission that is scripted to the letter: its edits, or what it says it changed.
fn claimed(told: &Assignment, said: Option<Submission>) -> Vec<(String, Option<String>)> {
    let Some(Submission::Change(change)) = said else {
        return Vec::new();
    };
    let edits = change.edits.into_iter().map(|e| (e.path, e.content));
    let text = format!("written by {}", told.id.lasting());
    let files = change.files.into_iter();
    let files = files.map(|path| (path, Some(text.clone())));
    edits.chain(files).collect()
}
