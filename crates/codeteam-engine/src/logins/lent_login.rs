//! A login that is lent to one worker: the user's file, the worker's copy, and the record of the
//! loan.
//!
//! ```text
//! <base>/<directory of the CLI>/…   what the worker sees and writes, with the copy in it
//! <base>/<name of the CLI>.loan     codeteam's record, for the case that it is killed
//! ```

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use blake3::Hash;

use super::LoanOutcome;
use super::credentials::CredentialContent;
use super::error::{Error, io};
use super::files::{
    self, CredentialCopy, CredentialReadError, FileStamp, ReplaceOutcome, UserCredentialFile,
};
use crate::worker_clis::WorkerCli;

/// One loan. It decides by fingerprints which of the two files is newer: `agreed` is the login that
/// both had last, so a file that differs from it has changed since.
#[derive(Debug)]
pub(super) struct LentLogin {
    pub(super) cli: &'static WorkerCli,
    pub(super) copy: CredentialCopy,
    user: PathBuf,
    record: PathBuf,
    /// The fingerprint of the login when both files last agreed.
    agreed: Hash,
    /// The stamps of both files when they were last compared: the user's, the copy.
    seen: Option<[Option<FileStamp>; 2]>,
}

impl LentLogin {
    /// Copies the user's login, if there is one.
    pub(super) fn begin(
        cli: &'static WorkerCli,
        user: &Path,
        base: &Path,
    ) -> Result<Option<LentLogin>, Error> {
        let login = read_user(cli, user)?.map(|(_, login)| login);
        let Some(login) = login.filter(CredentialContent::is_usable) else {
            return Ok(None);
        };
        let lent = LentLogin::new(cli, user, base, login.fingerprint());
        lent.copy.create_directory()?;
        // Write the record first, so that no copy ever exists without one.
        lent.write_record()?;
        let directory = lent.copy.directory();
        let written = lent.copy.replace(&login.for_worker());
        written.map_err(io("copy a login to", &directory))?;
        Ok(Some(lent))
    }

    /// Finds a loan of a codeteam that was killed.
    pub(super) fn find(cli: &'static WorkerCli, base: &Path) -> Result<Option<LentLogin>, Error> {
        let path = record(base, cli);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(io("read", &path))?,
        };
        let line = bytes.iter().position(|byte| *byte == b'\n');
        let parts = line.and_then(|line| {
            let agreed = Hash::from_hex(&bytes[..line]).ok()?;
            Some((agreed, Path::new(OsStr::from_bytes(&bytes[line + 1..]))))
        });
        let (agreed, user) = parts.ok_or(Error::BrokenRecord { path })?;
        Ok(Some(LentLogin::new(cli, user, base, agreed)))
    }

    fn new(cli: &'static WorkerCli, user: &Path, base: &Path, agreed: Hash) -> LentLogin {
        LentLogin {
            cli,
            copy: CredentialCopy::new(base, cli),
            user: user.to_owned(),
            record: record(base, cli),
            agreed,
            seen: None,
        }
    }

    /// Returns true if either file was touched since they were last compared.
    pub(super) fn is_touched(&self) -> bool {
        self.seen != Some(self.stamps())
    }

    /// Copies the newer login over the older one. The lock must be held.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        // Taken before reading, so that a write in the meantime is noticed the next time.
        let stamps = self.stamps();
        let done = match self.return_to_user()? {
            LoanOutcome::Unchanged | LoanOutcome::Renewed => true,
            LoanOutcome::Kept | LoanOutcome::Refused { .. } => self.pass_to_worker(stamps[1])?,
        };
        self.seen = done.then_some(stamps);
        Ok(())
    }

    /// Gives the user a login that the worker has renewed. The lock must be held.
    pub(super) fn return_to_user(&mut self) -> Result<LoanOutcome, Error> {
        let copy = match self.read_copy() {
            Ok(copy) => copy,
            Err(reason) => return Ok(self.refused(reason)),
        };
        loop {
            let Some((file, user)) = read_user(self.cli, &self.user)? else {
                return Ok(LoanOutcome::Kept);
            };
            let (users, copies) = (user.fingerprint(), copy.fingerprint());
            if copies == users {
                self.agree_on(copies)?;
                return Ok(LoanOutcome::Unchanged);
            }
            if copies == self.agreed {
                return Ok(LoanOutcome::Kept);
            }
            if !copy.has_same_account(&user) {
                return Ok(self.refused("it is another account's"));
            }
            if users != self.agreed && !copy.is_newer_than(&user) {
                return Ok(LoanOutcome::Kept);
            }
            if file.replace(&user.renewed_from(&copy))? == ReplaceOutcome::Yes {
                self.agree_on(copies)?;
                return Ok(LoanOutcome::Renewed);
            }
        }
    }

    /// Removes the copy and the record.
    pub(super) fn end(self) -> Result<(), Error> {
        // A worker may have made that impossible; whoever created the directory removes it as a
        // whole.
        let _ = self.copy.remove();
        match fs::remove_file(&self.record) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(io("remove", &self.record)(error))
            }
            _ => Ok(()),
        }
    }

    /// Gives the worker a login that the user has renewed, if the copy still has the stamp `seen`.
    /// Returns whether that is settled: it is not if the worker has just written its copy, or has
    /// made it impossible to write, which harms nobody else.
    pub(super) fn pass_to_worker(&mut self, seen: Option<FileStamp>) -> Result<bool, Error> {
        let user = read_user(self.cli, &self.user)?.map(|(_, user)| user);
        let newer = user.filter(|user| user.is_usable() && user.fingerprint() != self.agreed);
        let Some(user) = newer else {
            return Ok(true);
        };
        if self.copy.stamp() != seen || self.copy.replace(&user.for_worker()).is_err() {
            return Ok(false);
        }
        self.agree_on(user.fingerprint())?;
        Ok(true)
    }

    fn read_copy(&self) -> Result<CredentialContent, &'static str> {
        let bytes = self.copy.read().map_err(|unfit| match unfit {
            CredentialReadError::System(error) if error.kind() == ErrorKind::NotFound => {
                "it is gone"
            }
            CredentialReadError::System(_) => "it cannot be opened as a regular file",
            CredentialReadError::Kind(reason) => reason,
        })?;
        let login = CredentialContent::read(&self.cli.credentials, &bytes).unwrap_or(None);
        login
            .filter(CredentialContent::is_usable)
            .ok_or("it does not have a login")
    }

    fn refused(&self, reason: &'static str) -> LoanOutcome {
        let path = self.copy.directory().join(self.cli.credentials.file);
        LoanOutcome::Refused { path, reason }
    }

    fn agree_on(&mut self, login: Hash) -> Result<(), Error> {
        if login == self.agreed {
            return Ok(());
        }
        self.agreed = login;
        self.write_record()
    }

    fn write_record(&self) -> Result<(), Error> {
        let mut bytes = format!("{}\n", self.agreed).into_bytes();
        bytes.extend(self.user.as_os_str().as_bytes());
        files::write(&self.record, &bytes)
    }

    fn stamps(&self) -> [Option<FileStamp>; 2] {
        [FileStamp::from_path(&self.user), self.copy.stamp()]
    }
}

fn record(base: &Path, cli: &WorkerCli) -> PathBuf {
    base.join(format!("{}.loan", cli.name))
}

/// Reads the user's file and the login in it, if they exist.
pub(super) fn read_user(
    cli: &'static WorkerCli,
    path: &Path,
) -> Result<Option<(UserCredentialFile, CredentialContent)>, Error> {
    let read = || -> Result<_, CredentialReadError> {
        let Some(file) = UserCredentialFile::read(path)? else {
            return Ok(None);
        };
        let login = CredentialContent::read(&cli.credentials, &file.bytes)?;
        Ok(login.map(|login| (file, login)))
    };
    read().map_err(|unfit| match unfit {
        CredentialReadError::System(error) => io("read", path)(error),
        CredentialReadError::Kind(reason) => Error::NotCredentials {
            path: path.to_owned(),
            cli: cli.name,
            reason,
        },
    })
}
