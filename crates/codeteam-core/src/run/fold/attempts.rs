//! Applies the results of attempts: cost, submission, votes.

use std::sync::Arc;

use super::team::note_missing_score;
use super::{update_frame, update_slot};
use crate::budget::Usage;
use crate::contribution::Contribution;
use crate::frame::{Conversation, Frame, FrameChange, SlotEnd, SlotState, SlotWork, StepVerdict};
use crate::ids::{AttemptId, BodyId, StepId};
use crate::judgements::GatekeeperVote;
use crate::role::RoleKind;
use crate::run::{OutstandingLaunch, Run};
use crate::submission::Submission;
use crate::workflow::ScribeOutput;

/// Stores the conversation that a worker reported, and drops the earlier one if it reported none.
pub(super) fn remember_conversation(
    run: &mut Run,
    id: &AttemptId,
    session: Option<&str>,
    spent: Usage,
) {
    update_frame(run, &id.frame, |f| {
        let worker = f.slot(id).and_then(|slot| slot.worker.clone());
        let key = (id.step.clone(), id.slot);
        let (Some(session), Some(worker)) = (session, worker) else {
            f.conversations.remove(&key);
            return;
        };
        let known = f
            .conversations
            .get(&key)
            .filter(|known| known.id == session);
        let mut usage = known.map_or_else(Usage::default, |known| known.usage);
        usage.add(spent);
        let session = Conversation {
            worker,
            id: session.to_owned(),
            turns: known.map_or(0, |known| known.turns) + 1,
            usage,
        };
        f.conversations.insert(key, session);
    });
}

pub(super) fn settle_usage(run: &mut Run, id: &AttemptId, usage: Usage) {
    if let Some(OutstandingLaunch {
        reserved,
        counted: true,
        ..
    }) = run.outstanding.remove(&id.fence)
    {
        run.budget.settle(reserved, usage);
        update_frame(run, &id.frame, |f| f.counts.spent.add(reserved, usage));
    }
}

pub(super) fn record_judgement(
    frame: &mut Frame,
    step: &StepId,
    approved: bool,
    tree: &crate::ids::Tree,
    by_checks: bool,
) {
    let patch = frame.change.as_ref().map(|change| change.patch.clone());
    let verdict = StepVerdict {
        approved,
        tree: tree.clone(),
        patch,
        by_checks,
    };
    frame.verdicts.insert(step.clone(), verdict);
}

pub(super) fn apply_submission(
    run: &mut Run,
    id: &AttemptId,
    submission: &Submission,
    change: Option<&(crate::ids::Tree, FrameChange)>,
    vote: Option<bool>,
    (writes, transcript): (Option<ScribeOutput>, Option<&BodyId>),
) {
    let judged = match submission {
        Submission::Verdict(verdict) => Some(verdict.reason.clone()),
        Submission::Quality(score) => Some(score.feedback()),
        Submission::Intervention(decision) => Some(decision.reason.clone()),
        _ => None,
    };
    if let Some(reason) = judged {
        record_vote(run, id, vote, &reason);
        update_frame(run, &id.frame, |f| drop(f.reasons.insert(id.slot, reason)));
    }
    update_frame(run, &id.frame, |f| {
        if let Some(slot) = f.slot_mut(id) {
            slot.state = SlotState::Done(SlotEnd::from_vote(vote));
        }
        match submission {
            Submission::Requirements(r) => f.outputs.requirements = Some(r.requirements.clone()),
            Submission::Design(d) => {
                f.outputs.record_design(&id.step, d);
                if !f.locked.is_empty() && f.tree != f.base.tree {
                    // What was written of the design before, and not committed, is out of date.
                    f.locked.clear();
                    f.change = None;
                    f.tree = f.base.tree.clone();
                }
            }
            Submission::Text(t) => match writes {
                Some(ScribeOutput::Message) => f.outputs.text = Some(t.message.clone()),
                Some(ScribeOutput::Brief) => f.outputs.brief = Some(t.message.clone()),
                Some(ScribeOutput::Log) => f.work_log.replace_with_summary(&t.message),
                Some(ScribeOutput::Digest) => f.outputs.digest = Some(t.message.clone()),
                // Another event records which task comes first.
                None => {}
            },
            Submission::Change(c) => {
                let files = change.map_or(&[][..], |(_, change)| change.files.as_slice());
                f.work_log.record_change(f.round, &id.step, c, files);
                f.outputs.change = Some(c.clone());
                let slot = f.slots.iter().find(|slot| slot.id.slot == id.slot);
                if let Some(SlotWork::Role(role)) = slot.map(|slot| slot.work.clone()) {
                    f.outputs.record_contribution(Contribution {
                        role,
                        summary: c.summary.clone(),
                        notes: c.notes.clone(),
                        files: files.to_vec(),
                        transcript: transcript.cloned(),
                    });
                }
                f.outputs.text = None;
                f.acceptance.by = None;
                f.acceptance.edited_by_person = false;
                f.feedback.clear();
                f.team.failure = None;
                f.team.unscored = None;
            }
            Submission::Verdict(v) => {
                let role = f
                    .slots
                    .iter()
                    .find(|slot| slot.id.slot == id.slot)
                    .and_then(|slot| match &slot.work {
                        SlotWork::Role(role) => Some(role.as_str()),
                        _ => None,
                    });
                f.work_log
                    .record_verdict(role.unwrap_or(id.step.as_str()), v);
            }
            Submission::Plan(_) => {
                f.outputs.settled = false;
                f.feedback.clear();
            }
            Submission::Questions(q) => f.outputs.record_analysis(q),
            Submission::Blocked(_)
            | Submission::InterfaceChange(_)
            | Submission::Quality(_)
            | Submission::Intervention(_)
            | Submission::Assembly(_) => {}
        }
        if let Some((tree, change)) = change {
            f.counts
                .submitted_patches
                .record(&id.step, &change.patch, f.round);
            f.tree = tree.clone();
            f.change = Some(change.clone());
            f.judgements.change_round = f.round;
        }
    });
}

/// Returns the round of what is judged: a change belongs to the round it was made in.
pub(super) fn judged_round(frame: &Frame) -> u32 {
    match frame.change {
        Some(_) => frame.judgements.change_round,
        None => frame.round,
    }
}

/// Ends a slot that gave up, and keeps why.
pub(super) fn abstain(run: &mut Run, id: &AttemptId, reason: &str) {
    update_slot(run, id, |slot| {
        slot.state = SlotState::Done(SlotEnd::Abstained);
    });
    record_vote(run, id, None, reason);
    note_missing_score(run, id, reason);
}

/// Records a gatekeeper's vote, for reports.
fn record_vote(run: &mut Run, id: &AttemptId, vote: Option<bool>, reason: &str) {
    let roles = Arc::clone(&run.roles);
    update_frame(run, &id.frame, |f| {
        let work = f.slot(id).map(|slot| &slot.work);
        let Some(SlotWork::Role(role)) = work else {
            return;
        };
        let known = roles.get(role);
        if known.is_none_or(|known| known.kind != RoleKind::Gatekeeper) {
            return;
        }
        let patch = f.change.as_ref().map(|change| change.patch.clone());
        let ballot = GatekeeperVote {
            role: role.clone(),
            slot: id.slot,
            generation: id.generation,
            round: judged_round(f),
            vote,
            reason: reason.to_owned(),
            tree: f.tree.clone(),
            patch,
        };
        f.judgements.record_vote(&id.step, ballot);
    });
}
