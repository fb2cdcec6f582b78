//! `codeteam show --cost`: what a run has spent, by model, role, worker and task.

use std::fmt::Write as _;

use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::Engine;
use codeteam_engine::problem::Problem;
use codeteam_report::costs::{CostBreakdown, CostLine};
use codeteam_report::view::LoadedRun;

use crate::cli::CliContext;
use crate::output::{self, TerminalStyle, group_digits};

/// The most tasks whose costs are printed for people; `--json` has all.
const SHOWN: usize = 50;

pub(super) fn print_costs(
    engine: &Engine,
    run: &LoadedRun,
    scene: &CliContext,
) -> Result<(), Problem> {
    let costs = CostBreakdown::load(engine.records(), &run.id)?;
    if scene.json {
        return output::print_json(&costs);
    }
    if costs.total.sum.attempts == 0 {
        return output::print_line(
            "no worker has finished an attempt, so there is nothing to show",
        );
    }
    let style = TerminalStyle::detect();
    let mut text = String::new();
    for (word, lines) in costs.sides() {
        let _ = writeln!(text, "{}", style.bold(&header(word)));
        for line in lines.iter().take(SHOWN) {
            render_line(&mut text, &name_text(word, line), line);
        }
        if lines.len() > SHOWN {
            let _ = writeln!(text, "  and {} more (`--json`)", lines.len() - SHOWN);
        }
        text.push('\n');
    }
    render_line(&mut text, "total", &costs.total);
    output::print_text(&text)
}

fn header(word: &str) -> String {
    format!(
        "  {word:<28} {:>8} {:>12} {:>12} {:>12}  cost",
        "attempts", "read", "from cache", "written"
    )
}

fn render_line(text: &mut String, name: &str, line: &CostLine) {
    let sum = &line.sum;
    let number = |number: u64| group_digits(usize::try_from(number).unwrap_or(usize::MAX));
    let _ = writeln!(
        text,
        "  {name:<28} {:>8} {:>12} {:>12} {:>12}  {}",
        number(sum.attempts),
        number(sum.input_tokens),
        number(sum.cached_input_tokens),
        number(sum.output_tokens),
        line.money
    );
}

/// Returns what stands in front of a line, also where nobody named anything.
fn name_text(word: &str, line: &CostLine) -> String {
    match (&line.name, word) {
        (Some(name), _) => one_line(name),
        (None, "task") => "(no task)".to_owned(),
        (None, _) => "(not reported)".to_owned(),
    }
}
