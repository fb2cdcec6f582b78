//! Snapshots of long runs, so that a question about one need not read its whole log.
//!
//! A snapshot is the state of a run after some event, in a file outside the repository. It is a
//! cache and never the truth: whoever drives a run replays the log, and a snapshot that is missing,
//! damaged, written by another build of the program, or of another log is made again from the log.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::SystemTime;

use codeteam_core::ids::{FramePath, RunId, StepId};
use codeteam_core::{Event, Run, apply};
use codeteam_host::store::{Store, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::describe;
use crate::records::{RecordsError, decode_event};

/// The version of the file's own form.
const FORMAT: u32 = 1;

/// The fewest events after which a new snapshot is worth its time. A run below this has none: its
/// log is read in a few milliseconds.
pub(crate) const WORTHWHILE: u64 = 1_000;

/// A snapshot is written again when this share of its events has followed it. Writing all of them
/// then costs as much as writing the last one this many times, however long the run becomes.
const SHARE: u64 = 32;

/// The state of a run, with what its events say beyond that.
///
/// [`RunSnapshots::load`] makes it. A [`Run`] drops what it no longer needs; the index beside it
/// says where in the log that can be found again.
#[derive(Clone)]
pub struct RunSnapshot {
    /// The run after the last event that was read. Everybody shares it: a long one takes a while to
    /// copy.
    pub run: Arc<Run>,
    index: Arc<RunIndex>,
    /// The hash of the last event that was read.
    last: String,
    /// The number of events in the file, if there is one.
    written: u64,
}

/// What is remembered of events beside the state that they lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RunIndex {
    frames: BTreeMap<FramePath, FrameTrace>,
    /// Why not every step or reviewer of the workflow was used: the latest decision for each step.
    depth: BTreeMap<FramePath, BTreeMap<StepId, String>>,
}

/// Where the log tells of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrameTrace {
    /// The row of its first event.
    pub(crate) first: i64,
    /// The row of its last event.
    pub(crate) last: i64,
    /// The number of the last event that judged something in it, 0 if it ended without any, `None`
    /// if neither has happened.
    pub(crate) judged: Option<u64>,
}

/// The first line of a file; the state and the index follow.
#[derive(Serialize, Deserialize)]
struct SnapshotHeader {
    format: u32,
    program: String,
    run: RunId,
    seq: u64,
    /// The hash of the event with that number: the same run of another log has another one.
    event: String,
    /// The length of the state in bytes.
    state: usize,
    /// The hash of everything after this line.
    hash: String,
}

/// The snapshots of a project's runs, in a folder that only this user's codeteam writes.
pub struct RunSnapshots {
    folder: PathBuf,
    /// The run that was loaded last: most commands ask for one run more than once.
    latest: Mutex<Option<RunSnapshot>>,
}

impl RunSnapshots {
    /// Keeps snapshots in `folder`, which need not exist.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            latest: Mutex::default(),
        }
    }

    /// Returns the state of a run after its last event. Reads the events that its snapshot lacks,
    /// and writes the snapshot again if these are many.
    pub fn load(&self, store: &Store, id: &RunId) -> Result<RunSnapshot, RecordsError> {
        let latest = self.latest.lock();
        let mut latest = latest.unwrap_or_else(PoisonError::into_inner);
        let known = latest.take().filter(|known| known.run.id == *id);
        let known = known.or_else(|| self.read(id));
        let caught_up = known.map(|known| known.catch_up(store, id)).transpose()?;
        let mut snapshot = match caught_up.flatten() {
            Some(snapshot) => snapshot,
            None => RunSnapshot::replay(store, id)?,
        };
        if !snapshot.run.has_started() {
            return Err(RecordsError::NoSuchRun(id.0.clone()));
        }
        let after = snapshot.run.seq.saturating_sub(snapshot.written);
        // Without a file, the next command takes longer; nothing else depends on it.
        if after >= WORTHWHILE.max(snapshot.written / SHARE) && self.write(&snapshot).is_some() {
            snapshot.written = snapshot.run.seq;
        }
        *latest = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Removes the snapshot of a run. It is made again when somebody asks about the run.
    pub fn remove(&self, id: &RunId) {
        let _ = fs::remove_file(self.path(id));
    }

    fn path(&self, id: &RunId) -> PathBuf {
        self.folder.join(format!("{id}.snapshot"))
    }

    fn read(&self, id: &RunId) -> Option<RunSnapshot> {
        let bytes = fs::read(self.path(id)).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (header, rest) = (bytes.get(..end)?, bytes.get(end + 1..)?);
        let header: SnapshotHeader = serde_json::from_slice(header).ok()?;
        let same = header.format == FORMAT && header.program == this_program() && header.run == *id;
        if !same {
            return None;
        }
        let (state, index) = rest.split_at_checked(header.state)?;
        // What a damaged file says is parsed for nothing, which is rare.
        let (run, (is_whole, index)) = thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let is_whole = blake3::hash(rest).to_hex().as_str() == header.hash;
                (is_whole, serde_json::from_slice(index).ok())
            });
            let run = serde_json::from_slice(state).ok();
            (run, beside.join().unwrap_or((false, None)))
        });
        if !is_whole {
            return None;
        }
        let snapshot = RunSnapshot {
            run: Arc::new(run?),
            index: Arc::new(index?),
            last: header.event,
            written: header.seq,
        };
        (snapshot.run.id == *id && snapshot.run.seq == header.seq).then_some(snapshot)
    }

    /// Writes a snapshot, if that is possible. It is not synced: a torn file has another hash.
    fn write(&self, snapshot: &RunSnapshot) -> Option<()> {
        let mut content = serde_json::to_vec(&*snapshot.run).ok()?;
        let state = content.len();
        serde_json::to_writer(&mut content, &*snapshot.index).ok()?;
        let header = SnapshotHeader {
            format: FORMAT,
            program: this_program().to_owned(),
            run: snapshot.run.id.clone(),
            seq: snapshot.run.seq,
            event: snapshot.last.clone(),
            state,
            hash: blake3::hash(&content).to_hex().to_string(),
        };
        let mut bytes = serde_json::to_vec(&header).ok()?;
        bytes.push(b'\n');
        bytes.append(&mut content);
        let path = self.path(&snapshot.run.id);
        // Several processes may do this at once; each has its own file until it is complete.
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        fs::create_dir_all(&self.folder).ok()?;
        let written = fs::write(&temporary, &bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.ok()
    }
}

impl RunSnapshot {
    /// Makes a snapshot from the whole log.
    fn replay(store: &Store, id: &RunId) -> Result<Self, RecordsError> {
        let mut snapshot = Self {
            run: Arc::default(),
            index: Arc::default(),
            last: String::new(),
            written: 0,
        };
        store.for_each_event(id.as_str(), 0, |stored| snapshot.read_event(id, &stored))?;
        Ok(snapshot)
    }

    /// Reads the events that have followed. Returns `None` if the snapshot does not fit the log.
    fn catch_up(mut self, store: &Store, id: &RunId) -> Result<Option<Self>, RecordsError> {
        let known = self.run.seq;
        let mut fits = false;
        store.for_each_event(id.as_str(), known.saturating_sub(1), |stored| {
            if stored.seq == known {
                fits = hash_event(&stored) == self.last;
                return Ok(());
            }
            if fits {
                self.read_event(id, &stored)?;
            }
            Ok::<(), RecordsError>(())
        })?;
        Ok(fits.then_some(self))
    }

    fn read_event(&mut self, id: &RunId, stored: &StoredEvent) -> Result<(), RecordsError> {
        let event = decode_event(id, stored)?;
        self.observe(stored, &event);
        self.last = hash_event(stored);
        Ok(())
    }

    fn observe(&mut self, stored: &StoredEvent, event: &Event) {
        let index = Arc::make_mut(&mut self.index);
        if let Some(path) = describe::event_frame(event) {
            let row = stored.row;
            let new = FrameTrace {
                first: row,
                last: row,
                judged: None,
            };
            let trace = index.frames.entry(path.clone()).or_insert(new);
            trace.last = row;
            if matches!(event, Event::FrameEnded { .. }) && self.run.frames.contains_key(path) {
                trace.judged.get_or_insert(0);
            }
        }
        if let Some((frame, step, decision)) = describe::review_depth(event) {
            let decisions = index.depth.entry(frame.clone()).or_default();
            decisions.insert(step.clone(), decision);
        }
        apply(Arc::make_mut(&mut self.run), event);
        if let Some(path) = judged_frame(event)
            && self.run.frames.contains_key(path)
            && let Some(trace) = index.frames.get_mut(path)
        {
            trace.judged = Some(stored.seq);
        }
    }

    /// Returns why not every step or reviewer of the workflow was used: for each frame and step,
    /// the latest decision.
    pub fn review_depths(&self) -> impl Iterator<Item = (&FramePath, &str)> {
        let frames = self.index.depth.iter();
        frames.flat_map(|(frame, steps)| steps.values().map(move |said| (frame, said.as_str())))
    }

    /// Returns where the log tells of each frame, in the order of their paths.
    pub(crate) fn traces(&self) -> impl Iterator<Item = (&FramePath, FrameTrace)> + Clone {
        self.index.frames.iter().map(|(path, trace)| (path, *trace))
    }
}

/// Returns the frame in which an event judged something.
pub(crate) fn judged_frame(event: &Event) -> Option<&FramePath> {
    match event {
        Event::GateJudged { id, .. }
        | Event::SlotAbstained { id, .. }
        | Event::SubmissionReceived {
            id, vote: Some(_), ..
        } => Some(&id.frame),
        Event::Answered { frame, .. } | Event::StepJudged { frame, .. } => Some(frame),
        _ => None,
    }
}

fn hash_event(stored: &StoredEvent) -> String {
    blake3::hash(stored.data.as_bytes()).to_hex().to_string()
}

/// Identifies the build of this program: another one may fold the same events differently.
fn this_program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        let found = std::env::current_exe().and_then(fs::metadata);
        let Ok(found) = found else {
            return version.to_owned();
        };
        let since = found.modified().ok();
        let since = since.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let nanos = since.unwrap_or_default().as_nanos();
        format!("{version} {} {nanos}", found.len())
    })
}

#[cfg(test)]
mod tests;
