//! What a run has spent: by model, role, worker and task, against its limits.

use codeteam_core::budget::BudgetLimits;
use codeteam_report::costs::CostLine;
use codeteam_report::describe::{first_line, format_money};
use codeteam_report::view::AttemptView;
use minijinja::{Value, context};

use super::PageContent;
use super::data::{CostPage, Shell};
use super::format::{format_count, format_duration, format_number};
use super::plots::{BurnLine, draw_burn};
use super::run_head::{RunLinks, RunTab, head_values};
use crate::routes::RunPlace;

/// The most rows of a table.
const MOST_ROWS: usize = 100;

pub(super) fn cost_content(shell: &Shell, page: &CostPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let costs = &page.costs;
    let most = costs.total.sum.money_microusd.unwrap_or(0);
    let sides = costs.sides().into_iter().map(|(by, lines)| {
        let rows = lines.iter().take(MOST_ROWS);
        let rows = rows.map(|line| line_values(line, most, (by == "task").then_some(links)));
        context! { by, rows => rows.collect::<Value>(), left_out => lines.len().saturating_sub(MOST_ROWS) }
    });
    let cost = &run.cost;
    let burn = burn_line(page, cost.limits.money_microusd);
    let values = context! {
        head => head_values(shell, head, RunTab::Cost),
        total => line_values(&costs.total, most, None),
        words => context! {
            attempts => cost.words.attempts.as_str(), tokens => cost.words.tokens.as_str(),
            money => cost.words.money.as_str(),
        },
        limits => limit_values(page, shell),
        reached => cost.reached_limit.map(codeteam_report::describe::limit_name),
        sides => sides.collect::<Value>(),
        burn => Value::from_safe_string(draw_burn(&burn)),
        forecast => forecast(page).map(format_money),
        progress => run.progress.as_deref(),
        timeline => links.page(RunPlace::Timeline),
        attempts => dearest(links, &page.attempts, shell),
    };
    let title = format!("Cost · {}", first_line(&run.goal));
    PageContent::new(
        "cost.html",
        title,
        &["run-head", "cost-summary", "cost-tables"],
        values,
    )
}

fn line_values(line: &CostLine, most: u64, tasks: Option<RunLinks<'_>>) -> Value {
    let sum = &line.sum;
    let money = sum.money_microusd.unwrap_or(0);
    let name = line.name.as_deref();
    context! {
        name,
        href => tasks.zip(name).map(|(links, name)| links.task(name)),
        attempts => sum.attempts,
        running => sum.running_attempts,
        input => sum.input_tokens,
        cached => sum.cached_input_tokens,
        output => sum.output_tokens,
        money => line.money.as_str(),
        unpriced => sum.unpriced_attempts,
        share => (money * 100).checked_div(most).unwrap_or(0).min(100),
    }
}

/// Returns the limits that are set, each with what is used of it.
fn limit_values(page: &CostPage, shell: &Shell) -> Vec<Value> {
    let run = &page.head.run;
    let (cost, limits): (_, &BudgetLimits) = (&run.cost, &run.cost.limits);
    let wall = if run.is_ended() {
        super::run::last_time(&page.attempts, shell.now).since(run.started_at)
    } else {
        shell.now.since(run.started_at)
    };
    let limit = |name: &'static str,
                 used: u64,
                 most: Option<u64>,
                 words: &dyn Fn(u64) -> String| {
        let most = most?;
        let share = used
            .saturating_mul(100)
            .checked_div(most)
            .unwrap_or(100)
            .min(100);
        Some(
            context! { name, used => words(used), most => words(most), share, is_near => share >= 80 },
        )
    };
    let number = |count: u64| format_number(count);
    let mebibytes = |bytes: u64| format!("{} MiB", format_number(bytes >> 20));
    [
        limit(
            "money",
            cost.money_microusd,
            limits.money_microusd,
            &format_money,
        ),
        limit("tokens", cost.tokens, limits.tokens, &number),
        limit("attempts", cost.attempts, limits.attempts, &number),
        limit("time", wall, limits.wall_ms, &format_duration),
        limit("disk", cost.disk_bytes, limits.disk_bytes, &mebibytes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns what was spent when, up to the end of the last attempt.
fn burn_line(page: &CostPage, limit: Option<u64>) -> BurnLine {
    let mut ends: Vec<(u64, u64)> = page
        .attempts
        .iter()
        .filter_map(|attempt| Some((attempt.ended_at?.0, attempt.usage.cost_microusd?)))
        .collect();
    ends.sort_unstable();
    let mut sum = 0;
    let points = ends.into_iter().map(|(at, money)| {
        sum += money;
        (at, sum)
    });
    BurnLine {
        start: page.head.run.started_at.0,
        points: points.collect(),
        limit,
    }
}

/// Estimates what the whole plan costs if the tasks to come cost as much as those that are done.
fn forecast(page: &CostPage) -> Option<u64> {
    let run = &page.head.run;
    if run.is_ended() {
        return None;
    }
    let counts = codeteam_report::view::TaskCounts::of_run(run);
    let done = u64::try_from(counts.completed).ok()?;
    let all = u64::try_from(run.tasks.len() - counts.skipped).ok()?;
    let spent = page.costs.total.sum.money_microusd?;
    // One task says too little about the others.
    (done >= 2 && all > done).then(|| spent.saturating_mul(all) / done)
}

/// Returns the attempts that cost most.
fn dearest(links: RunLinks<'_>, attempts: &[AttemptView], shell: &Shell) -> Vec<Value> {
    let mut attempts: Vec<&AttemptView> = attempts
        .iter()
        .filter(|attempt| attempt.by_worker)
        .collect();
    attempts.sort_by_key(|attempt| {
        std::cmp::Reverse((attempt.usage.cost_microusd, attempt.usage.tokens()))
    });
    let attempts = attempts.into_iter().take(10);
    attempts
        .map(|attempt| super::timeline::attempt_row(links, attempt, shell))
        .collect()
}

/// Says how many attempts have no known price.
pub(super) fn unpriced_text(count: u64) -> Option<String> {
    (count > 0).then(|| format!("{} without a known price", format_count(count, "attempt")))
}
