//! Recovers the last state of a frame of a run, also if it has ended.

use std::sync::Arc;

use codeteam_core::frame::{Frame, FrameStage};
use codeteam_core::ids::{FramePath, RunId};
use codeteam_core::{Event, Run, apply};

use codeteam_host::store::Store;

use super::{VerificationReport, build_asked_report, build_report};
use crate::records::{ProjectRecords, RecordsError, decode_event};
use crate::run_snapshot::{FrameTrace, RunSnapshot, RunSnapshots, judged_frame};

/// A run, and what was judged in it.
///
/// A [`Run`] drops frames when they end; this type has the last state of the one that was asked
/// for. [`read_judgements`] makes it from a snapshot of the run and the part of the log that tells
/// of that frame, so that a report on one of many tasks does not cost reading all of them.
pub struct JudgementHistory {
    /// The current state of the run.
    pub run: Arc<Run>,
    /// The paths of everything that was judged, in order.
    judged: Vec<FramePath>,
    /// The path of the frame that was judged last.
    newest: Option<FramePath>,
    /// The last state of the frame that was asked for, if the run has dropped it.
    ended: Option<Frame>,
}

/// Reads what was judged in a run, and in `task` of it or, without one, in the frame that was
/// judged last.
pub fn read_judgements(
    records: ProjectRecords<'_>,
    snapshots: &RunSnapshots,
    id: &RunId,
    task: Option<&str>,
) -> Result<JudgementHistory, RecordsError> {
    let snapshot = snapshots.load(records.store, id)?;
    let judged = snapshot
        .traces()
        .filter(|(_, trace)| trace.judged.is_some());
    let newest = judged.clone().max_by_key(|(_, trace)| trace.judged);
    let wanted = match task {
        Some(task) => judged.clone().find(|(path, _)| path.name() == task),
        None => newest,
    };
    let mut past = JudgementHistory {
        run: Arc::clone(&snapshot.run),
        judged: judged.map(|(path, _)| path.clone()).collect(),
        newest: newest.map(|(path, _)| path.clone()),
        ended: None,
    };
    if let Some((path, trace)) = wanted
        && past.frame(path.name()).is_none()
    {
        past.ended = restore_frame(records.store, &snapshot, path, trace)?;
    }
    Ok(past)
}

/// Returns the last state of a frame that the run has dropped, from the part of the log that tells
/// of it. The other frames of that part are applied as well, because they move the branch's tip.
pub(crate) fn restore_frame(
    store: &Store,
    snapshot: &RunSnapshot,
    path: &FramePath,
    trace: FrameTrace,
) -> Result<Option<Frame>, RecordsError> {
    let id = &snapshot.run.id;
    let mut run = Run {
        frames: Run::default().frames,
        failed_frames: Run::default().failed_frames,
        integration_queue: Vec::new(),
        ..Run::clone(&snapshot.run)
    };
    let mut last = None;
    let rows = trace.first..=trace.last;
    for stored in store.events_in_rows(id.as_str(), rows, usize::MAX)? {
        let event = decode_event(id, &stored)?;
        if let Event::FrameOpened { frame, base, .. } = &event
            && frame == path
        {
            run.tip = base.clone();
        }
        if let Event::FrameEnded { frame, .. } = &event
            && frame == path
        {
            last = run.frames.get(path).map(|found| ended_frame(found, &event));
        }
        apply(&mut run, &event);
        if judged_frame(&event) == Some(path) {
            last = run.frames.get(path).cloned().or(last);
        }
    }
    Ok(last)
}

impl JudgementHistory {
    /// Returns the frame of a task, a phase or the run itself, as it is now or as it was at its
    /// end.
    pub fn frame(&self, name: &str) -> Option<&Frame> {
        let now = self
            .run
            .frames
            .values()
            .chain(self.run.failed_frames.values());
        let now = now.into_iter().find(|f| f.path.name() == name);
        now.or_else(|| self.ended.as_ref().filter(|f| f.path.name() == name))
    }

    /// Returns the frame to report on by default: one that asks a person about a change, or the one
    /// that was judged last.
    pub fn default_frame(&self) -> Option<&Frame> {
        let asking = self.run.frames.values().find(|f| {
            matches!(f.stage, FrameStage::Asking(_)) && build_report(&self.run, f).is_some()
        });
        if asking.is_some() {
            return asking;
        }
        self.frame(self.newest.as_ref()?.name())
    }

    /// Returns the names of everything that was judged, in the order of their frames.
    pub fn judged_names(&self) -> Vec<&str> {
        self.judged.iter().map(FramePath::name).collect()
    }

    /// Builds the report of a frame, with the line counts of its files.
    pub fn report(&self, records: ProjectRecords<'_>, frame: &Frame) -> Option<VerificationReport> {
        report_with_lines(records, &self.run, frame)
    }
}

/// Builds the report of a frame, with the line counts of its files where the diff can be read.
pub(crate) fn report_with_lines(
    records: ProjectRecords<'_>,
    run: &Run,
    frame: &Frame,
) -> Option<VerificationReport> {
    Some(with_lines(records, frame, build_report(run, frame)?))
}

/// Does the same for a change that a person is asked about, even if nothing has judged it.
pub(crate) fn asked_report_with_lines(
    records: ProjectRecords<'_>,
    run: &Run,
    frame: &Frame,
) -> Option<VerificationReport> {
    Some(with_lines(records, frame, build_asked_report(run, frame)?))
}

fn with_lines(
    records: ProjectRecords<'_>,
    frame: &Frame,
    report: VerificationReport,
) -> VerificationReport {
    let diff = frame
        .change
        .as_ref()
        .map(|c| records.bodies.get(c.diff.as_str()));
    let mut report = match diff {
        Some(Ok(diff)) => report.with_line_counts(&diff),
        _ => report,
    };
    for file in &mut report.files {
        file.path = records.redactor.redact(&file.path).text.into_owned();
    }
    report
}

/// Returns a frame in the ended state that an event is about to put it into.
pub fn ended_frame(frame: &Frame, event: &Event) -> Frame {
    let mut frame = frame.clone();
    if let Event::FrameEnded { outcome, .. } = event {
        frame.stage = FrameStage::Ended(outcome.clone());
    }
    frame
}
