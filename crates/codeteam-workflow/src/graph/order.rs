//! Computes the order in which work flows through the steps of one scope, and which edges lead
//! back.

use std::collections::BTreeMap;

use codeteam_core::workflow::{ExitTarget, Step, StepKind, Workflow};

use super::{EdgeEnd, EdgeKind, StepEdge};

/// The steps of a scope by index, with their exits; the usual exit comes first.
pub(super) struct FlowGraph {
    ways: Vec<Vec<(EdgeKind, Option<String>, EdgeEnd)>>,
}

impl FlowGraph {
    pub(super) fn from_steps(workflow: &Workflow, steps: &[&Step]) -> Self {
        let known: BTreeMap<&str, usize> = steps.iter().map(|s| s.id.as_str()).zip(0..).collect();
        let end = |target: &ExitTarget| match target {
            ExitTarget::Done => Some(EdgeEnd::Done),
            ExitTarget::Fail => Some(EdgeEnd::Fail),
            ExitTarget::Step(id) => known.get(id.as_str()).map(|i| EdgeEnd::Node(*i)),
        };
        let ways = steps.iter().map(|step| {
            let ways = step_exits(workflow, step).into_iter();
            ways.filter_map(|(way, bound, target)| Some((way, bound, end(&target)?)))
                .collect()
        });
        Self {
            ways: ways.collect(),
        }
    }

    /// Returns all edges; those that close a cycle are marked as leading back.
    pub(super) fn edges(&self, first: usize) -> Vec<StepEdge> {
        let back = self.mark_back_edges(first);
        let mut edges = Vec::new();
        for (from, ways) in self.ways.iter().enumerate() {
            for (n, (way, bound, to)) in ways.iter().enumerate() {
                edges.push(StepEdge {
                    from,
                    to: *to,
                    kind: way.clone(),
                    bound: bound.clone(),
                    back: back[from][n],
                });
            }
        }
        edges
    }

    /// Returns the steps in the order of the flow: each one after all that lead to it, and as close
    /// as possible to the one it follows.
    pub(super) fn order(&self, first: usize) -> Vec<usize> {
        let back = self.mark_back_edges(first);
        let forward = |from: usize| {
            let ways = self.ways[from].iter().zip(&back[from]);
            ways.filter_map(|((_, _, to), back)| match to {
                EdgeEnd::Node(to) if !back => Some(*to),
                _ => None,
            })
        };
        let mut missing = vec![0_usize; self.ways.len()];
        for from in 0..self.ways.len() {
            for to in forward(from) {
                missing[to] += 1;
            }
        }
        // Steps that nothing leads to come last; the start comes first in any case.
        let mut stack: Vec<usize> = (0..self.ways.len()).rev().collect();
        stack.retain(|i| missing[*i] == 0 && *i != first);
        stack.push(first);
        let mut order = Vec::new();
        while let Some(step) = stack.pop() {
            order.push(step);
            let mut ready = Vec::new();
            for to in forward(step) {
                missing[to] -= 1;
                if missing[to] == 0 && to != first {
                    ready.push(to);
                }
            }
            stack.extend(ready.into_iter().rev());
        }
        order
    }

    /// Determines for every exit of every step whether it leads to a step above it.
    fn mark_back_edges(&self, first: usize) -> Vec<Vec<bool>> {
        let mut back: Vec<Vec<bool>> = self.ways.iter().map(|w| vec![false; w.len()]).collect();
        let (mut open, mut seen) = (vec![false; back.len()], vec![false; back.len()]);
        let starts = std::iter::once(first).chain(0..back.len());
        for start in starts.filter(|i| *i < self.ways.len()) {
            if seen[start] {
                continue;
            }
            let mut path = vec![(start, 0)];
            (seen[start], open[start]) = (true, true);
            while let Some((step, way)) = path.pop() {
                let Some((_, _, to)) = self.ways[step].get(way) else {
                    open[step] = false;
                    continue;
                };
                path.push((step, way + 1));
                let EdgeEnd::Node(to) = *to else { continue };
                if open[to] {
                    back[step][way] = true;
                } else if !seen[to] {
                    (seen[to], open[to]) = (true, true);
                    path.push((to, 0));
                }
            }
        }
        back
    }
}

/// Lists the exits of a step, the usual one first.
fn step_exits(workflow: &Workflow, step: &Step) -> Vec<(EdgeKind, Option<String>, ExitTarget)> {
    let rounds = match (step.max_rounds, workflow.max_rounds) {
        (Some(n), _) => Some(format!("at most {n} times")),
        (None, Some(n)) => Some(format!("at most {n} rounds")),
        (None, None) => None,
    };
    let mut ways = Vec::new();
    let mut add = |way, bound: Option<&String>, to: &ExitTarget| {
        ways.push((way, bound.cloned(), to.clone()));
    };
    let rounds = rounds.as_ref();
    match &step.kind {
        StepKind::Person { answers, .. } => {
            for answer in answers {
                add(EdgeKind::Answer(answer.name.clone()), None, &answer.next);
            }
            if step.when.is_some() {
                add(EdgeKind::Passed, None, &step.next);
            }
            return ways;
        }
        _ => add(EdgeKind::Next, None, &step.next),
    }
    match &step.kind {
        StepKind::Role(role) => {
            if let Some(target) = &role.on_reject {
                add(EdgeKind::Rejects, rounds, target);
            }
            if let Some(to) = &role.on_interface_change {
                add(EdgeKind::Requests, None, &ExitTarget::Step(to.clone()));
            }
        }
        StepKind::Commit {
            on_conflict: Some(to),
        } => add(EdgeKind::Conflicts, rounds, &ExitTarget::Step(to.clone())),
        _ => {}
    }
    if let Some(target) = &step.on_fail {
        let counted = matches!(step.kind, StepKind::Gate { .. });
        add(EdgeKind::Fails, rounds.filter(|_| counted), target);
    }
    if let Some(rebound) = &step.rebound {
        let to = ExitTarget::Step(rebound.to.clone());
        add(EdgeKind::Rebounds(rebound.after), None, &to);
    }
    ways
}
