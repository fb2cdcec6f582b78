//! Translates other tools' words for what a step does into codeteam's own.

use codeteam_core::spelling::suggest_word;
use codeteam_core::workflow::JoinRule;

use super::super::compile::WorkflowCompiler;
use super::super::file::{CommitTarget, FileCheck, FileStep};
use super::{answer_to, answers};
use crate::yaml::{Diagnostic, ScalarOr, SourcePosition, WithPosition};

/// Rewrites a step that uses other words into codeteam's own.
pub(super) fn normalise_step(
    compiler: &mut WorkflowCompiler<'_>,
    name: &WithPosition<String>,
    step: &mut FileStep,
) {
    if step.terminal && step.next.is_none() {
        step.next = Some("done".to_owned());
    }
    let plays = step.role.is_some() || !step.roles.is_empty();
    if let (true, Some(gate)) = (plays, &step.gate)
        && let ScalarOr::Word(word) = &gate.value
    {
        let (word, place) = (word.clone(), gate.place);
        refuse_printed_verdicts(compiler, &name.value, &word, place, step);
        step.gate = None;
    }
    if !plays && let Some(retries) = step.max_retries.take() {
        step.max_rounds.get_or_insert(retries);
    }
    let does = step.does.take();
    match does.as_ref().map(|does| does.value.as_str()) {
        Some("human_gate" | "human") => return human_gate(name, step),
        Some("orchestrator_gate" | "orchestrator" | "gate") | None => {}
        Some(other) => {
            let place = does.as_ref().map_or(name.place, |does| does.place);
            let fault = Diagnostic::at(place, format!("`{other}` is not a type of step"));
            let hint = suggest_word(other, ["orchestrator_gate", "human_gate"]);
            compiler.faults.push(fault.with_optional_hint(hint));
        }
    }
    if does.is_some() && step.command.is_none() && step.gate.is_none() && step.commit.is_none() {
        let fault = Diagnostic::at(
            name.place,
            format!("the gate `{}` has no `command`", name.value),
        );
        compiler
            .faults
            .push(fault.with_hint("`gate: project` runs the project's own checks"));
        step.gate = Some(WithPosition {
            value: ScalarOr::Full(Vec::new()),
            place: name.place,
        });
    }
    if let Some(command) = step.command.take() {
        command_of(compiler, name, step, &command);
    }
}

/// Turns a command that other tools put into a gate into the step kind that codeteam has for it.
fn command_of(
    compiler: &mut WorkflowCompiler<'_>,
    name: &WithPosition<String>,
    step: &mut FileStep,
    command: &WithPosition<String>,
) {
    let words: Vec<&str> = command.value.split_whitespace().take(3).collect();
    match words.as_slice() {
        ["git", "commit", ..] => {
            compiler.notes.push(format!(
                "`{}`: `git commit` is a `commit` step: codeteam commits what was judged",
                name.value
            ));
            step.commit = Some(CommitTarget::Branch);
        }
        ["git", "push", ..] | ["gh" | "glab", ..] => {
            let message = format!(
                "`{}` leaves this machine, and gates are confined",
                words.join(" ")
            );
            let hint = "make it a `publish` step, and let a `person` step lead to it";
            compiler
                .faults
                .push(Diagnostic::at(command.place, message).with_hint(hint));
            step.commit = Some(CommitTarget::Branch);
        }
        _ => {
            let check = FileCheck {
                name: Some(name.value.clone()),
                command: Some(command.value.clone()),
                timeout_seconds: step.timeout_seconds,
                ..FileCheck::default()
            };
            step.gate = Some(WithPosition {
                value: ScalarOr::Full(vec![ScalarOr::Full(check)]),
                place: command.place,
            });
        }
    }
}

fn human_gate(name: &WithPosition<String>, step: &mut FileStep) {
    let asks = step.description.take();
    step.person = Some(asks.unwrap_or_else(|| format!("`{}`: go on?", name.value)));
    if step.answers.0.is_empty() {
        let next = step.next.take().unwrap_or_else(|| "done".to_owned());
        step.answers = answers(
            name.place,
            [("continue", answer_to(&next)), ("stop", answer_to("fail"))],
        );
    }
}

/// Refuses words that a reviewer is told to print: only what it submits counts as a verdict.
fn refuse_printed_verdicts(
    compiler: &mut WorkflowCompiler<'_>,
    name: &str,
    word: &str,
    place: SourcePosition,
    step: &mut FileStep,
) {
    let is_magic = word == "structured_json_only"
        || word
            .chars()
            .all(|c| c.is_ascii_uppercase() || matches!(c, '_' | ':' | ' '));
    if !is_magic {
        let fault = Diagnostic::at(
            place,
            format!("the step `{name}` has a role and the gate `{word}`"),
        );
        let hint = "make the gate a step of its own; a role's verdict needs none";
        compiler.faults.push(fault.with_hint(hint));
        return;
    }
    let join = if word.starts_with("ANY") {
        JoinRule::Any
    } else if word.starts_with("MAJORITY") {
        JoinRule::Majority
    } else {
        JoinRule::All
    };
    let how = match join {
        JoinRule::Any => "one of them must approve",
        JoinRule::Majority => "more than half of them must approve",
        _ => "each of them must approve",
    };
    step.join.get_or_insert(join);
    compiler.notes.push(format!(
        "`{name}`: `gate: {word}` is read as the verdicts that reviewers submit by schema; {how}"
    ));
}
