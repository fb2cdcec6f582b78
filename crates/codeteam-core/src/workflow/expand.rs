//! The short ways of saying things, said in full: approvals, hooks, settings, gates of roles,
//! sequences. What comes out uses only what the kernel has: role, gate, person, each, commit and
//! publish steps.

mod passes;
mod plain;
mod sequence;
mod settings;
mod writer;

use std::collections::BTreeSet;

pub use self::settings::{SETTINGS, Setting};
use self::writer::Writer;
use super::compile::Compiler;
use super::file::{Entries, FileAnswer, FileCheck, FileStep, WorkflowFile};
use super::{Condition, SITUATION, TALK};
use crate::yaml::{Either, Fault, Place, Placed, meant};

/// Steps that lead to each other.
pub(super) struct Graph {
    pub(super) start: Option<Placed<String>>,
    pub(super) entries: Vec<(Placed<String>, FileStep)>,
}

/// Says everything in full.
pub(super) fn all(compiler: &mut Compiler<'_>, file: &WorkflowFile, graph: &mut Graph) {
    each_graph(graph, true, &mut |graph, _| {
        for (name, step) in &mut graph.entries {
            plain::plainly(compiler, name, step);
        }
        in_order(graph);
    });
    let mut asked = BTreeSet::new();
    let mut names = BTreeSet::new();
    let (mut asks_person, mut publishes) = (false, false);
    each_graph(graph, true, &mut |graph, _| {
        for (name, step) in &graph.entries {
            names.insert(name.value.clone());
            asks_person |= step.person.is_some() || step.human_approval.as_ref().is_some_and(is_on);
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
            let hint = meant(name, known.chain(asked.iter().map(String::as_str)));
            let message = format!("nothing asks for the setting `{name}`");
            compiler
                .faults
                .push(Fault::at(on.place, message).maybe(hint));
        }
    }
    let setting = |name: &str| {
        let own = file.settings.get(name).map(|on| on.value);
        own.filter(|_| !asked.contains(name))
    };
    let switches = Switches {
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
        let mut writer = Writer {
            compiler,
            graph,
            switches: &switches,
        };
        writer.write(file, top);
    });
}

#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
struct Switches {
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

/// Every graph, inner ones first.
fn each_graph(graph: &mut Graph, top: bool, f: &mut dyn FnMut(&mut Graph, bool)) {
    for (name, step) in &mut graph.entries {
        if step.steps.0.is_empty() {
            continue;
        }
        let place = name.place;
        let mut inner = Graph {
            start: step.start.take().map(|value| Placed { value, place }),
            entries: std::mem::take(&mut step.steps.0),
        };
        each_graph(&mut inner, false, f);
        step.start = inner.start.map(|start| start.value);
        step.steps = Entries(inner.entries);
    }
    f(graph, top);
}

fn settings_of(condition: &Condition, asked: &mut BTreeSet<String>) {
    match condition {
        Condition::Setting(name) => {
            asked.insert(name.clone());
        }
        Condition::Not(inner) => settings_of(inner, asked),
        Condition::All(all) | Condition::Any(all) => {
            for inner in all {
                settings_of(inner, asked);
            }
        }
        Condition::Plan(_)
        | Condition::Committed(_)
        | Condition::Changed(_)
        | Condition::Answered(_)
        | Condition::Change(_)
        | Condition::Task(_)
        | Condition::Goal(_)
        | Condition::Log(_) => {}
    }
}

fn is_on(said: &Either<()>) -> bool {
    !matches!(said, Either::Word(word) if word == "false")
}

/// Steps that say nowhere where to go are gone through in their order.
fn in_order(graph: &mut Graph) {
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

fn word(text: &str) -> Either<FileAnswer> {
    Either::Word(text.to_owned())
}

fn back(next: &str) -> Either<FileAnswer> {
    Either::Full(FileAnswer {
        next: next.to_owned(),
        rejects: true,
        resets: false,
        edits: false,
        reverts: false,
    })
}

fn answers<const N: usize>(
    place: Place,
    list: [(&str, Either<FileAnswer>); N],
) -> Entries<Either<FileAnswer>> {
    let placed = |(name, answer): (&str, _)| {
        let value = name.to_owned();
        (Placed { value, place }, answer)
    };
    Entries(list.into_iter().map(placed).collect())
}

fn gate(place: Place, checks: Vec<FileCheck>, on_fail: Option<String>) -> FileStep {
    FileStep {
        gate: Some(Placed {
            value: Either::Full(checks.into_iter().map(Either::Full).collect()),
            place,
        }),
        on_fail,
        ..FileStep::default()
    }
}

/// Every place a step names another.
fn each_target(step: &mut FileStep, f: &mut dyn FnMut(&mut String)) {
    let own = [
        &mut step.next,
        &mut step.on_fail,
        &mut step.on_reject,
        &mut step.on_conflict,
    ];
    own.into_iter().flatten().for_each(&mut *f);
    if let Some(rebound) = &mut step.rebound {
        f(&mut rebound.to.0);
    }
    for (_, answer) in &mut step.answers.0 {
        match answer {
            Either::Word(next) => f(next),
            Either::Full(full) => f(&mut full.next),
        }
    }
}

#[cfg(test)]
mod tests;
