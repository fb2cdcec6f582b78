//! Copies and reads files for as long as the thread's [`WaitLimit`] allows: a cache of gigabytes is
//! copied until the run is aborted, and not until it is copied.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::wait_limit::WaitLimit;

/// How many bytes are copied between two checks of the clock.
const CHUNK: u64 = 32 << 20;

/// Copies a regular file with its permissions to a path where nothing is yet, and returns the copy.
/// File systems that can share blocks share them.
pub fn copy_file(from: &Path, to: &Path) -> io::Result<File> {
    let source = File::open(from)?;
    let permissions = source.metadata()?.permissions();
    let mut copy = OpenOptions::new().write(true).create_new(true).open(to)?;
    loop {
        WaitLimit::current().check_io()?;
        if io::copy(&mut (&source).take(CHUNK), &mut copy)? == 0 {
            break;
        }
    }
    copy.set_permissions(permissions)?;
    Ok(copy)
}

/// A reader that fails when the thread's [`WaitLimit`] says so.
pub struct LimitedReader<R>(pub R);

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        WaitLimit::current().check_io()?;
        self.0.read(into)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_copy_is_whole_and_ends_with_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        fs::write(&from, &bytes).unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o440)).unwrap();
        drop(copy_file(&from, &to).unwrap());
        assert_eq!(fs::read(&to).unwrap(), bytes);
        let mode = fs::metadata(&to).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o440);

        let _limit = WaitLimit::limit_to(Duration::ZERO);
        let late = copy_file(&from, &folder.path().join("late")).unwrap_err();
        assert_eq!(late.to_string(), "it took too long");
        let mut reader = LimitedReader(File::open(&from).unwrap());
        let late = io::copy(&mut reader, &mut io::sink()).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    }
}
