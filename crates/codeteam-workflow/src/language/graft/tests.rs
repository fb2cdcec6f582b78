//! Whatever is put into a workflow or left out of it, the rest is reached in its order.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use codeteam_core::workflow::{ExitTarget, StepKind};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use crate::language::{CompileInputs, CompiledWorkflow, compile_workflow};
use crate::yaml::{SourceFiles, read};

/// The effect of a step of the workflow below.
#[derive(Clone, Copy, Debug)]
enum StepAction {
    Work,
    Check,
    Ask,
}

/// A workflow of steps in a row, and one in which they are those of each task.
#[derive(Clone, Debug)]
struct BaseWorkflow {
    steps: Vec<StepAction>,
    inner: bool,
    /// Whether steps say where they lead, or are gone through in their order.
    says_next: bool,
    says_start: bool,
}

impl BaseWorkflow {
    fn text(&self) -> String {
        let mut text = "roles: { maker: { kind: implementer } }\n".to_owned();
        let mut margin = "  ";
        if self.says_start && !self.inner {
            text += "start: s0\n";
        }
        text += "steps:\n";
        if self.inner {
            text += "  tasks:\n    each: task\n    next: done\n";
            if self.says_start {
                text += "    start: s0\n";
            }
            text += "    steps:\n";
            margin = "      ";
        }
        // Where steps say where they lead, only the first has its place in the file.
        let mut order: Vec<(usize, &StepAction)> = self.steps.iter().enumerate().collect();
        if self.says_next {
            order[1..].reverse();
        }
        for (index, does) in order {
            let next = match index + 1 {
                end if end == self.steps.len() => "done".to_owned(),
                next => format!("s{next}"),
            };
            let does = match does {
                // Without `next` a person's answers cannot lead on in order.
                StepAction::Ask if self.says_next => {
                    format!("person: Go on?, answers: {{ yes: {next}, no: fail }}")
                }
                StepAction::Check if self.says_next => {
                    format!("gate: [{{ command: make }}], on_fail: s0, next: {next}")
                }
                _ if self.says_next => format!("role: maker, next: {next}"),
                StepAction::Check => "gate: [{ command: make }]".to_owned(),
                _ => "role: maker".to_owned(),
            };
            let _ = writeln!(text, "{margin}s{index}: {{ {does} }}");
        }
        text
    }
}

fn below() -> impl Strategy<Value = BaseWorkflow> {
    let does = prop_oneof![
        Just(StepAction::Work),
        Just(StepAction::Check),
        Just(StepAction::Ask)
    ];
    let steps = prop::collection::vec(does, 2..8);
    (steps, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(steps, inner, says_next, says_start)| BaseWorkflow {
            steps,
            inner,
            says_next,
            says_start,
        },
    )
}

/// A workflow, what is put into it (before or after which step), and what is left out.
fn changed() -> impl Strategy<Value = (BaseWorkflow, Vec<(bool, usize)>, Vec<usize>)> {
    below().prop_flat_map(|below| {
        let count = below.steps.len();
        let all: Vec<usize> = (0..count).collect();
        let put = prop::collection::vec((any::<bool>(), any::<Index>()), 0..4);
        let put = put.prop_map(move |put| {
            let at = |(before, at): (bool, Index)| (before, at.index(count));
            put.into_iter().map(at).collect()
        });
        (Just(below), put, subsequence(all, 0..count))
    })
}

fn compiled(below: &BaseWorkflow, above: &str) -> Result<CompiledWorkflow, String> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, "above.yml", above).unwrap();
    let text = below.text();
    let mut find = |name: &str, _: usize| {
        let node = (name == "below").then(|| read(&mut sources, "below.yml", &text).unwrap());
        Ok(node)
    };
    let built = compile_workflow("above", node, &mut CompileInputs::default(), &mut find);
    built.map_err(|faults| format!("{}\n{above}\n{text}", sources.to_problems(faults)))
}

/// The steps in the order they are gone through if all is well.
fn line(compiled: &CompiledWorkflow) -> Vec<String> {
    let workflow = &compiled.workflow;
    let mut line = Vec::new();
    let mut here = workflow.start.clone();
    loop {
        let step = &workflow.steps[&here];
        if let StepKind::Each { start, .. } = &step.kind {
            here.clone_from(start);
            continue;
        }
        assert!(!line.contains(&here.0), "a circle: {line:?}");
        line.push(here.0.clone());
        let next = match &step.kind {
            StepKind::Person { answers, .. } => answers[0].next.clone(),
            _ => step.next.clone(),
        };
        match next {
            ExitTarget::Step(next) => here = next,
            ExitTarget::Done | ExitTarget::Fail => return line,
        }
    }
}

proptest! {
    #[test]
    fn every_other_step_is_reached_in_its_order((below, put, out) in changed()) {
        let mut above = "extends: below\n".to_owned();
        let left_out: Vec<String> = out.iter().map(|step| format!("s{step}")).collect();
        if !left_out.is_empty() {
            let _ = writeln!(above, "disable: [{}]", left_out.join(", "));
        }
        if !put.is_empty() {
            above += "steps:\n";
        }
        for (number, (before, at)) in put.iter().enumerate() {
            let side = if *before { "before" } else { "after" };
            let _ = writeln!(above, "  n{number}: {{ role: maker, position: {side} s{at} }}");
        }
        let compiled = compiled(&below, &above).map_err(TestCaseError::fail)?;
        let line = line(&compiled);
        // All of them, and those of the workflow below in their order.
        let expected: Vec<String> = (0..below.steps.len())
            .map(|step| format!("s{step}"))
            .filter(|step| !left_out.contains(step))
            .collect();
        let kept: Vec<String> = line.iter().filter(|s| s.starts_with('s')).cloned().collect();
        prop_assert_eq!(kept, expected, "{}\n{}", above, below.text());
        let new: BTreeSet<String> = line.iter().filter(|s| s.starts_with('n')).cloned().collect();
        prop_assert_eq!(new.len(), put.len(), "{}\n{}", above, below.text());
        for (number, (before, at)) in put.iter().enumerate() {
            let place = |name: String| line.iter().position(|step| *step == name);
            if let Some(beside) = place(format!("s{at}")) {
                let own = place(format!("n{number}"));
                prop_assert!(own.is_some_and(|own| (own < beside) == *before), "{:?}\n{}", line, above);
            }
        }
    }
}

#[test]
fn a_new_step_goes_where_it_is_led_to() {
    let below = BaseWorkflow {
        steps: vec![StepAction::Work, StepAction::Check],
        inner: true,
        says_next: true,
        says_start: false,
    };
    let above = "extends: below\nstart: plan\nsteps:\n  plan: { role: maker, next: s0 }\n  \
                 s1: { next: look }\n  look: { gate: [{ command: look }], next: done }\n";
    let compiled = compiled(&below, above).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(line(&compiled), ["plan", "s0", "s1", "look"]);
    let steps = &compiled.workflow.steps;
    assert_eq!(steps[&"plan".into()].next.to_string(), "tasks");
    assert_eq!(steps[&"look".into()].scope, Some("tasks".into()));
}

#[test]
fn a_gate_that_only_says_who_does_it_does_what_it_did() {
    let below = BaseWorkflow {
        steps: vec![StepAction::Work, StepAction::Check],
        inner: false,
        says_next: true,
        says_start: false,
    };
    let above = "extends: below\nsteps:\n  s1: { type: orchestrator_gate }\n";
    let compiled = compiled(&below, above).unwrap_or_else(|error| panic!("{error}"));
    let StepKind::Gate { checks } = &compiled.workflow.steps[&"s1".into()].kind else {
        panic!("it is no gate");
    };
    assert_eq!(checks[0].name, "make");
}

#[test]
fn a_step_that_nothing_leads_to_is_refused_by_its_name() {
    let mut below = BaseWorkflow {
        steps: vec![StepAction::Work, StepAction::Check],
        inner: true,
        says_next: true,
        says_start: false,
    };
    let refused = |below: &BaseWorkflow, above: &str| compiled(below, above).unwrap_err();
    let misspelt = "extends: below\noverrides:\n  s11: { timeout_seconds: 3 }\n";
    let error = refused(&below, misspelt);
    assert!(
        error.contains("there is no step `s11` to change (did you mean `s1`?)"),
        "{error}"
    );
    let lost = "extends: below\nsteps:\n  far_away: { role: maker }\n";
    let error = refused(&below, lost);
    assert!(
        error.contains("nothing leads to the step `far_away` (`position: after X`"),
        "{error}"
    );
    // Another change may lead to it.
    below.inner = false;
    let led = "extends: below\nsteps:\n  far_away: { role: maker, next: done }\n\
               overrides:\n  s1: { next: far_away }\n";
    assert_eq!(
        line(&compiled(&below, led).unwrap()),
        ["s0", "s1", "far_away"]
    );
    // In a plain order the next one is the last; a change is still a change.
    below.says_next = false;
    assert_eq!(
        line(&compiled(&below, lost).unwrap()),
        ["s0", "s1", "far_away"]
    );
    let error = refused(&below, misspelt);
    assert!(error.contains("to change"), "{error}");
}
