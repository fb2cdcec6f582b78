//! A run between a session and workers, and between a session and the person outside of it.

use super::Decider;
use crate::event::{Entry, Event, Unsubmitted};
use crate::frame::{Question, SlotState, Stage, Work};
use crate::hands::Hands;
use crate::ids::{AttemptId, FramePath};
use crate::role::Kind;
use crate::session;

impl Decider {
    /// What a session says in a person's name.
    pub(super) fn replied(&mut self, by: &str, id: &AttemptId, said: &str) {
        let asked = self.run.frames.get(&id.frame).and_then(|f| match &f.stage {
            Stage::Asking(question) if question.id == *id => Some(Question::clone(question)),
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
        to: Hands,
        change: Option<&Unsubmitted>,
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
        if let (Hands::Workers, Some(role)) = (to, idle) {
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
            .filter(|slot| slot.state == SlotState::Running && matches!(slot.work, Work::Role(_)))
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
    fn is_being_made(&self, made: &Unsubmitted) -> bool {
        let Some(frame) = self.run.frames.get(&made.frame) else {
            return false;
        };
        self.is_made(&made.frame) && made.tree != frame.tree && made.tree != frame.base.tree
    }

    /// Takes a change as it is, whatever is held against it, where no question is open.
    pub(super) fn accept_as_it_is(
        &mut self,
        by: &str,
        which: Option<&FramePath>,
        note: &str,
    ) -> Option<String> {
        let held: Vec<FramePath> = self
            .run
            .frames
            .values()
            .filter(|f| !f.is_ended() && which.is_none_or(|which| f.path == *which))
            .filter(|f| !f.held_against().is_empty())
            .map(|f| f.path.clone())
            .collect();
        let path = match held.as_slice() {
            [path] => path.clone(),
            [] => return Some("nothing is held against a change there".to_owned()),
            several => {
                let names: Vec<String> = several.iter().map(|f| format!("`{f}`")).collect();
                return Some(format!("say whose change: {}", names.join(", ")));
            }
        };
        let frame = self.run.frames.get(&path)?;
        if let Stage::Asking(_) = frame.stage {
            return Some("a question about it is open; answer that".to_owned());
        }
        let over = self.overruled(&path);
        let last = frame.record.rejections.last().map(|r| r.step.clone());
        let judging = over.contains(&frame.step);
        self.emit(Event::Accepted {
            frame: path.clone(),
            by: by.to_owned(),
            note: note.to_owned(),
            over: over.clone(),
        });
        // Whoever was to mend it need not; it goes on behind the step that sent it back.
        let behind = last.filter(|step| over.contains(step) && !judging);
        let next = behind.and_then(|step| Some(self.run.step(&step)?.next.clone()));
        if let Some(next) = next
            && self.is_made(&path)
        {
            self.go(&path, &next, Entry::Answered);
        }
        None
    }

    /// Whether an implementer is at work in a frame.
    fn is_made(&self, path: &FramePath) -> bool {
        let frame = self.run.frames.get(path);
        frame.is_some_and(|frame| {
            frame.slots.iter().any(|slot| match &slot.work {
                Work::Role(name) => {
                    let role = self.run.roles.get(name);
                    role.is_some_and(|role| role.kind == Kind::Implementer)
                }
                _ => false,
            })
        })
    }
}

fn said(hands: Hands) -> &'static str {
    match hands {
        Hands::Workers => "workers",
        Hands::Session => "a session",
    }
}
