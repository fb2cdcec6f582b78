//! The keys about risk and approvals: `risk`, `approval_gates`, `approvals`, `people`, `groups`.
//!
//! Who people are and what they may do is for the user alone to say: a repository that could name
//! approvers would approve itself. Its `approval_gates` are a policy of their own that is met in
//! addition to the user's, so they can only ask for more.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::approval::{
    ApprovalAction, ApprovalLevel, ApprovalPolicy, ApprovalRules, ApprovalTimeout, Identity,
    IdentityProof, Person, TimeoutAction,
};
use codeteam_core::ids::PersonName;
use codeteam_core::risk::RiskCondition;
use codeteam_core::spelling::suggest_word;
use codeteam_workflow::yaml::{self, SourceFiles};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Config;
use crate::people;

/// How long people may object, where a level that waits says nothing.
const TIMEOUT_MINUTES: u64 = 30;
/// How many people have to approve, where a level that needs several says nothing.
const MIN_APPROVERS: u32 = 2;

/// The facts from which the risk of a change is computed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RiskConfig {
    /// Named sets of paths. A condition `changes_NAME` is true if a change touches one of them;
    /// upper and lower case do not matter. A repository can add paths to the sets, but not remove
    /// any; to a set by which your policy lets changes go on, only if you trust it with that.
    pub paths: BTreeMap<String, Vec<String>>,
}

/// A level of an approval policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalLevelConfig {
    /// The conditions. A level that lets a change continue needs all of them; a level that requires
    /// an approval needs any of them. Unknown facts never count in favour of a change.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// What the level requires.
    pub action: ApprovalActionConfig,
    /// With `notify_and_timeout`: how long people may object. The time starts when a notification was
    /// delivered. With an action that requires an approval: how long it may take before `on_timeout`
    /// happens. If left out, a required approval has no limit.
    pub timeout_minutes: Option<u64>,
    /// What happens if a required approval is not given in time. The change never continues because
    /// of a timeout.
    pub on_timeout: Option<TimeoutActionConfig>,
    /// The people and groups who may also approve after the timeout, with `on_timeout: escalate`.
    pub escalate_to: Option<Vec<String>>,
    /// The channel of your configuration by which people must have been notified, with
    /// `notify_and_timeout`: its name or its kind. Any channel if left out.
    pub notification: Option<String>,
    /// Who may approve: names of people and groups. If left out, everybody whom codeteam can identify.
    pub approvers: Option<Vec<String>>,
    /// How many different people have to approve, with `require_multi_approval`.
    pub min_approvers: Option<u32>,
}

/// What a level asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalActionConfig {
    /// Nothing: the change goes on.
    AutoApprove,
    /// People are notified, and it goes on if nobody objects in time.
    NotifyAndTimeout,
    /// One person approves.
    RequireApproval,
    /// Several people approve.
    RequireMultiApproval,
}

/// Who may do what beyond approving. Only in your own configuration.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalsConfig {
    /// People and groups who may accept a change against the policy, with a reason. The commit
    /// records it and does not count as verified.
    pub overriders: Vec<String>,
    /// Whether the person who began a run counts where several people have to approve.
    pub allow_self: bool,
}

/// A person. Only in your own configuration.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PersonConfig {
    /// Their user name on this machine.
    pub user: Option<String>,
    /// Their user id on this machine.
    pub uid: Option<u32>,
    /// Their public keys, as in `ssh-ed25519 AAAA…`. A decision that is signed with one of them
    /// counts as theirs, wherever it comes from.
    pub signing_keys: Vec<String>,
}

/// What happens when a required approval was not given in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutActionConfig {
    /// People are notified again, after pauses that double up to a day. The default.
    Remind,
    /// The people in `escalate_to` may approve, too. As many people have to approve as before, and
    /// they are notified again as with `remind`.
    Escalate,
    /// The change counts as rejected, and its task fails.
    Reject,
}

impl Config {
    /// Returns the known people. Fails with the name of a user whom this machine does not know.
    pub(crate) fn known_people(&self) -> Result<BTreeMap<PersonName, Person>, String> {
        let mut found = BTreeMap::new();
        for (name, config) in &self.people {
            let mut uids: BTreeSet<u32> = config.uid.into_iter().collect();
            if let Some(user) = &config.user {
                let uid = people::uid_of_user(user).ok_or_else(|| {
                    format!(
                        "`people.{name}.user`: this machine knows no user `{user}`; write `uid` instead"
                    )
                })?;
                uids.insert(uid);
            }
            let person = Person {
                uids,
                keys: config.signing_keys.clone(),
            };
            found.insert(PersonName(name.clone()), person);
        }
        Ok(found)
    }

    /// Returns who the process of this user id is: a person of the configuration, or else the
    /// machine's name for the user.
    pub(crate) fn identity_for_uid(&self, uid: u32) -> Identity {
        let known = self.known_people().unwrap_or_default();
        Identity {
            person: person_for_uid(&known, uid),
            proof: IdentityProof::Uid(uid),
        }
    }

    /// Returns the approval rules of a run that this user begins; `None` if no policy is
    /// configured. Fails with what cannot be met.
    pub(crate) fn approval_rules(&self, began: &Identity) -> Result<Option<ApprovalRules>, String> {
        let mut policies = Vec::new();
        for gates in [&self.approval_gates, &self.project_approval_gates] {
            if !gates.is_empty() {
                policies.push(self.policy(gates)?);
            }
        }
        if policies.is_empty() {
            return Ok(None);
        }
        Ok(Some(ApprovalRules {
            policies,
            overriders: self.resolve_people("approvals.overriders", &self.approvals.overriders)?,
            allow_self: self.approvals.allow_self,
            people: self.known_people()?,
            paths: self.risk.paths.clone(),
            began: Some(began.clone()),
        }))
    }

    /// Returns the policy by which a risk is shown where none is configured: that of the levels in
    /// the built-in configuration.
    pub(crate) fn default_policy() -> ApprovalPolicy {
        let text = crate::built_in::default_approval_gates();
        let gates = codeteam_workflow::yaml::parse("approval_gates.yml", text);
        let gates: BTreeMap<String, ApprovalLevelConfig> = gates.unwrap_or_default();
        Self::default().policy(&gates).unwrap_or_default()
    }

    /// Returns the patterns of tests that are built in. What is a test is not compared for changes
    /// that break others, so a repository must not be able to call its sources tests.
    pub(crate) fn built_in_test_paths() -> Vec<String> {
        let mut sources = SourceFiles::default();
        let node = yaml::read(&mut sources, "", crate::built_in::config());
        let paths = node.ok().and_then(|node| {
            let paths = node.get("verification")?.get("test_paths")?;
            yaml::deserialize_node(paths).ok()
        });
        paths.unwrap_or_default()
    }

    fn policy(
        &self,
        gates: &BTreeMap<String, ApprovalLevelConfig>,
    ) -> Result<ApprovalPolicy, String> {
        let levels = gates.iter().map(|(name, level)| {
            let conditions = level.conditions.iter().map(|c| RiskCondition::parse(c));
            let key = format!("approval_gates.{name}.approvers");
            let approvers = level.approvers.as_ref();
            let approvers = approvers.map(|names| self.resolve_people(&key, names));
            let approvers = approvers.transpose()?;
            let action = level.compiled_action();
            if let Some(names) = &approvers
                && names.len() < action.min_approvers() as usize
            {
                return Err(format!(
                    "`{key}` are {} people, and {} have to approve",
                    names.len(),
                    action.min_approvers()
                ));
            }
            Ok(ApprovalLevel {
                name: name.clone(),
                conditions: conditions.collect::<Result<_, String>>()?,
                action,
                approvers,
                channel: level.notification.clone(),
                timeout: self.approval_timeout(name, level)?,
            })
        });
        Ok(ApprovalPolicy::new(levels.collect::<Result<_, String>>()?))
    }

    /// Returns what happens when the approvals of a level are not given in time.
    fn approval_timeout(
        &self,
        name: &str,
        level: &ApprovalLevelConfig,
    ) -> Result<Option<ApprovalTimeout>, String> {
        let Some(minutes) = level.timeout_minutes.filter(|_| level.requires_approval()) else {
            return Ok(None);
        };
        let then = match level.on_timeout {
            None | Some(TimeoutActionConfig::Remind) => TimeoutAction::Remind,
            Some(TimeoutActionConfig::Reject) => TimeoutAction::Reject,
            Some(TimeoutActionConfig::Escalate) => {
                let key = format!("approval_gates.{name}.escalate_to");
                let names = level.escalate_to.as_deref().unwrap_or_default();
                let to = self.resolve_people(&key, names)?;
                TimeoutAction::Escalate { to }
            }
        };
        Ok(Some(ApprovalTimeout {
            after_ms: minutes * 60_000,
            then,
        }))
    }

    /// Replaces the names of groups by those of their members.
    fn resolve_people(&self, key: &str, names: &[String]) -> Result<BTreeSet<PersonName>, String> {
        let mut found = BTreeSet::new();
        for name in names {
            if self.people.contains_key(name) {
                found.insert(PersonName(name.clone()));
            } else if let Some(members) = self.groups.get(name) {
                found.extend(members.iter().map(|member| PersonName(member.clone())));
            } else {
                return Err(format!(
                    "`{key}` names `{name}`, and neither `people` nor `groups` of your own \
                     configuration has it, so nobody could approve; add it there, such as \
                     `people: {{ {name}: {{ user: … }} }}`"
                ));
            }
        }
        Ok(found)
    }

    /// Returns the sets of paths by which the user's own policy lets changes go on: a change that
    /// touches such a set needs less than one that does not.
    pub(super) fn lenient_path_sets(&self) -> BTreeSet<String> {
        let levels = self.approval_gates.values();
        let sets = levels.flat_map(|level| {
            // A level that requires an approval does so if any condition holds, the others if all do.
            let is_lenient = !level.requires_approval();
            let conditions = level.conditions.iter();
            let conditions = conditions.filter_map(|text| RiskCondition::parse(text).ok());
            conditions.flat_map(move |condition| condition.sets_that_matter(is_lenient))
        });
        sets.collect()
    }

    /// Returns what is wrong with these keys: the path of a key, and the message.
    pub(super) fn approval_faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        let gates = self.approval_gates.iter();
        for (name, level) in gates.chain(&self.project_approval_gates) {
            let key = format!("approval_gates.{name}");
            for text in &level.conditions {
                let problem = match RiskCondition::parse(text) {
                    Err(problem) => Some(problem),
                    Ok(condition) => self.unknown_set(&condition),
                };
                faults.extend(problem.map(|p| (format!("{key}.conditions"), p)));
            }
            faults.extend(level.misplaced_key().map(|(part, problem)| {
                (format!("{key}.{part}"), format!("`{key}.{part}` {problem}"))
            }));
        }
        for (group, members) in &self.groups {
            let unknown = members.iter().find(|name| !self.people.contains_key(*name));
            faults.extend(unknown.map(|name| {
                let message = format!("`groups.{group}` has `{name}`, whom `people` does not have");
                (format!("groups.{group}"), message)
            }));
            if self.people.contains_key(group) {
                let message = format!("`{group}` is both a person and a group");
                faults.push((format!("groups.{group}"), message));
            }
        }
        if let Err(message) = self.known_people() {
            faults.push(("people".to_owned(), message));
        }
        faults.extend(self.shared_identity());
        faults
    }

    fn unknown_set(&self, condition: &RiskCondition) -> Option<String> {
        let set = condition.set()?;
        if self.risk.paths.contains_key(set) {
            return None;
        }
        let known = self.risk.paths.keys().map(String::as_str);
        let advice = suggest_word(set, known).unwrap_or_default();
        Some(format!(
            "the condition `{condition}` is about the set of paths `{set}`, which `risk.paths` does \
             not have; {advice}"
        ))
    }

    /// Two people with one user id or one key would be one person with two votes.
    fn shared_identity(&self) -> Option<(String, String)> {
        let people = self.known_people().ok()?;
        let mut uids: BTreeMap<u32, &PersonName> = BTreeMap::new();
        let mut keys: BTreeMap<&str, &PersonName> = BTreeMap::new();
        for (name, person) in &people {
            let by_uid = person.uids.iter().find_map(|uid| uids.insert(*uid, name));
            let by_key = person.keys.iter().find_map(|key| {
                let key = people::key_material(key);
                keys.insert(key, name).filter(|other| *other != name)
            });
            if let Some(other) = by_uid.or(by_key) {
                let message = format!(
                    "`people.{name}` and `people.{other}` have the same user id or key, so they \
                     would be one person with two votes"
                );
                return Some((format!("people.{name}"), message));
            }
        }
        None
    }
}

impl ApprovalLevelConfig {
    fn compiled_action(&self) -> ApprovalAction {
        match self.action {
            ApprovalActionConfig::AutoApprove => ApprovalAction::AutoApprove,
            ApprovalActionConfig::NotifyAndTimeout => ApprovalAction::NotifyAndTimeout {
                timeout_ms: self.timeout_minutes.unwrap_or(TIMEOUT_MINUTES) * 60_000,
            },
            ApprovalActionConfig::RequireApproval => ApprovalAction::RequireApproval,
            ApprovalActionConfig::RequireMultiApproval => ApprovalAction::RequireMultiApproval {
                min_approvers: self.min_approvers.unwrap_or(MIN_APPROVERS),
            },
        }
    }

    /// Returns a key that means nothing with this action, and why.
    fn misplaced_key(&self) -> Option<(&'static str, &'static str)> {
        let waits = self.action == ApprovalActionConfig::NotifyAndTimeout;
        let several = self.action == ApprovalActionConfig::RequireMultiApproval;
        if self.timeout_minutes.is_some() && self.action == ApprovalActionConfig::AutoApprove {
            return Some((
                "timeout_minutes",
                "has no meaning with `auto_approve`: nobody is asked",
            ));
        }
        if self.timeout_minutes == Some(0) {
            return Some(("timeout_minutes", "gives nobody time to decide"));
        }
        if self.timeout_minutes.is_some_and(|minutes| minutes > 43_200) {
            return Some(("timeout_minutes", "is more than 30 days"));
        }
        if let Some(misplaced) = self.misplaced_timeout_key() {
            return Some(misplaced);
        }
        if self.notification.is_some() && !waits {
            return Some(("notification", "is for `notify_and_timeout` only"));
        }
        if self.min_approvers.is_some() && !several {
            return Some(("min_approvers", "is for `require_multi_approval` only"));
        }
        if several && self.min_approvers.is_some_and(|count| count < 2) {
            return Some((
                "min_approvers",
                "must be 2 or more; `require_approval` needs one",
            ));
        }
        None
    }

    /// Returns true if time alone never lets a change of this level go on.
    fn requires_approval(&self) -> bool {
        matches!(
            self.action,
            ApprovalActionConfig::RequireApproval | ApprovalActionConfig::RequireMultiApproval
        )
    }

    /// The same as `misplaced_key`, for the keys about what happens when the time is over.
    fn misplaced_timeout_key(&self) -> Option<(&'static str, &'static str)> {
        let escalates = self.on_timeout == Some(TimeoutActionConfig::Escalate);
        if self.on_timeout.is_some() && !self.requires_approval() {
            return Some((
                "on_timeout",
                "is for `require_approval` and `require_multi_approval` only; with \
                 `notify_and_timeout` the change goes on",
            ));
        }
        if self.on_timeout.is_some() && self.timeout_minutes.is_none() {
            return Some(("on_timeout", "needs `timeout_minutes`"));
        }
        if self.escalate_to.is_some() && !escalates {
            return Some(("escalate_to", "needs `on_timeout: escalate`"));
        }
        if escalates && self.escalate_to.as_ref().is_none_or(Vec::is_empty) {
            return Some((
                "on_timeout",
                "needs `escalate_to`: the people and groups who may approve too",
            ));
        }
        if escalates && self.approvers.is_none() {
            return Some((
                "escalate_to",
                "needs `approvers`: without them everybody who is known may approve already",
            ));
        }
        None
    }
}

/// Returns the person of a user id: one of those who are known, or else a name that none of them
/// has.
pub(crate) fn person_for_uid(known: &BTreeMap<PersonName, Person>, uid: u32) -> PersonName {
    let mut people = known.iter();
    if let Some((name, _)) = people.find(|(_, person)| person.uids.contains(&uid)) {
        return name.clone();
    }
    let name = people::user_of_uid(uid).map(PersonName);
    let name = name.filter(|name| !known.contains_key(name));
    name.unwrap_or_else(|| PersonName(format!("uid-{uid}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_files_are_what_the_risk_needs() {
        let paths = Config::built_in_test_paths();
        assert!(paths.contains(&"tests/**".to_owned()), "{paths:?}");
        assert_eq!(Config::default_policy().levels().len(), 4);
    }

    #[test]
    fn a_user_id_of_nobody_is_no_person_of_the_configuration() {
        let known = |name: &str| {
            let person = Person {
                uids: BTreeSet::from([54_321]),
                keys: Vec::new(),
            };
            BTreeMap::from([(PersonName::from(name), person)])
        };
        assert_eq!(person_for_uid(&known("anna"), 54_321).as_str(), "anna");
        assert_eq!(person_for_uid(&known("anna"), 54_322).as_str(), "uid-54322");
        // The machine calls user 0 so, and a person has that name.
        assert_eq!(person_for_uid(&known("root"), 0).as_str(), "uid-0");
        assert_eq!(person_for_uid(&known("anna"), 0).as_str(), "root");
    }
}
