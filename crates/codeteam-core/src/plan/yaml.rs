//! `plan.yml`: read with the lines of its mistakes, written so that a person likes to edit it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::{Phase, Plan, Task};
use crate::ids::{PhaseId, TaskId};
use crate::misplaced::DocumentKind;
use crate::schedule::TaskStatus;
use crate::yaml::{
    Diagnostic, FileProblems, SourceFiles, SourcePosition, WithPosition, YamlNode, merge, read,
    typed,
};

/// A plan as a file holds it: with the status of each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedPlan {
    /// The plan.
    pub plan: Plan,
    /// The status of each task, where the file says one.
    pub statuses: BTreeMap<TaskId, TaskStatus>,
    /// The runs that have worked on it.
    pub runs: Vec<String>,
    /// Whether a person has accepted it, or it is a draft; `None` if the file does not say. One
    /// that is given by name counts as accepted then.
    pub accepted: Option<bool>,
}

/// Where a plan as a whole stands.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlanStatus {
    Draft,
    Accepted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    #[serde(default)]
    plan_id: String,
    #[serde(default)]
    description: String,
    status: Option<PlanStatus>,
    #[serde(default)]
    runs: Vec<String>,
    #[serde(default)]
    phases: Vec<FilePhase>,
    #[serde(default)]
    tasks: Vec<WithPosition<FileTask>>,
    #[serde(default)]
    forbidden: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePhase {
    id: String,
    #[serde(default)]
    title: String,
    sequence: Option<u32>,
    #[serde(default, alias = "components")]
    tasks: Vec<WithPosition<FileTask>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTask {
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "depends_on")]
    dependencies: Vec<String>,
    #[serde(default, alias = "artifacts")]
    files: Vec<String>,
    #[serde(default)]
    acceptance: Vec<String>,
    phase: Option<String>,
    status: Option<TaskStatus>,
}

/// Keys by which others describe a task, and what to write instead.
const FOREIGN: &[(&str, &str)] = &[
    ("mission_id", "write it as `id`"),
    (
        "goal",
        "write it as `title`, and more of it as `description`",
    ),
    ("success_criteria", "write them as `acceptance`, a list"),
    (
        "requirements",
        "write them as `acceptance`, a list, or into the `description`",
    ),
    (
        "priority",
        "leave it out: tasks start as their `dependencies` allow, and otherwise in the order of the list",
    ),
    (
        "assigned_role",
        "leave it out: the workflow says who does the work, `--role developer=team/writer` for a whole run",
    ),
];

/// What is wrong with tasks that are described in others' words.
fn foreign_keys(plan: &YamlNode) -> Vec<Diagnostic> {
    let list = |node: &YamlNode, key: &str| -> Vec<YamlNode> {
        let list = node.get(key).and_then(YamlNode::as_list);
        list.unwrap_or_default().to_vec()
    };
    let mut tasks = list(plan, "tasks");
    for phase in list(plan, "phases") {
        tasks.extend(list(&phase, "tasks"));
        tasks.extend(list(&phase, "components"));
    }
    let mut faults = Vec::new();
    for task in &tasks {
        for (key, _) in task.as_map().unwrap_or_default() {
            if let Some((name, advice)) = FOREIGN.iter().find(|(name, _)| *name == key.name) {
                let message = format!("a task has no `{name}`");
                faults.push(Diagnostic::at(key.place, message).hint(*advice));
            }
        }
    }
    faults
}

/// Reads and checks a plan file.
pub fn from_yaml(file: &str, text: &str, max_tasks: usize) -> Result<LoadedPlan, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.problems([fault]))?;
    let node = unwrapped(node).map_err(|faults| sources.problems(faults))?;
    let foreign = foreign_keys(&node);
    if !foreign.is_empty() {
        return Err(sources.problems(foreign));
    }
    let raw: PlanFile = typed(&node).map_err(|faults| sources.problems(faults))?;
    let mut lines: BTreeMap<String, SourcePosition> = BTreeMap::new();
    let mut loaded = LoadedPlan {
        plan: Plan {
            plan_id: raw.plan_id,
            description: raw.description,
            forbidden: raw.forbidden,
            ..Plan::default()
        },
        statuses: BTreeMap::new(),
        runs: raw.runs,
        accepted: raw.status.map(|s| matches!(s, PlanStatus::Accepted)),
    };
    let mut add = |loaded: &mut LoadedPlan, task: WithPosition<FileTask>, phase: Option<&str>| {
        let place = task.place;
        let FileTask {
            id,
            title,
            description,
            dependencies,
            files,
            acceptance,
            phase: own,
            status,
        } = task.value;
        // The later of two equal ids is the one to point at.
        lines.insert(id.clone(), place);
        if let Some(status) = status {
            loaded.statuses.insert(TaskId(id.clone()), status);
        }
        loaded.plan.tasks.push(Task {
            id: TaskId(id),
            title,
            description,
            // `phase.task` names a task across phases, as the phases' own files do.
            dependencies: dependencies
                .into_iter()
                .map(|d| {
                    TaskId(
                        d.rsplit_once('.')
                            .map_or(d.clone(), |(_, task)| task.to_owned()),
                    )
                })
                .collect(),
            files,
            acceptance,
            phase: own.or_else(|| phase.map(str::to_owned)).map(PhaseId),
        });
    };
    for (i, phase) in raw.phases.into_iter().enumerate() {
        let sequence = phase
            .sequence
            .unwrap_or(u32::try_from(i + 1).unwrap_or(u32::MAX));
        for task in phase.tasks {
            add(&mut loaded, task, Some(&phase.id));
        }
        loaded.plan.phases.push(Phase {
            id: PhaseId(phase.id),
            title: phase.title,
            sequence,
        });
    }
    for task in raw.tasks {
        add(&mut loaded, task, None);
    }
    let whole = SourcePosition {
        line: 0,
        column: 0,
        ..node.place
    };
    let faults: Vec<Diagnostic> = loaded
        .plan
        .check(max_tasks)
        .into_iter()
        .map(|error| {
            let place = error.subject().and_then(|id| lines.get(id));
            Diagnostic::at(place.copied().unwrap_or(whole), error.to_string())
        })
        .collect();
    if faults.is_empty() {
        Ok(loaded)
    } else {
        Err(sources.problems(faults))
    }
}

/// Some files have everything below `feature:`, with an `id` and a `title`.
fn unwrapped(mut node: YamlNode) -> Result<YamlNode, Vec<Diagnostic>> {
    if let Some(mut feature) = node.take("feature") {
        if feature.as_map().is_none() {
            let message = format!("expected a plan, found {}", feature.kind());
            return Err(vec![Diagnostic::at(feature.place, message)]);
        }
        for (other, own) in [("id", "plan_id"), ("title", "description")] {
            if feature.get(own).is_none()
                && let Some(said) = feature.take(other)
            {
                feature.set(own, said);
            }
        }
        node = merge(node, feature);
    }
    let misplaced = DocumentKind::Plan.misplaced(&node);
    if misplaced.is_empty() {
        Ok(node)
    } else {
        Err(misplaced)
    }
}

/// Writes a plan with its status and that of each task. JSON strings are YAML strings, so quoting is
/// left to the one writer that gets it right.
pub fn to_yaml(
    plan: &Plan,
    accepted: Option<bool>,
    runs: &[String],
    status: impl Fn(&TaskId) -> TaskStatus,
) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "plan_id: {}", quote(&plan.plan_id));
    let _ = writeln!(out, "description: {}", quote(&plan.description));
    if let Some(accepted) = accepted {
        let word = if accepted { "accepted" } else { "draft" };
        let _ = writeln!(out, "status: {}", quote(word));
    }
    if !runs.is_empty() {
        let _ = writeln!(out, "runs: {}", flow_list(runs));
    }
    if !plan.forbidden.is_empty() {
        let _ = writeln!(out, "forbidden: {}", flow_list(&plan.forbidden));
    }
    if !plan.phases.is_empty() {
        out.push_str("phases:\n");
        for phase in &plan.phases {
            let _ = writeln!(out, "  - id: {}", quote(phase.id.as_str()));
            if !phase.title.is_empty() {
                let _ = writeln!(out, "    title: {}", quote(&phase.title));
            }
            let _ = writeln!(out, "    sequence: {}", phase.sequence);
        }
    }
    out.push_str("tasks:\n");
    for task in &plan.tasks {
        let _ = writeln!(out, "  - id: {}", quote(task.id.as_str()));
        if !task.title.is_empty() {
            let _ = writeln!(out, "    title: {}", quote(&task.title));
        }
        let _ = writeln!(out, "    description: {}", quote(&task.description));
        if let Some(phase) = &task.phase {
            let _ = writeln!(out, "    phase: {}", quote(phase.as_str()));
        }
        let on: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
        let _ = writeln!(out, "    dependencies: {}", flow_list(&on));
        if !task.files.is_empty() {
            let _ = writeln!(out, "    files: {}", flow_list(&task.files));
        }
        if !task.acceptance.is_empty() {
            out.push_str("    acceptance:\n");
            for line in &task.acceptance {
                let _ = writeln!(out, "      - {}", quote(line));
            }
        }
        let _ = writeln!(out, "    status: {}", quote(status(&task.id).as_str()));
    }
    out
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn flow_list<T: AsRef<str>>(items: &[T]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| quote(item.as_ref())).collect();
    format!("[{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_in_others_words_get_advice() {
        let text =
            "phases:\n  - id: a\n    tasks:\n      - { mission_id: m, goal: g, priority: HIGH }\n";
        let error = from_yaml("plan.yml", text, 100).unwrap_err().to_string();
        for said in [
            "plan.yml:4:11: a task has no `mission_id` (write it as `id`)",
            "a task has no `goal` (write it as `title`",
            "a task has no `priority` (leave it out",
        ] {
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_seeds_plan_loads_and_survives_a_round_trip() {
        let text = r#"
plan_id: "feature-0021"
description: "Implement a full user profile feature."
tasks:
  - id: "task-001"
    description: "Create the UserProfile model with fields: bio, avatar_url, location."
    dependencies: [] # List of task IDs this task depends on
    status: "pending" # pending | completed | failed
  - id: "task-002"
    description: "Create the API endpoint GET /api/v1/users/{user_id}/profile."
    dependencies: ["task-001"]
    status: "completed"
"#;
        let loaded = from_yaml("plan.yml", text, 100).unwrap();
        assert_eq!(loaded.plan.tasks.len(), 2);
        assert_eq!(
            loaded.statuses[&TaskId::from("task-002")],
            TaskStatus::Completed
        );
        assert_eq!(loaded.accepted, None);
        for accepted in [None, Some(false), Some(true)] {
            let written = to_yaml(&loaded.plan, accepted, &[], |id| loaded.statuses[id]);
            let expected = LoadedPlan {
                accepted,
                ..loaded.clone()
            };
            assert_eq!(from_yaml("plan.yml", &written, 100).unwrap(), expected);
        }
    }

    #[test]
    fn forbidden_files_survive_a_round_trip() {
        let text = "forbidden: [ src/legacy/, '*.sql' ]\ntasks:\n  - id: a\n";
        let loaded = from_yaml("plan.yml", text, 9).unwrap();
        assert_eq!(loaded.plan.forbidden, ["src/legacy/", "*.sql"]);
        let written = to_yaml(&loaded.plan, None, &[], |_| TaskStatus::Pending);
        assert_eq!(
            from_yaml("plan.yml", &written, 9).unwrap().plan,
            loaded.plan
        );
    }

    #[test]
    fn a_status_that_no_plan_has_is_refused_with_its_line() {
        let text = "plan_id: x\nstatus: acepted\ntasks:\n  - id: a\n";
        let error = from_yaml("plan.yml", text, 9).unwrap_err().to_string();
        assert!(error.starts_with("plan.yml:2:9: "), "{error}");
        assert!(
            error.contains("acepted") && error.contains("accepted"),
            "{error}"
        );
    }

    #[test]
    fn phases_may_hold_their_tasks_and_name_others_across() {
        let text = "
phases:
  - id: backend
    components:
      - { id: user_model, files: [models/user.py], depends_on: [] }
  - id: frontend
    components:
      - { id: login_form, files: [components/Login.tsx], depends_on: [backend.user_model] }
";
        let plan = from_yaml("plan.yml", text, 100).unwrap().plan;
        assert_eq!(plan.ranks(), [0, 1]);
        assert_eq!(plan.tasks[1].dependencies, [TaskId::from("user_model")]);
    }

    #[test]
    fn a_feature_is_a_plan() {
        let text = "feature:\n  id: P1T5\n  title: Users\n  phases:\n    - id: backend\n      \
                    components: [{ id: model, files: [a.py] }]\n";
        let plan = from_yaml("plan.yml", text, 100).unwrap().plan;
        assert_eq!(
            (plan.plan_id.as_str(), plan.description.as_str()),
            ("P1T5", "Users")
        );
        let error = from_yaml("plan.yml", "feature: yes\n", 9).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("plan.yml:1:10: expected a plan"),
            "{error}"
        );
        let error = from_yaml("plan.yml", "steps: {}\n", 9).unwrap_err();
        assert!(error.to_string().contains("this is a workflow"), "{error}");
    }

    #[test]
    fn mistakes_come_with_their_line() {
        let text = "tasks:\n  - id: a\n    dependencies: [b]\n  - id: c\n    dependencies: [a]\n";
        let error = from_yaml("plan.yml", text, 100).unwrap_err();
        let expected = "plan.yml:2:5: task `a` depends on `b`, which is not in the plan\n";
        assert!(error.to_string().starts_with(expected), "{error}");
        let error =
            from_yaml("plan.yml", "tasks:\n  - id: a\n    statsu: pending\n", 9).unwrap_err();
        assert_eq!(error.problems[0].line, 3, "{error}");
        assert!(error.to_string().contains("statsu"), "{error}");
        assert!(from_yaml("plan.yml", "tasks: [", 9).unwrap_err().problems[0].line > 0);
    }
}
