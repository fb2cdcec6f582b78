//! Reads and writes files that belong to a repository, and makes sure that they stay inside it.
//!
//! Whoever made the repository also made its symbolic links. A link that points elsewhere could
//! show models something they must not see, or make codeteam write where nobody asked it to.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

/// Reads a text file of at most `max` bytes, or returns `None` if there is no such file. If the
/// file belongs to a repository, `root` is that repository, and the file must not point outside it.
pub fn read_text(path: &Path, root: Option<&Path>, max: u64) -> io::Result<Option<String>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if let Some(root) = root {
        ensure_inside(path, root)?;
    }
    if !metadata.is_file() {
        return Err(io::Error::other("is no file"));
    }
    if metadata.len() > max {
        return Err(io::Error::other(format!(
            "is longer than {} KiB",
            max >> 10
        )));
    }
    let mut text = String::new();
    // The file may have grown since it was checked; no more than `max` is read either way.
    fs::File::open(path)?.take(max).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Refuses a path that resolves to somewhere outside the repository, or to a hidden file inside it
/// such as `.git/config` or `.env`. `.codeteam` is allowed.
pub fn ensure_inside(path: &Path, root: &Path) -> io::Result<()> {
    let (real, root) = (fs::canonicalize(path)?, fs::canonicalize(root)?);
    let below = real.strip_prefix(&root).map_err(|_| outside_error())?;
    let hidden = |part: Component<'_>| {
        let name = part.as_os_str();
        name.as_encoded_bytes().starts_with(b".") && name != ".codeteam"
    };
    if below.components().any(hidden) {
        return Err(io::Error::other(
            "leads to a hidden file, so it is not read",
        ));
    }
    Ok(())
}

/// Refuses to write to `path` below `folder` if any part of the way is a symbolic link, since the
/// data would end up elsewhere.
pub fn ensure_no_links(folder: &Path, path: &Path) -> Result<(), (PathBuf, io::Error)> {
    let mut at = folder.to_owned();
    let below = path.strip_prefix(folder).unwrap_or(Path::new(""));
    for part in std::iter::once(None).chain(below.components().map(Some)) {
        at.extend(part);
        let found = at.symlink_metadata();
        if found.is_ok_and(|found| found.is_symlink()) {
            let error = io::Error::other("is a symbolic link, and what is written stays here");
            return Err((at, error));
        }
    }
    Ok(())
}

fn outside_error() -> io::Error {
    io::Error::other("leads out of the repository, so it is not read")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_repository_links_to_is_read_only_if_it_is_its_own_and_in_the_open() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join(".codeteam/context")).unwrap();
        for file in ["../secret", ".git/config", ".env", "README.md"] {
            fs::write(root.join(file), "text").unwrap();
        }
        let read = |name: &str, to: &str| {
            let path = root.join(".codeteam/context").join(name);
            symlink(to, &path).unwrap();
            let read = read_text(&path, Some(&root), 100);
            read.map_err(|error| error.to_string())
        };
        assert_eq!(read("a", "../../README.md"), Ok(Some("text".to_owned())));
        assert_eq!(read("b", "../../none"), Ok(None));
        for (name, to) in [("c", "../../../secret"), ("d", "/dev/zero")] {
            assert!(read(name, to).unwrap_err().contains("leads out"), "{to}");
        }
        for (name, to) in [("e", "../../.git/config"), ("f", "../../.env")] {
            assert!(read(name, to).unwrap_err().contains("hidden"), "{to}");
        }
        assert!(read("g", "../..").unwrap_err().contains("is no file"));
        fs::write(root.join("long"), vec![b'x'; 101]).unwrap();
        assert!(read("h", "../../long").unwrap_err().contains("longer"));
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join(".codeteam");
        fs::create_dir_all(&own).unwrap();
        assert!(ensure_no_links(&own, &own.join("schema/role.json")).is_ok());
        symlink("elsewhere", own.join("schema")).unwrap();
        let (at, _) = ensure_no_links(&own, &own.join("schema/role.json")).unwrap_err();
        assert_eq!(at, own.join("schema"));
    }
}
