//! Feeds over real databases. Two stores on one path stand for two processes: they share nothing
//! but the files.

use codeteam_core::ids::TaskId;
use codeteam_host::store::{AppendRequest, Lease, NewEvent, ProcessIdentity, RunUpdate};

use super::*;
use crate::view::RunView;

const RUN: &str = "20250108-reset";
const LOGS: [&str; 4] = [
    include_str!("../../../codeteam-core/tests/golden/v1-halting.jsonl"),
    include_str!("../../../codeteam-core/tests/golden/v1-phases.jsonl"),
    include_str!("../../../codeteam-core/tests/golden/v1-sequence.jsonl"),
    include_str!("../../../codeteam-core/tests/golden/v1-tasks.jsonl"),
];
/// Longer than anything here takes.
const LONG: Option<Duration> = Some(Duration::from_mins(1));

struct LogWriter {
    store: Store,
    lease: Lease,
    seq: u64,
}

impl LogWriter {
    fn start(store: &Store, run: &str) -> Self {
        let me = ProcessIdentity::this_process("test");
        Self {
            lease: store.take_lease(run, &me, 1, 60_000).unwrap(),
            store: store.clone(),
            seq: 0,
        }
    }

    /// Appends these lines of a log, together.
    fn append(&mut self, lines: &[&str]) {
        let kind = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["type"].as_str().unwrap().to_owned()
        };
        let events = lines.iter().map(|line| NewEvent {
            kind: kind(line),
            version: 1,
            data: (*line).to_owned(),
        });
        let append = AppendRequest {
            run: self.lease.run.clone(),
            expected_seq: self.seq,
            token: self.lease.token,
            at: 5,
            events: events.collect(),
            consumed: Vec::new(),
            row: Some(RunUpdate {
                goal: "Add a password reset".to_owned(),
                created_at: 1,
                status: "running".to_owned(),
                headline: format!("{} lines more", lines.len()),
            }),
        };
        self.seq = self.store.append(append).unwrap();
    }
}

fn open() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("state.db")).unwrap();
    (dir, store)
}

fn from_start() -> FeedStart {
    FeedStart::After(FeedCursor::default())
}

/// The items that do not depend on how the log was cut into reads.
fn in_order(items: Vec<FeedItem>) -> Vec<FeedItem> {
    let is_ordered = |item: &FeedItem| {
        !matches!(
            item,
            FeedItem::RunListed(_) | FeedItem::RunChanged(_) | FeedItem::RunEnded(_)
        )
    };
    items.into_iter().filter(is_ordered).collect()
}

#[test]
fn what_is_known_of_tasks_is_what_the_run_says_after_every_event() {
    for log in LOGS {
        let mut followed = FollowedRun::after(0);
        let mut items = Vec::new();
        for (seq, line) in (1..).zip(log.lines()) {
            let event = Event::read(1, line).unwrap();
            followed.record_event(seq, EpochMillis(0), event, &mut items);
            let run = followed.run.as_ref().unwrap();
            assert_eq!(followed.tasks, task_statuses(run), "after {line}");
        }
    }
}

#[test]
fn the_entries_of_a_log_are_those_of_a_feed() {
    for log in LOGS {
        let lines: Vec<&str> = log.lines().collect();
        let (_dir, store) = open();
        LogWriter::start(&store, RUN).append(&lines);
        let mut feed = Feed::open(&store, FeedScope::Project, from_start()).unwrap();
        let items = feed.read_items().unwrap().into_iter();
        let expected: Vec<TimelineEntry> = items
            .filter_map(|item| match item {
                FeedItem::EventAppended(entry) => Some(entry),
                _ => None,
            })
            .collect();
        let mut found = Vec::new();
        each_timeline_entry(&store, &RUN.into(), |entry| found.push(entry)).unwrap();
        assert_eq!(found, expected);
    }
}

#[test]
fn nothing_is_left_out_or_comes_twice_however_the_log_is_cut() {
    for log in LOGS {
        let lines: Vec<&str> = log.lines().collect();
        let (_dir, store) = open();
        let mut writer = LogWriter::start(&store, RUN);
        let mut live = Feed::open(&store, FeedScope::Project, from_start()).unwrap();
        let mut told = Vec::new();
        let mut cursors = vec![(0, live.cursor())];
        for lines in lines.chunks(3) {
            writer.append(lines);
            told.extend(in_order(live.read_items().unwrap()));
            cursors.push((told.len(), live.cursor()));
        }
        let appended = told.iter().filter_map(|item| match item {
            FeedItem::EventAppended(entry) => Some(entry.seq),
            _ => None,
        });
        let numbers: Vec<u64> = appended.collect();
        assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
        // Whoever goes on after any of them is told the rest, and all of it.
        for (known, cursor) in cursors {
            let text = serde_json::to_string(&cursor).unwrap();
            let cursor = FeedStart::After(serde_json::from_str(&text).unwrap());
            let mut later = Feed::open(&store, FeedScope::Project, cursor).unwrap();
            assert_eq!(in_order(later.read_items().unwrap()), told[known..]);
            assert_eq!(later.cursor(), live.cursor());
        }
    }
}

#[test]
fn what_is_told_adds_up_to_the_view() {
    for log in LOGS {
        let lines: Vec<&str> = log.lines().collect();
        let (_dir, store) = open();
        LogWriter::start(&store, RUN).append(&lines);
        let scope = FeedScope::Run(RUN.into());
        let mut feed = Feed::open(&store, scope, from_start()).unwrap();
        let (mut tasks, mut questions) = (BTreeMap::new(), Vec::new());
        for item in feed.read_items().unwrap() {
            match item {
                FeedItem::TaskChanged { task, .. } => {
                    tasks.insert(task.id.clone(), task.status);
                }
                FeedItem::QuestionOpened { question, .. } => questions.push(question.question.id),
                FeedItem::QuestionClosed { question, .. } => questions.retain(|q| *q != question),
                _ => {}
            }
        }
        let view = feed.snapshot(&RUN.into()).unwrap().unwrap();
        let shown: BTreeMap<TaskId, TaskStatus> = view
            .tasks
            .iter()
            .map(|task| (task.id.clone(), task.status))
            .collect();
        assert_eq!(tasks, shown);
        let open: Vec<AttemptId> = view
            .questions
            .iter()
            .map(|q| q.question.id.clone())
            .collect();
        assert_eq!(questions, open);
        assert_eq!(feed.is_ended(&RUN.into()), view.is_ended());
    }
}

#[test]
fn what_is_there_already_is_listed_and_not_told_again() {
    let lines: Vec<&str> = LOGS[1].lines().collect();
    let (_dir, store) = open();
    let mut writer = LogWriter::start(&store, RUN);
    writer.append(&lines[..20]);
    let mut feed = Feed::open(&store, FeedScope::Project, FeedStart::Now).unwrap();
    let listed = feed.read_items().unwrap();
    let [FeedItem::RunListed(item)] = &listed[..] else {
        panic!("{listed:?}");
    };
    assert_eq!((item.run.as_str(), item.events), (RUN, 20));
    assert_eq!(feed.read_items().unwrap(), []);
    let before = feed.snapshot(&RUN.into()).unwrap().unwrap();
    assert_eq!(before.events, 20);

    writer.append(&lines[20..]);
    let mut another = LogWriter::start(&store, "20250109-another");
    another.append(&[&lines[0].replace(RUN, "20250109-another")]);
    let told = feed.read_items().unwrap();
    let first = told.iter().find_map(|item| match item {
        FeedItem::EventAppended(entry) => Some((entry.run.as_str(), entry.seq)),
        _ => None,
    });
    assert_eq!(first, Some((RUN, 21)));
    assert!(
        told.iter()
            .any(|item| matches!(item, FeedItem::RunEnded(item) if item.run == RUN))
    );
    // A run that began after the feed is told from its beginning.
    assert!(
        told.iter()
            .any(|item| matches!(item, FeedItem::RunListed(item) if item.run != RUN))
    );
    assert_eq!(feed.cursor().runs.values().sum::<u64>(), 67);
}

#[test]
fn a_feed_hears_this_process_and_another() {
    let (dir, store) = open();
    let other = Store::open(&dir.path().join("state.db")).unwrap();
    for (by, run) in [(&store, "run-1"), (&other, "run-2")] {
        let mut feed = Feed::open(&store, FeedScope::Project, FeedStart::Now).unwrap();
        feed.read_items().unwrap();
        let by = by.clone();
        std::thread::scope(|threads| {
            threads.spawn(move || LogWriter::start(&by, run).append(&lines_of(LOGS[1])[..2]));
            let mut told = Vec::new();
            while told.len() < 2 {
                let items = feed.next_items(LONG).unwrap();
                assert!(!items.is_empty(), "nothing was heard");
                told.extend(in_order(items));
            }
        });
    }
}

fn lines_of(log: &str) -> Vec<&str> {
    log.lines().collect()
}

#[test]
fn a_feed_that_waits_can_be_interrupted() {
    let (_dir, store) = open();
    let mut feed = Feed::open(&store, FeedScope::Project, FeedStart::Now).unwrap();
    let interrupt = feed.interrupter();
    std::thread::scope(|threads| {
        threads.spawn(move || interrupt.interrupt());
        assert_eq!(feed.next_items(None).unwrap(), []);
    });
    let mut nothing = Feed::open(&store, FeedScope::Project, FeedStart::Now).unwrap();
    let soon = Some(Duration::from_millis(1));
    assert_eq!(nothing.next_items(soon).unwrap(), []);
}

#[test]
fn every_entry_is_serialised_with_its_words() {
    let (_dir, store) = open();
    LogWriter::start(&store, RUN).append(&lines_of(LOGS[1]));
    let mut feed = Feed::open(&store, FeedScope::Run(RUN.into()), from_start()).unwrap();
    let items = feed.read_items().unwrap();
    let lines: Vec<String> = items
        .iter()
        .map(|item| serde_json::to_string(item).unwrap())
        .collect();
    let first = "{\"type\":\"event_appended\",\"run\":\"20250108-reset\",\"seq\":1,\"at\":5,\
                 \"kind\":\"run_started\",\"words\":\"started on branch ";
    assert!(
        lines[0].starts_with("{\"type\":\"run_listed\",\"run\":"),
        "{}",
        lines[0]
    );
    assert!(lines[1].starts_with(first), "{}", lines[1]);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("{\"type\":\"question_opened\""))
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("{\"type\":\"task_changed\""))
    );
    let snapshot = feed.snapshot(&RUN.into()).unwrap().unwrap();
    let view: &RunView = &snapshot;
    assert_eq!(view.events, lines_of(LOGS[1]).len() as u64);
}
