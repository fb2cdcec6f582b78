//! Notifies people of a pending approval, before the time to object runs.

use codeteam_core::approval::PendingApproval;
use codeteam_core::ids::AttemptId;
use codeteam_core::input::Input;
use codeteam_core::run::Run;

use super::{Job, JobContext};
use crate::clock::now;
use crate::notify::{self, Notification, NotificationKind, NotificationWords};

/// What to send about a pending approval.
#[derive(Clone, Debug)]
pub struct ApprovalNotice {
    /// The notification.
    pub notification: Notification,
    /// The channels by which people must be notified, by name or kind. Any, if there are none.
    pub channels: Vec<String>,
}

/// Makes the notice about a pending approval.
pub(super) fn approval_notice(run: &Run, question: &AttemptId) -> Option<ApprovalNotice> {
    let frame = run.frames.get(&question.frame)?;
    let pending = frame.approval.pending.as_deref()?;
    let requirements = pending.assessment.requirements.iter();
    let mut channels: Vec<String> = requirements.filter_map(|r| r.channel.clone()).collect();
    channels.dedup();
    Some(ApprovalNotice {
        notification: notification(run, question, pending),
        channels,
    })
}

fn notification(run: &Run, question: &AttemptId, pending: &PendingApproval) -> Notification {
    let task = question.frame.name();
    let level = pending.assessment.level.as_str();
    let minutes = pending.timeout_ms().unwrap_or_default().div_ceil(60_000);
    let mut lines = pending.assessment.reasons.clone();
    lines.push(format!(
        "It goes on in {minutes} min unless somebody rejects it."
    ));
    let words = NotificationWords {
        lines,
        risk: Some(level),
        answers: notify::approval_commands(run, &question.frame),
        ..NotificationWords::new(
            NotificationKind::NeedsYou,
            question.frame.clone(),
            format!("A change of {level} risk in `{task}` goes on in {minutes} min"),
        )
    };
    words.notify(run, format!("{}.{}", run.id, question.fence), now())
}

/// Sends a notice and reports by which channels it was delivered. It never fails: where nothing was
/// delivered, the change waits for a person.
pub(super) fn send_notice(job: &Job, notice: &ApprovalNotice, context: &JobContext<'_>) -> Input {
    let engine = context.engine;
    let notification = notice.notification.clone();
    let mut notification = notification.in_project(engine.repo.top_level());
    notification.redact(&engine.redactor);
    let channels = engine.config.notify.channels_for(notification.kind);
    let is_meant = |own: &str, channel: &notify::ChannelConfig| {
        let mut names = notice.channels.iter();
        notice.channels.is_empty() || names.any(|name| channel.is_meant_by(own, name))
    };
    let channels = channels.filter(|(own, channel)| is_meant(own, channel));
    let reports = notify::deliver(&engine.env, channels, &notification);
    let mut delivered = Vec::new();
    for report in reports {
        match report.problem {
            None => delivered.push(report.channel),
            Some(problem) => {
                let line = format!("the channel `{}` failed: {problem}", report.channel);
                (context.lines)(&job.id, &line);
            }
        }
    }
    if delivered.is_empty() {
        let told = "nobody could be notified, so the change waits until a person approves it";
        (context.lines)(&job.id, told);
    }
    Input::Notified {
        at: now(),
        id: job.id.clone(),
        channels: delivered,
    }
}
