//! Tells a full disk from a failure: it is nobody's fault in the run, so it must not use up tries
//! or fail tasks. codeteam stops, and goes on when there is room.

use std::io;
use std::path::{Path, PathBuf};

use codeteam_core::input::{Input, WorkerEnd};

use super::{Error, with_causes};

/// The disk is full: codeteam itself cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the disk of `{}` is full: {what}", folder.display())]
pub struct DiskFull {
    /// Where there is no room.
    pub folder: PathBuf,
    /// What could not be done.
    pub what: String,
}

/// What libraries and git say then.
const WORDS: &[&str] = &[
    "No space left on device",
    "Out of diskspace",
    "Disk quota exceeded",
];

/// Below this a disk is full for whoever says that it is.
const LITTLE_ROOM: u64 = 16 << 20;

/// Below this it is full, whatever is said: git does not always name the cause.
const NO_ROOM: u64 = 1 << 20;

/// Whether an error of codeteam's own comes from a full disk.
pub(super) fn by_error(error: &Error, folder: &Path) -> Option<DiskFull> {
    let mut next: Option<&dyn std::error::Error> = Some(error);
    let mut full = false;
    while let Some(error) = next {
        full |= error.downcast_ref::<io::Error>().is_some_and(|error| {
            matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            )
        });
        next = error.source();
    }
    let what = with_causes(error);
    (full || says_so(&what) || has_less_than(NO_ROOM, folder)).then(|| DiskFull {
        folder: folder.to_owned(),
        what,
    })
}

/// Whether a worker or a check failed for want of room. Its word alone is not enough: a project's
/// own tests may well print it.
pub(super) fn by_result(input: &Input, folder: &Path) -> Option<DiskFull> {
    let said = match input {
        Input::WorkerExited { report, .. } => match &report.end {
            WorkerEnd::Failed(facts) => Some(facts.message.as_str()),
            WorkerEnd::Answered(_) => None,
        },
        Input::GateFinished { results, .. } => results
            .iter()
            .filter(|result| !result.passed)
            .map(|result| result.summary.as_str())
            .find(|summary| says_so(summary)),
        _ => None,
    };
    let what = said.filter(|said| says_so(said))?.to_owned();
    has_less_than(LITTLE_ROOM, folder).then(|| DiskFull {
        folder: folder.to_owned(),
        what,
    })
}

fn has_less_than(bytes: u64, folder: &Path) -> bool {
    rustix::fs::statvfs(folder)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < bytes)
}

fn says_so(text: &str) -> bool {
    WORDS.iter().any(|words| text.contains(words))
}
