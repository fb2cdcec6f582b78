//! Renders `ACCEPTANCE_CRITERIA.md`: the conditions that must hold when a plan is done, for people.

use std::fmt::Write as _;

use codeteam_core::plan::Plan;

use crate::report::{one_line, quoted_passage};

pub(super) fn render_criteria(plan: &Plan) -> String {
    let mut out = format!("# Acceptance Criteria: {}\n", one_line(&plan.plan_id));
    if !plan.description.trim().is_empty() {
        let _ = write!(out, "\n{}\n", quoted_passage(&plan.description));
    }
    for task in &plan.tasks {
        let headline = one_line(task.headline());
        let _ = if headline == task.id.as_str() {
            write!(out, "\n## {}\n", task.id)
        } else {
            write!(out, "\n## {}: {headline}\n", task.id)
        };
        let description = task.description.trim();
        if !description.is_empty() && one_line(description) != headline {
            let _ = write!(out, "\n{}\n", quoted_passage(description));
        }
        out.push('\n');
        if task.acceptance.is_empty() {
            out.push_str("- its checks and its reviewers pass it\n");
        }
        for line in &task.acceptance {
            let _ = writeln!(out, "- {}", one_line(line));
        }
    }
    out
}
