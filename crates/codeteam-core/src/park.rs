//! Parks: an account whose usage limit is reached rests until it resets, and every attempt that
//! would use it waits, without using up its retries. So does one whose API refuses requests for a
//! while, or does not answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Account, EpochMillis};

/// How long to rest when the worker did not say when its limit resets.
pub const UNKNOWN_RESET_MS: u64 = 15 * 60 * 1_000;

/// No limit lasts longer than a month; what says so is wrong.
pub const MAX_REST_MS: u64 = 31 * 24 * 60 * 60 * 1_000;

/// Why an account rests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParkReason {
    /// Its usage limit is reached.
    #[default]
    Quota,
    /// Its API has too many requests at once.
    RateLimit,
    /// Its API fails, or cannot be reached.
    Outage,
}

impl ParkReason {
    /// Whether it is the usual one, which logs leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(crate) fn is_quota(&self) -> bool {
        *self == Self::Quota
    }
}

/// The rest of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountPark {
    /// Until when.
    pub until: EpochMillis,
    /// Why.
    pub why: ParkReason,
}

/// A model API that has not answered since some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiOutage {
    /// When it first failed.
    pub since: EpochMillis,
    /// How often it has failed since.
    pub failures: u32,
    /// What was said the last time.
    pub message: String,
}

/// The accounts that rest, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParkedAccounts {
    parks: BTreeMap<Account, AccountPark>,
}

impl ParkedAccounts {
    /// Parks an account; an earlier end than the one known does not shorten the park.
    pub fn park(&mut self, account: &Account, park: AccountPark) {
        let known = self.parks.entry(account.clone()).or_insert(park);
        if known.until < park.until {
            *known = park;
        }
    }

    /// Until when an account rests, if it does.
    pub fn until(&self, account: &Account) -> Option<EpochMillis> {
        self.get(account).map(|park| park.until)
    }

    /// The rest of an account, if it rests.
    pub fn get(&self, account: &Account) -> Option<AccountPark> {
        self.parks.get(account).copied()
    }

    /// Accounts whose rest is over.
    pub fn over(&self, at: EpochMillis) -> Vec<Account> {
        self.parks
            .iter()
            .filter(|(_, park)| park.until <= at)
            .map(|(a, _)| a.clone())
            .collect()
    }

    /// Ends a park.
    pub fn end(&mut self, account: &Account) {
        self.parks.remove(account);
    }

    /// All parks.
    pub fn iter(&self) -> impl Iterator<Item = (&Account, EpochMillis)> {
        self.parks
            .iter()
            .map(|(account, park)| (account, park.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_park_is_never_shortened_and_ends_on_time() {
        let account = Account::from("claude");
        let mut parks = ParkedAccounts::default();
        let park = |until| AccountPark {
            until: EpochMillis(until),
            why: ParkReason::default(),
        };
        parks.park(&account, park(500));
        parks.park(&account, park(300));
        assert_eq!(parks.until(&account), Some(EpochMillis(500)));
        assert!(parks.over(EpochMillis(499)).is_empty());
        assert_eq!(parks.over(EpochMillis(500)), std::slice::from_ref(&account));
        parks.end(&account);
        assert_eq!(parks.until(&account), None);
    }
}
