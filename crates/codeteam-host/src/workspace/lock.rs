//! Keeps a git process that outlived a killed codeteam out of the way of the next one.
//!
//! Leases keep two codeteams apart, but not codeteam from a git process that it had started before
//! it was killed: that process would go on writing files or the index. So whoever changes a
//! workspace locks its directory, and every git process it starts holds the same lock. The lock is
//! released when the last of them has ended, and nobody has to clean up after anyone.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::time::Duration;

use super::{Error, Workspace, files};
use crate::process::{WaitError, WaitLimit};

/// How long to wait for the holder of a workspace, and how often to check.
const LONGEST: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(5);

impl Workspace {
    /// Locks this workspace until the result is dropped. Waits for git processes of a killed
    /// codeteam, which have milliseconds left to run.
    pub(super) fn lock(&self) -> Result<Workspace, Error> {
        let path = &self.directory;
        let directory = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::NotPrepared { path: path.clone() },
            _ => files::io_error("open", path)(error),
        })?;
        let patience = WaitLimit::current().at_most(LONGEST);
        loop {
            match directory.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => {
                    return Err(files::io_error("lock", path)(error));
                }
                Err(TryLockError::WouldBlock) => {
                    let waited = patience.check().map_err(WaitError::into_io);
                    waited.map_err(files::io_error("lock", path))?;
                    std::thread::sleep(PAUSE);
                }
            }
        }
        let mut locked = self.clone();
        locked.collector = locked.collector.holding(directory);
        Ok(locked)
    }
}
