//! Parks: an account whose usage limit is reached is parked until it resets, and every attempt that
//! would use it waits, without using up its retries. The same happens to an account whose API
//! refuses requests for a while, or does not answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Account, EpochMillis};

/// How long to park an account if the worker did not report when its limit resets.
pub(crate) const UNKNOWN_RESET_MS: u64 = 15 * 60 * 1_000;

/// The longest time an account is parked. No limit lasts longer than a month; a report that says so
/// is wrong.
pub const MAX_REST_MS: u64 = 31 * 24 * 60 * 60 * 1_000;

/// Why an account is parked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParkReason {
    /// Its usage limit is reached.
    #[default]
    Quota,
    /// Its API is receiving too many requests.
    RateLimit,
    /// Its API fails or cannot be reached.
    Outage,
}

impl ParkReason {
    /// Returns true for the usual reason, which logs leave out.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    pub(crate) fn is_quota(&self) -> bool {
        *self == Self::Quota
    }
}

/// The park of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountPark {
    /// When it ends.
    pub until: EpochMillis,
    /// Why the account is parked.
    pub why: ParkReason,
}

/// A model API that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiOutage {
    /// When it first failed.
    pub since: EpochMillis,
    /// The number of failures since then.
    pub failures: u32,
    /// The last error message.
    pub message: String,
}

/// The parked accounts, and until when they are parked.
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

    /// Returns until when an account is parked, if it is.
    pub fn parked_until(&self, account: &Account) -> Option<EpochMillis> {
        self.get(account).map(|park| park.until)
    }

    /// Returns the park of an account, if it has one.
    pub fn get(&self, account: &Account) -> Option<AccountPark> {
        self.parks.get(account).copied()
    }

    /// Returns the accounts whose park has ended.
    pub fn expired_accounts(&self, at: EpochMillis) -> Vec<Account> {
        self.parks
            .iter()
            .filter(|(_, park)| park.until <= at)
            .map(|(a, _)| a.clone())
            .collect()
    }

    /// Ends a park.
    pub fn release(&mut self, account: &Account) {
        self.parks.remove(account);
    }

    /// Returns all parked accounts with the end of their parks.
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
        assert_eq!(parks.parked_until(&account), Some(EpochMillis(500)));
        assert!(parks.expired_accounts(EpochMillis(499)).is_empty());
        assert_eq!(
            parks.expired_accounts(EpochMillis(500)),
            std::slice::from_ref(&account)
        );
        parks.release(&account);
        assert_eq!(parks.parked_until(&account), None);
    }
}
