//! Waits for something to be written to the database, by this process or by another one.
//!
//! `PRAGMA data_version` says whether anything was committed, but nothing can be waited for in it.
//! What can be waited for are two file descriptors: an `eventfd` that the writer of this process
//! signals after each commit, and an `inotify` watch on the folder of the database for the commits
//! of other processes. While nobody writes, a waiting thread sleeps.
//!
//! A commit of another process is seen when its pages are written to the write-ahead log, which is
//! before it is durable and visible. For a short time after such a write, the version is therefore
//! looked at again and again, at growing intervals.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use super::{Error, lock, read, schema};

/// How often the version is looked at while nothing is heard. It matters only where `inotify` says
/// nothing, as on some network file systems.
const TICK: Duration = Duration::from_secs(2);
/// The same where there is no `inotify` at all.
const TICK_UNHEARD: Duration = Duration::from_millis(50);
/// The first pause after a write was heard; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// How long a write is waited for to become visible. Flushing to a slow disk takes that long.
const SETTLING: Duration = Duration::from_millis(500);

/// A thread's view of when the database changes.
///
/// [`StoreWatch::wait`] returns as soon as something was committed since the last call that
/// returned [`WatchOutcome::Changed`], or since the watch was made. Whoever then reads the database
/// misses nothing: what is committed while it reads makes the next call return at once.
#[derive(Debug)]
pub struct StoreWatch {
    path: PathBuf,
    conn: Connection,
    seen: i64,
    signal: Arc<WatchSignal>,
    folder: Option<OwnedFd>,
    /// Until when, and after which pause, a write that was heard may become visible. It outlives a
    /// wait: the writes of two commits may be heard together, before the second is visible.
    settling: Option<(Instant, Duration)>,
    name: OsString,
}

/// Why a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchOutcome {
    /// Something was committed.
    Changed,
    /// Nothing was committed in the given time.
    TimedOut,
    /// A [`WatchInterrupt`] has ended it.
    Interrupted,
}

/// Ends the waiting of a [`StoreWatch`] from another thread, for good.
#[derive(Clone, Debug)]
pub struct WatchInterrupt(Arc<WatchSignal>);

impl WatchInterrupt {
    /// Makes this and every later wait of the watch return at once.
    pub fn interrupt(&self) {
        self.0.interrupted.store(true, Ordering::SeqCst);
        self.0.raise();
    }
}

#[derive(Debug)]
struct WatchSignal {
    raised: OwnedFd,
    interrupted: AtomicBool,
}

impl WatchSignal {
    fn raise(&self) {
        // It fails only if the counter is full, and then it is raised already.
        let _ = rustix::io::write(&self.raised, &1_u64.to_ne_bytes());
    }
}

/// The watches of this process that a commit wakes.
#[derive(Debug, Default)]
pub(super) struct WatchList(Mutex<Vec<Weak<WatchSignal>>>);

impl WatchList {
    /// Wakes every watch that still exists.
    pub(super) fn wake(&self) {
        lock(&self.0).retain(|signal| {
            let signal = signal.upgrade();
            signal.as_ref().inspect(|signal| signal.raise()).is_some()
        });
    }

    fn add(&self, signal: &Arc<WatchSignal>) {
        lock(&self.0).push(Arc::downgrade(signal));
    }
}

impl StoreWatch {
    pub(super) fn new(path: &Path, watches: &WatchList) -> Result<Self, Error> {
        let raised = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::io(path, "watch", e.into()))?;
        let signal = Arc::new(WatchSignal {
            raised,
            interrupted: AtomicBool::new(false),
        });
        watches.add(&signal);
        // The folder is watched before the version is read, so that nothing falls between them.
        let folder = path.parent().and_then(|folder| watch_folder(folder).ok());
        let conn = schema::reader(path)?;
        let mut watch = Self {
            path: path.to_owned(),
            conn,
            seen: 0,
            signal,
            folder,
            settling: None,
            name: path.file_name().unwrap_or_default().to_owned(),
        };
        watch.seen = watch.version()?;
        Ok(watch)
    }

    /// Returns a handle that ends the waiting.
    pub fn interrupter(&self) -> WatchInterrupt {
        WatchInterrupt(Arc::clone(&self.signal))
    }

    /// Waits until something is committed, for at most `timeout`.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<WatchOutcome, Error> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if self.signal.interrupted.load(Ordering::SeqCst) {
                return Ok(WatchOutcome::Interrupted);
            }
            let version = self.version()?;
            if version != self.seen {
                self.seen = version;
                return Ok(WatchOutcome::Changed);
            }
            let now = Instant::now();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(WatchOutcome::TimedOut);
            }
            self.settling = self.settling.filter(|(until, _)| now < *until);
            let pause = match &mut self.settling {
                Some((_, next)) => {
                    let pause = *next;
                    *next = (pause * 2).min(LONGEST_PAUSE);
                    pause
                }
                None if self.folder.is_some() => TICK,
                None => TICK_UNHEARD,
            };
            if self.listen(left.map_or(pause, |left| left.min(pause)))? {
                self.settling = Some((Instant::now() + SETTLING, FIRST_PAUSE));
            }
        }
    }

    /// Sleeps until something is heard, and returns true if another process may be writing.
    fn listen(&self, pause: Duration) -> Result<bool, Error> {
        let mut heard = vec![PollFd::new(&self.signal.raised, PollFlags::IN)];
        heard.extend(self.folder.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let pause = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: pause.subsec_nanos().into(),
        };
        match poll(&mut heard, Some(&pause)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::io(&self.path, "watch", error.into())),
        }
        let is_ready = |at: usize| heard.get(at).is_some_and(|fd| !fd.revents().is_empty());
        if is_ready(0) {
            let mut count = [0_u8; 8];
            let _ = rustix::io::read(&self.signal.raised, &mut count);
        }
        Ok(is_ready(1) && self.drain_folder())
    }

    /// Reads what was heard of the folder, and returns true if it was about the database.
    fn drain_folder(&self) -> bool {
        let Some(folder) = &self.folder else {
            return false;
        };
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        let mut reader = inotify::Reader::new(folder, &mut buffer);
        let mut is_ours = false;
        while let Ok(event) = reader.next() {
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            // Without a name it is about the folder itself, or events were lost.
            is_ours |= name.is_none_or(|name| name.as_bytes().starts_with(self.name.as_bytes()));
        }
        is_ours
    }

    fn version(&self) -> Result<i64, Error> {
        read::data_version(&self.conn).map_err(|e| Error::sqlite(&self.path, "read", e))
    }
}

fn watch_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let written = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO;
    inotify::add_watch(&fd, folder, written | WatchFlags::ONLYDIR)?;
    Ok(fd)
}
