//! Changes files of the worktree, and of nothing else.
//!
//! A script is trusted, but its author makes mistakes like anyone: a path that
//! leads outside, also through a symbolic link, is refused.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::Error;

/// The treatment of a path that is a symbolic link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkHandling {
    /// The file that it points to is changed.
    Followed,
    /// The entry itself is removed.
    Kept,
}

pub(super) fn write(root: &Path, path: &str, content: &str) -> Result<(), Error> {
    let target = resolve_inside(root, path, LinkHandling::Followed)?;
    create_parent(&target)
        .and_then(|()| fs::write(&target, content))
        .map_err(action_error("write", path))
}

pub(super) fn append(root: &Path, path: &str, content: &str) -> Result<(), Error> {
    let target = resolve_inside(root, path, LinkHandling::Followed)?;
    create_parent(&target)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(&target))
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(action_error("append to", path))
}

/// Removes a file, a link or a whole directory.
pub(super) fn delete(root: &Path, path: &str) -> Result<(), Error> {
    let target = resolve_inside(root, path, LinkHandling::Kept)?;
    fs::symlink_metadata(&target)
        .and_then(|found| {
            if found.is_dir() {
                fs::remove_dir_all(&target)
            } else {
                fs::remove_file(&target)
            }
        })
        .map_err(action_error("delete", path))
}

pub(super) fn set_executable(root: &Path, path: &str, executable: bool) -> Result<(), Error> {
    let target = resolve_inside(root, path, LinkHandling::Followed)?;
    fs::metadata(&target)
        .and_then(|found| {
            let mode = found.permissions().mode();
            let mode = if executable {
                mode | 0o111
            } else {
                mode & !0o111
            };
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))
        })
        .map_err(action_error("change the mode of", path))
}

fn create_parent(target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), fs::create_dir_all)
}

fn action_error(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> Error {
    let subject = path.to_owned();
    move |source| Error::Action {
        action,
        subject,
        source,
    }
}

/// The real place of a path, which is inside the root even if links are
/// followed. Parts that do not exist yet cannot be links.
fn resolve_inside(root: &Path, path: &str, last: LinkHandling) -> Result<PathBuf, Error> {
    let outside = |reason| Error::Outside {
        path: path.to_owned(),
        reason,
    };
    let root = root.canonicalize().map_err(action_error("find", path))?;
    let mut place = root.clone();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => continue,
            Component::ParentDir => return Err(outside("it contains `..`")),
            Component::RootDir | Component::Prefix(_) => return Err(outside("it is absolute")),
        }
        let is_followed = parts.peek().is_some() || last == LinkHandling::Followed;
        let is_link = fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink());
        if is_followed && is_link {
            place = place
                .canonicalize()
                .map_err(|_| outside("a link in it leads nowhere"))?;
            if !place.starts_with(&root) {
                return Err(outside("a link in it leads out"));
            }
        }
    }
    if place == root {
        return Err(outside("it names the worktree itself"));
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_written_appended_and_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, "a/b/c.txt", "one\n").unwrap();
        append(root, "./a/b/c.txt", "two\n").unwrap();
        append(root, "new.txt", "x").unwrap();
        let text = fs::read_to_string(root.join("a/b/c.txt")).unwrap();
        assert_eq!(text, "one\ntwo\n");
        set_executable(root, "new.txt", true).unwrap();
        let mode = || fs::metadata(root.join("new.txt")).unwrap().permissions();
        assert_eq!(mode().mode() & 0o111, 0o111);
        set_executable(root, "new.txt", false).unwrap();
        assert_eq!(mode().mode() & 0o111, 0);
        delete(root, "a").unwrap();
        delete(root, "new.txt").unwrap();
        assert_eq!(fs::read_dir(root).unwrap().count(), 0);
        assert!(delete(root, "new.txt").is_err());
    }

    #[test]
    fn nothing_outside_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        let outside = dir.path().join("outside");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink(outside.join("new"), root.join("dangling")).unwrap();
        for path in [
            "/etc/x",
            "../x",
            "a/../../x",
            "out/x",
            "out",
            "dangling",
            "",
            ".",
        ] {
            let error = write(&root, path, "x").unwrap_err();
            assert!(matches!(error, Error::Outside { .. }), "{path}: {error}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn links_inside_are_followed_and_deleted_as_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        write(root, "link/x", "x").unwrap();
        assert!(root.join("real/x").exists());
        delete(root, "link").unwrap();
        assert!(root.join("real/x").exists());
    }
}
