//! The plan: phases of tasks with dependencies, acceptance criteria and files.

mod interface;
mod measurable;
mod phase_start;
mod phases;
mod priority;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::interface::Interface;
pub(crate) use self::measurable::{UNMEASURABLE, criteria_problems};
pub use self::phase_start::PhaseStart;
pub use self::priority::TaskPriority;
use crate::ids::{PhaseId, RoleName, TaskId, is_valid_name};

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
    #[serde(alias = "missions")]
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
    /// What it has to achieve, for whoever breaks it down into tasks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Phases with the same number run side by side.
    #[serde(default)]
    pub sequence: u32,
    /// `interfaces`: it starts as soon as the interfaces of the phases before it are locked, while
    /// their tasks are still being built. `completion`, if left out: when those phases are complete.
    #[serde(default, skip_serializing_if = "PhaseStart::is_usual")]
    pub starts_after: PhaseStart,
    /// What its tasks rely on, and the phases after it. A designer settles them where the workflow
    /// has one for each phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
}

/// A task of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its id.
    #[serde(alias = "mission_id")]
    pub id: TaskId,
    /// One line; the first line of the description if it is missing.
    #[serde(default, alias = "goal", skip_serializing_if = "String::is_empty")]
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
    #[serde(
        default,
        alias = "success_criteria",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub acceptance: Vec<String>,
    /// The phase it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseId>,
    /// Whether it starts before others that could start as well.
    #[serde(default, skip_serializing_if = "TaskPriority::is_usual")]
    pub priority: TaskPriority,
    /// The roles that carry it out, in their order, where the workflow leaves that to the plan.
    /// A person or an assembler names them; planners are not asked for any.
    #[serde(
        default,
        alias = "role",
        alias = "assigned_role",
        deserialize_with = "priority::one_or_many_roles",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(skip)]
    pub roles: Vec<RoleName>,
}

impl Plan {
    /// Returns what the plan is for, if nobody states a goal: its description, or else its tasks.
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
    /// Returns the first line of the title, or of the description, or the id: always one line,
    /// whatever a model wrote.
    pub fn headline(&self) -> &str {
        let title = self.title.trim().lines().next().unwrap_or("").trim();
        let first = self.description.lines().next().unwrap_or("").trim();
        [title, first]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or(self.id.as_str())
    }
}

/// A problem of a plan, with the task or phase it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The plan has no tasks, and no phases that somebody could break down.
    #[error("the plan has no tasks")]
    Empty,
    /// Two interfaces of a phase share a name, or two of the plan a file.
    #[error("the interface `{name}` of phase `{phase}` {problem}")]
    BadInterface {
        /// The phase.
        phase: PhaseId,
        /// The interface.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The plan has more tasks than the limit.
    #[error("the plan has {found} tasks, more than `limits.max_tasks` allows ({limit})")]
    TooMany {
        /// The number of tasks it has.
        found: usize,
        /// The number of tasks it may have.
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
    /// A task depends on one that does not exist.
    #[error("task `{task}` depends on `{on}`, which is not in the plan")]
    UnknownDependency {
        /// The dependent task.
        task: TaskId,
        /// The missing task.
        on: TaskId,
    },
    /// A task belongs to a phase that does not exist.
    #[error("task `{task}` is in phase `{phase}`, which is not in the plan")]
    UnknownPhase {
        /// The task.
        task: TaskId,
        /// The missing phase.
        phase: PhaseId,
    },
    /// Tasks wait for each other.
    #[error("these tasks wait for each other: {}", names(.0))]
    Cycle(Vec<TaskId>),
    /// A task depends on one of a later phase, so it would never start.
    #[error("task `{task}` depends on `{on}` of a later phase and could never start")]
    LaterPhase {
        /// The dependent task.
        task: TaskId,
        /// The task of the later phase.
        on: TaskId,
    },
    /// A path leaves the repository.
    #[error("task `{task}` names the file `{file}`: use paths relative to the repository")]
    BadFile {
        /// The task that names it.
        task: TaskId,
        /// The offending path.
        file: String,
    },
    /// A path is in codeteam's own folder, of which nothing is ever committed.
    #[error(
        "task `{task}` names the file `{file}`: `.codeteam` is codeteam's own folder, and no change \
         of a run includes it; leave the file out, a person has to make that change"
    )]
    OwnFile {
        /// The task that names it.
        task: TaskId,
        /// The offending path.
        file: String,
    },
}

impl Error {
    /// Returns the task or phase the problem is about, which helps to find its line.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Empty | Self::TooMany { .. } => None,
            Self::BadId(id) | Self::DuplicateId(id) => Some(id),
            Self::UnknownDependency { task, .. }
            | Self::UnknownPhase { task, .. }
            | Self::LaterPhase { task, .. }
            | Self::BadFile { task, .. }
            | Self::OwnFile { task, .. } => Some(task.as_str()),
            Self::BadInterface { phase, .. } => Some(phase.as_str()),
            Self::Cycle(tasks) => tasks.first().map(TaskId::as_str),
        }
    }
}

fn names(tasks: &[TaskId]) -> String {
    let quoted: Vec<String> = tasks.iter().map(|t| format!("`{t}`")).collect();
    quoted.join(" → ")
}

impl Plan {
    /// Returns everything that is wrong with the plan; empty if it can be carried out.
    pub fn check(&self, max_tasks: usize) -> Vec<Error> {
        if self.tasks.is_empty() && self.phases.is_empty() {
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
            errors.extend(self.check_interfaces());
        }
        if errors.is_empty() {
            errors.extend(self.find_cycle().map(Error::Cycle));
        }
        errors
    }

    /// Returns the position of each task by its id.
    pub fn task_positions(&self) -> BTreeMap<&TaskId, usize> {
        self.tasks
            .iter()
            .enumerate()
            .map(|(i, task)| (&task.id, i))
            .collect()
    }

    /// Returns the rank of each task's phase: 0 for the first group of phases. Without phases all
    /// are 0.
    pub fn phase_ranks(&self) -> Vec<u32> {
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

    fn check_names(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let phases = self.phases.iter().map(|p| p.id.as_str());
        for id in phases.chain(self.tasks.iter().map(|t| t.id.as_str())) {
            if !is_valid_name(id) {
                errors.push(Error::BadId(id.to_owned()));
            } else if !seen.insert(id) {
                errors.push(Error::DuplicateId(id.to_owned()));
            }
        }
        errors
    }

    fn check_references(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let index = self.task_positions();
        let ranks = self.phase_ranks();
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
            for file in task.files.iter().filter(|file| is_own_file(file)) {
                errors.push(Error::OwnFile {
                    task: id.clone(),
                    file: file.clone(),
                });
            }
        }
        errors
    }

    /// Returns a cycle among the dependencies, in order, if there is one. Takes time linear in
    /// tasks and dependencies, and does not recurse: a plan may be a chain of any length.
    fn find_cycle(&self) -> Option<Vec<TaskId>> {
        let index = self.task_positions();
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

/// Returns true if a path is codeteam's own folder or something in it.
fn is_own_file(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.next() == Some(".codeteam")
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
    fn files_of_codeteams_own_folder_are_refused() {
        for (file, is_refused) in [
            (".codeteam/config.yml", true),
            ("./.codeteam", true),
            (".codeteam-notes", false),
            ("docs/.codeteam/x", false),
        ] {
            let mut task = task("a", &[]);
            task.files = vec![file.into()];
            let errors = plan(vec![task]).check(9);
            let own = errors.iter().any(|e| matches!(e, Error::OwnFile { .. }));
            assert_eq!(own, is_refused, "{file}");
        }
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
