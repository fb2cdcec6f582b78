//! The workflow of a run, with the steps marked at which it is.

use codeteam_report::report::{ScreenLine, TextTone};
use codeteam_report::view::workflow_lines as outline;

use super::{line, span};
use crate::state::App;
use crate::text::{clean, clean_line, matches};

/// The most tasks that are named at one step.
const MOST_NAMES: usize = 4;

/// Returns the workflow of the run that is shown. A step at which somebody is has a `>` before it
/// and the names behind it; one that was reached before has a `+`.
pub(crate) fn workflow_lines(app: &App, columns: usize, filter: &str) -> Vec<ScreenLine> {
    let Some(history) = &app.history else {
        return vec![line(TextTone::Faint, "no run is shown")];
    };
    let reached = history.attempts.values().map(|attempt| &attempt.id.step);
    let steps = outline(&history.run, reached, columns.saturating_sub(2));
    let mut lines = vec![
        line(
            TextTone::Faint,
            "`>` under way   `+` reached before   everything else was not reached yet",
        ),
        Vec::new(),
    ];
    for step in steps.iter().filter(|step| matches(&step.text, filter)) {
        let (mark, tone) = match (step.here.is_empty(), step.was_reached) {
            (false, _) => ("> ", TextTone::Strong),
            (true, true) => ("+ ", TextTone::Plain),
            (true, false) => ("  ", TextTone::Faint),
        };
        lines.push(vec![span(
            tone,
            format!("{mark}{}", clean_line(&step.text)),
        )]);
        // The run itself is at one step only, which the mark says already.
        let tasks = step.here.iter().filter(|name| *name != "run");
        let tasks: Vec<&String> = tasks.collect();
        if !tasks.is_empty() {
            let names = tasks.iter().take(MOST_NAMES).map(|name| clean(name));
            let names = names.collect::<Vec<_>>().join(", ");
            let more = match tasks.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push(line(TextTone::Warn, format!(">   {names}{more}")));
        }
    }
    lines
}

/// Returns the first line to show, so that the step that is under way is on the screen.
pub(crate) fn workflow_top(app: &App, columns: usize, rows: usize) -> usize {
    let lines = workflow_lines(app, columns, "");
    let is_here = |line: &ScreenLine| line.first().is_some_and(|part| part.text.starts_with('>'));
    match lines.iter().rposition(is_here) {
        Some(last) if last + 1 >= rows => {
            (last + 1 + rows / 3).min(lines.len()).saturating_sub(rows)
        }
        _ => 0,
    }
}
