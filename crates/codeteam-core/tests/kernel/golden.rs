//! Logs that were written once and must stay readable.
//!
//! `tests/golden/v<version>-<name>.jsonl` holds one event per line, and `.end` beside it how the
//! run it tells of stood at its end: in a few lines for people, and below them every value of the
//! state that is not empty. A log is never rewritten: to add one, add a line to [`LOGS`] and run
//! this test; it writes the missing file and says so. The logs that are not listed there were
//! recorded from scenarios, each for the kinds of events that it has; a new kind of event needs a
//! log, and [`every_kind_of_event_is_in_a_log`] says so.
//!
//! The `.end` files are rewritten with `UPDATE_EXPECT=1` when the form of [`Run`] changes. Their
//! difference then shows what old logs mean now: new names may come and old ones may go, but what
//! happened must still be there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use codeteam_core::{Event, Run, apply, due};
use expect_test::expect_file;
use serde_json::Value;

use crate::fixture::{EACH_TASK, HALTING, LOCKED, PHASES, RunSetup, SEQUENCE};
use crate::scenario::play_out;
use crate::transcript::describe_effect;

/// A name, the workflow, the plan and the script of each log.
const LOGS: [(&str, &str, &str, &str); 7] = [
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
    (
        "v1-observed",
        EACH_TASK,
        "one: a.rs",
        r#"run/one code sees 1285
           run/one code asks api.example
           run/one code writes a.rs=1
           run/one test asks registry.example
           run/one test passes"#,
    ),
    (
        "v1-locked",
        LOCKED,
        "",
        r#"run plan says {"plan":{"phases":[{"id":"backend","sequence":1}],"tasks":[]}}
           run/backend design says {"design":"x","components":[{"id":"model","files":["m.py"]}],"interfaces":[{"name":"User","type":"python","definition":"v1"}]}
           person run/backend yes
           run/backend lock writes
           run/backend check passes
           run/backend keep goes
           run/backend/model make writes m.py=1
           run/backend/model test passes
           run/backend/model commit goes"#,
    ),
    (
        "v1-interface-change",
        LOCKED,
        "",
        r#"run plan says {"plan":{"phases":[{"id":"backend","sequence":1}],"tasks":[]}}
           run/backend design says {"design":"x","components":[{"id":"model","files":["m.py"]},{"id":"api","files":["a.py"]}],"interfaces":[{"name":"User","type":"python","definition":"v1"}]}
           person run/backend yes
           run/backend lock writes
           run/backend check passes
           run/backend keep goes
           run/backend/api make says {"interface_change":{"interface":"User","definition":"v2","reason":"a name is missing"}}
           run/backend/api weigh approves
           person run/backend/api yes
           run/backend/api rewrite writes
           run/backend/api recheck passes
           run/backend/api store goes
           run/backend/model make writes m.py=1"#,
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
        let mut start = RunSetup::for_workflow(workflow);
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

/// All logs: their names and their events.
#[expect(clippy::disallowed_methods, reason = "tests may read fixtures")]
fn golden_logs() -> Vec<(PathBuf, Vec<Event>)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    files.sort();
    let read = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let version = name.trim_start_matches('v').split('-').next().unwrap();
        let version: u32 = version.parse().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let events = text.lines().map(|line| {
            Event::read(version, line).unwrap_or_else(|e| panic!("{name}: {e}: {line}"))
        });
        let events = events.collect();
        (file, events)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn old_logs_stay_readable() {
    let logs = golden_logs();
    assert!(logs.len() >= LOGS.len());
    for (file, events) in logs {
        let end = ending(&Run::replay(&events));
        expect_file![file.with_extension("end")].assert_eq(&end);
    }
}

#[test]
fn every_kind_of_event_is_in_a_log() {
    // What an event is read as, if its kind is not known, names all kinds.
    let error = Event::read(1, r#"{"type":"none"}"#).unwrap_err();
    let error = std::error::Error::source(&error).unwrap().to_string();
    let (_, kinds) = error.split_once("expected one of ").unwrap();
    let kinds: BTreeSet<&str> = kinds.split('`').skip(1).step_by(2).collect();
    assert!(kinds.len() > 60, "{error}");
    let logs = golden_logs();
    let events = logs.iter().flat_map(|(_, events)| events);
    let seen: BTreeSet<&str> = events.map(Event::kind).collect();
    let missing: Vec<&&str> = kinds.difference(&seen).collect();
    assert!(missing.is_empty(), "no golden log has {missing:?}");
}

#[test]
fn the_state_of_a_run_survives_its_serialised_form() {
    for (file, events) in golden_logs() {
        let mut run = Run::default();
        for event in events {
            apply(&mut run, &event);
            let text = serde_json::to_string(&run).unwrap();
            let back: Run = serde_json::from_str(&text).unwrap();
            assert!(back == run, "{}, event {}", file.display(), run.seq);
        }
    }
}

/// How a run stands: in short, and then everything that its state says.
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
    lines.extend(
        due(run)
            .iter()
            .map(|e| describe_effect(e).trim().to_owned()),
    );
    lines.push(String::new());
    let mut state = serde_json::to_value(run).unwrap();
    // The workflow and the roles are those of the log's first event.
    for pinned in ["workflow", "roles"] {
        state.as_object_mut().unwrap().remove(pinned);
    }
    add_values("", &state, &mut lines);
    lines.join("\n") + "\n"
}

/// One line for each value that is not empty, with where it stands.
fn add_values(place: &str, value: &Value, lines: &mut Vec<String>) {
    let below = |name: &str| match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    };
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Number(number) if number.as_u64() == Some(0) => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                add_values(&below(&at.to_string()), value, lines);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                add_values(&below(name), value, lines);
            }
        }
        value => lines.push(format!("{place}: {value}")),
    }
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
