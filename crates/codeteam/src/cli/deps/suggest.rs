//! Derives dependencies between tasks from imports, and compares them with the plan. Pure functions
//! only.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::imports::{ImportGraph, ImportStatement};
use codeteam_context::outline::ImportForm;
use codeteam_core::ids::TaskId;
use codeteam_core::plan::Plan;
use codeteam_core::schedule::TaskStatus;
use serde::Serialize;

/// The dependencies that imports imply for a plan.
#[derive(Debug, Default, Serialize)]
pub(super) struct DependencyFindings {
    /// The dependencies, in the order of the plan.
    pub(super) dependencies: Vec<SuggestedDependency>,
    /// Imports that could not be resolved.
    pub(super) unconfirmed: Vec<UnconfirmedImport>,
}

/// A task that depends on another.
#[derive(Debug, Serialize)]
pub(super) struct SuggestedDependency {
    /// The dependent task.
    pub(super) task: TaskId,
    /// The task that it depends on.
    pub(super) on: TaskId,
    /// The dependency's relation to the plan.
    pub(super) standing: DependencyStatus,
    /// The first import that shows it.
    #[serde(flatten)]
    pub(super) shown: LocatedImport,
    /// The number of imports that show it.
    pub(super) imports: usize,
}

/// A dependency's relation to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DependencyStatus {
    /// It is not in the plan and can be added.
    New,
    /// It is in the plan, or follows from other dependencies or from the order of phases.
    Present,
    /// The tasks would wait for each other.
    Cycle,
    /// The other task is in a later phase.
    LaterPhase,
    /// The task has begun and can no longer be changed.
    Begun,
}

/// An import that could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct UnconfirmedImport {
    /// The task whose file contains it.
    pub(super) task: TaskId,
    /// The imported module, as it is written.
    pub(super) module: String,
    /// The place of the import.
    #[serde(flatten)]
    pub(super) shown: LocatedImport,
}

/// An import with its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LocatedImport {
    /// The path of the file.
    pub(super) file: String,
    /// The line number, from 1.
    pub(super) line: u32,
    /// The statement, on one line.
    pub(super) statement: String,
}

impl LocatedImport {
    fn from_shown(file: &str, shown: ImportStatement<'_>) -> Self {
        Self {
            file: file.to_owned(),
            line: shown.line,
            statement: shown.statement.to_owned(),
        }
    }
}

/// The tasks that paths belong to, by their position in the plan.
pub(super) struct FileOwners {
    files: BTreeMap<String, BTreeSet<usize>>,
    /// Folders, with their trailing `/`.
    folders: BTreeMap<String, BTreeSet<usize>>,
}

impl FileOwners {
    pub(super) fn from_plan(plan: &Plan) -> Self {
        let mut owners = Self {
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        for (place, task) in plan.tasks.iter().enumerate() {
            for path in &task.files {
                let path = normalize_path(path);
                let map = if path.ends_with('/') {
                    &mut owners.folders
                } else {
                    &mut owners.files
                };
                map.entry(path).or_default().insert(place);
            }
        }
        owners
    }

    /// Returns every path that a task names.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.keys().chain(self.folders.keys());
        files.map(String::as_str)
    }

    /// Returns the tasks that a path belongs to: those that name it, or else those that name its
    /// folder.
    pub(super) fn owners_of(&self, path: &str) -> BTreeSet<usize> {
        if let Some(owners) = self.files.get(path) {
            return owners.clone();
        }
        let ends = path.rmatch_indices('/').map(|(at, _)| &path[..=at]);
        let mut owners = ends.filter_map(|folder| self.folders.get(folder));
        owners.next().cloned().unwrap_or_default()
    }
}

/// Normalises a path to the form that imports resolve to.
fn normalize_path(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let end = if path.ends_with('/') { "/" } else { "" };
    format!("{}{end}", parts.join("/"))
}

/// Derives dependencies from the imports of the tasks' files.
pub(super) fn suggest_dependencies(
    plan: &Plan,
    statuses: &BTreeMap<TaskId, TaskStatus>,
    graph: &ImportGraph,
) -> DependencyFindings {
    let owners = FileOwners::from_plan(plan);
    let mut needs: BTreeMap<(usize, usize), (LocatedImport, usize)> = BTreeMap::new();
    let mut found = DependencyFindings::default();
    let mut asked = BTreeSet::new();
    let files: Vec<&str> = graph.files().collect();
    for file in files {
        let own = owners.owners_of(file);
        if own.is_empty() {
            continue;
        }
        for to in graph.imports_of(file) {
            // Of several tasks that touch a file, the first one creates it.
            let other = owners.owners_of(to);
            let Some(on) = other.first().filter(|_| other.is_disjoint(&own)) else {
                continue;
            };
            let shown = graph.import_statements(file, to);
            let Some(first) = shown.first() else { continue };
            for task in &own {
                let entry = needs.entry((*task, *on));
                let entry = entry.or_insert_with(|| (LocatedImport::from_shown(file, *first), 0));
                entry.1 += shown.len();
            }
        }
        for outside in graph.external_imports(file) {
            if outside.package.is_some() || outside.import.form == ImportForm::Part {
                continue;
            }
            for task in &own {
                if asked.insert((*task, outside.module.to_owned())) {
                    found.unconfirmed.push(UnconfirmedImport {
                        task: plan.tasks[*task].id.clone(),
                        module: outside.module.to_owned(),
                        shown: LocatedImport::from_shown(file, outside.import),
                    });
                }
            }
        }
    }
    let standings = dependency_statuses(plan, statuses, needs.keys().copied());
    for (((task, on), (shown, imports)), standing) in needs.into_iter().zip(standings) {
        found.dependencies.push(SuggestedDependency {
            task: plan.tasks[task].id.clone(),
            on: plan.tasks[on].id.clone(),
            standing,
            shown,
            imports,
        });
    }
    found
}

/// Determines how each dependency relates to the plan.
fn dependency_statuses(
    plan: &Plan,
    statuses: &BTreeMap<TaskId, TaskStatus>,
    needs: impl Iterator<Item = (usize, usize)>,
) -> Vec<DependencyStatus> {
    let ranks = plan.phase_ranks();
    let waits = TaskDependencies::from_plan(plan);
    let mut standings = Vec::new();
    let mut new = Vec::new();
    for (task, on) in needs {
        let status = statuses.get(&plan.tasks[task].id).copied();
        let status = status.unwrap_or_default();
        let has_begun = status.satisfies() || status == TaskStatus::Running;
        let standing = if ranks[on] < ranks[task] || waits.reaches(task, on) {
            DependencyStatus::Present
        } else if ranks[on] > ranks[task] {
            DependencyStatus::LaterPhase
        } else if has_begun {
            DependencyStatus::Begun
        } else {
            new.push((task, on));
            DependencyStatus::New
        };
        standings.push((task, on, standing));
    }
    // New dependencies may form a cycle together that none of them forms alone.
    let mut together = waits;
    for (task, on) in new {
        together.add(task, on);
    }
    let end = |(task, on, standing): (usize, usize, DependencyStatus)| match standing {
        DependencyStatus::New if together.reaches(on, task) => DependencyStatus::Cycle,
        standing => standing,
    };
    standings.into_iter().map(end).collect()
}

/// The dependencies between tasks.
#[derive(Clone)]
pub(super) struct TaskDependencies {
    on: Vec<BTreeSet<usize>>,
}

impl TaskDependencies {
    pub(super) fn from_plan(plan: &Plan) -> Self {
        let index = plan.task_positions();
        let on = plan.tasks.iter().map(|task| {
            let on = task.dependencies.iter();
            on.filter_map(|id| index.get(id).copied()).collect()
        });
        Self { on: on.collect() }
    }

    pub(super) fn add(&mut self, task: usize, on: usize) {
        self.on[task].insert(on);
    }

    /// Returns true if a task waits for another, directly or indirectly.
    pub(super) fn reaches(&self, task: usize, other: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![task];
        while let Some(task) = open.pop() {
            for on in &self.on[task] {
                if *on == other {
                    return true;
                }
                if seen.insert(*on) {
                    open.push(*on);
                }
            }
        }
        false
    }
}
