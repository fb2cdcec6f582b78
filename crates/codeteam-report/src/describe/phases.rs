//! Describes what happens to the phases of a plan.

use std::fmt::Write as _;

use codeteam_core::ids::{FramePath, PhaseId};
use codeteam_core::locks::LockedFile;
use codeteam_core::plan::{Interface, Task};

/// Describes which interfaces a phase has locked, and where they are.
pub(super) fn locked_line(frame: &FramePath, files: &[LockedFile]) -> String {
    let phase = frame.name();
    if files.is_empty() {
        return format!("phase {phase} has no interfaces to lock");
    }
    let names = files
        .iter()
        .map(|file| format!("{} in {}", file.name, file.path));
    let names = names.collect::<Vec<_>>().join(", ");
    format!("phase {phase} has locked {names}")
}

/// Describes what a phase was broken down into.
pub(super) fn phase_line(phase: &PhaseId, tasks: &[Task], interfaces: &[Interface]) -> String {
    let count = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let mut line = format!("phase {phase} has {} now", count(tasks.len(), "task"));
    for task in tasks {
        let _ = write!(line, "\n- {}: {}", task.id, task.headline());
    }
    if !interfaces.is_empty() {
        let _ = write!(line, "\nand {}:", count(interfaces.len(), "interface"));
        for interface in interfaces {
            let _ = write!(line, "\n- {} ({})", interface.name, interface.path());
        }
    }
    line
}
