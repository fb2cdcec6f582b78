//! The files of a team, from the events of a small run.

use codeteam_core::apply;
use expect_test::expect;
use serde_json::json;

use super::*;

fn event(value: serde_json::Value) -> Event {
    serde_json::from_value(value).unwrap()
}

fn id(frame: &str, step: &str, fence: u64) -> serde_json::Value {
    json!({ "frame": frame, "step": step, "generation": 1, "slot": 0, "attempt": 1, "fence": fence })
}

/// The first events of the golden log, whose workflow is asked for these files.
fn started() -> (Run, TeamFiles, CostLedger) {
    let log = include_str!("../../../../codeteam-core/tests/golden/v1-tasks.jsonl");
    let (mut run, mut team, mut costs) =
        (Run::default(), TeamFiles::default(), CostLedger::default());
    for line in log.lines() {
        let mut event = Event::read(1, line).unwrap();
        if let Event::RunStarted(started) = &mut event {
            started
                .workflow
                .settings
                .insert("team_files".to_owned(), true);
        }
        apply(&mut run, &event);
        team.observe(&run, &event);
        costs.observe(&event);
    }
    team.note_time(EpochMillis(1_794_902_380_158));
    (run, team, costs)
}

#[test]
fn the_state_of_a_finished_run() {
    let (run, team, costs) = started();
    let state = WorkflowStateFile::new(&run, &team, &costs);
    let state = serde_json::to_value(&state).unwrap();
    assert_eq!(state["session_id"], run.id.as_str());
    assert_eq!(state["current_mode"], "team");
    assert_eq!(state["current_role"], json!(null));
    assert_eq!(state["last_updated"], "2026-11-17T07:59:40.158Z");
    let ended = match &run.outcome {
        Some(FrameOutcome::Completed) => "COMPLETED",
        Some(_) => "FAILED",
        None => "IN_PROGRESS",
    };
    assert_eq!(state["workflow_status"], ended);
    let completed = state["completed_roles"].as_array().unwrap();
    assert!(!completed.is_empty(), "{state:#}");
}

#[test]
fn a_role_is_at_work_then_done_and_fails_with_its_task() {
    let (run, _, costs) = started();
    let mut team = TeamFiles::default();
    let mut tell = |event: Event| {
        team.observe(&run, &event);
        let state = WorkflowStateFile::new(&run, &team, &costs);
        let state = serde_json::to_value(&state).unwrap();
        format!(
            "{} | {} | {}",
            state["current_role"], state["completed_roles"], state["failed_roles"]
        )
    };
    let opened = event(json!({
        "type": "frame_opened", "frame": "run/one", "item": { "task": "one" },
        "base": { "commit": "c", "tree": "t" },
    }));
    tell(opened);
    let start = event(json!({
        "type": "attempt_started", "id": id("run/one", "work", 901), "work": { "role": "writer" },
        "worker": "claude", "tree": "t",
    }));
    assert_eq!(tell(start), r#""writer" | [] | []"#);
    let submit = event(json!({
        "type": "submission_received", "id": id("run/one", "work", 901),
        "submission": { "kind": "change", "summary": "Wrote it", "concerns": ["one source only"] },
        "change": ["t2", { "patch": "p", "diff": "d", "files": ["docs/a b.md"], "by": "run/one:work" }],
    }));
    assert_eq!(tell(submit), r#"null | ["writer"] | []"#);
    let failed = event(json!({
        "type": "frame_ended", "frame": "run/one", "outcome": { "failed": "too many rounds" },
    }));
    assert_eq!(tell(failed), r#"null | [] | ["writer"]"#);
    let result = &team.results[&TaskId::from("one")][0];
    let mut text = String::new();
    deliverable::push_result(&mut text, result, Some(3));
    expect![[r"

        **writer** says:

        > Wrote it

        Files:

        - [`docs/a b.md`](../../../docs/a%20b.md)

        Open points:

        - one source only
    "]]
    .assert_eq(&text);
}

#[test]
fn scores_and_interventions_are_reported_in_order() {
    let (run, _, _) = started();
    let mut team = TeamFiles::default();
    let opened = event(json!({
        "type": "frame_opened", "frame": "run/one", "item": { "task": "one" },
        "base": { "commit": "c", "tree": "t" },
    }));
    let score = event(json!({
        "type": "quality_scored", "id": id("run/one", "score", 902), "threshold": 70, "passed": false,
        "score": {
            "overall_score": 64, "issues": ["no\n# words"], "suggestions": ["add words"],
            "criteria_scores": [ { "criterion": 7, "score": 40, "reason": "thin" } ],
        },
    }));
    let led = event(json!({
        "type": "intervened", "id": id("run/one", "lead", 903), "intervention": "enhance",
        "reason": "It was vague", "round": 1,
        "refined": {
            "task": "one", "old_description": "Words", "description": "Words for a child",
            "old_acceptance": [], "acceptance": ["a child reads it"],
        },
    }));
    team.observe(&run, &opened);
    team.observe(&run, &score);
    team.observe(&run, &led);
    team.note_time(EpochMillis(1_794_902_380_158));
    let quality = team.scores.render(&run).unwrap();
    expect![[r"
         | round | score | needed | result |
        | --- | --- | --- | --- | --- |
        | one | 1 | 64 | 70 | not enough |

        ## one, round 1: 64 of 100

        - 40: criterion 7 (thin)

        Issues:

        - no
          \# words

        Suggestions:

        - add words
    "]]
    .assert_eq(quality.split_once("\n\n| task").unwrap().1);
    let led = team.interventions.render(&run).unwrap();
    expect![[r"
        ENHANCE: one

        - Time: 2026-11-17T07:59:40.158Z
        - Decided by: the leader

        > It was vague

        Before:

        > Words

        From now on:

        > Words for a child

        - a child reads it
    "]]
    .assert_eq(led.split_once("\n## ").unwrap().1);
    // Where nobody scores and nobody leads there is no such file.
    assert_eq!(TeamFiles::default().scores.render(&run), None);
    assert_eq!(TeamFiles::default().interventions.render(&run), None);
}
