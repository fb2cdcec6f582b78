//! Measures how long it takes from an append to its delivery by a feed in another process, and what
//! a feed costs that hears nothing.
//!
//! `feed_latency watch DB` in one shell and `feed_latency write DB 200` in another; `feed_latency
//! idle DB 60` watches for 60 seconds and prints the processor time it used.

#![expect(clippy::print_stdout, reason = "it says what it measured")]

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use codeteam_host::store::{AppendRequest, NewEvent, ProcessIdentity, RunUpdate, Store};
use codeteam_report::feed::{Feed, FeedItem, FeedScope, FeedStart};

type Failure = Box<dyn std::error::Error>;

/// The events: harmless ones that say nothing.
const EVENT: &str = r#"{"type":"outages_cleared"}"#;
/// The pause between two appends.
const PAUSE: Duration = Duration::from_millis(50);

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|n| n.parse::<u64>().ok());
    match (args.first().map(String::as_str), args.get(1)) {
        (Some("write"), Some(path)) => write(Path::new(path), number(2).unwrap_or(200)),
        (Some("watch"), Some(path)) => watch(Path::new(path), number(2).unwrap_or(200)),
        (Some("idle"), Some(path)) => idle(Path::new(path), number(2).unwrap_or(60)),
        _ => Err("feed_latency write|watch|idle DB [N]".into()),
    }
}

fn nanoseconds() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos())
}

/// Appends events. The row's headline says when the append returned before: what is measured is
/// the whole way, the flush to the disk included.
fn write(path: &Path, count: u64) -> Result<(), Failure> {
    let store = Store::open(path)?;
    let me = ProcessIdentity::this_process("feed_latency");
    let lease = store.take_lease("latency", &me, 1, 60_000)?;
    let mut seq = store.run("latency")?.map_or(0, |row| row.seq);
    for _ in 0..count {
        std::thread::sleep(PAUSE);
        let event = NewEvent {
            kind: "outages_cleared".to_owned(),
            version: 1,
            data: EVENT.to_owned(),
        };
        seq = store.append(AppendRequest {
            run: "latency".to_owned(),
            expected_seq: seq,
            token: lease.token,
            at: 1,
            events: vec![event],
            consumed: Vec::new(),
            row: Some(RunUpdate {
                goal: "latency".to_owned(),
                created_at: 1,
                status: "running".to_owned(),
                headline: nanoseconds().to_string(),
            }),
        })?;
    }
    store.release(&lease)?;
    Ok(())
}

/// Prints how long after the beginning of each append it was delivered.
fn watch(path: &Path, count: u64) -> Result<(), Failure> {
    let store = Store::open(path)?;
    let mut feed = Feed::open(&store, FeedScope::Project, FeedStart::Now)?;
    feed.read_items()?;
    let mut took: Vec<u128> = Vec::new();
    while (took.len() as u64) < count {
        for item in feed.next_items(None)? {
            if let FeedItem::RunListed(run) | FeedItem::RunChanged(run) = item {
                let began: u128 = run.headline.parse()?;
                took.push(nanoseconds().saturating_sub(began) / 1_000);
            }
        }
    }
    took.sort_unstable();
    let at = |percent: usize| took.get((took.len() - 1) * percent / 100).copied();
    println!(
        "{} delivered: median {:?} µs, 95 % {:?} µs, longest {:?} µs",
        took.len(),
        at(50).unwrap_or(0),
        at(95).unwrap_or(0),
        at(100).unwrap_or(0)
    );
    Ok(())
}

/// Waits, and prints the processor time that took.
fn idle(path: &Path, seconds: u64) -> Result<(), Failure> {
    let store = Store::open(path)?;
    let mut feed = Feed::open(&store, FeedScope::Project, FeedStart::Now)?;
    feed.read_items()?;
    let (before, from) = (processor_ticks()?, Instant::now());
    feed.next_items(Some(Duration::from_secs(seconds)))?;
    println!(
        "{} s: {} ticks of the processor (10 ms each)",
        from.elapsed().as_secs(),
        processor_ticks()? - before
    );
    Ok(())
}

/// Returns the time that this process has used, in ticks.
fn processor_ticks() -> Result<u64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: Result<Vec<u64>, _> = ticks.map(str::parse).collect();
    Ok(ticks?.iter().sum())
}
