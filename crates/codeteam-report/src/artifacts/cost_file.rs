//! Writes `cost.json`: what the run has spent, taken apart.

use std::time::Instant;

use codeteam_core::untrusted_text::escape_json;
use codeteam_core::{Event, Run};

use super::{Error, run_folder, write_atomically};
use crate::costs::{CostBreakdown, CostLedger};
use crate::records::ProjectRecords;

/// Writing the file takes at most one part in this many of a run's time.
const SHARE: u32 = 20;

/// The costs of a run as its events tell them, and whether the file lacks any.
#[derive(Default)]
pub(super) struct CostFile {
    ledger: CostLedger,
    is_stale: bool,
    /// The earliest moment at which it is written again.
    next: Option<Instant>,
}

impl CostFile {
    /// Returns what was spent as far as events have been observed.
    pub(super) fn ledger(&self) -> &CostLedger {
        &self.ledger
    }

    pub(super) fn observe(&mut self, event: &Event) {
        self.is_stale |= self.ledger.observe(event) || matches!(event, Event::RunStarted(_));
    }

    /// Writes the file if it lacks something and was not written a moment ago.
    pub(super) fn write_if_due(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
    ) -> Result<(), Error> {
        if self.next.is_some_and(|next| Instant::now() < next) {
            return Ok(());
        }
        self.write(records, run)
    }

    /// Writes the file if it lacks something.
    pub(super) fn write(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        if !self.is_stale {
            return Ok(());
        }
        let begun = Instant::now();
        let breakdown = CostBreakdown::new(&run.id, &self.ledger);
        let text = serde_json::to_string_pretty(&breakdown).unwrap_or_default();
        let text = escape_json(format!("{text}\n"));
        let text = records.redactor.redact(&text).text;
        write_atomically(&run_folder(records, run).join("cost.json"), text.as_bytes())?;
        self.is_stale = false;
        self.next = Some(begun + begun.elapsed() * SHARE);
        Ok(())
    }
}
