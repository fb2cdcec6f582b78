//! Plans: made by a planner, changed by hand.

use codeteam_core::{Event, Input};
use expect_test::expect;

use super::{finish, three_tasks};
use crate::fixture::{EACH_TASK, PHASES, RunSetup};
use crate::scenario::{play, play_out};

#[test]
fn a_plan_is_made_and_checked() {
    let transcript = play(
        &RunSetup::for_workflow(EACH_TASK),
        r#"run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"],"dependencies":["two"]}]}}
           run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]},{"id":"two","files":["b.rs"]}]}}"#,
    );
    expect![[r#"
        > run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"],"dependencies":["two"]}]}}
          run:plan.1.0.1#1 failed: logic → retry_with_feedback: task `one` depends on `two`, which is not in the plan
          run:plan.1.0.2 queued
          run:plan.1.0.2#2 started: planner on claude
        > run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]},{"id":"two","files":["b.rs"]}]}}
          run:plan.1.0.2#2 answered
          plan proposed: 2 tasks
          run leaves out weigh
          run leaves out accept
          run at tasks.1 (next)
          run/one opened on c0
          run/one leaves out prompt
          run/one at code.1 (start)
          run/two opened on c0
          run/two leaves out prompt
          run/two at code.1 (start)
          run/one:code.1.0.1#3 started: coder on claude
          run/two:code.1.0.1#4 started: coder on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_plan_for_phases_must_have_them() {
    let transcript = play(
        &RunSetup::for_workflow(PHASES),
        r#"run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}}"#,
    );
    expect![[r#"
        > run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}}
          run:plan.1.0.1#1 failed: logic → retry_with_feedback: the plan has no phases to go through
          run:plan.1.0.2 queued
          run:plan.1.0.2#2 started: lead on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_plan_edited_by_hand_counts_and_what_has_begun_is_history() {
    let script = format!(
        "plan one: a.rs; two: b.rs; three: d.rs; four: e.rs < three
         run/one code writes a.rs=1
         {}
         plan one: z.rs; two: b.rs; three: d.rs; four: e.rs
         plan two: b.rs; three: d.rs
         plan one: a.rs; two: b.rs; three: d.rs; four: e.rs < nine",
        finish("one")
    );
    let transcript = play(&three_tasks(), &script);
    expect![[r#"
        > plan one: a.rs; two: b.rs; three: d.rs; four: e.rs < three
          plan revised: 4 tasks
          run/three opened on c0
          run/three leaves out prompt
          run/three at code.1 (start)
          run/three:code.1.0.1#3 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#4 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=1
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1#5 started: reviewer on codex
        > run/one review approves
          run/one:review.1.0.1#5 answered, for it
          run/one: review approved
          run/one leaves out approve
          run/one at describe.1 (next)
          run/one:describe.1.0.1#6 started: committer on claude
        > run/one describe goes
          run/one:describe.1.0.1#6 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#7 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
        > plan one: z.rs; two: b.rs; three: d.rs; four: e.rs
          refused: the plan cannot be changed like that: task `one` is completed and can no longer be changed: `files` must be `a.rs` again
        > plan two: b.rs; three: d.rs
          refused: the plan cannot be changed like that: task `one` is completed and can no longer be changed: put it back into the plan
        > plan one: a.rs; two: b.rs; three: d.rs; four: e.rs < nine
          refused: the plan cannot be changed like that: task `four` depends on `nine`, which is not in the plan
    "#]].assert_eq(&transcript);
}

#[test]
fn how_a_finished_task_is_described_may_be_changed() {
    let script = format!(
        "run/one code writes a.rs=1
         {}",
        finish("one")
    );
    let (mut world, _) = play_out(&three_tasks(), &script);
    let mut plan = world.run.plan.as_deref().unwrap().clone();
    plan.tasks[0].title = "Said better".to_owned();
    plan.tasks[0].description = "In other words".to_owned();
    let input = Input::PlanEdited {
        at: world.now,
        by: "ann".to_owned(),
        plan: Box::new(plan),
    };
    let events = world.feed(&input);
    assert!(
        matches!(events.first(), Some(Event::PlanRevised { .. })),
        "{events:?}"
    );
}
