//! Transfers control of a run: between a session and workers, and between a session and the person
//! outside it.

use super::Decider;
use crate::event::{EntryReason, Event, UnsubmittedChange};
use crate::frame::FrameOutcome;
use crate::frame::{Frame, FrameItem, FrameStage, Question, SlotState, SlotWork};
use crate::ids::{AttemptId, FramePath, StepId, TaskId};
use crate::operator::Operator;
use crate::role::RoleKind;
use crate::schedule::TaskStatus;
use crate::session;
use crate::workflow::{ExitTarget, RoleStep, StepKind};

impl Decider {
    /// Handles an answer that a session gives in a person's name.
    pub(super) fn handle_reply(&mut self, by: &str, id: &AttemptId, said: &str) {
        let asked = self.run.frames.get(&id.frame).and_then(|f| match &f.stage {
            FrameStage::Asking(question) if question.id == *id => Some(Question::clone(question)),
            _ => None,
        });
        let refused = match asked {
            None => Some("that question is no longer open".to_owned()),
            Some(question) => match session::interpret_reply(&question, said) {
                Ok(answer) => self.handle_answer(by, id, &answer, "", None),
                Err(why) => Some(why),
            },
        };
        if let Some(why) = refused {
            let by = by.to_owned();
            self.emit(Event::DecisionRefused { by, why });
        }
    }

    /// Hands the run over to another operator. Roles that are under way start again there.
    pub(super) fn reassign_operator(
        &mut self,
        by: &str,
        to: Operator,
        change: Option<&UnsubmittedChange>,
    ) -> Option<String> {
        if self.run.is_terminal() {
            return Some("the run has ended already".to_owned());
        }
        if self.run.operator == to {
            return Some(format!(
                "the run is in the hands of {to} already",
                to = operator_name(to)
            ));
        }
        let idle = self.run.roles.values().find(|role| role.workers.is_empty());
        if let (Operator::Workers, Some(role)) = (to, idle) {
            let name = &role.name;
            return Some(format!(
                "there was no worker for the role `{name}` when the run began"
            ));
        }
        let under_way: Vec<AttemptId> = self
            .run
            .frames
            .values()
            .flat_map(|frame| &frame.slots)
            .filter(|slot| {
                slot.state == SlotState::Running && matches!(slot.work, SlotWork::Role(_))
            })
            .map(|slot| slot.id.clone())
            .collect();
        for id in under_way {
            let id = id.before_launch();
            self.emit(Event::AttemptQueued { id });
        }
        let change = change.filter(|made| self.is_change_under_way(made));
        self.emit(Event::WorkersReassigned {
            hands: to,
            by: by.to_owned(),
            change: change.cloned().map(Box::new),
        });
        None
    }

    /// Returns true if an implementer was working on the unsubmitted change and there is something
    /// in it.
    fn is_change_under_way(&self, made: &UnsubmittedChange) -> bool {
        let Some(frame) = self.run.frames.get(&made.frame) else {
            return false;
        };
        self.is_implementing(&made.frame) && made.tree != frame.tree && made.tree != frame.base.tree
    }

    /// Accepts a change as it is, despite objections, when no question is open. The change may
    /// belong to a task, or to a run, that was given up.
    pub(super) fn accept_change(
        &mut self,
        by: &str,
        which: Option<&FramePath>,
        note: &str,
    ) -> Option<String> {
        let live = self.run.frames.values();
        let frames = live.filter(|f| !f.is_ended() || self.was_given_up(f));
        let held: Vec<&Frame> = frames
            .chain(self.run.failed_frames.values())
            .filter(|f| which.is_none_or(|which| f.path == *which))
            .filter(|f| {
                let is_unjudged = f.is_ended() && self.run.unjudged_step(f).is_some();
                is_unjudged || !f.rejecting_steps().is_empty()
            })
            .collect();
        let frame = match held.as_slice() {
            [frame] => *frame,
            [] => return Some("nothing is held against a change there".to_owned()),
            several => {
                let names: Vec<String> = several.iter().map(|f| format!("`{}`", f.path)).collect();
                return Some(format!("say whose change: {}", names.join(", ")));
            }
        };
        if let FrameStage::Asking(_) = frame.stage {
            return Some("a question about it is open; answer that".to_owned());
        }
        let path = frame.path.clone();
        let is_over = frame.is_ended();
        let over = if is_over {
            self.steps_to_overrule(&path)
        } else {
            self.rejecting_steps(&path)
        };
        let judging = over.contains(&frame.step);
        if is_over && self.run.is_terminal() {
            self.emit(Event::RunReopened { at: self.at });
        }
        self.emit(Event::Accepted {
            frame: path.clone(),
            by: by.to_owned(),
            note: note.to_owned(),
            over,
            identity: self.identity.clone(),
        });
        if is_over {
            self.resume_accepted(&path);
        } else if !judging && self.is_implementing(&path) {
            // Nobody needs to repair it any more; the frame continues after the step that sent it
            // back.
            let frame = self.run.frames.get(&path)?;
            if let Some(next) = self.target_after_acceptance(frame) {
                self.transition(&path, &next, EntryReason::Answered);
            }
        }
        None
    }

    /// Returns true if the frame is the root frame and the run ended without success.
    fn was_given_up(&self, frame: &Frame) -> bool {
        let failed = matches!(
            self.run.outcome,
            Some(FrameOutcome::Failed(_) | FrameOutcome::Aborted(_) | FrameOutcome::Cancelled)
        );
        frame.path.is_root() && failed
    }

    /// Resumes an ended frame, and those above it, because its change was accepted.
    fn resume_accepted(&mut self, path: &FramePath) {
        let above: Vec<(FramePath, FrameItem)> = self
            .run
            .failed_frames
            .iter()
            .filter(|(other, _)| path.is_within(other))
            .map(|(other, frame)| (other.clone(), frame.item.clone()))
            .collect();
        let mut taken_up = Vec::new();
        for (frame, item) in above {
            let task = match item {
                FrameItem::Task(task) => task,
                FrameItem::Phase(phase) => TaskId(phase.0),
                FrameItem::Run => continue,
            };
            taken_up.push(frame.clone());
            self.emit(Event::TaskChanged {
                frame,
                task,
                status: TaskStatus::Pending,
            });
        }
        if self.root_is_outside_tasks() && (path.is_root() || !taken_up.is_empty()) {
            self.resume_root(&taken_up);
        }
    }

    /// Returns where a frame continues after a person has accepted its change over the verdict of
    /// its current step, or of the step that sent it back for repair.
    pub(super) fn target_after_acceptance(&self, frame: &Frame) -> Option<ExitTarget> {
        if !frame.is_change_accepted() {
            return None;
        }
        let is_over = |step: &StepId| frame.acceptance.overruled_steps.contains(step);
        let last = || frame.judgements.rejections.last().map(|r| r.step.clone());
        let here = self.run.step(&frame.step)?;
        let step = match &here.kind {
            _ if is_over(&frame.step) => Some(frame.step.clone()),
            StepKind::Role(role) if self.makes_changes(role) => last().filter(is_over),
            // A leader deals with the verdict of another step. Once that no longer counts, there is
            // nothing left for it to decide.
            _ if self.is_leader_step(here) => last().filter(is_over).map(|_| frame.step.clone()),
            _ => None,
        };
        let next = self.run.step(&step?)?.next.clone();
        // Whoever leads would only decide about the verdict again that the person has overruled.
        if let ExitTarget::Step(step) = &next
            && let Some(step) = self.run.step(step)
            && self.is_leader_step(step)
        {
            return Some(step.next.clone());
        }
        Some(next)
    }

    /// Returns true if a step has a role that makes changes.
    fn makes_changes(&self, step: &RoleStep) -> bool {
        let mut roles = step
            .slots
            .iter()
            .filter_map(|name| self.run.roles.get(name));
        roles.any(|role| role.kind == RoleKind::Implementer)
    }

    /// Returns true if an implementer has a slot in a frame.
    fn is_implementing(&self, path: &FramePath) -> bool {
        let frame = self.run.frames.get(path);
        frame.is_some_and(|frame| {
            frame.slots.iter().any(|slot| match &slot.work {
                SlotWork::Role(name) => {
                    let role = self.run.roles.get(name);
                    role.is_some_and(|role| role.kind == RoleKind::Implementer)
                }
                _ => false,
            })
        })
    }
}

fn operator_name(hands: Operator) -> &'static str {
    match hands {
        Operator::Workers => "workers",
        Operator::Session => "a session",
    }
}
