//! Converts a plan of the contract `supervisor`: its components become tasks.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{SupervisorComponent, SupervisorInterface, blocked, join_texts};
use crate::ids::{PhaseId, TaskId, is_valid_name};
use crate::plan;
use crate::spelling::nearest;
use crate::submission::{PlanSubmission, Submission, require_text};

/// A planner's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::submission) struct SupervisorPlan {
    /// `COMPLETE` if the plan can be carried out as it is; `NEEDS_REFINEMENT` only sends it back to
    /// you. `BLOCKED` if you cannot plan: say in `risks` what keeps you from it.
    status: PlanningStatus,
    /// What is built first, what next.
    phases: Vec<SupervisorPhase>,
    /// Dependencies that the components do not name themselves.
    dependencies: Vec<ComponentDependency>,
    /// How many components there will be, as far as can be said.
    #[expect(dead_code, reason = "those that are there are counted")]
    estimated_components: u32,
    /// What could go wrong.
    #[serde(default)]
    risks: Vec<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum PlanningStatus {
    Complete,
    NeedsRefinement,
    Blocked,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SupervisorPhase {
    /// Its id, unique among phases and components: letters, digits, `-`, `_` and `.`.
    id: String,
    /// What it is about.
    #[serde(default)]
    title: String,
    /// What it has to achieve.
    #[serde(default)]
    description: String,
    /// Its place: phases with the same number run side by side, and those with a higher one later.
    /// Without it they run in the order they are listed.
    #[serde(default)]
    sequence: Option<u32>,
    /// `interfaces`: it starts as soon as the interfaces of the phases before it are locked, while
    /// their components are still being built. `completion`: when those phases are complete.
    #[serde(default)]
    starts_after: plan::PhaseStart,
    /// What is built in it.
    components: Vec<SupervisorComponent>,
    /// What its components rely on. It is fixed before work on them starts.
    #[serde(default)]
    interfaces: Vec<SupervisorInterface>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ComponentDependency {
    /// The component that waits: `component`, or `phase.component`.
    component: String,
    /// What it waits for.
    #[serde(deserialize_with = "crate::submission::one_or_many")]
    depends_on: Vec<String>,
}

/// Converts phases of components to phases of tasks. The interfaces of a phase stay a part of it;
/// its tasks, and those of later phases, are told them.
pub(in crate::submission) fn plan(answer: SupervisorPlan) -> Result<Submission, String> {
    let risks = join_texts(&answer.risks);
    match answer.status {
        PlanningStatus::Complete => {}
        PlanningStatus::NeedsRefinement => {
            return Err(
                "`NEEDS_REFINEMENT` is not a plan yet: refine it and answer `COMPLETE`, or \
                        `BLOCKED` and say in `risks` what keeps you from it"
                    .to_owned(),
            );
        }
        PlanningStatus::Blocked if risks.is_empty() => {
            return Err("`BLOCKED` must say in `risks` what keeps you from planning".to_owned());
        }
        PlanningStatus::Blocked => return Ok(blocked(risks)),
    }
    let numbered = answer.phases.iter().filter(|p| p.sequence.is_some());
    let numbered = numbered.count();
    if numbered != 0 && numbered != answer.phases.len() {
        return Err("either every phase has a `sequence` or none has".to_owned());
    }
    let names = ComponentNames::from_phases(&answer.phases);
    let more = more_dependencies(&answer.dependencies, &names)?;
    let mut tasks = Vec::new();
    let mut interfaces = Vec::new();
    for (p, phase) in answer.phases.iter().enumerate() {
        interfaces.push(phase_interfaces(p, phase)?);
        for (c, component) in phase.components.iter().enumerate() {
            let place = format!("phases[{p}].components[{c}]");
            let mut task = task(&place, component, &names)?;
            let more = more.get(&task.id).into_iter().flatten().cloned();
            task.dependencies.extend(more);
            let mut seen = BTreeSet::new();
            task.dependencies.retain(|on| seen.insert(on.clone()));
            task.phase = Some(PhaseId(phase.id.clone()));
            tasks.push(task);
        }
    }
    let phases = (1..).zip(answer.phases).zip(interfaces);
    let phases = phases.map(|((place, phase), interfaces)| plan::Phase {
        id: PhaseId(phase.id),
        title: phase.title,
        description: phase.description,
        sequence: phase.sequence.unwrap_or(place),
        starts_after: phase.starts_after,
        interfaces,
    });
    let plan = plan::Plan {
        plan_id: String::new(),
        description: if risks.is_empty() {
            String::new()
        } else {
            format!("Risks: {risks}")
        },
        phases: phases.collect(),
        tasks,
        forbidden: Vec::new(),
    };
    Ok(Submission::Plan(PlanSubmission { plan }))
}

fn task(
    place: &str,
    component: &SupervisorComponent,
    names: &ComponentNames<'_>,
) -> Result<plan::Task, String> {
    require_text(&format!("{place}.id"), &component.id)?;
    let mut dependencies = Vec::new();
    for (i, on) in component.depends_on.iter().enumerate() {
        dependencies.push(names.find(&format!("{place}.depends_on[{i}]"), on)?);
    }
    Ok(plan::Task {
        id: TaskId(component.id.clone()),
        title: title(component),
        description: component.description.clone(),
        dependencies,
        files: component.files.clone(),
        acceptance: component.acceptance.clone(),
        roles: component.assigned_role.iter().cloned().collect(),
        ..plan::Task::default()
    })
}

/// Returns the title of a component: without a title and a description it is the id.
fn title(component: &SupervisorComponent) -> String {
    let is_named = [&component.title, &component.description]
        .iter()
        .any(|text| !text.trim().is_empty());
    if is_named {
        component.title.clone()
    } else {
        component.id.clone()
    }
}

fn more_dependencies(
    said: &[ComponentDependency],
    names: &ComponentNames<'_>,
) -> Result<BTreeMap<TaskId, Vec<TaskId>>, String> {
    let mut more: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for (d, dependency) in said.iter().enumerate() {
        let place = format!("dependencies[{d}]");
        let task = names.find(&format!("{place}.component"), &dependency.component)?;
        for (i, on) in dependency.depends_on.iter().enumerate() {
            let on = names.find(&format!("{place}.depends_on[{i}]"), on)?;
            more.entry(task.clone()).or_default().push(on);
        }
    }
    Ok(more)
}

fn phase_interfaces(p: usize, phase: &SupervisorPhase) -> Result<Vec<plan::Interface>, String> {
    let mut interfaces = Vec::new();
    for (i, interface) in phase.interfaces.iter().enumerate() {
        interface.check(&format!("phases[{p}].interfaces[{i}]"))?;
        interfaces.push(interface.to_interface());
    }
    Ok(interfaces)
}

/// The components of a plan, and the names by which they can be referred to.
struct ComponentNames<'a> {
    components: BTreeSet<&'a str>,
    within: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> ComponentNames<'a> {
    fn from_phases(phases: &'a [SupervisorPhase]) -> Self {
        let within: BTreeSet<(&str, &str)> = phases
            .iter()
            .flat_map(|phase| {
                let components = phase.components.iter();
                components.map(|component| (phase.id.as_str(), component.id.as_str()))
            })
            .collect();
        Self {
            components: within.iter().map(|(_, component)| *component).collect(),
            within,
        }
    }

    /// Returns the component that `component` or `phase.component` refers to.
    fn find(&self, place: &str, name: &str) -> Result<TaskId, String> {
        if self.components.contains(name) {
            return Ok(name.into());
        }
        let parts = name.match_indices('.');
        let mut parts = parts.map(|(dot, _)| (&name[..dot], &name[dot + 1..]));
        // Two ids and a dot have at most this length; a longer name cannot match.
        let is_short = name.len() <= 161;
        if is_short && let Some((_, component)) = parts.find(|both| self.within.contains(both)) {
            return Ok(component.into());
        }
        let known = self
            .components
            .iter()
            .copied()
            .filter(|id| is_valid_name(id));
        let hint = is_short.then(|| nearest(name, known)).flatten();
        let hint = hint.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        Err(format!(
            "at `{place}`: `{name}` is not a component of the plan{hint}"
        ))
    }
}
