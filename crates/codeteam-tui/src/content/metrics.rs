//! Success, time and cost over the runs of the project.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::ids::EpochMillis;
use codeteam_engine::metrics::{
    DEFAULT_DAYS, MetricsRow, MetricsTable, ProjectMetrics, RunMetrics, WorkerSuccess,
};
use codeteam_report::describe::{format_day, format_money};
use codeteam_report::report::{ScreenLine, TextTone};

use super::{field, line, span};
use crate::state::App;
use crate::text::{clean, count, duration, matches, pad};

/// Below so many attempts a rate says little, and is marked.
const FEW: u64 = 10;
/// So many of the last days on which something was spent are listed.
const MOST_DAYS: usize = 14;
const DAY: u64 = 86_400_000;

/// Returns what was counted over all runs.
pub(crate) fn metrics_lines(app: &App, columns: usize, filter: &str) -> Vec<ScreenLine> {
    let metrics = match &app.metrics {
        None => return vec![line(TextTone::Faint, "counting the runs …")],
        Some(Err(why)) => return vec![line(TextTone::Bad, clean(why))],
        Some(Ok(metrics)) => metrics,
    };
    if metrics.runs.is_empty() {
        let text = format!("no run began within the last {DEFAULT_DAYS} days");
        return vec![line(TextTone::Faint, text)];
    }
    let mut lines = total_lines(metrics, columns);
    for table in &metrics.tables {
        lines.extend(table_lines(table, filter, columns));
    }
    lines.extend(success_lines(&metrics.by_step_and_worker, filter, columns));
    lines.extend(day_lines(&metrics.runs, columns));
    lines.extend(round_lines(&metrics.rounds, columns));
    lines
}

fn total_lines(metrics: &ProjectMetrics, columns: usize) -> Vec<ScreenLine> {
    let ended = |wanted: Option<bool>| {
        let runs = metrics.runs.iter();
        runs.filter(|run| run.has_succeeded == wanted).count()
    };
    let (done, failed, open) = (ended(Some(true)), ended(Some(false)), ended(None));
    let runs = format!(
        "{} of the last {DEFAULT_DAYS} days: {done} done, {failed} failed, {open} not ended",
        count(metrics.runs.len(), "run")
    );
    let mut lines = field("runs", TextTone::Strong, &runs, columns);
    let money = metrics.runs.iter().filter_map(run_money);
    let tokens: u64 = metrics.runs.iter().map(|run| run.tokens).sum();
    let known: Vec<u64> = money.collect();
    let money = match known.as_slice() {
        [] => "no price is known".to_owned(),
        known => format_money(known.iter().sum()),
    };
    let spent = format!("{money}, {tokens} tokens");
    lines.extend(field("spent", TextTone::Plain, &spent, columns));
    lines
}

fn run_money(run: &RunMetrics) -> Option<u64> {
    let known: Vec<u64> = run.spent.iter().filter_map(|(_, money)| *money).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

fn table_lines(table: &MetricsTable, filter: &str, columns: usize) -> Vec<ScreenLine> {
    let rows = table.rows.iter().filter(|row| matches(&row.name, filter));
    let rows: Vec<&MetricsRow> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    // Where there is no room for all numbers, success and money are what matters.
    let is_narrow = columns < 70;
    let numbers_columns = if is_narrow { 39 } else { 58 };
    let name_columns = columns.saturating_sub(numbers_columns).clamp(12, 30);
    let numbers = |[ended, success, again, median, most, money]: [&str; 6]| {
        if is_narrow {
            format!(" {ended:>5} {success:>8} {median:>9} {money:>12}")
        } else {
            format!(" {ended:>5} {success:>8} {again:>7} {median:>9} {most:>9} {money:>12}")
        }
    };
    let heads = ["ended", "success", "again", "median", "90 %", "money"];
    let mut lines = vec![
        Vec::new(),
        vec![
            span(
                TextTone::Strong,
                pad(&format!("by {}", table.by), name_columns),
            ),
            span(TextTone::Faint, numbers(heads)),
        ],
    ];
    for row in rows {
        let money = match (row.microusd, row.unpriced) {
            (None, _) => "unknown".to_owned(),
            (Some(0), 0) => "-".to_owned(),
            (Some(known), 0) => format_money(known),
            (Some(known), _) => format!("{}+?", format_money(known)),
        };
        let time = |millis: Option<u64>| millis.map_or_else(|| "-".to_owned(), duration);
        let cells = [
            row.count.to_string(),
            rate(row.succeeded, row.count),
            row.retried.to_string(),
            time(row.median_millis),
            time(row.p90_millis),
            money,
        ];
        let cells = cells.each_ref().map(String::as_str);
        lines.push(vec![
            span(TextTone::Plain, pad(&clean(&row.name), name_columns)),
            span(TextTone::Plain, numbers(cells)),
        ]);
    }
    lines
}

/// Returns a rate in per cent, marked if it is one of few.
fn rate(succeeded: u64, count: u64) -> String {
    let percent = (succeeded * 100).checked_div(count);
    let mark = if count < FEW { "?" } else { "" };
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %{mark}"))
}

/// Returns how each worker does at each step, each rate with the number of attempts.
fn success_lines(success: &[WorkerSuccess], filter: &str, columns: usize) -> Vec<ScreenLine> {
    const CELL: usize = 16;
    let workers: BTreeSet<&str> = success.iter().map(|one| one.worker.as_str()).collect();
    let steps: BTreeSet<&str> = success.iter().map(|one| one.step.as_str()).collect();
    if workers.len() < 2 {
        return Vec::new();
    }
    let name_columns = 14;
    let room = columns.saturating_sub(name_columns) / CELL;
    let shown: Vec<&str> = workers.iter().copied().take(room.max(1)).collect();
    let head: String = shown.iter().map(|name| pad(&clean(name), CELL)).collect();
    let mut lines = vec![
        Vec::new(),
        vec![
            span(TextTone::Strong, pad("success at", name_columns)),
            span(TextTone::Faint, head),
        ],
    ];
    for step in steps.into_iter().filter(|step| matches(step, filter)) {
        let cell = |worker: &&str| {
            let mut all = success.iter();
            let found = all.find(|one| one.step == step && one.worker == **worker);
            let text = found.map_or_else(String::new, |one| {
                format!("{} of {}", rate(one.succeeded, one.count), one.count)
            });
            pad(&text, CELL)
        };
        let cells: String = shown.iter().map(cell).collect();
        lines.push(vec![
            span(TextTone::Plain, pad(&clean(step), name_columns)),
            span(TextTone::Plain, cells),
        ]);
    }
    if shown.len() < workers.len() {
        let more = format!("and {}", count(workers.len() - shown.len(), "more worker"));
        lines.push(line(TextTone::Faint, more));
    }
    lines
}

/// Returns what was spent on each of the last days, with a bar.
fn day_lines(runs: &[RunMetrics], columns: usize) -> Vec<ScreenLine> {
    let mut days: BTreeMap<u64, u64> = BTreeMap::new();
    for run in runs {
        if let Some(money) = run_money(run) {
            *days.entry(run.started_at.0 / DAY).or_default() += money;
        }
    }
    let most = days.values().copied().max().unwrap_or(0);
    if most == 0 {
        return Vec::new();
    }
    let mut lines = vec![Vec::new(), line(TextTone::Strong, "cost a day")];
    let first = days.len().saturating_sub(MOST_DAYS);
    for (day, money) in days.into_iter().skip(first) {
        let label = format_day(EpochMillis(day * DAY));
        lines.push(bar_line(&label, money, most, &format_money(money), columns));
    }
    lines
}

/// Returns how many tasks took how many rounds.
fn round_lines(rounds: &[(u32, u64)], columns: usize) -> Vec<ScreenLine> {
    let most = rounds.iter().map(|(_, tasks)| *tasks).max().unwrap_or(0);
    if most == 0 {
        return Vec::new();
    }
    let mut lines = vec![Vec::new(), line(TextTone::Strong, "rounds a task")];
    for (taken, tasks) in rounds {
        let label = taken.to_string();
        let words = count(usize::try_from(*tasks).unwrap_or(usize::MAX), "task");
        lines.push(bar_line(&label, *tasks, most, &words, columns));
    }
    lines
}

fn bar_line(label: &str, value: u64, most: u64, words: &str, columns: usize) -> ScreenLine {
    let room = columns.saturating_sub(30).clamp(10, 60) as u64;
    let filled = (value.saturating_mul(room) / most.max(1)).max(u64::from(value > 0));
    let bar = "#".repeat(usize::try_from(filled).unwrap_or(0));
    vec![
        span(TextTone::Faint, format!("{label:>8} ")),
        span(TextTone::Plain, bar),
        span(TextTone::Plain, format!(" {words}")),
    ]
}
