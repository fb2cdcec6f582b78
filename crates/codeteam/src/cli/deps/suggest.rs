//! Which tasks need which, and what the plan says to it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::imports::{ImportGraph, ImportStatement};
use codeteam_context::outline::ImportForm;
use codeteam_core::ids::TaskId;
use codeteam_core::plan::Plan;
use codeteam_core::schedule::TaskStatus;
use serde::Serialize;

/// What imports tell about a plan.
#[derive(Debug, Default, Serialize)]
pub(super) struct DependencyFindings {
    /// Tasks that need others, in the order of the plan.
    pub(super) dependencies: Vec<SuggestedDependency>,
    /// Imports of which nothing is known.
    pub(super) unconfirmed: Vec<UnconfirmedImport>,
}

/// A task that needs another.
#[derive(Debug, Serialize)]
pub(super) struct SuggestedDependency {
    /// The task.
    pub(super) task: TaskId,
    /// What it needs.
    pub(super) on: TaskId,
    /// What the plan says to it.
    pub(super) standing: DependencyStatus,
    /// The first import that shows it.
    #[serde(flatten)]
    pub(super) shown: LocatedImport,
    /// How many imports show it.
    pub(super) imports: usize,
}

/// What a plan says to a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DependencyStatus {
    /// Nothing; it can be added.
    New,
    /// It is there, or follows from others, or from the order of phases.
    Present,
    /// The tasks would wait for each other.
    Cycle,
    /// The other task is of a later phase.
    LaterPhase,
    /// The task has begun and can no longer be changed.
    Begun,
}

/// An import of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct UnconfirmedImport {
    /// The task whose file has it.
    pub(super) task: TaskId,
    /// What is imported, as it is written.
    pub(super) module: String,
    /// The import.
    #[serde(flatten)]
    pub(super) shown: LocatedImport,
}

/// Where an import stands, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LocatedImport {
    /// The file.
    pub(super) file: String,
    /// The line, from 1.
    pub(super) line: u32,
    /// The statement, on one line.
    pub(super) statement: String,
}

impl LocatedImport {
    fn of(file: &str, shown: ImportStatement<'_>) -> Self {
        Self {
            file: file.to_owned(),
            line: shown.line,
            statement: shown.statement.to_owned(),
        }
    }
}

/// The tasks that a path belongs to, as their places in the plan.
pub(super) struct FileOwners {
    files: BTreeMap<String, BTreeSet<usize>>,
    /// With the `/` at their end.
    folders: BTreeMap<String, BTreeSet<usize>>,
}

impl FileOwners {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut owners = Self {
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        for (place, task) in plan.tasks.iter().enumerate() {
            for path in &task.files {
                let path = plain(path);
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

    /// Every path that a task names.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.keys().chain(self.folders.keys());
        files.map(String::as_str)
    }

    /// The tasks that a path belongs to: those that name it, else those that name its folder.
    pub(super) fn owning(&self, path: &str) -> BTreeSet<usize> {
        if let Some(owners) = self.files.get(path) {
            return owners.clone();
        }
        let ends = path.rmatch_indices('/').map(|(at, _)| &path[..=at]);
        let mut owners = ends.filter_map(|folder| self.folders.get(folder));
        owners.next().cloned().unwrap_or_default()
    }
}

/// A path as imports lead to it.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let end = if path.ends_with('/') { "/" } else { "" };
    format!("{}{end}", parts.join("/"))
}

/// Which tasks need which, by the imports of their files.
pub(super) fn suggest(
    plan: &Plan,
    statuses: &BTreeMap<TaskId, TaskStatus>,
    graph: &ImportGraph,
) -> DependencyFindings {
    let owners = FileOwners::of(plan);
    let mut needs: BTreeMap<(usize, usize), (LocatedImport, usize)> = BTreeMap::new();
    let mut found = DependencyFindings::default();
    let mut asked = BTreeSet::new();
    let files: Vec<&str> = graph.files().collect();
    for file in files {
        let own = owners.owning(file);
        if own.is_empty() {
            continue;
        }
        for to in graph.imports_of(file) {
            // Of several that touch a file, the first is the one that makes it.
            let other = owners.owning(to);
            let Some(on) = other.first().filter(|_| other.is_disjoint(&own)) else {
                continue;
            };
            let shown = graph.why(file, to);
            let Some(first) = shown.first() else { continue };
            for task in &own {
                let entry = needs.entry((*task, *on));
                let entry = entry.or_insert_with(|| (LocatedImport::of(file, *first), 0));
                entry.1 += shown.len();
            }
        }
        for outside in graph.outside(file) {
            if outside.package.is_some() || outside.shown.form == ImportForm::Part {
                continue;
            }
            for task in &own {
                if asked.insert((*task, outside.module.to_owned())) {
                    found.unconfirmed.push(UnconfirmedImport {
                        task: plan.tasks[*task].id.clone(),
                        module: outside.module.to_owned(),
                        shown: LocatedImport::of(file, outside.shown),
                    });
                }
            }
        }
    }
    let standings = standings(plan, statuses, needs.keys().copied());
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

/// What the plan says to each of some dependencies.
fn standings(
    plan: &Plan,
    statuses: &BTreeMap<TaskId, TaskStatus>,
    needs: impl Iterator<Item = (usize, usize)>,
) -> Vec<DependencyStatus> {
    let ranks = plan.ranks();
    let waits = TaskDependencies::of(plan);
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
    // All that are new, together, may make a circle that none of them makes alone.
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

/// Which tasks wait for which.
#[derive(Clone)]
pub(super) struct TaskDependencies {
    on: Vec<BTreeSet<usize>>,
}

impl TaskDependencies {
    pub(super) fn of(plan: &Plan) -> Self {
        let index = plan.index();
        let on = plan.tasks.iter().map(|task| {
            let on = task.dependencies.iter();
            on.filter_map(|id| index.get(id).copied()).collect()
        });
        Self { on: on.collect() }
    }

    pub(super) fn add(&mut self, task: usize, on: usize) {
        self.on[task].insert(on);
    }

    /// Whether a task waits for another, directly or not.
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
