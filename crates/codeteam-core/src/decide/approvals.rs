//! Approval of a change before it is committed: asks people where the policy says so, counts their
//! votes, and lets a change go on when the time to object is over.
//!
//! An approval is part of integration and not a step of its own, so that it works in every
//! workflow: a frame at a `commit` step needs one for exactly the tree that would be committed.
//! Whenever that tree, or what is known about it, becomes another one, the votes so far are void,
//! and people are asked again.

use super::Decider;
use super::commits::has_cleared_change;
use crate::approval::{
    ApprovalBasis, ApprovalRequirement, ApprovalRules, Identity, MIN_WAIT_AFTER_RESTART_MS,
    NoticeRetry, NoticeState, PendingApproval, RiskAssessment,
};
use crate::budget::Usage;
use crate::event::{EntryReason, Event};
use crate::frame::{DemandLevel, Frame, FrameStage, Question, QuestionKind, SlotWork};
use crate::ids::{AttemptId, FramePath, PersonName, Tree};
use crate::reply::AnswerMeaning;
use crate::risk::{RiskFacts, RiskProfile};
use crate::run::Run;
use crate::workflow::{ExitTarget, StepKind};

/// The answers to a question for approval.
pub const APPROVE: &str = "approve";
/// Sends the change back.
pub const REJECT: &str = "reject";
/// Takes the change against the policy.
pub const OVERRIDE: &str = "override";

/// What a change still needs before it may be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalNeed {
    /// The facts about it.
    Facts,
    /// An approval.
    Approval,
}

/// Returns everything that conditions may ask about a frame's change.
pub fn risk_profile(run: &Run, frame: &Frame, mut facts: RiskFacts) -> RiskProfile {
    facts.coverage = facts.coverage.or_else(|| measured_coverage(frame));
    let overruled = match &frame.acceptance.by {
        None => Vec::new(),
        Some(by) => match frame.overruled_names() {
            none if none.is_empty() => vec![format!("what {by} accepted")],
            names => names,
        },
    };
    let mut steps = run.workflow.steps.values();
    RiskProfile {
        facts,
        findings: u32::try_from(frame.findings.open().count()).unwrap_or(u32::MAX),
        overruled,
        degraded: frame.demand.level != DemandLevel::Primary,
        publishes: steps.any(|step| matches!(step.kind, StepKind::Publish { .. })),
    }
}

/// Returns how much of the changed lines the tests of the gates have run, in hundredths of a percent:
/// the least that a report on the current tree says.
fn measured_coverage(frame: &Frame) -> Option<u32> {
    let gates = frame.judgements.gates.values();
    let results = gates.filter(|gate| gate.tree == frame.tree);
    let reports = results.flat_map(|gate| gate.results.iter().filter_map(|r| r.coverage.as_ref()));
    let parts = reports.filter(|report| report.lines > 0).map(|report| {
        let covered = u64::from(report.covered.min(report.lines));
        u32::try_from(covered * 10_000 / u64::from(report.lines)).unwrap_or(0)
    });
    parts.min()
}

impl Decider {
    /// Returns what a frame's change still needs before it may be committed.
    pub(super) fn approval_need(&self, frame: &Frame) -> Option<ApprovalNeed> {
        let rules = self.run.approval.as_ref()?;
        let Some(now) = self.assess(rules, frame) else {
            return Some(ApprovalNeed::Facts);
        };
        let covers = |granted: &RiskAssessment| {
            let mut requirements = now.requirements.iter();
            requirements.all(|required| granted.requirements.contains(required))
        };
        match frame.approval.granted_for(&frame.tree) {
            Some(granted) if matches!(granted.basis, ApprovalBasis::Override { .. }) => None,
            Some(granted) if covers(&granted.assessment) => None,
            _ => Some(ApprovalNeed::Approval),
        }
    }

    /// Assesses a frame's change as it is now, if the facts about it are known.
    fn assess(&self, rules: &ApprovalRules, frame: &Frame) -> Option<RiskAssessment> {
        let facts = frame.approval.facts_about(&frame.tree)?.clone();
        Some(rules.assess(&risk_profile(&self.run, frame, facts)))
    }

    /// Lets a change go on if the policy does, and asks people otherwise.
    pub(super) fn request_approval(&mut self, path: &FramePath) {
        let Some(rules) = self.run.approval.clone() else {
            return;
        };
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let Some(assessment) = self.assess(&rules, frame) else {
            return;
        };
        let tree = frame.tree.clone();
        let void = frame.approval.granted.as_deref();
        let void = void.filter(|granted| granted.tree != tree);
        let void = void.map(|granted| (granted.tree.clone(), granted.basis.voters().to_vec()));
        if let Some((tree, voters)) = void.filter(|(_, voters)| !voters.is_empty()) {
            let why = "the tree to be committed is another one now";
            self.void_votes(path, tree, voters, why);
        }
        if assessment.goes_on_alone() {
            return self.grant(path, ApprovalBasis::Policy, assessment);
        }
        let text = format!(
            "Approve this change? Its risk is {}.",
            assessment.level.as_str()
        );
        let mut points = assessment.reasons.clone();
        let needs = assessment.requirements.iter();
        points.extend(needs.map(|required| format!("needs {}", required.describe())));
        let mut answers = vec![APPROVE.to_owned(), REJECT.to_owned()];
        if !rules.overriders.is_empty() {
            answers.push(OVERRIDE.to_owned());
        }
        self.ask(path, QuestionKind::Approval, text, points, answers);
        let asked = self.run.frames.get(path).map(|frame| &frame.stage);
        if let Some(FrameStage::Asking(question)) = asked {
            let question = question.id.clone();
            self.emit(Event::ApprovalRequested {
                frame: path.clone(),
                question,
                tree,
                at: self.at,
                assessment: Box::new(assessment),
            });
        }
    }

    fn grant(&mut self, path: &FramePath, basis: ApprovalBasis, assessment: RiskAssessment) {
        let tree = self.run.frames.get(path).map(|frame| frame.tree.clone());
        self.emit(Event::ApprovalGranted {
            frame: path.clone(),
            tree: tree.unwrap_or_default(),
            basis,
            assessment: Box::new(assessment),
        });
    }

    fn void_votes(&mut self, path: &FramePath, tree: Tree, voters: Vec<PersonName>, why: &str) {
        self.emit(Event::ApprovalVoided {
            frame: path.clone(),
            tree,
            voters,
            why: why.to_owned(),
        });
    }

    /// Withdraws questions about trees that would no longer be committed, and lets changes go on
    /// whose time to object is over.
    pub(super) fn review_approvals(&mut self) {
        let Some(rules) = self.run.approval.clone() else {
            return;
        };
        let frames = self.run.frames.values();
        let open: Vec<(FramePath, PendingApproval)> = frames
            .filter_map(|frame| {
                let pending = frame.approval.pending.as_deref()?;
                Some((frame.path.clone(), pending.clone()))
            })
            .collect();
        for (path, pending) in open {
            if let Some(why) = self.outdated_because(&rules, &path, &pending) {
                let voters = pending.votes.into_keys().collect();
                self.void_votes(&path, pending.tree, voters, why);
            } else if let (Some(until), Some(within_ms)) =
                (pending.deadline(), pending.timeout_ms())
                && until <= self.at
            {
                let basis = ApprovalBasis::NoObjection { within_ms };
                self.grant(&path, basis, pending.assessment);
            } else {
                if pending.notice_retry_at().is_some_and(|at| at <= self.at) {
                    self.renew_notice(pending.question);
                }
                self.act_on_timeouts(&path);
            }
        }
    }

    /// Returns why a question for approval is no longer about what would be committed.
    fn outdated_because(
        &self,
        rules: &ApprovalRules,
        path: &FramePath,
        pending: &PendingApproval,
    ) -> Option<&'static str> {
        let frame = self.run.frames.get(path)?;
        if frame.tree != pending.tree {
            Some("the change is another one now")
        } else if frame.base.commit != self.run.tip.commit {
            Some("another change was committed, so this one has to be replayed on it")
        } else if !has_cleared_change(frame) {
            Some("the change has to be judged again")
        } else if self.assess(rules, frame).as_ref() != Some(&pending.assessment) {
            Some("the risk of the change is another one now")
        } else {
            None
        }
    }

    /// Handles an answer to a question for approval. Returns why it was refused.
    pub(super) fn vote(
        &mut self,
        by: &str,
        question: &Question,
        answer: &str,
        note: &str,
    ) -> Option<String> {
        let path = &question.id.frame;
        let pending = self.run.frames.get(path)?.approval.pending.clone();
        let Some(pending) = pending.filter(|pending| pending.question == question.id) else {
            return Some("that question is no longer open".to_owned());
        };
        let Some(identity) = self.identity.clone() else {
            return Some(format!(
                "codeteam does not know who `{by}` is: an approval needs the user id of whoever \
                 decides, or their signature"
            ));
        };
        let rules = self.run.approval.clone()?;
        let person = identity.person.clone();
        let note = note.trim();
        match answer {
            OVERRIDE => {
                if !rules.overriders.contains(&person) {
                    return Some(format!("{person} may not override the approval policy"));
                }
                if note.is_empty() {
                    return Some("an override needs a reason".to_owned());
                }
                self.close_question(question, by, answer, note, false);
                let basis = ApprovalBasis::Override {
                    by: person,
                    reason: note.to_owned(),
                };
                self.grant(path, basis, pending.assessment);
            }
            REJECT => {
                let began = rules.began.as_ref().map(|identity| &identity.person);
                let may = pending.may_reject(&person)
                    || rules.overriders.contains(&person)
                    || began == Some(&person);
                if !may {
                    return Some(refusal(&person, &pending));
                }
                if note.is_empty() {
                    return Some("a rejection needs its reason: what has to change?".to_owned());
                }
                self.record_vote(&pending, identity, false, note);
                self.close_question(question, by, answer, note, true);
                self.send_to_implementer(path);
            }
            _ => {
                if !pending.may_vote(&person) {
                    return Some(refusal(&person, &pending));
                }
                if pending.votes.contains_key(&person) {
                    return Some(format!("{person} has approved this tree already"));
                }
                self.record_vote(&pending, identity, true, note);
                self.close_if_quorum(question, by, note);
            }
        }
        None
    }

    fn record_vote(&mut self, on: &PendingApproval, by: Identity, approves: bool, note: &str) {
        self.emit(Event::Voted {
            frame: on.question.frame.clone(),
            question: on.question.clone(),
            tree: on.tree.clone(),
            by,
            approves,
            note: note.to_owned(),
        });
    }

    pub(super) fn close_if_quorum(&mut self, question: &Question, by: &str, note: &str) {
        let path = &question.id.frame;
        let frame = self.run.frames.get(path);
        let Some(pending) = frame.and_then(|frame| frame.approval.pending.clone()) else {
            return;
        };
        if pending.has_quorum() {
            self.close_question(question, by, APPROVE, note, false);
            let basis = ApprovalBasis::Votes(pending.votes.into_keys().collect());
            self.grant(path, basis, pending.assessment);
        }
    }

    fn close_question(
        &mut self,
        question: &Question,
        by: &str,
        answer: &str,
        note: &str,
        rejects: bool,
    ) {
        self.emit(Event::Answered {
            frame: question.id.frame.clone(),
            question: question.id.clone(),
            answer: answer.to_owned(),
            note: note.to_owned(),
            by: by.to_owned(),
            resets: false,
            rejects,
            reverts: false,
            ends_stagnation: false,
            change: None,
            over: Vec::new(),
            meaning: Some(AnswerMeaning::from_answer(answer)),
            identity: self.identity.clone(),
        });
    }

    /// Sends a rejected change back to the step that makes changes.
    fn send_to_implementer(&mut self, path: &FramePath) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let on_conflict = match self.run.frame_step(frame).map(|step| &step.kind) {
            Some(StepKind::Commit { on_conflict }) => on_conflict.clone(),
            _ => None,
        };
        match on_conflict.or_else(|| self.implementing_step(frame)) {
            Some(step) => {
                self.transition(path, &ExitTarget::Step(step), EntryReason::Answered);
            }
            None => self.fail_frame(path, "a person rejected it, and no step could change it"),
        }
    }

    /// Handles the facts that were read out of a change.
    pub(super) fn handle_facts(&mut self, id: &AttemptId, tree: &Tree, facts: &RiskFacts) {
        let Some((frame, SlotWork::Assess)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
        };
        if frame.tree != *tree {
            return self.effect_failed(id, None, "another tree was read than was asked for");
        }
        self.emit(Event::RiskAssessed {
            id: id.clone(),
            tree: tree.clone(),
            facts: Box::new(facts.clone()),
        });
    }

    /// Handles what became of a notification. Returns false if none was due for this question.
    pub(super) fn handle_notice(&mut self, question: &AttemptId, channels: &[String]) -> bool {
        let frame = self.run.frames.get(&question.frame);
        let pending = frame.and_then(|frame| frame.approval.pending.as_deref());
        let Some(pending) = pending.filter(|p| p.question == *question && p.needs_notice()) else {
            return false;
        };
        let failed = pending
            .notice_retry
            .as_ref()
            .map_or(0, |retry| retry.failed);
        let wait = match pending.notice {
            // The time to object has not run yet for a notification that has reached nobody.
            NoticeState::DueAgain if failed == 0 => Some(MIN_WAIT_AFTER_RESTART_MS),
            _ => pending.timeout_ms(),
        };
        let until = wait.filter(|_| !channels.is_empty());
        let until = until.map(|ms| self.at.plus(ms));
        let pause = NoticeRetry::pause_ms(failed.saturating_add(1));
        let retry_at = until.is_none().then(|| self.at.plus(pause));
        self.emit(Event::ApprovalNotified {
            frame: question.frame.clone(),
            question: question.clone(),
            channels: channels.to_vec(),
            until,
            retry_at,
        });
        true
    }

    /// Makes sure that nothing goes on by time while nobody could object: after a restart, a
    /// notification whose deadline is past or near, or that reached nobody, is sent again.
    pub(super) fn renew_notices(&mut self) {
        let soon = self.at.plus(MIN_WAIT_AFTER_RESTART_MS);
        let pending = self.run.frames.values();
        let pending = pending.filter_map(|frame| frame.approval.pending.as_deref());
        let outdated = pending.filter(|pending| match pending.notice {
            NoticeState::Delivered { until } => until < soon,
            NoticeState::Undelivered => pending.timeout_ms().is_some(),
            NoticeState::Due | NoticeState::DueAgain => false,
        });
        let questions: Vec<AttemptId> = outdated.map(|p| p.question.clone()).collect();
        for question in questions {
            self.renew_notice(question);
        }
        self.postpone_rejections();
    }

    fn renew_notice(&mut self, question: AttemptId) {
        self.emit(Event::ApprovalNoticeRenewed {
            frame: question.frame.clone(),
            question,
        });
    }
}

pub(super) fn refusal(person: &PersonName, pending: &PendingApproval) -> String {
    let needs = pending.requirements();
    let needs: Vec<String> = needs.iter().map(ApprovalRequirement::describe).collect();
    format!(
        "{person} may not decide this: it needs {}",
        needs.join("; and ")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::checks::{ChangedCoverage, CheckResult};
    use crate::frame::{FrameItem, Tip};
    use crate::judgements::GateResult;

    #[test]
    fn the_least_coverage_of_the_current_tree_counts() {
        let mut frame = Frame::new(FramePath::root(), None, FrameItem::Run, Tip::default());
        frame.tree = Tree::from("now");
        assert_eq!(measured_coverage(&frame), None);
        for (step, tree, covered) in [("a", "now", 9), ("b", "now", 7), ("c", "before", 1)] {
            let report = ChangedCoverage {
                covered,
                lines: 10,
                ..ChangedCoverage::default()
            };
            let result = CheckResult {
                coverage: Some(report),
                ..CheckResult::default()
            };
            let gate = GateResult {
                round: 1,
                passed: true,
                results: vec![CheckResult::default(), result],
                tree: tree.into(),
                patch: None,
            };
            frame.judgements.gates.insert(step.into(), Arc::new(gate));
        }
        assert_eq!(measured_coverage(&frame), Some(7_000));
    }
}
