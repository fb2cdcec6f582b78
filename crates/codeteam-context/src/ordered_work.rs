//! Runs work on several threads and delivers the results in order, within a bounded window.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::threads::thread_count;

/// The amount of work that may be ahead of the delivered results, in bytes.
const WINDOW: u64 = 8 << 20;
/// The size of a batch, in bytes and files, so that small files do not take a lock each.
const BATCH_BYTES: u64 = 128 << 10;
const BATCH_FILES: usize = 64;

/// Runs `work` for each of `sizes` on several threads, and passes the results to `take` in order.
/// The first error ends it.
pub(crate) fn run_in_order<T: Send, E>(
    sizes: &[u64],
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let batches = batches(sizes);
    let shared = BatchQueue {
        state: Mutex::new(BatchQueueState {
            next: 0,
            ahead: 0,
            taken: 0,
            done: BTreeMap::new(),
            over: false,
        }),
        changed: Condvar::new(),
        batches: &batches,
    };
    let threads = thread_count();
    thread::scope(|scope| {
        for _ in 0..threads.min(batches.len()) {
            scope.spawn(|| {
                let _end = EarlyEndGuard(&shared);
                while let Some((at, batch)) = shared.claim() {
                    let results = batch.clone().map(&work).collect();
                    shared.finish(at, results);
                }
            });
        }
        let _end = EarlyEndGuard(&shared);
        for (at, batch) in batches.iter().enumerate() {
            let Some(results) = shared.wait(at) else {
                break;
            };
            for (at, result) in batch.files.clone().zip(results) {
                take(at, result)?;
            }
        }
        Ok(())
    })
}

/// Consecutive files.
struct FileBatch {
    files: Range<usize>,
    bytes: u64,
}

fn batches(sizes: &[u64]) -> Vec<FileBatch> {
    let mut batches: Vec<FileBatch> = Vec::new();
    for (at, &size) in sizes.iter().enumerate() {
        match batches.last_mut() {
            Some(last) if last.bytes + size <= BATCH_BYTES && last.files.len() < BATCH_FILES => {
                last.files.end = at + 1;
                last.bytes += size;
            }
            _ => batches.push(FileBatch {
                files: at..at + 1,
                bytes: size,
            }),
        }
    }
    batches
}

struct BatchQueueState<T> {
    /// The first batch that nobody works on.
    next: usize,
    /// The number of bytes being worked on or waiting to be delivered.
    ahead: u64,
    /// The number of delivered batches.
    taken: usize,
    done: BTreeMap<usize, Vec<T>>,
    /// Whether the work has ended early.
    over: bool,
}

struct BatchQueue<'b, T> {
    state: Mutex<BatchQueueState<T>>,
    changed: Condvar,
    batches: &'b [FileBatch],
}

impl<T> BatchQueue<'_, T> {
    fn lock(&self) -> MutexGuard<'_, BatchQueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next batch to work on as soon as there is room; `None` if there is none left.
    fn claim(&self) -> Option<(usize, &Range<usize>)> {
        let mut state = self.lock();
        loop {
            let at = state.next;
            let batch = self.batches.get(at).filter(|_| !state.over)?;
            // The batch that is waited for must be produced, however large it is.
            if state.ahead + batch.bytes <= WINDOW || at == state.taken {
                state.next += 1;
                state.ahead += batch.bytes;
                return Some((at, &batch.files));
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, at: usize, results: Vec<T>) {
        self.lock().done.insert(at, results);
        self.changed.notify_all();
    }

    /// Waits for the results of a batch; returns `None` if they will never arrive.
    fn wait(&self, at: usize) -> Option<Vec<T>> {
        let mut state = self.lock();
        loop {
            if let Some(results) = state.done.remove(&at) {
                state.taken += 1;
                state.ahead -= self.batches.get(at).map_or(0, |batch| batch.bytes);
                self.changed.notify_all();
                return Some(results);
            }
            if state.over {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Tells the other threads when one ends early: the consumer by an error, or a worker by a panic. A
/// worker that has nothing left to do does not count.
struct EarlyEndGuard<'s, 'b, T>(&'s BatchQueue<'b, T>);

impl<T> Drop for EarlyEndGuard<'_, '_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if thread::panicking()
            || state.taken < self.0.batches.len() && state.next < self.0.batches.len()
        {
            state.over = true;
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_order_and_all() {
        for count in [0, 1, 63, 64, 65, 5_000] {
            let sizes: Vec<u64> = (0..count).map(|n| (n * 7919) % 300_000).collect();
            let mut seen = Vec::new();
            let done: Result<(), ()> = run_in_order(
                &sizes,
                |at| at * 2,
                |at, twice| {
                    seen.push((at, twice));
                    Ok(())
                },
            );
            done.unwrap();
            assert_eq!(seen.len(), sizes.len());
            assert!(
                seen.iter()
                    .enumerate()
                    .all(|(n, &(at, twice))| at == n && twice == 2 * n)
            );
        }
    }

    #[test]
    fn no_more_is_at_hand_than_the_window_holds() {
        let sizes = vec![1 << 20; 200];
        let made = AtomicUsize::new(0);
        let mut taken = 0;
        let done: Result<(), ()> = run_in_order(
            &sizes,
            |_| made.fetch_add(1, Ordering::SeqCst),
            |_, _| {
                taken += 1;
                let ahead = made.load(Ordering::SeqCst) - taken;
                assert!(ahead <= 8, "{ahead}");
                Ok(())
            },
        );
        done.unwrap();
        // Files larger than the window pass one by one.
        let huge = vec![WINDOW * 2; 3];
        assert_eq!(run_in_order(&huge, |at| at, |_, _| Ok::<_, ()>(())), Ok(()));
    }

    #[test]
    fn an_error_ends_it() {
        let sizes = vec![BATCH_BYTES; 10_000];
        let made = AtomicUsize::new(0);
        let work = |_| made.fetch_add(1, Ordering::SeqCst);
        let done = run_in_order(
            &sizes,
            work,
            |at, _| if at == 3 { Err("full") } else { Ok(()) },
        );
        assert_eq!(done, Err("full"));
        assert!(made.load(Ordering::SeqCst) < 200);
    }

    #[test]
    fn a_panic_is_not_waited_for() {
        let run = || {
            run_in_order(
                &[BATCH_BYTES; 100],
                |at| assert_ne!(at, 50),
                |_, ()| Ok::<_, ()>(()),
            )
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
