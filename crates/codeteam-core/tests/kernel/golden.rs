//! Logs that were written once and must stay readable.
//!
//! `tests/golden/v<version>-<name>.jsonl` holds one event per line, and `.end` beside it how the
//! run it tells of stood at its end. A log is never rewritten: to add one, add a line to [`LOGS`]
//! and run this test; it writes the missing file and says so. The `.end` files are rewritten with
//! `UPDATE_EXPECT=1` when the form of [`Run`] changes; then only their `digest` may change.

use std::path::PathBuf;

use codeteam_core::{Event, Run, due};
use expect_test::expect_file;

use crate::fixture::{EACH_TASK, HALTING, PHASES, RunSetup, SEQUENCE};
use crate::scenario::play_out;
use crate::transcript::tell_due;

/// A name, the workflow, the plan and the script of each log.
const LOGS: [(&str, &str, &str, &str); 4] = [
    (
        "v1-tasks",
        EACH_TASK,
        "one: a.rs\ntwo: b.rs\nthree: c.rs < one",
        r#"run/one code writes a.rs=1
           run/two code fails quota 60s
           limited gemini 5s
           crash
           +60s
           run/one test fails "no"
           run/one code writes a.rs=2
           run/one test passes
           run/one review says {"verdict":"reject","reason":"no","findings":[{"title":"No test"}]}
           run/one code writes a.rs=3
           run/one test passes
           run/one review says {"verdict":"approve","reason":"ok","resolved":[{"id":"F1","state":"fixed"}]}
           run/two code writes b.rs=1
           run/two test passes
           run/two review approves
           run/one describe fails timeout
           run/two describe goes
           run/two commit goes
           +5s
           run/one describe goes
           run/one commit goes
           run/one commit passes
           run/one commit goes
           plan one: a.rs; two: b.rs; three: d.rs < one
           run/three code says {"blocked":"no access"}
           person run/three stale continue
           person run/three fail
           retry run/three note: ask ann
           run/three code writes d.rs=1
           run/three test passes
           push d.rs=2
           run/three review approves
           run/three describe goes
           run/three commit goes
           run/three commit goes
           skip three"#,
    ),
    (
        "v1-sequence",
        SEQUENCE,
        "",
        r#"run analyse says {"questions":["Which?"],"context":"Two ways."}
           person run the first
           run analyse goes
           run design goes
           run code writes a.rs=1
           run review rejects "one"
           run code writes a.rs=2
           run review rejects "two"
           run code writes a.rs=3
           run review rejects "three"
           person run yes note: think again
           run design goes
           run code writes a.rs=1"#,
    ),
    (
        "v1-halting",
        HALTING,
        "one: a.rs\ntwo: b.rs\nthree: c.rs < one",
        r#"run/one make fails odd
           retry
           run/one make writes a.rs=1
           abort"#,
    ),
    (
        "v1-phases",
        PHASES,
        "one@first: a.rs\ntwo@second: b.rs",
        r#"raise 900000
           run/first design says {"blocked":"too large"}
           run/first design goes
           run/first/one make writes a.rs=1
           run/first/one test passes
           run/first/one review approves
           run/first/one review/1 rejects "no"
           run/first/one review/2 approves
           run/first/one commit goes
           person run/first accept
           run/second design goes
           skip two
           run verify passes
           person run publish
           crash
           person run done"#,
    ),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Writes the logs that are not there yet.
#[test]
#[expect(clippy::disallowed_methods, reason = "tests may write fixtures")]
fn every_log_is_there() {
    for (name, workflow, plan, script) in LOGS {
        let file = folder().join(format!("{name}.jsonl"));
        if file.exists() {
            continue;
        }
        let mut start = RunSetup::of(workflow);
        if !plan.is_empty() {
            start = start.plan(plan);
        }
        let (world, _) = play_out(&start, script);
        std::fs::write(&file, world.log.join("\n") + "\n").unwrap();
        panic!(
            "{} was missing and is written now: commit it",
            file.display()
        );
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests may read fixtures")]
fn old_logs_stay_readable() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    files.sort();
    assert!(files.len() >= LOGS.len());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let version = name.trim_start_matches('v').split('-').next().unwrap();
        let version: u32 = version.parse().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let events: Vec<Event> = text
            .lines()
            .map(|line| {
                Event::read(version, line).unwrap_or_else(|e| panic!("{name}: {e}: {line}"))
            })
            .collect();
        let end = ending(&Run::replay(&events));
        expect_file![file.with_extension("end")].assert_eq(&end);
    }
}

/// How a run stands, for people, and its digest, for everything else.
fn ending(run: &Run) -> String {
    let mut lines = vec![
        format!("events: {}", run.seq),
        format!("outcome: {:?}", run.outcome),
        format!("tip: {} {}", run.tip.commit, run.tip.tree),
        format!(
            "spent: {} in {} tries",
            run.budget.money_microusd, run.budget.attempts
        ),
    ];
    for (task, record) in &run.tasks {
        let commits: Vec<&str> = record
            .commits
            .iter()
            .map(codeteam_core::ids::Commit::as_str)
            .collect();
        let (status, rounds) = (record.status.as_str(), record.rounds);
        lines.push(format!("{task}: {status}, {rounds} rounds, {commits:?}"));
    }
    lines.extend(due(run).iter().map(|e| tell_due(e).trim().to_owned()));
    lines.push(format!("digest: {:016x}", run.digest()));
    lines.join("\n") + "\n"
}

#[test]
fn a_newer_event_is_refused_by_name() {
    let error = Event::read(2, "{}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the event has version 2, which a newer codeteam wrote"
    );
    assert!(Event::read(1, r#"{"type":"run_flown"}"#).is_err());
}
