//! What a person decides.

use super::Decider;
use crate::event::{Entry, Event, Outcome};
use crate::frame::{Item, Question, QuestionKind, Stage};
use crate::ids::{AttemptId, FramePath, TaskId};
use crate::input::Decision;
use crate::plan::Plan;
use crate::schedule::Status;
use crate::workflow::{StepKind, Target};

impl Decider {
    pub(super) fn decided(&mut self, by: &str, decision: &Decision) {
        let refused = match decision {
            Decision::Answer {
                question,
                answer,
                note,
            } => self.answer(by, question, answer, note),
            Decision::Abort { reason } => self.abort(reason),
            Decision::Retry { frame, note } => self.retry(by, frame.as_ref(), note),
            Decision::Skip { task } => self.skip(task),
            Decision::RaiseLimits { limits } => {
                self.emit(Event::LimitsRaised { limits: *limits });
                None
            }
        };
        if let Some(why) = refused {
            self.emit(Event::DecisionRefused {
                by: by.to_owned(),
                why,
            });
        }
    }

    fn answer(&mut self, by: &str, id: &AttemptId, answer: &str, note: &str) -> Option<String> {
        let asked = self.run.frames.get(&id.frame).and_then(|f| match &f.stage {
            Stage::Asking(question) if question.id == *id => Some(Question::clone(question)),
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
        let chosen = self.chosen(&question, answer);
        let resets = match question.kind {
            QuestionKind::Exhausted => answer == "continue",
            _ => chosen.as_ref().is_some_and(|(_, _, resets)| *resets),
        };
        self.emit(Event::Answered {
            frame: id.frame.clone(),
            question: id.clone(),
            answer: answer.to_owned(),
            note: note.to_owned(),
            by: by.to_owned(),
            resets,
            rejects: chosen.as_ref().is_some_and(|(_, rejects, _)| *rejects),
        });
        self.follow(&question, answer, chosen.map(|(next, ..)| next));
        None
    }

    /// Where an answer leads, whether it rejects and whether it starts counting anew.
    fn chosen(&self, question: &Question, answer: &str) -> Option<(Target, bool, bool)> {
        match &self.run.step(&question.id.step)?.kind {
            StepKind::Person { answers, .. } => {
                let answer = answers.iter().find(|a| a.name == answer)?;
                Some((answer.next.clone(), answer.rejects, answer.resets))
            }
            _ => None,
        }
    }

    fn follow(&mut self, question: &Question, answer: &str, next: Option<Target>) {
        let frame = &question.id.frame;
        let here = Target::Step(question.id.step.clone());
        match (question.kind, answer) {
            (QuestionKind::Step | QuestionKind::Rebound, _) => {
                if let Some(next) = next {
                    self.go(frame, &next, Entry::Answered);
                }
            }
            (QuestionKind::Analyst, _) => {
                let asked = self.run.frames.get(frame).map_or(0, |f| f.question_rounds);
                let max = match self.run.step(&question.id.step).map(|s| &s.kind) {
                    Some(StepKind::Role(role)) => role.max_question_rounds,
                    _ => 1,
                };
                if asked < max {
                    self.go(frame, &here, Entry::Answered);
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
                self.go(frame, &again, Entry::Answered);
            }
            (QuestionKind::Exhausted, "skip") => self.end_frame(frame, Outcome::Skipped),
            (QuestionKind::Degraded, "accept") | (QuestionKind::Interrupted, "again") => {
                self.go(frame, &here, Entry::Answered);
            }
            (QuestionKind::Interrupted, "done") => self.next(frame),
            _ => self.fail_frame(frame, "a person gave it up"),
        }
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
        self.end_frame(&FramePath::root(), Outcome::Aborted(reason.to_owned()));
        None
    }

    fn retry(&mut self, by: &str, which: Option<&FramePath>, note: &str) -> Option<String> {
        let failed: Vec<(FramePath, Item)> = self
            .run
            .failed
            .iter()
            .filter(|(path, _)| which.is_none_or(|w| w == *path))
            .map(|(path, frame)| (path.clone(), frame.item.clone()))
            .collect();
        let root_failed = matches!(
            self.run.outcome,
            Some(Outcome::Failed(_) | Outcome::Aborted(_) | Outcome::Cancelled)
        );
        if failed.is_empty() && (which.is_some_and(|w| !w.is_root()) || !root_failed) {
            return Some("nothing there has failed".to_owned());
        }
        if self.run.is_terminal() {
            self.emit(Event::RunReopened { at: self.at });
        }
        let tasks: Vec<(FramePath, TaskId)> = failed
            .into_iter()
            .filter_map(|(path, item)| match item {
                Item::Task(task) => Some((path, task)),
                Item::Phase(phase) => Some((path, TaskId(phase.0))),
                Item::Run => None,
            })
            .collect();
        let nothing_below = tasks.is_empty();
        for (frame, task) in tasks {
            self.emit(Event::TaskChanged {
                frame,
                task,
                status: Status::Pending,
            });
        }
        let root = FramePath::root();
        let working = self
            .run
            .frames
            .get(&root)
            .is_some_and(|f| f.stage == Stage::Working);
        if nothing_below && working {
            let again = self
                .run
                .frames
                .get(&root)
                .map(|frame| self.take_up_at(frame));
            if let Some(again) = again {
                self.go(&root, &again, Entry::Resumed);
            }
        }
        self.tell(by, which, note);
        None
    }

    /// Passes on what a person wants the next worker to know.
    fn tell(&mut self, by: &str, which: Option<&FramePath>, note: &str) {
        if note.trim().is_empty() {
            return;
        }
        self.open_now();
        let path = which.cloned().unwrap_or_else(FramePath::root);
        if let Some(frame) = self.run.frames.get(&path) {
            let (frame, step) = (frame.path.clone(), frame.step.clone());
            self.emit(Event::NoteGiven {
                frame,
                from: step,
                by: by.to_owned(),
                text: note.to_owned(),
            });
        }
    }

    /// Lets reopened frames start, so that a note finds them.
    fn open_now(&mut self) {
        self.settle();
    }

    fn skip(&mut self, task: &TaskId) -> Option<String> {
        if self.run.task(task).is_none() {
            return Some(format!("there is no task `{task}`"));
        }
        let status = self.run.task_status(task);
        if status.satisfies() {
            return Some(format!("task `{task}` is {} already", status.as_str()));
        }
        let active = self
            .run
            .frames
            .values()
            .find(|f| f.item == Item::Task(task.clone()))
            .map(|f| f.path.clone());
        if let Some(path) = active {
            self.end_frame(&path, Outcome::Skipped);
            return None;
        }
        if self.run.is_terminal() {
            self.emit(Event::RunReopened { at: self.at });
        }
        let frame = FramePath::root().child(task.as_str());
        self.emit(Event::TaskChanged {
            frame,
            task: task.clone(),
            status: Status::Skipped,
        });
        None
    }

    pub(super) fn plan_edited(&mut self, by: &str, plan: &Plan) {
        let mut wrong: Vec<String> = plan
            .check(self.run.max_tasks)
            .iter()
            .map(ToString::to_string)
            .collect();
        wrong.extend(self.changed_history(plan));
        if self.run.is_terminal() {
            wrong.push("the run has ended".to_owned());
        }
        if wrong.is_empty() {
            if self.run.plan.as_deref() != Some(plan) {
                self.emit(Event::PlanRevised {
                    plan: Box::new(plan.clone()),
                });
            }
        } else {
            let why = format!("the plan cannot be changed like that: {}", wrong.join("; "));
            self.emit(Event::DecisionRefused {
                by: by.to_owned(),
                why,
            });
        }
    }
}
