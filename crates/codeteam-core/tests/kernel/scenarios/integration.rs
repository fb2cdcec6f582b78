//! Integration: one at a time, and only what has been judged.

use expect_test::expect;

use super::{finish, one_task, three_tasks};
use crate::scenario::{play, play_out};

/// Both tasks are ready to be integrated; the first one is.
fn first_of_two(one: &str, two: &str) -> String {
    format!(
        "run/one code writes {one}
         run/two code writes {two}
         {}
         run/two test passes
         run/two review approves
         ---
         run/two describe goes",
        finish("one")
    )
}

#[test]
fn the_second_is_rebased_checked_again_and_its_review_stands() {
    let script = format!(
        "{}
         run/two commit goes
         run/two commit passes
         run/two commit goes",
        first_of_two("a.rs=1", "b.rs=1")
    );
    expect![[r#"
        > run/two describe goes
          run/two:describe.1.0.1#10 answered
          run/two at commit.1 (next)
          run/two:commit.1.0.1#11 started: rebase
        > run/two commit goes
          rebased on c1: README.md=0,a.rs=1,b.rs=1
          run/two:commit.1.0.2#12 started: the checks of `test`
        > run/two commit passes
          `test` passed on README.md=0,a.rs=1,b.rs=1
          run/two:commit.1.0.3#13 started: integrate
        > run/two commit goes
          c2 committed: README.md=0,a.rs=1,b.rs=1: Do it
          run/two ended: completed
    "#]]
    .assert_eq(&play(&three_tasks(), &script));
}

#[test]
fn a_change_that_the_rebase_changed_is_reviewed_again() {
    let script = format!(
        "{}
         run/two commit goes
         run/two commit passes
         run/two review approves
         run/two describe goes
         run/two commit goes",
        first_of_two("a.rs=1 shared=x", "b.rs=1 shared=y")
    );
    expect![[r#"
        > run/two describe goes
          run/two:describe.1.0.1#10 answered
          run/two at commit.1 (next)
          run/two:commit.1.0.1#11 started: rebase
        > run/two commit goes
          rebased on c1: README.md=0,a.rs=1,b.rs=1,shared=x+y
          run/two:commit.1.0.2#12 started: the checks of `test`
        > run/two commit passes
          `test` passed on README.md=0,a.rs=1,b.rs=1,shared=x+y
          run/two at review.2 (stale)
          run/two:review.2.0.1#13 started: reviewer on codex
        > run/two review approves
          run/two:review.2.0.1#13 answered, for it
          run/two: review approved
          run/two leaves out approve
          run/two at describe.2 (next)
          run/two:describe.2.0.1#14 started: committer on claude
        > run/two describe goes
          run/two:describe.2.0.1#14 answered
          run/two at commit.2 (next)
          run/two:commit.2.0.1#15 started: integrate
        > run/two commit goes
          c2 committed: README.md=0,a.rs=1,b.rs=1,shared=x+y: Do it
          run/two ended: completed
    "#]]
    .assert_eq(&play(&three_tasks(), &script));
}

#[test]
fn a_conflict_goes_back_to_the_implementer() {
    let script = format!(
        "{}
         run/two commit goes",
        first_of_two("a.rs=1 hot=x", "b.rs=1 hot=y")
    );
    expect![[r#"
        > run/two describe goes
          run/two:describe.1.0.1#10 answered
          run/two at commit.1 (next)
          run/two:commit.1.0.1#11 started: rebase
        > run/two commit goes
          conflicts with c1 in hot
          run/two at code.2 (rejected)
          run/two:code.2.0.1#12 started: coder on claude
    "#]]
    .assert_eq(&play(&three_tasks(), &script));
}

#[test]
fn checks_that_fail_after_a_rebase_send_it_back() {
    let script = format!(
        "{}
         run/two commit goes
         run/two commit fails \"together they do not work\"",
        first_of_two("a.rs=1", "b.rs=1")
    );
    expect![[r#"
        > run/two describe goes
          run/two:describe.1.0.1#10 answered
          run/two at commit.1 (next)
          run/two:commit.1.0.1#11 started: rebase
        > run/two commit goes
          rebased on c1: README.md=0,a.rs=1,b.rs=1
          run/two:commit.1.0.2#12 started: the checks of `test`
        > run/two commit fails "together they do not work"
          `test` failed on README.md=0,a.rs=1,b.rs=1
          run/two: test rejected: the check `unit` failed / together they do not work
          run/two at code.2 (rejected)
          run/two:code.2.0.1#13 started: coder on claude
    "#]]
    .assert_eq(&play(&three_tasks(), &script));
}

#[test]
fn someone_else_may_commit_to_the_branch() {
    let transcript = play(
        &one_task(),
        "run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         run/one describe goes
         ---
         push z.rs=9
         run/one commit goes
         run/one commit goes
         run/one commit passes
         run/one commit goes",
    );
    expect![[r#"
        > push z.rs=9
        > run/one commit goes
          the tip moved to c1
          run/one:commit.1.0.2#6 started: rebase
        > run/one commit goes
          rebased on c1: README.md=0,a.rs=1,z.rs=9
          run/one:commit.1.0.3#7 started: the checks of `test`
        > run/one commit passes
          `test` passed on README.md=0,a.rs=1,z.rs=9
          run/one:commit.1.0.4#8 started: integrate
        > run/one commit goes
          c2 committed: README.md=0,a.rs=1,z.rs=9: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_commit_nobody_heard_of_is_found_again() {
    let (world, transcript) = play_out(
        &one_task(),
        "run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         ---
         run/one describe goes
         crash after run/one commit
         run/one commit goes",
    );
    expect![[r#"
        > run/one describe goes
          run/one:describe.1.0.1#4 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: integrate
        > crash after run/one commit
          run resumed
          run/one:commit.1.0.1#5 lost, 50 spent
          run/one:commit.1.0.1#6 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=1: Do it
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
    assert_eq!(world.git.history().len(), 2);
}

/// The commit was made, codeteam died, the run was aborted and taken up again: the change is on
/// the branch already, and no other commit gets its name.
#[test]
fn a_commit_of_an_aborted_run_is_not_made_twice() {
    let (world, transcript) = play_out(
        &one_task(),
        "run/one code writes a.rs=1
         run/one test passes
         run/one review approves
         ---
         run/one describe goes
         crash after run/one commit
         abort
         retry
         run/one commit goes
         run/one commit goes",
    );
    expect![[r#"
        > run/one describe goes
          run/one:describe.1.0.1#4 answered
          run/one at commit.1 (next)
          run/one:commit.1.0.1#5 started: integrate
        > crash after run/one commit
          run resumed
          run/one:commit.1.0.1#5 lost, 50 spent
          run/one:commit.1.0.1#6 started: integrate
        > abort
          run/one ended: cancelled
          run ended: aborted: a person ended it
          the run ended: aborted: a person ended it
          run/one:commit.1.0.1#6 spent 10
        > retry
          run reopened
          one is pending
          run/one resumed
          run/one at commit.2 (resumed)
          run/one:commit.2.0.1#7 started: integrate
        > run/one commit goes
          the tip moved to c1
          run/one:commit.2.0.2#8 started: rebase
        > run/one commit goes
          rebased on c1: README.md=0,a.rs=1
          run/one has nothing to commit
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
    assert_eq!(world.git.history().len(), 2);
}

#[test]
fn while_a_person_is_asked_at_the_commit_others_integrate() {
    let script = "run/one code writes a.rs=1
         run/two code writes b.rs=1
         run/one test passes
         run/one review approves
         run/one describe goes
         ---
         run/one commit breaks \"the disk is full\"
         run/two test passes
         run/two review approves
         run/two describe goes
         run/two commit goes
         person run/one continue";
    expect![[r#"
        > run/one commit breaks "the disk is full"
          run/one:commit.1.0.1#7 failed: cli → escalate: the disk is full
          run/one:commit.1.0.1#8 asks: This does not get anywhere: `commit` gave up: the disk is full. Go on, or give it up? [continue, skip, fail]
        > run/two test passes
          `test` passed on README.md=0,b.rs=1
          run/two: test approved
          run/two at review.1 (next)
          run/two:review.1.0.1#9 started: reviewer on codex
        > run/two review approves
          run/two:review.1.0.1#9 answered, for it
          run/two: review approved
          run/two leaves out approve
          run/two at describe.1 (next)
          run/two:describe.1.0.1#10 started: committer on claude
        > run/two describe goes
          run/two:describe.1.0.1#10 answered
          run/two at commit.1 (next)
          run/two:commit.1.0.1#11 started: integrate
        > run/two commit goes
          c1 committed: README.md=0,b.rs=1: Do it
          run/two ended: completed
        > person run/one continue
          run/one:commit.1.0.1#8 answered: continue
          run/one at commit.2 (answered)
          run/one:commit.2.0.1#12 started: rebase
    "#]].assert_eq(&play(&three_tasks(), script));
}
