//! What the events alone tell of approvals, to hold commits against: nothing is committed without
//! one, and none is given without enough people who may.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::approval::{
    ApprovalAction, ApprovalBasis, ApprovalRequirement, RiskAssessment, TimeoutAction,
    TimeoutOutcome,
};
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, PersonName, Tree};
use codeteam_core::{Event, Run};

/// Votes, notifications and approvals, as the events tell of them.
#[derive(Clone, Default)]
pub(crate) struct ApprovalWatch {
    votes: BTreeMap<(FramePath, Tree), BTreeSet<PersonName>>,
    notified: BTreeMap<AttemptId, EpochMillis>,
    open: BTreeMap<FramePath, AttemptId>,
    granted: BTreeMap<FramePath, Tree>,
    /// Whose vote somebody else has, by question.
    delegated: BTreeMap<AttemptId, BTreeMap<PersonName, PersonName>>,
    /// When a requirement of a question is over next.
    next: BTreeMap<(AttemptId, usize), EpochMillis>,
    /// Who may approve in addition, by question and requirement.
    added: BTreeMap<(AttemptId, usize), BTreeSet<PersonName>>,
}

impl ApprovalWatch {
    /// Looks at an event before it is applied.
    pub(crate) fn before(&mut self, run: &Run, event: &Event) {
        match event {
            Event::ApprovalRequested {
                frame,
                question,
                tree,
                ..
            } => {
                // Each question is voted on anew.
                self.votes.remove(&(frame.clone(), tree.clone()));
                self.open.insert(frame.clone(), question.clone());
            }
            Event::ApprovalNotified {
                question,
                until: Some(until),
                ..
            } => {
                self.notified.insert(question.clone(), *until);
            }
            Event::ApprovalNoticeRenewed { question, .. } => {
                self.notified.remove(question);
            }
            Event::Voted {
                frame,
                tree,
                by,
                approves,
                ..
            } => {
                assert_eq!(run.frames[frame].tree, *tree, "a vote on another tree");
                if *approves {
                    let votes = self.votes.entry((frame.clone(), tree.clone()));
                    let is_new = votes.or_default().insert(by.person.clone());
                    assert!(is_new, "{} votes twice", by.person);
                }
            }
            Event::ApprovalTimedOut {
                question,
                requirement,
                at,
                outcome,
                next,
                ..
            } => {
                let key = (question.clone(), *requirement);
                let pending = run.frames[&question.frame].approval.pending.as_ref();
                let pending = pending.unwrap();
                assert_eq!(pending.question, *question);
                let timeout = pending.assessment.requirements[*requirement]
                    .timeout
                    .clone();
                let timeout = timeout.unwrap();
                let due = self.next.insert(key.clone(), *next);
                let due = due.unwrap_or_else(|| pending.asked.plus(timeout.after_ms));
                assert!(next > at, "a time that is over at once");
                // After a restart, a rejection is announced before its time.
                let is_announced =
                    timeout.then == TimeoutAction::Reject && *outcome == TimeoutOutcome::Reminded;
                assert!(
                    *at >= due || is_announced,
                    "{at:?} is before {due:?}, or twice"
                );
                if let TimeoutOutcome::Escalated(to) = outcome {
                    let is_first = self.added.insert(key, to.clone()).is_none();
                    assert!(is_first, "escalated twice");
                }
            }
            Event::ApprovalDelegated {
                question, from, to, ..
            } => {
                let delegated = self.delegated.entry(question.clone()).or_default();
                assert!(from.person != *to || delegated.contains_key(&from.person));
                assert!(
                    !delegated.values().any(|other| *other == from.person),
                    "a chain"
                );
                delegated.remove(&from.person);
                if from.person != *to {
                    delegated.insert(from.person.clone(), to.clone());
                }
            }
            Event::ApprovalVoided { frame, tree, .. } => {
                self.votes.remove(&(frame.clone(), tree.clone()));
                self.granted.remove(frame);
                self.open.remove(frame);
            }
            Event::ApprovalGranted {
                frame,
                tree,
                basis,
                assessment,
            } => {
                assert_eq!(run.frames[frame].tree, *tree, "another tree is approved");
                self.judge(run, frame, tree, basis, assessment);
                self.granted.insert(frame.clone(), tree.clone());
                self.votes.remove(&(frame.clone(), tree.clone()));
            }
            Event::Committed { id, tree, .. } if run.approval.is_some() => {
                let granted = self.granted.get(&id.frame);
                assert_eq!(granted, Some(tree), "{} was not approved", id.frame);
            }
            _ => {}
        }
    }

    fn judge(
        &mut self,
        run: &Run,
        frame: &FramePath,
        tree: &Tree,
        basis: &ApprovalBasis,
        assessment: &RiskAssessment,
    ) {
        match basis {
            ApprovalBasis::Policy => assert!(assessment.requirements.is_empty()),
            ApprovalBasis::NoObjection { .. } => {
                let question = self.open.remove(frame).unwrap();
                let until = self.notified.remove(&question);
                assert!(
                    until.is_some(),
                    "a deadline without a notification, or twice"
                );
                let is_timed = |action| matches!(action, ApprovalAction::NotifyAndTimeout { .. });
                assert!(assessment.requirements.iter().all(|r| is_timed(r.action)));
                assert!(run.frames[frame].acceptance.by.is_none());
            }
            ApprovalBasis::Votes(people) => {
                let given = &self.votes[&(frame.clone(), tree.clone())];
                assert_eq!(*given, people.iter().cloned().collect());
                let question = self.open[frame].clone();
                for (position, required) in assessment.requirements.iter().enumerate() {
                    let named = |person: &&PersonName| {
                        self.may_approve(&question, position, required, person)
                    };
                    let is_multi =
                        matches!(required.action, ApprovalAction::RequireMultiApproval { .. });
                    let counts = given
                        .iter()
                        .filter(named)
                        .filter(|person| !(is_multi && person.as_str() == "cem"));
                    let wanted = if is_multi { 2 } else { 1 };
                    assert!(counts.count() >= wanted, "{given:?} approved {required:?}");
                }
            }
            ApprovalBasis::Override { by, reason } => {
                assert_eq!(by.as_str(), "olga");
                assert!(!reason.is_empty());
            }
        }
    }

    /// Returns true if somebody may approve in their own right, or in the place of somebody who may.
    fn may_approve(
        &self,
        question: &AttemptId,
        position: usize,
        required: &ApprovalRequirement,
        person: &PersonName,
    ) -> bool {
        let Some(names) = &required.approvers else {
            return true;
        };
        let added = self.added.get(&(question.clone(), position));
        let mut names = names.clone();
        names.extend(added.into_iter().flatten().cloned());
        let delegated = self.delegated.get(question).into_iter().flatten();
        let (mut has_own, mut has_handed) = (names.contains(person), false);
        for (from, to) in delegated {
            has_own &= from != person;
            has_handed |= to == person && names.contains(from);
        }
        has_own || has_handed
    }
}
