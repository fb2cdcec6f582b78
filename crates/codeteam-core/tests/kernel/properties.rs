//! Whatever arrives, in whatever order and however wrong: the kernel keeps its promises.

use codeteam_core::failure::FailureFacts;
use codeteam_core::ids::AttemptId;
use codeteam_core::input::{Decision, IntegrationOutcome, RebaseOutcome, WorkerOutcome};
use codeteam_core::{Event, Input, Run};
use proptest::prelude::*;

use crate::fixture::{ALL, FEATURE, LOCKED, PHASES, RunSetup, SEQUENCE, SESSION, identity};
use crate::seeded::{APPROVALS, go_on};
use crate::workers::{SeededRandom, some_plan};
use crate::world::{SimulatedWorld, attempt_of};

/// An id that is right, nearly right, or made up.
fn some_id(world: &SimulatedWorld, luck: &mut SeededRandom) -> AttemptId {
    let mut known: Vec<AttemptId> = world.flights.keys().cloned().collect();
    known.extend(world.inputs.iter().filter_map(attempt_of).cloned());
    known.push(AttemptId {
        frame: "run/nowhere".into(),
        step: "nothing".into(),
        generation: 1,
        slot: 0,
        attempt: 1,
        fence: 1,
    });
    let mut id = luck.pick(&known).clone();
    match luck.below(8) {
        0 => id.fence = luck.below(40),
        1 => id.attempt += 1,
        2 => id.generation += 1,
        3 => id.slot += 7,
        4 => id.step = "code".into(),
        _ => {}
    }
    id
}

/// A result of some kind for some attempt, seldom of the kind that attempt owes.
fn some_input(world: &SimulatedWorld, luck: &mut SeededRandom) -> Input {
    let (at, id) = (world.now, some_id(world, luck));
    let tip = world.git.tip();
    match luck.below(9) {
        0 => world.exited(&id, WorkerOutcome::Answered("{}".to_owned()), 5),
        1 => world.exited(&id, WorkerOutcome::Failed(FailureFacts::default()), 5),
        2 => world.judged(&id, &id.step, None),
        3 => Input::Rebased {
            at,
            id,
            outcome: RebaseOutcome::Conflict {
                base: tip,
                files: vec!["a.rs".to_owned()],
            },
        },
        4 => Input::Integrated {
            at,
            id,
            outcome: IntegrationOutcome::TipMoved(tip),
        },
        5 => Input::Published {
            at,
            id,
            ok: true,
            output: String::new(),
        },
        6 => Input::EffectFailed {
            at,
            id,
            trouble: None,
            message: "gone".to_owned(),
        },
        7 => Input::Decided {
            at,
            by: "ann".to_owned(),
            identity: luck.percent(50).then(|| identity("ann")),
            decision: Decision::Answer {
                question: id,
                answer: (*luck.pick(&["yes", "approve", "override"])).to_owned(),
                note: String::new(),
                change: None,
            },
        },
        _ => Input::Resumed {
            at,
            lost: Vec::new(),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_that_arrives_breaks_a_promise(
        workflow in 0..ALL.len(),
        seed in any::<u64>(),
        moves in prop::collection::vec(0..4_u8, 1..60),
    ) {
        let mut luck = SeededRandom::new(seed);
        let mut start = RunSetup::for_workflow(ALL[workflow]);
        if ![SEQUENCE, SESSION].contains(&ALL[workflow]) {
            start.plan = Some(some_plan(&mut luck, [PHASES, FEATURE, LOCKED].contains(&ALL[workflow])));
        }
        if luck.percent(30) {
            start = start.approval(APPROVALS);
        }
        let mut world = SimulatedWorld::begin(&start);
        for step in moves {
            if world.run.is_terminal() {
                break;
            }
            if step > 0 {
                go_on(&mut world, &mut luck, 20);
                continue;
            }
            let input = some_input(&world, &mut luck);
            let in_flight = attempt_of(&input).is_some_and(|id| world.flights.contains_key(id));
            if in_flight {
                world.land(&input);
            } else {
                world.feed(&input);
            }
            if attempt_of(&input).is_some() {
                world.assert_repeats_change_nothing(&input);
            }
        }
        world.assert_abort_ends_it();
        let events: Vec<Event> = world.log.iter().map(|l| Event::read(1, l).unwrap()).collect();
        prop_assert_eq!(Run::replay(&events).digest(), world.run.digest());
        let text = serde_json::to_string(&world.run).unwrap();
        prop_assert!(serde_json::from_str::<Run>(&text).unwrap() == world.run);
    }
}
