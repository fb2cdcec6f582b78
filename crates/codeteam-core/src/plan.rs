//! The plan: phases of tasks with dependencies, acceptance criteria and files.

mod amend;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::amend::{AmendError, amend};
pub use self::yaml::{LoadedPlan, from_yaml, to_yaml};
use crate::ids::{PhaseId, TaskId, is_plain};

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `feature-0021`; empty until the engine gives the plan its folder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_id: String,
    /// What the plan is for.
    #[serde(default)]
    pub description: String,
    /// Phases, if the plan has any. Tasks of a later one wait for all tasks of an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// The tasks, in the order they are to be preferred.
    pub tasks: Vec<Task>,
    /// Files (or folders, or patterns) that no task may change. A person writes them; planners are
    /// not asked for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub forbidden: Vec<String>,
}

/// A phase of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its id, unique among phases and tasks.
    pub id: PhaseId,
    /// What it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Phases with the same number run side by side.
    #[serde(default)]
    pub sequence: u32,
}

/// A task of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// One line; the first line of the description if it is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What to do.
    #[serde(default)]
    pub description: String,
    /// Tasks that must be complete before this one starts.
    #[serde(default, alias = "depends_on", skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<TaskId>,
    /// Files (or folders, with a trailing `/`) it may touch. A task without any runs alone.
    #[serde(default, alias = "artifacts", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What must hold when it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// The phase it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseId>,
}

impl Plan {
    /// What the plan is for, if nobody says it in other words: its description, or else its tasks.
    pub fn goal(&self) -> Option<String> {
        let described = self.description.trim();
        if !described.is_empty() {
            return Some(described.to_owned());
        }
        let first = self.tasks.first()?.headline();
        Some(match self.tasks.len() - 1 {
            0 => first.to_owned(),
            1 => format!("{first}, and 1 more task"),
            more => format!("{first}, and {more} more tasks"),
        })
    }
}

impl Task {
    /// The first line of the title, or of the description, or the id: one line, whatever a model wrote.
    pub fn headline(&self) -> &str {
        let title = self.title.trim().lines().next().unwrap_or("").trim();
        let first = self.description.lines().next().unwrap_or("").trim();
        [title, first]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or(self.id.as_str())
    }
}

/// What is wrong with a plan, and about which task or phase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No task at all.
    #[error("the plan has no tasks")]
    Empty,
    /// More than the limit.
    #[error("the plan has {found} tasks, more than `limits.max_tasks` allows ({limit})")]
    TooMany {
        /// How many it has.
        found: usize,
        /// How many it may have.
        limit: usize,
    },
    /// The name cannot be part of a path or a branch.
    #[error(
        "`{0}` cannot be an id: use letters, digits, `-`, `_` and single `.`, at most 80 of \
         them, and neither `.` nor `.lock` at the end"
    )]
    BadId(String),
    /// Two tasks or phases share a name.
    #[error("the id `{0}` is used twice")]
    DuplicateId(String),
    /// A dependency on nothing.
    #[error("task `{task}` depends on `{on}`, which is not in the plan")]
    UnknownDependency {
        /// The task.
        task: TaskId,
        /// What it names.
        on: TaskId,
    },
    /// A phase that is not there.
    #[error("task `{task}` is in phase `{phase}`, which is not in the plan")]
    UnknownPhase {
        /// The task.
        task: TaskId,
        /// What it names.
        phase: PhaseId,
    },
    /// Tasks that wait for each other.
    #[error("these tasks wait for each other: {}", names(.0))]
    Cycle(Vec<TaskId>),
    /// A task that depends on one of a later phase would never start.
    #[error("task `{task}` depends on `{on}` of a later phase and could never start")]
    LaterPhase {
        /// The task.
        task: TaskId,
        /// What it depends on.
        on: TaskId,
    },
    /// A path that leaves the repository.
    #[error("task `{task}` names the file `{file}`: use paths relative to the repository")]
    BadFile {
        /// The task.
        task: TaskId,
        /// The path.
        file: String,
    },
}

impl Error {
    /// The task or phase the problem is about, to find its line by.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Empty | Self::TooMany { .. } => None,
            Self::BadId(id) | Self::DuplicateId(id) => Some(id),
            Self::UnknownDependency { task, .. }
            | Self::UnknownPhase { task, .. }
            | Self::LaterPhase { task, .. }
            | Self::BadFile { task, .. } => Some(task.as_str()),
            Self::Cycle(tasks) => tasks.first().map(TaskId::as_str),
        }
    }
}

fn names(tasks: &[TaskId]) -> String {
    let quoted: Vec<String> = tasks.iter().map(|t| format!("`{t}`")).collect();
    quoted.join(" → ")
}

impl Plan {
    /// Everything that is wrong with the plan; empty if it can be carried out.
    pub fn check(&self, max_tasks: usize) -> Vec<Error> {
        if self.tasks.is_empty() {
            return vec![Error::Empty];
        }
        if self.tasks.len() > max_tasks {
            return vec![Error::TooMany {
                found: self.tasks.len(),
                limit: max_tasks,
            }];
        }
        let mut errors = self.check_names();
        if errors.is_empty() {
            errors.extend(self.check_references());
        }
        if errors.is_empty() {
            errors.extend(self.find_cycle().map(Error::Cycle));
        }
        errors
    }

    /// The position of each task by its id.
    pub fn index(&self) -> BTreeMap<&TaskId, usize> {
        self.tasks
            .iter()
            .enumerate()
            .map(|(i, task)| (&task.id, i))
            .collect()
    }

    /// The order of each task's phase: 0 for the first group of phases. Without phases all are 0.
    pub fn ranks(&self) -> Vec<u32> {
        let mut sequences: Vec<u32> = self.phases.iter().map(|p| p.sequence).collect();
        sequences.sort_unstable();
        sequences.dedup();
        let rank_of: BTreeMap<&PhaseId, u32> = self
            .phases
            .iter()
            .map(|p| {
                let before = sequences.partition_point(|s| *s < p.sequence);
                (&p.id, u32::try_from(before).unwrap_or(u32::MAX))
            })
            .collect();
        self.tasks
            .iter()
            .map(|t| {
                t.phase
                    .as_ref()
                    .and_then(|p| rank_of.get(p))
                    .copied()
                    .unwrap_or(0)
            })
            .collect()
    }

    /// The phases as a plan of their own, so that one scheduler serves both: a phase waits for
    /// those its tasks depend on, and holds what its tasks hold.
    #[must_use]
    pub fn of_phases(&self) -> Self {
        let place: BTreeMap<&PhaseId, usize> = self
            .phases
            .iter()
            .enumerate()
            .map(|(i, p)| (&p.id, i))
            .collect();
        let index = self.index();
        let mut on: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.phases.len()];
        let mut files: Vec<BTreeSet<&String>> = vec![BTreeSet::new(); self.phases.len()];
        let mut alone = vec![false; self.phases.len()];
        for task in &self.tasks {
            let Some(&own) = task.phase.as_ref().and_then(|p| place.get(p)) else {
                continue;
            };
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
                    // A phase without tasks holds nothing; its own name stands in the way of no one.
                    (false, true) => vec![phase.id.0.clone()],
                    (false, false) => files[i].iter().map(|f| (*f).clone()).collect(),
                },
                phase: Some(phase.id.clone()),
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

    /// The tasks of one phase. Phases they depend on are complete before this one opens.
    #[must_use]
    pub fn of_phase(&self, phase: &PhaseId) -> Self {
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

    /// Why the plan cannot be gone through phase by phase, if it cannot.
    pub fn unfit_for_phases(&self) -> Option<String> {
        if self.phases.is_empty() {
            return Some("the plan has no phases to go through".to_owned());
        }
        if let Some(task) = self.tasks.iter().find(|t| t.phase.is_none()) {
            return Some(format!("task `{}` is in no phase", task.id));
        }
        let cycle = self.of_phases().find_cycle()?;
        Some(format!(
            "these phases wait for each other: {}",
            names(&cycle)
        ))
    }

    fn check_names(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let phases = self.phases.iter().map(|p| p.id.as_str());
        for id in phases.chain(self.tasks.iter().map(|t| t.id.as_str())) {
            if !is_plain(id) {
                errors.push(Error::BadId(id.to_owned()));
            } else if !seen.insert(id) {
                errors.push(Error::DuplicateId(id.to_owned()));
            }
        }
        errors
    }

    fn check_references(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let index = self.index();
        let ranks = self.ranks();
        let phases: BTreeSet<&PhaseId> = self.phases.iter().map(|p| &p.id).collect();
        for (i, task) in self.tasks.iter().enumerate() {
            let id = &task.id;
            for on in &task.dependencies {
                match index.get(on) {
                    None => errors.push(Error::UnknownDependency {
                        task: id.clone(),
                        on: on.clone(),
                    }),
                    Some(j) if ranks[*j] > ranks[i] => {
                        errors.push(Error::LaterPhase {
                            task: id.clone(),
                            on: on.clone(),
                        });
                    }
                    Some(_) => {}
                }
            }
            if let Some(phase) = &task.phase
                && !phases.contains(phase)
            {
                errors.push(Error::UnknownPhase {
                    task: id.clone(),
                    phase: phase.clone(),
                });
            }
            for file in task.files.iter().filter(|file| !stays_inside(file)) {
                errors.push(Error::BadFile {
                    task: id.clone(),
                    file: file.clone(),
                });
            }
        }
        errors
    }

    /// A cycle among the dependencies, in order, if there is one. Linear in tasks and
    /// dependencies, and without recursion: a plan may be a chain of any length.
    fn find_cycle(&self) -> Option<Vec<TaskId>> {
        let index = self.index();
        let mut state = vec![0_u8; self.tasks.len()]; // 0 unseen, 1 on the path, 2 done
        for root in 0..self.tasks.len() {
            let mut path: Vec<(usize, usize)> = vec![(root, 0)];
            while let Some((node, edge)) = path.pop() {
                if edge == 0 {
                    if state[node] != 0 {
                        continue;
                    }
                    state[node] = 1;
                }
                let Some(on) = self.tasks[node].dependencies.get(edge) else {
                    state[node] = 2;
                    continue;
                };
                path.push((node, edge + 1));
                let Some(&next) = index.get(on) else { continue };
                if state[next] == 1 {
                    let start = path.iter().position(|(n, _)| *n == next).unwrap_or(0);
                    let mut cycle: Vec<usize> = path[start..].iter().map(|(n, _)| *n).collect();
                    cycle.push(next);
                    return Some(
                        cycle
                            .into_iter()
                            .map(|n| self.tasks[n].id.clone())
                            .collect(),
                    );
                }
                path.push((next, 0));
            }
        }
        None
    }
}

fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(['\0', '\n', '\\'])
        && path.split('/').all(|part| part != ".." && part != ".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn task(id: &str, on: &[&str]) -> Task {
        Task {
            id: id.into(),
            description: format!("Do {id}."),
            dependencies: on.iter().map(|d| (*d).into()).collect(),
            ..Task::default()
        }
    }

    fn plan(tasks: Vec<Task>) -> Plan {
        Plan {
            tasks,
            ..Plan::default()
        }
    }

    #[test]
    fn each_mistake_is_named() {
        let cases = [
            (plan(vec![]), "the plan has no tasks"),
            (
                plan(vec![task("a", &[]), task("a", &[])]),
                "the id `a` is used twice",
            ),
            (plan(vec![task("../a", &[])]), "`../a` cannot be an id"),
            (
                plan(vec![task("a", &["b"])]),
                "task `a` depends on `b`, which is not in the plan",
            ),
            (
                plan(vec![task("a", &["a"])]),
                "these tasks wait for each other: `a` → `a`",
            ),
            (
                plan(vec![
                    task("a", &["c"]),
                    task("b", &["a"]),
                    task("c", &["b"]),
                ]),
                "these tasks wait for each other: `a` → `c` → `b` → `a`",
            ),
        ];
        for (plan, message) in cases {
            let errors = plan.check(100);
            assert!(errors[0].to_string().contains(message), "{errors:?}");
        }
        let mut outside = task("a", &[]);
        outside.files = vec!["../../etc/passwd".into()];
        assert!(matches!(
            plan(vec![outside]).check(9)[0],
            Error::BadFile { .. }
        ));
    }

    #[test]
    fn ten_thousand_tasks_are_refused_by_the_limit_and_fine_above_it() {
        let many: Vec<Task> = (0..10_000)
            .map(|i| match i {
                0 => task("t0", &[]),
                _ => task(&format!("t{i}"), &[&format!("t{}", i - 1)]),
            })
            .collect();
        let plan = plan(many);
        assert_eq!(
            plan.check(1_000),
            [Error::TooMany {
                found: 10_000,
                limit: 1_000
            }]
        );
        assert_eq!(plan.check(10_000), []);
    }

    #[test]
    fn a_dependency_on_a_later_phase_is_refused() {
        let phase = |id: &str, sequence| Phase {
            id: id.into(),
            sequence,
            ..Phase::default()
        };
        let mut early = task("a", &["b"]);
        early.phase = Some("one".into());
        let mut late = task("b", &[]);
        late.phase = Some("two".into());
        let plan = Plan {
            phases: vec![phase("one", 1), phase("two", 2)],
            tasks: vec![early, late],
            ..Plan::default()
        };
        assert!(matches!(plan.check(9)[0], Error::LaterPhase { .. }));
    }
}
