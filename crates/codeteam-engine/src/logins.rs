//! Lends the user's subscription logins to the workers that need them.
//!
//! A worker gets a private copy of its CLI's login and of nothing else: no settings, no history, no
//! key, no other CLI's login. The CLI renews it as it would anywhere. Servers accept a renewed
//! token once, so it goes back to the user's file at once and from there to every other worker (see
//! [`Logins::sync`]). Copies are compared, replaced and given back under one lock.
//!
//! A worker can write its copy, so only the tokens in it are trusted: they are put into the user's
//! file, which otherwise stays as it is. A copy that cannot be trusted is [`LoanOutcome::Refused`];
//! an `Err` is about the user's own file or codeteam's.

mod credentials;
mod error;
mod files;
mod lent_login;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::worker_clis::WorkerCli;
pub use error::Error;
use jiff::Timestamp;

use crate::env::Env;
use crate::worker_clis::{self, DirectoryVariable};
use lent_login::LentLogin;

/// The user's logins, and the loans of this process. A clone is another handle to the same data.
///
/// The life of a loan: [`Logins::lend`] copies the login into a worker's directory,
/// [`Logins::sync`] is called about once a second while any loan exists, and
/// [`LoginLoan::give_back`] ends the loan after the worker has exited. If codeteam is killed in
/// between, [`Logins::recover`] ends the loan from the record on disk.
#[derive(Debug, Clone)]
pub struct Logins(Arc<LoginRegistry>);

/// The data that all clones of [`Logins`] share.
#[derive(Debug)]
struct LoginRegistry {
    /// The user's directory of each CLI.
    directories: BTreeMap<&'static str, PathBuf>,
    lock: PathBuf,
    loans: Mutex<LoanTable>,
}

/// The loans of this process, by number.
#[derive(Debug, Default)]
struct LoanTable {
    lent: BTreeMap<u64, LentLogin>,
    next: u64,
}

/// A login that is lent to one worker, until it is given back. If it is dropped instead, the copy
/// stays for [`Logins::recover`].
#[derive(Debug)]
pub struct LoginLoan {
    logins: Logins,
    number: u64,
    cli: &'static WorkerCli,
    directory: PathBuf,
}

/// The result of giving a login back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoanOutcome {
    /// The worker had the same login as the user.
    Unchanged,
    /// The worker had renewed it, and now the user has it too.
    Renewed,
    /// The user has a newer one, or has logged out.
    Kept,
    /// The worker's copy was not trusted.
    Refused {
        /// The path of the copy.
        path: PathBuf,
        /// The problem with it.
        reason: &'static str,
    },
}

/// The state of one of the user's logins, according to its file. Whether the server still accepts
/// it, only the server knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginFileStatus {
    /// There is none, or no place to look for one.
    None {
        /// The path where it was looked for.
        path: Option<PathBuf>,
    },
    /// Its tokens are empty: the login has ended.
    Ended {
        /// The credential file.
        path: PathBuf,
    },
    /// It can be lent.
    Usable {
        /// The credential file.
        path: PathBuf,
        /// When its token expires, if the file says so. The CLI renews an expired token.
        until: Option<Timestamp>,
    },
}

impl Logins {
    /// Returns the logins below the user's `home`, or where the user's `variable`s point. `state`
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
            directories: worker_clis::ALL.into_iter().filter_map(found).collect(),
            lock: state.join("logins.lock"),
            loans: Mutex::default(),
        }))
    }

    /// Returns the logins of the user whose environment this is.
    pub fn for_user(env: &Env) -> Logins {
        let state = env.state_home.clone().unwrap_or_default().join("codeteam");
        Self::new(env.home.as_deref(), &state, |name| {
            env.moved_directories.get(name).cloned()
        })
    }

    /// Copies the user's login, from `login` if that is given, into `directory`, which must belong
    /// to one worker only. Returns `None` if the user has no login.
    pub fn lend(
        &self,
        cli: &'static WorkerCli,
        login: Option<&Path>,
        directory: &Path,
    ) -> Result<Option<LoginLoan>, Error> {
        if let Some(left) = LentLogin::find(cli, directory)? {
            self.finish_loan(left)?;
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

    /// Returns the state of the user's login, the one in `login` if that is given. Copies nothing.
    pub fn file_status(
        &self,
        cli: &'static WorkerCli,
        login: Option<&Path>,
    ) -> Result<LoginFileStatus, Error> {
        let known = self.0.directories.get(cli.name).map(PathBuf::as_path);
        let Some(users) = login.or(known) else {
            return Ok(LoginFileStatus::None { path: None });
        };
        let path = users.join(cli.credentials.file);
        Ok(match lent_login::read_user(cli, &path)? {
            None => LoginFileStatus::None { path: Some(path) },
            Some((_, login)) if !login.is_usable() => LoginFileStatus::Ended { path },
            Some((_, login)) => LoginFileStatus::Usable {
                until: login.expires_at(),
                path,
            },
        })
    }

    /// Takes renewed logins back and passes them on to every other worker that has them. Call it
    /// about once a second while there are loans; it costs a few `stat`s if nothing has changed.
    /// Every login is handled, and the first error is returned; the next call tries again.
    pub fn sync(&self) -> Result<(), Error> {
        let mut result = Ok(());
        let mut loans = self.loans();
        // The second round passes on what the first round has taken back.
        for _ in 0..2 {
            for lent in loans.lent.values_mut().filter(|lent| lent.is_touched()) {
                let synced = files::lock(&self.0.lock).and_then(|_lock| lent.sync());
                result = result.and(synced);
            }
        }
        result
    }

    /// Gives back what a killed codeteam has lent in `directory`, and removes the copies. No worker
    /// may be running there.
    pub fn recover(
        &self,
        directory: &Path,
    ) -> Result<Vec<(&'static WorkerCli, LoanOutcome)>, Error> {
        let mut outcomes = Vec::new();
        for cli in worker_clis::ALL {
            if let Some(lent) = LentLogin::find(cli, directory)? {
                outcomes.push((cli, self.finish_loan(lent)?));
            }
        }
        Ok(outcomes)
    }

    fn finish_loan(&self, mut lent: LentLogin) -> Result<LoanOutcome, Error> {
        let _lock = files::lock(&self.0.lock)?;
        let outcome = lent.return_to_user()?;
        lent.end()?;
        Ok(outcome)
    }

    fn loans(&self) -> MutexGuard<'_, LoanTable> {
        let loans = self.0.loans.lock();
        loans.unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoanOutcome {
    /// Returns what a person should know about it, if there is something to be done.
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
    /// Returns the CLI whose login it is.
    pub fn cli(&self) -> &'static WorkerCli {
        self.cli
    }

    /// Returns what the worker must be able to write: directories of the host, and their place
    /// relative to its home. These are whole directories, because a CLI may replace its file by a
    /// rename, which is impossible for a mounted file.
    pub fn binds(&self) -> Vec<(PathBuf, PathBuf)> {
        vec![(self.directory.clone(), self.cli.directory.into())]
    }

    /// Returns the variables that the worker needs.
    pub fn env(&self) -> &'static [(&'static str, &'static str)] {
        self.cli.env
    }

    /// Gives the login back and removes the copy; its worker must have ended. If this fails, the
    /// copy stays for [`Logins::recover`].
    pub fn give_back(self) -> Result<LoanOutcome, Error> {
        let lent = self.logins.loans().lent.remove(&self.number);
        lent.map_or(Ok(LoanOutcome::Unchanged), |lent| {
            self.logins.finish_loan(lent)
        })
    }
}

impl Drop for LoginLoan {
    fn drop(&mut self) {
        self.logins.loans().lent.remove(&self.number);
    }
}
