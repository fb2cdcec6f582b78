//! Describes what happens to the phases of a plan.

use std::fmt::Write as _;

use codeteam_core::ids::{FramePath, PhaseId};
use codeteam_core::locks::{LockedFile, RequestedInterface};
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

/// Describes which change of an interface a task asks for, and why.
pub(super) fn request_line(request: &RequestedInterface) -> String {
    format!(
        "another interface {} of phase {} is asked for: {}",
        request.before.name, request.phase, request.reason
    )
}

/// Describes which interface was changed, and who is told.
pub(super) fn changed_line(phase: &PhaseId, interface: &Interface, told: &[FramePath]) -> String {
    let told = told.iter().map(FramePath::name);
    let told = match told.collect::<Vec<_>>().join(", ") {
        nobody if nobody.is_empty() => String::new(),
        names => format!("; told: {names}"),
    };
    let (name, file) = (&interface.name, interface.path());
    format!("the interface {name} of phase {phase} in {file} was changed{told}")
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
