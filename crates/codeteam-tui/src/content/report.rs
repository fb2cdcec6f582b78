//! The report of a change, and what a command prints.

use codeteam_report::report::{ScreenLine, TextTone};

use super::line;
use crate::state::{App, CommandEnd};
use crate::text::{clean_line, matches, wrap};

/// Returns the report of a change as every surface words it.
pub(crate) fn report_lines(
    app: &App,
    place: &str,
    columns: usize,
    filter: &str,
) -> Vec<ScreenLine> {
    let run = app.selected.as_ref();
    let loaded = app.report.as_ref();
    let loaded = loaded.filter(|report| Some(&report.run) == run && report.place == place);
    let lines = match loaded.map(|report| &report.change) {
        None => vec![line(TextTone::Faint, "reading what was said about it …")],
        Some(Err(why)) => vec![line(TextTone::Plain, clean_line(why))],
        Some(Ok(change)) => {
            let file = change.report_file.display().to_string();
            change.report.to_screen(columns, Some(&file))
        }
    };
    let words = |line: &ScreenLine| {
        line.iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    let mut lines = lines;
    lines.retain(|line| matches(&words(line), filter));
    lines
}

/// Returns what a command has printed, with the command itself first.
pub(crate) fn command_lines(app: &App, id: u64, columns: usize, filter: &str) -> Vec<ScreenLine> {
    let Some(command) = app.command(id) else {
        return vec![line(
            TextTone::Faint,
            "nothing was run yet; `:` runs a command",
        )];
    };
    let mut lines = vec![line(
        TextTone::Strong,
        format!("$ {}", clean_line(&command.line)),
    )];
    for text in &command.output {
        let text = clean_line(text);
        if matches(&text, filter) {
            let wrapped = wrap(&text, columns);
            lines.extend(wrapped.into_iter().map(|text| line(TextTone::Plain, text)));
        }
    }
    lines.push(match command.ended {
        None => line(TextTone::Faint, "… it goes on"),
        Some(CommandEnd::Exited(0)) => line(TextTone::Good, "done"),
        Some(CommandEnd::Exited(3)) => line(TextTone::Warn, "waiting for a person (exit code 3)"),
        Some(CommandEnd::Exited(code)) => line(TextTone::Bad, format!("failed (exit code {code})")),
        Some(CommandEnd::Broken) => {
            line(TextTone::Bad, "ended by a signal, or could not be started")
        }
    });
    lines
}
