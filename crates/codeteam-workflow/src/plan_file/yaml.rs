//! Reads and writes `plan.yml`. Mistakes are reported with their lines, and the text that is
//! written is easy for a person to edit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::ids::{PhaseId, RoleName, TaskId};
use codeteam_core::plan::{Interface, Phase, PhaseStart, Plan, Task, TaskPriority};
use codeteam_core::plan_layers::plan_layers;
use codeteam_core::schedule::TaskStatus;
use serde::Deserialize;

use crate::misplaced_file::DocumentKind;
use crate::yaml::{
    Diagnostic, FileProblems, OneOrMany, SourceFiles, SourcePosition, WithPosition, YamlNode,
    deserialize_node, merge, read,
};

/// A plan as it is stored in a file, together with the status of each task.
///
/// A [`Plan`] in core says only what is to be done. The file also records how far the work has
/// come, so that a later run can continue it: the statuses and the runs live here, next to the
/// plan.
///
/// [`from_yaml`] returns this type only for a valid plan; a file with any mistake gives all its
/// problems instead. [`to_yaml`] writes the same information back. To change a file that a person
/// wrote, use [`add_dependencies`](super::add_dependencies), which keeps comments and layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedPlan {
    /// The tasks and phases, already validated.
    pub plan: Plan,
    /// The status of each task for which the file has one.
    pub statuses: BTreeMap<TaskId, TaskStatus>,
    /// The ids of the runs that have worked on the plan.
    pub runs: Vec<String>,
    /// Whether a person has accepted the plan or it is a draft; `None` if the file does not say. In
    /// that case a plan that is given by name counts as accepted.
    pub accepted: Option<bool>,
}

/// The status of the plan as a whole.
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
    #[serde(default, alias = "missions")]
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
    #[serde(default)]
    description: String,
    sequence: Option<u32>,
    #[serde(default)]
    starts_after: PhaseStart,
    #[serde(default)]
    interfaces: Vec<Interface>,
    #[serde(default, alias = "components")]
    tasks: Vec<WithPosition<FileTask>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTask {
    #[serde(alias = "mission_id")]
    id: String,
    #[serde(default, alias = "goal")]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "depends_on")]
    dependencies: Vec<String>,
    #[serde(default, alias = "artifacts")]
    files: Vec<String>,
    #[serde(default, alias = "success_criteria")]
    acceptance: Vec<String>,
    phase: Option<String>,
    priority: Option<TaskPriority>,
    #[serde(default, alias = "role", alias = "assigned_role")]
    roles: OneOrMany<String>,
    status: Option<TaskStatus>,
}

/// Keys that other tools use to describe a task, with advice on what to write instead.
const FOREIGN: &[(&str, &str)] = &[(
    "requirements",
    "write them as `acceptance`, a list, or into the `description`",
)];

/// Returns a diagnostic for every task key that belongs to another tool's format.
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
                faults.push(Diagnostic::at(key.place, message).with_hint(*advice));
            }
        }
    }
    faults
}

/// Reads and checks a plan file.
pub fn from_yaml(file: &str, text: &str, max_tasks: usize) -> Result<LoadedPlan, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.to_problems([fault]))?;
    let node = unwrap_feature(node).map_err(|faults| sources.to_problems(faults))?;
    let foreign = foreign_keys(&node);
    if !foreign.is_empty() {
        return Err(sources.to_problems(foreign));
    }
    let raw: PlanFile = deserialize_node(&node).map_err(|faults| sources.to_problems(faults))?;
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
            priority,
            roles,
            status,
        } = task.value;
        // Of two equal ids, the later one is reported.
        lines.insert(id.clone(), place);
        if let Some(status) = status {
            loaded.statuses.insert(TaskId(id.clone()), status);
        }
        loaded.plan.tasks.push(Task {
            id: TaskId(id),
            title,
            description,
            // `phase.task` names a task across phases, as the files of the phases do.
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
            priority: priority.unwrap_or_default(),
            roles: roles.0.into_iter().map(RoleName).collect(),
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
            description: phase.description,
            sequence,
            starts_after: phase.starts_after,
            interfaces: phase.interfaces,
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
        Err(sources.to_problems(faults))
    }
}

/// Unwraps files that put everything below `feature:`, with an `id` and a `title`.
fn unwrap_feature(mut node: YamlNode) -> Result<YamlNode, Vec<Diagnostic>> {
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
    let misplaced = DocumentKind::Plan.find_misplaced(&node);
    if misplaced.is_empty() {
        Ok(node)
    } else {
        Err(misplaced)
    }
}

/// Writes a plan with its status and the status of each task. JSON strings are valid YAML strings,
/// so the JSON writer does the quoting.
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
            if !phase.description.is_empty() {
                let _ = writeln!(out, "    description: {}", quote(&phase.description));
            }
            let _ = writeln!(out, "    sequence: {}", phase.sequence);
            if phase.starts_after != PhaseStart::default() {
                let _ = writeln!(out, "    starts_after: {}", phase.starts_after.as_str());
            }
            push_interfaces(&mut out, &phase.interfaces);
        }
    }
    push_layers(&mut out, plan);
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
        if task.priority != TaskPriority::default() {
            let _ = writeln!(out, "    priority: {}", quote(task.priority.as_str()));
        }
        let roles: Vec<&str> = task.roles.iter().map(RoleName::as_str).collect();
        match roles.as_slice() {
            [] => {}
            [role] => drop(writeln!(out, "    role: {}", quote(role))),
            roles => drop(writeln!(out, "    roles: {}", flow_list(roles))),
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

/// Adds the interfaces of a phase. A definition of several lines is written as a block, so that a
/// person can read it.
fn push_interfaces(out: &mut String, interfaces: &[Interface]) {
    if !interfaces.is_empty() {
        out.push_str("    interfaces:\n");
    }
    for interface in interfaces {
        let _ = writeln!(out, "      - name: {}", quote(&interface.name));
        if !interface.notation.is_empty() {
            let _ = writeln!(out, "        type: {}", quote(&interface.notation));
        }
        if let Some(file) = &interface.file {
            let _ = writeln!(out, "        file: {}", quote(file));
        }
        let text = &interface.definition;
        let Some(style) = block_style(text) else {
            let _ = writeln!(out, "        definition: {}", quote(text));
            continue;
        };
        let _ = writeln!(out, "        definition: {style}");
        for line in text.lines() {
            let gap = if line.is_empty() { "" } else { "          " };
            let _ = writeln!(out, "{gap}{line}");
        }
    }
}

/// Returns the style in which a text can be written as a block and is read back as it is.
fn block_style(text: &str) -> Option<&'static str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    let is_blank = |line: &str| !line.is_empty() && line.trim().is_empty();
    let starts_plainly = text.starts_with(|c: char| !c.is_whitespace());
    let ends = text.len() - text.trim_end().len();
    if !starts_plainly || !text.chars().all(is_plain) || text.lines().any(is_blank) {
        return None;
    }
    match (ends, text.ends_with('\n')) {
        (0, _) => Some("|-"),
        (1, true) => Some("|"),
        _ => None,
    }
}

/// Adds the layers of a plan as comments, if it has more than one and not too many tasks to read.
fn push_layers(out: &mut String, plan: &Plan) {
    const MOST_TASKS: usize = 200;
    let layers = plan_layers(plan);
    if layers.len() < 2 || plan.tasks.len() > MOST_TASKS {
        return;
    }
    for (at, layer) in layers.iter().enumerate() {
        let ids: Vec<&str> = layer.iter().map(|id| id.as_str()).collect();
        let _ = writeln!(out, "# layer {}: {}", at + 1, ids.join(", "));
    }
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
        let text = "phases:\n  - id: a\n    tasks:\n      - { id: m, requirements: [r] }\n";
        let error = from_yaml("plan.yml", text, 100).unwrap_err().to_string();
        let said = "plan.yml:4:18: a task has no `requirements` (write them as `acceptance`";
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn missions_are_tasks_with_a_priority_and_roles() {
        let text = r"
missions:
  - mission_id: mission_1
    goal: Conduct market research on elderly care industry
    success_criteria: [Market size report with TAM/SAM/SOM]
    dependencies: []
    priority: HIGH
    assigned_role: market_researcher
  - mission_id: mission_2
    goal: Create market research report document
    success_criteria: [Professional markdown document]
    dependencies: [mission_1]
    priority: MEDIUM
    roles: [writer, developer]
  - id: mission_3
    title: Translate it
    dependencies: [mission_2]
    priority: low
    role: writer
";
        let plan = from_yaml("plan.yml", text, 9).unwrap().plan;
        assert_eq!(
            plan.tasks[0].headline(),
            "Conduct market research on elderly care industry"
        );
        assert_eq!(plan.tasks[1].acceptance, ["Professional markdown document"]);
        let told: Vec<(&str, Vec<&str>)> = plan
            .tasks
            .iter()
            .map(|task| {
                (
                    task.priority.as_str(),
                    task.roles.iter().map(RoleName::as_str).collect(),
                )
            })
            .collect();
        let expected = [
            ("high", vec!["market_researcher"]),
            ("medium", vec!["writer", "developer"]),
            ("low", vec!["writer"]),
        ];
        assert_eq!(told, expected);
        let written = to_yaml(&plan, None, &[], |_| TaskStatus::Pending);
        assert_eq!(from_yaml("plan.yml", &written, 9).unwrap().plan, plan);
        let error = from_yaml("plan.yml", "tasks:\n  - { id: a, priority: urgent }\n", 9);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("urgent") && error.contains("high"),
            "{error}"
        );
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
        assert_eq!(plan.phase_ranks(), [0, 1]);
        assert_eq!(plan.tasks[1].dependencies, [TaskId::from("user_model")]);
    }

    #[test]
    fn interfaces_of_a_phase_are_written_so_that_a_person_can_read_them() {
        for definition in [
            "export interface User {\n  id: string;\n\n  name?: string;\n}",
            "export interface User {\n  id: string;\n}\n",
            "one line",
            "  starts with blanks",
            "ends with several\n\n",
            "has a blank line\n   \nof blanks",
            "# not a comment\n- nor a list: x\n\ttabs",
            "",
        ] {
            let interface = Interface {
                name: "User".to_owned(),
                notation: "typescript".to_owned(),
                file: Some("types/user.d.ts".to_owned()),
                definition: definition.to_owned(),
            };
            let plan = Plan {
                phases: vec![Phase {
                    id: PhaseId::from("api"),
                    description: "Everything below /users".to_owned(),
                    sequence: 1,
                    starts_after: PhaseStart::Interfaces,
                    interfaces: vec![interface],
                    ..Phase::default()
                }],
                ..Plan::default()
            };
            let written = to_yaml(&plan, None, &[], |_| TaskStatus::Pending);
            let is_empty = definition.is_empty();
            let read = from_yaml("plan.yml", &written, 9);
            assert_eq!(read.is_err(), is_empty, "{written}");
            if let Ok(read) = read {
                assert_eq!(read.plan, plan, "{written}");
            }
        }
        let plan = "phases: [{ id: api, interfaces: [{ name: a, type: sql, definition: x }] }]\n";
        let plan = from_yaml("plan.yml", plan, 9).unwrap().plan;
        let written = to_yaml(&plan, None, &[], |_| TaskStatus::Pending);
        assert!(
            written.contains("        definition: |-\n          x\n"),
            "{written}"
        );
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
