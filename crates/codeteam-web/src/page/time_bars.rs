//! Draws the attempts of a run as bars over time, as SVG: a row for each frame, a line for now. The
//! style sheet gives the colours; what was stopped and what waits has a pattern of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::ids::EpochMillis;
use codeteam_report::view::{AttemptView, attempt_standing};

use super::format::{format_clock, format_duration};
use super::graph_svg::cut;
use super::html::{escaped, push_escaped};
use super::marks::mark_class;
use super::run_head::RunLinks;
use crate::routes::RunPlace;

const WIDTH: u64 = 1_000;
const LABELS: u64 = 150;
const LANE: u64 = 20;
const HEADING: u64 = 26;
/// The most rows that are drawn.
const MOST_ROWS: usize = 60;

/// Draws the attempts; empty if there are none.
pub(super) fn draw_bars(
    links: RunLinks<'_>,
    attempts: &[AttemptView],
    now: EpochMillis,
    is_ended: bool,
) -> String {
    let Some(start) = attempts.iter().map(|attempt| attempt.started_at).min() else {
        return String::new();
    };
    let ends = attempts
        .iter()
        .map(|attempt| attempt.ended_at.unwrap_or(now));
    let end = ends.max().unwrap_or(now);
    let scale = TimeScale::new(start, end);
    let rows = pack_rows(attempts, now);
    let lanes: u64 = rows.iter().map(|row| count(row.lanes.len())).sum();
    let height = HEADING + lanes * LANE + count(rows.len()) * 6 + 4;
    let mut out = format!(
        "<svg class=\"bars\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"group\" aria-label=\"Attempts over time\">\n<defs><pattern id=\"hatch\" width=\"6\" \
         height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <path class=\"hatch\" d=\"M0 0v6\"/></pattern></defs>\n"
    );
    draw_scale(&mut out, &scale, height);
    let mut y = HEADING;
    for row in &rows {
        draw_row(&mut out, links, row, &scale, now, y);
        y += count(row.lanes.len()) * LANE + 6;
    }
    if !is_ended {
        let x = scale.place(now);
        let _ = writeln!(out, "<path class=\"now\" d=\"M{x} {HEADING}V{height}\"/>");
    }
    out.push_str("</svg>");
    out
}

struct TimeScale {
    start: EpochMillis,
    length: u64,
}

impl TimeScale {
    fn new(start: EpochMillis, end: EpochMillis) -> Self {
        let length = end.0.saturating_sub(start.0).max(1);
        Self { start, length }
    }

    fn place(&self, at: EpochMillis) -> u64 {
        let since = at.0.saturating_sub(self.start.0).min(self.length);
        LABELS + since * (WIDTH - LABELS - 4) / self.length
    }
}

/// The bars of a frame, in as many lanes as there were attempts at once.
struct BarRow<'a> {
    name: &'a str,
    lanes: Vec<Vec<&'a AttemptView>>,
}

fn pack_rows(attempts: &[AttemptView], now: EpochMillis) -> Vec<BarRow<'_>> {
    let mut order: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<&str, Vec<Vec<&AttemptView>>> = BTreeMap::new();
    for attempt in attempts {
        let name = attempt.id.frame.name();
        if !rows.contains_key(name) {
            order.push(name);
        }
        let lanes = rows.entry(name).or_default();
        let free = lanes.iter_mut().find(|lane| {
            let last = lane.last();
            last.is_none_or(|last| last.ended_at.unwrap_or(now) <= attempt.started_at)
        });
        match free {
            Some(lane) => lane.push(attempt),
            None => lanes.push(vec![attempt]),
        }
    }
    let surplus = order.len().saturating_sub(MOST_ROWS);
    let shown = order.into_iter().skip(surplus);
    shown
        .map(|name| BarRow {
            name,
            lanes: rows.remove(name).unwrap_or_default(),
        })
        .collect()
}

/// Draws lines at round distances, with the time that has passed.
fn draw_scale(out: &mut String, scale: &TimeScale, height: u64) {
    const STEPS: [u64; 16] = [
        10,
        50,
        100,
        500,
        1_000,
        5_000,
        15_000,
        60_000,
        300_000,
        900_000,
        3_600_000,
        10_800_000,
        43_200_000,
        86_400_000,
        604_800_000,
        2_592_000_000,
    ];
    let step = STEPS.into_iter().find(|step| scale.length / step <= 8);
    let step = step.unwrap_or(scale.length / 4).max(1);
    for at in (0..=scale.length).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let x = scale.place(EpochMillis(scale.start.0 + at));
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x} {HEADING}V{height}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"16\">{}</text>",
            x + 3,
            if at == 0 {
                format_clock(scale.start)
            } else {
                format!("+{}", format_duration(at))
            },
        );
    }
}

fn draw_row(
    out: &mut String,
    links: RunLinks<'_>,
    row: &BarRow<'_>,
    scale: &TimeScale,
    now: EpochMillis,
    y: u64,
) {
    let _ = write!(
        out,
        "<a href=\"{}\"><text class=\"label\" x=\"2\" y=\"{}\">",
        escaped(&links.task(row.name)),
        y + 14
    );
    push_escaped(out, &cut(row.name, 20));
    out.push_str("</text></a>\n");
    for (lane, attempts) in row.lanes.iter().enumerate() {
        for attempt in attempts {
            draw_bar(out, links, attempt, scale, now, y + count(lane) * LANE);
        }
    }
}

fn draw_bar(
    out: &mut String,
    links: RunLinks<'_>,
    attempt: &AttemptView,
    scale: &TimeScale,
    now: EpochMillis,
    y: u64,
) {
    let (standing, words) = attempt_standing(attempt);
    let from = scale.place(attempt.started_at);
    let width = scale
        .place(attempt.ended_at.unwrap_or(now))
        .saturating_sub(from)
        .max(3);
    let class = if words.starts_with("rejects") {
        "fail"
    } else {
        mark_class(standing.word())
    };
    let _ = write!(
        out,
        "<a href=\"{}\" class=\"bar bar-{class}\"><title>",
        escaped(&links.page(RunPlace::Attempt(attempt.id.fence)))
    );
    let time = format_duration(attempt.duration(now));
    let worker = attempt.worker.as_ref().map(|worker| format!(" ({worker})"));
    push_escaped(
        out,
        &format!(
            "{}{}, {time}: {} {words}",
            attempt.who,
            worker.unwrap_or_default(),
            standing.word()
        ),
    );
    let _ = write!(
        out,
        "</title><rect x=\"{from}\" y=\"{y}\" width=\"{width}\" height=\"{}\" rx=\"3\"/>",
        LANE - 3
    );
    if class == "left" {
        let _ = write!(
            out,
            "<rect class=\"hatched\" x=\"{from}\" y=\"{y}\" width=\"{width}\" height=\"{}\"/>",
            LANE - 3
        );
    }
    // Seven units are about a character; a name that does not fit is left to the title.
    let room = usize::try_from(width / 7).unwrap_or(0);
    if attempt.who.chars().count() < room {
        let _ = write!(
            out,
            "<text class=\"who\" x=\"{}\" y=\"{}\">",
            from + 5,
            y + 13
        );
        push_escaped(out, &attempt.who);
        out.push_str("</text>");
    }
    out.push_str("</a>\n");
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
