//! Quota parks: an account whose usage limit is reached rests until it resets, and every attempt
//! that would use it waits, without using up its retries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Account, Time};

/// How long to rest when the worker did not say when its limit resets.
pub const UNKNOWN_RESET_MS: u64 = 15 * 60 * 1_000;

/// No limit lasts longer than a month; what says so is wrong.
pub const MAX_REST_MS: u64 = 31 * 24 * 60 * 60 * 1_000;

/// The accounts that rest, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parks {
    until: BTreeMap<Account, Time>,
}

impl Parks {
    /// Parks an account; an earlier end than the one known does not shorten the park.
    pub fn park(&mut self, account: &Account, until: Time) {
        let known = self.until.entry(account.clone()).or_insert(until);
        *known = (*known).max(until);
    }

    /// Until when an account rests, if it does.
    pub fn until(&self, account: &Account) -> Option<Time> {
        self.until.get(account).copied()
    }

    /// Accounts whose rest is over.
    pub fn over(&self, at: Time) -> Vec<Account> {
        self.until
            .iter()
            .filter(|(_, until)| **until <= at)
            .map(|(a, _)| a.clone())
            .collect()
    }

    /// Ends a park.
    pub fn end(&mut self, account: &Account) {
        self.until.remove(account);
    }

    /// All parks.
    pub fn iter(&self) -> impl Iterator<Item = (&Account, Time)> {
        self.until.iter().map(|(account, until)| (account, *until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_park_is_never_shortened_and_ends_on_time() {
        let account = Account::from("claude");
        let mut parks = Parks::default();
        parks.park(&account, Time(500));
        parks.park(&account, Time(300));
        assert_eq!(parks.until(&account), Some(Time(500)));
        assert!(parks.over(Time(499)).is_empty());
        assert_eq!(parks.over(Time(500)), std::slice::from_ref(&account));
        parks.end(&account);
        assert_eq!(parks.until(&account), None);
    }
}
