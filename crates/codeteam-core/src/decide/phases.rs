//! Phases: a designer breaks one down into tasks and settles its interfaces, and tasks of phases
//! that are under way at the same time keep out of each other's way.

use std::collections::{BTreeMap, BTreeSet};

use super::Decider;
use crate::assignment::phases_depended_on;
use crate::budget::Usage;
use crate::event::{Event, RunStarted};
use crate::frame::{ChildFrames, Frame, FrameChange, FrameItem, FrameStage, SlotWork};
use crate::ids::{AttemptId, FramePath, PhaseId, TaskId, Tree};
use crate::locks::LockedFile;
use crate::plan::{Interface, Phase, PhaseStart, Plan, Task};
use crate::schedule::TaskStatus;
use crate::submission::{Design, PhaseComponent};
use crate::workflow::{EachItem, StepKind};

impl Decider {
    /// Returns what is wrong with a designer's answer about a phase, in words for the designer.
    pub(super) fn design_problem(&self, id: &AttemptId, design: &Design) -> Option<String> {
        let plan = self.plan_with_breakdown(id, design)?;
        let wrong = self.plan_problems(&plan);
        (!wrong.is_empty()).then(|| wrong.join("\n"))
    }

    /// Returns the phase that a designer's answer is about, and the plan as the answer changes it.
    pub(super) fn phase_after(&self, id: &AttemptId, design: &Design) -> Option<(PhaseId, Plan)> {
        let plan = self.plan_with_breakdown(id, design)?;
        Some((self.phase_of(id)?.clone(), plan))
    }

    /// Makes a designer's components the tasks of its phase.
    pub(super) fn break_down_phase(&mut self, id: &AttemptId, design: &Design) {
        let (Some(plan), Some(phase)) = (
            self.plan_with_breakdown(id, design),
            self.phase_of(id).cloned(),
        ) else {
            return;
        };
        if self.run.plan.as_deref() == Some(&plan) {
            return;
        }
        let rejudged = self.frames_to_judge_again(&plan);
        let of_phase = plan
            .tasks
            .iter()
            .filter(|t| t.phase.as_ref() == Some(&phase));
        let tasks = of_phase.cloned().collect();
        let interfaces = plan.phase(&phase).map(|phase| phase.interfaces.clone());
        self.emit(Event::PhasePlanned {
            id: id.clone(),
            phase,
            tasks,
            interfaces: interfaces.unwrap_or_default(),
            rejudged,
        });
    }

    /// Locks the interfaces of a phase, which have been written to their files.
    pub(super) fn lock_interfaces(
        &mut self,
        id: &AttemptId,
        tree: &Tree,
        change: Option<&FrameChange>,
        files: &[LockedFile],
    ) {
        let Some((_, SlotWork::WriteInterfaces)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
        };
        self.emit(Event::InterfacesLocked {
            id: id.clone(),
            tree: tree.clone(),
            change: change.cloned().map(Box::new),
            files: files.to_vec(),
        });
        self.advance(&id.frame);
    }

    /// Returns the interface that a plan would change although it is locked, in words.
    pub(super) fn locked_interface_conflict(&self, plan: &Plan) -> Option<String> {
        let locks = self.run.interface_locks();
        let is_locked = |phase: &PhaseId| locks.iter().any(|lock| lock.phase == *phase);
        let is_done = |phase: &PhaseId| self.run.phases.get(phase).is_some_and(|s| s.satisfies());
        let old = self.run.plan.as_ref()?;
        let changed = old.phases.iter().find(|phase| {
            let now = plan.phase(&phase.id).map(|phase| &phase.interfaces);
            now.is_some_and(|now| *now != phase.interfaces)
                && (is_locked(&phase.id) || is_done(&phase.id))
        })?;
        let phase = &changed.id;
        let why = if is_done(phase) {
            "is done"
        } else {
            "has locked them"
        };
        Some(format!(
            "the interfaces of phase `{phase}` can no longer be changed, because the phase {why}: put \
             them back as they were, or begin the phase again with `codeteam rollback --before {phase}`"
        ))
    }

    /// Returns the phase that an attempt works on as a whole.
    fn phase_of(&self, id: &AttemptId) -> Option<&PhaseId> {
        match &self.run.frames.get(&id.frame)?.item {
            FrameItem::Phase(phase) => Some(phase),
            FrameItem::Run | FrameItem::Task(_) => None,
        }
    }

    /// Returns the plan as a designer's answer about a phase changes it. A task that has begun stays
    /// as it is; what the answer says nothing about stays as planned.
    fn plan_with_breakdown(&self, id: &AttemptId, design: &Design) -> Option<Plan> {
        let phase = self.phase_of(id)?;
        let plan = self.run.plan.as_deref()?;
        let known: Vec<&Task> = plan
            .tasks
            .iter()
            .filter(|task| task.phase.as_ref() == Some(phase))
            .collect();
        let has_begun = |task: &TaskId| {
            let status = self.run.task_status(task);
            status.satisfies() || status == TaskStatus::Running
        };
        let tasks: Vec<Task> = if design.components.is_empty() {
            known.into_iter().cloned().collect()
        } else {
            let begun = known.iter().filter(|task| has_begun(&task.id));
            let begun: Vec<Task> = begun.map(|task| Task::clone(task)).collect();
            let is_new = |component: &&PhaseComponent| begun.iter().all(|t| t.id != component.id);
            let new = design.components.iter().filter(is_new);
            let new: Vec<Task> = new
                .map(|component| task_of(component, phase, plan, design))
                .collect();
            [begun, new].concat()
        };
        let settled = design.interfaces.iter().filter_map(Interface::from_design);
        let mut interfaces: Vec<Interface> = settled.collect();
        if interfaces.is_empty() {
            let planned = plan.phase(phase)?;
            interfaces.clone_from(&planned.interfaces);
        }
        Some(plan.with_phase(phase, &tasks, &interfaces))
    }

    /// Returns why the phases of a plan cannot be carried out in this run: a phase has no tasks and
    /// nobody breaks it down, or a task waits for a phase that has not begun.
    pub(super) fn phase_problem(&self, plan: &Plan) -> Option<String> {
        if plan.tasks.is_empty() && !self.run.breaks_down_phases() {
            return Some("the plan has no tasks".to_owned());
        }
        let status = |phase: &PhaseId| self.run.phases.get(phase).copied().unwrap_or_default();
        let positions = plan.task_positions();
        let is_open = |phase: &PhaseId| status(phase) == TaskStatus::Running;
        let waiting = plan.tasks.iter().filter(|task| {
            task.phase.as_ref().is_some_and(is_open) && !self.run.task_status(&task.id).satisfies()
        });
        for task in waiting {
            for on in &task.dependencies {
                let other = positions.get(on).map(|i| &plan.tasks[*i]);
                let Some(phase) = other.and_then(|other| other.phase.as_ref()) else {
                    continue;
                };
                let begun = is_open(phase) || status(phase).satisfies();
                if task.phase.as_ref() != Some(phase) && !begun {
                    let id = &task.id;
                    return Some(format!(
                        "task `{id}` depends on `{on}` of phase `{phase}`, which has not begun"
                    ));
                }
            }
        }
        None
    }

    /// Returns the next child of an `each` step to open. Where other phases are under way, it does
    /// not wait for one of their tasks and needs none of the files that they hold.
    pub(super) fn next_child(&self, frame: &Frame, children: &ChildFrames) -> Option<usize> {
        let schedule = &children.schedule;
        let chosen = children.chosen.filter(|i| schedule.may_start(*i));
        let first = chosen.or_else(|| schedule.next());
        let first = first.or_else(|| self.early_phase(frame, children));
        if !self.has_phases_beside(frame) {
            return first;
        }
        let may = |i: &usize| {
            let task = children.names.get(*i).map(|name| TaskId(name.clone()));
            let task = task.and_then(|id| self.run.task(&id));
            task.is_some_and(|task| self.may_start_beside(frame, task))
        };
        first
            .filter(may)
            .or_else(|| schedule.candidates().find(may))
    }

    /// Returns a phase to open although those before it are not complete: it waits for their interfaces
    /// only, and these are settled.
    fn early_phase(&self, frame: &Frame, children: &ChildFrames) -> Option<usize> {
        children.schedule.running().next()?;
        let is_over_phases = matches!(
            self.run.frame_step(frame).map(|step| &step.kind),
            Some(StepKind::Each { over, .. }) if *over == EachItem::Phase
        );
        let plan = self.run.plan.as_deref().filter(|_| is_over_phases)?;
        let phases = plan.phases.iter();
        let mut early = phases.filter(|phase| phase.starts_after == PhaseStart::Interfaces);
        early.find_map(|phase| {
            let i = children.position(phase.id.as_str())?;
            let may = children.schedule.may_start_early(i) && self.rests_on_settled(plan, phase);
            may.then_some(i)
        })
    }

    /// Returns true if all interfaces that a phase rests on are settled: the phases before it, and those
    /// that its tasks depend on, are complete or at work on their tasks.
    fn rests_on_settled(&self, plan: &Plan, phase: &Phase) -> bool {
        let needed = phases_depended_on(plan, &phase.id);
        let mut others = plan.phases.iter().filter(|other| {
            other.id != phase.id && (other.sequence < phase.sequence || needed.contains(&other.id))
        });
        others.all(|other| {
            let frame = self
                .run
                .frames
                .get(&FramePath::root().child(other.id.as_str()));
            let status = self.run.phases.get(&other.id).copied().unwrap_or_default();
            status.satisfies() || frame.is_some_and(|frame| frame.stage == FrameStage::Each)
        })
    }

    /// Returns true if a frame is for a phase and other phases are, or have been, under way besides.
    fn has_phases_beside(&self, frame: &Frame) -> bool {
        let is_other =
            |other: &&Frame| matches!(other.item, FrameItem::Phase(_)) && other.path != frame.path;
        let known = self
            .run
            .frames
            .values()
            .chain(self.run.failed_frames.values());
        matches!(frame.item, FrameItem::Phase(_)) && known.into_iter().any(|f| is_other(&f))
    }

    fn may_start_beside(&self, frame: &Frame, task: &Task) -> bool {
        let waits = task.dependencies.iter().any(|on| {
            let other = self.run.task(on).filter(|other| other.phase != task.phase);
            other.is_some_and(|other| !self.run.task_status(&other.id).satisfies())
        });
        let beside =
            self.run.frames.values().filter(|other| {
                other.parent.as_ref() != Some(&frame.path) && other.parent.is_some()
            });
        let mut beside = beside.filter_map(|other| self.run.frame_task(other));
        !waits && !beside.any(|other| share_files(&task.files, &other.files))
    }

    /// Returns true if no task of a phase is under way and none can start any more, because each one
    /// that could waits for a task of another phase that was given up.
    pub(super) fn waits_in_vain(&self, frame: &Frame, children: &ChildFrames) -> bool {
        if children.schedule.running().next().is_some() || !self.has_phases_beside(frame) {
            return false;
        }
        let mut ready = children.schedule.candidates().peekable();
        ready.peek().is_some()
            && ready.all(|i| {
                let id = children.names.get(i).map(|name| TaskId(name.clone()));
                let task = id.and_then(|id| self.run.task(&id));
                task.is_some_and(|task| self.depends_on_given_up(task))
            })
    }

    fn depends_on_given_up(&self, task: &Task) -> bool {
        let mut others = task
            .dependencies
            .iter()
            .filter_map(|on| self.run.task(on))
            .filter(|other| other.phase != task.phase);
        others.any(|other| {
            let phase = other.phase.as_ref().and_then(|p| self.run.phases.get(p));
            let is_open = phase == Some(&TaskStatus::Running);
            let status = self.run.task_status(&other.id);
            let is_lost = matches!(status, TaskStatus::Failed | TaskStatus::Blocked);
            !status.satisfies() && (is_lost || !is_open)
        })
    }
}

/// Returns the phases of a given plan that an earlier run has finished: all of their tasks are done,
/// so nobody has to design them again.
pub(super) fn finished_phases(started: &RunStarted) -> BTreeSet<PhaseId> {
    let tasks = started.plan.iter().flat_map(|plan| &plan.tasks);
    let mut finished: BTreeMap<&PhaseId, bool> = BTreeMap::new();
    for task in tasks {
        let status = started.earlier.get(&task.id).copied();
        if let Some(phase) = &task.phase {
            *finished.entry(phase).or_insert(true) &= status.is_some_and(TaskStatus::satisfies);
        }
    }
    let finished = finished.into_iter().filter(|(_, is_finished)| *is_finished);
    finished.map(|(phase, _)| phase.clone()).collect()
}

/// Returns the task that a component becomes.
fn task_of(component: &PhaseComponent, phase: &PhaseId, plan: &Plan, design: &Design) -> Task {
    let own = design.components.iter().map(|component| &component.id);
    let known: BTreeSet<&str> = plan
        .tasks
        .iter()
        .map(|task| &task.id)
        .chain(own)
        .map(TaskId::as_str)
        .collect();
    let resolve = |name: &String| {
        let short = name.split_once('.').map_or("", |(_, task)| task);
        let is_short = !known.contains(name.as_str()) && known.contains(short);
        TaskId(if is_short { short } else { name }.to_owned())
    };
    Task {
        id: component.id.clone(),
        title: component.title.clone(),
        description: component.description.clone(),
        dependencies: component.depends_on.iter().map(resolve).collect(),
        files: component.files.clone(),
        acceptance: component.acceptance.clone(),
        phase: Some(phase.clone()),
        roles: component.assigned_role.iter().cloned().collect(),
        ..Task::default()
    }
}

/// Returns true if two tasks must not run at the same time: they share a file or a folder, or one
/// of them names none and runs alone.
fn share_files(one: &[String], other: &[String]) -> bool {
    let covers = |folder: &String, file: &String| {
        folder == file || (folder.ends_with('/') && file.starts_with(folder.as_str()))
    };
    one.is_empty()
        || other.is_empty()
        || one
            .iter()
            .any(|a| other.iter().any(|b| covers(a, b) || covers(b, a)))
}
