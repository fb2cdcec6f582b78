//! Every write of a store, in groups.
//!
//! A durable commit costs a disk flush, whatever is in it. So all writes that
//! are waiting go into one transaction, each in a savepoint of its own; it is
//! committed once, and only then are they answered. A write that is alone is
//! committed at once.
//!
//! There is no writer thread: of the threads that want to write, one leads. It
//! commits its own write and all that are queued, and hands the lead to the
//! first that was queued meanwhile. So a lone write needs no thread switch,
//! which costs as much as a flush on a fast disk.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, MutexGuard};

use rusqlite::Connection;

use super::error::WriteFailure;
use super::known::WriterCache;
use super::{AppendRequest, Error, append, lock, schema};

/// Bounds how long the first write of a group waits for the others.
const LARGEST_GROUP: usize = 1024;

/// The queue, and the one connection that writes.
#[derive(Debug)]
pub(super) struct StoreWriter {
    path: PathBuf,
    queue: Mutex<WriteQueue>,
    /// Used by the leader alone. Opened by the first write: a status call
    /// needs none.
    conn: Mutex<Option<WriterConnection>>,
    commits: AtomicU64,
}

/// The connection that writes, and what it may take for granted.
#[derive(Debug)]
struct WriterConnection {
    conn: Connection,
    known: WriterCache,
}

#[derive(Default)]
struct WriteQueue {
    jobs: VecDeque<Box<dyn QueuedWrite>>,
    /// Whether a thread leads. If so, it sees to everything queued.
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
        }
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Queues a write. Whoever does so must wait on the ticket at once, since
    /// it may have become the leader.
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

    /// Queues an append, the write there is most of.
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

/// The promise of an answer to one queued write.
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

/// What a waiting writer is told.
enum WriteReply<T> {
    /// Its write is on the disk, or was refused.
    Done(Result<T, Error>),
    /// It is first in the queue, and is to commit it.
    Lead,
}

/// One queued write, whatever it returns.
trait QueuedWrite: Send {
    /// Whether it can be refused halfway, so that it must be possible to undo it alone.
    fn may_be_undone(&self, known: &WriterCache) -> bool;
    /// Does the work inside the open transaction, once.
    fn execute(
        &mut self,
        conn: &Connection,
        known: &mut WriterCache,
        path: &Path,
    ) -> Result<(), Error>;
    /// Tells the caller how it ended. `Ok` means the group is on the disk.
    fn answer(self: Box<Self>, outcome: Result<(), Error>);
    /// Tells the caller to lead; `false` if it no longer listens.
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
        // It may change a lease or an inbox; what it leaves true is found out again.
        known.forget();
        if let Some(work) = self.work.take() {
            self.value = Some(work(conn).map_err(|failure| failure.at(path, self.doing))?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), Error>) {
        let answer = match (outcome, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Err(error), _) => Err(error),
            // Dropping `reply` tells the caller that the writer failed it.
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
        known.head(&self.append).is_none()
    }

    fn execute(
        &mut self,
        conn: &Connection,
        known: &mut WriterCache,
        path: &Path,
    ) -> Result<(), Error> {
        let appended = match known.head(&self.append) {
            Some(head) => {
                let row = self.append.row.as_ref();
                let changed = row.filter(|_| known.changes_row(&self.append));
                let updated = changed.map_or(Ok(()), |row| append::update_run(conn, head, row));
                updated.and_then(|()| append::append_known(conn, &self.append, head))
            }
            None => append::append(conn, &self.append),
        };
        let head = appended.map_err(|failure| failure.at(path, "append to"))?;
        self.seq = Some(head.seq);
        known.learn(&self.append, head);
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

/// The right to use the connection. Dropping it hands it to the next in the
/// queue, also when a panic drops it: nobody is left waiting.
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
            // Whoever is still queued would fail the same way, after waiting
            // for the same lock once more.
            done.extend(lock(&self.0.queue).jobs.drain(..).map(|job| (job, Ok(()))));
        }
        for (job, outcome) in done {
            // A refused write keeps its own reason; the others share the fate
            // of the commit.
            job.answer(outcome.and_then(|()| committed.clone()));
        }
        // Only now: who has been answered may write again, and so still comes
        // into the next group. This halves the number of flushes.
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

/// One transaction over what is queued.
struct GroupCommit<'a> {
    conn: &'a Connection,
    writer: &'a StoreWriter,
}

/// A job and how it went so far.
type ExecutedWrite = (Box<dyn QueuedWrite>, Result<(), Error>);

impl GroupCommit<'_> {
    /// Runs everything queued, also what arrives meanwhile.
    fn commit(&self, known: &mut WriterCache, done: &mut Vec<ExecutedWrite>) -> Result<(), Error> {
        if !self.conn.is_autocommit() {
            // A leader panicked, and its callers were told that it failed.
            self.sql("ROLLBACK")?;
        }
        self.sql("BEGIN IMMEDIATE")?;
        // From here to the commit nobody else can write.
        let version = self
            .conn
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row((), |row| row.get(0)))
            .map_err(|e| Error::sqlite(&self.writer.path, "read", e))?;
        known.keep_if(version);
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
        Ok(())
    }

    fn next(&self, done: usize) -> Option<Box<dyn QueuedWrite>> {
        let has_room = done < LARGEST_GROUP;
        has_room.then(|| lock(&self.writer.queue).jobs.pop_front())?
    }

    /// Runs one job. The outer error means that the transaction is lost: some
    /// failures (a full disk) end it, and with it what other jobs had done.
    fn in_savepoint(
        &self,
        job: &mut dyn QueuedWrite,
        known: &mut WriterCache,
    ) -> Result<Result<(), Error>, Error> {
        if !job.may_be_undone(known) {
            // Nothing in it can be refused; if it fails all the same, so does the group.
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
            // If this fails too, the next `BEGIN` does: nothing half-done can
            // be committed. The first error is the one to report.
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
