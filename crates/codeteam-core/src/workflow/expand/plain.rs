//! Other words for what a step does, in codeteam's own.

use super::super::JoinRule;
use super::super::compile::WorkflowCompiler;
use super::super::file::{CommitTarget, FileCheck, FileStep};
use super::{answers, word};
use crate::yaml::{Diagnostic, ScalarOr, SourcePosition, WithPosition, meant};

/// Other words for what a step does, in codeteam's own.
pub(super) fn plainly(
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
        verdicts(compiler, &name.value, &word, place, step);
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
            let fault = Diagnostic::at(place, format!("`{other}` is no type of step"));
            let hint = meant(other, ["orchestrator_gate", "human_gate"]);
            compiler.faults.push(fault.maybe(hint));
        }
    }
    if does.is_some() && step.command.is_none() && step.gate.is_none() && step.commit.is_none() {
        let fault = Diagnostic::at(
            name.place,
            format!("the gate `{}` has no `command`", name.value),
        );
        compiler
            .faults
            .push(fault.hint("`gate: project` runs the project's own checks"));
        step.gate = Some(WithPosition {
            value: ScalarOr::Full(Vec::new()),
            place: name.place,
        });
    }
    if let Some(command) = step.command.take() {
        command_of(compiler, name, step, &command);
    }
}

/// What is a gate's command elsewhere is a step of its own kind here.
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
                .push(Diagnostic::at(command.place, message).hint(hint));
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
            [("continue", word(&next)), ("stop", word("fail"))],
        );
    }
}

/// Words that a reviewer is to print count for nothing; what it submits does.
fn verdicts(
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
        compiler.faults.push(fault.hint(hint));
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
