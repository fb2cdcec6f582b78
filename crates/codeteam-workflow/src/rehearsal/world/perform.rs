//! Performs due effects: workers submit what is scripted, checks report what is scripted, and
//! integration succeeds.

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::budget::Usage;
use codeteam_core::checks::CheckResult;
use codeteam_core::effect::Effect;
use codeteam_core::event::DeliveryOutcome;
use codeteam_core::failure::FailureFacts;
use codeteam_core::frame::FrameChange;
use codeteam_core::ids::{AttemptId, StepId, Tree};
use codeteam_core::input::{Input, IntegrationOutcome, RebaseOutcome, WorkerOutcome, WorkerReport};
use codeteam_core::locks::LockedFile;
use codeteam_core::submission::{self, Submission};
use codeteam_core::workflow::{EachItem, StepKind};

use super::RehearsalWorld;
use crate::rehearsal::answers::{ScriptedAct, ScriptedContent, ScriptedTurn};
use crate::rehearsal::forms::{self, AnswerInputs, PhaseInputs};

impl RehearsalWorld<'_> {
    /// Performs an effect and returns the input that reports its result.
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
                let outcome =
                    if self.scripted_turn(id, &id.step, 0) == Some(ScriptedTurn::Conflicts) {
                        self.note_at_visit(&id.frame, ScriptedTurn::Conflicts.describe());
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
                let outcome = match self.scripted_turn(id, &id.step, 0) {
                    Some(ScriptedTurn::Breaks) => return self.breaks(id),
                    // The conflict shows when the change is replayed on someone else's commit.
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
                    .scripted_turn(id, &id.step, id.attempt)
                    .unwrap_or(ScriptedTurn::Goes);
                self.note_at_visit(&id.frame, turn.describe());
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
            Effect::WriteInterfaces { id, base, files } => {
                let written: Vec<(String, Option<String>)> = files
                    .iter()
                    .map(|file| (file.path.clone(), Some(file.content.clone())))
                    .collect();
                let tree = self.trees.write(&base.tree, &written);
                let change = self.trees.change(&id.without_fence(), &base.tree, &tree);
                let locked = files.iter().map(|file| LockedFile {
                    name: file.name.clone(),
                    path: file.path.clone(),
                    blob: String::new(),
                });
                Input::InterfacesWritten {
                    at: self.now,
                    id: id.clone(),
                    change: (tree != base.tree).then(|| Box::new(change)),
                    tree,
                    files: locked.collect(),
                }
            }
            // A rehearsal has no approval policy, and nobody takes it back, so none of the last three
            // is ever due.
            Effect::Ask(_)
            | Effect::Wait { .. }
            | Effect::AssessRisk { .. }
            | Effect::Notify { .. }
            | Effect::MoveBranch { .. } => Input::Woke { at: self.now },
        }
    }

    fn breaks(&mut self, id: &AttemptId) -> Input {
        self.note_at_visit(&id.frame, ScriptedTurn::Breaks.describe());
        Input::EffectFailed {
            at: self.now,
            id: id.clone(),
            trouble: None,
            message: "it could not be done at all".to_owned(),
        }
    }

    fn gate(&mut self, id: &AttemptId, step: &StepId, tree: &Tree) -> Input {
        let turn = self
            .scripted_turn(id, step, id.attempt)
            .unwrap_or(ScriptedTurn::Goes);
        if turn == ScriptedTurn::Breaks {
            return self.breaks(id);
        }
        self.note_at_visit(&id.frame, turn.describe());
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
            // A gate without checks can be made to fail too, because a project may define some.
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
        let Some(told) = build_assignment(&self.run, id) else {
            return self.breaks(id);
        };
        let slot = usize::try_from(id.slot).unwrap_or(usize::MAX);
        let act = match self.scripted_turn(id, &id.step, id.attempt) {
            Some(ScriptedTurn::Work(acts)) => {
                acts.get(slot).cloned().unwrap_or(ScriptedAct::Succeed)
            }
            _ => ScriptedAct::Succeed,
        };
        self.note_at_visit(&id.frame, act.describe());
        let Some(role) = self.run.roles.get(&told.role).cloned() else {
            return self.breaks(id);
        };
        let steps = &mut self.run.workflow.steps.values();
        let by_phase =
            steps.any(|s| matches!(s.kind, StepKind::Each { over, .. } if over == EachItem::Phase));
        let mut context = AnswerInputs {
            task: told.task.as_ref().map(|task| task.id.0.clone()),
            by_phase,
            files: files_written(&act, &told),
            open: told
                .feedback
                .findings
                .iter()
                .map(|f| f.id.clone())
                .collect(),
            criteria: told.task.as_ref().map_or(0, |task| task.acceptance.len()),
            unassigned: told.team.unassigned.iter().map(|id| id.0.clone()).collect(),
            usual_role: self.usual_role(),
            phase: told.earlier.phase.as_ref().map(|about| PhaseInputs {
                id: about.phase.id.0.clone(),
                has_tasks: !about.tasks.is_empty(),
            }),
            outputs: told.expected.outputs.clone(),
        };
        let end = match &act {
            ScriptedAct::Crash => WorkerOutcome::Failed(FailureFacts {
                signal: Some(11),
                message: "it crashed".to_owned(),
                ..FailureFacts::default()
            }),
            ScriptedAct::Wrong => WorkerOutcome::Answered("That is done!".to_owned()),
            act => {
                // If the act has no form under this contract, the worker submits something
                // unreadable.
                let text = forms::compose_answer(act, role.answer_form(), &context);
                WorkerOutcome::Answered(text.unwrap_or_else(|_| "{}".to_owned()))
            }
        };
        if let (ScriptedAct::Says(_), WorkerOutcome::Answered(text)) = (&act, &end) {
            context.files = files_claimed(&told, submission::parse(role.answer_form(), text).ok());
        }
        let change = told.writable.then(|| self.change(&told, &context.files));
        self.exited(id, end, change)
    }

    /// Returns the role of tasks for which nobody names another one.
    fn usual_role(&self) -> String {
        let mut steps = self.run.workflow.steps.values();
        let usual = steps.find_map(|step| match &step.kind {
            StepKind::Role(role) if role.assigned => role.slots.first(),
            _ => None,
        });
        usual.map(|role| role.0.clone()).unwrap_or_default()
    }

    fn change(
        &mut self,
        told: &Assignment,
        files: &[(String, Option<String>)],
    ) -> (Tree, FrameChange) {
        let tree = self.trees.write(&told.tree, files);
        let frame = self.run.frames.get(&told.id.frame);
        let base = frame.map_or(&told.tree, |frame| &frame.base.tree);
        let change = self.trees.change(&told.id.without_fence(), base, &tree);
        (tree, change)
    }

    /// Builds the input that reports the end of a worker.
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
                model: None,
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

/// Returns the files that an implementer writes; their content differs each time unless the script
/// says otherwise.
fn files_written(act: &ScriptedAct, told: &Assignment) -> Vec<(String, Option<String>)> {
    let fresh = || Some(format!("written by {}", told.id.without_fence()));
    match act {
        ScriptedAct::Change(files) => files
            .iter()
            .map(|(path, text)| match text {
                ScriptedContent::Any => (path.clone(), fresh()),
                ScriptedContent::Is(text) => (path.clone(), Some(text.clone())),
                ScriptedContent::Gone => (path.clone(), None),
            })
            .collect(),
        ScriptedAct::Succeed if told.writable => {
            let named = told.task.as_ref().and_then(|task| task.files.first());
            let path = match named {
                Some(folder) if folder.ends_with('/') => format!("{folder}work.txt"),
                Some(file) => file.clone(),
                None => format!("{}.txt", told.id.frame.name()),
            };
            let is_path = |name: &&String| {
                name.contains(['/', '.']) && !name.contains(|c: char| c == '*' || c.is_whitespace())
            };
            let declared = told.expected.outputs.iter().filter(is_path).cloned();
            std::iter::once(path)
                .chain(declared)
                .map(|path| (path, fresh()))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the files of a literally scripted submission: its edits, or the files it claims to have
/// changed.
fn files_claimed(told: &Assignment, said: Option<Submission>) -> Vec<(String, Option<String>)> {
    let Some(Submission::Change(change)) = said else {
        return Vec::new();
    };
    let edits = change.edits.into_iter().map(|e| (e.path, e.content));
    let text = format!("written by {}", told.id.without_fence());
    let files = change.files.into_iter();
    let files = files.map(|path| (path, Some(text.clone())));
    edits.chain(files).collect()
}
