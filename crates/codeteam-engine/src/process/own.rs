//! Has codeteam itself do something in another process.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs codeteam's own program to its end, in its own environment, and returns what it printed; `None`
/// if it did not do well. What it needed of memory goes with it, which an allocator would keep.
#[expect(
    clippy::disallowed_methods,
    reason = "this module spawns; the program is codeteam's own"
)]
pub fn own<A: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = A>,
    folder: &Path,
) -> io::Result<Option<Vec<u8>>> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    Ok(output.status.success().then_some(output.stdout))
}
