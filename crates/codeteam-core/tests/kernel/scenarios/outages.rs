//! Model APIs that are busy, fail or cannot be reached: they are waited for, and no try is used up.

use expect_test::expect;

use super::one_task;
use crate::fixture::RunSetup;
use crate::scenario::play;

/// One task whose coder has one worker only.
fn one_worker() -> RunSetup {
    let mut start = one_task();
    let coder = start.compiled.roles.get_mut(&"coder".into()).unwrap();
    coder.workers.truncate(1);
    start
}

#[test]
fn a_busy_api_parks_the_account_for_as_long_as_it_says() {
    let transcript = play(
        &one_worker(),
        "run/one code fails busy 7200s
         due
         +7200s
         run/one code fails busy 60s
         +60s
         run/one code fails busy 60s
         +60s
         run/one code fails busy 60s
         +60s
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > run/one code fails busy 7200s
          run/one:code.1.0.1#1 failed: resource → park: 
          claude rests until 7201000 (rate limit)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 7201000 (rate_limit)
        > due
          due: wait until 7201000 for the API of ["claude"], which is busy
        > +7200s
          claude may be used again
          run/one:code.1.0.1#2 started: coder on claude
        > run/one code fails busy 60s
          run/one:code.1.0.1#2 failed: resource → park: 
          claude rests until 7261000 (rate limit)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 7261000 (rate_limit)
        > +60s
          claude may be used again
          run/one:code.1.0.1#3 started: coder on claude
        > run/one code fails busy 60s
          run/one:code.1.0.1#3 failed: resource → park: 
          claude rests until 7321000 (rate limit)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 7321000 (rate_limit)
        > +60s
          claude may be used again
          run/one:code.1.0.1#4 started: coder on claude
        > run/one code fails busy 60s
          run/one:code.1.0.1#4 failed: resource → park: 
          claude rests until 7381000 (rate limit)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 7381000 (rate_limit)
        > +60s
          claude may be used again
          run/one:code.1.0.1#5 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#5 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#6 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn another_worker_is_used_while_an_api_is_out() {
    let transcript = play(
        &one_task(),
        "run/one code fails overloaded
         run/one code fails overloaded
         due
         +2s
         +1s",
    );
    expect![[r#"
        > run/one code fails overloaded
          run/one:code.1.0.1#1 failed: network → wait_out: 
          claude rests until 2863 (outage)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1#2 started: coder on codex
        > run/one code fails overloaded
          run/one:code.1.0.1#2 failed: network → wait_out: 
          codex rests until 2863 (outage)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 2863 (outage)
        > due
          due: wait until 2863 for the API of ["claude","codex"], which is out, not after 3601000
        > +2s
          claude may be used again
          codex may be used again
          run/one:code.1.0.1#3 started: coder on claude
        > +1s
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn an_outage_is_waited_out_without_using_up_tries() {
    let transcript = play(
        &one_worker(),
        "run/one code fails overloaded
         due
         +3s
         run/one code fails unreachable
         +5s
         run/one code fails overloaded
         +10s
         run/one code fails overloaded
         +20s
         run/one code fails overloaded
         +40s
         run/one code fails overloaded
         +40s
         ---
         due
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > due
          due: run/one:code.1.0.1#7: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#7 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#8 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn an_outage_longer_than_the_limit_stops_the_run_as_it_is() {
    let transcript = play(
        &one_worker(),
        "raise outage 1
         run/one code fails overloaded
         +50s
         run/one code fails overloaded
         due
         +10s
         run/one code fails overloaded
         due
         crash
         +30s
         run/one code fails overloaded
         +5s
         run/one code writes a.rs=1",
    );
    expect![[r#"
        > raise outage 1
          limits raised
        > run/one code fails overloaded
          run/one:code.1.0.1#1 failed: network → wait_out: 
          claude rests until 2863 (outage)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 2863 (outage)
        > +50s
          claude may be used again
          run/one:code.1.0.1#2 started: coder on claude
        > run/one code fails overloaded
          run/one:code.1.0.1#2 failed: network → wait_out: 
          claude rests until 55368 (outage)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 55368 (outage)
        > due
          due: wait until 55368 for the API of ["claude"], which is out, not after 61000
        > +10s
          claude may be used again
          run/one:code.1.0.1#3 started: coder on claude
        > run/one code fails overloaded
          run/one:code.1.0.1#3 failed: network → wait_out: 
          claude rests until 69400 (outage)
          run/one:code.1.0.1 queued
          the limit of outage is reached
          run/one:code.1.0.1 paused until 69400 (outage)
        > due
          due: wait until 69400 for the API of ["claude"], which is out, not after 61000
          due: wait for a higher limit of outage
        > crash
          run resumed
          outages are forgotten
        > +30s
          claude may be used again
          run/one:code.1.0.1#4 started: coder on claude
        > run/one code fails overloaded
          run/one:code.1.0.1#4 failed: network → wait_out: 
          claude rests until 92863 (outage)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 92863 (outage)
        > +5s
          claude may be used again
          run/one:code.1.0.1#5 started: coder on claude
        > run/one code writes a.rs=1
          run/one:code.1.0.1#5 answered, tree README.md=0,a.rs=1
          run/one at test.1 (next)
          run/one:test.1.0.1#6 started: the checks of `test`
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn an_api_that_answers_ends_an_outage() {
    let transcript = play(
        &one_worker(),
        r#"raise outage 1
           run/one code fails overloaded
           +50s
           run/one code says {"summary":"nothing"}
           +50s
           run/one code fails overloaded
           due"#,
    );
    expect![[r#"
        > raise outage 1
          limits raised
        > run/one code fails overloaded
          run/one:code.1.0.1#1 failed: network → wait_out: 
          claude rests until 2863 (outage)
          run/one:code.1.0.1 queued
          run/one:code.1.0.1 paused until 2863 (outage)
        > +50s
          claude may be used again
          run/one:code.1.0.1#2 started: coder on claude
        > run/one code says {"summary":"nothing"}
          run/one:code.1.0.1#2 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run/one:code.1.0.2 queued
          run/one:code.1.0.2#3 started: coder on claude
        > +50s
        > run/one code fails overloaded
          run/one:code.1.0.2#3 failed: network → wait_out: 
          claude rests until 102912 (outage)
          run/one:code.1.0.2 queued
          run/one:code.1.0.2 paused until 102912 (outage)
        > due
          due: wait until 102912 for the API of ["claude"], which is out, not after 161000
    "#]]
    .assert_eq(&transcript);
}
