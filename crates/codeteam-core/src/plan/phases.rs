//! The phases of a plan: each as a plan of its own, broken down into tasks, with its interfaces.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Error, Interface, Phase, PhaseStart, Plan, Task, TaskPriority, is_own_file, names, stays_inside,
};
use crate::ids::{PhaseId, TaskId};

impl Plan {
    /// Returns the plan with all of its tasks in one phase, if it has tasks and no phases: so it can
    /// be carried out by a workflow that goes phase by phase.
    #[must_use]
    pub fn into_one_phase(mut self) -> Self {
        if !self.phases.is_empty() || self.tasks.is_empty() {
            return self;
        }
        let is_taken = |id: &str| self.tasks.iter().any(|task| task.id.as_str() == id);
        let mut id = "all".to_owned();
        while is_taken(&id) {
            id.push('_');
        }
        for task in &mut self.tasks {
            task.phase = Some(PhaseId(id.clone()));
        }
        self.phases.push(Phase {
            id: PhaseId(id),
            sequence: 1,
            ..Phase::default()
        });
        self
    }

    /// Returns a phase of the plan.
    pub fn phase(&self, id: &PhaseId) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == *id)
    }

    /// Returns the phases as a plan of their own, so that one scheduler serves both: a phase waits
    /// for those its tasks depend on, holds the files its tasks hold, and is as urgent as the most
    /// urgent of them.
    #[must_use]
    pub fn phases_as_plan(&self) -> Self {
        let place: BTreeMap<&PhaseId, usize> = self
            .phases
            .iter()
            .enumerate()
            .map(|(i, p)| (&p.id, i))
            .collect();
        let index = self.task_positions();
        let mut on: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.phases.len()];
        let mut files: Vec<BTreeSet<&String>> = vec![BTreeSet::new(); self.phases.len()];
        let mut alone = vec![false; self.phases.len()];
        let mut urgency: Vec<Option<TaskPriority>> = vec![None; self.phases.len()];
        for task in &self.tasks {
            let Some(&own) = task.phase.as_ref().and_then(|p| place.get(p)) else {
                continue;
            };
            let most = urgency[own].map_or(task.priority, |known| known.min(task.priority));
            urgency[own] = Some(most);
            alone[own] |= task.files.is_empty();
            files[own].extend(&task.files);
            let others = task
                .dependencies
                .iter()
                .filter_map(|d| self.tasks[*index.get(d)?].phase.as_ref())
                .filter_map(|p| place.get(p).copied());
            on[own].extend(others.filter(|other| *other != own));
        }
        let tasks = self
            .phases
            .iter()
            .enumerate()
            .map(|(i, phase)| Task {
                id: TaskId(phase.id.0.clone()),
                title: phase.title.clone(),
                dependencies: on[i]
                    .iter()
                    .map(|d| TaskId(self.phases[*d].id.0.clone()))
                    .collect(),
                files: match (alone[i], files[i].is_empty()) {
                    (true, _) => Vec::new(),
                    // A phase without tasks holds nothing; its own name conflicts with no file.
                    (false, true) => vec![phase.id.0.clone()],
                    (false, false) => files[i].iter().map(|f| (*f).clone()).collect(),
                },
                phase: Some(phase.id.clone()),
                priority: urgency[i].unwrap_or_default(),
                ..Task::default()
            })
            .collect();
        Self {
            plan_id: String::new(),
            description: String::new(),
            phases: self.phases.clone(),
            tasks,
            forbidden: self.forbidden.clone(),
        }
    }

    /// Returns the tasks of one phase as a plan. Phases they depend on are complete before this one
    /// opens.
    #[must_use]
    pub fn plan_for_phase(&self, phase: &PhaseId) -> Self {
        let mut tasks: Vec<Task> = self
            .tasks
            .iter()
            .filter(|t| t.phase.as_ref() == Some(phase))
            .cloned()
            .collect();
        let own: BTreeSet<TaskId> = tasks.iter().map(|t| t.id.clone()).collect();
        for task in &mut tasks {
            task.dependencies.retain(|on| own.contains(on));
        }
        Self {
            plan_id: String::new(),
            description: String::new(),
            phases: self.phases.clone(),
            tasks,
            forbidden: self.forbidden.clone(),
        }
    }

    /// Returns why the plan cannot be carried out phase by phase, if it cannot.
    pub fn phase_order_problem(&self) -> Option<String> {
        if self.phases.is_empty() {
            return Some("the plan has no phases to go through".to_owned());
        }
        if let Some(task) = self.tasks.iter().find(|t| t.phase.is_none()) {
            return Some(format!("task `{}` is in no phase", task.id));
        }
        let cycle = self.phases_as_plan().find_cycle()?;
        Some(format!(
            "these phases wait for each other: {}",
            names(&cycle)
        ))
    }

    /// Returns the plan with other tasks and interfaces in one phase. The tasks take the place of
    /// those that the phase has had.
    #[must_use]
    pub fn with_phase(&self, phase: &PhaseId, tasks: &[Task], interfaces: &[Interface]) -> Self {
        let is_of_phase = |task: &Task| task.phase.as_ref() == Some(phase);
        let mut plan = self.clone();
        let first = plan.tasks.iter().position(is_of_phase);
        plan.tasks.retain(|task| !is_of_phase(task));
        let at = first.unwrap_or(plan.tasks.len()).min(plan.tasks.len());
        plan.tasks.splice(at..at, tasks.iter().cloned());
        if let Some(phase) = plan.phases.iter_mut().find(|known| known.id == *phase) {
            phase.interfaces = interfaces.to_vec();
        }
        plan
    }

    /// Returns the plan with one interface of a phase replaced by another of its name.
    #[must_use]
    pub(crate) fn with_interface(&self, phase: &PhaseId, interface: &Interface) -> Self {
        let mut plan = self.clone();
        let phases = plan.phases.iter_mut().filter(|known| known.id == *phase);
        let mut interfaces = phases.flat_map(|phase| &mut phase.interfaces);
        if let Some(known) = interfaces.find(|known| known.name == interface.name) {
            known.clone_from(interface);
        }
        plan
    }

    /// Checks that every interface has a file of its own, inside the repository, which no task of the
    /// phases that may be under way at the same time is to change.
    pub(super) fn check_interfaces(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut names = BTreeSet::new();
        let mut files: BTreeMap<String, (&PhaseId, &str)> = BTreeMap::new();
        for phase in &self.phases {
            for interface in &phase.interfaces {
                let name = interface.name.as_str();
                let path = interface.path();
                let problem = if name.trim().is_empty() {
                    Some("has no name".to_owned())
                } else if interface.definition.trim().is_empty() {
                    Some("has no definition".to_owned())
                } else if !names.insert((&phase.id, name)) {
                    Some("is defined twice".to_owned())
                } else if !stays_inside(&path) || path.ends_with('/') {
                    Some(format!(
                        "has the file `{path}`: use a path relative to the repository"
                    ))
                } else if is_own_file(&path) {
                    Some(format!(
                        "has the file `{path}`: `.codeteam` is codeteam's own folder"
                    ))
                } else if let Some(task) = self.task_with_file(&path, phase) {
                    Some(format!(
                        "has the file `{path}`, which task `{task}` is to change: interfaces are \
                         written by codeteam, so take the file out of the task, or name another one"
                    ))
                } else {
                    let other = files.insert(path.clone(), (&phase.id, name));
                    other.map(|(phase, name)| {
                        format!(
                            "has the file `{path}` of the interface `{name}` of phase `{phase}`"
                        )
                    })
                };
                errors.extend(problem.map(|problem| Error::BadInterface {
                    phase: phase.id.clone(),
                    name: name.to_owned(),
                    problem,
                }));
            }
        }
        errors
    }

    /// Returns the task that is to change a file while a phase may be under way.
    fn task_with_file(&self, path: &str, beside: &Phase) -> Option<&TaskId> {
        let is_beside = |task: &&Task| {
            let phase = task.phase.as_ref().and_then(|phase| self.phase(phase));
            phase.is_some_and(|phase| {
                let is_early = |phase: &Phase| phase.starts_after == PhaseStart::Interfaces;
                phase.sequence == beside.sequence
                    || (is_early(phase) && phase.sequence > beside.sequence)
                    || (is_early(beside) && phase.sequence < beside.sequence)
            })
        };
        let mut tasks = self.tasks.iter().filter(is_beside);
        let found = tasks.find(|task| task.files.iter().any(|file| file == path));
        found.map(|task| &task.id)
    }
}
