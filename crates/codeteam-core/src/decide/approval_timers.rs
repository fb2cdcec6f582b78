//! What follows when an approval is not given in time, and votes that are handed to somebody else.

use super::Decider;
use crate::approval::{MIN_WAIT_AFTER_RESTART_MS, PendingApproval, TimeoutAction, TimeoutOutcome};
use crate::event::Event;
use crate::frame::{FrameStage, Question};
use crate::ids::{AttemptId, FramePath, PersonName};

impl Decider {
    /// Reminds people of an approval that is overdue, widens who may give it, or rejects the change.
    pub(super) fn act_on_timeouts(&mut self, path: &FramePath) {
        while let Some(pending) = self.pending_approval(path)
            && let Some((position, at)) = pending.next_timeout()
            && at <= self.at
        {
            let timeout = pending.assessment.requirements.get(position);
            let Some(timeout) = timeout.and_then(|required| required.timeout.clone()) else {
                return;
            };
            let timer = pending.timers.get(&position);
            let fired = timer.map_or(0, |timer| timer.fired);
            let escalated = timer.is_some_and(|timer| timer.escalated);
            let outcome = match timeout.then.clone() {
                TimeoutAction::Reject => TimeoutOutcome::Rejected,
                TimeoutAction::Escalate { to } if !escalated => TimeoutOutcome::Escalated(to),
                TimeoutAction::Escalate { .. } | TimeoutAction::Remind => TimeoutOutcome::Reminded,
            };
            let pause = timeout.pause_ms(fired.saturating_add(1));
            self.record_timeout(&pending, position, outcome.clone(), pause);
            if outcome == TimeoutOutcome::Rejected {
                let minutes = timeout.after_ms.div_ceil(60_000);
                let why = format!("it was not approved within {minutes} min");
                self.fail_frame(path, why);
            }
            self.close_after_escalation(path);
        }
    }

    /// Closes the question if somebody who may approve only now had voted already, because another
    /// policy names them.
    fn close_after_escalation(&mut self, path: &FramePath) {
        let stage = self.run.frames.get(path).map(|frame| &frame.stage);
        if let Some(FrameStage::Asking(question)) = stage
            && let Some(pending) = self.pending_approval(path)
            && let Some(voter) = pending.votes.keys().next_back()
        {
            let question = Question::clone(question);
            self.close_if_quorum(&question, voter.as_str(), "");
        }
    }

    /// Makes sure that no change is rejected by time before anybody could see after a restart that
    /// it waits.
    pub(super) fn postpone_rejections(&mut self) {
        let soon = self.at.plus(MIN_WAIT_AFTER_RESTART_MS);
        let frames = self.run.frames.values();
        let open: Vec<PendingApproval> = frames
            .filter_map(|frame| frame.approval.pending.as_deref().cloned())
            .collect();
        for pending in open {
            let Some((position, at)) = pending.next_timeout() else {
                continue;
            };
            let timeout = pending.assessment.requirements[position].timeout.as_ref();
            let rejects = timeout.is_some_and(|timeout| timeout.then == TimeoutAction::Reject);
            if rejects && at < soon {
                let outcome = TimeoutOutcome::Reminded;
                self.record_timeout(&pending, position, outcome, MIN_WAIT_AFTER_RESTART_MS);
            }
        }
    }

    /// Handles the wish of a person that somebody else votes in their place. Returns why it was
    /// refused.
    pub(super) fn delegate_vote(
        &mut self,
        by: &str,
        question: &AttemptId,
        to: &PersonName,
        note: &str,
    ) -> Option<String> {
        let pending = self.pending_approval(&question.frame);
        let Some(pending) = pending.filter(|pending| pending.question == *question) else {
            return Some("that question is no longer open, or is not about an approval".to_owned());
        };
        let Some(from) = self.identity.clone() else {
            return Some(format!(
                "codeteam does not know who `{by}` is: handing a vote over needs the user id of \
                 whoever decides, or their signature"
            ));
        };
        let rules = self.run.approval.as_ref()?;
        if !rules.people.contains_key(to) {
            return Some(format!(
                "this run does not know `{to}`: `people` of the configuration with which it began \
                 has nobody of that name"
            ));
        }
        if let Err(why) = pending.check_delegation(&from.person, to) {
            return Some(why);
        }
        self.emit(Event::ApprovalDelegated {
            frame: question.frame.clone(),
            question: question.clone(),
            from,
            to: to.clone(),
            note: note.trim().to_owned(),
        });
        None
    }

    fn pending_approval(&self, path: &FramePath) -> Option<PendingApproval> {
        let frame = self.run.frames.get(path)?;
        frame.approval.pending.as_deref().cloned()
    }

    fn record_timeout(
        &mut self,
        pending: &PendingApproval,
        requirement: usize,
        outcome: TimeoutOutcome,
        pause_ms: u64,
    ) {
        self.emit(Event::ApprovalTimedOut {
            frame: pending.question.frame.clone(),
            question: pending.question.clone(),
            requirement,
            at: self.at,
            outcome,
            next: self.at.plus(pause_ms),
        });
    }
}
