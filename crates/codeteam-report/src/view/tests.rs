//! Views of runs that were recorded by every version so far.

use std::collections::BTreeMap;

use codeteam_core::{Event, Run};
use expect_test::expect;

use super::*;

const LOGS: [&str; 4] = [
    include_str!("../../../codeteam-core/tests/golden/v1-halting.jsonl"),
    include_str!("../../../codeteam-core/tests/golden/v1-phases.jsonl"),
    include_str!("../../../codeteam-core/tests/golden/v1-sequence.jsonl"),
    include_str!("../../../codeteam-core/tests/golden/v1-tasks.jsonl"),
];

/// The keys that `--json` has always had, in their order.
const FIRST_KEYS: [&str; 22] = [
    "run",
    "goal",
    "status",
    "state",
    "team_state",
    "headline",
    "workflow",
    "branch",
    "base",
    "tip",
    "tree",
    "delivered",
    "still_failing",
    "tasks",
    "frames",
    "questions",
    "waiting_on",
    "cost",
    "confinement",
    "edited_config",
    "trusted",
    "events",
];

fn events(log: &str) -> Vec<Event> {
    let lines = log.lines();
    lines.map(|line| Event::read(1, line).unwrap()).collect()
}

/// Every state that a run went through.
fn states(log: &str) -> Vec<Run> {
    let mut run = Run::default();
    let mut states = Vec::new();
    for event in events(log) {
        codeteam_core::apply(&mut run, &event);
        states.push(run.clone());
    }
    states
}

fn commands(view: &RunView) -> String {
    let lines = view.next_steps.iter().map(|step| {
        let note = match step.note.as_str() {
            "" => String::new(),
            note => format!("  ({note})"),
        };
        format!("{}: {}{note}\n", step.label, step.command)
    });
    lines.collect()
}

#[test]
fn the_keys_of_json_stay_where_they_are() {
    for log in LOGS {
        for run in states(log) {
            let value = serde_json::to_value(RunView::new(&run)).unwrap();
            let value = value.as_object().unwrap();
            let keys: Vec<&str> = value.keys().map(String::as_str).collect();
            assert_eq!(keys[..FIRST_KEYS.len()], FIRST_KEYS);
            assert_eq!(value["version"], VIEW_VERSION);
            for task in value["tasks"].as_array().unwrap() {
                let keys: Vec<&String> = task.as_object().unwrap().keys().take(6).collect();
                assert_eq!(keys, ["id", "title", "status", "rounds", "commits", "why"]);
            }
            for frame in value["frames"].as_array().unwrap() {
                let keys: Vec<&String> = frame.as_object().unwrap().keys().take(4).collect();
                assert_eq!(keys, ["frame", "step", "state", "round"]);
            }
        }
    }
}

#[test]
fn a_view_says_what_the_run_says() {
    for log in LOGS {
        for run in states(log) {
            let view = RunView::new(&run);
            let ended = view.frames.iter().filter(|frame| frame.ended.is_some());
            assert_eq!(ended.count(), 0);
            assert_eq!(view.questions.len(), open_questions(&run).count());
            for task in &view.tasks {
                assert_eq!(task.status, run.task_status(&task.id));
            }
            let counts = TaskCounts::of_run(&view);
            let all = counts.pending + counts.running + counts.completed;
            let all = all + counts.failed + counts.blocked + counts.skipped;
            assert_eq!(all, view.tasks.len());
        }
    }
}

/// Whoever is asked is shown every answer as a command, and every answer says what it does.
#[test]
fn every_answer_is_a_step() {
    let mut seen = 0;
    for log in LOGS {
        for run in states(log) {
            let view = RunView::new(&run);
            for asked in &view.questions {
                let answers = asked.question.answers.len();
                let steps = view.steps_for_question(&asked.question.id).count();
                assert_eq!(steps, answers.max(1));
                assert_eq!(asked.choices.len(), answers);
                assert!(asked.choices.iter().all(|choice| !choice.about.is_empty()));
                seen += 1;
            }
        }
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn what_can_be_done_depends_on_who_drives() {
    let states = states(LOGS[1]);
    let asked = states.iter().find(|run| open_questions(run).count() > 0);
    let view = RunView::new(asked.unwrap());
    expect![[r"
        answer: codeteam answer 20250108-reset accept
        answer: codeteam answer 20250108-reset fail
        go on: codeteam resume 20250108-reset
        abort: codeteam abort 20250108-reset
    "]]
    .assert_eq(&commands(&view.clone().with_driver(false)));
    let driven = view.with_driver(true);
    assert!(!commands(&driven).contains("resume"));
    assert!(commands(&driven).contains("follow: codeteam log --follow 20250108-reset"));
}

#[test]
fn a_run_that_is_done_can_be_merged() {
    let states = states(LOGS[1]);
    let view = RunView::new(states.last().unwrap());
    assert!(view.is_ended() && view.has_commits());
    let steps = commands(&view);
    assert!(
        steps.ends_with("merge: codeteam merge 20250108-reset\n"),
        "{steps}"
    );
    let merge = view.next_steps.last().unwrap();
    assert_eq!(merge.action, NextAction::Merge);
    let called = merge.command_with("cargo run --", "git -C ..");
    assert_eq!(called, "cargo run -- merge 20250108-reset");
}

#[test]
fn a_limit_is_raised_by_its_flag() {
    let states = states(LOGS[3]);
    let mut run = states[10].clone();
    run.reached_limit = Some(codeteam_core::budget::LimitKind::Tokens);
    run.budget.tokens = 900;
    let view = RunView::new(&run);
    let flag = view.raise_limit_flag(codeteam_core::budget::LimitKind::Tokens);
    assert_eq!(flag, " --max-tokens N (900 used)");
    assert_eq!(view.cost.words.tokens, "900 tokens");
    let outage = view.raise_limit_flag(codeteam_core::budget::LimitKind::Outage);
    assert_eq!(outage, " (once its API answers again)");
}

#[test]
fn a_snapshot_reads_as_its_view() {
    let states = states(LOGS[3]);
    let run = states.last().unwrap();
    let snapshot = LoadedRun::new(run.clone());
    assert_eq!(snapshot.id, run.id);
    assert_eq!(snapshot.seq(), snapshot.events);
    let paths = run.frames.keys().chain(run.failed_frames.keys());
    for path in paths {
        assert_eq!(snapshot.frame(path).unwrap().path, *path);
        assert!(snapshot.as_frame(path).is_some());
    }
}

/// Whoever keeps a copy gets the same, however often they ask for what has changed.
#[test]
fn attempts_are_told_of_as_they_change() {
    for log in LOGS {
        let mut asked_often = AttemptTimeline::default();
        let mut asked_once = AttemptTimeline::default();
        let mut copy = BTreeMap::new();
        for (seq, event) in (1..).zip(events(log)) {
            let at = EpochMillis(seq);
            asked_often.record_event(at, &event);
            asked_once.record_event(at, &event);
            let changed = asked_often.take_changed().into_iter();
            copy.extend(changed.map(|attempt| (attempt.id.fence, attempt)));
        }
        let whole = asked_once.take_changed();
        assert!(whole.len() > 2);
        assert_eq!(copy.into_values().collect::<Vec<_>>(), whole);
        assert!(asked_once.take_changed().is_empty());
        let run = states(log).pop().unwrap();
        for attempt in &whole {
            let has_ended = attempt.ended_at.is_some();
            assert_eq!(has_ended, !attempt.is_running(), "{attempt:?}");
            assert!(has_ended || !run.is_terminal(), "{attempt:?}");
        }
    }
}

#[test]
fn reading_the_risk_is_over_once_it_was_read() {
    let started = events(LOGS[0]).into_iter().find_map(|event| match &event {
        Event::AttemptStarted { id, .. } => Some((id.clone(), event)),
        _ => None,
    });
    let (id, started) = started.unwrap();
    let mut timeline = AttemptTimeline::default();
    timeline.record_event(EpochMillis(1), &started);
    assert!(timeline.take_changed()[0].is_running());
    let read = Event::RiskAssessed {
        id,
        tree: "made".into(),
        facts: Box::default(),
    };
    timeline.record_event(EpochMillis(2), &read);
    assert!(!timeline.take_changed()[0].is_running());
}
