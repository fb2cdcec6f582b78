//! Where a leader's team reaches its limits: a person overrules the leader, nobody can score a
//! result, and a task is refined.

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::ids::{FramePath, StepId, TaskId};
use codeteam_core::workflow::{ScoreLevel, StepCondition};
use expect_test::expect;

use super::teams::{ASSEMBLED, ENOUGH, led, scored};
use crate::fixture::{LED, RunSetup};
use crate::scenario::{play, play_out};
use crate::world::SimulatedWorld;

const LOW: &str = r#"{"overall_score":40}"#;
/// A validator that never answers as it should.
const NO_SCORE: &str = r#"run/one score says {"blocked":"I cannot count"}"#;

/// What the only worker under way is told.
fn told(world: &SimulatedWorld) -> Assignment {
    let id = world.flights.keys().next().unwrap();
    build_assignment(&world.run, id).unwrap()
}

#[test]
fn a_person_can_have_a_terminated_result_as_it_is() {
    let start = RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs < one");
    let script = format!(
        r#"run assemble says {{"assignments":[{{"task":"one","roles":["developer"],"reason":"x"}},{{"task":"two","roles":["developer"],"reason":"x"}}]}}
        {}
        run/one lead says {{"intervention":"terminate","reason":"Not good enough."}}
        ---
        accept run/one
        crash
        run/one commit goes"#,
        scored("1", r#"{"overall_score":40}"#)
    );
    expect![[r#"
        > accept run/one
          run reopened
          run/one: ann accepted it over score
          one is pending
          run/one resumed
          run/one at commit.1 (resumed)
          run/one:commit.1.0.1#6 started: integrate
        > crash
          run resumed
          run/one:commit.1.0.1#6 lost, 50 spent
          run/one:commit.1.0.1#7 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run/two opened on c1
          run/two at work.1 (start)
          run/two:work.1.0.1#8 started: developer on claude
    "#]]
    .assert_eq(&play(&start, &script));
}

#[test]
fn a_person_can_have_a_terminated_result_although_the_whole_run_was_ended() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        run/one lead says {{"intervention":"terminate","reason":"Hopeless.","ends_run":true}}
        ---
        accept run/one
        run/one commit goes"#,
        scored("1", r#"{"overall_score":40}"#)
    );
    expect![[r#"
        > accept run/one
          run reopened
          run/one: ann accepted it over score
          one is pending
          run/one resumed
          run/one at commit.1 (resumed)
          run/one:commit.1.0.1#6 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&play(&led(), &script));
}

#[test]
fn without_a_score_the_leader_may_continue() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        run/one lead says {{"intervention":"retry","reason":"again"}}
        run/one work writes a.rs=2
        run/one verify passes
        ---
        run/one score says {{"overall_score":101}}
        run/one score says {{"overall_score":-1}}
        run/one score says {{"overall_score":"good"}}
        run/one lead says {{"intervention":"continue","reason":"I counted them"}}
        run/one commit goes"#,
        scored("1", LOW)
    );
    expect![[r#"
        > run/one score says {"overall_score":101}
          run/one:score.2.0.1#8 failed: validation → retry_with_feedback: at `overall_score`: 101 is not a whole number from 0 to 100
          run/one:score.2.0.2 queued
          run/one:score.2.0.2#9 started: validator on codex
        > run/one score says {"overall_score":-1}
          run/one:score.2.0.2#9 failed: validation → retry_with_feedback: at `overall_score`: -1 is not a whole number from 0 to 100
          run/one:score.2.0.3 queued
          run/one:score.2.0.3#10 started: validator on codex
        > run/one score says {"overall_score":"good"}
          run/one:score.2.0.3#10 failed: validation → retry_with_feedback: at `overall_score`: "good" is not a whole number from 0 to 100
          run/one:score.2.0.3 abstains: at `overall_score`: "good" is not a whole number from 0 to 100 (3 of 3 tries)
          run/one at lead.2 (failed)
          run/one:lead.2.0.1#11 started: leader on claude
        > run/one lead says {"intervention":"continue","reason":"I counted them"}
          run/one:lead.2.0.1#11 answered, for it
          run/one: continue: I counted them
          run/one: lead approved
          run/one at commit.1 (next)
          run/one:commit.1.0.1#12 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=2: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn a_leader_is_told_why_there_is_no_score() {
    let script = format!(
        "{ASSEMBLED}
        run/one work writes a.rs=1
        run/one verify passes
        {NO_SCORE}"
    );
    let (world, _) = play_out(&led(), &script);
    let team = told(&world).team;
    assert_eq!(team.unscored.as_deref(), Some("I cannot count"));
    assert_eq!(team.quality, None);
}

#[test]
fn what_nobody_scored_and_nobody_led_is_for_a_person_to_take() {
    let script = format!(
        r#"{ASSEMBLED}
        run/one work writes a.rs=1
        run/one verify passes
        {NO_SCORE}
        ---
        run/one lead says {{"blocked":"I cannot tell"}}
        person run/one accept
        crash
        run/one commit goes"#
    );
    expect![[r#"
        > run/one lead says {"blocked":"I cannot tell"}
          run/one:lead.1.0.1#5 failed: logic → escalate: I cannot tell
          run/one:lead.1.0.1 abstains: I cannot tell
          run/one:lead.1.0.1#6 asks: This does not get anywhere: nobody scored the result (I cannot count), and the leader gave no answer: I cannot tell. Go on, or give it up? [continue, accept, skip, fail]
        > person run/one accept
          run/one:lead.1.0.1#6 answered: accept, over lead
          run/one at commit.1 (answered)
          run/one:commit.1.0.1#7 started: integrate
        > crash
          run resumed
          run/one:commit.1.0.1#7 lost, 50 spent
          run/one:commit.1.0.1#8 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn what_nobody_scored_can_be_given_up_and_taken_later() {
    let script = format!(
        r#"{ASSEMBLED}
        run/one work writes a.rs=1
        run/one verify passes
        {NO_SCORE}
        run/one lead says {{"blocked":"I cannot tell"}}
        ---
        person run/one fail
        accept run/one
        run/one commit goes"#
    );
    expect![[r#"
        > person run/one fail
          run/one:lead.1.0.1#6 answered: fail
          run/one ended: failed: a person gave it up
          run ended: failed: `one` was given up
          the run ended: failed: `one` was given up
        > accept run/one
          run reopened
          run/one: ann accepted it over lead
          one is pending
          run/one resumed
          run/one at commit.1 (resumed)
          run/one:commit.1.0.1#7 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&play(&led(), &script));
}

#[test]
fn scores_of_criteria_that_do_not_exist_are_left_out() {
    let script = format!(
        r#"{ASSEMBLED}
        run/one work writes a.rs=1
        run/one verify passes
        ---
        run/one score says {{"overall_score":80,"criteria_scores":{{"clarity":300}}}}"#
    );
    let (world, transcript) = play_out(&led(), &script);
    expect![[r#"
        > run/one score says {"overall_score":80,"criteria_scores":{"clarity":300}}
          run/one:score.1.0.1#4 answered, for it
          run/one scored 80 of 70: enough
          run/one: score approved
          run/one at lead.1 (next)
          run/one:lead.1.0.1#5 started: leader on claude
    "#]]
    .assert_eq(&transcript);
    let frame = world.run.frames.get(&FramePath::from("run/one")).unwrap();
    let quality = frame.team.quality.as_ref().unwrap();
    assert_eq!(quality.score.criteria_scores, []);
}

/// A task with two criteria whose first result scores low.
fn measured() -> (RunSetup, String) {
    let mut start = led();
    let task = &mut start.plan.as_mut().unwrap().tasks[0];
    task.acceptance = vec!["names five".to_owned(), "gives sources".to_owned()];
    let low = r#"{"overall_score":40,"criteria_scores":[{"criterion":1,"score":40},{"criterion":2,"score":40}]}"#;
    (start, format!("{ASSEMBLED}\n{}", scored("1", low)))
}

#[test]
fn a_low_score_cannot_be_met_by_other_criteria() {
    let (start, begun) = measured();
    let script = format!(
        r#"{begun}
        ---
        run/one lead says {{"intervention":"enhance","reason":"too strict","criteria":["is there"]}}
        run/one lead says {{"intervention":"enhance","reason":"too strict","criteria":["names five","is there"]}}"#
    );
    expect![[r#"
        > run/one lead says {"intervention":"enhance","reason":"too strict","criteria":["is there"]}
          run/one:lead.1.0.1#5 failed: logic → retry_with_feedback: `enhance` drops every criterion by which the result has just scored too low. Keep at least one of them word for word; add others, or refine them
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#6 started: leader on claude
        > run/one lead says {"intervention":"enhance","reason":"too strict","criteria":["names five","is there"]}
          run/one:lead.1.0.2#6 answered, against it
          run/one: enhance: too strict; "" ["names five", "gives sources"] → "" ["names five", "is there"]
          run/one at work.2 (rejected)
          run/one:work.2.0.1#7 started: developer on claude
    "#]].assert_eq(&play(&start, &script));
}

#[test]
fn whoever_scores_is_told_which_criteria_were_dropped() {
    let (start, begun) = measured();
    let script = format!(
        r#"{begun}
        run/one lead says {{"intervention":"enhance","reason":"too strict","criteria":["names five"]}}
        run/one work writes a.rs=2
        run/one verify passes"#
    );
    let (world, _) = play_out(&start, &script);
    let told = told(&world);
    assert_eq!(told.role.as_str(), "validator");
    assert_eq!(told.team.dropped_criteria, ["gives sources"]);
    assert_eq!(told.task.unwrap().acceptance, ["names five"]);
}

/// A task of two roles whose result scores low.
fn two_roles() -> String {
    format!(
        r#"run assemble says {{"assignments":[{{"task":"one","roles":["writer","developer"],"reason":"words first"}}]}}
        run/one work writes a.rs=words
        run/one verify passes
        {}"#,
        scored("1", LOW)
    )
}

#[test]
fn a_refined_task_is_for_every_role_of_it() {
    let script = format!(
        r#"{}
        ---
        run/one lead says {{"intervention":"enhance","reason":"it was unclear","description":"Name five."}}
        run/one work writes a.rs=five
        crash
        run/one verify passes
        run/one work writes a.rs=2
        run/one verify passes"#,
        two_roles()
    );
    expect![[r#"
        > run/one lead says {"intervention":"enhance","reason":"it was unclear","description":"Name five."}
          run/one:lead.1.0.1#7 answered, against it
          run/one: enhance: it was unclear; "" [] → "Name five." []
          run/one at work.3 (rejected)
          run/one:work.3.0.1#8 started: writer on codex
        > run/one work writes a.rs=five
          run/one:work.3.0.1#8 answered, tree README.md=0,a.rs=five
          run/one at verify.3 (next)
          run/one:verify.3.0.1#9 started: the checks of `verify`
        > crash
          run resumed
          run/one:verify.3.0.1#9 lost, 50 spent
          run/one:verify.3.0.1#10 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=five
          run/one: verify approved
          run/one at work.4 (next): it is the turn of `developer`
          run/one:work.4.0.1#11 started: developer on claude
        > run/one work writes a.rs=2
          run/one:work.4.0.1#11 answered, tree README.md=0,a.rs=2
          run/one at verify.4 (next)
          run/one:verify.4.0.1#12 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=2
          run/one: verify approved
          run/one at score.2 (next)
          run/one:score.2.0.1#13 started: validator on codex
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn a_leader_says_with_which_role_it_begins_again() {
    let script = format!(
        r#"{}
        ---
        run/one lead says {{"intervention":"retry","reason":"other words","from":"artist"}}
        run/one lead says {{"intervention":"retry","reason":"other words","from":"writer"}}"#,
        two_roles()
    );
    expect![[r#"
        > run/one lead says {"intervention":"retry","reason":"other words","from":"artist"}
          run/one:lead.1.0.1#7 failed: logic → retry_with_feedback: `from` names `artist`, which does not work on this task; `writer` or `developer` can begin
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#8 started: leader on claude
        > run/one lead says {"intervention":"retry","reason":"other words","from":"writer"}
          run/one:lead.1.0.2#8 answered, against it
          run/one: retry: other words
          run/one at work.3 (rejected)
          run/one:work.3.0.1#9 started: writer on codex
    "#]].assert_eq(&play(&led(), &script));
    let script = format!(
        r#"{}
        ---
        run/one lead says {{"intervention":"terminate","reason":"enough","from":"writer"}}
        run/one lead says {{"intervention":"enhance","reason":"clearer","description":"Five.","from":"developer"}}"#,
        two_roles()
    );
    expect![[r#"
        > run/one lead says {"intervention":"terminate","reason":"enough","from":"writer"}
          run/one:lead.1.0.1#7 failed: validation → retry_with_feedback: `from` belongs to `retry` and `enhance`, and the intervention is `terminate`: leave it out, or choose another one
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#8 started: leader on claude
        > run/one lead says {"intervention":"enhance","reason":"clearer","description":"Five.","from":"developer"}
          run/one:lead.1.0.2#8 answered, against it
          run/one: enhance: clearer; "" [] → "Five." []
          run/one at work.3 (rejected)
          run/one:work.3.0.1#9 started: developer on claude
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn a_leader_is_told_who_waits_and_what_was_spent() {
    let mut start =
        RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs < one\nthree: c.rs < two");
    for task in &mut start.plan.as_mut().unwrap().tasks {
        task.roles = vec!["writer".into()];
    }
    let (world, _) = play_out(&start, &scored("1", ENOUGH));
    let team = told(&world).team;
    let waiting: Vec<&str> = team.waiting.iter().map(|one| one.task.as_str()).collect();
    assert_eq!(waiting, ["two"]);
    let spent = team.spent.unwrap();
    assert!(spent.task.tokens > 0, "{spent:?}");
    assert_eq!(spent.task.tokens, spent.run.tokens);
}

#[test]
fn who_measures_and_who_leads_are_told_what_a_result_rests_on() {
    let mut start = RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs < one");
    for task in &mut start.plan.as_mut().unwrap().tasks {
        task.roles = vec!["writer".into()];
    }
    let script = format!(
        r#"{}
        run/one lead says {{"intervention":"continue","reason":"good"}}
        run/one commit goes
        run/two work writes b.rs=1
        run/two verify passes"#,
        scored("1", ENOUGH)
    );
    let (world, _) = play_out(&start, &script);
    let told = told(&world);
    assert_eq!(told.role.as_str(), "validator");
    assert_eq!(told.earlier.upstream[0].task.as_str(), "one");
}

/// A team whose leader is only asked about results that do not score enough.
fn led_by_score() -> RunSetup {
    let mut start = led();
    let lead = start.compiled.workflow.steps.get_mut(&StepId::from("lead"));
    let enough = StepCondition::Score(ScoreLevel::Enough);
    lead.unwrap().when = Some(StepCondition::Not(Box::new(enough)));
    start
}

#[test]
fn a_leader_need_not_be_asked_about_a_result_that_scores_enough() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        run/one lead says {{"intervention":"retry","reason":"half of it is missing"}}
        run/one work writes a.rs=2
        run/one verify passes
        ---
        run/one score says {ENOUGH}
        crash
        run/one commit goes"#,
        scored("1", LOW)
    );
    let (world, transcript) = play_out(&led_by_score(), &script);
    expect![[r#"
        > run/one score says {"overall_score":80}
          run/one:score.2.0.1#8 answered, for it
          run/one scored 80 of 70: enough
          run/one: score approved
          run/one: by rule, continue: it scored 80, and 70 is enough
          run/one leaves out lead
          run/one at commit.1 (next)
          run/one:commit.1.0.1#9 started: integrate
        > crash
          run resumed
          run/one:commit.1.0.1#9 lost, 50 spent
          run/one:commit.1.0.1#10 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=2: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
    let record = world.run.tasks.get(&TaskId::from("one")).unwrap();
    let rounds: Vec<u32> = record.interventions.iter().map(|one| one.round).collect();
    assert_eq!(rounds, [1, 2]);
    assert_eq!(record.quality.as_ref().unwrap().score.overall_score, 80);
}

#[test]
fn work_that_fails_is_a_matter_for_the_leader() {
    let script = format!(
        r#"{ASSEMBLED}
        run/one work says {{"blocked":"there is no data"}}
        ---
        run/one lead says {{"intervention":"retry","reason":"look into data/"}}"#
    );
    expect![[r#"
        > run/one lead says {"intervention":"retry","reason":"look into data/"}
          run/one:lead.1.0.1#3 answered, against it
          run/one: retry: look into data/
          run/one at work.2 (rejected)
          run/one:work.2.0.1#4 started: developer on claude
    "#]]
    .assert_eq(&play(&led_by_score(), &script));
}

#[test]
fn criteria_that_nobody_could_measure_go_back_once() {
    let mut start = RunSetup::for_workflow(LED);
    let settings = &mut start.compiled.workflow.settings;
    settings.insert("measurable_criteria".to_owned(), true);
    let plan = r#"{"plan":{"tasks":[{"id":"one","title":"Research","acceptance":["Thorough analysis"]},{"id":"two","title":"Write"}]}}"#;
    let script = format!("run plan says {plan}\n run plan says {plan}");
    expect![[r#"
        > run plan says {"plan":{"tasks":[{"id":"one","title":"Research","acceptance":["Thorough analysis"]},{"id":"two","title":"Write"}]}}
          run:plan.1.0.1#1 failed: logic → retry_with_feedback: task `one`: "Thorough analysis" measures nothing
        task `two` has no criteria
        Say for each what somebody else can count, look up or try, or begin the criterion with `not measurable:` and give the reason
          run:plan.1.0.2 queued
          run:plan.1.0.2#2 started: planner on claude
        > run plan says {"plan":{"tasks":[{"id":"one","title":"Research","acceptance":["Thorough analysis"]},{"id":"two","title":"Write"}]}}
          run:plan.1.0.2#2 answered
          plan proposed: 2 tasks
          run at assemble.1 (next)
          run:assemble.1.0.1#3 started: assembler on claude
    "#]].assert_eq(&play(&start, &script));
    let plan = r#"{"plan":{"tasks":[{"id":"one","title":"Research","acceptance":["names five","not measurable: taste is the owner's"]}]}}"#;
    let (world, _) = play_out(&start, &format!("run plan says {plan}"));
    assert_eq!(
        world.run.plan.as_ref().unwrap().tasks[0].acceptance.len(),
        2
    );
}
