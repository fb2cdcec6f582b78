//! Notifies the user of what the events of a run mean for them.

use std::sync::Arc;

use codeteam_core::approval::TimeoutOutcome;
use codeteam_core::budget::LimitKind;
use codeteam_core::frame::{FrameOutcome, Question};
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, PersonName};
use codeteam_core::{Event, Run};
use codeteam_report::describe;
use codeteam_report::view::RunView;

use super::Driver;
use crate::notify::{
    ChannelReport, Notification, NotificationKind, NotificationQueue, NotificationWords,
    approval_commands,
};

impl Driver<'_> {
    /// Sends notifications in the background, without secrets.
    pub(super) fn notify(&mut self, notifications: Vec<Notification>) {
        for notification in notifications {
            if self.notifications.is_none() {
                let observer = Arc::clone(&self.observer);
                let on_failure = move |report: &ChannelReport| {
                    let problem = report.problem.as_deref().unwrap_or_default();
                    let channel = &report.channel;
                    observer.warn(&format!("`notify.channels.{channel}` failed: {problem}"));
                };
                let (config, env) = (&self.engine.config.notify, &self.engine.env);
                self.notifications = NotificationQueue::start(config, env, Arc::new(on_failure));
            }
            let Some(queue) = &self.notifications else {
                return;
            };
            let mut notification = notification.in_project(self.engine.repo.top_level());
            notification.redact(&self.engine.redactor);
            queue.push(notification);
        }
    }
}

/// Returns what the user should know of these events. `run` is the run after them.
pub(super) fn notifications_for(events: &[Event], run: &Run, at: EpochMillis) -> Vec<Notification> {
    let words = events.iter().filter_map(|event| words_for(event, run));
    let found = words.enumerate();
    let found =
        found.map(|(n, words)| words.notify(run, format!("{}.{}.{n}", run.id, run.seq), at));
    found.collect()
}

/// Returns what the user should know of an event, if anything.
fn words_for(event: &Event, run: &Run) -> Option<NotificationWords> {
    Some(match event {
        Event::Asked { frame, question } => return words_for_question(run, frame, question),
        Event::ApprovalTimedOut {
            question, outcome, ..
        } => return words_for_overdue(run, question, outcome),
        Event::ApprovalDelegated {
            question, from, to, ..
        } if from.person != *to => {
            let frame = question.frame.clone();
            let name = frame.name();
            let title = format!("`{name}` needs {to}, to whom {} hands a vote", from.person);
            let answers = approval_commands(run, &frame);
            NotificationWords {
                answers,
                ..NotificationWords::new(NotificationKind::NeedsYou, frame, title)
            }
        }
        Event::ApprovalVoided {
            frame, voters, why, ..
        } if !voters.is_empty() => {
            let voters: Vec<&str> = voters.iter().map(PersonName::as_str).collect();
            let title = format!(
                "`{}`: the approval by {} is void, because {why}",
                frame.name(),
                voters.join(", ")
            );
            NotificationWords::new(NotificationKind::NeedsYou, frame.clone(), title)
        }
        Event::RunEnded { outcome, .. } => return words_for_end(run, outcome),
        Event::BudgetWarned { what } | Event::LimitReached { what } => {
            let reached = matches!(event, Event::LimitReached { .. });
            let how = if reached {
                "is reached"
            } else {
                "is nearly reached"
            };
            let title = match what {
                LimitKind::Outage => describe::limit_name(*what).to_owned(),
                what => format!("the limit of {} {how}", describe::limit_name(*what)),
            };
            NotificationWords::new(NotificationKind::Limit, FramePath::root(), title)
        }
        _ => return None,
    })
}

/// Returns what to say of the end of a run.
fn words_for_end(run: &Run, outcome: &FrameOutcome) -> Option<NotificationWords> {
    let (kind, how) = match outcome {
        FrameOutcome::Completed | FrameOutcome::Skipped => {
            (NotificationKind::Done, "is done".to_owned())
        }
        FrameOutcome::Failed(why) => (NotificationKind::Failed, format!("has failed: {why}")),
        // Whoever ended it knows.
        FrameOutcome::Aborted(_) | FrameOutcome::Cancelled => return None,
    };
    let goal = describe::first_line(&run.goal);
    let title = format!("\"{goal}\" {how}");
    Some(NotificationWords::new(kind, FramePath::root(), title))
}

/// Returns what to say of a question.
fn words_for_question(
    run: &Run,
    frame: &FramePath,
    question: &Question,
) -> Option<NotificationWords> {
    let open = run.frames.get(frame).map(|frame| &frame.approval);
    let pending = open.and_then(|approval| approval.pending.as_deref());
    if pending.is_some_and(|pending| pending.timeout_ms().is_some()) {
        // The notification that the deadline counts from is sent by itself.
        return None;
    }
    let answers = if pending.is_some() {
        approval_commands(run, frame)
    } else {
        let view = RunView::new(run);
        let steps = view.steps_for_question(&question.id);
        steps.map(|step| step.command.clone()).collect()
    };
    let asked = describe::first_line(&question.text);
    let title = format!("`{}` needs you: {asked}", frame.name());
    Some(NotificationWords {
        lines: question.points.clone(),
        risk: pending.map(|pending| pending.assessment.level.as_str()),
        answers,
        ..NotificationWords::new(NotificationKind::NeedsYou, frame.clone(), title)
    })
}

/// Returns what to say of an approval that is overdue.
fn words_for_overdue(
    run: &Run,
    question: &AttemptId,
    outcome: &TimeoutOutcome,
) -> Option<NotificationWords> {
    let frame = question.frame.clone();
    let task = frame.name();
    if *outcome == TimeoutOutcome::Rejected {
        let title = format!("`{task}` was not approved in time and counts as rejected");
        return Some(NotificationWords::new(
            NotificationKind::Failed,
            frame,
            title,
        ));
    }
    let pending = run.frames.get(&frame)?.approval.pending.as_deref()?;
    let title = match outcome {
        TimeoutOutcome::Escalated(to) => {
            let names: Vec<&str> = to.iter().map(PersonName::as_str).collect();
            format!(
                "`{task}` still needs an approval: {} may give it too",
                names.join(", ")
            )
        }
        TimeoutOutcome::Reminded | TimeoutOutcome::Rejected => {
            format!("`{task}` still needs an approval")
        }
    };
    let missing = pending.missing();
    let missing = missing.iter().map(|m| format!("needs {}", m.describe()));
    Some(NotificationWords {
        lines: missing.collect(),
        risk: Some(pending.assessment.level.as_str()),
        answers: approval_commands(run, &frame),
        ..NotificationWords::new(NotificationKind::NeedsYou, frame, title)
    })
}
