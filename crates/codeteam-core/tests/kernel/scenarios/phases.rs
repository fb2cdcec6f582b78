//! Phases: broken down by a designer, carried out side by side.

use codeteam_core::assignment::build_assignment;
use codeteam_core::ids::{AttemptId, TaskId};
use codeteam_core::rollback::{RollbackPoint, RollbackTarget};
use codeteam_core::rollback_plan::plan_rollback;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::{Event, Input};
use expect_test::expect;

use crate::fixture::{FEATURE, LOCKED, RunSetup};
use crate::scenario::{play, play_out};
use crate::world::SimulatedWorld;

const TWO_PHASES: &str = r#"run plan says {"plan":{"phases":[{"id":"backend","sequence":1},{"id":"frontend","sequence":2}],"tasks":[]}}"#;
const SIDE_BY_SIDE: &str = r#"run plan says {"plan":{"phases":[{"id":"one","sequence":1},{"id":"two","sequence":1}],"tasks":[]}}"#;

fn feature() -> RunSetup {
    RunSetup::for_workflow(FEATURE)
}

fn finish(frame: &str) -> String {
    format!("{frame} test passes\n{frame} commit goes\n")
}

#[test]
fn a_designers_components_become_the_tasks_of_its_phase() {
    let script = format!(
        r#"{TWO_PHASES}
        ---
        run/backend design says {{"design":"two parts","components":[{{"id":"model","files":["m.py"]}},{{"id":"api","files":["a.py"],"depends_on":["model"],"assigned_role":"tester"}}],"interfaces":[{{"name":"User","type":"python","definition":"class User: ..."}}]}}
        person run/backend yes
        run/backend/model make writes m.py=1
        {}
        run/backend/api make writes a.py=1
        {}"#,
        finish("run/backend/model"),
        finish("run/backend/api"),
    );
    let (world, transcript) = play_out(&feature(), &script);
    expect![[r#"
        > run/backend design says {"design":"two parts","components":[{"id":"model","files":["m.py"]},{"id":"api","files":["a.py"],"depends_on":["model"],"assigned_role":"tester"}],"interfaces":[{"name":"User","type":"python","definition":"class User: ..."}]}
          run/backend:design.1.0.1#2 answered
          backend broken down: model, api, 1 interfaces
          run/backend at accept.1 (next)
          run/backend:accept.1.0.1#3 asks: Build it like that? [yes, no]
        > person run/backend yes
          run/backend:accept.1.0.1#3 answered: yes
          run/backend at tasks.1 (answered)
          run/backend/model opened on c0
          run/backend/model at make.1 (start)
          run/backend/model:make.1.0.1#4 started: maker on claude
        > run/backend/model make writes m.py=1
          run/backend/model:make.1.0.1#4 answered, tree README.md=0,m.py=1
          run/backend/model at test.1 (next)
          run/backend/model:test.1.0.1#5 started: the checks of `test`
        > run/backend/model test passes
          `test` passed on README.md=0,m.py=1
          run/backend/model: test approved
          run/backend/model at commit.1 (next)
          run/backend/model:commit.1.0.1#6 started: integrate
        > run/backend/model commit goes
          c1 committed: README.md=0,m.py=1: model: model
          run/backend/model ended: completed
          run/backend/api opened on c1
          run/backend/api at make.1 (start)
          run/backend/api:make.1.0.1#7 started: tester on codex
        > run/backend/api make writes a.py=1
          run/backend/api:make.1.0.1#7 answered, tree README.md=0,a.py=1,m.py=1
          run/backend/api at test.1 (next)
          run/backend/api:test.1.0.1#8 started: the checks of `test`
        > run/backend/api test passes
          `test` passed on README.md=0,a.py=1,m.py=1
          run/backend/api: test approved
          run/backend/api at commit.1 (next)
          run/backend/api:commit.1.0.1#9 started: integrate
        > run/backend/api commit goes
          c2 committed: README.md=0,a.py=1,m.py=1: api: api
          run/backend/api ended: completed
          run/backend ended: completed
          run/frontend opened on c2
          run/frontend at design.1 (start)
          run/frontend:design.1.0.1#10 started: lead on claude
    "#]].assert_eq(&transcript);
    let plan = world.run.plan.as_ref().unwrap();
    assert_eq!(plan.phases[0].interfaces[0].path(), "interfaces/User.pyi");
    assert_eq!(plan.tasks[1].roles[0].as_str(), "tester");
}

#[test]
fn what_is_designed_in_a_phase_is_told_to_its_tasks_and_to_later_phases() {
    let script = format!(
        r#"{TWO_PHASES}
        run/backend design says {{"design":"one model","components":[{{"id":"model","files":["m.py"]}}],"interfaces":[{{"name":"User","type":"python","definition":"class User: ..."}}]}}
        person run/backend yes"#,
    );
    let (world, _) = play_out(&feature(), &script);
    let id = world.flights.keys().next().unwrap();
    let told = build_assignment(&world.run, id).unwrap();
    assert_eq!(told.task.unwrap().id, TaskId::from("model"));
    assert_eq!(told.earlier.design.unwrap().design, "one model");
    assert_eq!(told.earlier.interfaces[0].interface.name, "User");
    assert!(told.earlier.phase.is_none());

    let script = format!(
        "{script}\nrun/backend/model make writes m.py=1\n{}",
        finish("run/backend/model")
    );
    let (world, _) = play_out(&feature(), &script);
    let id = world.flights.keys().next().unwrap();
    let told = build_assignment(&world.run, id).unwrap();
    let phase = told.earlier.phase.unwrap();
    assert_eq!(
        (phase.phase.id.as_str(), phase.place, phase.of),
        ("frontend", 2, 2)
    );
    assert_eq!(told.earlier.interfaces[0].phase.as_str(), "backend");
    assert_eq!(told.earlier.plan.unwrap().tasks.len(), 1);
    let roles = told.team.roles.iter().map(|role| role.name.as_str());
    assert_eq!(roles.collect::<Vec<_>>(), ["maker", "tester"]);
}

#[test]
fn a_breakdown_that_cannot_be_built_goes_back_to_the_designer() {
    let transcript = play(
        &feature(),
        &format!(
            r#"{TWO_PHASES}
            ---
            run/backend design says {{"design":"nothing else"}}
            run/backend design says {{"design":"x","components":[{{"id":"a","files":["a"],"depends_on":["z"]}}]}}
            run/backend design says {{"design":"x","components":[{{"id":"a","files":["a"],"assigned_role":"poet"}}]}}"#
        ),
    );
    expect![[r#"
        > run/backend design says {"design":"nothing else"}
          run/backend:design.1.0.1#2 failed: logic → retry_with_feedback: `components` is missing: phase `backend` has no tasks, and its components become them
          run/backend:design.1.0.2 queued
          run/backend:design.1.0.2#3 started: lead on claude
        > run/backend design says {"design":"x","components":[{"id":"a","files":["a"],"depends_on":["z"]}]}
          run/backend:design.1.0.2#3 failed: logic → retry_with_feedback: task `a` depends on `z`, which is not in the plan
          run/backend:design.1.0.3 queued
          run/backend:design.1.0.3#4 started: lead on claude
        > run/backend design says {"design":"x","components":[{"id":"a","files":["a"],"assigned_role":"poet"}]}
          run/backend:design.1.0.3#4 failed: logic → retry_with_feedback: task `a`: there is no role `poet` (known here: `maker`, `tester`)
          run/backend:design.1.0.3 abstains: task `a`: there is no role `poet` (known here: `maker`, `tester`) (3 of 3 tries)
          run/backend ended: failed: `design` gave up: task `a`: there is no role `poet` (known here: `maker`, `tester`) (3 of 3 tries)
          run ended: failed: `backend` was given up; 1 more could not be done
          the run ended: failed: `backend` was given up; 1 more could not be done
    "#]].assert_eq(&transcript);
}

#[test]
fn a_phase_is_broken_down_again_when_a_person_says_so() {
    let transcript = play(
        &feature(),
        &format!(
            r#"{TWO_PHASES}
            run/backend design says {{"design":"x","components":[{{"id":"a","files":["a"]}}]}}
            ---
            person run/backend no note: two parts, please
            run/backend design says {{"design":"x","components":[{{"id":"b","files":["b"]}},{{"id":"c","files":["c"]}}]}}
            person run/backend yes"#
        ),
    );
    expect![[r#"
        > person run/backend no note: two parts, please
          run/backend:accept.1.0.1#3 answered: no
          run/backend at design.2 (answered)
          run/backend:design.2.0.1#4 started: lead on claude
        > run/backend design says {"design":"x","components":[{"id":"b","files":["b"]},{"id":"c","files":["c"]}]}
          run/backend:design.2.0.1#4 answered
          backend broken down: b, c
          run/backend at accept.2 (next)
          run/backend:accept.2.0.1#5 asks: Build it like that? [yes, no]
        > person run/backend yes
          run/backend:accept.2.0.1#5 answered: yes
          run/backend at tasks.1 (answered)
          run/backend/b opened on c0
          run/backend/b at make.1 (start)
          run/backend/c opened on c0
          run/backend/c at make.1 (start)
          run/backend/b:make.1.0.1#6 started: maker on claude
          run/backend/c:make.1.0.1#7 started: maker on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn tasks_of_phases_side_by_side_share_no_file_and_wait_for_each_other() {
    let transcript = play(
        &feature(),
        &format!(
            r#"{SIDE_BY_SIDE}
            ---
            run/one design says {{"design":"x","components":[{{"id":"a","files":["src/a"]}},{{"id":"b","files":["b"]}}]}}
            person run/one yes
            run/two design says {{"design":"x","components":[{{"id":"c","files":["src/"]}},{{"id":"d","files":["d"],"depends_on":["one.b"]}}]}}
            person run/two yes
            run/one/a make writes src/a=1
            {}
            run/one/b make writes b=1
            {}"#,
            finish("run/one/a"),
            finish("run/one/b")
        ),
    );
    expect![[r#"
        > run/one design says {"design":"x","components":[{"id":"a","files":["src/a"]},{"id":"b","files":["b"]}]}
          run/one:design.1.0.1#2 answered
          one broken down: a, b
          run/one at accept.1 (next)
          run/one:accept.1.0.1#4 asks: Build it like that? [yes, no]
        > person run/one yes
          run/one:accept.1.0.1#4 answered: yes
          run/one at tasks.1 (answered)
          run/one/a opened on c0
          run/one/a at make.1 (start)
          run/one/b opened on c0
          run/one/b at make.1 (start)
          run/one/a:make.1.0.1#5 started: maker on claude
          run/one/b:make.1.0.1#6 started: maker on claude
        > run/two design says {"design":"x","components":[{"id":"c","files":["src/"]},{"id":"d","files":["d"],"depends_on":["one.b"]}]}
          run/two:design.1.0.1#3 answered
          two broken down: c, d
          run/two at accept.1 (next)
          run/two:accept.1.0.1#7 asks: Build it like that? [yes, no]
        > person run/two yes
          run/two:accept.1.0.1#7 answered: yes
          run/two at tasks.1 (answered)
        > run/one/a make writes src/a=1
          run/one/a:make.1.0.1#5 answered, tree README.md=0,src/a=1
          run/one/a at test.1 (next)
          run/one/a:test.1.0.1#8 started: the checks of `test`
        > run/one/a test passes
          `test` passed on README.md=0,src/a=1
          run/one/a: test approved
          run/one/a at commit.1 (next)
          run/one/a:commit.1.0.1#9 started: integrate
        > run/one/a commit goes
          c1 committed: README.md=0,src/a=1: a: a
          run/one/a ended: completed
          run/two/c opened on c1
          run/two/c at make.1 (start)
          run/two/c:make.1.0.1#10 started: maker on claude
        > run/one/b make writes b=1
          run/one/b:make.1.0.1#6 answered, tree README.md=0,b=1
          run/one/b at test.1 (next)
          run/one/b:test.1.0.1#11 started: the checks of `test`
        > run/one/b test passes
          `test` passed on README.md=0,b=1
          run/one/b: test approved
          run/one/b at commit.1 (next)
          run/one/b:commit.1.0.1#12 started: rebase
        > run/one/b commit goes
          rebased on c1: README.md=0,b=1,src/a=1
          run/one/b:commit.1.0.2#13 started: the checks of `test`
    "#]].assert_eq(&transcript);
}

#[test]
fn a_phase_that_waits_for_a_task_that_was_given_up_ends_and_can_be_retried_with_it() {
    let transcript = play(
        &feature(),
        &format!(
            r#"{SIDE_BY_SIDE}
            run/one design says {{"design":"x","components":[{{"id":"a","files":["a"]}}]}}
            person run/one yes
            run/two design says {{"design":"x","components":[{{"id":"d","files":["d"],"depends_on":["one.a"]}}]}}
            person run/two yes
            ---
            run/one/a make says {{"blocked":"no access"}}
            retry
            run/one/a make writes a=1
            {}"#,
            finish("run/one/a"),
        ),
    );
    expect![[r#"
        > run/one/a make says {"blocked":"no access"}
          run/one/a:make.1.0.1#5 failed: logic → escalate: no access
          run/one/a:make.1.0.1 abstains: no access
          run/one/a ended: failed: `make` gave up: no access
          run/one ended: failed: `a` was given up
          run/two ended: failed: its tasks wait for tasks of another phase, which was given up
          run ended: failed: `one`, `two` were given up
          the run ended: failed: `one`, `two` were given up
        > retry
          run reopened
          one is pending
          a is pending
          two is pending
          run/one resumed
          run/one at tasks.2 (resumed)
          run/one/a resumed
          run/one/a at make.2 (resumed)
          run/one/a:make.2.0.1#7 started: maker on claude
        > run/one/a make writes a=1
          run/one/a:make.2.0.1#7 answered, tree README.md=0,a=1
          run/one/a at test.1 (next)
          run/one/a:test.1.0.1#8 started: the checks of `test`
        > run/one/a test passes
          `test` passed on README.md=0,a=1
          run/one/a: test approved
          run/one/a at commit.1 (next)
          run/one/a:commit.1.0.1#9 started: integrate
        > run/one/a commit goes
          c1 committed: README.md=0,a=1: a: a
          run/one/a ended: completed
          run/one ended: completed
          run/two resumed
          run/two at tasks.2 (resumed)
          run/two/d opened on c1
          run/two/d at make.1 (start)
          run/two/d:make.1.0.1#10 started: maker on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_component_cannot_wait_for_a_phase_that_has_not_begun() {
    let transcript = play(
        &feature().plan("a@one: a.rs\nb@two: b.rs"),
        r#"run/one design says {"design":"x","components":[{"id":"c","files":["c.rs"],"depends_on":["b"]}]}"#,
    );
    expect![[r#"
        > run/one design says {"design":"x","components":[{"id":"c","files":["c.rs"],"depends_on":["b"]}]}
          run/one:design.1.0.1#1 failed: logic → retry_with_feedback: task `c` depends on `b` of a later phase and could never start
          run/one:design.1.0.2 queued
          run/one:design.1.0.2#2 started: lead on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_phase_that_an_earlier_run_has_finished_is_not_designed_again() {
    let start = feature()
        .plan("a@one: a.rs\nb@two: b.rs\nc@two: c.rs")
        .done_before(&["a", "b"]);
    let (world, _) = play_out(&start, "");
    let id = world.flights.keys().next().unwrap();
    assert_eq!(id.to_string(), "run/two:design.1.0.1#1");
    assert_eq!(world.run.phases[&"one".into()], TaskStatus::Completed);
    let phase = build_assignment(&world.run, id).unwrap();
    let phase = phase.earlier.phase.unwrap();
    assert_eq!(phase.done, ["b".into()]);
}

#[test]
fn a_fork_takes_the_designs_of_phases_over() {
    let script = format!(
        r#"{TWO_PHASES}
        run/backend design says {{"design":"one model","components":[{{"id":"model","files":["m.py"]}}]}}"#,
    );
    let (world, _) = play_out(&feature(), &script);
    let mut start = feature();
    start.plan = world.run.plan.as_deref().cloned();
    start.forked_from = world.run.fork_origin(world.run.seq).map(Box::new);
    let (fork, _) = play_out(&start, "");
    let id = fork.flights.keys().next().unwrap();
    assert_eq!(id.to_string(), "run/backend:design.1.0.1#1");
    let told = build_assignment(&fork.run, id).unwrap();
    assert_eq!(told.earlier.design.unwrap().design, "one model");
}

#[test]
fn interfaces_that_a_person_has_rejected_are_not_told_as_settled() {
    let script = format!(
        r#"{TWO_PHASES}
        run/backend design says {{"design":"x","components":[{{"id":"a","files":["a"]}}],"interfaces":[{{"name":"User","type":"python","definition":"class User: ..."}}]}}
        person run/backend no note: another one"#,
    );
    let (world, _) = play_out(&feature(), &script);
    let id = world.flights.keys().next().unwrap();
    let told = build_assignment(&world.run, id).unwrap().earlier;
    assert!(told.interfaces.is_empty());
    assert_eq!(told.phase.unwrap().phase.interfaces[0].name, "User");
}

#[test]
fn interfaces_are_written_checked_and_committed_before_the_tasks_begin() {
    let script = format!(
        r#"{TWO_PHASES}
        run/backend design says {{"design":"x","components":[{{"id":"model","files":["m.py"]}}],"interfaces":[{{"name":"User","type":"python","definition":"v1"}}]}}
        ---
        person run/backend yes
        run/backend lock writes
        run/backend check fails v1 does not compile
        run/backend design says {{"design":"x","components":[{{"id":"model","files":["m.py"]}}],"interfaces":[{{"name":"User","type":"python","definition":"v2"}}]}}
        person run/backend yes
        run/backend lock writes
        run/backend check passes
        run/backend keep goes
        run/backend/model make writes m.py=1
        {}
        "#,
        finish("run/backend/model"),
    );
    let (world, transcript) = play_out(&RunSetup::for_workflow(LOCKED), &script);
    expect![[r#"
        > person run/backend yes
          run/backend:accept.1.0.1#3 answered: yes
          run/backend at lock.1 (answered)
          run/backend:lock.1.0.1#4 started: write the interfaces
        > run/backend lock writes
          run/backend locked interfaces/User.pyi=v1
          run/backend at check.1 (next)
          run/backend:check.1.0.1#5 started: the checks of `check`
        > run/backend check fails v1 does not compile
          `check` failed on README.md=0,interfaces/User.pyi=v1
          run/backend: check rejected: the check `unit` failed / v1 does not compile
          run/backend at design.2 (rejected)
          run/backend:design.2.0.1#6 started: lead on claude
        > run/backend design says {"design":"x","components":[{"id":"model","files":["m.py"]}],"interfaces":[{"name":"User","type":"python","definition":"v2"}]}
          run/backend:design.2.0.1#6 answered
          backend broken down: model, 1 interfaces
          run/backend at accept.2 (next)
          run/backend:accept.2.0.1#7 asks: Build it like that? [yes, no]
        > person run/backend yes
          run/backend:accept.2.0.1#7 answered: yes
          run/backend at lock.2 (answered)
          run/backend:lock.2.0.1#8 started: write the interfaces
        > run/backend lock writes
          run/backend locked interfaces/User.pyi=v2
          run/backend at check.2 (next)
          run/backend:check.2.0.1#9 started: the checks of `check`
        > run/backend check passes
          `check` passed on README.md=0,interfaces/User.pyi=v2
          run/backend: check approved
          run/backend at keep.1 (next)
          run/backend:keep.1.0.1#10 started: integrate
        > run/backend keep goes
          c1 committed: README.md=0,interfaces/User.pyi=v2: Settle the interfaces of phase backend
          run/backend at tasks.1 (next)
          run/backend/model opened on c1
          run/backend/model at make.1 (start)
          run/backend/model:make.1.0.1#11 started: maker on claude
        > run/backend/model make writes m.py=1
          run/backend/model:make.1.0.1#11 answered, tree README.md=0,interfaces/User.pyi=v2,m.py=1
          run/backend/model at test.1 (next)
          run/backend/model:test.1.0.1#12 started: the checks of `test`
        > run/backend/model test passes
          `test` passed on README.md=0,interfaces/User.pyi=v2,m.py=1
          run/backend/model: test approved
          run/backend/model at commit.1 (next)
          run/backend/model:commit.1.0.1#13 started: integrate
        > run/backend/model commit goes
          c2 committed: README.md=0,interfaces/User.pyi=v2,m.py=1: model: model
          run/backend/model ended: completed
          run/backend ended: completed
          run/frontend opened on c2
          run/frontend at design.1 (start)
          run/frontend:design.1.0.1#14 started: lead on claude
    "#]].assert_eq(&transcript);
    assert!(world.run.interface_locks().is_empty());
}

#[test]
fn what_is_locked_is_told_and_cannot_be_changed_until_the_phase_ends() {
    let script = format!(
        r#"{TWO_PHASES}
        run/backend design says {{"design":"x","components":[{{"id":"model","files":["m.py"]}}],"interfaces":[{{"name":"User","type":"python","definition":"v1"}}]}}
        person run/backend yes
        run/backend lock writes
        run/backend check passes
        run/backend keep goes"#,
    );
    let (mut world, _) = play_out(&RunSetup::for_workflow(LOCKED), &script);
    let id = world.flights.keys().next().unwrap().clone();
    let told = build_assignment(&world.run, &id).unwrap();
    assert!(told.earlier.interfaces[0].locked);
    assert_eq!(told.locked[0].phase.as_str(), "backend");
    assert_eq!(told.locked[0].file.path, "interfaces/User.pyi");
    assert_eq!(told.locked[0].file.blob, "v1");
    let mut plan = world.run.plan.as_deref().unwrap().clone();
    plan.phases[0].interfaces[0].definition = "v2".to_owned();
    let plan = Box::new(plan);
    let (at, by) = (world.now, "ann".to_owned());
    let events = world.feed(&Input::PlanEdited { at, by, plan });
    let Event::DecisionRefused { why, .. } = &events[0] else {
        panic!("{events:?}");
    };
    assert!(why.contains("has locked them"), "{why}");
}

#[test]
fn a_phase_may_start_when_the_interfaces_before_it_are_locked() {
    let script = r#"
        run plan says {"plan":{"phases":[{"id":"backend","sequence":1},{"id":"frontend","sequence":2,"starts_after":"interfaces"},{"id":"docs","sequence":3}],"tasks":[]}}
        run/backend design says {"design":"x","components":[{"id":"model","files":["m.py"]},{"id":"api","files":["a.py"],"depends_on":["model"]}],"interfaces":[{"name":"User","type":"python","definition":"v1"}]}
        person run/backend yes
        run/backend lock writes
        run/backend check passes
        ---
        run/backend keep goes
        run/frontend design says {"design":"x","components":[{"id":"form","files":["f.ts"]},{"id":"page","files":["p.ts"],"depends_on":["backend.model"]}],"interfaces":[{"name":"Form","type":"text","definition":"f1"}]}
        person run/frontend yes
        run/frontend lock writes
        run/frontend check passes
        run/frontend keep goes
        run/backend/model make writes m.py=1
        run/backend/model test passes
        run/backend/model commit goes"#;
    let setup = RunSetup::for_workflow(LOCKED);
    let (world, transcript) = play_out(&setup, script);
    expect![[r#"
        > run/backend keep goes
          c1 committed: README.md=0,interfaces/User.pyi=v1: Settle the interfaces of phase backend
          run/backend at tasks.1 (next)
          run/frontend opened on c1
          run/frontend at design.1 (start)
          run/backend/model opened on c1
          run/backend/model at make.1 (start)
          run/backend/model:make.1.0.1#7 started: maker on claude
          run/frontend:design.1.0.1#8 started: lead on claude
        > run/frontend design says {"design":"x","components":[{"id":"form","files":["f.ts"]},{"id":"page","files":["p.ts"],"depends_on":["backend.model"]}],"interfaces":[{"name":"Form","type":"text","definition":"f1"}]}
          run/frontend:design.1.0.1#8 answered
          frontend broken down: form, page, 1 interfaces
          run/frontend at accept.1 (next)
          run/frontend:accept.1.0.1#9 asks: Build it like that? [yes, no]
        > person run/frontend yes
          run/frontend:accept.1.0.1#9 answered: yes
          run/frontend at lock.1 (answered)
          run/frontend:lock.1.0.1#10 started: write the interfaces
        > run/frontend lock writes
          run/frontend locked interfaces/Form.md=f1
          run/frontend at check.1 (next)
          run/frontend:check.1.0.1#11 started: the checks of `check`
        > run/frontend check passes
          `check` passed on README.md=0,interfaces/Form.md=f1,interfaces/User.pyi=v1
          run/frontend: check approved
          run/frontend at keep.1 (next)
          run/frontend:keep.1.0.1#12 started: integrate
        > run/frontend keep goes
          c2 committed: README.md=0,interfaces/Form.md=f1,interfaces/User.pyi=v1: Settle the interfaces of phase frontend
          run/frontend at tasks.1 (next)
          run/frontend/form opened on c2
          run/frontend/form at make.1 (start)
          run/frontend/form:make.1.0.1#13 started: maker on claude
        > run/backend/model make writes m.py=1
          run/backend/model:make.1.0.1#7 answered, tree README.md=0,interfaces/User.pyi=v1,m.py=1
          run/backend/model at test.1 (next)
          run/backend/model:test.1.0.1#14 started: the checks of `test`
        > run/backend/model test passes
          `test` passed on README.md=0,interfaces/User.pyi=v1,m.py=1
          run/backend/model: test approved
          run/backend/model at commit.1 (next)
          run/backend/model:commit.1.0.1#15 started: rebase
        > run/backend/model commit goes
          rebased on c2: README.md=0,interfaces/Form.md=f1,interfaces/User.pyi=v1,m.py=1
          run/backend/model:commit.1.0.2#16 started: the checks of `test`
    "#]].assert_eq(&transcript);
    let id = attempt_in(&world, "run/frontend/form");
    let told = build_assignment(&world.run, &id).unwrap();
    assert_eq!(told.earlier.interfaces[0].phase.as_str(), "backend");
    assert!(told.earlier.interfaces[0].locked);
}

#[test]
fn a_phase_that_waits_for_interfaces_waits_for_those_of_all_phases_before_it() {
    let transcript = play(
        &RunSetup::for_workflow(LOCKED),
        r#"
        run plan says {"plan":{"phases":[{"id":"one","sequence":1},{"id":"two","sequence":1},{"id":"three","sequence":2,"starts_after":"interfaces"}],"tasks":[]}}
        run/one design says {"design":"x","components":[{"id":"a","files":["a"]}],"interfaces":[{"name":"A","type":"text","definition":"a1"}]}
        person run/one yes
        run/one lock writes
        run/one check passes
        ---
        run/one keep goes
        run/one/a make writes a=1
        run/one/a test passes
        run/one/a commit goes
        run/two design says {"design":"x","components":[{"id":"b","files":["b"]}],"interfaces":[{"name":"B","type":"text","definition":"b1"}]}
        person run/two yes
        run/two lock writes
        run/two check passes
        run/two keep goes"#,
    );
    expect![[r#"
        > run/one keep goes
          c1 committed: README.md=0,interfaces/A.md=a1: Settle the interfaces of phase one
          run/one at tasks.1 (next)
          run/one/a opened on c1
          run/one/a at make.1 (start)
          run/one/a:make.1.0.1#8 started: maker on claude
        > run/one/a make writes a=1
          run/one/a:make.1.0.1#8 answered, tree README.md=0,a=1,interfaces/A.md=a1
          run/one/a at test.1 (next)
          run/one/a:test.1.0.1#9 started: the checks of `test`
        > run/one/a test passes
          `test` passed on README.md=0,a=1,interfaces/A.md=a1
          run/one/a: test approved
          run/one/a at commit.1 (next)
          run/one/a:commit.1.0.1#10 started: integrate
        > run/one/a commit goes
          c2 committed: README.md=0,a=1,interfaces/A.md=a1: a: a
          run/one/a ended: completed
          run/one ended: completed
        > run/two design says {"design":"x","components":[{"id":"b","files":["b"]}],"interfaces":[{"name":"B","type":"text","definition":"b1"}]}
          run/two:design.1.0.1#3 answered
          two broken down: b, 1 interfaces
          run/two at accept.1 (next)
          run/two:accept.1.0.1#11 asks: Build it like that? [yes, no]
        > person run/two yes
          run/two:accept.1.0.1#11 answered: yes
          run/two at lock.1 (answered)
          run/two:lock.1.0.1#12 started: write the interfaces
        > run/two lock writes
          run/two locked interfaces/B.md=b1
          run/two at check.1 (next)
          run/two:check.1.0.1#13 started: the checks of `check`
        > run/two check passes
          `check` passed on README.md=0,a=1,interfaces/A.md=a1,interfaces/B.md=b1
          run/two: check approved
          run/two at keep.1 (next)
          run/two:keep.1.0.1#14 started: integrate
        > run/two keep goes
          c3 committed: README.md=0,a=1,interfaces/A.md=a1,interfaces/B.md=b1: Settle the interfaces of phase two
          run/two at tasks.1 (next)
          run/three opened on c3
          run/three at design.1 (start)
          run/two/b opened on c3
          run/two/b at make.1 (start)
          run/three:design.1.0.1#15 started: lead on claude
          run/two/b:make.1.0.1#16 started: maker on claude
    "#]].assert_eq(&transcript);
}

/// Returns the attempt of a frame that is under way.
fn attempt_in(world: &SimulatedWorld, frame: &str) -> AttemptId {
    let mut ids = world.flights.keys();
    let found = ids.find(|id| id.frame.as_str() == frame);
    found.unwrap().clone()
}

#[test]
fn an_interface_that_a_component_is_to_change_goes_back_to_the_designer() {
    let transcript = play(
        &RunSetup::for_workflow(LOCKED),
        &format!(
            r#"{TWO_PHASES}
            ---
            run/backend design says {{"design":"x","components":[{{"id":"model","files":["interfaces/User.pyi"]}}],"interfaces":[{{"name":"User","type":"python","definition":"v1"}}]}}"#
        ),
    );
    expect![[r#"
        > run/backend design says {"design":"x","components":[{"id":"model","files":["interfaces/User.pyi"]}],"interfaces":[{"name":"User","type":"python","definition":"v1"}]}
          run/backend:design.1.0.1#2 failed: logic → retry_with_feedback: the interface `User` of phase `backend` has the file `interfaces/User.pyi`, which task `model` is to change: interfaces are written by codeteam, so take the file out of the task, or name another one
          run/backend:design.1.0.2 queued
          run/backend:design.1.0.2#3 started: lead on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_phase_that_is_taken_back_begins_before_its_interfaces() {
    let script = format!(
        r#"{TWO_PHASES}
        run/backend design says {{"design":"x","components":[{{"id":"model","files":["m.py"]}}],"interfaces":[{{"name":"User","type":"python","definition":"v1"}}]}}
        person run/backend yes
        run/backend lock writes
        run/backend check passes
        run/backend keep goes"#,
    );
    let (world, _) = play_out(&RunSetup::for_workflow(LOCKED), &script);
    let to = RollbackPoint {
        target: RollbackTarget::Phase("backend".into()),
        before: true,
    };
    let plan = plan_rollback(&world.run, &to).unwrap();
    assert_eq!(plan.tip, world.run.base);
    assert_eq!(plan.commits.len(), 1);
}
