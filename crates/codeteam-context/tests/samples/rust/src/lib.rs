//! A queue.
//!
//! It is small.

pub mod queue;
mod retry;

pub use queue::{Job, Queue};
pub use retry::Backoff as Wait;

/// How many jobs there may be.
pub const LIMIT: usize = 1_000;
static NAMES: [&str; 3] = [
    "first",
    "second",
    "third",
];

/// Makes a queue of jobs.
#[macro_export]
macro_rules! queue {
    ($($job:expr),*) => {{
        let mut queue = $crate::Queue::new();
        $(queue.push($job);)*
        queue
    }};
}

/// What goes wrong.
#[derive(Debug)]
pub enum Error {
    /// There are too many jobs.
    Full { limit: usize },
    Lost(String),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "more than {limit} jobs"),
            Self::Lost(name) => write!(f, "`{name}` is lost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known() {
        assert_eq!(NAMES.len(), 3);
    }
}
