//! How many threads share the work. No result may depend on it.

use std::thread;

/// Returns the number of threads to use: one for each core that this process may use.
pub(crate) fn thread_count() -> usize {
    #[cfg(test)]
    if let Some(count) = tests::COUNT.get() {
        return count;
    }
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests;
