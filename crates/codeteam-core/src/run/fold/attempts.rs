//! What comes of an attempt: what it cost, what it said, how it was judged.

use std::sync::Arc;

use super::with;
use crate::budget::Usage;
use crate::frame::{Conversation, Frame, FrameChange, SlotState, SlotWork, StepVerdict};
use crate::ids::{AttemptId, StepId};
use crate::record::GatekeeperVote;
use crate::role::RoleKind;
use crate::run::{OutstandingLaunch, Run};
use crate::submission::Submission;
use crate::workflow::ScribeOutput;

/// Keeps the session that a worker has told of, and forgets an earlier one if it told of none.
pub(super) fn remember(run: &mut Run, id: &AttemptId, session: Option<&str>, spent: Usage) {
    with(run, &id.frame, |f| {
        let worker = f.slot(id).and_then(|slot| slot.worker.clone());
        let key = (id.step.clone(), id.slot);
        let (Some(session), Some(worker)) = (session, worker) else {
            f.sessions.remove(&key);
            return;
        };
        let known = f.sessions.get(&key).filter(|known| known.id == session);
        let mut usage = known.map_or_else(Usage::default, |known| known.usage);
        usage.add(spent);
        let session = Conversation {
            worker,
            id: session.to_owned(),
            turns: known.map_or(0, |known| known.turns) + 1,
            usage,
        };
        f.sessions.insert(key, session);
    });
}

pub(super) fn settle(run: &mut Run, id: &AttemptId, usage: Usage) {
    if let Some(OutstandingLaunch {
        reserved,
        counted: true,
        ..
    }) = run.outstanding.remove(&id.fence)
    {
        run.budget.settle(reserved, usage);
        with(run, &id.frame, |f| f.spent.add(reserved, usage));
    }
}

pub(super) fn judge(
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

pub(super) fn receive(
    run: &mut Run,
    id: &AttemptId,
    submission: &Submission,
    change: Option<&(crate::ids::Tree, FrameChange)>,
    vote: Option<bool>,
    writes: Option<ScribeOutput>,
) {
    if let Submission::Verdict(verdict) = submission {
        record_vote(run, id, vote, &verdict.reason);
    }
    with(run, &id.frame, |f| {
        if let Some(slot) = f.slot_mut(id) {
            slot.state = SlotState::Done(vote);
        }
        match submission {
            Submission::Requirements(r) => f.outputs.requirements = Some(r.requirements.clone()),
            Submission::Design(d) => f.outputs.take_design(&id.step, d),
            Submission::Text(t) => match writes {
                Some(ScribeOutput::Message) => f.outputs.text = Some(t.message.clone()),
                Some(ScribeOutput::Brief) => f.outputs.brief = Some(t.message.clone()),
                Some(ScribeOutput::Log) => f.log.shorten(&t.message),
                // Which task comes first is another event's to say.
                None => {}
            },
            Submission::Change(c) => {
                let files = change.map_or(&[][..], |(_, change)| change.files.as_slice());
                f.log.submitted(f.round, &id.step, c, files);
                f.outputs.change = Some(c.clone());
                f.outputs.text = None;
                f.accepted_by = None;
                f.handed = false;
                f.feedback.clear();
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
                f.log.judged(role.unwrap_or(id.step.as_str()), v);
                f.reasons.insert(id.slot, v.reason.clone());
            }
            Submission::Plan(_) => {
                f.outputs.settled = false;
                f.feedback.clear();
            }
            Submission::Questions(q) => f.outputs.take_analysis(q),
            Submission::Blocked(_) => {}
        }
        if let Some((tree, change)) = change {
            f.seen.record(&id.step, &change.patch, f.round);
            f.tree = tree.clone();
            f.change = Some(change.clone());
            f.record.made = f.round;
        }
    });
}

/// The round of what is judged: a change belongs to the round it was made in.
pub(super) fn judged_round(frame: &Frame) -> u32 {
    match frame.change {
        Some(_) => frame.record.made,
        None => frame.round,
    }
}

/// Keeps what a gatekeeper said, for reports.
pub(super) fn record_vote(run: &mut Run, id: &AttemptId, vote: Option<bool>, reason: &str) {
    let roles = Arc::clone(&run.roles);
    with(run, &id.frame, |f| {
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
        f.record.vote(&id.step, ballot);
    });
}
