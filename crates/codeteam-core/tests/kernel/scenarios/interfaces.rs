//! Changes of locked interfaces: a task asks for one, others decide, and all who build on it are told.

use codeteam_core::assignment::build_assignment;
use codeteam_core::ids::AttemptId;
use expect_test::expect;

use crate::fixture::{LOCKED, RunSetup};
use crate::scenario::{play, play_out};
use crate::world::SimulatedWorld;

/// A phase whose interface `User` is locked, and two tasks under way that build on it.
const UNDER_WAY: &str = r#"run plan says {"plan":{"phases":[{"id":"backend","sequence":1},{"id":"frontend","sequence":2}],"tasks":[]}}
    run/backend design says {"design":"x","components":[{"id":"model","files":["m.py"]},{"id":"api","files":["a.py"]}],"interfaces":[{"name":"User","type":"python","definition":"v1"}]}
    person run/backend yes
    run/backend lock writes
    run/backend check passes
    run/backend keep goes"#;
const ASKS: &str = r#"run/backend/api make says {"interface_change":{"interface":"User","definition":"v2","reason":"a name is missing"}}"#;

fn locked() -> RunSetup {
    RunSetup::for_workflow(LOCKED)
}

#[test]
fn an_interface_is_changed_when_those_who_decide_agree_and_all_who_build_on_it_are_told() {
    let script = format!(
        "{UNDER_WAY}
        ---
        {ASKS}
        run/backend/api weigh approves
        person run/backend/api yes
        run/backend/api rewrite writes
        run/backend/api recheck passes
        run/backend/api store goes
        run/backend/model make writes m.py=1
        run/backend/model test passes
        run/backend/model commit goes"
    );
    let (world, transcript) = play_out(&locked(), &script);
    expect![[r#"
        > run/backend/api make says {"interface_change":{"interface":"User","definition":"v2","reason":"a name is missing"}}
          run/backend/api:make.1.0.1#7 answered
          run/backend/api asks for interfaces/User.pyi=v2: a name is missing
          run/backend/api at weigh.1 (next)
          run/backend/api:weigh.1.0.1#9 started: judge on claude
        > run/backend/api weigh approves
          run/backend/api:weigh.1.0.1#9 answered, for it
          run/backend/api: weigh approved
          run/backend/api at allow.1 (next)
          run/backend/api:allow.1.0.1#10 asks: May the interface change? `api` asks for another interface `User` of phase `backend` (`interfaces/User.pyi`): a name is missing as it is:
        v1 as it would be:
        v2 [yes, no]
        > person run/backend/api yes
          run/backend/api:allow.1.0.1#10 answered: yes
          run/backend/api at rewrite.1 (answered)
          run/backend/api:rewrite.1.0.1#11 started: write the interfaces
        > run/backend/api rewrite writes
          run/backend/api locked interfaces/User.pyi=v2
          run/backend/api at recheck.1 (next)
          run/backend/api:recheck.1.0.1#12 started: the checks of `recheck`
        > run/backend/api recheck passes
          `recheck` passed on README.md=0,interfaces/User.pyi=v2
          run/backend/api: recheck approved
          run/backend/api at store.1 (next)
          run/backend/api:store.1.0.1#13 started: integrate
        > run/backend/api store goes
          c2 committed: README.md=0,interfaces/User.pyi=v2: api: Change the interface User of phase backend

        a name is missing
          backend: interfaces/User.pyi=v2 from now on; told: run/backend/api, run/backend/model
          run/backend/api at make.2 (next)
          run/backend/api:make.2.0.1#14 started: maker on claude
        > run/backend/model make writes m.py=1
          run/backend/model:make.1.0.1#8 answered, tree README.md=0,interfaces/User.pyi=v1,m.py=1
          run/backend/model at test.1 (next)
          run/backend/model:test.1.0.1#15 started: the checks of `test`
        > run/backend/model test passes
          `test` passed on README.md=0,interfaces/User.pyi=v1,m.py=1
          run/backend/model: test approved
          run/backend/model at commit.1 (next)
          run/backend/model:commit.1.0.1#16 started: rebase
        > run/backend/model commit goes
          rebased on c2: README.md=0,interfaces/User.pyi=v2,m.py=1
          run/backend/model:commit.1.0.2#17 started: the checks of `test`
    "#]].assert_eq(&transcript);
    let plan = world.run.plan.as_deref().unwrap();
    assert_eq!(plan.phases[0].interfaces[0].definition, "v2");
    assert_eq!(world.run.interface_locks()[0].file.blob, "v2");
    let api = &world.run.frames[&"run/backend/api".into()];
    assert!(api.interface_request.is_none() && api.verdicts.is_empty());
    let id = flight_of(&world, "run/backend/api");
    let told = build_assignment(&world.run, &id).unwrap();
    assert!(told.feedback.messages.iter().any(|m| m.contains("`User`")));
    assert_eq!(told.earlier.interfaces[0].interface.definition, "v2");
}

#[test]
fn a_change_that_was_being_made_is_judged_against_the_new_interface() {
    let script = format!(
        "{UNDER_WAY}
        {ASKS}
        run/backend/api weigh approves
        person run/backend/api yes
        run/backend/api rewrite writes
        run/backend/model make writes m.py=1
        run/backend/api recheck passes
        run/backend/api store goes
        run/backend/model test passes
        ---
        run/backend/model commit goes
        run/backend/model commit fails no name"
    );
    let (world, transcript) = play_out(&locked(), &script);
    expect![[r#"
        > run/backend/model commit goes
          rebased on c2: README.md=0,interfaces/User.pyi=v2,m.py=1
          run/backend/model:commit.1.0.2#17 started: the checks of `test`
        > run/backend/model commit fails no name
          `test` failed on README.md=0,interfaces/User.pyi=v2,m.py=1
          run/backend/model: test rejected: the check `unit` failed / no name
          run/backend/model at make.2 (rejected)
          run/backend/model:make.2.0.1#18 started: maker on claude
    "#]]
    .assert_eq(&transcript);
    let id = flight_of(&world, "run/backend/model");
    let told = build_assignment(&world.run, &id).unwrap();
    let messages = told.feedback.messages.join("\n");
    assert!(
        messages.contains("because `api` asked for it"),
        "{messages}"
    );
}

#[test]
fn a_request_that_is_rejected_leads_back_to_the_work_that_was_put_aside() {
    let script = format!(
        "{UNDER_WAY}
        run/backend/api make writes a.py=1
        run/backend/api test fails no
        ---
        {ASKS}
        run/backend/api weigh rejects \"use the id\"
        run/backend/api make writes a.py=2
        run/backend/api test passes
        run/backend/api commit goes"
    );
    let (world, transcript) = play_out(&locked(), &script);
    expect![[r#"
        > run/backend/api make says {"interface_change":{"interface":"User","definition":"v2","reason":"a name is missing"}}
          run/backend/api:make.2.0.1#10 answered
          run/backend/api asks for interfaces/User.pyi=v2: a name is missing
          run/backend/api at weigh.1 (next)
          run/backend/api:weigh.1.0.1#11 started: judge on claude
        > run/backend/api weigh rejects "use the id"
          run/backend/api:weigh.1.0.1#11 answered, against it
          run/backend/api: weigh rejected: use the id
          run/backend/api at make.3 (rejected)
          run/backend/api:make.3.0.1#12 started: maker on claude
        > run/backend/api make writes a.py=2
          run/backend/api:make.3.0.1#12 answered, tree README.md=0,a.py=2,interfaces/User.pyi=v1
          run/backend/api at test.2 (next)
          run/backend/api:test.2.0.1#13 started: the checks of `test`
        > run/backend/api test passes
          `test` passed on README.md=0,a.py=2,interfaces/User.pyi=v1
          run/backend/api: test approved
          run/backend/api at commit.1 (next)
          run/backend/api:commit.1.0.1#14 started: integrate
        > run/backend/api commit goes
          c2 committed: README.md=0,a.py=2,interfaces/User.pyi=v1: api: api
          run/backend/api ended: completed
    "#]].assert_eq(&transcript);
    assert_eq!(world.run.interface_locks()[0].file.blob, "v1");
}

#[test]
fn a_person_may_refuse_what_the_lead_grants() {
    let transcript = play(
        &locked(),
        &format!(
            "{UNDER_WAY}
            {ASKS}
            run/backend/api weigh approves
            ---
            person run/backend/api no note: not now"
        ),
    );
    expect![[r#"
        > person run/backend/api no note: not now
          run/backend/api:allow.1.0.1#10 answered: no
          run/backend/api at make.2 (answered)
          run/backend/api:make.2.0.1#11 started: maker on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_changed_interface_that_breaks_the_checks_is_not_committed() {
    let transcript = play(
        &locked(),
        &format!(
            "{UNDER_WAY}
            {ASKS}
            run/backend/api weigh approves
            person run/backend/api yes
            run/backend/api rewrite writes
            ---
            run/backend/api recheck fails model.py needs the id
            run/backend/api make writes a.py=1
            run/backend/api test passes
            run/backend/api commit goes"
        ),
    );
    expect![[r#"
        > run/backend/api recheck fails model.py needs the id
          `recheck` failed on README.md=0,interfaces/User.pyi=v2
          run/backend/api: recheck rejected: the check `unit` failed / model.py needs the id
          run/backend/api at make.2 (rejected)
          run/backend/api:make.2.0.1#13 started: maker on claude
        > run/backend/api make writes a.py=1
          run/backend/api:make.2.0.1#13 answered, tree README.md=0,a.py=1,interfaces/User.pyi=v1
          run/backend/api at test.1 (next)
          run/backend/api:test.1.0.1#14 started: the checks of `test`
        > run/backend/api test passes
          `test` passed on README.md=0,a.py=1,interfaces/User.pyi=v1
          run/backend/api: test approved
          run/backend/api at commit.1 (next)
          run/backend/api:commit.1.0.1#15 started: integrate
        > run/backend/api commit goes
          c2 committed: README.md=0,a.py=1,interfaces/User.pyi=v1: api: api
          run/backend/api ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn of_two_requests_for_one_interface_the_first_that_is_committed_ends_the_other() {
    let transcript = play(
        &locked(),
        &format!(
            r#"{UNDER_WAY}
            {ASKS}
            run/backend/model make says {{"interface_change":{{"interface":"User","definition":"v3","reason":"an age is missing"}}}}
            run/backend/api weigh approves
            person run/backend/api yes
            run/backend/api rewrite writes
            run/backend/api recheck passes
            run/backend/api store goes
            ---
            run/backend/model weigh approves"#
        ),
    );
    expect![[r#"
        > run/backend/model weigh approves
          run/backend/model:weigh.1.0.1#10 answered, for it
          run/backend/model: weigh approved
          run/backend/model at make.2 (stale)
          run/backend/model:make.2.0.1#16 started: maker on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn what_cannot_be_asked_for_goes_back_to_the_worker() {
    let transcript = play(
        &locked(),
        &format!(
            r#"{UNDER_WAY}
            ---
            run/backend/api make says {{"interface_change":{{"interface":"Users","definition":"v2","reason":"r"}}}}
            run/backend/api make says {{"interface_change":{{"interface":"User","definition":" v1 ","reason":"r"}}}}
            run/backend/model make says {{"interface_change":{{"interface":"User","definition":"v2","reason":""}}}}"#
        ),
    );
    expect![[r#"
        > run/backend/api make says {"interface_change":{"interface":"Users","definition":"v2","reason":"r"}}
          run/backend/api:make.1.0.1#7 failed: logic → retry_with_feedback: no locked interface is called `Users`: locked are `User`
          run/backend/api:make.1.0.2 queued
          run/backend/api:make.1.0.2#9 started: maker on claude
        > run/backend/api make says {"interface_change":{"interface":"User","definition":" v1 ","reason":"r"}}
          run/backend/api:make.1.0.2#9 failed: logic → retry_with_feedback: this is the interface `User` as it is: nothing would change
          run/backend/api:make.1.0.3 queued
          run/backend/api:make.1.0.3#10 started: maker on claude
        > run/backend/model make says {"interface_change":{"interface":"User","definition":"v2","reason":""}}
          run/backend/model:make.1.0.1#8 failed: validation → retry_with_feedback: `reason` must not be empty
          run/backend/model:make.1.0.2 queued
          run/backend/model:make.1.0.2#11 started: maker on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn those_who_decide_are_told_what_is_asked_for_and_why() {
    let (world, _) = play_out(&locked(), &format!("{UNDER_WAY}\n{ASKS}"));
    let id = flight_of(&world, "run/backend/api");
    let told = build_assignment(&world.run, &id).unwrap();
    let asked = told.earlier.requested.unwrap();
    assert_eq!(asked.before.definition, "v1");
    assert_eq!(
        (asked.definition.as_str(), asked.reason.as_str()),
        ("v2", "a name is missing")
    );
    assert!(told.judged.change.is_none());
}

#[test]
fn a_change_of_an_interface_is_taken_back_with_the_run() {
    let script = format!(
        "{UNDER_WAY}
        run/backend/model make writes m.py=1
        run/backend/model test passes
        run/backend/model commit goes
        {ASKS}
        run/backend/api weigh approves
        person run/backend/api yes
        run/backend/api rewrite writes
        run/backend/api recheck passes
        run/backend/api store goes"
    );
    let (world, _) = play_out(&locked(), &script);
    assert_eq!(world.run.interface_locks()[0].file.blob, "v2");
    let script = format!("{script}\nrollback to task model\nrun phases goes");
    let (world, _) = play_out(&locked(), &script);
    let plan = world.run.plan.as_deref().unwrap();
    assert_eq!(plan.phases[0].interfaces[0].definition, "v1");
    assert_eq!(world.run.interface_locks()[0].file.blob, "v1");
    assert!(world.run.tip.tree.0.contains("User.pyi=v1"));
}

#[test]
fn a_rollback_never_parts_an_interface_from_its_file() {
    let before = format!(
        "{UNDER_WAY}
        run/backend/model make writes m.py=1
        run/backend/model test passes
        run/backend/model commit goes
        {ASKS}
        run/backend/api weigh approves
        person run/backend/api yes
        run/backend/api rewrite writes
        run/backend/api recheck passes"
    );
    let (world, _) = play_out(&locked(), &before);
    // Integrating it is one input with several events: its commit, and then the interface.
    let last = world.run.seq;
    for event in last + 1..=last + 2 {
        for kind in ["to", "before"] {
            let script = format!(
                "{before}\nrun/backend/api store goes\nrollback {kind} event {event}\nrun phases goes"
            );
            let (world, _) = play_out(&locked(), &script);
            let plan = world.run.plan.as_deref().unwrap();
            let definition = &plan.phases[0].interfaces[0].definition;
            assert_eq!(*definition, world.run.interface_locks()[0].file.blob);
            let file = format!("User.pyi={definition}");
            let tip = &world.run.tip.tree.0;
            assert!(tip.contains(&file), "{kind} {event}: {tip}, {definition}");
        }
    }
}

#[test]
fn a_change_that_fits_only_the_new_interface_is_no_loop() {
    let script = format!(
        "{UNDER_WAY}
        run/backend/api make writes a.py=1
        run/backend/api test fails no
        {ASKS}
        run/backend/api weigh approves
        person run/backend/api yes
        run/backend/api rewrite writes
        run/backend/api recheck passes
        run/backend/api store goes
        ---
        run/backend/api make writes a.py=1
        run/backend/api test passes"
    );
    let (_, transcript) = play_out(&locked(), &script);
    assert!(
        transcript.contains("`test` passed") && !transcript.contains("repeats round"),
        "{transcript}"
    );
}

/// Returns the attempt of a frame that is under way.
fn flight_of(world: &SimulatedWorld, frame: &str) -> AttemptId {
    let mut ids = world.flights.keys();
    let found = ids.find(|id| id.frame.as_str() == frame);
    found.unwrap().clone()
}
