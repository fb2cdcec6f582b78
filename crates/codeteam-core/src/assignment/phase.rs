//! What a worker is told about the phases of the plan: its own phase, what was designed above its
//! frame, and the interfaces it has to keep to.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::frame::{Frame, FrameItem};
use crate::ids::{FramePath, PhaseId, TaskId};
use crate::plan::{Interface, Phase, Plan, Task};
use crate::role::{Role, RoleKind};
use crate::run::Run;
use crate::submission::Design;

/// The phase that a worker works on as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseContext {
    /// The phase, with the interfaces that were last proposed for it.
    pub phase: Phase,
    /// Its place among the phases of the plan, from 1.
    pub place: usize,
    /// How many phases the plan has.
    pub of: usize,
    /// The tasks that it has so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Those of its tasks that are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<TaskId>,
}

/// An interface that a worker has to keep to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldInterface {
    /// The phase that settled it.
    pub phase: PhaseId,
    /// The file that it belongs into.
    pub file: String,
    /// The interface.
    pub interface: Interface,
    /// Whether the file is there and locked: nobody may change it until the phase ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub locked: bool,
}

/// Returns the phase that a frame is for.
pub(super) fn phase_context(run: &Run, frame: &Frame) -> Option<PhaseContext> {
    let FrameItem::Phase(id) = &frame.item else {
        return None;
    };
    let plan = run.plan.as_deref()?;
    let at = plan.phases.iter().position(|phase| phase.id == *id)?;
    let tasks = plan.tasks.iter();
    let tasks: Vec<Task> = tasks
        .filter(|task| task.phase.as_ref() == Some(id))
        .cloned()
        .collect();
    let ids = tasks.iter().map(|task| &task.id);
    let done = ids.filter(|task| run.task_status(task).satisfies());
    Some(PhaseContext {
        phase: plan.phases[at].clone(),
        place: at + 1,
        of: plan.phases.len(),
        done: done.cloned().collect(),
        tasks,
    })
}

/// Returns the interfaces that the work of a frame rests on: those of the phases before it, of the
/// phases that it depends on and, for a task, of its own phase. Those of a phase that is still being
/// designed are not settled: its [`PhaseContext`] has them. Whoever words a text needs none of them.
pub(super) fn told_interfaces(run: &Run, frame: &Frame, role: &Role) -> Vec<ToldInterface> {
    let Some(plan) = run
        .plan
        .as_deref()
        .filter(|_| role.kind != RoleKind::Scribe)
    else {
        return Vec::new();
    };
    let told = |phase: &&Phase| builds_on_phase(run, frame, &phase.id);
    let phases = plan.phases.iter().filter(told);
    let locks = run.interface_locks();
    let is_locked = |path: &str| locks.iter().any(|lock| lock.file.path == path);
    phases
        .flat_map(|phase| {
            phase.interfaces.iter().map(|interface| ToldInterface {
                phase: phase.id.clone(),
                file: interface.path(),
                locked: is_locked(&interface.path()),
                interface: interface.clone(),
            })
        })
        .collect()
}

/// Returns true if the work of a frame rests on the interfaces of a phase: one before its own, one
/// that its own depends on or, for a task, its own.
pub(crate) fn builds_on_phase(run: &Run, frame: &Frame, phase: &PhaseId) -> bool {
    let Some(plan) = run.plan.as_deref() else {
        return false;
    };
    let own = match &frame.item {
        FrameItem::Phase(phase) => Some(phase),
        FrameItem::Task(task) => run.task(task).and_then(|task| task.phase.as_ref()),
        FrameItem::Run => None,
    };
    let own = own.and_then(|id| plan.phase(id));
    let (Some(own), Some(other)) = (own, plan.phase(phase)) else {
        return false;
    };
    if own.id == other.id {
        return matches!(frame.item, FrameItem::Task(_));
    }
    match other.sequence.cmp(&own.sequence) {
        Ordering::Less => true,
        Ordering::Equal => phases_depended_on(plan, &own.id).contains(&other.id),
        Ordering::Greater => false,
    }
}

/// Returns the phases that the tasks of a phase depend on.
pub(crate) fn phases_depended_on<'a>(plan: &'a Plan, phase: &PhaseId) -> BTreeSet<&'a PhaseId> {
    let positions = plan.task_positions();
    let tasks = plan
        .tasks
        .iter()
        .filter(|task| task.phase.as_ref() == Some(phase));
    tasks
        .flat_map(|task| &task.dependencies)
        .filter_map(|on| plan.tasks[*positions.get(on)?].phase.as_ref())
        .collect()
}

/// Returns what was designed in a frame and in the frames above it, the highest first. Interfaces
/// that a phase has settled are left out: they are told by themselves.
pub(super) fn told_design(run: &Run, frame: &Frame) -> Option<Design> {
    let mut designs = Vec::new();
    let mut at = Some(frame);
    while let Some(frame) = at {
        let design = frame.outputs.merged_design();
        designs.extend(design.map(|design| (frame, design)));
        at = frame.parent.as_ref().and_then(|path| find(run, path));
    }
    designs.reverse();
    let is_alone = designs.len() == 1;
    let mut whole: Option<Design> = None;
    for (frame, mut design) in designs {
        if matches!(frame.item, FrameItem::Phase(_)) {
            let settled = |value: &serde_json::Value| Interface::from_design(value).is_some();
            design.interfaces.retain(|interface| !settled(interface));
        }
        design.components = Vec::new();
        if !is_alone {
            design.design = format!("### {}\n\n{}", title(frame), design.design);
        }
        match &mut whole {
            None => whole = Some(design),
            Some(whole) => {
                whole.design.push_str("\n\n");
                whole.design.push_str(&design.design);
                whole.patterns.extend(design.patterns);
                whole.warnings.extend(design.warnings);
                whole.interfaces.extend(design.interfaces);
            }
        }
    }
    whole
}

fn title(frame: &Frame) -> String {
    match &frame.item {
        FrameItem::Run => "For everything".to_owned(),
        FrameItem::Phase(phase) => format!("For the phase {phase}"),
        FrameItem::Task(task) => format!("For the task {task}"),
    }
}

fn find<'a>(run: &'a Run, path: &FramePath) -> Option<&'a Frame> {
    let frame = run.frames.get(path);
    frame.or_else(|| run.failed_frames.get(path))
}
