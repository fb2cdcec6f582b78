//! One login in one worker's hands: the user's file, the worker's copy, and what was lent.
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

use super::Outcome;
use super::clis::Cli;
use super::credentials::Login;
use super::error::{Error, io};
use super::files::{self, Copy, Replaced, Stamp, Unfit, Users};

#[derive(Debug)]
pub(super) struct Lent {
    pub(super) cli: &'static Cli,
    pub(super) copy: Copy,
    user: PathBuf,
    record: PathBuf,
    /// What both had when they last agreed.
    agreed: Hash,
    /// Both files when they were last compared: the user's, the copy.
    seen: Option<[Option<Stamp>; 2]>,
}

impl Lent {
    /// Makes a copy of the user's login, if there is one.
    pub(super) fn begin(
        cli: &'static Cli,
        user: &Path,
        base: &Path,
    ) -> Result<Option<Lent>, Error> {
        let login = read_user(cli, user)?.map(|(_, login)| login);
        let Some(login) = login.filter(Login::is_usable) else {
            return Ok(None);
        };
        let lent = Lent::new(cli, user, base, login.fingerprint());
        lent.copy.create_directory()?;
        // First, so that no copy is ever without one.
        lent.write_record()?;
        let directory = lent.copy.directory();
        let written = lent.copy.replace(&login.lent());
        written.map_err(io("copy a login to", &directory))?;
        Ok(Some(lent))
    }

    /// Finds what was lent by a codeteam that was killed.
    pub(super) fn find(cli: &'static Cli, base: &Path) -> Result<Option<Lent>, Error> {
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
        Ok(Some(Lent::new(cli, user, base, agreed)))
    }

    fn new(cli: &'static Cli, user: &Path, base: &Path, agreed: Hash) -> Lent {
        Lent {
            cli,
            copy: Copy::new(base, cli),
            user: user.to_owned(),
            record: record(base, cli),
            agreed,
            seen: None,
        }
    }

    /// Whether either file was touched since they were last compared.
    pub(super) fn is_touched(&self) -> bool {
        self.seen != Some(self.stamps())
    }

    /// Brings the newer login to whoever has the older one. The lock must be held.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        // Taken before reading, so that what is written meanwhile is seen the next time.
        let stamps = self.stamps();
        let done = match self.give()? {
            Outcome::Unchanged | Outcome::Renewed => true,
            Outcome::Kept | Outcome::Refused { .. } => self.bring(stamps[1])?,
        };
        self.seen = done.then_some(stamps);
        Ok(())
    }

    /// Gives the user a login that the worker has renewed. The lock must be held.
    pub(super) fn give(&mut self) -> Result<Outcome, Error> {
        let copy = match self.read_copy() {
            Ok(copy) => copy,
            Err(reason) => return Ok(self.refused(reason)),
        };
        loop {
            let Some((file, user)) = read_user(self.cli, &self.user)? else {
                return Ok(Outcome::Kept);
            };
            let (users, copies) = (user.fingerprint(), copy.fingerprint());
            if copies == users {
                self.agree_on(copies)?;
                return Ok(Outcome::Unchanged);
            }
            if copies == self.agreed {
                return Ok(Outcome::Kept);
            }
            if !copy.is_of_the_account_of(&user) {
                return Ok(self.refused("it is another account's"));
            }
            if users != self.agreed && !copy.is_newer_than(&user) {
                return Ok(Outcome::Kept);
            }
            if file.replace(&user.renewed_from(&copy))? == Replaced::Yes {
                self.agree_on(copies)?;
                return Ok(Outcome::Renewed);
            }
        }
    }

    /// Removes the copy and the record.
    pub(super) fn end(self) -> Result<(), Error> {
        // A worker may have made that impossible; whoever made the directory removes it whole.
        let _ = self.copy.remove();
        match fs::remove_file(&self.record) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(io("remove", &self.record)(error))
            }
            _ => Ok(()),
        }
    }

    /// Gives the worker a login that the user has renewed, if the copy is still the one that was
    /// `seen`. Returns whether that is settled: it is not if the worker has just written its copy,
    /// or has made it impossible to write, which harms nobody else.
    pub(super) fn bring(&mut self, seen: Option<Stamp>) -> Result<bool, Error> {
        let user = read_user(self.cli, &self.user)?.map(|(_, user)| user);
        let newer = user.filter(|user| user.is_usable() && user.fingerprint() != self.agreed);
        let Some(user) = newer else {
            return Ok(true);
        };
        if self.copy.stamp() != seen || self.copy.replace(&user.lent()).is_err() {
            return Ok(false);
        }
        self.agree_on(user.fingerprint())?;
        Ok(true)
    }

    fn read_copy(&self) -> Result<Login, &'static str> {
        let bytes = self.copy.read().map_err(|unfit| match unfit {
            Unfit::System(error) if error.kind() == ErrorKind::NotFound => "it is gone",
            Unfit::System(_) => "it cannot be opened as a regular file",
            Unfit::Kind(reason) => reason,
        })?;
        let login = Login::read(&self.cli.credentials, &bytes).unwrap_or(None);
        login
            .filter(Login::is_usable)
            .ok_or("it does not have a login")
    }

    fn refused(&self, reason: &'static str) -> Outcome {
        let path = self.copy.directory().join(self.cli.credentials.file);
        Outcome::Refused { path, reason }
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

    fn stamps(&self) -> [Option<Stamp>; 2] {
        [Stamp::of(&self.user), self.copy.stamp()]
    }
}

fn record(base: &Path, cli: &Cli) -> PathBuf {
    base.join(format!("{}.loan", cli.name))
}

/// The user's file and the login in it, if there are.
pub(super) fn read_user(cli: &'static Cli, path: &Path) -> Result<Option<(Users, Login)>, Error> {
    let read = || -> Result<_, Unfit> {
        let Some(file) = Users::read(path)? else {
            return Ok(None);
        };
        let login = Login::read(&cli.credentials, &file.bytes)?;
        Ok(login.map(|login| (file, login)))
    };
    read().map_err(|unfit| match unfit {
        Unfit::System(error) => io("read", path)(error),
        Unfit::Kind(reason) => Error::NotCredentials {
            path: path.to_owned(),
            cli: cli.name,
            reason,
        },
    })
}
