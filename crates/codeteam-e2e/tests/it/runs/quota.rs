//! Usage limits: the account rests, and no try is used up by it.

use std::io::{BufRead as _, BufReader};

use codeteam_e2e::{Fault, FaultKind, Play, Protocol, Scenario, Turn};

use super::project::Project;
use super::samples::{RIGHT, alone, writes, written};

/// A limit that is reached once, after some work, and resets after this many seconds.
fn limited(resets_in: u64) -> Scenario {
    let fault = Fault::new(FaultKind::UsageLimit)
        .times(1)
        .resets_in(resets_in);
    let play = Play::new()
        .turn(Turn::new().write("add.sh", RIGHT))
        .turn(written().fault(fault));
    Scenario::new().play(play)
}

/// The attempts that started, as worker and number.
fn attempts(project: &Project) -> Vec<(String, u64)> {
    let started = project.events("attempt_started");
    let started = started.iter().filter_map(|event| {
        let worker = event["worker"].as_str()?.to_owned();
        Some((worker, event["id"]["attempt"].as_u64().unwrap()))
    });
    started.collect()
}

#[test]
fn another_worker_goes_on_at_once() {
    let fault = Fault::new(FaultKind::UsageLimit);
    let first = Play::new().protocol(Protocol::Responses);
    let scenario = Scenario::new()
        .play(first.turn(written().fault(fault)))
        .play(writes(Play::new()));
    let project = Project::new(scenario);
    project
        .goal(&alone("workers: [codex, claude]", ""), &[])
        .expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let failures = project.failures();
    assert_eq!(
        (failures[0].0.as_str(), failures[0].1.as_str()),
        ("resource", "park")
    );
    assert_eq!(project.events("account_parked")[0]["account"], "codex");
    let expected = [("codex".to_owned(), 1), ("claude".to_owned(), 1)];
    assert_eq!(attempts(&project), expected, "no try is used up");
}

/// With the token of a login, claude learns when its limit resets.
#[test]
fn the_run_waits_for_the_reset_and_goes_on_by_itself() {
    let mut project = Project::new(limited(3));
    project.unset("ANTHROPIC_API_KEY");
    project.set(
        "CLAUDE_CODE_OAUTH_TOKEN",
        "sk-ant-oat01-the-token-of-the-user",
    );
    let workflow = alone("worker: claude", "").replace("max_attempts: 3", "max_attempts: 1");
    project.goal(&workflow, &[]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let parked = project.events("account_parked");
    assert_eq!(parked[0]["account"], "claude");
    assert_eq!(project.events("account_freed")[0]["account"], "claude");
    let again = ("claude".to_owned(), 1);
    assert_eq!(
        attempts(&project),
        [again.clone(), again],
        "no try is used up"
    );
    // Not before the reset.
    let asked = project.asked();
    let limited = asked
        .iter()
        .find(|r| r.fault == Some(FaultKind::UsageLimit))
        .unwrap();
    let next = asked.iter().find(|r| r.order > limited.order).unwrap();
    assert!(
        next.at_ms - limited.at_ms >= 2_000,
        "{} and {}",
        limited.at_ms,
        next.at_ms
    );
}

#[test]
fn a_run_that_waits_says_what_for_and_until_when() {
    let project = Project::new(limited(7_200));
    let workflow = project.workflow(&alone("worker: codex", ""));
    let mut running = project.start(&["run", "Add a script", "--workflow", &workflow]);
    let mut lines = BufReader::new(running.0.stderr.take().unwrap()).lines();
    let rests = lines.any(|line| line.unwrap().contains("codex rests until "));
    assert!(rests, "it says so");
    let run = project.shown_run();
    let id = run["run"].as_str().unwrap();
    let done = project.run(&["status", id]).expect(0);
    let expected = "waiting on: quota of codex, until ";
    assert!(done.stdout.contains(expected), "{}", done.stdout);
    let waiting = run["waiting_on"][0].as_str().unwrap();
    assert!(waiting.starts_with(expected), "{waiting}");
}
