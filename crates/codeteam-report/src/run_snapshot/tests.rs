//! Snapshots of the runs whose logs codeteam-core keeps readable.

use std::path::PathBuf;

use codeteam_host::store::{AppendRequest, NewEvent, ProcessIdentity, RunUpdate};

use super::*;
use crate::report::{build_report, ended_frame, restore_frame};

/// A log in a folder of its own, and the token under which it is written.
struct LogFixture {
    folder: tempfile::TempDir,
    store: Store,
    token: u64,
    id: RunId,
}

impl LogFixture {
    fn new(id: &RunId) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("state.db")).unwrap();
        let owner = ProcessIdentity::this_process("test");
        let lease = store.take_lease(id.as_str(), &owner, 0, i64::MAX).unwrap();
        Self {
            folder,
            store,
            token: lease.token,
            id: id.clone(),
        }
    }

    fn append(&self, after: usize, lines: &[String]) {
        let event = |line: &String| NewEvent {
            kind: "event".to_owned(),
            version: 1,
            data: line.clone(),
        };
        let append = AppendRequest {
            run: self.id.0.clone(),
            expected_seq: after as u64,
            token: self.token,
            at: 0,
            events: lines.iter().map(event).collect(),
            consumed: Vec::new(),
            row: Some(RunUpdate {
                goal: String::new(),
                created_at: 0,
                status: "running".to_owned(),
                headline: String::new(),
            }),
        };
        self.store.append(append).unwrap();
    }

    fn snapshots(&self) -> RunSnapshots {
        RunSnapshots::in_folder(self.folder.path().join("snapshots"))
    }
}

/// The lines and the events of every log that must stay readable.
fn logs() -> Vec<(Vec<String>, Vec<Event>)> {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../codeteam-core/tests/golden");
    let files = fs::read_dir(golden).unwrap().map(|f| f.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "jsonl"));
    let mut logs = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let events = lines.iter().map(|l| Event::read(1, l).unwrap()).collect();
        logs.push((lines, events));
    }
    assert!(logs.len() >= 4);
    logs
}

#[test]
fn a_snapshot_and_the_events_after_it_give_what_the_log_gives() {
    for (lines, events) in logs() {
        let id = Run::replay(&events).id;
        let log = LogFixture::new(&id);
        let live = log.snapshots();
        let mut expected = Run::default();
        for (before, event) in events.iter().enumerate() {
            log.append(before, &lines[before..=before]);
            apply(&mut expected, event);
            let found = live.load(&log.store, &id).unwrap();
            assert!(*found.run == expected, "event {}", before + 1);
            // What is written after this event is read before the next one.
            live.write(&found).unwrap();
            let read = log.snapshots().read(&id).unwrap();
            assert!(*read.run == expected, "event {}", before + 1);
            assert_eq!(read.index, found.index);
            let again = log.snapshots().load(&log.store, &id).unwrap();
            assert!(*again.run == expected && again.index == found.index);
        }
        let whole = RunSnapshot::replay(&log.store, &id).unwrap();
        let found = live.load(&log.store, &id).unwrap();
        assert_eq!(whole.index, found.index);
    }
}

#[test]
fn a_snapshot_in_doubt_is_made_again_from_the_log() {
    let (lines, events) = logs().swap_remove(0);
    let expected = Run::replay(&events);
    let log = LogFixture::new(&expected.id);
    let half = lines.len() / 2;
    log.append(0, &lines[..half]);
    let snapshots = log.snapshots();
    snapshots
        .write(&snapshots.load(&log.store, &expected.id).unwrap())
        .unwrap();
    log.append(half, &lines[half..]);
    let path = snapshots.path(&expected.id);
    let whole = fs::read(&path).unwrap();
    assert!(snapshots.read(&expected.id).is_some());

    let text = String::from_utf8(whole.clone()).unwrap();
    let other_build = text.replacen(this_program(), "0.0.0 1 2", 1);
    let other_form = text.replacen("{\"format\":1", "{\"format\":0", 1);
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let torn = whole[..whole.len() - 100].to_vec();
    for doubtful in [
        other_build.into_bytes(),
        other_form.into_bytes(),
        flipped,
        torn,
        Vec::new(),
    ] {
        assert_ne!(doubtful, whole);
        fs::write(&path, doubtful).unwrap();
        assert!(log.snapshots().read(&expected.id).is_none());
        let found = log.snapshots().load(&log.store, &expected.id).unwrap();
        assert!(*found.run == expected);
    }

    // The same run of another log: sound, and not of these events.
    let other = LogFixture::new(&expected.id);
    let mut changed = lines.clone();
    changed[half - 1] = r#"{"type":"outages_cleared"}"#.to_owned();
    other.append(0, &changed);
    fs::write(&path, whole).unwrap();
    let events: Vec<Event> = changed.iter().map(|l| Event::read(1, l).unwrap()).collect();
    let found = log.snapshots().load(&other.store, &expected.id).unwrap();
    assert!(*found.run == Run::replay(&events));
}

#[test]
fn a_run_that_is_not_in_the_log_has_no_snapshot() {
    let log = LogFixture::new(&"none".into());
    let error = log.snapshots().load(&log.store, &log.id).err().unwrap();
    assert!(matches!(error, RecordsError::NoSuchRun(_)), "{error}");
}

#[test]
fn the_report_of_an_ended_frame_is_restored_from_its_part_of_the_log() {
    let mut restored = 0;
    for (lines, events) in logs() {
        let run = Run::replay(&events);
        let log = LogFixture::new(&run.id);
        log.append(0, &lines);
        let snapshot = log.snapshots().load(&log.store, &run.id).unwrap();
        let mut state = Run::default();
        let mut ends = BTreeMap::new();
        for event in &events {
            if let Event::FrameEnded { frame, .. } = event
                && let Some(found) = state.frames.get(frame)
            {
                ends.insert(frame.clone(), ended_frame(found, event));
            }
            apply(&mut state, event);
        }
        for (path, trace) in snapshot.traces().filter(|(path, _)| !path.is_root()) {
            let Some(expected) = ends.get(path).filter(|_| !run.frames.contains_key(path)) else {
                continue;
            };
            let found = restore_frame(&log.store, &snapshot, path, trace);
            let found = found.unwrap().unwrap();
            assert_eq!(found.stage, expected.stage, "{path}");
            assert_eq!(found.commits, expected.commits, "{path}");
            assert_eq!(
                build_report(&run, &found),
                build_report(&run, expected),
                "{path}"
            );
            restored += 1;
        }
    }
    assert!(restored >= 3, "{restored}");
}
