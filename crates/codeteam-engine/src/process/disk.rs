//! Ends a command that fills the disk.
//!
//! No limit of the kernel's is about a folder, so its size is looked at now and then, by a thread
//! that spends a small part of its time on it.

use std::io::{self, PipeWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::walk::{self, WalkEntry, WalkVisitor};

/// How much there may be in the folders that a command writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskLimit {
    /// The folders.
    pub folders: Vec<PathBuf>,
    /// What they may take together.
    pub bytes: u64,
}

/// How often they are looked at.
const OFTEN: Duration = Duration::from_millis(500);

/// Large folders less often: one part of the time is spent looking.
const PART: u32 = 20;

/// Looks until it is dropped.
pub(super) struct DiskWatch {
    is_over: Arc<AtomicBool>,
    _stop: Sender<()>,
}

impl DiskWatch {
    /// Writes a byte to `waker` when there is too much.
    pub(super) fn begin(disk: &DiskLimit, waker: Arc<PipeWriter>) -> io::Result<Self> {
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
            // What cannot be walked through takes nothing that can be counted.
            let _ = walk::walk(folder, &mut count);
        }
        count.is_over
    }
}

/// Counts what folders take on the disk, down from a limit.
struct DiskCount {
    left: u64,
    is_over: bool,
}

impl DiskCount {
    fn count(&mut self, entry: &WalkEntry<'_>) -> io::Result<()> {
        // It may be gone by now.
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
