//! Converts what a member of a team is told into the values of template variables.

use codeteam_core::assignment::{Assignment, TaskSpending};
use codeteam_core::budget::Spending;
use codeteam_core::team::TaskQuality;
use serde_json::{Value, json};

use super::filters;

/// Sets the variables about roles to choose from, scores and interventions.
pub(super) fn put_team(assignment: &Assignment, put: &mut impl FnMut(&str, Value)) {
    let team = &assignment.team;
    let roles = team.roles.iter().map(|role| {
        let cost = role.max_cost_microusd.map(dollars).unwrap_or_default();
        json!({
            "name": role.name, "description": role.description, "kind": role.kind,
            "tools": role.tools, "strengths": role.strengths, "workers": role.workers,
            "model": role.model.as_deref().unwrap_or(""), "cost": cost,
            "price": role.price.as_deref().unwrap_or(""),
        })
    });
    put("roles", roles.collect());
    let upstream = assignment.earlier.upstream.iter().map(|result| {
        json!({
            "task": result.task, "title": result.title, "roles": result.roles,
            "summary": result.summary, "shortened": result.shortened, "notes": result.notes,
            "files": result.files,
            "full_text_file": result.full_text_file.as_deref().unwrap_or(""),
        })
    });
    put("upstream", upstream.collect());
    let contributions = assignment.earlier.contributions.iter().map(|one| {
        json!({
            "role": one.role, "summary": one.summary, "notes": one.notes, "files": one.files,
        })
    });
    put("contributions", contributions.collect());
    put("unassigned", json!(team.unassigned));
    put("next_roles", json!(team.next_roles));
    put("quality", quality(assignment, team.quality.as_ref()));
    let failure = team.failure.as_ref();
    let failure = failure.map(|failure| format!("`{}` failed: {}", failure.step, failure.message));
    put("failure", json!(failure.unwrap_or_default()));
    let decided = team.interventions.iter().map(|one| {
        let by = if one.by_rule { ", by rule" } else { "" };
        let (what, round) = (one.intervention.as_str(), one.round);
        format!("{what} (round {round}{by}): {}", one.reason.trim())
    });
    put("interventions", decided.collect());
    let left = team.interventions_left.iter();
    let left = left.map(|(own, count)| match (own, count) {
        (own, 0) => format!("`{}`: not any more", own.as_str()),
        (own, 1) => format!("`{}`: once", own.as_str()),
        (own, count) => format!("`{}`: {count} times", own.as_str()),
    });
    put("interventions_left", left.collect());
    put("unscored", json!(team.unscored.as_deref().unwrap_or("")));
    put("dropped_criteria", json!(team.dropped_criteria));
    let waiting = team.waiting.iter();
    let waiting = waiting.map(|one| json!({ "task": one.task, "title": one.title }));
    put("waiting", waiting.collect());
    put("spent", json!(team.spent.map(spent).unwrap_or_default()));
}

fn quality(assignment: &Assignment, quality: Option<&TaskQuality>) -> Value {
    let Some(quality) = quality else {
        return json!({
            "overall_score": "", "threshold": "", "criteria": [], "issues": [], "suggestions": [],
        });
    };
    let named = assignment.task.iter().flat_map(|task| &task.acceptance);
    let named: Vec<&String> = named.collect();
    let criteria = quality.score.criteria_scores.iter().map(|one| {
        let at = (one.criterion as usize).checked_sub(1);
        let name = at.and_then(|at| named.get(at));
        let name = name.map_or_else(
            || format!("criterion {}", one.criterion),
            |name| filters::name(name),
        );
        match one.reason.trim() {
            "" => format!("{}: {name}", one.score),
            reason => format!("{}: {name} ({reason})", one.score),
        }
    });
    json!({
        "overall_score": quality.score.overall_score, "threshold": quality.threshold,
        "criteria": criteria.collect::<Value>(), "issues": quality.score.issues,
        "suggestions": quality.score.suggestions,
    })
}

/// Describes what a task and its run have cost so far. Money is only known where prices are.
fn spent(so_far: TaskSpending) -> String {
    let amount = |spent: Spending| match spent.money_microusd {
        0 => format!("{} tokens", spent.tokens),
        money => format!("${} and {} tokens", dollars(money), spent.tokens),
    };
    let limit = match so_far.limit_microusd {
        Some(limit) => format!("; the run may cost ${}", dollars(limit)),
        None => String::new(),
    };
    let (task, run) = (amount(so_far.task), amount(so_far.run));
    format!("{task} for this task, {run} for the whole run{limit}")
}

fn dollars(microusd: u64) -> String {
    format!(
        "{}.{:02}",
        microusd / 1_000_000,
        microusd % 1_000_000 / 10_000
    )
}
