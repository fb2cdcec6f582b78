//! The frames of a run as they were last, those that have ended too.

use std::collections::BTreeMap;

use codeteam_core::frame::{Frame, FrameStage};
use codeteam_core::ids::{FramePath, RunId};
use codeteam_core::{Event, Run, apply};

use super::{VerificationReport, of};
use crate::engine::{Engine, Error};

/// A run with everything that was ever judged in it.
pub struct JudgementHistory {
    /// The run as it is.
    pub run: Run,
    /// Its frames as they were last, with the number of the last event that judged something there.
    frames: BTreeMap<FramePath, (u64, Frame)>,
}

/// Reads a run's events, and keeps what became of every frame.
pub fn past(engine: &Engine, id: &RunId) -> Result<JudgementHistory, Error> {
    let mut past = JudgementHistory {
        run: Run::default(),
        frames: BTreeMap::new(),
    };
    engine.each_event(id, 0, |seq, _, event| past.take(seq, &event))?;
    if past.run.has_started() {
        Ok(past)
    } else {
        Err(Error::NoSuchRun(id.0.clone()))
    }
}

impl JudgementHistory {
    fn take(&mut self, seq: u64, event: &Event) {
        if let Event::FrameEnded { frame, .. } = event {
            let known = self.frames.get(frame).map_or(0, |(seq, _)| *seq);
            let ending = self.run.frames.get(frame).map(|f| ended(f, event));
            self.frames
                .extend(ending.map(|f| (frame.clone(), (known, f))));
        }
        apply(&mut self.run, event);
        let judged = match event {
            Event::GateJudged { id, .. }
            | Event::SlotAbstained { id, .. }
            | Event::SubmissionReceived {
                id, vote: Some(_), ..
            } => Some(&id.frame),
            Event::Answered { frame, .. } | Event::StepJudged { frame, .. } => Some(frame),
            _ => None,
        };
        if let Some(frame) = judged.and_then(|path| self.run.frames.get(path)) {
            let frame = (seq, frame.clone());
            self.frames.insert(frame.1.path.clone(), frame);
        }
    }

    /// The frame of a task, a phase or the run itself as it is, or as it was at its end.
    pub fn frame(&self, name: &str) -> Option<&Frame> {
        let now = self.run.frames.values().chain(self.run.failed.values());
        let now = now.into_iter().find(|f| f.path.name() == name);
        now.or_else(|| {
            self.frames
                .values()
                .map(|(_, f)| f)
                .find(|f| f.path.name() == name)
        })
    }

    /// The frame that a report is wanted of if nobody says: one that asks a person about a change,
    /// or the one that was judged last.
    pub fn newest(&self) -> Option<&Frame> {
        let asking = self
            .run
            .frames
            .values()
            .find(|f| matches!(f.stage, FrameStage::Asking(_)) && of(&self.run, f).is_some());
        if asking.is_some() {
            return asking;
        }
        let (_, (_, last)) = self.frames.iter().max_by_key(|(_, (seq, _))| *seq)?;
        self.frame(last.path.name())
    }

    /// The names of all that was judged, in the order of their frames.
    pub fn names(&self) -> Vec<&str> {
        self.frames.keys().map(FramePath::name).collect()
    }

    /// The report of a frame, with the lines of its files.
    pub fn report(&self, engine: &Engine, frame: &Frame) -> Option<VerificationReport> {
        full(engine, &self.run, frame)
    }
}

/// The report of a frame, with the lines of its files where the diff can be read.
pub fn full(engine: &Engine, run: &Run, frame: &Frame) -> Option<VerificationReport> {
    let report = of(run, frame)?;
    let diff = frame
        .change
        .as_ref()
        .map(|c| engine.bodies.get(c.diff.as_str()));
    let mut report = match diff {
        Some(Ok(diff)) => report.count(&diff),
        _ => report,
    };
    for file in &mut report.files {
        file.path = engine.redactor.redact(&file.path).text.into_owned();
    }
    Some(report)
}

/// A frame with the end that an event is about to be.
pub(crate) fn ended(frame: &Frame, event: &Event) -> Frame {
    let mut frame = frame.clone();
    if let Event::FrameEnded { outcome, .. } = event {
        frame.stage = FrameStage::Ended(outcome.clone());
    }
    frame
}
