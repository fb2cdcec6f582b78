//! Takes a changed workflow into a run under way, if every frame finds its place in it.

use super::Decider;
use crate::event::Event;
use crate::repin::PinnedWorkflow;
use crate::repin_check::{rejudged_steps, repin_problems};

impl Decider {
    pub(super) fn repin_workflow(&mut self, by: &str, pinned: &PinnedWorkflow) -> Option<String> {
        if self.run.pinned_workflow() == *pinned {
            return Some("that workflow is in force already".to_owned());
        }
        let problems = repin_problems(&self.run, pinned);
        if !problems.is_empty() {
            return Some(format!(
                "the run cannot go on with that workflow: {}",
                problems.join("; ")
            ));
        }
        let rejudged = rejudged_steps(&self.run, pinned);
        self.emit(Event::WorkflowRepinned {
            by: by.to_owned(),
            pinned: Box::new(pinned.clone()),
            rejudged,
        });
        None
    }
}
