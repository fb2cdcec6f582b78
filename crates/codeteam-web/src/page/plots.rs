//! Draws numbers as SVG: bars and lines with axes. Every plot has a table beside it with the same
//! numbers; series differ by pattern as well as by colour.

use std::fmt::Write as _;

use codeteam_report::describe::format_money;

use super::format::{format_duration, format_iso};
use super::html::push_escaped;
use codeteam_core::ids::EpochMillis;

const WIDTH: u64 = 720;
const HEIGHT: u64 = 220;
const LEFT: u64 = 64;
const BOTTOM: u64 = 30;
const TOP: u64 = 14;

/// What was spent over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BurnLine {
    /// When the run began.
    pub(super) start: u64,
    /// Times, and what was spent until then in millionths of a dollar.
    pub(super) points: Vec<(u64, u64)>,
    /// The limit.
    pub(super) limit: Option<u64>,
}

/// Draws what was spent over time; empty if nothing was.
pub(super) fn draw_burn(burn: &BurnLine) -> String {
    let Some((last, spent)) = burn.points.last() else {
        return String::new();
    };
    let most = round_up(burn.limit.unwrap_or(0).max(*spent));
    let length = last.saturating_sub(burn.start).max(1);
    let x =
        |at: u64| LEFT + at.saturating_sub(burn.start).min(length) * (WIDTH - LEFT - 8) / length;
    let mut out = open_plot("What was spent over time");
    draw_axis(&mut out, most, &format_money);
    let mut path = format!("M{LEFT} {}", HEIGHT - BOTTOM);
    for (at, sum) in &burn.points {
        let _ = write!(path, "H{}V{}", x(*at), y(*sum, most));
    }
    let _ = writeln!(
        out,
        "<path class=\"area\" d=\"{path}V{}z\"/>",
        HEIGHT - BOTTOM
    );
    let _ = writeln!(out, "<path class=\"curve\" d=\"{path}\"/>");
    if let Some(limit) = burn.limit {
        let at = y(limit, most);
        let _ = writeln!(
            out,
            "<path class=\"limit\" d=\"M{LEFT} {at}H{}\"/><text class=\"limit-word\" x=\"{}\" \
             y=\"{}\">limit {}</text>",
            WIDTH - 8,
            WIDTH - 10,
            at.saturating_sub(4).max(10),
            format_money(limit),
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"tick\" x=\"{LEFT}\" y=\"{}\">start</text><text class=\"tick end\" x=\"{}\" \
         y=\"{}\">{}</text></svg>",
        HEIGHT - 10,
        WIDTH - 8,
        HEIGHT - 10,
        format_duration(length),
    );
    out
}

/// A plot with a bar for each column, stacked of one part for each series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StackedBars {
    pub(super) title: &'static str,
    /// The names of the series.
    pub(super) series: Vec<String>,
    /// The columns: a label, and a number for each series.
    pub(super) columns: Vec<(String, Vec<u64>)>,
}

/// Draws stacked bars; empty if there is nothing to draw. `words` writes a number.
pub(super) fn draw_bars(plot: &StackedBars, words: &dyn Fn(u64) -> String) -> String {
    let sums = plot
        .columns
        .iter()
        .map(|(_, parts)| parts.iter().sum::<u64>());
    let most = sums.max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let most = round_up(most);
    let mut out = open_plot(plot.title);
    draw_axis(&mut out, most, words);
    let columns = u64::try_from(plot.columns.len()).unwrap_or(1).max(1);
    let step = (WIDTH - LEFT - 8) / columns;
    let width = (step * 7 / 10).clamp(2, 56);
    let every = (columns * 64).div_ceil(WIDTH - LEFT).max(1);
    for (at, (label, parts)) in (0_u64..).zip(&plot.columns) {
        let x = LEFT + at * step + (step - width.min(step)) / 2;
        let mut base = 0;
        for (series, part) in parts.iter().enumerate().filter(|(_, part)| **part > 0) {
            let (top, bottom) = (y(base + part, most), y(base, most));
            let _ = write!(
                out,
                "<rect class=\"series series-{}\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{}\"><title>",
                series % 6 + 1,
                bottom.saturating_sub(top).max(1),
            );
            let name = plot.series.get(series).map_or("", String::as_str);
            push_escaped(&mut out, &format!("{label}, {name}: {}", words(*part)));
            out.push_str("</title></rect>\n");
            base += part;
        }
        if at % every == 0 {
            let _ = write!(
                out,
                "<text class=\"tick middle\" x=\"{}\" y=\"{}\">",
                x + width / 2,
                HEIGHT - 10
            );
            push_escaped(&mut out, label);
            out.push_str("</text>\n");
        }
    }
    out.push_str("</svg>");
    out
}

fn open_plot(title: &str) -> String {
    let mut out = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\"><title>"
    );
    push_escaped(&mut out, title);
    out.push_str("</title>\n");
    out
}

fn draw_axis(out: &mut String, most: u64, words: &dyn Fn(u64) -> String) {
    for part in 0..=2 {
        let value = most * part / 2;
        let at = y(value, most);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at}H{}\"/><text class=\"tick end\" x=\"{}\" y=\"{}\">{}</text>",
            WIDTH - 8,
            LEFT - 8,
            at + 4,
            words(value),
        );
    }
}

fn y(value: u64, most: u64) -> u64 {
    HEIGHT - BOTTOM - value.min(most) * (HEIGHT - BOTTOM - TOP) / most.max(1)
}

/// Returns a round number that is not smaller.
fn round_up(value: u64) -> u64 {
    let mut unit = 1;
    while unit * 10 <= value {
        unit *= 10;
    }
    let factors = [1, 2, 5, 10].into_iter();
    let mut fitting = factors
        .map(|factor| factor * unit)
        .filter(|round| *round >= value);
    fitting.next().unwrap_or(value).max(2)
}

/// Returns the day of a time: `11-19`.
pub(super) fn day_label(at: EpochMillis) -> String {
    format_iso(at).get(5..10).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, round) in [(0, 2), (1, 2), (3, 5), (50, 50), (51, 100), (1_234, 2_000)] {
            assert_eq!(round_up(value), round);
        }
    }

    #[test]
    fn names_of_series_do_nothing_to_the_drawing() {
        let plot = StackedBars {
            title: "Cost a day",
            series: vec!["</title><script>".to_owned()],
            columns: vec![("<b>".to_owned(), vec![3]), ("11-20".to_owned(), vec![0])],
        };
        let drawn = draw_bars(&plot, &|number| number.to_string());
        assert_eq!(drawn.matches("class=\"series").count(), 1);
        assert!(
            !drawn.contains("<script") && !drawn.contains("<b>"),
            "{drawn}"
        );
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(draw_burn(&BurnLine::default()), "");
        assert_eq!(
            draw_bars(&StackedBars::default(), &|number| number.to_string()),
            ""
        );
    }
}
