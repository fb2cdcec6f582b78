//! Teams: roles are assigned to tasks, results are scored, and a leader intervenes.

use std::fmt::Write as _;

use codeteam_core::Event;
use expect_test::expect;

use crate::fixture::{LED, RunSetup};
use crate::scenario::{play, play_out};

pub(super) const ASSEMBLED: &str = r#"run assemble says {"assignments":[{"task":"one","roles":["developer"],"alternatives":["writer"],"reason":"it is code"}]}"#;
pub(super) const ENOUGH: &str = r#"{"overall_score":80}"#;

/// A task that the developer carries out, up to where it is at work.
pub(super) fn led() -> RunSetup {
    RunSetup::for_workflow(LED).plan("one: a.rs")
}

/// One change that passes the checks and gets this score.
pub(super) fn scored(content: &str, score: &str) -> String {
    format!(
        "run/one work writes a.rs={content}
         run/one verify passes
         run/one score says {score}"
    )
}

#[test]
fn roles_are_assigned_and_checked() {
    let start = RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs");
    let script = r#"run assemble says {"assignments":[{"task":"one","roles":["develper"],"reason":"x"},{"task":"three","roles":["writer"],"reason":"x"}]}
        run assemble says {"assignments":[{"task":"one","roles":["leader"],"reason":"x"},{"task":"two","roles":["writer","writer"],"reason":"x"}]}
        run assemble says {"assignments":[{"task":"one","roles":["writer","developer"],"reason":"words first"},{"task":"two","roles":["artist"],"reason":"a picture"}]}"#;
    let (world, transcript) = play_out(&start, script);
    expect![[r#"
        > run assemble says {"assignments":[{"task":"one","roles":["develper"],"reason":"x"},{"task":"three","roles":["writer"],"reason":"x"}]}
          run:assemble.1.0.1#1 failed: logic → retry_with_feedback: task `one`: there is no role `develper` (did you mean `developer`?)
        there is no task `three` (known here: `one`, `two`)
        task `two` is missing
          run:assemble.1.0.2 queued
          run:assemble.1.0.2#2 started: assembler on claude
        > run assemble says {"assignments":[{"task":"one","roles":["leader"],"reason":"x"},{"task":"two","roles":["writer","writer"],"reason":"x"}]}
          run:assemble.1.0.2#2 failed: logic → retry_with_feedback: task `one`: `leader` cannot carry out a task: it is a gatekeeper
        task `two`: the role `writer` is there twice
          run:assemble.1.0.3 queued
          run:assemble.1.0.3#3 started: assembler on claude
        > run assemble says {"assignments":[{"task":"one","roles":["writer","developer"],"reason":"words first"},{"task":"two","roles":["artist"],"reason":"a picture"}]}
          run:assemble.1.0.3#3 answered
          assembled: one by writer and developer, two by artist
          run at tasks.1 (next)
          run/one opened on c0
          run/one at work.1 (start)
          run/two opened on c0
          run/two at work.1 (start)
          run/one:work.1.0.1#4 started: writer on codex
          run/two:work.1.0.1#5 started: artist on gemini
    "#]].assert_eq(&transcript);
    let plan = world.run.plan.as_ref().unwrap();
    assert_eq!(plan.tasks[0].roles, ["writer".into(), "developer".into()]);
}

#[test]
fn a_plan_that_names_every_role_is_not_assembled() {
    let mut start = led();
    start.plan.as_mut().unwrap().tasks[0].roles = vec!["writer".into()];
    let transcript = play(&start, "start");
    let lines: Vec<&str> = transcript.lines().map(str::trim_start).collect();
    let expected = [
        "run started: led",
        "run leaves out plan",
        "run leaves out assemble",
        "run at tasks.1 (start)",
        "run/one opened on c0",
        "run/one at work.1 (start)",
        "run/one:work.1.0.1#1 started: writer on codex",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn without_an_assembly_the_usual_role_does_the_work() {
    let script = r#"run assemble says {"blocked":"no role fits"}"#;
    let (world, _) = play_out(&led(), script);
    let (_, effect) = world.flights.iter().next().unwrap();
    assert!(
        format!("{effect:?}").contains("\"developer\""),
        "{effect:?}"
    );
}

#[test]
fn several_roles_work_one_after_another_and_the_result_is_judged_once() {
    let script = r#"run assemble says {"assignments":[{"task":"one","roles":["writer","developer"],"reason":"words first"}]}
        ---
        run/one work writes a.rs=words
        run/one verify fails "no"
        run/one work writes a.rs=better
        run/one verify passes
        run/one work writes a.rs=code
        run/one verify passes
        run/one score says {"overall_score":70}
        run/one lead says {"intervention":"continue","reason":"it does what was asked for"}
        run/one commit goes"#;
    expect![[r#"
        > run/one work writes a.rs=words
          run/one:work.1.0.1#2 answered, tree README.md=0,a.rs=words
          run/one at verify.1 (next)
          run/one:verify.1.0.1#3 started: the checks of `verify`
        > run/one verify fails "no"
          `verify` failed on README.md=0,a.rs=words
          run/one: verify rejected: the check `unit` failed / no
          run/one at work.2 (rejected)
          run/one:work.2.0.1#4 started: writer on codex
        > run/one work writes a.rs=better
          run/one:work.2.0.1#4 answered, tree README.md=0,a.rs=better
          run/one at verify.2 (next)
          run/one:verify.2.0.1#5 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=better
          run/one: verify approved
          run/one at work.3 (next): it is the turn of `developer`
          run/one:work.3.0.1#6 started: developer on claude
        > run/one work writes a.rs=code
          run/one:work.3.0.1#6 answered, tree README.md=0,a.rs=code
          run/one at verify.3 (next)
          run/one:verify.3.0.1#7 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=code
          run/one: verify approved
          run/one at score.1 (next)
          run/one:score.1.0.1#8 started: validator on codex
        > run/one score says {"overall_score":70}
          run/one:score.1.0.1#8 answered, for it
          run/one scored 70 of 70: enough
          run/one: score approved
          run/one at lead.1 (next)
          run/one:lead.1.0.1#9 started: leader on claude
        > run/one lead says {"intervention":"continue","reason":"it does what was asked for"}
          run/one:lead.1.0.1#9 answered, for it
          run/one: continue: it does what was asked for
          run/one: lead approved
          run/one at commit.1 (next)
          run/one:commit.1.0.1#10 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=code: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&play(&led(), script));
}

#[test]
fn a_score_below_the_threshold_goes_to_the_leader_who_cannot_continue() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        ---
        run/one lead says {{"intervention":"continue","reason":"I like it"}}
        run/one lead says {{"intervention":"retry","reason":"add the second case"}}
        {}
        run/one lead says {{"intervention":"CONTINUE","reason":"now it is there"}}"#,
        scored("1", r#"{"overall_score":69,"issues":["half of it"]}"#),
        scored("2", ENOUGH)
    );
    expect![[r#"
        > run/one lead says {"intervention":"continue","reason":"I like it"}
          run/one:lead.1.0.1#5 failed: logic → retry_with_feedback: it cannot continue: it scored 69, and 70 is needed. Choose another intervention
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#6 started: leader on claude
        > run/one lead says {"intervention":"retry","reason":"add the second case"}
          run/one:lead.1.0.2#6 answered, against it
          run/one: retry: add the second case
          run/one at work.2 (rejected)
          run/one:work.2.0.1#7 started: developer on claude
        > run/one work writes a.rs=2
          run/one:work.2.0.1#7 answered, tree README.md=0,a.rs=2
          run/one at verify.2 (next)
          run/one:verify.2.0.1#8 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=2
          run/one: verify approved
          run/one at score.2 (next)
          run/one:score.2.0.1#9 started: validator on codex
        > run/one score says {"overall_score":80}
          run/one:score.2.0.1#9 answered, for it
          run/one scored 80 of 70: enough
          run/one: score approved
          run/one at lead.2 (next)
          run/one:lead.2.0.1#10 started: leader on claude
        > run/one lead says {"intervention":"CONTINUE","reason":"now it is there"}
          run/one:lead.2.0.1#10 answered, for it
          run/one: continue: now it is there
          run/one: lead approved
          run/one at commit.1 (next)
          run/one:commit.1.0.1#11 started: integrate
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn a_threshold_belongs_to_the_role_or_the_workflow_and_a_role_may_do_without_scores() {
    let mut start = led();
    start.compiled.workflow.quality_threshold = Some(90);
    let script = format!("{ASSEMBLED}\n{}", scored("1", ENOUGH));
    let line = |transcript: String| {
        let scored = transcript.lines().filter(|line| line.contains("scored"));
        let lines: Vec<&str> = scored.map(str::trim_start).collect();
        lines.join("\n")
    };
    expect![[r"
        run/one scored 80 of 90: too little
        run/one: score rejected: scored 80 of 100"]]
    .assert_eq(&line(play(&start, &script)));
    start
        .compiled
        .roles
        .get_mut(&"developer".into())
        .unwrap()
        .quality_threshold = Some(80);
    expect!["run/one scored 80 of 80: enough"].assert_eq(&line(play(&start, &script)));
    let script = r#"run assemble says {"assignments":[{"task":"one","roles":["artist"],"reason":"x"}]}
        run/one work writes a.rs=1
        ---
        run/one verify passes"#;
    expect![[r#"
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=1
          run/one: verify approved
          run/one leaves out score: results of `artist` are not scored
          run/one at lead.1 (next)
          run/one:lead.1.0.1#4 started: leader on claude
    "#]]
    .assert_eq(&play(&start, script));
}

#[test]
fn scores_that_cannot_be_go_back() {
    let mut start = led();
    start.plan.as_mut().unwrap().tasks[0].acceptance = vec!["adds".to_owned()];
    let script = format!(
        r#"{ASSEMBLED}
        run/one work writes a.rs=1
        run/one verify passes
        ---
        run/one score says {{"overall_score":101,"criteria_scores":{{"criterion_1":80}}}}
        run/one score says {{"overall_score":80}}
        run/one score says {{"overall_score":80,"criteria_scores":[{{"criterion":1,"score":80}}]}}"#
    );
    expect![[r#"
        > run/one score says {"overall_score":101,"criteria_scores":{"criterion_1":80}}
          run/one:score.1.0.1#4 failed: validation → retry_with_feedback: at `overall_score`: 101 is not a whole number from 0 to 100
          run/one:score.1.0.2 queued
          run/one:score.1.0.2#5 started: validator on codex
        > run/one score says {"overall_score":80}
          run/one:score.1.0.2#5 failed: validation → retry_with_feedback: at `criteria_scores`: criterion 1 has no score; score each of the 1
          run/one:score.1.0.3 queued
          run/one:score.1.0.3#6 started: validator on codex
        > run/one score says {"overall_score":80,"criteria_scores":[{"criterion":1,"score":80}]}
          run/one:score.1.0.3#6 answered, for it
          run/one scored 80 of 70: enough
          run/one: score approved
          run/one at lead.1 (next)
          run/one:lead.1.0.1#7 started: leader on claude
    "#]].assert_eq(&play(&start, &script));
}

#[test]
fn a_retry_is_bounded_and_then_refused() {
    let retry = r#"run/one lead says {"intervention":"retry","reason":"again"}"#;
    let low = r#"{"overall_score":10}"#;
    let mut script = format!("{ASSEMBLED}\n");
    for n in 1..=3 {
        writeln!(script, "{}\n{retry}", scored(&n.to_string(), low)).unwrap();
    }
    let fourth = scored("4", low);
    write!(script, "{fourth}\n---\n{retry}\n{retry}\n{retry}").unwrap();
    expect![[r#"
        > run/one lead says {"intervention":"retry","reason":"again"}
          run/one:lead.4.0.1#17 failed: logic → retry_with_feedback: `retry` is not possible any more for this task: it has been used as often as it may be. Choose another intervention
          run/one:lead.4.0.2 queued
          run/one:lead.4.0.2#18 started: leader on claude
        > run/one lead says {"intervention":"retry","reason":"again"}
          run/one:lead.4.0.2#18 failed: logic → retry_with_feedback: `retry` is not possible any more for this task: it has been used as often as it may be. Choose another intervention
          run/one:lead.4.0.3 queued
          run/one:lead.4.0.3#19 started: leader on claude
        > run/one lead says {"intervention":"retry","reason":"again"}
          run/one:lead.4.0.3#19 failed: logic → retry_with_feedback: `retry` is not possible any more for this task: it has been used as often as it may be. Choose another intervention
          run/one:lead.4.0.3 abstains: `retry` is not possible any more for this task: it has been used as often as it may be. Choose another intervention (3 of 3 tries)
          run/one: by rule, escalate: it scored 10, and 70 is needed (the leader gave no answer: `retry` is not possible any more for this task: it has been used as often as it may be. Choose another intervention (3 of 3 tries)); writer helps: Help with "Do one", which did not succeed: it scored 10, and 70 is needed
          run/one at work.5 (rejected): it is the turn of `writer`
          run/one:work.5.0.1#20 started: writer on codex
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn a_refined_task_is_in_the_plan_and_the_difference_is_told() {
    let enhance = |words: &str| {
        format!(
            r#"run/one lead says {{"intervention":"enhance","reason":"it was unclear","description":"{words}","criteria":["names five"]}}"#
        )
    };
    let low = r#"{"overall_score":10,"criteria_scores":[{"criterion":1,"score":10}]}"#;
    let script = format!(
        "{ASSEMBLED}
        {}
        ---
        {}
        {}
        {}
        {}
        {}
        {}",
        scored("1", r#"{"overall_score":10}"#),
        enhance("Name five of them."),
        scored("2", low),
        enhance("Name five of them."),
        enhance("Name five of the largest."),
        scored("3", low),
        enhance("Name six."),
    );
    let (world, transcript) = play_out(&led(), &script);
    expect![[r#"
        > run/one lead says {"intervention":"enhance","reason":"it was unclear","description":"Name five of them.","criteria":["names five"]}
          run/one:lead.1.0.1#5 answered, against it
          run/one: enhance: it was unclear; "" [] → "Name five of them." ["names five"]
          run/one at work.2 (rejected)
          run/one:work.2.0.1#6 started: developer on claude
        > run/one work writes a.rs=2
          run/one:work.2.0.1#6 answered, tree README.md=0,a.rs=2
          run/one at verify.2 (next)
          run/one:verify.2.0.1#7 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=2
          run/one: verify approved
          run/one at score.2 (next)
          run/one:score.2.0.1#8 started: validator on codex
        > run/one score says {"overall_score":10,"criteria_scores":[{"criterion":1,"score":10}]}
          run/one:score.2.0.1#8 answered, against it
          run/one scored 10 of 70: too little
          run/one: score rejected: scored 10 of 100 / - criterion 1: 10
          run/one at lead.2 (rejected)
          run/one:lead.2.0.1#9 started: leader on claude
        > run/one lead says {"intervention":"enhance","reason":"it was unclear","description":"Name five of them.","criteria":["names five"]}
          run/one:lead.2.0.1#9 failed: logic → retry_with_feedback: `enhance` changes nothing: the description and the criteria are what the task has now
          run/one:lead.2.0.2 queued
          run/one:lead.2.0.2#10 started: leader on claude
        > run/one lead says {"intervention":"enhance","reason":"it was unclear","description":"Name five of the largest.","criteria":["names five"]}
          run/one:lead.2.0.2#10 answered, against it
          run/one: enhance: it was unclear; "Name five of them." ["names five"] → "Name five of the largest." ["names five"]
          run/one at work.3 (rejected)
          run/one:work.3.0.1#11 started: developer on claude
        > run/one work writes a.rs=3
          run/one:work.3.0.1#11 answered, tree README.md=0,a.rs=3
          run/one at verify.3 (next)
          run/one:verify.3.0.1#12 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=3
          run/one: verify approved
          run/one at score.3 (next)
          run/one:score.3.0.1#13 started: validator on codex
        > run/one score says {"overall_score":10,"criteria_scores":[{"criterion":1,"score":10}]}
          run/one:score.3.0.1#13 answered, against it
          run/one scored 10 of 70: too little
          run/one: score rejected: scored 10 of 100 / - criterion 1: 10
          run/one at lead.3 (rejected)
          run/one:lead.3.0.1#14 started: leader on claude
        > run/one lead says {"intervention":"enhance","reason":"it was unclear","description":"Name six.","criteria":["names five"]}
          run/one:lead.3.0.1#14 failed: logic → retry_with_feedback: `enhance` is not possible any more for this task: it has been used as often as it may be. Choose another intervention
          run/one:lead.3.0.2 queued
          run/one:lead.3.0.2#15 started: leader on claude
    "#]].assert_eq(&transcript);
    let task = &world.run.plan.as_ref().unwrap().tasks[0];
    assert_eq!(task.description, "Name five of the largest.");
    assert_eq!(task.acceptance, ["names five"]);
}

#[test]
fn a_helper_takes_its_turn_and_then_the_first_goes_on() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        ---
        run/one lead says {{"intervention":"escalate","reason":"it lacks words","role":"nobody","request":"x"}}
        run/one lead says {{"intervention":"escalate","reason":"it lacks words","role":"developer","request":"x"}}
        run/one lead says {{"intervention":"escalate","reason":"it lacks words","role":"writer","request":"Write the introduction"}}
        run/one work writes a.rs=intro
        run/one verify fails "no"
        crash
        run/one work writes a.rs=introduction
        run/one verify passes
        {}
        run/one lead says {{"intervention":"escalate","reason":"once more","role":"artist","request":"Draw"}}
        run/one lead says {{"intervention":"continue","reason":"good"}}
        run/one commit goes"#,
        scored("1", r#"{"overall_score":40}"#),
        scored("2", ENOUGH)
    );
    let (world, transcript) = play_out(&led(), &script);
    expect![[r#"
        > run/one lead says {"intervention":"escalate","reason":"it lacks words","role":"nobody","request":"x"}
          run/one:lead.1.0.1#5 failed: logic → retry_with_feedback: there is no role `nobody` (known here: `artist`, `developer`, `writer`)
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#6 started: leader on claude
        > run/one lead says {"intervention":"escalate","reason":"it lacks words","role":"developer","request":"x"}
          run/one:lead.1.0.2#6 failed: logic → retry_with_feedback: `developer` works on this task already; name another role
          run/one:lead.1.0.3 queued
          run/one:lead.1.0.3#7 started: leader on claude
        > run/one lead says {"intervention":"escalate","reason":"it lacks words","role":"writer","request":"Write the introduction"}
          run/one:lead.1.0.3#7 answered, against it
          run/one: escalate: it lacks words; writer helps: Write the introduction
          run/one at work.2 (rejected): it is the turn of `writer`
          run/one:work.2.0.1#8 started: writer on codex
        > run/one work writes a.rs=intro
          run/one:work.2.0.1#8 answered, tree README.md=0,a.rs=intro
          run/one at verify.2 (next)
          run/one:verify.2.0.1#9 started: the checks of `verify`
        > run/one verify fails "no"
          `verify` failed on README.md=0,a.rs=intro
          run/one: verify rejected: the check `unit` failed / no
          run/one at work.3 (rejected)
          run/one:work.3.0.1#10 started: writer on codex
        > crash
          run resumed
          run/one:work.3.0.1#10 lost, 50 spent
          run/one:work.3.0.1#11 started: writer on codex
        > run/one work writes a.rs=introduction
          run/one:work.3.0.1#11 answered, tree README.md=0,a.rs=introduction
          run/one at verify.3 (next)
          run/one:verify.3.0.1#12 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=introduction
          run/one: verify approved
          run/one at work.4 (next): it is the turn of `developer`
          run/one:work.4.0.1#13 started: developer on claude
        > run/one work writes a.rs=2
          run/one:work.4.0.1#13 answered, tree README.md=0,a.rs=2
          run/one at verify.4 (next)
          run/one:verify.4.0.1#14 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=2
          run/one: verify approved
          run/one at score.2 (next)
          run/one:score.2.0.1#15 started: validator on codex
        > run/one score says {"overall_score":80}
          run/one:score.2.0.1#15 answered, for it
          run/one scored 80 of 70: enough
          run/one: score approved
          run/one at lead.2 (next)
          run/one:lead.2.0.1#16 started: leader on claude
        > run/one lead says {"intervention":"escalate","reason":"once more","role":"artist","request":"Draw"}
          run/one:lead.2.0.1#16 failed: logic → retry_with_feedback: `escalate` is not possible any more for this task: it has been used as often as it may be. Choose another intervention
          run/one:lead.2.0.2 queued
          run/one:lead.2.0.2#17 started: leader on claude
        > run/one lead says {"intervention":"continue","reason":"good"}
          run/one:lead.2.0.2#17 answered, for it
          run/one: continue: good
          run/one: lead approved
          run/one at commit.1 (next)
          run/one:commit.1.0.1#18 started: integrate
        > run/one commit goes
          c1 committed: README.md=0,a.rs=2: one: Do one
          run/one leaves out digest
          run/one ended: completed
          run ended: completed
          the run ended: completed
    "#]].assert_eq(&transcript);
    assert!(world.run.is_terminal());
}

#[test]
fn a_helper_is_told_what_it_is_asked_for() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        run/one lead says {{"intervention":"escalate","reason":"it lacks words","role":"writer","request":"Write the introduction"}}"#,
        scored("1", r#"{"overall_score":40}"#),
    );
    let (world, _) = play_out(&led(), &script);
    let id = world.flights.keys().next().unwrap();
    let told = codeteam_core::assignment::build_assignment(&world.run, id).unwrap();
    assert_eq!(told.role.as_str(), "writer");
    let task = told.task.unwrap();
    assert!(
        task.description.starts_with("Write the introduction\n"),
        "{task:?}"
    );
    assert_eq!(told.team.next_roles, ["developer".into()]);
}

#[test]
fn a_helper_may_contribute_words_alone() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        run/one lead says {{"intervention":"escalate","reason":"it lacks words","role":"writer","request":"Look it up"}}
        run/one work says {{"summary":"I looked it up","notes":["it is 42"]}}
        run/one verify passes"#,
        scored("1", r#"{"overall_score":40}"#),
    );
    let (world, _) = play_out(&led(), &script);
    let id = world.flights.keys().next().unwrap();
    let told = codeteam_core::assignment::build_assignment(&world.run, id).unwrap();
    assert_eq!(told.role.as_str(), "developer");
    let others = told.earlier.contributions;
    assert_eq!(others.len(), 1, "{others:?}");
    assert_eq!(
        (others[0].role.as_str(), &*others[0].notes[0]),
        ("writer", "it is 42")
    );
}

#[test]
fn if_no_role_can_help_a_person_is_asked() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        ---
        run/one lead says {{"intervention":"escalate","reason":"nobody here speaks Finnish"}}
        person run/one continue note: leave it in English"#,
        scored("1", r#"{"overall_score":40}"#)
    );
    expect![[r#"
        > run/one lead says {"intervention":"escalate","reason":"nobody here speaks Finnish"}
          run/one:lead.1.0.1#5 answered, against it
          run/one: escalate: nobody here speaks Finnish
          run/one:lead.1.0.1#6 asks: No role can give the help that this task needs: nobody here speaks Finnish. Go on, or give it up? [continue, accept, skip, fail]
        > person run/one continue note: leave it in English
          run/one:lead.1.0.1#6 answered: continue
          run/one at work.2 (answered)
          run/one:work.2.0.1#7 started: developer on claude
    "#]].assert_eq(&play(&led(), &script));
}

#[test]
fn a_terminated_task_fails_with_its_reason_and_a_person_can_overrule_that() {
    let start = RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs < one\nthree: c.rs");
    let script = format!(
        r#"run assemble says {{"assignments":[{{"task":"one","roles":["developer"],"reason":"x"}},{{"task":"two","roles":["developer"],"reason":"x"}},{{"task":"three","roles":["writer"],"reason":"x"}}]}}
        {}
        ---
        run/one lead says {{"intervention":"terminate","reason":"  "}}
        run/one lead says {{"intervention":"terminate","reason":"The source is closed."}}
        retry run/one note: use the archive"#,
        scored("1", r#"{"overall_score":40}"#)
    );
    expect![[r#"
        > run/one lead says {"intervention":"terminate","reason":"  "}
          run/one:lead.1.0.1#6 failed: validation → retry_with_feedback: `reason` must not be empty
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#7 started: leader on claude
        > run/one lead says {"intervention":"terminate","reason":"The source is closed."}
          run/one:lead.1.0.2#7 answered, against it
          run/one: terminate: The source is closed.
          run/one ended: failed: the leader gave it up: The source is closed.
        > retry run/one note: use the archive
          one is pending
          run/one resumed
          run/one at work.2 (resumed)
          run/one:work.2.0.1#8 started: developer on claude
          run/one is told: use the archive
    "#]]
    .assert_eq(&play(&start, &script));
}

#[test]
fn a_goal_that_cannot_be_reached_ends_the_run_and_a_person_can_overrule_that() {
    let start = RunSetup::for_workflow(LED).plan("one: a.rs\nthree: c.rs");
    let script = format!(
        r#"run assemble says {{"assignments":[{{"task":"one","roles":["developer"],"reason":"x"}},{{"task":"three","roles":["writer"],"reason":"x"}}]}}
        {}
        ---
        run/one lead says {{"intervention":"terminate","reason":"The goal contradicts itself.","ends_run":true}}
        retry"#,
        scored("1", r#"{"overall_score":40}"#)
    );
    expect![[r#"
        > run/one lead says {"intervention":"terminate","reason":"The goal contradicts itself.","ends_run":true}
          run/one:lead.1.0.1#6 answered, against it
          run/one: terminate: The goal contradicts itself.; the run ends
          run/one ended: failed: the leader gave it up: The goal contradicts itself.
          run/three ended: cancelled
          run ended: failed: the leader ended the run, as its goal cannot be reached: The goal contradicts itself.
          the run ended: failed: the leader ended the run, as its goal cannot be reached: The goal contradicts itself.
          run/three:work.1.0.1#3 spent 10
        > retry
          run reopened
          one is pending
          three is pending
          run/one resumed
          run/one at work.2 (resumed)
          run/three resumed
          run/three at work.2 (resumed)
          run/one:work.2.0.1#7 started: developer on claude
          run/three:work.2.0.1#8 started: writer on codex
    "#]].assert_eq(&play(&start, &script));
}

#[test]
fn failed_work_is_a_matter_for_the_leader() {
    let script = format!(
        r#"{ASSEMBLED}
        run/one work says {{"blocked":"there is no data"}}
        ---
        run/one lead says {{"intervention":"continue","reason":"fine"}}
        run/one lead says {{"intervention":"retry","reason":"look into data/"}}
        {}
        run/one lead says {{"intervention":"continue","reason":"fine"}}"#,
        scored("1", ENOUGH)
    );
    expect![[r#"
        > run/one lead says {"intervention":"continue","reason":"fine"}
          run/one:lead.1.0.1#3 failed: logic → retry_with_feedback: it cannot continue: `work` failed, so there is no new result: there is no data. Choose another intervention
          run/one:lead.1.0.2 queued
          run/one:lead.1.0.2#4 started: leader on claude
        > run/one lead says {"intervention":"retry","reason":"look into data/"}
          run/one:lead.1.0.2#4 answered, against it
          run/one: retry: look into data/
          run/one at work.2 (rejected)
          run/one:work.2.0.1#5 started: developer on claude
        > run/one work writes a.rs=1
          run/one:work.2.0.1#5 answered, tree README.md=0,a.rs=1
          run/one at verify.1 (next)
          run/one:verify.1.0.1#6 started: the checks of `verify`
        > run/one verify passes
          `verify` passed on README.md=0,a.rs=1
          run/one: verify approved
          run/one at score.1 (next)
          run/one:score.1.0.1#7 started: validator on codex
        > run/one score says {"overall_score":80}
          run/one:score.1.0.1#7 answered, for it
          run/one scored 80 of 70: enough
          run/one: score approved
          run/one at lead.2 (next)
          run/one:lead.2.0.1#8 started: leader on claude
        > run/one lead says {"intervention":"continue","reason":"fine"}
          run/one:lead.2.0.1#8 answered, for it
          run/one: continue: fine
          run/one: lead approved
          run/one at commit.1 (next)
          run/one:commit.1.0.1#9 started: integrate
    "#]].assert_eq(&play(&led(), &script));
}

/// What a rule decides when the leader gives no usable answer.
fn by_rule(before: &str) -> String {
    let silent = r#"run/one lead says {"blocked":"I cannot tell"}"#;
    let (world, _) = play_out(&led(), &format!("{ASSEMBLED}\n{before}\n{silent}"));
    let events = world.log.iter().map(|line| Event::read(1, line).unwrap());
    let mut decided = events.filter_map(|event| match event {
        Event::Intervened {
            intervention,
            reason,
            by_rule: true,
            ..
        } => Some(format!("{}: {reason}", intervention.as_str())),
        _ => None,
    });
    decided.next_back().unwrap_or_default()
}

#[test]
fn without_a_leaders_answer_a_rule_decides_by_score_and_failure() {
    let low = scored("1", r#"{"overall_score":40}"#);
    expect!["continue: it scored 80, and 70 is enough (the leader gave no answer: I cannot tell)"]
        .assert_eq(&by_rule(&scored("1", ENOUGH)));
    expect!["retry: it scored 40, and 70 is needed (the leader gave no answer: I cannot tell)"]
        .assert_eq(&by_rule(&low));
    expect!["escalate: `work` failed: there is no data (the leader gave no answer: I cannot tell)"]
        .assert_eq(&by_rule(
            r#"run/one work says {"blocked":"there is no data"}"#,
        ));
    let retry = r#"run/one lead says {"intervention":"retry","reason":"again"}"#;
    let low = |n: &str| scored(n, r#"{"overall_score":40}"#);
    let spent = format!(
        "{}\n{retry}\n{}\n{retry}\n{}\n{retry}\n{}",
        low("1"),
        low("2"),
        low("3"),
        low("4")
    );
    expect!["escalate: it scored 40, and 70 is needed (the leader gave no answer: I cannot tell)"]
        .assert_eq(&by_rule(&spent));
    let helped = format!(
        r#"{spent}
        run/one lead says {{"intervention":"escalate","reason":"x","role":"writer","request":"y"}}
        run/one work writes a.rs=5
        run/one verify passes
        {}"#,
        low("6")
    );
    expect!["terminate: it scored 40, and 70 is needed (the leader gave no answer: I cannot tell)"]
        .assert_eq(&by_rule(&helped));
}

#[test]
fn missions_of_a_planner_are_tasks() {
    let script = r#"run plan says {"plan":{"missions":[{"mission_id":"mission_1","goal":"Research","success_criteria":["names five"],"dependencies":[],"priority":"HIGH"},{"mission_id":"mission_2","goal":"Write","dependencies":["mission_1"],"priority":"MEDIUM"}]}}"#;
    let (world, _) = play_out(&RunSetup::for_workflow(LED), script);
    let plan = world.run.plan.as_ref().unwrap();
    assert_eq!(plan.tasks[0].title, "Research");
    assert_eq!(plan.tasks[0].acceptance, ["names five"]);
    assert_eq!(plan.tasks[0].priority.as_str(), "high");
    assert_eq!(plan.tasks[1].dependencies, ["mission_1".into()]);
}

/// What the worker under way is told of the tasks that its own depends on.
fn upstream(world: &crate::world::SimulatedWorld) -> codeteam_core::assignment::UpstreamResult {
    let id = world.flights.keys().next().unwrap();
    let told = codeteam_core::assignment::build_assignment(&world.run, id).unwrap();
    assert_eq!(told.task.unwrap().id.as_str(), "two");
    told.earlier.upstream.into_iter().next().unwrap()
}

#[test]
fn what_a_task_brought_forth_is_told_to_those_who_depend_on_it() {
    let mut start = RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs < one");
    for task in &mut start.plan.as_mut().unwrap().tasks {
        task.roles = vec!["writer".into()];
    }
    let script = format!(
        r#"{}
        run/one lead says {{"intervention":"continue","reason":"good"}}
        run/one commit goes"#,
        scored("1", ENOUGH)
    );
    let (world, _) = play_out(&start, &script);
    let told = upstream(&world);
    assert_eq!((told.task.as_str(), told.summary.as_str()), ("one", "done"));
    assert_eq!(told.roles, ["writer".into()]);
    assert_eq!(told.files, ["a.rs"]);
    assert_eq!(told.full_text, None);
}

#[test]
fn a_long_result_is_summarised_and_kept_in_full() {
    let long = "many words ".repeat(60);
    let mut start = RunSetup::for_workflow(LED).plan("one: a.rs\ntwo: b.rs < one");
    for task in &mut start.plan.as_mut().unwrap().tasks {
        task.roles = vec!["writer".into()];
    }
    let script = format!(
        r#"run/one work reports {{"summary":"{long}","notes":["mind the units"]}}
        run/one verify passes
        run/one score says {{"overall_score":80}}
        run/one lead says {{"intervention":"continue","reason":"good"}}
        run/one commit goes
        ---
        run/one digest says {{"message":"A page of figures."}}"#
    );
    let (world, transcript) = play_out(&start, &script);
    expect![[r#"
        > run/one digest says {"message":"A page of figures."}
          run/one:digest.1.0.1#6 answered
          run/one ended: completed
          run/two opened on c1
          run/two at work.1 (start)
          run/two:work.1.0.1#7 started: writer on codex
    "#]]
    .assert_eq(&transcript);
    let told = upstream(&world);
    assert_eq!(told.summary, "A page of figures.");
    assert_eq!(told.notes, ["mind the units"]);
    let full = told.full_text.unwrap();
    assert!(
        full.starts_with("# writer\n\nmany words many words"),
        "{full}"
    );
    assert!(full.contains("- mind the units"), "{full}");
}

#[test]
fn a_person_who_names_another_role_is_followed() {
    let script = format!(
        r#"{ASSEMBLED}
        {}
        run/one lead says {{"intervention":"terminate","reason":"The source is closed."}}"#,
        scored("1", r#"{"overall_score":40}"#)
    );
    let (mut world, _) = play_out(&led(), &script);
    let mut plan = world.run.plan.as_deref().unwrap().clone();
    plan.tasks[0].roles = vec!["artist".into(), "writer".into()];
    world.decide(codeteam_core::input::Decision::Retry {
        frame: None,
        note: String::new(),
        plan: Some(Box::new(plan)),
        checks: std::collections::BTreeMap::new(),
    });
    let effect = format!("{:?}", world.flights.values().next().unwrap());
    assert!(effect.contains("\"artist\""), "{effect}");
}
