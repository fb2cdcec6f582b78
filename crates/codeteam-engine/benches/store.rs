//! Measures what the store costs, compared with what the disk under it can do.
//!
//! The floor is bare `SQLite` with the same pragmas, measured in the same run on the same disk. The
//! machine may be noisy, so floor and store take turns in short rounds, and the medians are
//! compared.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints figures, and they need no more precision"
)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use codeteam_host::store::{
    self, AppendRequest, Lease, NewEvent, ProcessIdentity, RunUpdate, Store,
};
use rusqlite::Connection;

const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(400);
const CROWD: usize = 200;

type StoreOutcome<T> = Result<T, Box<dyn Error>>;

fn main() -> StoreOutcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store-bench");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir)?;
    let mut floor = PlainSqlite::open(&dir.join("floor.db"))?;
    let store = Store::open(&dir.join("state.db"))?;
    // Ids of runs begin with their time, so the run under way sorts last.
    let mut alone = vec![RunWriter::start(&store, "newest")?];
    let mut crowd = (0..CROWD)
        .map(|n| RunWriter::start(&store, &format!("crowd-{n}")))
        .collect::<StoreOutcome<Vec<_>>>()?;

    let mut moving = vec![RunWriter::start(&store, "newest-moving")?];
    moving[0].moves = true;

    let (mut floors, mut ours, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    let (mut moved, mut moved_groups) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floors.push(floor.round()?);
        ours.push(round(&store, &mut alone)?);
        moved.push(round(&store, &mut moving)?);
        set_moving(&mut crowd, false);
        groups.push(round(&store, &mut crowd)?);
        set_moving(&mut crowd, true);
        moved_groups.push(round(&store, &mut crowd)?);
    }
    let (floor, ours, group) = (median(floors), median(ours), median(groups));
    report("bare commits/s", floor, None);
    report("appends/s, one thread", ours, Some((ours / floor, 0.8)));
    let name = format!("appends/s, {CROWD} threads");
    report(&name, group, Some((group / ours, 5.0)));
    let (moved, moved_group) = (median(moved), median(moved_groups));
    report("one thread, row changes", moved, Some((moved / floor, 0.8)));
    report(
        "crowd, rows change",
        moved_group,
        Some((moved_group / moved, 5.0)),
    );

    let seconds = load(&store)?;
    report("s to load 100k events", seconds, Some((0.5 / seconds, 1.0)));
    let path = dir.join("state.db");
    let seconds = open(&path)?;
    report("s to open and list", seconds, Some((0.02 / seconds, 1.0)));
    drop(store);
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

/// One row per transaction, one connection, no rules.
struct PlainSqlite {
    conn: Connection,
    seq: u64,
}

impl PlainSqlite {
    fn open(path: &Path) -> StoreOutcome<Self> {
        let conn = Connection::open(path)?;
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE events (run TEXT, seq INTEGER, data TEXT, PRIMARY KEY (run, seq))
             WITHOUT ROWID;",
        )?;
        Ok(Self { conn, seq: 0 })
    }

    fn round(&mut self) -> StoreOutcome<f64> {
        let sql = "INSERT INTO events VALUES ('newest', ?1, ?2)";
        let data = payload();
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed() < ROUND {
            self.seq += 1;
            self.conn.prepare_cached(sql)?.execute((self.seq, &data))?;
            count += 1;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    }
}

/// One run and where it stands.
struct RunWriter {
    lease: Lease,
    seq: u64,
    /// Whether every append changes the run's row, as most do.
    moves: bool,
}

impl RunWriter {
    fn start(store: &Store, run: &str) -> StoreOutcome<Self> {
        let lease = store.take_lease(run, &ProcessIdentity::this_process("bench"), 0, i64::MAX)?;
        let mut writer = Self {
            lease,
            seq: 0,
            moves: false,
        };
        writer.append(store, vec![event()])?;
        Ok(writer)
    }

    fn append(&mut self, store: &Store, events: Vec<NewEvent>) -> Result<(), store::Error> {
        self.seq = store.append(AppendRequest {
            run: self.lease.run.clone(),
            expected_seq: self.seq,
            token: self.lease.token,
            at: 1_700_000_000_000,
            events,
            consumed: Vec::new(),
            row: Some(RunUpdate {
                goal: "measure".into(),
                created_at: 0,
                status: "running".into(),
                headline: format!("{} of 5 tasks", if self.moves { self.seq } else { 2 }),
            }),
        })?;
        Ok(())
    }
}

fn set_moving(writers: &mut [RunWriter], moves: bool) {
    for writer in writers {
        writer.moves = moves;
    }
}

/// Appends per second of all writers together, each on a thread of its own.
fn round(store: &Store, writers: &mut [RunWriter]) -> StoreOutcome<f64> {
    let start = Instant::now();
    let turns = std::thread::scope(|scope| {
        let threads: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                scope.spawn(move || {
                    let mut count = 0;
                    while start.elapsed() < ROUND {
                        writer.append(store, vec![event()])?;
                        count += 1;
                    }
                    Ok::<u32, store::Error>(count)
                })
            })
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.collect::<Result<Vec<_>, _>>()
    });
    let mut total = 0;
    for count in turns.map_err(|_| "a writer panicked")? {
        total += count?;
    }
    Ok(f64::from(total) / start.elapsed().as_secs_f64())
}

/// The median time to read a long run and parse its events.
fn load(store: &Store) -> StoreOutcome<f64> {
    let mut writer = RunWriter::start(store, "long")?;
    for _ in 0..100 {
        writer.append(store, vec![event(); 1000])?;
    }
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let mut parsed = 0_u32;
        store.for_each_event("long", 1, |event| {
            let value: serde_json::Value = serde_json::from_str(&event.data)?;
            parsed += u32::from(value.is_object());
            Ok::<(), Box<dyn Error>>(())
        })?;
        if parsed != 100_000 {
            return Err(format!("{parsed} events were read").into());
        }
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

/// The median time of what a status call asks of the store.
fn open(path: &Path) -> StoreOutcome<f64> {
    let mut times = Vec::new();
    for _ in 0..21 {
        let start = Instant::now();
        let store = Store::open_existing(path)?.ok_or("the database is gone")?;
        store.runs()?;
        drop(store);
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

/// About 300 bytes, shaped like an event.
fn payload() -> String {
    let text = "x".repeat(200);
    format!(
        r#"{{"frame":"run/phase-1/task-002","step":"code","attempt":3,"cost":0.0125,"text":"{text}"}}"#
    )
}

fn event() -> NewEvent {
    NewEvent {
        kind: "WorkerExited".into(),
        version: 1,
        data: payload(),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints one figure; `goal` is a ratio and what it should at least be.
fn report(name: &str, value: f64, goal: Option<(f64, f64)>) {
    let Some((ratio, goal)) = goal else {
        println!("{name:<24} {value:>10.4}");
        return;
    };
    let verdict = if ratio >= goal { "ok" } else { "MISSED" };
    println!("{name:<24} {value:>10.4}  ratio {ratio:>7.2}  goal {goal:>4.1}  {verdict}");
}
