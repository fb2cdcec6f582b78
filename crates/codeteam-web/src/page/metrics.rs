//! Success, time and cost over the runs of a project.

use std::collections::BTreeMap;

use codeteam_core::ids::EpochMillis;
use codeteam_engine::metrics::{MetricsRow, RunMetrics};
use codeteam_report::describe::{first_line, format_money};
use minijinja::{Value, context};

use super::PageContent;
use super::cost::unpriced_text;
use super::data::{MetricsPage, Shell};
use super::format::{format_duration, format_spent};
use super::plots::{StackedBars, day_label, draw_bars};
use super::run_head::RunLinks;
use crate::routes::{Route, RunPlace};

/// Below so many, a rate says little, and the page says so.
const FEW: u64 = 10;
const DAY: u64 = 86_400_000;
/// The most steps that a plot has.
const MOST_STEPS: usize = 8;
/// Fewer days say too little about those to come.
const LEAST_DAYS: u64 = 3;
/// What is to come is estimated for so many days.
const FORECAST_DAYS: u64 = 30;

pub(super) fn metrics_content(shell: &Shell, page: &MetricsPage) -> PageContent {
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
    let times = step_times(page);
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
        forecast => forecast_cost(&page.runs, shell.now).map(format_money),
        time_plot => Value::from_safe_string(draw_bars(&times, &format_duration)),
        times => times.columns.iter().map(|(step, millis)| context! {
            step => step.as_str(), millis => millis.iter().sum::<u64>(),
        }).collect::<Value>(),
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

/// Returns how long the attempts at each step took together, for the steps that took longest.
fn step_times(page: &MetricsPage) -> StackedBars {
    let by_step = page.tables.iter().find(|table| table.by == "step");
    let rows = by_step.map_or(&[][..], |table| table.rows.as_slice());
    let mut columns: Vec<(String, Vec<u64>)> = rows
        .iter()
        .map(|row| (row.name.clone(), vec![row.total_millis]))
        .collect();
    columns.sort_by_key(|(_, millis)| std::cmp::Reverse(millis.clone()));
    columns.truncate(MOST_STEPS);
    StackedBars {
        title: "Where the time went, by step",
        series: vec!["attempts".to_owned()],
        columns,
    }
}

/// Estimates what the next thirty days cost if runs go on as they did; `None` where too few days are
/// known.
fn forecast_cost(runs: &[RunMetrics], now: EpochMillis) -> Option<u64> {
    let first = runs.iter().map(|run| run.started_at.0).min()?;
    let days = now.0.saturating_sub(first).div_ceil(DAY);
    let known: Vec<u64> = runs.iter().filter_map(run_money).collect();
    let is_enough = days >= LEAST_DAYS && !known.is_empty();
    is_enough.then(|| known.iter().sum::<u64>().saturating_mul(FORECAST_DAYS) / days)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(day: u64, money: Option<u64>) -> RunMetrics {
        RunMetrics {
            started_at: EpochMillis(day * DAY),
            spent: vec![("claude".to_owned(), money)],
            ..RunMetrics::default()
        }
    }

    #[test]
    fn a_forecast_needs_some_days_and_a_known_price() {
        let runs = [run(100, Some(4_000)), run(102, Some(6_000)), run(103, None)];
        let at = |day: u64| EpochMillis(day * DAY);
        assert_eq!(forecast_cost(&runs, at(105)), Some(10_000 * 30 / 5));
        assert_eq!(forecast_cost(&runs, at(102)), None);
        assert_eq!(forecast_cost(&runs[2..], at(110)), None);
        assert_eq!(forecast_cost(&[], at(110)), None);
    }

    #[test]
    fn the_steps_that_took_longest_are_drawn() {
        let row = |name: &str, total_millis| MetricsRow {
            name: name.to_owned(),
            total_millis,
            ..MetricsRow::default()
        };
        let page = MetricsPage {
            project: String::new(),
            days: 30,
            runs: Vec::new(),
            tables: vec![codeteam_engine::metrics::MetricsTable {
                by: "step".to_owned(),
                rows: (0..20).map(|n| row(&format!("s{n}"), n * 10)).collect(),
            }],
            rounds: Vec::new(),
        };
        let times = step_times(&page);
        assert_eq!(times.columns.len(), MOST_STEPS);
        assert_eq!(times.columns[0], ("s19".to_owned(), vec![190]));
    }
}
