//! A run between a session and workers, and between a session and the person outside of it.

use super::Decider;
use crate::event::{EntryReason, Event, FrameOutcome, UnsubmittedChange};
use crate::frame::{Frame, FrameItem, FrameStage, Question, SlotState, SlotWork};
use crate::hands::Operator;
use crate::ids::{AttemptId, FramePath, StepId, TaskId};
use crate::role::RoleKind;
use crate::schedule::TaskStatus;
use crate::session;
use crate::workflow::{ExitTarget, RoleStep, StepKind};

impl Decider {
    /// What a session says in a person's name.
    pub(super) fn replied(&mut self, by: &str, id: &AttemptId, said: &str) {
        let asked = self.run.frames.get(&id.frame).and_then(|f| match &f.stage {
            FrameStage::Asking(question) if question.id == *id => Some(Question::clone(question)),
            _ => None,
        });
        let refused = match asked {
            None => Some("that question is no longer open".to_owned()),
            Some(question) => match session::reply(&question, said) {
                Ok(answer) => self.answer(by, id, &answer, "", None),
                Err(why) => Some(why),
            },
        };
        if let Some(why) = refused {
            let by = by.to_owned();
            self.emit(Event::DecisionRefused { by, why });
        }
    }

    /// Puts the run into other hands. What is under way there is begun anew here.
    pub(super) fn reassign(
        &mut self,
        by: &str,
        to: Operator,
        change: Option<&UnsubmittedChange>,
    ) -> Option<String> {
        if self.run.is_terminal() {
            return Some("the run has ended already".to_owned());
        }
        if self.run.hands == to {
            return Some(format!(
                "the run is in the hands of {to} already",
                to = said(to)
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
            let id = AttemptId { fence: 0, ..id };
            self.emit(Event::AttemptQueued { id });
        }
        let change = change.filter(|made| self.is_being_made(made));
        self.emit(Event::WorkersReassigned {
            hands: to,
            by: by.to_owned(),
            change: change.cloned().map(Box::new),
        });
        None
    }

    /// Whether an implementer was at work on what comes along, and it is something.
    fn is_being_made(&self, made: &UnsubmittedChange) -> bool {
        let Some(frame) = self.run.frames.get(&made.frame) else {
            return false;
        };
        self.is_made(&made.frame) && made.tree != frame.tree && made.tree != frame.base.tree
    }

    /// Takes a change as it is, whatever is held against it, where no question is open. It may be one
    /// that its task, or the whole run, was given up for.
    pub(super) fn accept_as_it_is(
        &mut self,
        by: &str,
        which: Option<&FramePath>,
        note: &str,
    ) -> Option<String> {
        let live = self.run.frames.values();
        let frames = live.filter(|f| !f.is_ended() || self.was_given_up(f));
        let held: Vec<&Frame> = frames
            .chain(self.run.failed.values())
            .filter(|f| which.is_none_or(|which| f.path == *which))
            .filter(|f| !f.held_against().is_empty())
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
        let over = self.overruled(&path);
        let judging = over.contains(&frame.step);
        if is_over && self.run.is_terminal() {
            self.emit(Event::RunReopened { at: self.at });
        }
        self.emit(Event::Accepted {
            frame: path.clone(),
            by: by.to_owned(),
            note: note.to_owned(),
            over,
        });
        if is_over {
            self.take_up_accepted(&path);
        } else if !judging && self.is_made(&path) {
            // Whoever was to repair it need not; it goes on behind the step that sent it back.
            let frame = self.run.frames.get(&path)?;
            if let Some(next) = self.behind_accepted(frame) {
                self.go(&path, &next, EntryReason::Answered);
            }
        }
        None
    }

    /// Whether the run's own frame ended without coming to its end.
    fn was_given_up(&self, frame: &Frame) -> bool {
        let failed = matches!(
            self.run.outcome,
            Some(FrameOutcome::Failed(_) | FrameOutcome::Aborted(_) | FrameOutcome::Cancelled)
        );
        frame.path.is_root() && failed
    }

    /// Takes up a frame that had ended, with those above it: its change was accepted.
    fn take_up_accepted(&mut self, path: &FramePath) {
        let above: Vec<(FramePath, FrameItem)> = self
            .run
            .failed
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
        if self.root_is_elsewhere() && (path.is_root() || !taken_up.is_empty()) {
            self.take_up_root(&taken_up);
        }
    }

    /// Where a frame goes on whose change a person has accepted over the step that it is at, or over
    /// the one that sent it back to be repaired.
    pub(super) fn behind_accepted(&self, frame: &Frame) -> Option<ExitTarget> {
        let patch = frame.change.as_ref().map(|change| &change.patch);
        if patch.is_none() || frame.accepted.as_ref() != patch {
            return None;
        }
        let is_over = |step: &StepId| frame.gone_over.contains(step);
        let last = || frame.record.rejections.last().map(|r| r.step.clone());
        let step = match &self.run.step(&frame.step)?.kind {
            _ if is_over(&frame.step) => Some(frame.step.clone()),
            StepKind::Role(role) if self.makes(role) => last().filter(is_over),
            _ => None,
        };
        Some(self.run.step(&step?)?.next.clone())
    }

    /// Whether a step's role makes changes.
    fn makes(&self, step: &RoleStep) -> bool {
        let mut roles = step
            .slots
            .iter()
            .filter_map(|name| self.run.roles.get(name));
        roles.any(|role| role.kind == RoleKind::Implementer)
    }

    /// Whether an implementer is at work in a frame.
    fn is_made(&self, path: &FramePath) -> bool {
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

fn said(hands: Operator) -> &'static str {
    match hands {
        Operator::Workers => "workers",
        Operator::Session => "a session",
    }
}
