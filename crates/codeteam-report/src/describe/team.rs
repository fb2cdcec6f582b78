//! Describes what a team decides: who carries out which task, scores, and what a leader does.

use std::fmt::Write as _;

use codeteam_core::Event;
use codeteam_core::ids::RoleName;
use codeteam_core::team::{Intervention, RoleAssignment};

use super::first_line;

/// Describes an event of a team; returns `None` for any other event.
pub(super) fn team_text(event: &Event) -> Option<String> {
    Some(match event {
        Event::QualityScored {
            score,
            threshold,
            passed,
            ..
        } => {
            let much = if *passed { "enough" } else { "too little" };
            let points = score.overall_score;
            format!("{points} points are {much}: {threshold} are needed")
        }
        Event::TeamAssembled { assignments, .. } => assembly_text(assignments),
        Event::Intervened { .. } => intervention_text(event)?,
        _ => return None,
    })
}

fn assembly_text(assignments: &[RoleAssignment]) -> String {
    let mut text = "the team is assembled:".to_owned();
    for one in assignments {
        let roles: Vec<&str> = one.roles.iter().map(RoleName::as_str).collect();
        let (task, why) = (&one.task, first_line(&one.reason));
        let _ = write!(text, "\n- {task}: {} ({why})", roles.join(", then "));
    }
    text
}

/// Describes what a leader decided, with the difference it makes to the task.
fn intervention_text(event: &Event) -> Option<String> {
    let Event::Intervened {
        intervention,
        reason,
        by_rule,
        refined,
        help,
        ends_run,
        ..
    } = event
    else {
        return None;
    };
    let mut text = match intervention {
        Intervention::Continue => "the result is good enough to build on".to_owned(),
        Intervention::Retry => "it is tried again".to_owned(),
        Intervention::Enhance => "the task is refined and tried again".to_owned(),
        Intervention::Escalate => match help {
            Some(help) => format!("{} helps: {}", help.role, first_line(&help.request)),
            None => "no role can help".to_owned(),
        },
        Intervention::Terminate if *ends_run => "the run is ended".to_owned(),
        Intervention::Terminate => "the task is given up".to_owned(),
    };
    if *by_rule {
        text.push_str(", by rule");
    }
    let _ = write!(text, " ({}: {})", intervention.as_str(), first_line(reason));
    if let Some(refined) = refined {
        let (dropped, all) = (
            refined.dropped_criteria().count(),
            refined.old_acceptance.len(),
        );
        if dropped > 0 {
            let _ = write!(text, "; {dropped} of {all} criteria no longer count");
        }
        if refined.old_description != refined.description {
            push_difference(
                &mut text,
                &[refined.old_description.as_str()],
                &[refined.description.as_str()],
            );
        }
        let (old, new) = (&refined.old_acceptance, &refined.acceptance);
        let gone: Vec<&str> = refined.dropped_criteria().map(String::as_str).collect();
        let added: Vec<&str> = new
            .iter()
            .filter(|c| !old.contains(c))
            .map(String::as_str)
            .collect();
        push_difference(&mut text, &gone, &added);
    }
    Some(text)
}

/// Lists what is gone and what is new, as in a diff.
fn push_difference(text: &mut String, gone: &[&str], added: &[&str]) {
    for (mark, lines) in [('-', gone), ('+', added)] {
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            let _ = write!(text, "\n{mark} {}", line.trim());
        }
    }
}
