//! Describes decisions that were made and not carried out yet.

use codeteam_core::ids::FramePath;
use codeteam_core::input::Decision;

use super::{first_line, rollback_point};

/// Describes a decision in a few words.
pub fn describe_decision(decision: &Decision) -> String {
    let with_note = |what: String, note: &str| match first_line(note) {
        "" => what,
        note => format!("{what}: \"{note}\""),
    };
    let place = |frame: &FramePath| {
        if frame.is_root() {
            "the run".to_owned()
        } else {
            format!("`{}`", frame.name())
        }
    };
    match decision {
        Decision::Answer {
            question,
            answer,
            note,
            ..
        } => {
            let answer = first_line(answer);
            with_note(
                format!("`{answer}` as the answer for {}", place(&question.frame)),
                note,
            )
        }
        Decision::Accept { frame, note } => {
            let of = frame.as_ref().map(|f| format!(" of {}", place(f)));
            let what = format!("accept the change{} as it is", of.unwrap_or_default());
            with_note(what, note)
        }
        Decision::Retry { frame, note, .. } => {
            let what = frame.as_ref().map(|f| format!(" {}", place(f)));
            with_note(format!("retry{}", what.unwrap_or_default()), note)
        }
        Decision::Skip { task } => format!("skip `{task}`"),
        Decision::Rollback { to, reason, .. } => {
            let point = rollback_point(to);
            with_note(format!("take the run back to {point}"), reason)
        }
        Decision::Abort { reason } => with_note("abort the run".to_owned(), reason),
        Decision::Delegate { to, note, .. } => with_note(format!("hand the vote to {to}"), note),
        Decision::Revise { .. } => "change the plan".to_owned(),
        Decision::Repin { .. } => "change the checks".to_owned(),
        Decision::RepinWorkflow { .. } => "use the changed workflow".to_owned(),
        Decision::Reassign { .. } => "hand the run over".to_owned(),
        Decision::RaiseLimits { .. } => "raise limits".to_owned(),
    }
}
