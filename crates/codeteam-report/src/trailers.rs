//! The commit trailers that record where a commit came from: their names, and the functions that
//! format them.

use std::fmt::Write as _;

use codeteam_core::frame::{Frame, FrameItem};
use codeteam_core::ids::{RunId, Tree};

/// The trailers of every commit codeteam makes.
pub mod trailer {
    /// The id of the run.
    pub const RUN: &str = "Codeteam-Run";
    /// The name of the task.
    pub const TASK: &str = "Codeteam-Task";
    /// The attempt that made the change.
    pub const ATTEMPT: &str = "Codeteam-Attempt";
    /// The tree that was judged and passed.
    pub const VERIFIED: &str = "Codeteam-Verified";
    /// The tree that a person accepted despite objections, in place of `Codeteam-Verified`.
    pub const ACCEPTED: &str = "Codeteam-Accepted";
    /// The person who accepted that tree.
    pub(crate) const ACCEPTED_BY: &str = "Codeteam-Accepted-By";
}

/// Formats the trailers of a commit that stores a session's submission, which nobody has judged
/// yet.
pub fn draft_trailers(run: &RunId, task: &str, by: &str) -> String {
    format!(
        "{}: {run}\n{}: {task}\n{}: {by}\n",
        trailer::RUN,
        trailer::TASK,
        trailer::ATTEMPT
    )
}

/// Formats the trailers that let anyone, codeteam included, find out where a commit came from.
pub fn commit_trailers(
    run: &RunId,
    task: &str,
    by: &str,
    tree: &Tree,
    accepted_by: Option<&str>,
) -> String {
    let mut trailers = format!(
        "{}: {run}\n{}: {task}\n{}: {by}\n{}: {tree}\n",
        trailer::RUN,
        trailer::TASK,
        trailer::ATTEMPT,
        verdict_trailer(accepted_by),
    );
    if let Some(who) = accepted_by {
        let who: Vec<&str> = who.split_whitespace().collect();
        let _ = writeln!(trailers, "{}: {}", trailer::ACCEPTED_BY, who.join(" "));
    }
    trailers
}

/// Returns the trailer for an integrated tree. Only a tree without objections is called verified.
pub fn verdict_trailer(accepted_by: Option<&str>) -> &'static str {
    match accepted_by {
        None => trailer::VERIFIED,
        Some(_) => trailer::ACCEPTED,
    }
}

/// Returns the name of a frame in trailers. What a task commits for a change of an interface belongs to
/// the interface's phase: a commit with the task's name would say that the task is done.
pub fn task_name(frame: &Frame) -> String {
    if let Some(request) = &frame.interface_request {
        return request.phase.0.clone();
    }
    match &frame.item {
        FrameItem::Run => "run".to_owned(),
        FrameItem::Phase(phase) => phase.0.clone(),
        FrameItem::Task(task) => task.0.clone(),
    }
}
