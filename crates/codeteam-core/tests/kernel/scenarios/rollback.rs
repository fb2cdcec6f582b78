//! A run that is taken back to an earlier moment.

use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::DeliveryMethod;
use expect_test::expect;

use super::{finish, three_tasks};
use crate::fixture::{PHASES, RunSetup, SEQUENCE};
use crate::scenario::{play, play_out};

/// Leads tasks of three from their changes to their commits.
fn done(tasks: &[&str]) -> String {
    let lines = tasks.iter().map(|task| {
        let file = match *task {
            "one" => "a.rs",
            "two" => "b.rs",
            _ => "c.rs",
        };
        format!("run/{task} code writes {file}=1\n{}\n", finish(task))
    });
    lines.collect()
}

/// Three tasks one after another, so that no change is replayed.
fn alone() -> RunSetup {
    three_tasks().cap(1)
}

#[test]
fn a_rollback_to_a_task_keeps_it_and_does_the_later_ones_again() {
    let script = format!(
        "{}---\nrollback to task one\ndue\nrun tasks goes",
        done(&["one", "two"]),
    );
    let (world, transcript) = play_out(&alone(), &script);
    expect![[r#"
        > rollback to task one
          run/three ended: cancelled
          to be taken back to c1 (event 26); again: two, three
          run/three:code.1.0.1#11 spent 10
          run:tasks.2.0.1#12 started: move the branch
        > due
          due: run:tasks.2.0.1#12: move the branch to c1
        > run tasks goes
          taken back from c2 to c1
          run at tasks.3 (resumed)
          run/two opened on c1
          run/two leaves out prompt
          run/two at code.2 (start)
          run/two:code.2.0.1#13 started: coder on claude
    "#]]
    .assert_eq(&transcript);
    assert_eq!(world.git.history().len(), 2);
    assert_eq!(world.git.kept(), ["c2"]);
}

#[test]
fn what_is_done_again_has_ids_of_its_own_and_ends_like_the_first_time() {
    let once = done(&["one", "two", "three"]);
    let (plain, _) = play_out(&alone(), &once);
    let again = format!(
        "{}rollback before task two\nrun tasks goes\n{}",
        done(&["one", "two", "three"]),
        done(&["two", "three"]),
    );
    let (world, _) = play_out(&alone(), &again);
    assert_eq!(world.git.history(), plain.git.history());
    assert!(world.run.is_terminal());
    let codes: Vec<&str> = world
        .log
        .iter()
        .filter_map(|line| {
            line.split("\"frame\":\"run/two\",\"step\":\"code\",\"generation\":")
                .nth(1)
        })
        .filter_map(|rest| rest.split(',').next())
        .collect();
    assert!(codes.contains(&"1") && codes.len() > 1, "{codes:?}");
    let last = codes.last().unwrap().parse::<u32>().unwrap();
    assert!(last > 1, "the second time begins at generation {last}");
}

#[test]
fn a_rollback_waits_until_no_other_work_can_move_the_branch() {
    // `two` was under way when the person decided: its worker has to report first.
    let script = format!("{}---\nrollback before task one\ndue", done(&["one"]));
    let transcript = play(&three_tasks(), &script);
    expect![[r#"
        > rollback before task one
          run/two ended: cancelled
          run/three ended: cancelled
          to be taken back to c0 (event 28); again: one, two, three
          run/two:code.1.0.1#2 spent 10
          run/three:code.1.0.1#7 spent 10
          run:tasks.2.0.1#8 started: move the branch
        > due
          due: run:tasks.2.0.1#8: move the branch to c0
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_commit_that_nobody_heard_of_is_taken_back_too() {
    let ready = done(&["one"]).replace("run/one commit goes", "");
    let script =
        format!("{ready}---\ncrash after run/one commit\nrollback before task one\nrun tasks goes");
    let (world, transcript) = play_out(&alone(), &script);
    expect![[r#"
        > crash after run/one commit
          run resumed
          run/one:commit.1.0.1#5 lost, 50 spent
          run/one:commit.1.0.1#6 started: integrate
        > rollback before task one
          run/one ended: cancelled
          to be taken back to c0 (event 27); again: one
          run/one:commit.1.0.1#6 spent 10
          run:tasks.2.0.1#7 started: move the branch
        > run tasks goes
          taken back from c1 to c0
          run at tasks.3 (resumed)
          run/one opened on c0
          run/one leaves out prompt
          run/one at code.2 (start)
          run/one:code.2.0.1#8 started: coder on claude
    "#]]
    .assert_eq(&transcript);
    assert_eq!(world.git.history().len(), 1);
    assert_eq!(world.git.kept(), ["c1"]);
}

#[test]
fn a_branch_that_cannot_be_moved_leaves_everything_as_it_was() {
    let script = format!(
        "{}---\nrollback before task one\nrun tasks breaks \"the reference is locked\"",
        done(&["one"])
    );
    let (world, transcript) = play_out(&alone(), &script);
    expect![[r#"
        > rollback before task one
          run/two ended: cancelled
          to be taken back to c0 (event 24); again: one, two
          run/two:code.1.0.1#6 spent 10
          run:tasks.2.0.1#7 started: move the branch
        > run tasks breaks "the reference is locked"
          run:tasks.2.0.1#7 failed: cli → escalate: the reference is locked
          not taken back: the reference is locked
          run at tasks.3 (resumed)
          run/two resumed
          run/two at code.2 (resumed)
          run/two:code.2.0.1#8 started: coder on claude
    "#]]
    .assert_eq(&transcript);
    assert_eq!(world.run.task_status(&"one".into()), TaskStatus::Completed);
    assert_eq!(world.git.history().len(), 2);
}

#[test]
fn a_rollback_survives_the_end_of_codeteam_and_of_the_run() {
    let moves = [
        "crash\nrun tasks goes",
        "crash after run tasks\nrun tasks goes",
        // The run is ended in between, and the branch is moved once it is taken up again.
        "abort\nretry\nrun tasks goes",
    ];
    for moved in moves {
        let script = format!(
            "{}rollback before task two\n{moved}\n{}",
            done(&["one", "two"]),
            done(&["two", "three"]),
        );
        let (world, _) = play_out(&alone(), &script);
        assert!(world.run.is_terminal(), "{moved}");
        assert_eq!(world.git.history().len(), 4, "{moved}");
    }
}

#[test]
fn a_run_that_has_ended_is_taken_back_as_well() {
    let script = format!(
        "{}---\nrollback to task two\nrun tasks goes",
        done(&["one", "two", "three"])
    );
    expect![[r#"
        > rollback to task two
          run reopened
          to be taken back to c2 (event 47); again: three
          run:tasks.2.0.1#16 started: move the branch
        > run tasks goes
          taken back from c3 to c2
          run at tasks.3 (resumed)
          run/three opened on c2
          run/three leaves out prompt
          run/three at code.2 (start)
          run/three:code.2.0.1#17 started: coder on claude
    "#]]
    .assert_eq(&play(&alone(), &script));
}

#[test]
fn what_cannot_be_taken_back_is_refused_with_the_reason() {
    let script = format!(
        "{}---
         rollback to task three
         rollback to task nine
         rollback to phase a
         rollback to task one
         rollback to event 99999
         rollback before task one expecting c7",
        done(&["one"])
    );
    expect![[r#"
        > rollback to task three
          refused: task `three` is not done, so there is no moment after it; `--before` means the one before it
        > rollback to task nine
          refused: there is no task `nine`
        > rollback to phase a
          refused: there is no phase `a` with tasks
        > rollback to task one
          run/two ended: cancelled
          to be taken back to c1 (event 26); again: two
          run/two:code.1.0.1#6 spent 10
          run:tasks.2.0.1#7 started: move the branch
        > rollback to event 99999
          refused: the run has the events 1 to 37
        > rollback before task one expecting c7
          refused: the run has committed more since you looked, so nothing was taken back
    "#]].assert_eq(&play(&alone(), &script));
}

#[test]
fn commits_on_a_branch_of_the_user_are_not_taken_back() {
    let how = DeliveryMethod::Forward {
        branch: Some("main".to_owned()),
        at: "c0".into(),
    };
    let script = format!(
        "{}run deliver goes\n---\nrollback to task one",
        done(&["one", "two", "three"])
    );
    expect![[r#"
        > rollback to task one
          refused: the commits of the run are on `main` already, which codeteam does not move back; `codeteam fork` begins a new run from an earlier moment of this one
    "#]].assert_eq(&play(&alone().deliver(how), &script));
}

#[test]
fn events_that_were_taken_back_are_no_moments_any_more() {
    let (world, _) = play_out(&alone(), &done(&["one", "two"]));
    let gone = world.run.seq - 1;
    let script = format!(
        "{}rollback to task one\nrun tasks goes\n---\nrollback to event {gone}",
        done(&["one", "two"])
    );
    expect![[r#"
        > rollback to event 50
          refused: event 50 belongs to what was taken back with event 56; `codeteam fork --at 50` begins a new run from there
    "#]].assert_eq(&play(&alone(), &script));
}

/// Leads a task of a phase from its change to its commit.
fn made(task: &str, file: &str) -> String {
    format!(
        "{task} make writes {file}=1
         {task} test passes
         {task} review/0 approves
         {task} review/1 approves
         {task} review/2 approves
         {task} commit goes
         "
    )
}

fn two_phases() -> RunSetup {
    RunSetup::for_workflow(PHASES)
        .plan("one@a: a.rs\ntwo@a: b.rs\nthree@b: c.rs")
        .cap(1)
}

#[test]
fn a_phase_that_keeps_some_of_its_tasks_keeps_its_design() {
    let script = format!(
        "run/a design goes
         {}{}run/b design goes
         ---
         rollback to task one
         run phases goes
         due",
        made("run/a/one", "a.rs"),
        made("run/a/two", "b.rs"),
    );
    expect![[r#"
        > rollback to task one
          run/b/three ended: cancelled
          run/b ended: cancelled
          to be taken back to c1 (event 31); again: two, three
          run/b/three:make.1.0.1#15 spent 10
          run:phases.2.0.1#16 started: move the branch
        > run phases goes
          taken back from c2 to c1
          run at phases.3 (resumed)
          run/a resumed
          run/a at tasks.2 (resumed)
          run/a/two opened on c1
          run/a/two at make.2 (start)
          run/a/two:make.2.0.1#17 started: maker on claude
        > due
          due: run/a/two:make.2.0.1#17: maker on claude
    "#]]
    .assert_eq(&play(&two_phases(), &script));
}

#[test]
fn a_phase_is_done_again_from_its_beginning() {
    let script = format!(
        "run/a design goes
         {}{}run/b design goes
         {}---
         rollback before phase b
         run verify goes
         due",
        made("run/a/one", "a.rs"),
        made("run/a/two", "b.rs"),
        made("run/b/three", "c.rs"),
    );
    expect![[r#"
        > rollback before phase b
          to be taken back to c2 (event 80); again: three
          run:verify.1.0.1#21 spent 10
          run:verify.2.0.1#22 started: move the branch
        > run verify goes
          taken back from c3 to c2
          run at phases.2 (resumed)
          run/b opened on c2
          run/b at design.2 (start)
          run/b:design.2.0.1#23 started: designer on claude
        > due
          due: run/b:design.2.0.1#23: designer on claude
    "#]]
    .assert_eq(&play(&two_phases(), &script));
}

#[test]
fn the_change_of_a_run_without_tasks_is_made_again() {
    let script = "run analyse goes
         run design goes
         run code writes a.rs=1
         run review approves
         run verify approves
         run commit goes
         ---
         rollback to event 1
         run commit goes";
    expect![[r#"
        > rollback to event 1
          run reopened
          to be taken back to c0 (event 1); again: nothing
          run:commit.2.0.1#7 started: move the branch
        > run commit goes
          taken back from c1 to c0
          run at code.2 (resumed)
          run:code.2.0.1#8 started: coder on session
    "#]]
    .assert_eq(&play(&RunSetup::for_workflow(SEQUENCE), script));
}
