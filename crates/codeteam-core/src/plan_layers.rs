//! The layers of a plan, as Kahn's algorithm gives them: for people, who want to see what may run
//! side by side. Nothing waits for a layer: a task starts as soon as its own dependencies allow.

use std::collections::BTreeMap;

use crate::ids::{PhaseId, TaskId};
use crate::plan::Plan;

/// Returns the tasks of a plan in layers: each depends on tasks of earlier layers only, and is in the
/// first layer of which that is true. Within a layer, tasks are in the plan's order.
///
/// A phase comes after all tasks of the phases before it. Tasks that wait for each other, which a
/// checked plan has none of, are in no layer.
pub fn plan_layers(plan: &Plan) -> Vec<Vec<&TaskId>> {
    let graph = TaskGraph::new(plan);
    let mut missing: Vec<usize> = graph.predecessors.clone();
    let mut layer: Vec<usize> = positions(&missing, |missing| missing == 0);
    let mut layers = Vec::new();
    while !layer.is_empty() {
        let mut next = Vec::new();
        for node in &layer {
            for dependent in &graph.dependents[*node] {
                missing[*dependent] -= 1;
                if missing[*dependent] == 0 {
                    next.push(*dependent);
                }
            }
        }
        layers.push(layer);
        next.sort_unstable();
        layer = next;
    }
    let tasks = |layer: &Vec<usize>| -> Vec<&TaskId> {
        let tasks = layer.iter().filter_map(|node| plan.tasks.get(*node));
        tasks.map(|task| &task.id).collect()
    };
    // The ends of phases are nodes too, and leave layers of their own behind.
    layers
        .iter()
        .map(tasks)
        .filter(|layer| !layer.is_empty())
        .collect()
}

/// What waits for what: the tasks of a plan, and after them a node for the end of each phase number,
/// so that two large phases do not need an edge for each pair of their tasks.
struct TaskGraph {
    /// The number of nodes that each node waits for.
    predecessors: Vec<usize>,
    /// The nodes that wait for each node.
    dependents: Vec<Vec<usize>>,
}

impl TaskGraph {
    fn new(plan: &Plan) -> Self {
        let tasks = plan.tasks.iter().enumerate();
        let by_id: BTreeMap<&TaskId, usize> = tasks.map(|(at, task)| (&task.id, at)).collect();
        let mut sequences: Vec<u32> = plan.phases.iter().map(|phase| phase.sequence).collect();
        sequences.sort_unstable();
        sequences.dedup();
        let nodes = plan.tasks.len() + sequences.len();
        let mut graph = Self {
            predecessors: vec![0; nodes],
            dependents: vec![Vec::new(); nodes],
        };
        let phases: BTreeMap<&PhaseId, u32> = plan
            .phases
            .iter()
            .map(|phase| (&phase.id, phase.sequence))
            .collect();
        let end_of = |number: usize| plan.tasks.len() + number;
        for number in 1..sequences.len() {
            graph.add_edge(end_of(number - 1), end_of(number));
        }
        for (at, task) in plan.tasks.iter().enumerate() {
            for on in &task.dependencies {
                if let Some(on) = by_id.get(on) {
                    graph.add_edge(*on, at);
                }
            }
            let sequence = task.phase.as_ref().and_then(|phase| phases.get(phase));
            let number = sequence.and_then(|known| sequences.binary_search(known).ok());
            if let Some(number) = number {
                graph.add_edge(at, end_of(number));
                if number > 0 {
                    graph.add_edge(end_of(number - 1), at);
                }
            }
        }
        graph
    }

    fn add_edge(&mut self, before: usize, after: usize) {
        self.dependents[before].push(after);
        self.predecessors[after] += 1;
    }
}

fn positions(numbers: &[usize], wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let all = numbers.iter().enumerate();
    all.filter(|(_, number)| wanted(**number))
        .map(|(at, _)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Phase, Task};

    fn plan(tasks: &[(&str, &[&str], Option<&str>)], phases: &[(&str, u32)]) -> Plan {
        let tasks = tasks.iter().map(|(id, on, phase)| Task {
            id: (*id).into(),
            dependencies: on.iter().map(|on| (*on).into()).collect(),
            phase: phase.map(Into::into),
            ..Task::default()
        });
        let phases = phases.iter().map(|(id, sequence)| Phase {
            id: (*id).into(),
            sequence: *sequence,
            ..Phase::default()
        });
        Plan {
            tasks: tasks.collect(),
            phases: phases.collect(),
            ..Plan::default()
        }
    }

    fn told(plan: &Plan) -> String {
        let layers = plan_layers(plan).into_iter().map(|layer| {
            let ids: Vec<&str> = layer.into_iter().map(TaskId::as_str).collect();
            ids.join(" ")
        });
        layers.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn a_task_is_in_the_first_layer_that_its_dependencies_allow() {
        let market = plan(
            &[
                ("site", &["report", "logo"], None),
                ("report", &["research"], None),
                ("research", &[], None),
                ("logo", &[], None),
            ],
            &[],
        );
        assert_eq!(told(&market), "research logo | report | site");
        assert_eq!(told(&plan(&[], &[])), "");
    }

    #[test]
    fn a_phase_comes_after_all_tasks_of_the_one_before() {
        let phased = plan(
            &[
                ("c", &[], Some("late")),
                ("a", &[], Some("early")),
                ("b", &["a"], Some("early")),
                ("d", &["c"], Some("late")),
                ("free", &[], None),
            ],
            &[("late", 2), ("empty", 1), ("early", 0)],
        );
        assert_eq!(told(&phased), "a free | b | c | d");
    }

    #[test]
    fn tasks_that_wait_for_each_other_are_in_no_layer() {
        let circle = plan(
            &[("a", &["b"], None), ("b", &["a"], None), ("c", &[], None)],
            &[],
        );
        assert_eq!(told(&circle), "c");
    }
}
