use std::collections::BTreeMap;

use super::*;
use crate::ids::FramePath;
use crate::risk::{PathSetMatch, RiskCondition, RiskLevel};

/// The policy of the seed.
fn seed_policy() -> ApprovalPolicy {
    let level = |name: &str, conditions: &[&str], action| ApprovalLevel {
        name: name.to_owned(),
        conditions: conditions
            .iter()
            .map(|text| RiskCondition::parse(text).unwrap())
            .collect(),
        action,
        approvers: None,
        channel: None,
        timeout: None,
    };
    ApprovalPolicy::new(vec![
        level(
            "low_risk",
            &[
                "file_count < 3",
                "no_security_sensitive_files",
                "test_coverage > 80",
            ],
            ApprovalAction::AutoApprove,
        ),
        level(
            "medium_risk",
            &["file_count < 10", "no_breaking_changes"],
            ApprovalAction::NotifyAndTimeout {
                timeout_ms: 1_800_000,
            },
        ),
        level(
            "high_risk",
            &[
                "changes_auth_code",
                "changes_payment_code",
                "breaking_api_changes",
                "file_count > 20",
            ],
            ApprovalAction::RequireApproval,
        ),
        level(
            "critical",
            &[
                "changes_encryption",
                "changes_key_management",
                "production_config_changes",
            ],
            ApprovalAction::RequireMultiApproval { min_approvers: 2 },
        ),
    ])
}

fn rules(policies: Vec<ApprovalPolicy>) -> ApprovalRules {
    ApprovalRules {
        policies,
        ..ApprovalRules::default()
    }
}

fn change(files: u32, sets: &[&str]) -> RiskProfile {
    let paths = sets.iter().map(|set| PathSetMatch {
        set: (*set).to_owned(),
        files: vec![format!("src/{set}.py")],
        more: 0,
    });
    RiskProfile {
        facts: RiskFacts {
            files,
            lines: Some(10),
            paths: paths.collect(),
            ..RiskFacts::default()
        },
        ..RiskProfile::default()
    }
}

#[test]
fn the_seeds_policy_gives_each_change_its_level() {
    let rules = rules(vec![seed_policy()]);
    let level = |profile: &RiskProfile| rules.assess(profile).level;
    let mut measured = change(2, &[]);
    measured.facts.coverage = Some(9_000);
    assert_eq!(level(&measured), RiskLevel::Low);
    // Nothing measured the coverage.
    assert_eq!(level(&change(2, &[])), RiskLevel::Medium);
    assert_eq!(level(&change(2, &["auth"])), RiskLevel::High);
    assert_eq!(level(&change(2, &["auth", "keys"])), RiskLevel::Critical);
    assert_eq!(level(&change(21, &[])), RiskLevel::High);
    // Between the levels of the seed: no level fits.
    let between = rules.assess(&change(15, &[]));
    assert_eq!(between.level, RiskLevel::High);
    assert_eq!(
        between.reasons,
        ["no level of the policy fits, so a person has to approve"]
    );
    assert!(!between.goes_on_alone() && between.timeout_ms().is_none());
}

#[test]
fn what_is_not_known_counts_against_a_change() {
    let rules = rules(vec![seed_policy()]);
    let mut unread = change(1, &[]);
    unread.facts.unread = vec!["run.sh".to_owned()];
    let assessed = rules.assess(&unread);
    assert_eq!(assessed.level, RiskLevel::High);
    assert!(assessed.reasons[0].contains("`run.sh`"), "{assessed:?}");
}

#[test]
fn time_alone_takes_nothing_that_was_overruled_or_is_less() {
    let rules = rules(vec![seed_policy()]);
    let clean = change(5, &[]);
    assert_eq!(rules.assess(&clean).timeout_ms(), Some(1_800_000));
    for profile in [
        RiskProfile {
            overruled: vec!["tests".to_owned()],
            ..clean.clone()
        },
        RiskProfile {
            degraded: true,
            ..clean.clone()
        },
    ] {
        let assessed = rules.assess(&profile);
        assert_eq!(assessed.timeout_ms(), None);
        assert_eq!(assessed.level, RiskLevel::High);
    }
}

#[test]
fn a_second_policy_only_adds() {
    let everything = ApprovalPolicy::new(vec![ApprovalLevel {
        name: "all".to_owned(),
        conditions: Vec::new(),
        action: ApprovalAction::AutoApprove,
        approvers: None,
        channel: None,
        timeout: None,
    }]);
    let lax = rules(vec![everything.clone()]);
    assert!(lax.assess(&change(99, &["keys"])).goes_on_alone());
    for policies in [
        vec![everything.clone(), seed_policy()],
        vec![seed_policy(), everything],
    ] {
        let both = rules(policies).assess(&change(99, &["keys"]));
        assert_eq!(both.level, RiskLevel::Critical);
        assert_eq!(both.requirements.len(), 1);
    }
    // A run without a policy asks nobody.
    assert!(
        rules(Vec::new())
            .assess(&change(99, &["keys"]))
            .goes_on_alone()
    );
}

fn pending(assessment: RiskAssessment) -> PendingApproval {
    PendingApproval {
        question: AttemptId {
            frame: FramePath::root(),
            step: "commit".into(),
            generation: 1,
            slot: 0,
            attempt: 1,
            fence: 1,
        },
        tree: "made".into(),
        assessment,
        asked: EpochMillis(0),
        votes: BTreeMap::new(),
        notice: NoticeState::Due,
        notice_retry: None,
        timers: BTreeMap::new(),
        delegations: BTreeMap::new(),
    }
}

fn critical(approvers: &[&str], began: &str, allow_self: bool) -> PendingApproval {
    let mut policy = seed_policy();
    for level in policy.levels_mut() {
        level.approvers = Some(approvers.iter().map(|&name| name.into()).collect());
    }
    let rules = ApprovalRules {
        policies: vec![policy],
        began: Some(Identity {
            person: began.into(),
            proof: IdentityProof::Uid(1),
        }),
        allow_self,
        ..ApprovalRules::default()
    };
    pending(rules.assess(&change(1, &["keys"])))
}

fn vote(pending: &mut PendingApproval, person: &str) -> bool {
    let vote = ApprovalVote {
        proof: IdentityProof::Uid(7),
        note: String::new(),
    };
    pending.votes.insert(person.into(), vote);
    pending.has_quorum()
}

#[test]
fn there_is_no_quorum_without_that_many_people_who_may() {
    let mut open = critical(&["anna", "ben", "cem"], "cem", false);
    assert!(!vote(&mut open, "anna"));
    assert!(!vote(&mut open, "anna"), "one person is one person");
    assert!(
        !vote(&mut open, "mallory"),
        "who may not vote does not count"
    );
    assert!(!vote(&mut open, "cem"), "who began the run does not count");
    assert!(vote(&mut open, "ben"));
    let mut allowed = critical(&["anna", "cem"], "cem", true);
    assert!(!vote(&mut allowed, "cem"));
    assert!(vote(&mut allowed, "anna"));
}

#[test]
fn the_order_of_votes_does_not_matter() {
    let people = ["anna", "ben", "cem", "mallory"];
    for first in people {
        for second in people {
            let (mut one, mut other) = (
                critical(&["anna", "ben", "cem"], "cem", false),
                critical(&["anna", "ben", "cem"], "cem", false),
            );
            vote(&mut one, first);
            vote(&mut other, second);
            assert_eq!(vote(&mut one, second), vote(&mut other, first));
            assert_eq!(one, other);
        }
    }
}

/// Hands a vote over as the kernel does, if that is possible.
fn delegate(pending: &mut PendingApproval, from: &str, to: &str) -> Result<(), String> {
    pending.check_delegation(&from.into(), &to.into())?;
    if from == to {
        pending.delegations.remove(&PersonName::from(from));
    } else {
        pending.delegations.insert(from.into(), to.into());
    }
    Ok(())
}

#[test]
fn a_vote_that_was_handed_over_is_one_vote_of_somebody_else() {
    let mut open = critical(&["anna", "ben", "cem"], "cem", false);
    delegate(&mut open, "anna", "dora").unwrap();
    assert!(!open.may_vote(&"anna".into()));
    assert!(
        open.may_reject(&"anna".into()),
        "who delegates may still object"
    );
    assert!(!vote(&mut open, "anna"), "anna has no vote any more");
    open.votes.clear();
    assert!(!vote(&mut open, "dora"));
    assert!(vote(&mut open, "ben"));
}

#[test]
fn a_vote_is_handed_over_once_and_never_to_somebody_who_has_one() {
    let mut open = critical(&["anna", "ben", "cem"], "cem", false);
    let mut refused = |from: &str, to: &str| delegate(&mut open, from, to).unwrap_err();
    assert_eq!(
        refused("anna", "ben"),
        "ben may approve it already, and has one vote"
    );
    assert_eq!(refused("anna", "anna"), "anna has the vote already");
    let mallory = "mallory has no vote of their own here to hand over";
    assert_eq!(refused("mallory", "dora"), mallory);
    assert_eq!(
        refused("cem", "dora"),
        "cem has no vote of their own here to hand over"
    );
    delegate(&mut open, "anna", "dora").unwrap();
    let mut refused = |from: &str, to: &str| delegate(&mut open, from, to).unwrap_err();
    assert_eq!(
        refused("ben", "dora"),
        "dora may approve it already, and has one vote"
    );
    assert_eq!(
        refused("dora", "eve"),
        "dora has no vote of their own here to hand over"
    );
    assert_eq!(
        refused("anna", "dora"),
        "dora votes in the place of anna already"
    );
    delegate(&mut open, "anna", "anna").unwrap();
    delegate(&mut open, "anna", "eve").unwrap();
    vote(&mut open, "eve");
    let late = delegate(&mut open, "anna", "anna").unwrap_err();
    assert_eq!(late, "eve has already voted in the place of anna");
    vote(&mut open, "ben");
    let late = delegate(&mut open, "ben", "fay").unwrap_err();
    assert_eq!(late, "ben has approved this tree already");
}
