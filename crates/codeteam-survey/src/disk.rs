//! Reads files of an untrusted repository: with a size limit, no symbolic links, no devices.

use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::surveyed_files::{FileReadOutcome, MAX_BYTES};

/// Reads a file below a folder. Symbolic links are not followed at any part of the path, and only
/// regular files are read.
pub fn read_below(root: &Path, path: &str) -> FileReadOutcome {
    let no = |why: &str| FileReadOutcome::Unreadable(why.to_owned());
    let mut folder = root.to_owned();
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") {
            return no("is not a path below the repository");
        }
        folder.push(part);
        match folder.symlink_metadata() {
            Ok(found) if found.is_symlink() => return no("is, or is behind, a symbolic link"),
            Ok(_) => {}
            Err(error) => {
                return FileReadOutcome::Unreadable(format!("could not be looked at ({error})"));
            }
        }
    }
    // `NONBLOCK`, so that opening a named pipe does not wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(&folder, flags, Mode::empty()) {
        Ok(file) => std::fs::File::from(file),
        Err(error) => return FileReadOutcome::Unreadable(format!("could not be opened ({error})")),
    };
    match file.metadata() {
        Ok(found) if !found.is_file() => return no("is not a regular file"),
        Ok(found) if found.len() > MAX_BYTES => return no("is larger than 1 MiB"),
        Ok(_) => {}
        Err(error) => {
            return FileReadOutcome::Unreadable(format!("could not be looked at ({error})"));
        }
    }
    let mut bytes = Vec::new();
    match file.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
        Err(error) => FileReadOutcome::Unreadable(format!("could not be read ({error})")),
        Ok(read) if read as u64 > MAX_BYTES => no("is larger than 1 MiB"),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => FileReadOutcome::Text(text),
            Err(_) => no("is not UTF-8 text"),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn why(read: FileReadOutcome) -> String {
        match read {
            FileReadOutcome::Text(text) => panic!("{text}"),
            FileReadOutcome::Unreadable(why) => why,
        }
    }

    #[test]
    fn only_plain_files_of_a_sensible_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("a/plain"), "text").unwrap();
        assert_eq!(
            read_below(&root, "a/plain"),
            FileReadOutcome::Text("text".to_owned())
        );
        symlink("../secret", root.join("link")).unwrap();
        symlink("..", root.join("up")).unwrap();
        assert!(why(read_below(&root, "link")).contains("symbolic link"));
        assert!(why(read_below(&root, "up/secret")).contains("symbolic link"));
        assert!(why(read_below(&root, "../secret")).contains("not a path"));
        assert!(why(read_below(&root, "a")).contains("not a regular file"));
        assert!(why(read_below(&root, "none")).contains("could not be looked at"));
        std::fs::write(root.join("binary"), [0xff, 0xfe]).unwrap();
        assert!(why(read_below(&root, "binary")).contains("UTF-8"));
        let size = usize::try_from(MAX_BYTES).unwrap();
        std::fs::write(root.join("large"), vec![b'x'; size + 1]).unwrap();
        assert!(why(read_below(&root, "large")).contains("1 MiB"));
        std::fs::write(root.join("full"), vec![b'x'; size]).unwrap();
        assert!(matches!(
            read_below(&root, "full"),
            FileReadOutcome::Text(_)
        ));
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        assert!(why(read_below(&root, "pipe")).contains("not a regular file"));
    }
}
