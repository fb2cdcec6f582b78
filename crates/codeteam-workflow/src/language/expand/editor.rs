//! An editor that inserts steps into a graph: before or after other steps, or in their place.

use codeteam_core::role::RoleKind;

use super::super::compile::WorkflowCompiler;
use super::super::file::FileStep;
use super::{ExpandSwitches, StepGraph, each_target};
use crate::yaml::WithPosition;

/// Inserts steps into one graph and removes them, and keeps the exits of the other steps
/// consistent.
///
/// A step that is inserted takes its name from its neighbour (`code-approval`), and its position
/// and condition too: it is reported where the neighbour is written, and left out when the
/// neighbour is.
pub(super) struct GraphEditor<'a, 'b> {
    pub(super) compiler: &'a mut WorkflowCompiler<'b>,
    pub(super) graph: &'a mut StepGraph,
    pub(super) switches: &'a ExpandSwitches,
}

impl GraphEditor<'_, '_> {
    pub(super) fn len(&self) -> usize {
        self.graph.entries.len()
    }

    pub(super) fn name(&self, index: usize) -> WithPosition<String> {
        self.graph.entries[index].0.clone()
    }

    pub(super) fn kind(&mut self, index: usize) -> Option<RoleKind> {
        self.compiler.kind_of(&self.graph.entries[index].1)
    }

    /// Finds the nearest implementer before a step, or else any later one.
    pub(super) fn implementer(&mut self, index: usize) -> Option<String> {
        let before = (0..index).rev();
        let others = index..self.len();
        before
            .chain(others)
            .find(|i| self.kind(*i) == Some(RoleKind::Implementer))
            .map(|i| self.name(i).value)
    }

    /// Finds the implementer that does the work of this graph.
    pub(super) fn first_implementer(&mut self) -> Option<String> {
        let found = (0..self.len()).find(|i| self.kind(*i) == Some(RoleKind::Implementer));
        found.map(|i| self.name(i).value)
    }

    /// Returns the step that redoes the work if this step rejects it.
    pub(super) fn redo_target(&mut self, index: usize) -> String {
        let step = &self.graph.entries[index].1;
        if let Some(said) = step.on_reject.clone().or(step.on_fail.clone()) {
            return said;
        }
        match self.kind(index) {
            Some(RoleKind::Gatekeeper) | None => {
                let commits = self.graph.entries[index].1.commit.is_some();
                let implementer = if commits {
                    self.first_implementer()
                } else {
                    self.implementer(index)
                };
                let earlier = |writer: &mut Self| {
                    let makes = [RoleKind::Planner, RoleKind::Designer, RoleKind::Analyst];
                    let found = (0..index)
                        .rev()
                        .find(|i| writer.kind(*i).is_some_and(|kind| makes.contains(&kind)));
                    found.map(|i| writer.name(i).value)
                };
                implementer
                    .or_else(|| earlier(self))
                    .unwrap_or_else(|| "fail".to_owned())
            }
            Some(_) => self.name(index).value,
        }
    }

    /// Inserts a step after another one: the other step leads to it, and it leads on to where that
    /// led before. Returns the index of the new step.
    pub(super) fn insert_after(&mut self, index: usize, suffix: &str, mut step: FileStep) -> usize {
        let own = self.name(index);
        let name = format!("{}-{suffix}", own.value);
        let before = &mut self.graph.entries[index].1;
        step.next = before.next.replace(name.clone());
        step.when.clone_from(&before.when);
        let name = WithPosition {
            value: name,
            place: own.place,
        };
        self.graph.entries.insert(index + 1, (name, step));
        index + 1
    }

    /// Inserts a step before another one: everything that led to the other step now leads to the
    /// new one.
    pub(super) fn insert_before(&mut self, index: usize, suffix: &str, mut step: FileStep) {
        let own = self.name(index);
        let name = format!("{}-{suffix}", own.value);
        for (_, other) in &mut self.graph.entries {
            each_target(other, &mut |target| {
                if *target == own.value {
                    target.clone_from(&name);
                }
            });
        }
        if let Some(start) = self
            .graph
            .start
            .as_mut()
            .filter(|start| start.value == own.value)
        {
            start.value.clone_from(&name);
        }
        step.when.clone_from(&self.graph.entries[index].1.when);
        step.next.get_or_insert_with(|| own.value.clone());
        let name = WithPosition {
            value: name,
            place: own.place,
        };
        self.graph.entries.insert(index, (name, step));
    }

    /// Removes a step: everything that led to it now leads to its successor.
    pub(super) fn remove(&mut self, index: usize) {
        let (name, step) = self.graph.entries.remove(index);
        let follows = step.next.unwrap_or_else(|| "done".to_owned());
        for (_, other) in &mut self.graph.entries {
            each_target(other, &mut |target| {
                if *target == name.value {
                    target.clone_from(&follows);
                }
            });
        }
        if let Some(start) = self
            .graph
            .start
            .as_mut()
            .filter(|start| start.value == name.value)
        {
            start.value = follows;
        }
    }
}
