//! The user's subscription logins, lent to the workers that need them.
//!
//! A worker gets a private copy of its CLI's login and of nothing else: no settings, no history,
//! no key, no other CLI's login. The CLI renews it as it would anywhere. Servers accept a renewed
//! token once, so it goes back to the user's file at once and from there to every other worker
//! (see [`Logins::sync`]). Copies are compared, replaced and given back under one lock.
//!
//! A copy is written by a worker, so only the tokens in it are believed: they are put into the
//! user's file, which otherwise stays as it is. A copy that cannot be believed is
//! [`LoanOutcome::Refused`]; an `Err` is about the user's own file or codeteam's.

pub mod clis;
mod credentials;
mod error;
mod files;
pub mod keys;
mod lent;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use clis::WorkerCli;
pub use error::Error;
use jiff::Timestamp;

use crate::env::Env;
use clis::DirectoryVariable;
use lent::LentLogin;

/// The user's logins, and who has them. A clone is another handle to the same.
#[derive(Debug, Clone)]
pub struct Logins(Arc<LoginRegistry>);

#[derive(Debug)]
struct LoginRegistry {
    /// Where the user has each CLI's files.
    directories: BTreeMap<&'static str, PathBuf>,
    lock: PathBuf,
    loans: Mutex<LoanTable>,
}

#[derive(Debug, Default)]
struct LoanTable {
    lent: BTreeMap<u64, LentLogin>,
    next: u64,
}

/// A login that one worker has, until it is given back. If it is dropped instead, the copy stays
/// for [`Logins::recover`].
#[derive(Debug)]
pub struct LoginLoan {
    logins: Logins,
    number: u64,
    cli: &'static WorkerCli,
    directory: PathBuf,
}

/// What came of giving a login back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoanOutcome {
    /// The worker had the login that the user has.
    Unchanged,
    /// The worker had renewed it, and now the user has it too.
    Renewed,
    /// The user has a newer one, or has logged out.
    Kept,
    /// The worker's copy was not believed.
    Refused {
        /// The copy.
        path: PathBuf,
        /// What was wrong with it.
        reason: &'static str,
    },
}

/// How a login of the user's stands, as far as its file tells. Whether the server still takes it,
/// only the server knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginFileStatus {
    /// There is none, or no place to look for one.
    None {
        /// Where it was looked for.
        path: Option<PathBuf>,
    },
    /// Its tokens were taken out: it has ended.
    Ended {
        /// The file.
        path: PathBuf,
    },
    /// It can be lent.
    Usable {
        /// The file.
        path: PathBuf,
        /// Until when its token is good, if the file says. Its CLI renews one that is not.
        until: Option<Timestamp>,
    },
}

impl Logins {
    /// The logins below the user's `home`, or where the user's `variable`s say they are. `state`
    /// is codeteam's own directory.
    pub fn new(
        home: Option<&Path>,
        state: &Path,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Logins {
        let moved = |name| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let below = |home: &Path, cli: &WorkerCli| home.join(cli.directory);
        let directory = |cli: &'static WorkerCli| match cli.moved_by {
            DirectoryVariable::Directory(name) => moved(name).or_else(|| Some(below(home?, cli))),
            DirectoryVariable::Home(name) => Some(below(moved(name).as_deref().or(home)?, cli)),
        };
        let found = |cli: &'static WorkerCli| Some((cli.name, directory(cli)?));
        Logins(Arc::new(LoginRegistry {
            directories: clis::ALL.into_iter().filter_map(found).collect(),
            lock: state.join("logins.lock"),
            loans: Mutex::default(),
        }))
    }

    /// The logins of the user whose environment this is.
    pub fn of(env: &Env) -> Logins {
        let state = env.state_home.clone().unwrap_or_default().join("codeteam");
        Self::new(env.home.as_deref(), &state, |name| {
            env.moved.get(name).cloned()
        })
    }

    /// Copies the user's login, the one in `login` if that is said, into `directory`, which must be
    /// one worker's alone; `None` if the user has none.
    pub fn lend(
        &self,
        cli: &'static WorkerCli,
        login: Option<&Path>,
        directory: &Path,
    ) -> Result<Option<LoginLoan>, Error> {
        if let Some(left) = LentLogin::find(cli, directory)? {
            self.settle(left)?;
        }
        let known = self.0.directories.get(cli.name).map(PathBuf::as_path);
        let Some(users) = login.or(known) else {
            return Ok(None);
        };
        let user = users.join(cli.credentials.file);
        let Some(lent) = LentLogin::begin(cli, &user, directory)? else {
            return Ok(None);
        };
        let directory = lent.copy.directory();
        let mut loans = self.loans();
        let number = loans.next;
        loans.next += 1;
        loans.lent.insert(number, lent);
        Ok(Some(LoginLoan {
            logins: self.clone(),
            number,
            cli,
            directory,
        }))
    }

    /// How the user's login stands, the one in `login` if that is said. Nothing is copied.
    pub fn standing(
        &self,
        cli: &'static WorkerCli,
        login: Option<&Path>,
    ) -> Result<LoginFileStatus, Error> {
        let known = self.0.directories.get(cli.name).map(PathBuf::as_path);
        let Some(users) = login.or(known) else {
            return Ok(LoginFileStatus::None { path: None });
        };
        let path = users.join(cli.credentials.file);
        Ok(match lent::read_user(cli, &path)? {
            None => LoginFileStatus::None { path: Some(path) },
            Some((_, login)) if !login.is_usable() => LoginFileStatus::Ended { path },
            Some((_, login)) => LoginFileStatus::Usable {
                until: login.until(),
                path,
            },
        })
    }

    /// Takes renewed logins back and passes them on to everybody else who has them. To be called
    /// about once a second while anybody has; that costs a few `stat`s if nothing has changed.
    /// Every login is seen to, and the first error is returned; the next call tries again.
    pub fn sync(&self) -> Result<(), Error> {
        let mut result = Ok(());
        let mut loans = self.loans();
        // What the first round takes back, the second one passes on.
        for _ in 0..2 {
            for lent in loans.lent.values_mut().filter(|lent| lent.is_touched()) {
                let synced = files::lock(&self.0.lock).and_then(|_lock| lent.sync());
                result = result.and(synced);
            }
        }
        result
    }

    /// Gives back what a killed codeteam has lent in `directory`, and removes the copies. Nobody
    /// may be working there.
    pub fn recover(
        &self,
        directory: &Path,
    ) -> Result<Vec<(&'static WorkerCli, LoanOutcome)>, Error> {
        let mut outcomes = Vec::new();
        for cli in clis::ALL {
            if let Some(lent) = LentLogin::find(cli, directory)? {
                outcomes.push((cli, self.settle(lent)?));
            }
        }
        Ok(outcomes)
    }

    fn settle(&self, mut lent: LentLogin) -> Result<LoanOutcome, Error> {
        let _lock = files::lock(&self.0.lock)?;
        let outcome = lent.give()?;
        lent.end()?;
        Ok(outcome)
    }

    fn loans(&self) -> MutexGuard<'_, LoanTable> {
        let loans = self.0.loans.lock();
        loans.unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoanOutcome {
    /// What a person should know of it, if there is something to be seen to.
    pub fn objection(&self, cli: &WorkerCli) -> Option<String> {
        let LoanOutcome::Refused { reason, .. } = self else {
            return None;
        };
        let name = cli.name;
        Some(format!(
            "a worker's copy of the login of `{name}` was not taken back: {reason}"
        ))
    }
}

impl LoginLoan {
    /// Whose login it is.
    pub fn cli(&self) -> &'static WorkerCli {
        self.cli
    }

    /// What the worker must be able to write: directories of the host, and where they belong
    /// relative to its home. Whole directories, because a CLI may replace its file by a rename,
    /// which cannot be done to a mounted file.
    pub fn binds(&self) -> Vec<(PathBuf, PathBuf)> {
        vec![(self.directory.clone(), self.cli.directory.into())]
    }

    /// What the worker's environment must have.
    pub fn env(&self) -> &'static [(&'static str, &'static str)] {
        self.cli.env
    }

    /// Gives the login back and removes the copy; its worker must have ended. If this fails, the
    /// copy stays for [`Logins::recover`].
    pub fn give_back(self) -> Result<LoanOutcome, Error> {
        let lent = self.logins.loans().lent.remove(&self.number);
        lent.map_or(Ok(LoanOutcome::Unchanged), |lent| self.logins.settle(lent))
    }
}

impl Drop for LoginLoan {
    fn drop(&mut self) {
        self.logins.loans().lent.remove(&self.number);
    }
}
