//! Ends a command that fills the disk.
//!
//! No limit of the kernel's is about a folder, so its size is looked at now and then, by a thread
//! that spends a small part of its time on it.

use std::fs;
use std::io::{self, PipeWriter, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How much there may be in the folders that a command writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
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
pub(super) struct Watch {
    is_over: Arc<AtomicBool>,
    _stop: Sender<()>,
}

impl Watch {
    /// Writes a byte to `waker` when there is too much.
    pub(super) fn begin(disk: &Disk, waker: Arc<PipeWriter>) -> io::Result<Self> {
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

impl Disk {
    fn is_over(&self) -> bool {
        let mut left = self.bytes;
        self.folders.iter().any(|folder| takes(folder, &mut left))
    }
}

/// Whether a folder takes all that is left. Links are not followed.
fn takes(folder: &Path, left: &mut u64) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        // It may be gone by now.
        let Ok(found) = entry.metadata() else {
            continue;
        };
        let bytes = found.blocks() * 512;
        if bytes > *left {
            return true;
        }
        *left -= bytes;
        if found.is_dir() && takes(&entry.path(), left) {
            return true;
        }
    }
    false
}
