//! The workflow of a run, with the places where it is and the roles that its plan assigns.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::Run;
use codeteam_core::ids::StepId;
use codeteam_workflow::graph::{StepMark, WorkflowGraph};
use serde::Serialize;

use super::LoadedRun;

/// A line of a run's workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowLine {
    /// The line, as `codeteam workflow graph` draws it.
    pub text: String,
    /// The step that begins on it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Who is at that step now: tasks and phases by their names, or `run`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub here: Vec<String>,
    /// Whether anybody has been at that step.
    pub was_reached: bool,
}

/// Returns the graph of the workflow that a run follows, with the roles that its plan assigns.
pub fn workflow_graph(run: &LoadedRun) -> WorkflowGraph {
    WorkflowGraph::for_run(run.as_run())
}

/// Returns the workflow of a run as lines of at most so many columns where names allow it. `reached`
/// are the steps at which attempts were made.
pub fn workflow_lines<'a>(
    run: &LoadedRun,
    reached: impl Iterator<Item = &'a StepId>,
    columns: usize,
) -> Vec<WorkflowLine> {
    let run = run.as_run();
    let reached: BTreeSet<&StepId> = reached.collect();
    let here = frames_by_step(run);
    let graph = WorkflowGraph::for_run(run);
    let lines = graph.outline(columns).into_iter();
    lines
        .map(|line| {
            let frames = line.step.as_ref().and_then(|step| here.get(step));
            WorkflowLine {
                here: frames.cloned().unwrap_or_default(),
                was_reached: frames.is_some()
                    || line
                        .step
                        .as_ref()
                        .is_some_and(|step| reached.contains(step)),
                text: line.text,
                step: line.step,
            }
        })
        .collect()
}

/// Draws the workflow of a run as a part of a page: an SVG without a style of its own. Each step has
/// the class `here`, `asks`, `reached` or `ahead`. `reached` are the steps at which attempts were made;
/// `link` says where a click on a step leads. `None` if there are too many steps to be drawn.
pub fn workflow_svg<'a>(
    run: &LoadedRun,
    reached: impl Iterator<Item = &'a StepId>,
    link: impl Fn(&StepId) -> Option<String>,
) -> Option<String> {
    let asking: BTreeSet<&StepId> = run
        .questions
        .iter()
        .filter_map(|asked| run.frame(&asked.question.id.frame))
        .map(|frame| &frame.step)
        .collect();
    let run = run.as_run();
    let mut attempts: BTreeMap<&StepId, usize> = BTreeMap::new();
    for step in reached {
        *attempts.entry(step).or_default() += 1;
    }
    let here = frames_by_step(run);
    let marks = run.workflow.steps.keys().map(|step| {
        let names = here.get(step).map(Vec::as_slice).unwrap_or_default();
        let (class, word) = match (asking.contains(step), names.is_empty()) {
            (true, _) => ("asks", "needs you"),
            (false, false) => ("here", "under way"),
            (false, true) if attempts.contains_key(step) => ("reached", "was reached"),
            (false, true) => ("ahead", "not reached"),
        };
        let badge = match names {
            [] => String::new(),
            [one] => one.clone(),
            [one, rest @ ..] => format!("{one} + {}", rest.len()),
        };
        let count = attempts.get(step).copied().unwrap_or(0);
        let title = match count {
            0 => format!("{step}: {word}"),
            1 => format!("{step}: {word}, 1 attempt"),
            count => format!("{step}: {word}, {count} attempts"),
        };
        let mark = StepMark {
            href: link(step),
            class: class.to_owned(),
            badge,
            title,
        };
        (step.clone(), mark)
    });
    WorkflowGraph::for_run(run).linked_svg(&marks.collect())
}

/// Returns who is at each step: tasks and phases by their names, or `run`.
fn frames_by_step(run: &Run) -> BTreeMap<&StepId, Vec<String>> {
    let mut here: BTreeMap<&StepId, Vec<String>> = BTreeMap::new();
    for frame in run.frames.values().filter(|frame| !frame.is_ended()) {
        let frames = here.entry(&frame.step).or_default();
        frames.push(frame.path.name().to_owned());
    }
    here
}
