//! Recalls from a run what an earlier process knew.

use codeteam_core::Run;
use codeteam_core::workflow::{CheckKind, StepKind};

use crate::engine::Engine;

/// The exit code of a command that took too long.
const TIMED_OUT: i32 = 124;

/// Recalls how the commands of gates have ended on which trees before this process, so that one that
/// ends otherwise on the same tree is noticed.
pub(super) fn recall_outcomes(engine: &Engine, run: &Run) {
    let frames = run.frames.values().chain(run.failed_frames.values());
    let gates = frames.flat_map(|frame| &frame.judgements.gates);
    for (step, gate) in gates {
        let Some(StepKind::Gate { checks }) = run.step(step).map(|step| &step.kind) else {
            continue;
        };
        for result in &gate.results {
            let check = checks.iter().find(|check| check.name == result.name);
            let Some(CheckKind::Command(command)) = check.map(|check| &check.what) else {
                continue;
            };
            // One that was ended, by a signal or because it took too long, says nothing.
            if let Some(exit) = result.exit.filter(|exit| (0..TIMED_OUT).contains(exit)) {
                let tree = gate.tree.as_str();
                engine.logged_outcomes.note(tree, command, exit == 0);
            }
        }
    }
}
