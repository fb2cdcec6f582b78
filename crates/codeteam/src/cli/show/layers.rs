//! `codeteam show --layers`: the tasks of a run in layers.

use std::fmt::Write as _;

use codeteam_core::untrusted_text::one_line;
use codeteam_engine::problem::Problem;
use codeteam_report::view::{LayersView, LoadedRun};

use super::by_roles;
use crate::cli::CliContext;
use crate::output;

pub(super) fn print_layers(run: &LoadedRun, scene: &CliContext) -> Result<(), Problem> {
    let view = LayersView::new(run);
    if scene.json {
        return output::print_json(&view);
    }
    if view.layers.is_empty() {
        return output::print_line(&format!("{} has no plan yet", view.run));
    }
    let mut text = String::new();
    for layer in &view.layers {
        let _ = writeln!(text, "layer {}", layer.number);
        for task in &layer.tasks {
            let on: Vec<&str> = task
                .dependencies
                .iter()
                .map(codeteam_core::ids::TaskId::as_str)
                .collect();
            let after = if on.is_empty() {
                String::new()
            } else {
                format!(" (after {})", on.join(", "))
            };
            let _ = writeln!(
                text,
                "  {:<10} {}  {}{}{after}",
                task.status.as_str(),
                task.id,
                one_line(&task.title),
                by_roles(&task.roles)
            );
        }
    }
    text.push_str(
        "a task starts as soon as its own dependencies are complete, whatever its layer\n",
    );
    output::print_text(&text)
}
