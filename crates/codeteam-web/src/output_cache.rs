//! The outputs that were read last, opened once: to count the lines of a long output takes longer than to
//! read those that a page shows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codeteam_core::ids::{BodyId, RunId};
use codeteam_engine::attempt_log::AttemptLog;
use codeteam_engine::problem::Problem;

use crate::projects::WatchedProject;

/// How many outputs are kept open.
const KEPT: usize = 4;

/// What names an output. One that is still written and one that is kept are two.
type OutputKey = (String, RunId, u64, Option<BodyId>);

/// An output, shared by all that read it.
pub(crate) type SharedOutput = Arc<Mutex<AttemptLog>>;

/// The outputs that were read last.
#[derive(Debug, Default)]
pub(crate) struct OutputCache {
    outputs: Mutex<VecDeque<(OutputKey, SharedOutput)>>,
}

impl OutputCache {
    /// Returns the output of an attempt.
    pub(crate) fn open(
        &self,
        project: &WatchedProject,
        run: &RunId,
        fence: u64,
        transcript: Option<&BodyId>,
    ) -> Result<SharedOutput, Problem> {
        let key = (project.key.clone(), run.clone(), fence, transcript.cloned());
        if let Some(known) = self.take(&key) {
            return Ok(known);
        }
        let log = AttemptLog::open(&project.engine, run, fence, transcript)?;
        let output = Arc::new(Mutex::new(log));
        let mut outputs = self.lock();
        outputs.push_back((key, Arc::clone(&output)));
        if outputs.len() > KEPT {
            outputs.pop_front();
        }
        Ok(output)
    }

    /// Returns an output that is open, as the one that was read last.
    fn take(&self, key: &OutputKey) -> Option<SharedOutput> {
        let mut outputs = self.lock();
        let at = outputs.iter().position(|(known, _)| known == key)?;
        let found = outputs.remove(at)?;
        let output = Arc::clone(&found.1);
        outputs.push_back(found);
        Some(output)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(OutputKey, SharedOutput)>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an output with what was written to it meanwhile.
pub(crate) fn refresh_output(output: &SharedOutput) -> std::io::Result<MutexGuard<'_, AttemptLog>> {
    let mut log = output.lock().unwrap_or_else(PoisonError::into_inner);
    log.refresh()?;
    Ok(log)
}
