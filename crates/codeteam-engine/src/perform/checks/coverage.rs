//! Looks for a report in which a command has just written which lines the tests have run.

use std::io::Read as _;
use std::time::SystemTime;

use codeteam_core::checks::ChangedCoverage;
use codeteam_verify::coverage::{LONGEST, read_coverage};
use codeteam_verify::proof::TestPatterns;

use super::GateChecks;
use super::tree_files::open_file;
use crate::perform::Error;
use rustix::fs::OFlags;

impl GateChecks<'_> {
    /// Compares the first report that was written since `begun` with the changed lines.
    pub(super) fn changed_coverage(
        &self,
        begun: SystemTime,
    ) -> Result<Option<ChangedCoverage>, Error> {
        let config = self.look.job.gate_config(self.look.context.engine)?;
        let tree = self.look.workspace.tree_dir();
        for path in &config.coverage_reports {
            let Some(text) = read_report(&tree, path, begun) else {
                continue;
            };
            let tests = TestPatterns::new(&config.test_paths);
            if let Some(found) = read_coverage(path, &text, self.look.change()?, &tests) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Reads a report, unless it was there before, or is anything but a file of a usual length.
fn read_report(tree: &std::path::Path, path: &str, begun: SystemTime) -> Option<String> {
    let file = open_file(tree, path, OFlags::RDONLY).ok()?;
    let found = file.metadata().ok()?;
    let is_new = found.modified().is_ok_and(|written| written >= begun);
    if !is_new || found.len() > LONGEST as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
