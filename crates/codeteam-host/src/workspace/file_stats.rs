//! Reads the metadata of many files of a work tree, with all cores.
//!
//! Whether a large work tree is what it must be depends on one number of each file, and asking the
//! kernel for it is most of what that costs.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;

use rustix::fs::Stat;

use super::folder_notes::stat_below;

/// The least number of files for which a thread is worth its start.
const FILES_OF_A_THREAD: usize = 1_000;
/// The most threads: more of them only wait for each other in the kernel.
const MOST_THREADS: usize = 8;

/// Returns the metadata of files below an open folder, in their order, without following links in
/// their places; `None` for what is not there.
pub(super) fn stat_all(top: &OwnedFd, paths: &[&Path]) -> io::Result<Vec<Option<Stat>>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MOST_THREADS).min(paths.len() / FILES_OF_A_THREAD);
    let stat_each = |paths: &[&Path]| -> io::Result<Vec<Option<Stat>>> {
        paths.iter().map(|path| stat_below(top, path)).collect()
    };
    if threads < 2 {
        return stat_each(paths);
    }
    let parts = paths.chunks(paths.len().div_ceil(threads));
    let all: io::Result<Vec<_>> = thread::scope(|scope| {
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(move || stat_each(part)))
            .collect();
        let died = |_| io::Error::other("a thread that looked at files has ended unexpectedly");
        let found = parts.into_iter().map(|part| part.join().map_err(died)?);
        found.collect()
    });
    Ok(all?.concat())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::verify::open_top;
    use super::*;

    #[test]
    fn many_files_are_looked_at_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let count = 3 * FILES_OF_A_THREAD;
        let paths: Vec<PathBuf> = (0..count).map(|n| format!("f{n}").into()).collect();
        for (n, path) in paths.iter().enumerate() {
            // Every seventh is missing.
            if n % 7 != 0 {
                fs::write(folder.path().join(path), vec![b'x'; n % 50]).unwrap();
            }
        }
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let found = stat_all(&open_top(folder.path()).unwrap(), &paths).unwrap();
        let sizes: Vec<Option<i64>> = found
            .iter()
            .map(|found| found.as_ref().map(|found| found.st_size))
            .collect();
        let wanted = |n: usize| (!n.is_multiple_of(7)).then(|| i64::try_from(n % 50).unwrap());
        assert_eq!(sizes, (0..count).map(wanted).collect::<Vec<_>>());
        let none = stat_all(&open_top(folder.path()).unwrap(), &[]).unwrap();
        assert!(none.is_empty());
    }
}
