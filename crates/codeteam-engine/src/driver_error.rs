//! The error type of the driver.

use codeteam_host::store;
use codeteam_report::artifacts;

use crate::halt::Halt;

/// The reasons why a run cannot be driven any further.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The log could not be read or written, or the lease was lost.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The files for people could not be written.
    #[error(transparent)]
    Artifacts(#[from] artifacts::Error),
    /// An event cannot be serialized.
    #[error("an event cannot be written as JSON")]
    Encode(#[source] serde_json::Error),
    /// The run's events cannot be read.
    #[error("the run cannot be loaded: {0}")]
    Load(String),
    /// An effect cannot be performed until a person has resolved something.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A thread could not be started.
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}
