//! Asks pytest for a `JUnit` file, through its variable and without changing the project, and reads
//! what it has written.
//!
//! The file lies in a folder beside the work tree, so that it is no part of what is judged. The
//! tested process can write to it, so it is read as something that a stranger wrote: no link is
//! followed, nothing that is no plain file is opened, and a very long one is left alone.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use codeteam_core::shell::shell_word;
use codeteam_host::process::HostView;
use codeteam_host::workspace::Workspace;
use codeteam_sandbox::MountAccess;
use rustix::fs::{Mode, OFlags};

use crate::perform::Error;

/// The longest file that is read.
const LONGEST: u64 = 64 << 20;

/// The files by which a project is known to use pytest, and which may configure it.
const CONFIGURING: [&str; 8] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    "conftest.py",
];

/// A `JUnit` file that a command is asked to write.
pub(super) struct JunitFile {
    folder: PathBuf,
}

impl JunitFile {
    /// Prepares a folder for the file and shows it to the command. Returns `None` if the project
    /// does not use pytest, or says something about `JUnit` files itself.
    pub(super) fn request(
        workspace: &Workspace,
        command: &str,
        view: &mut HostView,
    ) -> Result<Option<Self>, Error> {
        let tree = workspace.tree_dir();
        let texts: Vec<String> = CONFIGURING
            .iter()
            .filter_map(|name| super::read(&tree, name))
            .collect();
        let is_used = !texts.is_empty() || command.contains("pytest");
        let says_junit = texts
            .iter()
            .map(String::as_str)
            .chain([command])
            .any(|text| text.contains("junit"));
        let folder = tree.with_file_name("report");
        // pytest puts the values of variables into the path.
        let is_plain = !folder.to_string_lossy().contains(['$', '~', '%']);
        if !is_used || says_junit || !is_plain {
            return Ok(None);
        }
        let made = remove(&folder).and_then(|()| fs::create_dir(&folder));
        made.map_err(|source| Error::Io {
            doing: "prepare the folder for test reports",
            path: folder.clone(),
            source,
        })?;
        view.show(folder.clone(), MountAccess::Writable);
        Ok(Some(Self { folder }))
    }

    /// Returns the variable that asks for the file.
    pub(super) fn variable(&self) -> (OsString, OsString) {
        let path = self.path();
        let option = shell_word(&format!("--junitxml={}", path.display()));
        ("PYTEST_ADDOPTS".into(), option.into())
    }

    /// Reads the file and removes it. Returns `None` if there is none that can be read.
    pub(super) fn take(self) -> Option<String> {
        let text = read_plain_file(&self.path());
        // Whatever is left there is removed before the next command.
        let _ = remove(&self.folder);
        text
    }

    fn path(&self) -> PathBuf {
        self.folder.join("pytest.xml")
    }
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn read_plain_file(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("plain"), "<testsuite/>").unwrap();
        assert_eq!(
            read_plain_file(&path("plain")).as_deref(),
            Some("<testsuite/>")
        );
        std::os::unix::fs::symlink(path("plain"), path("link")).unwrap();
        let made = rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), Mode::RUSR);
        made.unwrap();
        fs::create_dir(path("folder")).unwrap();
        for name in ["link", "pipe", "folder", "nothing"] {
            assert_eq!(read_plain_file(&path(name)), None, "{name}");
        }
    }
}
