//! Expands the short forms of the language: approvals, hooks, settings, gates of roles, and
//! sequences. The result uses only the step kinds that the kernel has: role, gate, person, each,
//! commit and publish.

mod editor;
mod passes;
mod sequence;
mod settings;
mod synonyms;

use std::collections::BTreeSet;

use codeteam_core::spelling::suggest_word;
use codeteam_core::workflow::{SITUATION, StepCondition, TALK};

use self::editor::GraphEditor;
pub use self::settings::{SETTINGS, WorkflowSetting};
use super::compile::WorkflowCompiler;
use super::file::{FileAnswer, FileCheck, FileStep, OrderedMap, WorkflowFile};
use crate::yaml::{Diagnostic, ScalarOr, SourcePosition, WithPosition};

/// The steps of one scope in their order, and the step it starts with.
pub(super) struct StepGraph {
    pub(super) start: Option<WithPosition<String>>,
    pub(super) entries: Vec<(WithPosition<String>, FileStep)>,
}

/// Expands all short forms in a workflow and its sub-graphs.
pub(super) fn expand_all(
    compiler: &mut WorkflowCompiler<'_>,
    file: &WorkflowFile,
    graph: &mut StepGraph,
) {
    each_graph(graph, true, &mut |graph, _| {
        for (name, step) in &mut graph.entries {
            synonyms::normalise_step(compiler, name, step);
        }
        link_in_order(graph);
    });
    let mut asked = BTreeSet::new();
    let mut names = BTreeSet::new();
    let (mut asks_person, mut publishes) = (false, false);
    each_graph(graph, true, &mut |graph, _| {
        let accepted_way = steps_without_rejection(graph);
        for (name, step) in &graph.entries {
            names.insert(name.value.clone());
            // A question that only a rejection leads to (a rebound) approves nothing.
            let asks = step.person.is_some() || step.human_approval.as_ref().is_some_and(is_on);
            asks_person |= asks && accepted_way.contains(&name.value);
            publishes |= step.publish.is_some();
            step.when
                .iter()
                .for_each(|when| settings_of(when, &mut asked));
            if step.choose.is_some() {
                asked.insert(SITUATION.to_owned());
            }
            if step.max_question_rounds.is_some() {
                asked.insert(TALK.to_owned());
            }
        }
    });
    for (name, on) in &file.settings {
        let known = SETTINGS.iter().map(|setting| setting.name);
        if !asked.contains(name) && !known.clone().any(|known| known == name) {
            let hint = suggest_word(name, known.chain(asked.iter().map(String::as_str)));
            let message = format!("nothing asks for the setting `{name}`");
            compiler
                .faults
                .push(Diagnostic::at(on.place, message).with_optional_hint(hint));
        }
    }
    let setting = |name: &str| {
        let own = file.settings.get(name).map(|on| on.value);
        own.filter(|_| !asked.contains(name))
    };
    let switches = ExpandSwitches {
        serial: setting("parallel_reviews") == Some(false),
        dual: setting("dual_review") == Some(true),
        tests: setting("require_tests") == Some(true),
        changelog: setting("require_changelog") == Some(true),
        security: setting("security_review").map(|on| on && !names.contains("security_review")),
        no_security: setting("security_review") == Some(false),
        approvals: setting("human_approval") != Some(false),
        commits_ask: setting("human_approval") == Some(true) && !asks_person,
        pull_request: setting("auto_pr") == Some(true) && !publishes,
        no_publish: setting("auto_pr") == Some(false),
    };
    each_graph(graph, true, &mut |graph, top| {
        let mut writer = GraphEditor {
            compiler,
            graph,
            switches: &switches,
        };
        writer.expand_graph(file, top);
    });
}

/// The settings of a workflow, as the passes need them. A setting that a step tests with `when`
/// does not count here.
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
struct ExpandSwitches {
    serial: bool,
    dual: bool,
    tests: bool,
    changelog: bool,
    security: Option<bool>,
    no_security: bool,
    approvals: bool,
    commits_ask: bool,
    pull_request: bool,
    no_publish: bool,
}

/// Calls `f` for every graph, inner ones first.
fn each_graph(graph: &mut StepGraph, top: bool, f: &mut dyn FnMut(&mut StepGraph, bool)) {
    for (name, step) in &mut graph.entries {
        if step.steps.0.is_empty() {
            continue;
        }
        let place = name.place;
        let mut inner = StepGraph {
            start: step.start.take().map(|value| WithPosition { value, place }),
            entries: std::mem::take(&mut step.steps.0),
        };
        each_graph(&mut inner, false, f);
        step.start = inner.start.map(|start| start.value);
        step.steps = OrderedMap(inner.entries);
    }
    f(graph, top);
}

fn settings_of(condition: &StepCondition, asked: &mut BTreeSet<String>) {
    match condition {
        StepCondition::Setting(name) => {
            asked.insert(name.clone());
        }
        StepCondition::Not(inner) => settings_of(inner, asked),
        StepCondition::All(all) | StepCondition::Any(all) => {
            for inner in all {
                settings_of(inner, asked);
            }
        }
        StepCondition::Plan(_)
        | StepCondition::Committed(_)
        | StepCondition::Changed(_)
        | StepCondition::Answered(_)
        | StepCondition::Change(_)
        | StepCondition::Task(_)
        | StepCondition::Goal(_)
        | StepCondition::Message(_)
        | StepCondition::Assigned(_)
        | StepCondition::Result(_)
        | StepCondition::Score(_)
        | StepCondition::Log(_) => {}
    }
}

/// Returns the steps that a graph goes through when nothing is rejected and nothing fails.
fn steps_without_rejection(graph: &StepGraph) -> BTreeSet<String> {
    let first = graph.entries.first().map(|(name, _)| name.value.clone());
    let start = graph.start.as_ref().map(|start| start.value.clone());
    let mut waiting: Vec<String> = start.or(first).into_iter().collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        let entry = graph.entries.iter().find(|(own, _)| own.value == name);
        let Some((_, step)) = entry.filter(|_| reached.insert(name)) else {
            continue;
        };
        waiting.extend(step.next.clone());
        waiting.extend(step.answers.0.iter().map(|(_, answer)| match answer {
            ScalarOr::Word(next) => next.clone(),
            ScalarOr::Full(full) => full.next.clone(),
        }));
    }
    reached
}

fn is_on(said: &ScalarOr<()>) -> bool {
    !matches!(said, ScalarOr::Word(word) if word == "false")
}

/// Links steps in their order if none of them says where to go.
fn link_in_order(graph: &mut StepGraph) {
    let says = |step: &FileStep| step.next.is_some() || !step.answers.0.is_empty();
    if graph.entries.iter().any(|(_, step)| says(step)) {
        return;
    }
    let names: Vec<String> = graph
        .entries
        .iter()
        .map(|(name, _)| name.value.clone())
        .collect();
    for (index, (_, step)) in graph.entries.iter_mut().enumerate() {
        let next = names.get(index + 1).cloned();
        step.next = Some(next.unwrap_or_else(|| "done".to_owned()));
    }
}

fn answer_to(text: &str) -> ScalarOr<FileAnswer> {
    ScalarOr::Word(text.to_owned())
}

fn rejecting_answer(next: &str) -> ScalarOr<FileAnswer> {
    ScalarOr::Full(FileAnswer {
        next: next.to_owned(),
        rejects: true,
        resets: false,
        edits: false,
        reverts: false,
    })
}

fn answers<const N: usize>(
    place: SourcePosition,
    list: [(&str, ScalarOr<FileAnswer>); N],
) -> OrderedMap<ScalarOr<FileAnswer>> {
    let placed = |(name, answer): (&str, _)| {
        let value = name.to_owned();
        (WithPosition { value, place }, answer)
    };
    OrderedMap(list.into_iter().map(placed).collect())
}

fn gate(place: SourcePosition, checks: Vec<FileCheck>, on_fail: Option<String>) -> FileStep {
    FileStep {
        gate: Some(WithPosition {
            value: ScalarOr::Full(checks.into_iter().map(ScalarOr::Full).collect()),
            place,
        }),
        on_fail,
        ..FileStep::default()
    }
}

/// Calls `f` for every place where a step names another.
fn each_target(step: &mut FileStep, f: &mut dyn FnMut(&mut String)) {
    let own = [
        &mut step.next,
        &mut step.on_fail,
        &mut step.on_reject,
        &mut step.on_conflict,
        &mut step.on_interface_change,
    ];
    own.into_iter().flatten().for_each(&mut *f);
    if let Some(rebound) = &mut step.rebound {
        f(&mut rebound.to.0);
    }
    for (_, answer) in &mut step.answers.0 {
        match answer {
            ScalarOr::Word(next) => f(next),
            ScalarOr::Full(full) => f(&mut full.next),
        }
    }
}

#[cfg(test)]
mod tests;
