//! Commits the writes of a store in groups.
//!
//! A durable commit costs a disk flush, whatever is in it. So all writes that are waiting go into
//! one transaction, each in its own savepoint; it is committed once, and only then are they
//! answered. A write that is alone is committed at once.
//!
//! There is no writer thread: one of the threads that want to write leads. It commits its own write
//! and everything that is queued, and hands the lead to the first that was queued meanwhile. A lone
//! write therefore needs no thread switch, which costs as much as a flush on a fast disk.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, MutexGuard};

use rusqlite::Connection;

use super::error::WriteFailure;
use super::watch::WatchList;
use super::writer_cache::WriterCache;
use super::{AppendRequest, Error, append, lock, schema};

/// Limits how long the first write of a group waits for the others.
const LARGEST_GROUP: usize = 1024;

/// The queue of writes, and the one connection that writes.
///
/// A caller queues a write with [`StoreWriter::submit`] or [`StoreWriter::append`] and then waits
/// on the [`PendingWrite`]. The first caller to queue a write while nobody leads becomes the leader
/// and commits the group on its own thread. The others sleep until their write is answered or the
/// lead is handed to them.
#[derive(Debug)]
pub(super) struct StoreWriter {
    path: PathBuf,
    queue: Mutex<WriteQueue>,
    /// Used by the leader alone. The first write opens it, since a status call needs none.
    conn: Mutex<Option<WriterConnection>>,
    commits: AtomicU64,
    pub(super) watches: WatchList,
}

/// The connection that writes, with the cache that is valid for it.
#[derive(Debug)]
struct WriterConnection {
    conn: Connection,
    known: WriterCache,
}

#[derive(Default)]
struct WriteQueue {
    jobs: VecDeque<Box<dyn QueuedWrite>>,
    /// Whether a thread leads. If so, it takes care of everything queued.
    is_led: bool,
}

impl std::fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({})", self.jobs.len())
    }
}

impl StoreWriter {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.into(),
            queue: Mutex::default(),
            conn: Mutex::new(None),
            commits: AtomicU64::new(0),
            watches: WatchList::default(),
        }
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Queues a write. The caller must wait on the result at once, since it may have become the
    /// leader.
    pub(super) fn submit<T, W>(&self, doing: &'static str, work: W) -> PendingWrite<'_, T>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, WriteFailure> + Send + 'static,
    {
        let (reply, answer) = mpsc::sync_channel(1);
        let task = WriteTask {
            work: Some(work),
            value: None,
            doing,
            reply,
        };
        self.enqueue(Box::new(task), answer)
    }

    /// Queues an append, which is the most frequent write.
    pub(super) fn append(&self, append: AppendRequest) -> PendingWrite<'_, u64> {
        let (reply, answer) = mpsc::sync_channel(1);
        let task = AppendTask {
            append,
            seq: None,
            reply,
        };
        self.enqueue(Box::new(task), answer)
    }

    fn enqueue<T>(
        &self,
        job: Box<dyn QueuedWrite>,
        answer: Receiver<WriteReply<T>>,
    ) -> PendingWrite<'_, T> {
        let mut queue = lock(&self.queue);
        queue.jobs.push_back(job);
        let lead = !std::mem::replace(&mut queue.is_led, true);
        PendingWrite {
            writer: self,
            lead: lead.then(|| LeaderGuard(self)),
            answer,
        }
    }
}

/// The pending answer to one queued write.
#[must_use]
pub(super) struct PendingWrite<'a, T> {
    writer: &'a StoreWriter,
    lead: Option<LeaderGuard<'a>>,
    answer: Receiver<WriteReply<T>>,
}

impl<T> PendingWrite<'_, T> {
    pub(super) fn wait(self) -> Result<T, Error> {
        let stopped = |_| Error::WriterStopped {
            path: self.writer.path.clone(),
        };
        if let Some(lead) = self.lead {
            lead.commit_queue();
        }
        match self.answer.recv().map_err(stopped)? {
            WriteReply::Done(result) => return result,
            WriteReply::Lead => LeaderGuard(self.writer).commit_queue(),
        }
        match self.answer.recv().map_err(stopped)? {
            WriteReply::Done(result) => result,
            WriteReply::Lead => Err(stopped(mpsc::RecvError)),
        }
    }
}

/// The message to a waiting writer.
enum WriteReply<T> {
    /// The write is on the disk, or was refused.
    Done(Result<T, Error>),
    /// The write is first in the queue, and its caller is to lead.
    Lead,
}

/// One queued write, whatever type it returns.
trait QueuedWrite: Send {
    /// Returns true if the write can be refused halfway, so that it must be possible to undo it
    /// alone.
    fn may_be_undone(&self, known: &WriterCache) -> bool;
    /// Does the work inside the open transaction. Called once.
    fn execute(
        &mut self,
        conn: &Connection,
        known: &mut WriterCache,
        path: &Path,
    ) -> Result<(), Error>;
    /// Answers the caller. `Ok` means that the group is on the disk.
    fn answer(self: Box<Self>, outcome: Result<(), Error>);
    /// Hands the lead to the caller. Returns false if it no longer listens.
    fn promote(&self) -> bool;
}

struct WriteTask<T, W> {
    work: Option<W>,
    value: Option<T>,
    doing: &'static str,
    reply: SyncSender<WriteReply<T>>,
}

impl<T, W> QueuedWrite for WriteTask<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, WriteFailure> + Send,
{
    fn may_be_undone(&self, _: &WriterCache) -> bool {
        true
    }

    fn execute(
        &mut self,
        conn: &Connection,
        known: &mut WriterCache,
        path: &Path,
    ) -> Result<(), Error> {
        // The write may change a lease or an inbox, so the cache is no longer valid.
        known.forget();
        if let Some(work) = self.work.take() {
            self.value = Some(work(conn).map_err(|failure| failure.into_error(path, self.doing))?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), Error>) {
        let answer = match (outcome, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Err(error), _) => Err(error),
            // Dropping `reply` tells the caller that the writer failed.
            (Ok(()), None) => return,
        };
        // A caller that no longer waits does not need the answer.
        let _ = self.reply.send(WriteReply::Done(answer));
    }

    fn promote(&self) -> bool {
        self.reply.send(WriteReply::Lead).is_ok()
    }
}

/// One queued append.
struct AppendTask {
    append: AppendRequest,
    seq: Option<u64>,
    reply: SyncSender<WriteReply<u64>>,
}

impl QueuedWrite for AppendTask {
    fn may_be_undone(&self, known: &WriterCache) -> bool {
        known.cached_head(&self.append).is_none()
    }

    fn execute(
        &mut self,
        conn: &Connection,
        known: &mut WriterCache,
        path: &Path,
    ) -> Result<(), Error> {
        let appended = match known.cached_head(&self.append) {
            Some(head) => {
                let row = self.append.row.as_ref();
                let changed = row.filter(|_| known.changes_row(&self.append));
                let updated = changed.map_or(Ok(()), |row| append::update_run(conn, head, row));
                updated.and_then(|()| append::append_known(conn, &self.append, head))
            }
            None => append::append(conn, &self.append),
        };
        let head = appended.map_err(|failure| failure.into_error(path, "append to"))?;
        self.seq = Some(head.seq);
        known.remember(&self.append, head);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), Error>) {
        let answer = match (outcome, self.seq) {
            (Ok(()), Some(seq)) => Ok(seq),
            (Err(error), _) => Err(error),
            (Ok(()), None) => return,
        };
        let _ = self.reply.send(WriteReply::Done(answer));
    }

    fn promote(&self) -> bool {
        self.reply.send(WriteReply::Lead).is_ok()
    }
}

/// The right to use the connection. Dropping it hands the lead to the next in the queue, even if a
/// panic drops it, so nobody is left waiting.
struct LeaderGuard<'a>(&'a StoreWriter);

impl Drop for LeaderGuard<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        // A job whose caller is gone was never acknowledged and may be dropped.
        while queue.jobs.front().is_some_and(|job| !job.promote()) {
            queue.jobs.pop_front();
        }
        queue.is_led = !queue.jobs.is_empty();
    }
}

impl LeaderGuard<'_> {
    fn commit_queue(self) {
        let mut done = Vec::new();
        let committed = self
            .connection()
            .and_then(|mut session| match &mut *session {
                Some(WriterConnection { conn, known }) => {
                    let group = GroupCommit {
                        conn,
                        writer: self.0,
                    };
                    let committed = group.commit(known, &mut done);
                    if committed.is_err() {
                        known.forget();
                    }
                    committed
                }
                None => Ok(()),
            });
        if committed.is_err() {
            // Everything that is still queued would fail in the same way, after waiting for the
            // same lock once more.
            done.extend(lock(&self.0.queue).jobs.drain(..).map(|job| (job, Ok(()))));
        }
        for (job, outcome) in done {
            // A refused write keeps its own reason; the others share the result of the commit.
            job.answer(outcome.and_then(|()| committed.clone()));
        }
        // The lead is handed on only now: callers that have been answered may write again, and so
        // still get into the next group. This halves the number of flushes.
        drop(self);
    }

    fn connection(&self) -> Result<MutexGuard<'_, Option<WriterConnection>>, Error> {
        let mut session = lock(&self.0.conn);
        if session.is_none() {
            let conn = schema::writer(&self.0.path)?;
            *session = Some(WriterConnection {
                conn,
                known: WriterCache::default(),
            });
        }
        Ok(session)
    }
}

/// One transaction for everything that is queued.
struct GroupCommit<'a> {
    conn: &'a Connection,
    writer: &'a StoreWriter,
}

/// A write and its result so far.
type ExecutedWrite = (Box<dyn QueuedWrite>, Result<(), Error>);

impl GroupCommit<'_> {
    /// Runs everything queued, including what arrives meanwhile.
    fn commit(&self, known: &mut WriterCache, done: &mut Vec<ExecutedWrite>) -> Result<(), Error> {
        if !self.conn.is_autocommit() {
            // A previous leader panicked, and its callers were told that it failed.
            self.sql("ROLLBACK")?;
        }
        self.sql("BEGIN IMMEDIATE")?;
        // From here until the commit nobody else can write.
        let version = self
            .conn
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row((), |row| row.get(0)))
            .map_err(|e| Error::sqlite(&self.writer.path, "read", e))?;
        known.keep_if_unchanged(version);
        while let Some(mut job) = self.next(done.len()) {
            match self.in_savepoint(&mut *job, known) {
                Ok(outcome) => done.push((job, outcome)),
                Err(error) => {
                    done.push((job, Ok(())));
                    return self.abandon(error);
                }
            }
        }
        if let Err(error) = self.sql("COMMIT") {
            return self.abandon(error);
        }
        self.writer.commits.fetch_add(1, Ordering::Relaxed);
        self.writer.watches.wake();
        Ok(())
    }

    fn next(&self, done: usize) -> Option<Box<dyn QueuedWrite>> {
        let has_room = done < LARGEST_GROUP;
        has_room.then(|| lock(&self.writer.queue).jobs.pop_front())?
    }

    /// Runs one write. The outer error means that the transaction is lost: some failures (a full
    /// disk) end it, and with it the work of the other writes.
    fn in_savepoint(
        &self,
        job: &mut dyn QueuedWrite,
        known: &mut WriterCache,
    ) -> Result<Result<(), Error>, Error> {
        if !job.may_be_undone(known) {
            // Nothing in this write can be refused; if it fails anyway, so does the group.
            return job.execute(self.conn, known, &self.writer.path).map(Ok);
        }
        self.sql("SAVEPOINT job")?;
        let outcome = job.execute(self.conn, known, &self.writer.path);
        if let Err(error) = &outcome {
            known.forget();
            if self.conn.is_autocommit() {
                return Err(error.clone());
            }
            self.sql("ROLLBACK TO job")?;
        }
        self.sql("RELEASE job")?;
        Ok(outcome)
    }

    fn abandon(&self, error: Error) -> Result<(), Error> {
        if !self.conn.is_autocommit() {
            // If this fails too, so does the next `BEGIN`: nothing half-done can be committed. The
            // first error is the one to report.
            let _ = self.sql("ROLLBACK");
        }
        Err(error)
    }

    fn sql(&self, sql: &str) -> Result<(), Error> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(()))
            .map(drop)
            .map_err(|e| Error::sqlite(&self.writer.path, "write to", e))
    }
}
