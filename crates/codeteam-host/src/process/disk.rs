//! Ends a command that fills the disk.
//!
//! The kernel has no limit per folder, so a thread measures the folders now and then and spends
//! only a small part of its time on it.

use std::io::{self, PipeWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::walk::{self, WalkEntry, WalkVisitor};

/// A limit for the total size of the folders a command writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLimit {
    /// The folders that are measured.
    pub folders: Vec<PathBuf>,
    /// The most that they may take together.
    pub bytes: u64,
}

/// The shortest interval between two measurements.
const OFTEN: Duration = Duration::from_millis(500);

/// Large folders are measured less often: the pause is at least this many times as long as the last
/// measurement took.
const PART: u32 = 20;

/// Measures the folders on a thread until it is dropped.
pub(super) struct DiskWatch {
    is_over: Arc<AtomicBool>,
    _stop: Sender<()>,
}

impl DiskWatch {
    /// Starts measuring. Writes a byte to `waker` when the limit is exceeded.
    pub(super) fn start(disk: &DiskLimit, waker: Arc<PipeWriter>) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel::<()>();
        let (disk, over) = (disk.clone(), Arc::clone(&is_over));
        let look = move || {
            let mut pause = OFTEN;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let started = Instant::now();
                if disk.is_over() {
                    over.store(true, Ordering::Relaxed);
                    let _ = (&*waker).write_all(b"x");
                    return;
                }
                pause = OFTEN.max(started.elapsed() * PART);
            }
        };
        thread::Builder::new().name("disk".to_owned()).spawn(look)?;
        Ok(Self {
            is_over,
            _stop: stop,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl DiskLimit {
    fn is_over(&self) -> bool {
        let mut count = DiskCount {
            left: self.bytes,
            is_over: false,
        };
        for folder in &self.folders {
            // A folder that cannot be walked counts as empty.
            let _ = walk::walk_tree(folder, &mut count);
        }
        count.is_over
    }
}

/// Counts down from a limit by what folders take on the disk.
struct DiskCount {
    left: u64,
    is_over: bool,
}

impl DiskCount {
    fn count(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        // The file may have been removed meanwhile.
        let Ok(found) = entry.stat() else {
            return Ok(());
        };
        let bytes = u64::try_from(found.st_blocks).unwrap_or(0) * 512;
        let Some(left) = self.left.checked_sub(bytes) else {
            self.is_over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.left = left;
        Ok(())
    }
}

impl WalkVisitor for DiskCount {
    fn enter(&mut self, folder: &WalkEntry<'_>) -> io::Result<bool> {
        self.count(folder)?;
        Ok(true)
    }

    fn visit(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        self.count(entry)
    }

    fn unreadable(&mut self, _: &Path, _: io::Error) -> io::Result<()> {
        Ok(())
    }
}
