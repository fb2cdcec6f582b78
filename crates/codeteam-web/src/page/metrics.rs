//! Success, time and cost over the runs of a project.

use std::collections::BTreeMap;

use codeteam_core::ids::EpochMillis;
use codeteam_engine::metrics::{MetricsRow, RunMetrics};
use codeteam_report::describe::{first_line, format_money};
use minijinja::{Value, context};

use super::PageContent;
use super::cost::unpriced_text;
use super::data::MetricsPage;
use super::format::format_spent;
use super::plots::{StackedBars, day_label, draw_bars};
use super::run_head::RunLinks;
use crate::routes::{Route, RunPlace};

/// Below so many, a rate says little, and the page says so.
const FEW: u64 = 10;
const DAY: u64 = 86_400_000;

pub(super) fn metrics_content(page: &MetricsPage) -> PageContent {
    let tables = page.tables.iter().map(|table| {
        let rows = table.rows.iter().map(row_values);
        context! { by => table.by.as_str(), rows => rows.collect::<Value>() }
    });
    let number = |count: u64| count.to_string();
    let here = Route::Metrics {
        project: page.project.clone(),
    }
    .to_string();
    let spans = [(7, "7 days"), (30, "30 days"), (0, "all")].map(|(days, label)| {
        context! { label, href => format!("{here}?days={days}"), is_here => days == page.days }
    });
    let costs = daily_costs(&page.runs);
    let success = weekly_success(&page.runs);
    let rounds = StackedBars {
        title: "Rounds that tasks took",
        series: vec!["tasks".to_owned()],
        columns: page
            .rounds
            .iter()
            .map(|(rounds, tasks)| (rounds.to_string(), vec![*tasks]))
            .collect(),
    };
    let runs = page
        .runs
        .iter()
        .rev()
        .take(50)
        .map(|run| run_values(&page.project, run));
    let values = context! {
        spans => spans.to_vec(),
        run_count => page.runs.len(),
        totals => total_values(&page.runs),
        cost_plot => Value::from_safe_string(draw_bars(&costs, &format_money)),
        cost_series => costs.series.clone(),
        success_plot => Value::from_safe_string(draw_bars(&success, &number)),
        round_plot => Value::from_safe_string(draw_bars(&rounds, &number)),
        rounds => page.rounds.iter().map(|(rounds, tasks)| context! { rounds => *rounds, tasks => *tasks }).collect::<Value>(),
        tables => tables.collect::<Value>(),
        runs => runs.collect::<Value>(),
    };
    PageContent::new("metrics.html", "Metrics", &["metrics-body"], values)
}

fn row_values(row: &MetricsRow) -> Value {
    context! {
        name => row.name.as_str(),
        count => row.count,
        succeeded => row.succeeded,
        percent => (row.succeeded * 100).checked_div(row.count),
        is_few => row.count < FEW,
        retried => row.retried,
        median => row.median_millis,
        p90 => row.p90_millis,
        tokens => row.tokens,
        money => format_spent(row.microusd),
        unpriced => unpriced_text(row.unpriced),
    }
}

fn run_values(project: &str, run: &RunMetrics) -> Value {
    context! {
        href => RunLinks::new(project, &run.run).page(RunPlace::Overview),
        goal => first_line(&run.goal),
        state => match run.has_succeeded {
            Some(true) => "done",
            Some(false) => "failed",
            None => "working",
        },
        status => run.status.as_str(),
        started => run.started_at.0,
        tokens => run.tokens,
        money => format_spent(run_money(run)),
    }
}

fn run_money(run: &RunMetrics) -> Option<u64> {
    let known: Vec<u64> = run.spent.iter().filter_map(|(_, money)| *money).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

fn total_values(runs: &[RunMetrics]) -> Value {
    let ended = runs
        .iter()
        .filter(|run| run.has_succeeded.is_some())
        .count();
    let succeeded = runs
        .iter()
        .filter(|run| run.has_succeeded == Some(true))
        .count();
    let money: Vec<u64> = runs.iter().filter_map(run_money).collect();
    context! {
        ended, succeeded,
        percent => (succeeded * 100).checked_div(ended),
        money => format_spent((!money.is_empty()).then(|| money.iter().sum())),
        tokens => runs.iter().map(|run| run.tokens).sum::<u64>(),
    }
}

/// Returns what was spent on each day, by worker.
fn daily_costs(runs: &[RunMetrics]) -> StackedBars {
    let spent = runs
        .iter()
        .flat_map(|run| run.spent.iter().map(move |spent| (run, spent)));
    let mut workers: Vec<String> = Vec::new();
    let mut days: BTreeMap<u64, BTreeMap<usize, u64>> = BTreeMap::new();
    for (run, (worker, money)) in spent {
        let Some(money) = money else { continue };
        let at = workers
            .iter()
            .position(|known| known == worker)
            .unwrap_or_else(|| {
                workers.push(worker.clone());
                workers.len() - 1
            });
        let day = days.entry(run.started_at.0 / DAY).or_default();
        *day.entry(at).or_default() += money;
    }
    let columns = days.into_iter().map(|(day, parts)| {
        let parts = (0..workers.len()).map(|at| parts.get(&at).copied().unwrap_or(0));
        (day_label(EpochMillis(day * DAY)), parts.collect())
    });
    StackedBars {
        title: "Cost a day, by worker",
        columns: columns.collect(),
        series: workers,
    }
}

/// Returns how many runs of each week succeeded and how many did not.
fn weekly_success(runs: &[RunMetrics]) -> StackedBars {
    let mut weeks: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for run in runs {
        if let Some(has_succeeded) = run.has_succeeded {
            // The first day of the epoch was a Thursday.
            let week = (run.started_at.0 / DAY + 3) / 7;
            let counts = weeks.entry(week).or_default();
            counts[usize::from(!has_succeeded)] += 1;
        }
    }
    let columns = weeks.into_iter().map(|(week, counts)| {
        let monday = (week * 7).saturating_sub(3) * DAY;
        (day_label(EpochMillis(monday)), counts.to_vec())
    });
    StackedBars {
        title: "Runs that succeeded and that did not, by week",
        series: vec!["succeeded".to_owned(), "did not".to_owned()],
        columns: columns.collect(),
    }
}
