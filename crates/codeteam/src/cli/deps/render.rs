//! Formats the findings of `deps`.

use std::fmt::Write as _;

use super::suggest::{DependencyFindings, DependencyStatus, LocatedImport, SuggestedDependency};
use crate::output::one_line;

/// Formats all findings.
pub(super) fn format_findings(found: &DependencyFindings) -> String {
    let mut out = String::new();
    let sections = [
        (DependencyStatus::New, "Detected dependencies:"),
        (DependencyStatus::Present, "In the plan already:"),
        (
            DependencyStatus::Cycle,
            "Not added, as these tasks would wait for each other:",
        ),
        (
            DependencyStatus::LaterPhase,
            "Not added, as these need a task of a later phase:",
        ),
        (
            DependencyStatus::Begun,
            "Not added, as these tasks have begun and can no longer be changed:",
        ),
    ];
    for (standing, title) in sections {
        let of = |found: &&SuggestedDependency| found.standing == standing;
        let mut listed = found.dependencies.iter().filter(of).peekable();
        if listed.peek().is_none() {
            continue;
        }
        begin_section(&mut out, title);
        for found in listed {
            let (task, on) = (&found.task, &found.on);
            let _ = writeln!(
                out,
                "  {task} → {on} ({})",
                format_source(&found.shown, found.imports)
            );
        }
    }
    if !found.unconfirmed.is_empty() {
        begin_section(
            &mut out,
            "Unconfirmed, neither a file of a task nor a known package:",
        );
        for import in &found.unconfirmed {
            let module = one_line(&import.module);
            let (task, shown) = (&import.task, format_source(&import.shown, 1));
            let _ = writeln!(out, "  {task} → {module} ({shown})");
        }
    }
    if out.is_empty() {
        out.push_str("no file of a task imports one of another\n");
    }
    out
}

fn begin_section(out: &mut String, title: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(title);
    out.push('\n');
}

/// Formats `from: "import a", a.py:1 and 2 more`.
fn format_source(shown: &LocatedImport, imports: usize) -> String {
    let LocatedImport {
        file,
        line,
        statement,
    } = shown;
    let more = match imports.saturating_sub(1) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let (statement, file) = (one_line(statement), one_line(file));
    format!("from: \"{statement}\", {file}:{line}{more}")
}
