//! Budgets: what fits, what waits for room, what waits for a person.

use expect_test::expect;

use super::{one_task, three_tasks};
use crate::scenario::play;

#[test]
fn what_does_not_fit_beside_what_is_reserved_waits_for_room() {
    let transcript = play(
        &three_tasks().money(70_000),
        "due
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > due
          due: run/one:code.1.0.1#1: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
          run/two:code.1.0.1#3 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_task_has_limits_of_its_own() {
    // Each try costs 100, and may cost 40,000.
    let transcript = play(
        &three_tasks().task_money(40_150),
        r#"run/one code says {"summary":"x"}
           run/two code writes b.rs=1
           run/one code says {"summary":"x"}
           person run/one continue"#,
    );
    expect![[r#"
        > run/one code says {"summary":"x"}
          run/one:code.1.0.1#1 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run/one:code.1.0.2 queued
          run/one:code.1.0.2#3 started: coder on claude
        > run/two code writes b.rs=1
          run/two:code.1.0.1#2 answered, tree README.md=0,b.rs=1
          run/two at test.1 (next)
          run/two:test.1.0.1#4 started: the checks of `test`
        > run/one code says {"summary":"x"}
          run/one:code.1.0.2#3 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run/one:code.1.0.3 queued
          run/one:code.1.0.1#5 asks: This does not get anywhere: the task has used up its money. Go on, or give it up? [continue, skip, fail]
        > person run/one continue
          run/one:code.1.0.1#5 answered: continue
          run/one at code.2 (answered)
          run/one:code.2.0.1#6 started: coder on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_limit_is_reached_and_raised() {
    let transcript = play(
        &one_task().money(40_050),
        r#"run/one code says {"summary":"x"}
           due
           raise 40050
           raise 40060
           raise 500000"#,
    );
    expect![[r#"
        > run/one code says {"summary":"x"}
          run/one:code.1.0.1#1 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run/one:code.1.0.2 queued
          the limit of money is reached
        > due
          due: wait for a higher limit of money
        > raise 40050
          refused: those limits are in force already
        > raise 40060
          limits raised
          the limit of money is reached
        > raise 500000
          limits raised
          run/one:code.1.0.2#2 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn cancelled_work_frees_what_it_did_not_spend() {
    let transcript = play(
        &three_tasks().money(70_000),
        "skip one
         due",
    );
    expect![[r#"
        > skip one
          run/one ended: skipped
          run/three opened on c0
          run/three leaves out prompt
          run/three at code.1 (start)
          run/one:code.1.0.1#1 spent 10
          run/three:code.1.0.1#2 started: coder on claude
        > due
          due: run/three:code.1.0.1#2: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_full_disk_quota_stops_the_next_worker_not_the_one_under_way() {
    let transcript = play(
        &one_task().disk(1_000),
        r#"disk 500
           disk 505
           disk 850
           disk 1200
           run/one code says {"summary":"x"}
           due"#,
    );
    expect![[r#"
        > disk 500
          500 bytes on the disk
        > disk 505
        > disk 850
          850 bytes on the disk
          four fifths of disk are used up
        > disk 1200
          1200 bytes on the disk
        > run/one code says {"summary":"x"}
          run/one:code.1.0.1#1 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run/one:code.1.0.2 queued
          the limit of disk is reached
        > due
          due: wait for a higher limit of disk
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn the_limit_of_time_ends_a_worker_and_more_of_it_starts_the_same_try_again() {
    let transcript = play(
        &one_task().minutes(1),
        "due
         +59s
         +1s
         due
         raise minutes 2
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > due
          due: run/one:code.1.0.1#1: coder on claude
        > +59s
          four fifths of time are used up
        > +1s
          the limit of time is reached
          run/one:code.1.0.1 queued
          run/one:code.1.0.1#1 spent 10
        > due
          due: wait for a higher limit of time
        > raise minutes 2
          limits raised
          run/one:code.1.0.1#2 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#2 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#3 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn the_limit_of_time_ends_checks_too() {
    let transcript = play(
        &one_task().minutes(1),
        "run/one code writes a.rs=1
         +60s
         due
         raise minutes 2
         run/one test passes",
    );
    expect![[r#"
        > run/one code writes a.rs=1
          run/one:code.1.0.1#1 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#2 started: the checks of `test`
        > +60s
          the limit of time is reached
          run/one:test.1.0.1 queued
          run/one:test.1.0.1#2 spent 10
        > due
          due: wait for a higher limit of time
        > raise minutes 2
          limits raised
          run/one:test.1.0.1#3 started: the checks of `test`
        > run/one test passes
          `test` passed on README.md=0,a.rs=1
          run/one: test approved
          run/one at review.1 (next)
          run/one:review.1.0.1#4 started: reviewer on codex
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn what_workers_use_together_ends_them_at_the_limit() {
    let transcript = play(
        &three_tasks().tokens(1_000),
        "run/one code uses 400
         run/two code uses 5
         run/two code uses 590
         run/two code uses 600
         due
         raise tokens 5000",
    );
    expect![[r#"
        > run/one code uses 400
          run/one:code.1.0.1#1 has used 400 tokens and null so far
        > run/two code uses 5
        > run/two code uses 590
          run/two:code.1.0.1#2 has used 590 tokens and null so far
        > run/two code uses 600
          run/two:code.1.0.1#2 has used 600 tokens and null so far
          the limit of tokens is reached
          run/one:code.1.0.1 queued
          run/two:code.1.0.1 queued
          run/two:code.1.0.1#2 spent 10
          run/one:code.1.0.1#1 spent 10
        > due
          due: wait for a higher limit of tokens
        > raise tokens 5000
          limits raised
          run/one:code.1.0.1#3 started: coder on claude
          run/two:code.1.0.1#4 started: coder on claude
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn money_that_is_used_meanwhile_ends_a_worker_at_the_limit() {
    let transcript = play(
        &one_task().money(50_000),
        "run/one code uses 10 49000
         run/one code uses 10 50001
         due",
    );
    expect![[r#"
        > run/one code uses 10 49000
          run/one:code.1.0.1#1 has used 10 tokens and 49000 so far
        > run/one code uses 10 50001
          run/one:code.1.0.1#1 has used 10 tokens and 50001 so far
          the limit of money is reached
          run/one:code.1.0.1 queued
          run/one:code.1.0.1#1 spent 10
        > due
          due: wait for a higher limit of money
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn a_task_is_ended_at_its_own_limit_while_it_works() {
    let transcript = play(
        &three_tasks().task_money(41_000),
        "run/one code uses 10 41000
         due
         person run/one continue",
    );
    expect![[r#"
        > run/one code uses 10 41000
          run/one:code.1.0.1#1 has used 10 tokens and 41000 so far
          run/one:code.1.0.1 queued
          run/one:code.1.0.1#3 asks: This does not get anywhere: the task has used up its money. Go on, or give it up? [continue, skip, fail]
          run/one:code.1.0.1#1 spent 10
        > due
          due: run/one:code.1.0.1#3: ask
          due: run/two:code.1.0.1#2: coder on claude
        > person run/one continue
          run/one:code.1.0.1#3 answered: continue
          run/one at code.2 (answered)
          run/one:code.2.0.1#4 started: coder on claude
    "#]].assert_eq(&transcript);
}

#[test]
fn a_worker_that_stops_for_want_of_money_stops_the_run_not_the_task() {
    let transcript = play(
        &one_task().money(40_050),
        "run/one code fails cost
         due
         raise 200000
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > run/one code fails cost
          run/one:code.1.0.1#1 failed: resource → escalate: it used up its money
          run/one:code.1.0.1 queued
          the limit of money is reached
        > due
          due: wait for a higher limit of money
        > raise 200000
          limits raised
          run/one:code.1.0.1#2 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#2 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#3 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn one_that_calls_the_same_tools_again_and_again_is_told_so() {
    let transcript = play(&one_task(), "run/one code fails loop");
    expect![[r#"
        > run/one code fails loop
          run/one:code.1.0.1#1 failed: logic → retry_with_feedback: it made the same calls again and again
          run/one:code.1.0.2 queued
          run/one:code.1.0.2#2 started: coder on claude
    "#]].assert_eq(&transcript);
}
