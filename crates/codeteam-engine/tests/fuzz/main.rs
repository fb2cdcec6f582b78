//! Files made to break the loaders: no panic, no hang, bounded memory, and what loads holds.
//!
//! Cases are made of what ships with codeteam and of the seeds' samples. The same seed makes the
//! same cases:
//!
//! ```sh
//! CODETEAM_FUZZ_SECONDS=600 cargo test -p codeteam-engine --test fuzz -- --nocapture
//! CODETEAM_FUZZ_SEED=7 CODETEAM_FUZZ_CASE=1234 cargo test -p codeteam-engine --test fuzz
//! ```
//!
//! The second does one case again. A case that fails is in `target/fuzz`, as is the last one begun,
//! should the process itself have ended.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod corpus;
mod load;
mod mutate;
mod random;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use corpus::FuzzCorpus;
use load::{FuzzLoaders, LoadTally};
use random::RandomSource;

/// The most processor time that one case may take.
const MOST_TIME: Duration = Duration::from_secs(1);
/// A case that takes this long will not end.
const HANGS: Duration = Duration::from_mins(1);
/// The most that one case may add to the memory in use, in KiB. The largest trees that are read
/// take 200,000 nodes, and a few of them are held at once.
const MOST_MEMORY: u64 = 512 << 10;

#[test]
fn no_file_breaks_a_loader() {
    let seed = setting("CODETEAM_FUZZ_SEED").unwrap_or(1);
    let seconds = setting("CODETEAM_FUZZ_SECONDS").unwrap_or(5);
    let one = setting("CODETEAM_FUZZ_CASE");
    let (report, reports) = channel();
    let campaign = std::thread::Builder::new().name("campaign".into());
    let campaign =
        campaign.spawn(move || campaign_of(seed, one, Duration::from_secs(seconds), &report));
    campaign.unwrap();
    loop {
        match reports.recv_timeout(HANGS) {
            Ok(FuzzReport::Alive) => {}
            Ok(FuzzReport::Failed(number, why)) => {
                let kept = folder().join(format!("{seed}-{number}.txt"));
                fs::copy(folder().join("current.txt"), &kept).unwrap();
                panic!(
                    "case {number} of seed {seed}: {why}\nkept in `{}`; again: CODETEAM_FUZZ_SEED={seed} \
                     CODETEAM_FUZZ_CASE={number}",
                    kept.display()
                );
            }
            Ok(FuzzReport::Done(tally)) => {
                println!("seed {seed}, {seconds} s: {tally:?}");
                if tally.cases >= 1_000 {
                    let all = [
                        tally.trees,
                        tally.configs,
                        tally.roles,
                        tally.workflows,
                        tally.plans,
                        tally.submissions,
                    ];
                    assert!(
                        all.iter().all(|count| *count > 0),
                        "too little loads: {tally:?}"
                    );
                }
                return;
            }
            Err(RecvTimeoutError::Timeout) => panic!(
                "a case of seed {seed} has not ended after {HANGS:?}; it is in `{}`",
                folder().join("current.txt").display()
            ),
            Err(RecvTimeoutError::Disconnected) => panic!("the campaign itself has failed"),
        }
    }
}

enum FuzzReport {
    Alive,
    Failed(u64, String),
    Done(LoadTally),
}

fn campaign_of(seed: u64, one: Option<u64>, time: Duration, report: &Sender<FuzzReport>) {
    let corpus = FuzzCorpus::gather();
    let mut loaders = FuzzLoaders::new();
    fs::create_dir_all(folder()).unwrap();
    let began = Instant::now();
    let mut number = one.unwrap_or(0);
    let crowds = mutate::crowds();
    while one.is_some() || began.elapsed() < time {
        let mut random = RandomSource::new(RandomSource::new(seed).next() ^ number);
        let case = if number % 20 == 19 {
            let turn = usize::try_from(number / 20).unwrap_or(0);
            vec![crowds[turn % crowds.len()].clone()]
        } else {
            mutate::case(&corpus, &mut random)
        };
        let joined = case.join("\n### the next file\n");
        fs::write(folder().join("current.txt"), &joined).unwrap();
        match bounded(|| loaders.all(&case)) {
            Ok(took) => {
                let slowest = &mut loaders.tally.slowest;
                *slowest = took.as_millis().max(*slowest);
            }
            Err(why) => {
                let _ = report.send(FuzzReport::Failed(number, why));
                return;
            }
        }
        let _ = report.send(FuzzReport::Alive);
        if one.is_some() {
            break;
        }
        number += 1;
    }
    let _ = report.send(FuzzReport::Done(loaders.tally));
}

/// Does one case, which must not panic, nor take too long or too much memory.
fn bounded(case: impl FnOnce()) -> Result<Duration, String> {
    let before = memory();
    let began = processor_time();
    let outcome = catch_unwind(AssertUnwindSafe(case));
    let took = processor_time().saturating_sub(began);
    let most = memory().most;
    if let Err(panic) = outcome {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or(panic.downcast_ref::<&str>().copied());
        return Err(format!("panic: {}", said.unwrap_or("?")));
    }
    if took > MOST_TIME {
        return Err(format!("it took {took:?}"));
    }
    let grown = most.saturating_sub(before.now);
    if grown > MOST_MEMORY {
        return Err(format!("it took {} MiB", grown >> 10));
    }
    Ok(took)
}

struct MemoryUse {
    now: u64,
    most: u64,
}

/// The memory in use, and the most since the last call, in KiB.
fn memory() -> MemoryUse {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let _ = fs::write("/proc/self/clear_refs", "5");
    MemoryUse {
        now: field("VmRSS"),
        most: field("VmHWM"),
    }
}

/// Returns this thread's processor time: other work on the machine does not count.
fn processor_time() -> Duration {
    let said = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = said.split_whitespace().next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("fuzz")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a campaign is set up from outside"
)]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
}
