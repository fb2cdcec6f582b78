//! What a run has spent: as a whole, against its limits, by worker and by role, and by task.

use codeteam_report::describe::{format_money, limit_name};
use codeteam_report::report::{ScreenLine, TextTone};
use codeteam_report::view::CostView;

use super::{field, line, span};
use crate::model::{CostRow, RunHistory, cost_rows};
use crate::state::App;
use crate::text::{clean, duration, matches, pad};

/// The most tasks that are listed.
const MOST_TASKS: usize = 200;

/// Returns what the run that is shown has spent.
pub(crate) fn cost_lines(app: &App, columns: usize, filter: &str) -> Vec<ScreenLine> {
    let Some(history) = &app.history else {
        return vec![line(TextTone::Faint, "no run is shown")];
    };
    let cost = &history.run.cost;
    let spent = &cost.words;
    let mut lines = Vec::new();
    lines.extend(field("spent", TextTone::Strong, &spent.money, columns));
    let tokens = format!("{}, {}", spent.tokens, spent.attempts);
    lines.extend(field("", TextTone::Plain, &tokens, columns));
    lines.extend(reserved_lines(history, columns));
    lines.extend(limit_lines(app, history, cost, columns));
    if let Some(limit) = cost.reached_limit {
        let text = format!(
            "{} is reached; `u` raises it and goes on",
            limit_name(limit)
        );
        lines.extend(field("limit", TextTone::Bad, &text, columns));
    }
    let by_worker = cost_rows(history, app.now, |attempt| {
        attempt.worker.as_ref().map(|worker| worker.0.clone())
    });
    lines.extend(table("by worker", by_worker, filter, columns));
    let by_role = cost_rows(history, app.now, |attempt| {
        attempt.by_worker.then(|| attempt.who.clone())
    });
    lines.extend(table("by role", by_role, filter, columns));
    let checks = cost_rows(history, app.now, |attempt| {
        (!attempt.by_worker).then(|| attempt.who.clone())
    });
    lines.extend(table("codeteam's own work", checks, filter, columns));
    let mut by_task = cost_rows(history, app.now, |attempt| {
        Some(attempt.id.frame.name().to_owned())
    });
    by_task.truncate(MOST_TASKS);
    lines.extend(table("by task", by_task, filter, columns));
    lines
}

/// Returns what is held back for attempts under way, so that they cannot exceed a limit together.
fn reserved_lines(history: &RunHistory, columns: usize) -> Vec<ScreenLine> {
    let reserved = history.run.reserved();
    let (money, tokens) = (reserved.money_microusd, reserved.tokens);
    let parts = [
        (money > 0).then(|| format_money(money)),
        (tokens > 0).then(|| format!("{tokens} tokens")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let text = format!("{} for attempts under way", parts.join(", "));
    field("reserved", TextTone::Plain, &text, columns)
}

/// A limit if there is one, what is used of it, how such a number is written, and its unit.
type LimitRow<'a> = (Option<u64>, u64, &'a dyn Fn(u64) -> String, &'a str);

fn limit_lines(
    app: &App,
    history: &RunHistory,
    cost: &CostView,
    columns: usize,
) -> Vec<ScreenLine> {
    let limits = &cost.limits;
    let elapsed = app.now.since(history.run.started_at);
    let plain = |n: u64| n.to_string();
    let rows: [LimitRow<'_>; 4] = [
        (
            limits.money_microusd,
            cost.money_microusd,
            &format_money,
            "",
        ),
        (limits.tokens, cost.tokens, &plain, " tokens"),
        (limits.attempts, cost.attempts, &plain, " attempts"),
        (limits.wall_ms, elapsed, &duration, ""),
    ];
    let known = rows.into_iter().filter_map(|(limit, used, words, unit)| {
        let limit = limit.filter(|limit| *limit > 0)?;
        Some((
            limit,
            used,
            format!("{} of {}{unit}", words(used), words(limit)),
        ))
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return field("limits", TextTone::Faint, "none are set", columns);
    }
    let lines = known.into_iter().map(|(limit, used, text)| {
        let part = used.saturating_mul(100) / limit;
        let tone = match part {
            0..80 => TextTone::Plain,
            80..100 => TextTone::Warn,
            _ => TextTone::Bad,
        };
        vec![
            span(TextTone::Faint, "limit     "),
            span(tone, bar(part, 20)),
            span(tone, format!(" {part:>3} %  {text}")),
        ]
    });
    lines.collect()
}

/// Returns a bar that is filled by so many per cent.
fn bar(percent: u64, columns: usize) -> String {
    let filled = usize::try_from(percent.min(100)).unwrap_or(0) * columns / 100;
    format!("[{}{}]", "#".repeat(filled), "-".repeat(columns - filled))
}

fn table(
    title: &str,
    rows: Vec<(String, CostRow)>,
    filter: &str,
    columns: usize,
) -> Vec<ScreenLine> {
    let rows: Vec<_> = rows
        .into_iter()
        .filter(|(name, _)| matches(name, filter))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    // Where there is no room for all numbers, money and time are what matters.
    let is_narrow = columns < 66;
    let numbers_columns = if is_narrow { 31 } else { 52 };
    let name_columns = columns.saturating_sub(numbers_columns).clamp(14, 40);
    let numbers = |[attempts, failed, time, tokens, money]: [&str; 5]| {
        if is_narrow {
            format!(" {attempts:>8} {time:>8} {money:>12}")
        } else {
            format!(" {attempts:>8} {failed:>6} {time:>8} {tokens:>10} {money:>12}")
        }
    };
    let heads = ["attempts", "failed", "time", "tokens", "money"];
    let mut lines = vec![
        Vec::new(),
        vec![
            span(TextTone::Strong, pad(title, name_columns)),
            span(TextTone::Faint, numbers(heads)),
        ],
    ];
    for (name, row) in rows {
        let money = match (row.microusd, row.unpriced) {
            (0, 0) => "-".to_owned(),
            (0, _) => "unknown".to_owned(),
            (known, 0) => format_money(known),
            (known, _) => format!("{}+?", format_money(known)),
        };
        let tokens = if row.tokens == 0 {
            "-".to_owned()
        } else {
            row.tokens.to_string()
        };
        let time = duration(row.millis);
        let (attempts, failed) = (row.attempts.to_string(), row.failed.to_string());
        let cells = [&attempts, &failed, &time, &tokens, &money].map(String::as_str);
        lines.push(vec![
            span(TextTone::Plain, pad(&clean(&name), name_columns)),
            span(TextTone::Plain, numbers(cells)),
        ]);
    }
    lines
}
