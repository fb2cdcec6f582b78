//! A run in a session's hands: one assignment at a time, refusals that cost nothing, a person
//! outside of it, and the way to workers and back.

use codeteam_core::effect::Effect;
use codeteam_core::ids::AttemptId;
use codeteam_core::operator::Operator;
use codeteam_core::session::{
    SessionTurn, check_answer, common_failure, interpret_reply, next_turn,
};
use codeteam_core::verdicts::current_verdicts;
use expect_test::expect;

use crate::fixture::{RunSetup, SESSION};
use crate::scenario::{play, play_out};
use crate::world::SimulatedWorld;

/// As far as the first change.
const DESIGNED: &str = r#"run analyse says {"confirmed_requirements":"reset by mail"}
    run design says {"design":"reuse tokens","patterns":[],"warnings":[]}"#;

fn start() -> RunSetup {
    RunSetup::for_workflow(SESSION)
}

fn designed(more: &str) -> String {
    format!("{DESIGNED}\n---\n{more}")
}

fn at_work(world: &SimulatedWorld) -> AttemptId {
    match next_turn(&world.run) {
        SessionTurn::Work(id) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn from_the_first_question_to_the_commit() {
    let transcript = play(
        &start(),
        r#"start
           run analyse says {"questions":["mail or text?"]}
           reply run mail
           run design says {"design":"reuse tokens","patterns":[],"warnings":[]}
           run code writes a.rs=1
           run test passes
           run judge/0 approves
           run judge/1 approves
           run commit goes"#,
    );
    expect![[r#"
          run started: session
          run at analyse.1 (start)
          run:analyse.1.0.1#1 started: analyst on session
        > run analyse says {"questions":["mail or text?"]}
          run:analyse.1.0.1#1 answered
          run:analyse.1.0.1#2 asks: Some things must be clear before work starts. mail or text? []
        > reply run mail
          run:analyse.1.0.1#2 answered: mail
          run at design.1 (next)
          run:design.1.0.1#3 started: architect on session
        > run design says {"design":"reuse tokens","patterns":[],"warnings":[]}
          run:design.1.0.1#3 answered
          run at code.1 (next)
          run:code.1.0.1#4 started: coder on session
        > run code writes a.rs=1
          run:code.1.0.1#4 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#5 started: the checks of `test`
        > run test passes
          `test` passed on README.md=0,a.rs=1
          run: test approved
          run at judge.1 (next)
          run:judge.1.0.1#6 started: tester on session
          run:judge.1.1.1#7 started: reviewer on session
        > run judge/0 approves
          run:judge.1.0.1#6 answered, for it
        > run judge/1 approves
          run:judge.1.1.1#7 answered, for it
          run: judge approved
          run at commit.1 (next)
          run:commit.1.0.1#8 started: integrate
        > run commit goes
          c1 committed: README.md=0,a.rs=1: Add a password reset; `unit` may fail for nothing; `style` may fail for nothing
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&transcript);
}

#[test]
fn what_is_refused_costs_no_try_and_the_same_change_is_no_dead_end() {
    let script = designed(
        r#"run code says {"summary":"done","files_changed":[],"proof":"none"}
           run code says {"summary":"done","files_changed":[],"proof":"none"}
           run code says {"summary":"done","files_changed":[],"proof":"none"}
           run code says {"summary":"done","files_changed":[],"proof":"none"}
           run code writes a.rs=1
           run test fails "red"
           run code writes a.rs=1
           run code writes a.rs=2"#,
    );
    expect![[r#"
        > run code says {"summary":"done","files_changed":[],"proof":"none"}
          run:code.1.0.1#3 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run:code.1.0.2 queued
          run:code.1.0.2#4 started: coder on session
        > run code says {"summary":"done","files_changed":[],"proof":"none"}
          run:code.1.0.2#4 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run:code.1.0.3 queued
          run:code.1.0.3#5 started: coder on session
        > run code says {"summary":"done","files_changed":[],"proof":"none"}
          run:code.1.0.3#5 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run:code.1.0.4 queued
          run:code.1.0.4#6 started: coder on session
        > run code says {"summary":"done","files_changed":[],"proof":"none"}
          run:code.1.0.4#6 failed: logic → retry_with_feedback: Nothing was changed.
        If nothing needs to change, answer `blocked` and say why.
          run:code.1.0.5 queued
          run:code.1.0.5#7 started: coder on session
        > run code writes a.rs=1
          run:code.1.0.5#7 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#8 started: the checks of `test`
        > run test fails "red"
          `test` failed on README.md=0,a.rs=1
          run: test rejected: the check `unit` failed / red
          run at code.2 (rejected)
          run:code.2.0.1#9 started: coder on session
        > run code writes a.rs=1
          run:code.2.0.1#9 failed: logic → retry_with_feedback: This is the change of round 1 again, which was not accepted. Make another one.
          run:code.2.0.2 queued
          run:code.2.0.2#10 started: coder on session
        > run code writes a.rs=2
          run:code.2.0.2#10 answered, tree README.md=0,a.rs=2
          run at test.2 (next)
          run:test.2.0.1#11 started: the checks of `test`
    "#]].assert_eq(&play(&start(), &script));
}

#[test]
fn honesty_is_not_a_refusal() {
    let script = designed(r#"run code says {"blocked":"no such table"}"#);
    expect![[r#"
        > run code says {"blocked":"no such table"}
          run:code.1.0.1#3 failed: logic → escalate: no such table
          run:code.1.0.1 abstains: no such table
          run:code.1.0.1#4 asks: This does not get anywhere: `code` gave up: no such table. Go on, or give it up? [continue, fail]
    "#]].assert_eq(&play(&start(), &script));
}

#[test]
fn a_person_outside_takes_what_checks_reject() {
    let script = designed(
        r#"run code writes a.rs=1
           run test fails "red"
           accept note: known to be flaky
           accept
           run judge/0 approves
           run judge/1 approves
           run commit goes"#,
    );
    expect![[r#"
        > run code writes a.rs=1
          run:code.1.0.1#3 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#4 started: the checks of `test`
        > run test fails "red"
          `test` failed on README.md=0,a.rs=1
          run: test rejected: the check `unit` failed / red
          run at code.2 (rejected)
          run:code.2.0.1#5 started: coder on session
        > accept note: known to be flaky
          run: ann accepted it over test
          run at judge.1 (answered)
          run:judge.1.0.1#6 started: tester on session
          run:judge.1.1.1#7 started: reviewer on session
        > accept
          refused: nothing is held against a change there
        > run judge/0 approves
          run:judge.1.0.1#6 answered, for it
        > run judge/1 approves
          run:judge.1.1.1#7 answered, for it
          run: judge approved
          run at commit.1 (next)
          run:commit.1.0.1#8 started: integrate
        > run commit goes
          c1 committed: README.md=0,a.rs=1: Add a password reset; `style` may fail for nothing
          run ended: completed
          the run ended: completed
    "#]]
    .assert_eq(&play(&start(), &script));
}

#[test]
fn it_goes_to_workers_with_what_was_made_and_back() {
    let script = designed(
        r#"give workers with a.rs=half
           give workers
           run code writes a.rs=1
           give session
           run test passes
           due
           crash
           due"#,
    );
    expect![[r#"
        > give workers with a.rs=half
          run:code.1.0.1 queued
          ann gave it to workers, with README.md=0,a.rs=half
          run:code.1.0.1#4 started: coder on claude
        > give workers
          refused: the run is in the hands of workers already
        > run code writes a.rs=1
          run:code.1.0.1#4 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#5 started: the checks of `test`
        > give session
          ann gave it to session
        > run test passes
          `test` passed on README.md=0,a.rs=1
          run: test approved
          run at judge.1 (next)
          run:judge.1.0.1#6 started: tester on session
          run:judge.1.1.1#7 started: reviewer on session
        > due
          due: run:judge.1.0.1#6: tester on session
          due: run:judge.1.1.1#7: reviewer on session
        > crash
          run resumed
        > due
          due: run:judge.1.0.1#6: tester on session
          due: run:judge.1.1.1#7: reviewer on session
    "#]]
    .assert_eq(&play(&start(), &script));
}

#[test]
fn a_rejected_change_is_offered_to_the_designer_and_only_so_much_can_be_replied() {
    let script = designed(
        r#"run code writes a.rs=1
           run test fails "red"
           run code writes a.rs=2
           run test fails "red"
           run code writes a.rs=3
           run test fails "red"
           reply run perhaps
           reply run Yes, please"#,
    );
    let (world, transcript) = play_out(&start(), &script);
    expect![[r#"
        > run code writes a.rs=1
          run:code.1.0.1#3 answered, tree README.md=0,a.rs=1
          run at test.1 (next)
          run:test.1.0.1#4 started: the checks of `test`
        > run test fails "red"
          `test` failed on README.md=0,a.rs=1
          run: test rejected: the check `unit` failed / red
          run at code.2 (rejected)
          run:code.2.0.1#5 started: coder on session
        > run code writes a.rs=2
          run:code.2.0.1#5 answered, tree README.md=0,a.rs=2
          run at test.2 (next)
          run:test.2.0.1#6 started: the checks of `test`
        > run test fails "red"
          `test` failed on README.md=0,a.rs=2
          run: test rejected: the check `unit` failed / red
          run at code.3 (rejected)
          run:code.3.0.1#7 started: coder on session
        > run code writes a.rs=3
          run:code.3.0.1#7 answered, tree README.md=0,a.rs=3
          run at test.3 (next)
          run:test.3.0.1#8 started: the checks of `test`
        > run test fails "red"
          `test` failed on README.md=0,a.rs=3
          run: test rejected: the check `unit` failed / red
          run at offer.1 (rebound)
          run:offer.1.0.1#9 asks: The change keeps being rejected. Back to the design? [yes, no]
        > reply run perhaps
          refused: the answer must begin with `yes` or `no`
        > reply run Yes, please
          run:offer.1.0.1#9 answered: yes
          run at design.2 (answered)
          run:design.2.0.1#10 started: architect on session
    "#]]
    .assert_eq(&transcript);
    assert_eq!(at_work(&world).step.as_str(), "design");
}

#[test]
fn codeteams_own_work_comes_first_then_one_assignment_at_a_time() {
    let (world, _) = play_out(&start(), &format!("{DESIGNED}\nrun code writes a.rs=1"));
    let SessionTurn::Wait(own) = next_turn(&world.run) else {
        panic!("checks are under way");
    };
    assert!(matches!(own.as_slice(), [Effect::RunGate { .. }]));
    let script = format!("{DESIGNED}\nrun code writes a.rs=1\nrun test passes");
    let (world, _) = play_out(&start(), &script);
    assert_eq!(at_work(&world).slot, 0);
    let (world, _) = play_out(&start(), &format!("{script}\nrun judge/0 approves"));
    assert_eq!(at_work(&world).slot, 1);
    let (world, _) = play_out(&start(), &format!("{script}\ngive workers"));
    assert_eq!(world.run.operator, Operator::Workers);
    assert_eq!(next_turn(&world.run), SessionTurn::Elsewhere);
    let (world, _) = play_out(&start(), &format!("{script}\nabort"));
    assert_eq!(next_turn(&world.run), SessionTurn::Over);
}

#[test]
fn what_does_not_fit_the_role_is_told_before_anything_happens() {
    let (world, _) = play_out(&start(), DESIGNED);
    let id = at_work(&world);
    let wrong = |text: &str| check_answer(&world.run, &id, text).unwrap_err();
    expect!["unknown field `approved`, expected one of `summary`, `files`, `files_changed`, `proof`, `concerns`, `notes`, `edits`"].assert_eq(&wrong(r#"{"approved":true,"reason":"fine"}"#));
    expect!["at `summary`: invalid type: integer `7`, expected a string"].assert_eq(&wrong(
        r#"{"summary":7,"files_changed":["a",null],"proof":""}"#,
    ));
    expect!["the answer is not valid JSON: expected value at line 1 column 1, near `done!`"]
        .assert_eq(&wrong("done!"));
    let stale = AttemptId { fence: 99, ..id };
    let fine = r#"{"summary":"s","files_changed":[],"proof":"p"}"#;
    assert_eq!(
        check_answer(&world.run, &stale, fine).unwrap_err(),
        "this assignment is over"
    );
}

#[test]
fn no_approval_goes_over_failing_checks() {
    let gate_leads_on =
        SESSION.replace("on_fail: code\n    rebound", "on_fail: judge\n    rebound");
    assert_ne!(gate_leads_on, SESSION);
    let mut start = RunSetup::for_workflow(&gate_leads_on);
    start.hands = Operator::Session;
    let script = format!("{DESIGNED}\nrun code writes a.rs=1\nrun test fails \"red\"");
    let approval = r#"{"approved":true,"reason":"looks fine"}"#;
    let (world, _) = play_out(&start, &script);
    let refused = check_answer(&world.run, &at_work(&world), approval).unwrap_err();
    expect!["it cannot be approved: `unit` failed on exactly this change. Reject it, or let a person accept it outside this session"].assert_eq(&refused);
    // Said all the same, it does not count.
    let transcript = play(&start, &format!("{script}\n---\nrun judge/0 approves"));
    expect![[r#"
        > run judge/0 approves
          run:judge.1.0.1#5 failed: logic → retry_with_feedback: it cannot be approved: `unit` failed on exactly this change. Reject it, or let a person accept it outside this session
          run:judge.1.0.2 queued
          run:judge.1.0.2#7 started: tester on session
    "#]].assert_eq(&transcript);
    let (world, _) = play_out(&start, &format!("{script}\naccept"));
    assert!(check_answer(&world.run, &at_work(&world), approval).is_ok());
}

#[test]
fn what_rejections_have_in_common_is_told() {
    let rejected = |rounds: &[&str]| {
        let mut script = DESIGNED.to_owned();
        for (round, line) in rounds.iter().enumerate() {
            script = format!("{script}\nrun code writes a.rs={round}\n{line}");
        }
        let (world, _) = play_out(&start(), &script);
        common_failure(&world.run.frames[&codeteam_core::ids::FramePath::root()])
    };
    assert_eq!(rejected(&["run test fails \"x\""]), None);
    expect!["2 of the last 2 rejections say: the check `unit` failed"]
        .assert_eq(&rejected(&["run test fails \"x\"", "run test fails \"y\""]).unwrap());
    let no =
        |why: &str| format!("run test passes\nrun judge/0 rejects \"{why}\"\nrun judge/1 approves");
    let (a, b) = (
        no("no integration test"),
        no("an integration run is missing"),
    );
    expect!["`judge` rejected it 2 times, each time about: integration"]
        .assert_eq(&rejected(&[&a, &b]).unwrap());
}

#[test]
fn judges_are_named_in_their_order() {
    let script = format!(
        "{DESIGNED}\nrun code writes a.rs=1\nrun test passes\nrun judge/0 approves\nrun judge/1 approves"
    );
    let (world, _) = play_out(&start(), &script);
    let frame = &world.run.frames[&codeteam_core::ids::FramePath::root()];
    let names: Vec<String> = current_verdicts(&world.run, frame)
        .into_iter()
        .map(|(name, approved)| format!("{name} {approved}"))
        .collect();
    assert_eq!(names, ["tester true", "reviewer true"]);
}

#[test]
fn a_session_may_answer_what_a_person_told_it_and_nothing_else() {
    let script = designed(
        r#"run code writes a.rs=1
           run test fails "red"
           run code writes a.rs=2
           run test fails "red"
           run code writes a.rs=3
           run test fails "red""#,
    );
    let (world, _) = play_out(&start(), &script);
    let mut question = world.questions().remove(0);
    assert_eq!(interpret_reply(&question, " Y ").unwrap(), "yes");
    assert_eq!(interpret_reply(&question, "no, keep trying").unwrap(), "no");
    assert!(interpret_reply(&question, "").is_err());
    for kind in [
        codeteam_core::frame::QuestionKind::Step,
        codeteam_core::frame::QuestionKind::Degraded,
        codeteam_core::frame::QuestionKind::Message,
        codeteam_core::frame::QuestionKind::Interrupted,
    ] {
        question.kind = kind;
        let why = interpret_reply(&question, "yes").unwrap_err();
        assert_eq!(
            why,
            "only a person can decide this, and not in this session"
        );
    }
    question.kind = codeteam_core::frame::QuestionKind::Exhausted;
    assert_eq!(interpret_reply(&question, "continue").unwrap(), "continue");
    assert!(interpret_reply(&question, "skip").is_err());
}
