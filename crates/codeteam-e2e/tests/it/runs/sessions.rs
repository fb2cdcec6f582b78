//! Roles that may continue the session of their last attempt.

use codeteam_e2e::{MessagePart, Play, RecordedRequest, Scenario, Speaker, Turn};
use serde_json::json;

use super::project::Project;
use super::samples::{RIGHT, alone, one, two_rounds, writes};

/// Counts the assignments in a conversation.
fn assignments(request: &RecordedRequest) -> usize {
    let messages = request.asked.as_ref().unwrap().messages.iter();
    let parts = messages
        .filter(|message| message.side == Speaker::User)
        .flat_map(|message| &message.parts);
    let is_one = |part: &&MessagePart| matches!(part, MessagePart::Text(text) if text.contains("Role: coder\n"));
    parts.filter(is_one).count()
}

/// The last assignment of a conversation.
fn last(request: &RecordedRequest) -> String {
    let said = request.user_text();
    said[said.rfind("Role: coder\n").unwrap()..].to_owned()
}

/// An answer that does not fit, as often as codeteam asks, and a good one at the fourth time.
fn wrong_three_times() -> Scenario {
    let wrong = || Turn::submit(json!({"summary": " ", "files": []}));
    let mut scenario = Scenario::new();
    for attempt in 1..=3 {
        scenario = scenario.play(Play::new().attempt(attempt).turn(wrong()));
    }
    scenario.play(writes(Play::new()))
}

#[test]
fn codex_goes_on_in_its_session_three_times_and_then_starts_afresh() {
    let project = Project::new(wrong_three_times());
    let workflow = alone("continues: true", "").replace("max_attempts: 3", "max_attempts: 5");
    project.goal(&workflow, &["--worker", "codex"]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());

    let asked = project.asked();
    let counts: Vec<_> = asked.iter().map(assignments).collect();
    assert_eq!(counts, [1, 2, 3, 1, 1], "the last one asks twice");
    let second = last(&asked.0[1]);
    assert!(
        second.contains("This continues your earlier conversation"),
        "{second}"
    );
    assert!(second.contains("`summary` must not be empty"), "{second}");
    assert!(!second.contains("## Goal"), "{second}");
    assert!(last(&asked.0[3]).contains("## Goal"));

    // It counts from the beginning of a session; each question costs 200 and 30 tokens.
    let tokens = project.shown_run()["cost"]["tokens"].as_u64();
    assert_eq!(tokens, Some(230 * 5));
}

#[test]
fn claude_goes_on_in_its_session_in_the_next_round() {
    let project = Project::new(two_rounds());
    let workflow = one("continues: true", "");
    project.goal(&workflow, &["--worker", "claude"]).expect(0);
    let asked = project.asked();
    let coder = asked.of_role("coder");
    let first = &coder.filtered(|r| r.marks.round == Some(1)).0[0];
    let second = &coder.filtered(|r| r.marks.round == Some(2)).0[0];
    assert_eq!((assignments(first), assignments(second)), (1, 2));
    let told = last(second);
    assert!(told.contains("2 and 3 make -1"), "{told}");
    assert!(!told.contains("## Goal"), "{told}");
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
}

#[test]
fn gemini_goes_on_in_its_session() {
    let wrong = Turn::say("I am done.");
    let scenario = Scenario::new()
        .play(Play::new().attempt(1).turn(wrong))
        .play(writes(Play::new()));
    let project = Project::new(scenario);
    let workflow = alone("continues: true", "");
    project.goal(&workflow, &["--worker", "gemini"]).expect(0);
    let asked = project.asked();
    let counts: Vec<_> = asked.iter().map(assignments).collect();
    assert_eq!(counts[..2], [1, 2]);
    assert!(!last(&asked.0[1]).contains("## Goal"));
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
}
