//! The two views others have of a run: every state they name is reached.

use std::collections::BTreeSet;

use codeteam_core::frame::{Frame, FrameItem, Tip};
use codeteam_core::ids::FramePath;
use codeteam_core::views::{TaskState, TeamState, frame_team_state, task_state, team_state};
use codeteam_core::{Event, Run, apply};
use expect_test::expect;

use crate::fixture::{EACH_TASK, RunSetup, SEQUENCE};
use crate::scenario::play_out;

/// Replays a script's log and shows what a view makes of it whenever that changes.
fn watch(start: &RunSetup, script: &str, view: impl Fn(&Run) -> String) -> String {
    let (world, _) = play_out(start, script);
    let mut run = Run::default();
    let mut seen = vec![view(&run)];
    for line in &world.log {
        apply(&mut run, &Event::read(1, line).unwrap());
        let now = view(&run);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    seen.join("\n") + "\n"
}

/// The task's state while there is one, else the run's own.
fn of_the_task(run: &Run) -> String {
    let root = FramePath::root();
    let task = run.frames.get(&root.child("one"));
    let frame = task.or_else(|| run.frames.get(&root));
    let none = Frame::new(root, None, FrameItem::Run, Tip::default());
    frame_team_state(run, frame.unwrap_or(&none))
        .as_str()
        .to_owned()
}

const CAREFUL: &str = r#"
    run plan says {"plan":{"tasks":[{"id":"one","files":["a.rs"]}]}}
    run weigh approves
    person run yes
    run/one prompt goes
    run/one code writes a.rs=1
    run/one test passes
    run/one review approves
    person run/one yes
    run/one describe goes"#;

fn careful() -> RunSetup {
    let mut start = RunSetup::for_workflow(EACH_TASK);
    let settings = &mut start.compiled.workflow.settings;
    settings.insert("careful".to_owned(), true);
    start
}

#[test]
fn a_run_that_has_ended_says_how() {
    let state = |start: &RunSetup, script: &str| {
        let seen = watch(start, script, |run| team_state(run).as_str().to_owned());
        seen.lines().last().unwrap().to_owned()
    };
    let done = format!("{CAREFUL}\nrun/one commit goes");
    assert_eq!(state(&careful(), &done), "PLAN_COMPLETE");
    assert_eq!(state(&careful(), "abort"), "IDLE");
    let blocked = r#"run plan says {"blocked":"no"}"#;
    assert_eq!(state(&careful(), blocked), "HALTED_FOR_ERROR");
}

#[test]
fn the_twelve_states_of_a_careful_run() {
    let script = format!("{CAREFUL}\nrun/one commit goes");
    expect![[r#"
        IDLE
        PLANNING_DRAFTING
        PLANNING_VERIFYING
        PLANNING_AWAITING_REVIEW
        CODING_AWAITING_TASK_SELECTION
        IDLE
        CODING_PROMPTING
        CODING_IN_PROGRESS
        VERIFYING
        AWAITING_VERIFICATION_REVIEW
        COMMITTING
        CODING_AWAITING_TASK_SELECTION
        PLAN_COMPLETE
    "#]]
    .assert_eq(&watch(&careful(), &script, of_the_task));
}

#[test]
fn an_end_that_is_no_good_halts() {
    let script = format!("{CAREFUL}\nabort");
    let states = watch(&careful(), &script, of_the_task);
    assert!(states.ends_with("HALTED_FOR_ERROR\n"), "{states}");
    let asked = watch(
        &RunSetup::for_workflow(EACH_TASK).plan("one: a.rs"),
        r#"run/one code says {"blocked":"no access"}"#,
        of_the_task,
    );
    assert!(asked.ends_with("HALTED_FOR_ERROR\n"), "{asked}");
}

#[test]
fn every_one_of_the_twelve_is_reached() {
    use TeamState as T;
    let all = [
        T::Idle,
        T::PlanningDrafting,
        T::PlanningAwaitingReview,
        T::PlanningVerifying,
        T::CodingAwaitingTaskSelection,
        T::CodingPrompting,
        T::CodingInProgress,
        T::Verifying,
        T::AwaitingVerificationReview,
        T::Committing,
        T::HaltedForError,
        T::PlanComplete,
    ];
    let end = format!("{CAREFUL}\nrun/one commit goes");
    let states = watch(&careful(), &end, of_the_task)
        + &watch(&careful(), &format!("{CAREFUL}\nabort"), of_the_task);
    let seen: BTreeSet<&str> = states.lines().collect();
    assert_eq!(seen, all.iter().map(|t| t.as_str()).collect());
}

fn of_the_run(run: &Run) -> String {
    task_state(run).as_str().to_owned()
}

const ASKED: &str = r#"
    run analyse says {"questions":["Which?"]}
    person run this one
    run analyse goes
    run design goes
    run code writes a.rs=1
    run review rejects "no"
    run code writes a.rs=2
    run review rejects "no"
    run code writes a.rs=3
    run review rejects "no""#;

#[test]
fn the_seven_states_of_a_sequence() {
    let start = RunSetup::for_workflow(SEQUENCE);
    let end = "person run no
               run code writes a.rs=4
               run review approves
               run verify approves
               run commit goes";
    let completed = watch(&start, &format!("{ASKED}\n{end}"), of_the_run);
    expect![[r#"
        not_started
        in_progress
        paused
        in_progress
        rebound_offered
        in_progress
        complete
    "#]]
    .assert_eq(&completed);
    let aborted = watch(&start, &format!("{ASKED}\nabort"), of_the_run);
    assert!(aborted.ends_with("aborted\n"), "{aborted}");
    let blocked = r#"run analyse says {"blocked":"what is this?"}"#;
    let escalated = watch(&start, blocked, of_the_run);
    assert!(escalated.ends_with("escalated\n"), "{escalated}");

    let all = [
        TaskState::NotStarted,
        TaskState::InProgress,
        TaskState::Paused,
        TaskState::ReboundOffered,
        TaskState::Complete,
        TaskState::Escalated,
        TaskState::Aborted,
    ];
    let states = completed + &aborted + &escalated;
    let seen: BTreeSet<&str> = states.lines().collect();
    assert_eq!(seen, all.iter().map(|s| s.as_str()).collect());
}
