//! Joins the verdicts of several slots into one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::RoleName;

/// How the verdicts of slots are put together. A slot without a verdict abstains and never
/// approves; a tie rejects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JoinRule {
    /// Every slot approves.
    #[default]
    All,
    /// One approval is enough.
    Any,
    /// More than half of the slots approve.
    Majority,
    /// More than half of the slots of every role approve.
    Roles,
}

impl JoinRule {
    /// Returns whether a step approves, from the votes of its slots: `Some(true)` approves, `None`
    /// abstained.
    pub fn approves(self, ballots: &[(&RoleName, Option<bool>)]) -> bool {
        let yes = ballots.iter().filter(|(_, b)| *b == Some(true)).count();
        match self {
            Self::All => yes == ballots.len() && yes > 0,
            Self::Any => yes > 0,
            Self::Majority => 2 * yes > ballots.len(),
            Self::Roles => {
                let mut roles: BTreeMap<&RoleName, (usize, usize)> = BTreeMap::new();
                for (role, ballot) in ballots {
                    let (yes, all) = roles.entry(role).or_default();
                    *yes += usize::from(*ballot == Some(true));
                    *all += 1;
                }
                yes > 0 && roles.values().all(|(yes, all)| 2 * yes > *all)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a join makes of `role vote` pairs: `+` for, `-` against, `?` without a verdict.
    fn approves(join: JoinRule, ballots: &str) -> bool {
        let ballots: Vec<(RoleName, Option<bool>)> = ballots
            .split_whitespace()
            .map(|ballot| {
                let (role, vote) = ballot.split_at(ballot.len() - 1);
                let vote = match vote {
                    "+" => Some(true),
                    "-" => Some(false),
                    "?" => None,
                    other => panic!("what is `{other}`?"),
                };
                (RoleName::from(role), vote)
            })
            .collect();
        let ballots: Vec<_> = ballots.iter().map(|(role, vote)| (role, *vote)).collect();
        join.approves(&ballots)
    }

    #[test]
    fn a_slot_that_abstains_never_approves_and_a_tie_rejects() {
        assert!(approves(JoinRule::All, "a+ b+"));
        assert!(!approves(JoinRule::All, "a+ b?"));
        assert!(approves(JoinRule::Any, "a- b+"));
        assert!(!approves(JoinRule::Any, "a- b?"));
        assert!(approves(JoinRule::Majority, "a+ b+ c-"));
        assert!(!approves(JoinRule::Majority, "a+ b-"), "a tie rejects");
        assert!(
            !approves(JoinRule::Majority, "a+ b?"),
            "half is no majority"
        );
        for join in [
            JoinRule::All,
            JoinRule::Any,
            JoinRule::Majority,
            JoinRule::Roles,
        ] {
            assert!(!approves(join, ""), "{join:?} of nobody");
        }
    }

    #[test]
    fn every_role_needs_a_majority_of_its_own() {
        assert!(approves(JoinRule::Roles, "a+ a+ a- b+"));
        assert!(
            approves(JoinRule::Roles, "a+ b+ a- b? a+ b+"),
            "in any order"
        );
        assert!(
            !approves(JoinRule::Roles, "a+ a+ a+ b-"),
            "one role is against"
        );
        assert!(
            !approves(JoinRule::Roles, "a+ a- b+"),
            "a tie within a role"
        );
        assert!(
            !approves(JoinRule::Roles, "a+ a+ a+ b?"),
            "one role is silent"
        );
        assert!(!approves(JoinRule::Roles, "a+ a? b+"), "half of a role");
    }
}
