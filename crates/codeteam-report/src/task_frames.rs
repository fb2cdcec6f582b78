//! Which task a frame belongs to, from the events of a run.

use std::collections::BTreeMap;

use codeteam_core::Event;
use codeteam_core::frame::FrameItem;
use codeteam_core::ids::{FramePath, TaskId};

/// The frames that were opened for tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskFrames {
    tasks: BTreeMap<FramePath, TaskId>,
}

impl TaskFrames {
    /// Remembers a frame that an event opens for a task.
    pub(crate) fn observe(&mut self, event: &Event) {
        if let Event::FrameOpened {
            frame,
            item: FrameItem::Task(task),
            ..
        } = event
        {
            self.tasks.insert(frame.clone(), task.clone());
        }
    }

    /// Returns the task that a frame is for, or lies below.
    pub(crate) fn task_of(&self, frame: &FramePath) -> Option<&TaskId> {
        let mut path = frame.as_str();
        loop {
            if let Some(task) = self.tasks.get(&FramePath::from(path)) {
                return Some(task);
            }
            path = path.rsplit_once('/')?.0;
        }
    }
}
