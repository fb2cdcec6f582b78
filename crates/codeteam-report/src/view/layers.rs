//! A run's tasks in layers.

use codeteam_core::assembly::assigns_roles;
use codeteam_core::ids::{RoleName, RunId, TaskId};
use codeteam_core::plan_layers::plan_layers;
use codeteam_core::schedule::TaskStatus;
use serde::Serialize;

use super::{LoadedRun, VIEW_VERSION};

/// The tasks of a run's plan in layers, as Kahn's algorithm gives them.
///
/// Tasks of one layer may run side by side. No task waits for a layer: it starts as soon as its own
/// dependencies are complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayersView {
    /// The run's id.
    pub run: RunId,
    /// `VIEW_VERSION`.
    pub version: u32,
    /// The layers, in their order.
    pub layers: Vec<LayerView>,
}

/// Tasks that depend on earlier layers only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerView {
    /// Its number, from 1.
    pub number: usize,
    /// Its tasks, in the plan's order.
    pub tasks: Vec<LayerTask>,
}

/// A task in a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerTask {
    /// The task's id.
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// Its status.
    pub status: TaskStatus,
    /// The roles that carry it out, in their order, if the workflow leaves that to the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleName>,
    /// The tasks that must be complete before it starts.
    pub dependencies: Vec<TaskId>,
}

impl LayersView {
    /// Makes the view of a run; it has no layers if the run has no plan.
    pub fn new(run: &LoadedRun) -> Self {
        let run = run.as_run();
        let layers = run.plan.iter().flat_map(|plan| plan_layers(plan));
        let task = |id: &TaskId| {
            let at = *run.task_positions.get(id)?;
            let task = run.plan.as_ref()?.tasks.get(at)?;
            Some(LayerTask {
                id: id.clone(),
                title: task.headline().to_owned(),
                status: run.task_status(id),
                roles: if assigns_roles(&run.workflow) {
                    task.roles.clone()
                } else {
                    Vec::new()
                },
                dependencies: task.dependencies.clone(),
            })
        };
        Self {
            run: run.id.clone(),
            version: VIEW_VERSION,
            layers: layers
                .enumerate()
                .map(|(at, layer)| LayerView {
                    number: at + 1,
                    tasks: layer.into_iter().filter_map(task).collect(),
                })
                .collect(),
        }
    }
}
