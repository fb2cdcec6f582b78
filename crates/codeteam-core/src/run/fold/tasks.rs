//! Applies events that change the plan and the status of its tasks.

use std::sync::Arc;

use super::frames::parent_of;
use super::rollback::remember_skipped;
use super::update_frame;
use crate::frame::{ChildFrames, FrameItem};
use crate::ids::{FramePath, TaskId};
use crate::plan::Plan;
use crate::run::{Run, TaskRecord};
use crate::schedule::TaskStatus;

pub(super) fn set_plan(run: &mut Run, plan: &Plan) {
    let positions = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(i, t)| (t.id.clone(), i))
        .collect();
    run.task_positions = Arc::new(positions);
    run.plan = Some(Arc::new(plan.clone()));
}

/// Removes the frames and records of tasks that are no longer in the plan.
pub(super) fn remove_dropped_tasks(run: &mut Run) {
    let dropped: Vec<TaskId> = run
        .tasks
        .keys()
        .filter(|task| !run.task_positions.contains_key(*task))
        .cloned()
        .collect();
    for task in dropped {
        run.tasks.remove_mut(&task);
        let frames = run.failed_frames.iter();
        let path = frames
            .filter(|(_, frame)| frame.item == FrameItem::Task(task.clone()))
            .map(|(path, _)| path.clone())
            .next();
        if let Some(path) = path {
            run.failed_frames.remove_mut(&path);
        }
    }
}

pub(super) fn rebuild_schedules(run: &mut Run) {
    let paths: Vec<FramePath> = run
        .frames
        .values()
        .filter(|f| f.children.is_some())
        .map(|f| f.path.clone())
        .collect();
    for path in paths {
        let Some(frame) = run.frames.get(&path) else {
            continue;
        };
        let Some(step) = run.step(&frame.step) else {
            continue;
        };
        let children = run.build_children(frame, step, is_over);
        if let Some(children) = &children {
            sync_with_schedule(run, children);
        }
        update_frame(run, &path, |f| f.children = children);
    }
}

pub(super) fn is_over(status: TaskStatus) -> bool {
    status.satisfies() || status == TaskStatus::Failed
}

/// Copies to the tasks' records what a new schedule blocks, and what it no longer blocks or counts
/// as failed.
pub(super) fn sync_with_schedule(run: &mut Run, children: &ChildFrames) {
    let held_up = |status| matches!(status, TaskStatus::Blocked | TaskStatus::Failed);
    for (i, name) in children.names.iter().enumerate() {
        let id = TaskId(name.clone());
        let (known, now) = (run.task_status(&id), children.schedule.status(i));
        if known != now && (held_up(known) || now == TaskStatus::Blocked) {
            set_status(run, &id, now);
        }
    }
}

pub(super) fn change_task(run: &mut Run, path: &FramePath, task: &TaskId, status: TaskStatus) {
    set_status(run, task, status);
    if status == TaskStatus::Skipped {
        remember_skipped(run, path);
        run.failed_frames.remove_mut(path);
    }
    let (freed, held_up) = {
        let parent = run.frames.get_mut(&parent_of(path));
        let Some(children) = parent.and_then(|f| f.children.as_mut()) else {
            return;
        };
        let Some(i) = children.position(task.as_str()) else {
            return;
        };
        let freed = match status {
            TaskStatus::Pending => children.schedule.reopen(i),
            TaskStatus::Skipped => children.schedule.skip(i),
            TaskStatus::Running
            | TaskStatus::Completed
            | TaskStatus::Failed
            | TaskStatus::Blocked => Vec::new(),
        };
        let names = freed.into_iter().filter_map(|i| children.names.get(i));
        let held_up = children.schedule.status(i) == TaskStatus::Blocked;
        (names.cloned().collect::<Vec<_>>(), held_up)
    };
    if held_up && status == TaskStatus::Pending {
        set_status(run, task, TaskStatus::Blocked);
    }
    for name in freed {
        set_status(run, &TaskId(name), TaskStatus::Pending);
    }
}

/// Sets the status of a task of the plan. Phases appear in the same schedules but are not tasks, so
/// they are ignored.
pub(super) fn set_status(run: &mut Run, task: &TaskId, status: TaskStatus) {
    if run.task_positions.contains_key(task) {
        update_task_record(run, &FrameItem::Task(task.clone()), |record| {
            record.status = status;
        });
    }
}

pub(super) fn update_task_record(
    run: &mut Run,
    item: &FrameItem,
    change: impl FnOnce(&mut TaskRecord),
) {
    match item {
        FrameItem::Run => {}
        FrameItem::Phase(phase) => {
            let mut record = TaskRecord::default();
            change(&mut record);
            run.phases.insert_mut(phase.clone(), record.status);
        }
        FrameItem::Task(task) => {
            let mut record = run.tasks.get(task).cloned().unwrap_or_default();
            change(&mut record);
            run.tasks.insert_mut(task.clone(), record);
        }
    }
}
