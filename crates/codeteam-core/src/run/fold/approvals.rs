//! Applies events about the approval of a change.

use std::collections::BTreeMap;

use super::{finish_slot, settle_usage, update_frame};
use crate::approval::{
    ApprovalBasis, ApprovalTimer, ApprovalVote, GrantedApproval, NoticeRetry, NoticeState,
    PendingApproval, TimeoutOutcome,
};
use crate::budget::Usage;
use crate::event::Event;
use crate::frame::FrameStage;
use crate::ids::FramePath;
use crate::run::Run;

/// Applies one event about an approval; any other changes nothing.
pub(super) fn apply_approval(run: &mut Run, event: &Event) {
    match event {
        Event::RiskAssessed { id, tree, facts } => {
            settle_usage(run, id, Usage::default());
            update_frame(run, &id.frame, |f| {
                f.approval.facts = Some((tree.clone(), facts.clone()));
                finish_slot(f, id);
            });
        }
        Event::ApprovalRequested {
            frame,
            question,
            tree,
            at,
            assessment,
        } => update_frame(run, frame, |f| {
            f.approval.pending = Some(Box::new(PendingApproval {
                question: question.clone(),
                tree: tree.clone(),
                assessment: (**assessment).clone(),
                asked: *at,
                votes: BTreeMap::new(),
                notice: NoticeState::Due,
                notice_retry: None,
                timers: BTreeMap::new(),
                delegations: BTreeMap::new(),
            }));
        }),
        Event::ApprovalNotified {
            frame,
            until,
            retry_at,
            ..
        } => update_frame(run, frame, |f| {
            if let Some(pending) = &mut f.approval.pending {
                let failed = pending
                    .notice_retry
                    .as_ref()
                    .map_or(0, |retry| retry.failed);
                pending.notice_retry = retry_at.map(|at| NoticeRetry {
                    failed: failed.saturating_add(1),
                    at,
                });
                pending.notice = match *until {
                    Some(until) => NoticeState::Delivered { until },
                    None => NoticeState::Undelivered,
                };
            }
        }),
        Event::ApprovalNoticeRenewed { frame, .. } => update_frame(run, frame, |f| {
            if let Some(pending) = &mut f.approval.pending {
                pending.notice = NoticeState::DueAgain;
            }
        }),
        Event::Voted {
            frame,
            by,
            approves,
            note,
            ..
        } => update_frame(run, frame, |f| {
            if let Some(pending) = &mut f.approval.pending
                && *approves
            {
                let vote = ApprovalVote {
                    proof: by.proof.clone(),
                    note: note.clone(),
                };
                pending.votes.insert(by.person.clone(), vote);
            }
        }),
        Event::ApprovalVoided { frame, .. } => {
            update_frame(run, frame, |f| {
                f.approval.pending = None;
                f.approval.granted = None;
            });
            queue_again(run, frame);
        }
        Event::ApprovalGranted {
            frame,
            tree,
            basis,
            assessment,
        } => {
            update_frame(run, frame, |f| {
                f.approval.pending = None;
                f.approval.granted = Some(Box::new(GrantedApproval {
                    tree: tree.clone(),
                    assessment: (**assessment).clone(),
                    basis: basis.clone(),
                }));
                if let ApprovalBasis::Override { by, .. } = basis {
                    f.acceptance.by = Some(by.to_string());
                }
            });
            queue_again(run, frame);
        }
        _ => apply_waiting(run, event),
    }
}

/// Applies an event about an approval that waits; any other changes nothing.
fn apply_waiting(run: &mut Run, event: &Event) {
    match event {
        Event::ApprovalTimedOut {
            frame,
            requirement,
            outcome,
            next,
            ..
        } => update_frame(run, frame, |f| {
            if *outcome == TimeoutOutcome::Rejected {
                f.approval.pending = None;
            }
            if let Some(pending) = &mut f.approval.pending {
                let timer = pending.timers.entry(*requirement).or_insert(ApprovalTimer {
                    fired: 0,
                    next: *next,
                    escalated: false,
                });
                timer.fired += 1;
                timer.next = *next;
                timer.escalated |= matches!(outcome, TimeoutOutcome::Escalated(_));
            }
        }),
        Event::ApprovalDelegated {
            frame, from, to, ..
        } => update_frame(run, frame, |f| {
            if let Some(pending) = &mut f.approval.pending {
                let from = &from.person;
                if from == to {
                    pending.delegations.remove(from);
                } else {
                    pending.delegations.insert(from.clone(), to.clone());
                }
            }
        }),
        _ => {}
    }
}

/// Lets a frame wait for its turn to integrate again, if it does not already.
fn queue_again(run: &mut Run, frame: &FramePath) {
    update_frame(run, frame, |f| f.stage = FrameStage::Committing);
    if !run.integration_queue.contains(frame) {
        run.integration_queue.push(frame.clone());
    }
}
