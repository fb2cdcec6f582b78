//! Describes how a run was taken back, in words.

use codeteam_core::rollback::{RollbackPoint, RollbackRequest, RollbackTarget};

pub(super) fn rollback_line(request: &RollbackRequest) -> String {
    let reason = match request.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({})", super::first_line(reason)),
    };
    let point = rollback_point(&request.plan.to);
    let again = count_words(request.plan.tasks.len(), "task");
    format!(
        "{} takes it back to {point}{reason}: {again} to do again",
        request.by
    )
}

pub(super) fn rolled_back_line(request: &RollbackRequest) -> String {
    let plan = &request.plan;
    let at = super::short_id(&plan.tip.commit.0);
    let gone = match plan.commits.len() {
        0 => return format!("taken back: the branch is at {at} as before"),
        gone => count_words(gone, "commit"),
    };
    format!("taken back: the branch is at {at} now; {gone} are kept beside it")
}

/// Describes the moment that a run is taken back to.
pub fn rollback_point(to: &RollbackPoint) -> String {
    let when = if to.before { "before" } else { "after" };
    match &to.target {
        RollbackTarget::Task(task) => format!("where it was {when} {task}"),
        RollbackTarget::Phase(phase) => format!("where it was {when} the phase {phase}"),
        RollbackTarget::Event(event) => format!("where it was {when} event {event}"),
    }
}

fn count_words(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}
